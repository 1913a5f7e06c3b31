//! Kill at every system call of every operation, on each thread, and at random times (P1, P3, P8, P9). The tracer kills the process
//! as it enters the call, so that every state between two calls is seen.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};
use turnback_core::CheckpointId;

use crate::budget::Budget;
use crate::machine;
use crate::operation::{Op, Said, Settings, Waiting};
use crate::outcome::Outcome;
use crate::scene::Scene;
use crate::strace::{self, Calls, Injection};
use crate::tree::{Picture, difference, difference_but};

/// The calls that change what is on disk or in the kernel. Between two of them nothing that lasts happens, so that the quick tier
/// kills at these only; the long one at all.
pub(crate) const CHANGING: [&str; 35] = [
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "copy_file_range",
    "sendfile",
    "ftruncate",
    "fallocate",
    "fsync",
    "fdatasync",
    "syncfs",
    "sync_file_range",
    "rename",
    "renameat",
    "renameat2",
    "mkdir",
    "mkdirat",
    "unlink",
    "unlinkat",
    "rmdir",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "mknodat",
    "chmod",
    "fchmod",
    "fchmodat",
    "fchown",
    "fchownat",
    "utimensat",
    "fsetxattr",
    "lsetxattr",
    "openat",
    "flock",
];

/// Which operation is under test; the ids are made for each round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Under {
    /// Taking a checkpoint.
    Create,
    /// Rolling back.
    Rollback,
    /// Deleting a checkpoint.
    Delete,
}

/// All operations under test.
pub const ALL: [Under; 3] = [Under::Create, Under::Rollback, Under::Delete];

/// A prepared round: the operation, the tree before it, and what has to be listed after it.
pub(crate) struct Prepared {
    pub(crate) op: Op,
    pub(crate) before: Picture,
    pub(crate) known: Vec<CheckpointId>,
}

impl Under {
    pub(crate) fn prepare(self, scene: &Scene, salt: u64) -> Result<Prepared> {
        let before = scene.edit(salt)?;
        let op = match self {
            Self::Create => Op::Create,
            Self::Rollback => Op::Rollback(scene.base),
            Self::Delete => {
                let manager = scene.open()?;
                let victim = scene.create(&manager)?;
                // What it shares with a younger one has to stay.
                crate::tree::apply_edit(&scene.root(), &crate::tree::Edit::Write(0, 1, 9));
                let younger = scene.create(&manager)?;
                return Ok(Prepared {
                    op: Op::Delete(victim),
                    before: Picture::of(&scene.root())?,
                    known: vec![younger],
                });
            }
        };
        Ok(Prepared { op, before, known: Vec::new() })
    }
}

/// What has to hold after an operation that was cut off or that failed, before anything else is done.
pub(crate) fn judge(
    scene: &Scene,
    round: &Prepared,
    said: &Said,
    what: &str,
    out: &mut Outcome,
) -> Result<()> {
    let mut known = round.known.clone();
    match said {
        Said::Done(_) | Said::Partly(..) => {
            let (id, but): (_, &[Vec<u8>]) = match said {
                Said::Partly(id, but) => (id, but),
                Said::Done(id) => (id, &[]),
                _ => (&None, &[]),
            };
            known.extend(*id);
            let now = Picture::of(&scene.root())?;
            let (should, but_now): (_, &[Vec<u8>]) =
                if matches!(round.op, Op::Rollback(_)) { (&scene.then, but) } else { (&round.before, &[]) };
            let differs = difference_but(&now, should, but_now);
            out.check(differs.is_none(), 12, || {
                format!("{what}: said {said:?}, and {}", differs.unwrap_or_default())
            });
            if let (Op::Create, Some(id)) = (round.op, id) {
                acknowledged_is_exact(scene, *id, &round.before, but, what, out)?;
            }
        }
        Said::Nothing | Said::Failed(_) => match round.op {
            // Only a rollback writes to the workspace (P13).
            Op::Rollback(_) => recovers(scene, round, what, out)?,
            Op::Open | Op::Create | Op::Delete(_) => {
                let differs = difference(&Picture::of(&scene.root())?, &round.before);
                out.check(differs.is_none(), 13, || format!("{what}: {}", differs.unwrap_or_default()));
            }
        },
    }
    scene.is_whole(&known, 1, what, out)
}

/// A checkpoint that was acknowledged has what was there: it is exported beside the workspace and compared.
fn acknowledged_is_exact(
    scene: &Scene,
    id: CheckpointId,
    should: &Picture,
    but: &[Vec<u8>],
    what: &str,
    out: &mut Outcome,
) -> Result<()> {
    let place = tempfile::tempdir_in(&scene.directory)?;
    let target = place.path().join("out");
    let exported =
        scene.open().and_then(|manager| manager.export(id, &target, &turnback_engine::Context::default()));
    if let Err(error) = exported {
        out.breach(12, format!("{what}: the acknowledged checkpoint cannot be read: {error}"));
        return Ok(());
    }
    let differs = difference_but(&Picture::of(&target)?, should, but);
    out.check(differs.is_none(), 12, || format!("{what}: created, and {}", differs.unwrap_or_default()));
    Ok(())
}

/// After a rollback that did not end: the same rollback again brings the tree back exactly (P3).
fn recovers(scene: &Scene, round: &Prepared, what: &str, out: &mut Outcome) -> Result<()> {
    let now = Picture::of(&scene.root())?;
    if now == round.before || now == scene.then {
        return Ok(());
    }
    let restored = scene.open().map_err(Into::into).and_then(|manager| scene.restore_base(&manager));
    match restored {
        Ok(None) => {}
        Ok(Some(differs)) => out.breach(3, format!("{what}: after the same rollback again {differs}")),
        Err(error) => out.breach(3, format!("{what}: the same rollback again: {error:#}")),
    }
    Ok(())
}

/// The whole method.
///
/// # Errors
/// When the harness fails.
pub fn run(program: &Path, budget: Budget) -> Result<Outcome> {
    if let Some(why) = machine::no_strace() {
        return Ok(Outcome::skip(format!("kill: {why}")));
    }
    let mut out = Outcome::default();
    for under in ALL {
        out.add(sweep(program, under, 1, budget.is_long())?);
        if budget.is_long() {
            out.add(sweep(program, under, 2, true)?);
        }
    }
    out.add(twice(program, budget.share(3))?);
    for (i, under) in ALL.into_iter().enumerate() {
        out.add(random_times(program, under, budget.share(3 - i as u32))?);
    }
    Ok(out)
}

/// Kills at each call of each thread in turn.
fn sweep(program: &Path, under: Under, workers: u32, every_call: bool) -> Result<Outcome> {
    let mut out = Outcome::default();
    let directory = machine::quick_directory()?;
    let scene = Scene::new(directory.path())?;
    let settings = Settings { workers, ..Settings::default() };
    let clean = under.prepare(&scene, 1)?;
    let calls = strace::calls(program, clean.op, &scene.directory, settings)?;
    judge(&scene, &clean, &Said::Nothing, "undisturbed", &mut out)?;
    let chosen: Calls =
        calls.into_iter().filter(|((_, name), _)| every_call || CHANGING.contains(&name.as_str())).collect();
    let (mut kills, mut salt) = (0, 1);
    let mut hit = BTreeSet::new();
    for (role, call) in chosen.keys() {
        let mut missed = 0;
        for nth in 1.. {
            salt += 1;
            let round = under.prepare(&scene, salt)?;
            let injection = Injection { role, call, nth, what: "signal=SIGKILL" };
            let (said, killed) = strace::disturbed(program, round.op, &scene.directory, settings, injection)?;
            let what = format!("{} killed at {role} {call} {nth}", round.op.name());
            if killed {
                kills += 1;
                hit.insert((role, call));
            }
            judge(&scene, &round, &said, &what, &mut out)?;
            // Threads share the work as they come, so that one may make fewer calls this time: two misses end the count.
            missed = if killed { 0 } else { missed + 1 };
            if missed == 2 || out.is_hopeless() {
                break;
            }
        }
    }
    let never: Vec<_> = chosen.keys().filter(|(role, call)| !hit.contains(&(role, call))).collect();
    if !never.is_empty() && !out.is_hopeless() {
        // With one worker each thread makes the same calls every time; several share the work as they come.
        let must: Vec<_> = never.iter().filter(|(role, _)| settings.workers == 1 || role == "main").collect();
        anyhow::ensure!(must.is_empty(), "{under:?}: these calls were never hit: {must:?}");
    }
    let what = format!(
        "{under:?} killed at each of {} calls on {} threads",
        chosen.keys().map(|(_, call)| call).collect::<BTreeSet<_>>().len(),
        chosen.keys().map(|(role, _)| role).collect::<BTreeSet<_>>().len()
    );
    let figure = format!("{kills} kills, {} of {} thread/call pairs hit", hit.len(), chosen.len());
    for promise in [1, 3, 8, 9, 12, 13] {
        if promise != 3 || under == Under::Rollback {
            out.figure(promise, what.clone(), figure.clone());
        }
    }
    out.end_group();
    Ok(out)
}

/// Kills a rollback, then what mends it, then looks (two levels).
fn twice(program: &Path, budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    let directory = machine::quick_directory()?;
    let scene = Scene::new(directory.path())?;
    let settings = Settings::default();
    let clean = Under::Rollback.prepare(&scene, 1)?;
    let calls = strace::calls(program, clean.op, &scene.directory, settings)?;
    let points: Vec<(&str, &str, u64)> = calls
        .iter()
        .filter(|((_, name), _)| CHANGING.contains(&name.as_str()) && name != "write")
        .flat_map(|((role, call), count)| (1..=*count).map(move |n| (role.as_str(), call.as_str(), n)))
        .collect();
    anyhow::ensure!(!points.is_empty(), "a rollback makes no calls");
    let (mut done, mut both) = (0u64, 0u64);
    // Two strides without a common factor go through all pairs.
    while budget.more(done, 20) && !out.is_hopeless() {
        let first = points[(done as usize * 7) % points.len()];
        let second = points[(done as usize * 11 + done as usize / points.len()) % points.len()];
        let round = Under::Rollback.prepare(&scene, 10_000 + done)?;
        let mut kills = 0;
        for (role, call, nth) in [first, second] {
            let injection = Injection { role, call, nth, what: "signal=SIGKILL" };
            let (_, killed) = strace::disturbed(program, round.op, &scene.directory, settings, injection)?;
            kills += u64::from(killed);
        }
        both += u64::from(kills == 2);
        let what = format!("rollback killed at {first:?}, the next one at {second:?}");
        judge(&scene, &round, &Said::Nothing, &what, &mut out)?;
        done += 1;
    }
    out.figure(
        3,
        "a rollback killed, and what mends it killed as well",
        format!("{done} pairs, {both} with both kills"),
    );
    out.end_group();
    Ok(out)
}

/// Kills at random moments.
fn random_times(program: &Path, under: Under, budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    let directory = machine::quick_directory()?;
    let scene = Scene::new(directory.path())?;
    let (mut done, mut killed, mut state) = (0u64, 0u64, 88_172_645_463_325_252u64);
    while budget.more(done, 15) && !out.is_hopeless() {
        let round = under.prepare(&scene, 50_000 + done)?;
        let mut process = Waiting::start(program, round.op, &scene.directory, Settings::default())?;
        process.go()?;
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        spin(state % 12_000);
        process.kill().context("the process is there until it is waited for")?;
        let (said, was_killed) = process.end()?;
        killed += u64::from(was_killed);
        let what = format!("{} killed after {} µs", round.op.name(), state % 12_000);
        judge(&scene, &round, &said, &what, &mut out)?;
        done += 1;
    }
    for promise in if under == Under::Rollback { vec![1, 3] } else { vec![1] } {
        out.figure(
            promise,
            format!("{under:?} killed at random times"),
            format!("{done} runs, {killed} killed"),
        );
    }
    out.end_group();
    Ok(out)
}

/// Lets `micros` go by without giving the processor away for longer than that.
pub(crate) fn spin(micros: u64) {
    let until = std::time::Instant::now() + std::time::Duration::from_micros(micros);
    while std::time::Instant::now() < until {
        std::hint::spin_loop();
    }
}
