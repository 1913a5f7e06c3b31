//! Kill at every system call of every operation, on each thread, and at random times (P1, P3, P8, P9). The tracer kills the process
//! as it enters the call, so that every state between two calls is seen.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::under::{ALL, CHANGING, Under, judge};
use crate::budget::Budget;
use crate::machine;
use crate::operation::{Op, Said, Settings, Waiting};
use crate::outcome::Outcome;
use crate::scene::Scene;
use crate::strace::{self, Calls, Injection};

/// The whole method.
///
/// # Errors
/// When the harness fails.
pub fn run(program: &Path, budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    for (i, under) in ALL.into_iter().enumerate() {
        out.add(of(program, under, budget.share((ALL.len() + 1 - i) as u32))?);
    }
    out.add(nested(program, budget)?);
    Ok(out)
}

/// One operation: at each call, then at random times.
///
/// # Errors
/// When the harness fails.
pub fn of(program: &Path, under: Under, budget: Budget) -> Result<Outcome> {
    if let Some(why) = machine::no_strace() {
        return Ok(Outcome::skip(format!("kill: {why}")));
    }
    let mut out = sweep(program, under, 1, budget.share(3))?;
    if budget.is_long() {
        out.add(sweep(program, under, 2, budget.share(2))?);
    }
    if under != Under::Recover || budget.is_long() {
        out.add(random_times(program, under, budget)?);
    }
    Ok(out)
}

/// Kills at each call of each thread in turn.
fn sweep(program: &Path, under: Under, workers: u32, budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    let directory = machine::quick_directory()?;
    let scene = Scene::new(directory.path())?;
    let settings = Settings { workers, ..Settings::default() };
    let clean = under.prepare(program, &scene, 1)?;
    let calls = strace::calls(program, clean.op, &scene.directory, settings)?;
    judge(&scene, &clean, &Said::Nothing, "undisturbed", &mut out)?;
    let all = budget.is_long();
    let chosen: Calls =
        calls.into_iter().filter(|((_, name), _)| all || CHANGING.contains(&name.as_str())).collect();
    // The quick tier kills at six of one kind at most: it must end while somebody waits.
    let parts = if under == Under::Recover { 2 } else { 6 };
    let mut points = strace::points(&chosen, (!all).then_some(parts));
    let wanted = points.len();
    if all {
        strace::shuffle(&mut points);
    }
    let (mut kills, mut runs, mut hit) = (0u64, 0u64, BTreeSet::new());
    for (role, call, nth) in &points {
        if budget.is_over() || out.is_hopeless() {
            break;
        }
        runs += 1;
        let round = under.prepare(program, &scene, 1 + runs)?;
        let injection = Injection { role, call, nth: *nth, what: "signal=SIGKILL" };
        let (said, killed) = strace::disturbed(program, round.op, &scene.directory, settings, injection)?;
        let what = format!("{} killed at {role} {call} {nth}", round.op.name());
        if killed {
            kills += 1;
            hit.insert((role.clone(), call.clone()));
        }
        judge(&scene, &round, &said, &what, &mut out)?;
    }
    let is_whole = runs == wanted as u64;
    let never: Vec<_> = chosen.keys().filter(|pair| !hit.contains(*pair)).collect();
    if is_whole && !never.is_empty() {
        // With one worker each thread makes the same calls every time; several share the work as they come. What a recovery does depends
        // on where the rollback was killed, which is another call each time.
        let same_each_time = |role: &str| settings.workers == 1 || role == "main";
        // Whether a thread waits for another, or comes to its own end before the process does, is chance.
        let is_certain = |role: &str, call: &str| same_each_time(role) && CHANGING.contains(&call);
        let must: Vec<_> =
            never.iter().filter(|(role, call)| under != Under::Recover && is_certain(role, call)).collect();
        anyhow::ensure!(must.is_empty(), "{under:?}: these calls were never hit: {must:?}");
    }
    let what = format!(
        "{under:?} killed at each of {} calls on {} threads",
        chosen.keys().map(|(_, call)| call).collect::<BTreeSet<_>>().len(),
        chosen.keys().map(|(role, _)| role).collect::<BTreeSet<_>>().len()
    );
    let cut = if is_whole { String::new() } else { format!(" (the time was up after {runs} of {wanted})") };
    let figure = format!("{kills} kills, {} of {} thread/call pairs hit{cut}", hit.len(), chosen.len());
    for promise in [1, 3, 8, 9, 12, 13] {
        if under.promises().contains(&promise) || out.has_new(promise) {
            out.figure(promise, what.clone(), figure.clone());
        }
    }
    out.end_group();
    Ok(out)
}

/// Kills a rollback, then what finishes it, then looks (two levels).
///
/// # Errors
/// When the harness fails.
pub fn nested(program: &Path, budget: Budget) -> Result<Outcome> {
    if let Some(why) = machine::no_strace() {
        return Ok(Outcome::skip(format!("kill: {why}")));
    }
    let mut out = Outcome::default();
    let directory = machine::quick_directory()?;
    let scene = Scene::new(directory.path())?;
    let settings = Settings::default();
    let clean = Under::Rollback.prepare(program, &scene, 1)?;
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
        let round = Under::Rollback.prepare(program, &scene, 10_000 + done)?;
        let mut kills = 0;
        for (op, (role, call, nth)) in [(round.op, first), (Op::Recover, second)] {
            let injection = Injection { role, call, nth, what: "signal=SIGKILL" };
            let (_, killed) = strace::disturbed(program, op, &scene.directory, settings, injection)?;
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
        let round = under.prepare(program, &scene, 50_000 + done)?;
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
    for promise in if under.restores() { vec![1, 3] } else { vec![1] } {
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
