//! Power cuts on loop-mounted ext4 and XFS (P2, P3): the process is killed at a call that matters for durability, or at a random
//! moment, and the file system is shut down in the same instant. What was not synced is gone then.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use turnback_engine::Durability;

use super::kill::spin;
use super::under::{ALL, judge};
use crate::budget::Budget;
use crate::cut::{Cut, cut};
use crate::machine::{self, Mount};
use crate::operation::{Said, Settings, Waiting};
use crate::outcome::Outcome;
use crate::scene::Scene;
use crate::strace::{self, Injection};

/// Where a protocol is right or wrong.
const POINTS: [&str; 14] = [
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "syncfs",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
];

/// A file system to test on.
#[derive(Debug, Clone, Copy)]
pub struct Disk {
    name: &'static str,
    make: &'static [&'static str],
    mib: u64,
}

/// ext4 as most systems have it.
pub const EXT4: Disk = Disk { name: "ext4", make: &["mkfs.ext4", "-qF"], mib: 64 };
/// XFS, which delays and reorders more.
pub const XFS: Disk = Disk { name: "XFS", make: &["mkfs.xfs", "-qf"], mib: 320 };

const DISKS: [Disk; 2] = [EXT4, XFS];

/// The whole method.
///
/// # Errors
/// When the harness fails.
pub fn run(program: &Path, budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    for (i, disk) in DISKS.into_iter().enumerate() {
        out.add(on_disk(program, disk, budget.share((DISKS.len() - i) as u32))?);
    }
    Ok(out)
}

/// The method on one file system.
///
/// # Errors
/// When the harness fails.
pub fn on_disk(program: &Path, disk: Disk, budget: Budget) -> Result<Outcome> {
    if let Some(why) = machine::no_strace() {
        return Ok(Outcome::skip(format!("power: {why}")));
    }
    let home = tempfile::tempdir()?;
    let (image, at) = (home.path().join("image"), home.path().join("m"));
    fs::create_dir(&at)?;
    fs::File::create(&image)?.set_len(disk.mib << 20)?;
    if !machine::has(disk.make[0]) {
        return Ok(Outcome::skip(format!("power: there is no {}", disk.make[0])));
    }
    machine::run(Command::new(disk.make[0]).args(&disk.make[1..]).arg(&image))?;
    let options = ["-o", "loop,noatime", image.to_str().context("a path that is not UTF-8")?];
    let mut mount = match Mount::new(&options, &at) {
        Ok(mount) => mount,
        Err(error) => return Ok(Outcome::skip(format!("power: loop mounts are not permitted: {error:#}"))),
    };
    fs::set_permissions(&at, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    let scene = Scene::with(&at, Durability::Power)?;
    let settings = Settings { power: true, workers: 1, ..Settings::default() };
    let mut out = Outcome::default();
    let (mut cuts, mut salt) = (0u64, 0u64);
    for (i, under) in ALL.into_iter().enumerate() {
        let part = budget.share((ALL.len() - i) as u32);
        let clean = under.prepare(program, &scene, salt)?;
        sync(&at)?;
        let calls = strace::calls(program, clean.op, &scene.directory, settings)?;
        let mut points: Vec<Option<(String, String, u64)>> = calls
            .into_iter()
            .filter(|((_, name), _)| POINTS.contains(&name.as_str()))
            .flat_map(|((role, call), count)| (1..=count).map(move |n| Some((role.clone(), call.clone(), n))))
            .collect();
        if !budget.is_long() {
            // The syncs and what comes after them matter most; of the others a few.
            points = points
                .into_iter()
                .enumerate()
                .filter(|(i, p)| i % 4 == 0 || p.as_ref().is_some_and(|(_, call, _)| call.contains("sync")))
                .map(|(_, p)| p)
                .take(8)
                .collect();
        }
        let swept = points.len() as u64;
        let (mut done, mut acknowledged) = (0u64, 0u64);
        while part.more(done, swept + 3) && !out.is_hopeless() {
            salt += 1;
            let point = points.get(done as usize).cloned().flatten();
            let round = under.prepare(program, &scene, salt)?;
            // What was there before the operation was there before the power came on.
            sync(&at)?;
            let said = match &point {
                Some((role, call, nth)) => {
                    let injection = Injection { role, call, nth: *nth, what: "signal=SIGKILL" };
                    strace::disturbed(program, round.op, &scene.directory, settings, injection)?.0
                }
                // The first of them ends by itself: what was acknowledged a moment ago has to be there.
                None if done < swept + 2 => {
                    let mut process = Waiting::start(program, round.op, &scene.directory, settings)?;
                    process.go()?;
                    process.end()?.0
                }
                None => {
                    let mut process = Waiting::start(program, round.op, &scene.directory, settings)?;
                    process.go()?;
                    spin(salt.wrapping_mul(7919) % 40_000);
                    process.kill()?;
                    process.end()?.0
                }
            };
            let how = if done % 2 == 0 { Cut::Nothing } else { Cut::Log };
            if let Err(error) = cut(&at, how) {
                return Ok(Outcome::skip(format!("power: {} cannot be shut down: {error:#}", disk.name)));
            }
            mount.unmount()?;
            mount = Mount::new(&options, &at)?;
            acknowledged += u64::from(matches!(said, Said::Done(_)));
            let what = format!("{}: {} and power cut ({how:?}) at {point:?}", disk.name, round.op.name());
            judge(&scene, &round, &said, &what, &mut out)?;
            done += 1;
        }
        cuts += done;
        let what = format!("{under:?} on {} with the power cut", disk.name);
        let figure = format!("{done} cuts, {acknowledged} after the acknowledgement");
        for promise in if under.restores() { vec![2, 3] } else { vec![2] } {
            out.figure(promise, what.clone(), figure.clone());
        }
        for promise in [1, 8, 9, 12, 13] {
            if out.has_new(promise) {
                out.figure(promise, what.clone(), figure.clone());
            }
        }
        out.end_group();
    }
    mount.unmount()?;
    anyhow::ensure!(cuts > 0, "the power was never cut");
    Ok(out)
}

/// Makes everything on a file system durable.
fn sync(at: &Path) -> Result<()> {
    rustix::fs::syncfs(fs::File::open(at)?).context("syncing the disk")
}
