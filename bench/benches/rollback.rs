//! Rollbacks of a tree of 20,000 files, each with the checkpoint that undoes it (W4).

use std::time::{Duration, Instant};

use anyhow::Result;
use criterion::Criterion;
use turnback_bench::criterion_support::{Bench, or_give_up};
use turnback_bench::limits::settle_disk;

fn timed(bench: &Bench, iterations: u64, mut damage: impl FnMut() -> Result<()>) -> Result<Duration> {
    let mut total = Duration::ZERO;
    for _ in 0..iterations {
        bench.settle()?;
        damage()?;
        settle_disk(&bench.tree)?;
        let started = Instant::now();
        bench.subject.rollback(bench.base)?;
        total += started.elapsed();
    }
    Ok(total)
}

fn main() -> Result<()> {
    let bench = Bench::new()?;
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("rollback");
    group.sample_size(10);
    group.bench_function("stat_walk", |b| b.iter(|| or_give_up(bench.walk.run(&bench.tree))));
    let mut round = 0;
    group.bench_function("ten_files_changed", |b| {
        b.iter_custom(|iterations| {
            or_give_up(timed(&bench, iterations, || {
                round += 1;
                bench.churn.edit(round)
            }))
        });
    });
    group.bench_function("half_deleted", |b| {
        b.iter_custom(|iterations| or_give_up(timed(&bench, iterations, || bench.churn.delete_half())));
    });
    group.finish();
    criterion.final_summary();
    Ok(())
}
