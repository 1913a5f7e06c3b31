//! EIO, ENOSPC, EINTR, EMFILE and "nothing was written" at every call, on each thread (P3, P10, P12, inputs 61, 63 to 66): a typed
//! error or a success that is one, nothing lost, and the next attempt works.
//!
//! Real short writes come from [`super::small`]: a disk that fills up in the middle of a write, and a limit of file sizes.

use std::path::Path;

use anyhow::{Result, ensure};

use super::under::{ALL, CHANGING, Under, judge};
use crate::budget::Budget;
use crate::machine;
use crate::operation::{Said, Settings};
use crate::outcome::Outcome;
use crate::scene::Scene;
use crate::strace::{self, Calls, Injection};

/// Calls that read; a failure of these must not be taken for an empty file or directory either. `close` is not among them: for a
/// directory it cannot fail, and the standard library panics when it seems to.
const READING: [&str; 12] = [
    "read",
    "pread64",
    "getdents64",
    "readlinkat",
    "statx",
    "newfstatat",
    "fstat",
    "lseek",
    "flistxattr",
    "fgetxattr",
    "openat2",
    "statfs",
];

/// What is injected into which calls.
const FAULTS: [(&str, &[&str]); 5] = [
    ("error=EIO", &[]),
    (
        "error=ENOSPC",
        &[
            "write",
            "pwrite64",
            "fallocate",
            "ftruncate",
            "mkdir",
            "mkdirat",
            "openat",
            "rename",
            "renameat",
            "renameat2",
            "link",
            "linkat",
            "symlinkat",
            "mknodat",
            "fsetxattr",
            "fsync",
            "fdatasync",
        ],
    ),
    (
        "error=EINTR",
        &[
            "read",
            "pread64",
            "write",
            "pwrite64",
            "openat",
            "openat2",
            "fsync",
            "fdatasync",
            "flock",
            "getdents64",
            "fallocate",
            "ftruncate",
        ],
    ),
    ("error=EMFILE", &["openat", "openat2"]),
    ("retval=0", &["write", "pwrite64"]),
];

/// The whole method.
///
/// # Errors
/// When the harness fails.
pub fn run(program: &Path, budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    for under in ALL {
        out.add(of(program, under, budget)?);
    }
    Ok(out)
}

/// One operation with every fault.
///
/// # Errors
/// When the harness fails.
pub fn of(program: &Path, under: Under, budget: Budget) -> Result<Outcome> {
    if let Some(why) = machine::no_strace() {
        return Ok(Outcome::skip(format!("errors: {why}")));
    }
    let mut out = Outcome::default();
    for (fault, calls) in FAULTS {
        // Each round of a recovery first takes a rollback that is killed: the quick tier has time for one fault.
        if under == Under::Recover && !budget.is_long() && fault != "error=EIO" {
            continue;
        }
        out.add(sweep(program, under, fault, calls, budget)?);
    }
    Ok(out)
}

fn sweep(program: &Path, under: Under, fault: &str, only: &[&str], budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    let directory = machine::quick_directory()?;
    let scene = Scene::new(directory.path())?;
    let settings = Settings { workers: 1, ..Settings::default() };
    let clean = under.prepare(program, &scene, 1)?;
    let calls = strace::calls(program, clean.op, &scene.directory, settings)?;
    judge(&scene, &clean, &Said::Nothing, "undisturbed", &mut out)?;
    let wanted = |name: &str| match only {
        [] => CHANGING.contains(&name) || READING.contains(&name),
        only => only.contains(&name),
    };
    let chosen: Calls = calls.into_iter().filter(|((_, name), _)| wanted(name)).collect();
    let (mut runs, mut failed, mut partly, mut done, mut salt) = (0u64, 0u64, 0u64, 0u64, 1);
    for ((role, call), count) in &chosen {
        // The quick tier takes the last, and of what is most used one in the middle; the long one all.
        let parts = if matches!(under, Under::Create | Under::Rollback) { 2 } else { 1 };
        let step = if budget.is_long() { 1 } else { count.div_ceil(parts).max(1) };
        for nth in (1..=*count).rev().step_by(step as usize) {
            if out.is_hopeless() {
                break;
            }
            salt += 1;
            let round = under.prepare(program, &scene, salt)?;
            let what = format!("{} with {fault} at {role} {call} {nth}", round.op.name());
            let injection = Injection { role, call, nth, what: fault };
            let said = match strace::disturbed(program, round.op, &scene.directory, settings, injection) {
                Ok((said, _)) => said,
                Err(error) => {
                    out.breach(12, format!("{what}: {error:#}"));
                    Said::Nothing
                }
            };
            runs += 1;
            match &said {
                Said::Done(_) => done += 1,
                Said::Partly(..) => partly += 1,
                Said::Failed(_) => failed += 1,
                // The line itself could not be written.
                Said::Nothing => {}
            }
            judge(&scene, &round, &said, &what, &mut out)?;
        }
    }
    ensure!(runs > 0 || chosen.is_empty(), "{under:?}: {fault} was injected nowhere");
    let what = format!("{under:?} with {fault} at each of {} calls of each thread", chosen.len());
    let figure =
        format!("{runs} runs: {failed} typed errors, {partly} reported in part, {done} done and exact");
    for promise in [1, 3, 8, 9, 10, 12, 13] {
        if promise == 12
            || (promise == 3 && under.restores())
            || (promise == 10 && fault == "error=ENOSPC")
            || out.has_new(promise)
        {
            out.figure(promise, what.clone(), figure.clone());
        }
    }
    out.end_group();
    Ok(out)
}
