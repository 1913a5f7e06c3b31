//! Power cuts on loop-mounted ext4 and XFS (P2, P3, input 64): the process is killed at a call that matters for durability, or at a
//! random moment, or a sync of it fails and it ends as it likes; and the file system is shut down in the same instant. What was not
//! synced is gone then.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use turnback_engine::Durability;

use super::kill::spin;
use super::under::{ALL, Prepared, judge};
use crate::budget::Budget;
use crate::cut::{Cut, cut};
use crate::machine::{self, Mount};
use crate::operation::{Said, Settings, Waiting};
use crate::outcome::Outcome;
use crate::scene::Scene;
use crate::strace::{self, Calls, Injection, Point};

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

/// What makes what was written last. When it fails nothing was made to last, so that what was acknowledged all the same is gone.
const SYNCS: [&str; 3] = ["fsync", "fdatasync", "syncfs"];

/// When the power is cut.
#[derive(Debug, Clone)]
enum When {
    /// At a call, which kills the process.
    Killed(Point),
    /// After a process of which a sync failed.
    Failed(Point),
    /// After a process that nothing disturbed.
    Ended,
    /// At a random moment, which kills the process.
    Some,
}

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
        judge(&scene, &clean, &Said::Nothing, "undisturbed", &mut out)?;
        let points = when(&calls, budget.is_long());
        let swept = points.len() as u64;
        let (mut done, mut acknowledged, mut refused) = (0u64, 0u64, 0u64);
        while part.more(done, swept + 3) && !out.is_hopeless() {
            salt += 1;
            // Behind the points: the first of the others end by themselves.
            let others = if done < swept + 2 { When::Ended } else { When::Some };
            let when = points.get(done as usize).cloned().unwrap_or(others);
            let round = under.prepare(program, &scene, salt)?;
            // What was there before the operation was there before the power came on.
            sync(&at)?;
            let said = perform(program, &round, &scene, settings, &when, salt)?;
            let how = if done % 2 == 0 { Cut::Nothing } else { Cut::Log };
            if let Err(error) = cut(&at, how) {
                return Ok(Outcome::skip(format!("power: {} cannot be shut down: {error:#}", disk.name)));
            }
            mount.unmount()?;
            mount = Mount::new(&options, &at)?;
            acknowledged += u64::from(matches!(said, Said::Done(_)));
            refused += u64::from(matches!(when, When::Failed(_)) && matches!(said, Said::Failed(_)));
            let what = format!("{}: {} and power cut ({how:?}), {when:?}", disk.name, round.op.name());
            judge(&scene, &round, &said, &what, &mut out)?;
            done += 1;
        }
        cuts += done;
        let what = format!("{under:?} on {} with the power cut", disk.name);
        let figure = format!(
            "{done} cuts, {acknowledged} after the acknowledgement, {refused} after an error because of a sync"
        );
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

/// When the power is cut, for the calls of an operation.
fn when(calls: &Calls, is_long: bool) -> Vec<When> {
    let wanted: Calls =
        calls.clone().into_iter().filter(|((_, name), _)| POINTS.contains(&&**name)).collect();
    let mut points = strace::points(&wanted, None);
    strace::shuffle(&mut points);
    let is_sync = |(_, call, _): &Point| SYNCS.contains(&&**call);
    if is_long {
        let syncs: Vec<_> = points.iter().filter(|p| is_sync(p)).cloned().map(When::Failed).collect();
        return syncs.into_iter().chain(points.into_iter().map(When::Killed)).collect();
    }
    // The syncs matter most; of the others a few.
    let (syncs, others): (Vec<_>, Vec<_>) = points.into_iter().partition(is_sync);
    let failed = syncs.iter().take(3).cloned().map(When::Failed);
    failed
        .chain(syncs.iter().take(4).cloned().map(When::Killed))
        .chain(others.into_iter().take(4).map(When::Killed))
        .collect()
}

/// Performs the operation up to where the power goes; what it said.
fn perform(
    program: &Path,
    round: &Prepared,
    scene: &Scene,
    settings: Settings,
    when: &When,
    salt: u64,
) -> Result<Said> {
    match when {
        When::Killed((role, call, nth)) | When::Failed((role, call, nth)) => {
            let what = if matches!(when, When::Failed(_)) { "error=EIO" } else { "signal=SIGKILL" };
            let injection = Injection { role, call, nth: *nth, what };
            Ok(strace::disturbed(program, round.op, &scene.directory, settings, injection)?.0)
        }
        When::Ended | When::Some => {
            let mut process = Waiting::start(program, round.op, &scene.directory, settings)?;
            process.go()?;
            if matches!(when, When::Some) {
                spin(salt.wrapping_mul(7919) % 40_000);
                process.kill()?;
            }
            Ok(process.end()?.0)
        }
    }
}

/// Makes everything on a file system durable.
fn sync(at: &Path) -> Result<()> {
    rustix::fs::syncfs(fs::File::open(at)?).context("syncing the disk")
}
