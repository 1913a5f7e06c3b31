//! W8: the time of a batch that is already covered, in core. By hand: `cargo run -p turnback-core --release --example gate_covered`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "measuring needs a clock; core has none"
)]
#![allow(clippy::print_stdout, reason = "it prints its figure")]

use std::error::Error;
use std::hint::black_box;

use turnback_core::{AttemptId, Batch, BatchId, Gate, GateOptions, Input, Millis, Output, SandboxId, TurnId};

const ROUNDS: usize = 7;
const BATCHES: u32 = 1_000_000;

/// What this thread has spent on a processor: on a busy machine the time on the wall says little.
fn spent() -> Result<u64, Box<dyn Error>> {
    let counts = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(counts.split(' ').next().ok_or("no processor time in schedstat")?.parse()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    for sandboxes in [1_u64, 20, 1_000, 100_000] {
        let mut gate = Gate::new(GateOptions::default());
        let mut inputs = Vec::new();
        for number in 0..sandboxes {
            let input = Input::Batch(Batch {
                batch: BatchId::new(number),
                sandbox_id: SandboxId::new(format!("01JZ4Q8M3N5P7R9T1V3X{number:06}"))?,
                turn_id: Some(TurnId::new(format!("0d1c2b3a-4f5e-4a6b-8c7d-9e8f7a{number:06}"))?),
                flag_enabled: true,
                paused: false,
                has_driver: true,
                read_only: false,
            });
            gate.handle(&input, Millis::EPOCH)?;
            let attempt = AttemptId::new(number + 1);
            gate.handle(&Input::Created { attempt, checkpoint_id: None, partial: false }, Millis::EPOCH)?;
            inputs.push(input);
        }
        while !matches!(gate.poll_output(), Output::Timeout { .. } | Output::Idle) {}
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let started = spent()?;
            for input in inputs.iter().cycle().take(BATCHES as usize) {
                gate.handle(black_box(input), Millis::since_epoch(1))?;
                black_box(gate.poll_output());
                black_box(gate.poll_output());
            }
            rounds.push((spent()? - started) / u64::from(BATCHES));
        }
        rounds.sort_unstable();
        println!("{sandboxes} sandboxes in turn: {rounds:?} ns a covered batch");
    }
    Ok(())
}
