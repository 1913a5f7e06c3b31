//! Small disks, few inodes and a limit of file sizes, swept (P10, C16, inputs 61, 62, 65, 68): a typed error, the old checkpoints
//! fine, nothing left in `tmp`; a deletion needs no room. Where the room ends in the middle of a write the kernel writes a part.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::under::{ALL, Under, judge};
use crate::budget::Budget;
use crate::machine::Mount;
use crate::operation::{Said, Settings, Waiting};
use crate::outcome::Outcome;
use crate::scene::Scene;

/// What is scarce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scarce {
    Bytes,
    Inodes,
    FileSize,
}

const ROOMY: &str = "size=64m,nr_inodes=100000";

/// The whole method.
///
/// # Errors
/// When the harness fails.
pub fn run(program: &Path, budget: Budget) -> Result<Outcome> {
    let home = tempfile::tempdir()?;
    let options = ["-t", "tmpfs", "-o", &format!("{ROOMY},mode=0700"), "soak"];
    let mount = match Mount::new(&options, home.path()) {
        Ok(mount) => mount,
        Err(error) => return Ok(Outcome::skip(format!("small: mounting is not permitted: {error:#}"))),
    };
    let scene = Scene::new(mount.path())?;
    let mut out = Outcome::default();
    let mut salt = 0;
    let mut left = (ALL.len() * 3) as u32;
    for under in ALL {
        for scarce in [Scarce::Bytes, Scarce::Inodes, Scarce::FileSize] {
            let mut found = Outcome::default();
            let part = budget.share(left);
            sweep(program, &mount, &scene, under, scarce, part, &mut salt, &mut found)?;
            out.add(found);
            left -= 1;
        }
    }
    drop(scene);
    mount.unmount()?;
    Ok(out)
}

#[allow(clippy::too_many_arguments, reason = "the parts of one round, each from another owner")]
fn sweep(
    program: &Path,
    mount: &Mount,
    scene: &Scene,
    under: Under,
    scarce: Scarce,
    budget: Budget,
    salt: &mut u64,
    out: &mut Outcome,
) -> Result<()> {
    // In units: KiB of the disk, inodes, bytes of a file. What a checkpoint adds is little; a rollback shows the same with every step.
    let steps: &[u64] = match (scarce, budget.is_long()) {
        (Scarce::Bytes, false) if matches!(under, Under::Revert | Under::Recover) => &[256],
        (Scarce::Inodes, false) if matches!(under, Under::Revert | Under::Recover) => &[5],
        (Scarce::Bytes, false) if under == Under::Create => &[4],
        (Scarce::Bytes, false) => &[64],
        (Scarce::FileSize, false) => &[1777],
        (Scarce::Inodes, _) => &[1],
        // The whole range first, then ever more closely.
        (Scarce::Bytes, true) => &[64, 20, 4],
        (Scarce::FileSize, true) => &[1777, 331, 97],
    };
    let (mut runs, mut full, mut partly, mut done, mut easy) = (0u64, 0u64, 0u64, 0u64, 0u64);
    let (mut left, mut spare) = (steps, 0);
    while let [step, finer @ ..] = left {
        *salt += 1;
        let round = under.prepare(program, scene, *salt)?;
        let mut settings = Settings::default();
        let used = rustix::fs::statvfs(mount.path())?;
        match scarce {
            Scarce::Bytes => {
                let kib = (used.f_blocks - used.f_bfree) * used.f_frsize / 1024;
                mount.remount(&format!("size={}k", kib + spare))?;
            }
            Scarce::Inodes => {
                mount.remount(&format!("nr_inodes={}", used.f_files - used.f_ffree + spare))?;
            }
            Scarce::FileSize => settings.file_limit = Some(spare),
        }
        let mut process = Waiting::start(program, round.op, &scene.directory, settings)?;
        process.go()?;
        let ended = process.end();
        mount.remount(ROOMY)?;
        let what = format!("{} with {scarce:?} and {spare} of room", round.op.name());
        let said = match ended {
            Ok((said, _)) => said,
            Err(error) => {
                out.breach(10, format!("{what}: {error:#}"));
                Said::Nothing
            }
        };
        runs += 1;
        let leftovers = fs::read_dir(scene.store().join("tmp"))?.count();
        out.check(leftovers == 0, 10, || format!("{what}: {leftovers} leftovers in tmp; it said {said:?}"));
        match &said {
            Said::Failed(why) => {
                full += 1;
                out.check(why.starts_with("DISK_FULL") || scarce == Scarce::FileSize, 10, || {
                    format!("{what}: the error is {why}")
                });
                out.check(
                    !matches!(under, Under::Delete | Under::Prune) || scarce != Scarce::Bytes,
                    10,
                    || format!("{what}: a deletion needs no room, and failed: {why}"),
                );
                easy = 0;
            }
            Said::Partly(..) => {
                partly += 1;
                easy = 0;
            }
            Said::Done(_) => {
                done += 1;
                easy += 1;
            }
            Said::Nothing => easy = 0,
        }
        judge(scene, &round, &said, &what, out)?;
        spare += step;
        // Three in a row that had enough room: there is nothing more to see with this step.
        if easy == 3 {
            (left, spare, easy) = (finer, 0, 0);
        }
        if out.is_hopeless() || budget.is_over() {
            break;
        }
    }
    anyhow::ensure!(
        full > 0
            || budget.is_over()
            || !matches!(under, Under::Create | Under::Rollback | Under::Revert)
            || !out.breaches.is_empty(),
        "{under:?} never ran out of {scarce:?}"
    );
    let cut = match left {
        [] => String::new(),
        [step, ..] => format!(" (the time was up at a step of {step})"),
    };
    let figure =
        format!("{runs} runs: {full} typed errors, {partly} reported in part, {done} done and exact{cut}");
    for promise in [1, 3, 8, 9, 10, 12, 13] {
        if promise == 10 || out.has_new(promise) {
            out.figure(promise, format!("{under:?}, {scarce:?} swept by {steps:?}"), figure.clone());
        }
    }
    out.end_group();
    Ok(())
}
