//! Measures Turnback beside its peers: one tree, interleaved rounds, medians with minimum and maximum, and the ratios that the goals
//! W1 to W4 name.

mod options;
mod report;
mod rounds;
mod row;

use std::time::Instant;

use anyhow::{Context as _, Result};
use turnback_bench::clock::load_average;
use turnback_bench::limits::copy_all;

use options::{HELP, Options};
use rounds::Rounds;

fn main() -> Result<()> {
    let Some(options) = Options::parse()? else {
        print!("{HELP}");
        return Ok(());
    };
    let work = tempfile::Builder::new()
        .prefix("turnback-side-by-side-")
        .tempdir_in(&options.work)
        .with_context(|| format!("making a directory in {}", options.work.display()))?;
    // Canonical, so that paths that git is given work from everywhere.
    let place = work.path().canonicalize().context("resolving the working directory")?;
    let tree = place.join("tree");
    match &options.tree {
        Some(from) => copy_all(from, &tree)?,
        None => {
            let made = options.spec.generate(&tree)?;
            println!("Generated with seed {}: {made:?}", options.spec.seed);
        }
    }
    let mut loads = vec![load_average()];
    eprintln!("preparing");
    let mut rounds = Rounds::prepare(place, tree)?;
    let started = Instant::now();
    for round in 1..=options.rounds {
        rounds.run()?;
        loads.push(load_average());
        eprintln!("round {round} of {} done after {:.0?}", options.rounds, started.elapsed());
    }
    let seen = rounds.seen;
    println!("Tree: {} paths, {} directories, {} MB", seen.paths, seen.directories, seen.bytes / 1_000_000);
    let covered = rounds.covered()?;
    println!(
        "Covered: Turnback {} paths; cp -a all; git add -A -f {} (no directories, no owners, modes, times, hard links or attributes); \
         ignored left out: Turnback {}, git {}. Half deleted: {} paths. One checkpoint's store: {} MB.",
        covered.turnback,
        covered.git,
        covered.turnback_not_ignored,
        covered.git_not_ignored,
        covered.deleted,
        rounds.store_bytes / 1_000_000
    );
    print_load(&loads);
    println!();
    report::print_table(&rounds.table);
    println!();
    report::print_ratios(&rounds.table, seen.bytes, rounds.store_bytes);
    Ok(())
}

/// Others' work on the machine makes every figure worse, and not by the same factor.
fn print_load(loads: &[Option<f64>]) {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let highest =
        loads.iter().flatten().copied().fold(None, |a: Option<f64>, b| Some(a.map_or(b, |a| a.max(b))));
    match (loads.first().copied().flatten(), highest) {
        (Some(first), Some(highest)) => {
            println!(
                "Load average before: {first:.1}, highest between rounds: {highest:.1}, {threads} threads."
            );
            #[allow(clippy::cast_precision_loss, reason = "few threads")]
            // The runner itself keeps about all threads busy.
            let is_loaded = first > threads as f64 * 0.5 || highest > threads as f64 * 1.25;
            if is_loaded {
                println!("THE MACHINE WAS LOADED: times are too long and ratios only indicative.");
            }
        }
        _ => println!("The system does not tell its load: ratios hold only if nothing else ran."),
    }
}
