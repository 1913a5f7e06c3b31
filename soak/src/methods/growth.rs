//! 200 turns at fixed churn, every tenth of them killed (P8, W13, F1, F37): the store grows by what was changed and a little for each
//! checkpoint, what the dead leave is reclaimed, and once everything is deleted nothing is left.

use std::fs;
use std::path::Path;

use anyhow::Result;
use turnback_engine::Context;

use super::kill::spin;
use crate::budget::Budget;
use crate::machine;
use crate::operation::{Op, Said, Settings, Waiting};
use crate::outcome::Outcome;
use crate::scene::Scene;
use crate::tree::noise;

const TURNS: u64 = 200;
/// Bytes that each turn changes. No compression shortens them, so that what was changed is what has to be stored.
const CHANGED: u64 = 60_000;
/// What a checkpoint may take beside them.
const BESIDE: u64 = 64 << 10;

/// The whole method: with other moments of death each time.
///
/// # Errors
/// When the harness fails.
pub fn run(program: &Path, budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    let (mut runs, mut killed, mut most) = (0u64, 0u64, 0.0f64);
    let mut largest = String::new();
    while budget.more(runs, 1) && !out.is_hopeless() {
        let directory = machine::quick_directory()?;
        let scene = Scene::new(directory.path())?;
        let held = || -> Result<u64> { Ok(scene.open()?.usage()?.store_bytes) };
        for i in 0..50 {
            fs::write(scene.root().join(format!("still{i}")), noise(10_000 + i, 10_000))?;
        }
        let empty = held()?;
        scene.create(&scene.open()?)?;
        let before = held()?;
        for turn in 0..TURNS {
            let place = scene.root().join(format!("d{}", turn % 7));
            fs::create_dir_all(&place)?;
            fs::write(place.join("changing"), noise(runs * TURNS + turn, CHANGED as usize))?;
            let mut process = Waiting::start(program, Op::Create, &scene.directory, Settings::default())?;
            process.go()?;
            if turn % 10 == 9 {
                spin((runs + 1).wrapping_mul(turn * 97) % 3000);
                process.kill()?;
            }
            let (said, was_killed) = process.end()?;
            killed += u64::from(was_killed);
            let is_right = was_killed || matches!(said, Said::Done(_));
            out.check(is_right, 12, || format!("run {runs}, turn {turn}: {said:?}"));
            // What the dead left is reclaimed by whoever opens the store next.
            let manager = scene.open()?;
            let left = fs::read_dir(scene.store().join("tmp"))?.count();
            out.check(left == 0, 8, || format!("run {runs}, turn {turn}: {left} leftovers in tmp"));
            let made = scene.ids(&manager)?.len() as u64 - 2;
            let (grown, bound) = (held()? - before, (turn + 1) * CHANGED * 6 / 5 + made * BESIDE);
            out.check(grown <= bound, 8, || {
                format!("run {runs}: {grown} of {bound} bytes after {turn} turns")
            });
            let share = grown as f64 / bound as f64;
            if turn == TURNS - 1 && share > most {
                most = share;
                largest = format!("{:.2} of {:.2} MB", grown as f64 / 1e6, bound as f64 / 1e6);
            }
        }
        let manager = scene.open()?;
        let report = manager.verify(None, &Context::default())?;
        out.check(report.damaged.is_empty(), 8, || format!("run {runs}: {:?}", report.damaged));
        scene.only_base(&manager)?;
        let after = held()?;
        // The stat cache knows of more paths than before.
        out.check(after <= empty + BESIDE, 8, || format!("run {runs}: {after} bytes are left of {empty}"));
        runs += 1;
    }
    out.figure(
        8,
        format!("{TURNS} turns at fixed churn, every tenth killed (W13)"),
        format!("{runs} runs, {killed} killed; grown by {largest} that it may at most"),
    );
    if out.has_new(12) {
        out.figure(12, "a checkpoint at fixed churn", format!("{runs} runs"));
    }
    out.end_group();
    Ok(out)
}
