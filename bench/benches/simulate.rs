//! W11: a timeline of 100,000 batches under each policy. In a browser the same takes about three times as long, and the objects of
//! the trace come on top: `js-tests/wasm/simulate.mjs` measures that in Node.

use std::hint::black_box;

use anyhow::{Context, Result};
use criterion::Criterion;
use turnback_core::{
    AutomaticRule, CHECKPOINT_TIMEOUT, DriverModel, Latency, Millis, MillisSpan, ModelPolicy, PolicyKind,
    Rate, Timeline, TimelineBatch, simulate,
};

const BATCHES: u32 = 100_000;

/// One batch a second, so many in a turn, each running for half a second; one in three only reads.
fn timeline(turn: u32) -> Result<Timeline> {
    let batch = |number: u32| TimelineBatch {
        sandbox: 0,
        turn: Some(number / turn),
        start: Millis::since_epoch(u64::from(number) * 1_000),
        duration: MillisSpan::from_millis(500),
        read_only: number.is_multiple_of(3),
        recorded: None,
    };
    Ok(Timeline::new((0..BATCHES).map(batch).collect())?)
}

fn main() -> Result<()> {
    let mut criterion = Criterion::default().configure_from_args();
    let driver = DriverModel {
        seed: 0,
        latency: Latency::Fixed(MillisSpan::from_millis(50)),
        failures: Rate::new(0.01).context("a share")?,
        stalls: Rate::new(0.001).context("a share")?,
        recorded: false,
    };
    let mut group = criterion.benchmark_group("simulate");
    group.sample_size(10);
    for (name, turn, kind) in [
        ("per turn, five batches each", 5, PolicyKind::PerTurn),
        ("per turn, one batch each", 1, PolicyKind::PerTurn),
        ("every batch", 5, PolicyKind::EveryBatch),
        ("interval", 5, PolicyKind::Interval(MillisSpan::from_millis(60_000))),
    ] {
        let policy = ModelPolicy {
            kind,
            unless_read_only: false,
            timeout: CHECKPOINT_TIMEOUT,
            block: false,
            retention: AutomaticRule::default(),
        };
        let timeline = timeline(turn)?;
        group.bench_function(name, |b| b.iter(|| simulate(black_box(&timeline), &driver, &policy)));
    }
    group.finish();
    criterion.final_summary();
    Ok(())
}
