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

/// The calls that make something last.
const SYNCS: [&str; 4] = ["fsync", "fdatasync", "syncfs", "sync_file_range"];

/// What is injected.
#[derive(Debug, Clone, Copy)]
struct Fault {
    /// In strace's words.
    what: &'static str,
    /// Into which calls; none for all of [`CHANGING`] and [`READING`].
    calls: &'static [&'static str],
    /// What the operation writes has to survive a power cut, so that it syncs.
    power: bool,
}

/// What is injected into which calls.
const FAULTS: [Fault; 7] = [
    Fault { what: "error=EIO", calls: &[], power: false },
    Fault { what: "error=EIO", calls: &[], power: true },
    Fault {
        what: "error=ENOSPC",
        calls: &[
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
        power: false,
    },
    // A disk may find out only now that it has no room.
    Fault { what: "error=ENOSPC", calls: &SYNCS, power: true },
    Fault {
        what: "error=EINTR",
        calls: &[
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
        power: false,
    },
    Fault { what: "error=EMFILE", calls: &["openat", "openat2"], power: false },
    Fault { what: "retval=0", calls: &["write", "pwrite64"], power: false },
];

/// The whole method.
///
/// # Errors
/// When the harness fails.
pub fn run(program: &Path, budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    for (i, under) in ALL.into_iter().enumerate() {
        out.add(of(program, under, budget.share((ALL.len() - i) as u32))?);
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
    for (i, fault) in FAULTS.into_iter().enumerate() {
        // Each round of a recovery first takes a rollback that is killed: the quick tier has time for one fault.
        if under == Under::Recover && !budget.is_long() && (fault.what != "error=EIO" || fault.power) {
            continue;
        }
        // There are fewer calls for the later ones.
        let parts = (FAULTS.len() - i) as u32;
        out.add(sweep(program, under, fault, budget.share(parts.div_ceil(2)))?);
    }
    Ok(out)
}

/// One operation with EIO at each of its calls of these names, in as much time as there is.
///
/// # Errors
/// When the harness fails.
pub fn at_each(
    program: &Path,
    under: Under,
    calls: &'static [&'static str],
    time: std::time::Duration,
) -> Result<Outcome> {
    match machine::no_strace() {
        Some(why) => Ok(Outcome::skip(format!("errors: {why}"))),
        None => {
            sweep(program, under, Fault { what: "error=EIO", calls, power: false }, Budget::lasting(time))
        }
    }
}

fn sweep(program: &Path, under: Under, fault: Fault, budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    let directory = machine::quick_directory()?;
    let scene = Scene::new(directory.path())?;
    let settings = Settings { workers: 1, power: fault.power, ..Settings::default() };
    let clean = under.prepare(program, &scene, 1)?;
    let calls = strace::calls(program, clean.op, &scene.directory, settings)?;
    judge(&scene, &clean, &Said::Nothing, "undisturbed", &mut out)?;
    // Where nothing has to last the quick tier has seen the other calls already.
    let quick_power = fault.power && !budget.is_long();
    let wanted = |name: &str| match fault.calls {
        [] if quick_power => SYNCS.contains(&name),
        [] => CHANGING.contains(&name) || READING.contains(&name),
        only => only.contains(&name),
    };
    let chosen: Calls = calls.into_iter().filter(|((_, name), _)| wanted(name)).collect();
    // The quick tier takes the last, and of what is most used one in the middle; the long one all.
    let parts = if matches!(under, Under::Create | Under::Rollback) { 2 } else { 1 };
    let mut points = strace::points(&chosen, (!budget.is_long()).then_some(parts));
    if budget.is_long() {
        strace::shuffle(&mut points);
    }
    let (mut runs, mut failed, mut partly, mut done) = (0u64, 0u64, 0u64, 0u64);
    let durable = if fault.power { ", what is written has to last" } else { "" };
    for (role, call, nth) in &points {
        if out.is_hopeless() || budget.is_over() {
            break;
        }
        runs += 1;
        let round = under.prepare(program, &scene, 1 + runs)?;
        let what = format!("{} with {} at {role} {call} {nth}{durable}", round.op.name(), fault.what);
        let injection = Injection { role, call, nth: *nth, what: fault.what };
        let said = match strace::disturbed(program, round.op, &scene.directory, settings, injection) {
            Ok((said, _)) => said,
            Err(error) => {
                out.breach(12, format!("{what}: {error:#}"));
                Said::Nothing
            }
        };
        match &said {
            Said::Done(_) => done += 1,
            Said::Partly(..) => partly += 1,
            Said::Failed(_) => failed += 1,
            // The line itself could not be written.
            Said::Nothing => {}
        }
        judge(&scene, &round, &said, &what, &mut out)?;
    }
    ensure!(
        runs > 0 || chosen.is_empty() || budget.is_over(),
        "{under:?}: {} was injected nowhere",
        fault.what
    );
    let what =
        format!("{under:?} with {} at each of {} calls of each thread{durable}", fault.what, chosen.len());
    let cut = match points.len() as u64 {
        wanted if wanted == runs => String::new(),
        wanted => format!(" (the time was up after {runs} of {wanted})"),
    };
    let figure =
        format!("{runs} runs: {failed} typed errors, {partly} reported in part, {done} done and exact{cut}");
    for promise in [1, 3, 8, 9, 10, 12, 13] {
        if promise == 12
            || (promise == 3 && under.restores())
            || (promise == 10 && fault.what == "error=ENOSPC")
            || out.has_new(promise)
        {
            out.figure(promise, what.clone(), figure.clone());
        }
    }
    out.end_group();
    Ok(out)
}
