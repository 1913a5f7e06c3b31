//! W8: what a batch costs in core whose turn has its checkpoint already, among few and among many remembered sandboxes.

use std::hint::black_box;

use anyhow::{Context, Result};
use criterion::{BatchSize, Criterion};
use turnback_bench::criterion_support::or_give_up;
use turnback_core::{AttemptId, Batch, BatchId, Gate, GateOptions, Input, Millis, Output, SandboxId, TurnId};

/// A gate that remembers so many sandboxes, each with a turn that is covered.
fn gate(sandboxes: usize) -> Result<(Gate, Vec<(SandboxId, TurnId)>)> {
    let mut gate = Gate::new(GateOptions::default());
    let mut ids = Vec::new();
    for number in 0..sandboxes {
        let (sandbox_id, turn_id) =
            (SandboxId::new(format!("sandbox-{number}"))?, TurnId::new(format!("turn-{number}"))?);
        let batch = Batch {
            batch: BatchId::new(u64::try_from(number)?),
            sandbox_id: sandbox_id.clone(),
            turn_id: Some(turn_id.clone()),
            flag_enabled: true,
            paused: false,
            has_driver: true,
            read_only: false,
        };
        gate.handle(&Input::Batch(batch), Millis::EPOCH)?;
        let attempt = AttemptId::new(u64::try_from(number)? + 1);
        gate.handle(&Input::Created { attempt, checkpoint_id: None, partial: false }, Millis::EPOCH)?;
        while !matches!(gate.poll_output(), Output::Timeout { .. } | Output::Idle) {}
        ids.push((sandbox_id, turn_id));
    }
    Ok((gate, ids))
}

fn main() -> Result<()> {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("covered");
    for sandboxes in [1, 1_000, 100_000] {
        let (mut gate, ids) = gate(sandboxes)?;
        let mut at = 0;
        group.bench_function(sandboxes.to_string(), |b| {
            b.iter_batched_ref(
                || {
                    // Another one each time, far from the last: what is remembered of it is in no cache.
                    at = (at + 7_919) % ids.len();
                    ids[at].clone()
                },
                |(sandbox_id, turn_id)| {
                    let cover = gate.pass_covered(black_box(sandbox_id), black_box(turn_id), Millis::EPOCH);
                    or_give_up(cover.context("the turn is not covered"))
                },
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
    criterion.final_summary();
    Ok(())
}
