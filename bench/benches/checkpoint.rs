//! Checkpoints of 20,000 files, beside the plain walk that W1 and W2 are ratios of.

use std::time::{Duration, Instant};

use anyhow::Result;
use criterion::Criterion;
use turnback_bench::criterion_support::{Bench, or_give_up};

/// Checkpoints of a series that stay, so that the store does not fill up: the last one carries the stat cache.
fn timed(bench: &Bench, iterations: u64, mut before: impl FnMut(u64) -> Result<()>) -> Result<Duration> {
    let mut total = Duration::ZERO;
    let mut previous = None;
    for iteration in 0..iterations {
        before(iteration)?;
        let started = Instant::now();
        let taken = bench.subject.checkpoint()?;
        total += started.elapsed();
        if let Some(id) = previous.replace(taken.checkpoint_id) {
            bench.subject.delete(id)?;
        }
    }
    Ok(total)
}

fn main() -> Result<()> {
    let bench = Bench::new()?;
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("checkpoint");
    group.sample_size(20);
    group.bench_function("stat_walk", |b| b.iter(|| or_give_up(bench.walk.run(&bench.tree))));
    group.bench_function("unchanged", |b| {
        b.iter_custom(|iterations| or_give_up(timed(&bench, iterations, |_| Ok(()))));
    });
    let mut round = 0;
    group.bench_function("ten_files_changed", |b| {
        b.iter_custom(|iterations| {
            or_give_up(timed(&bench, iterations, |_| {
                round += 1;
                bench.churn.edit(round)
            }))
        });
    });
    group.finish();
    criterion.final_summary();
    Ok(())
}
