//! W8: what a remembered sandbox costs, and that a batch which is already covered allocates nothing.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use turnback_core::{
    AttemptId, Batch, BatchId, DigestKey, DriverCheckpointId, Gate, GateOptions, Input, Millis, MillisSpan,
    Output, SandboxId, TurnId,
};

/// As many as are remembered of one sandbox (G4).
const TURNS: usize = 6;
const MOST_BYTES: u64 = 300;

fn batch(number: u64, sandbox: &str, turn: &str) -> Input {
    Input::Batch(Batch {
        batch: BatchId::new(number),
        sandbox_id: SandboxId::new(sandbox).unwrap(),
        turn_id: Some(TurnId::new(turn).unwrap()),
        flag_enabled: true,
        paused: false,
        has_driver: true,
        read_only: false,
    })
}

fn drain(gate: &mut Gate) -> Vec<Output> {
    let mut outputs = Vec::new();
    loop {
        outputs.push(gate.poll_output());
        if matches!(outputs.last(), Some(Output::Timeout { .. } | Output::Idle)) {
            return outputs;
        }
    }
}

/// Gives each of `sandboxes` so many turns with a checkpoint each. Ids are as long as they may be.
fn cover(gate: &mut Gate, sandboxes: usize, turns: usize) {
    let long = "x".repeat(180);
    for number in 0..sandboxes {
        let sandbox = format!("{number}-{long}");
        for turn in 0..turns {
            gate.handle(&batch(0, &sandbox, &format!("{turn}-{long}")), Millis::EPOCH).unwrap();
            let attempt = AttemptId::new(u64::try_from(number * turns + turn).unwrap() + 1);
            let checkpoint_id = Some(DriverCheckpointId::new(&"i".repeat(200)).unwrap());
            gate.handle(&Input::Created { attempt, checkpoint_id, partial: true }, Millis::EPOCH).unwrap();
            drain(gate);
        }
    }
}

/// The bytes that a gate holds however many sandboxes it remembers: what it knows of the last 1,024 successes and the last 1,024
/// batches, and of turns that it forgot. Of one that had many sandboxes, and has none.
fn base() -> u64 {
    let mut gate = None;
    let info = allocation_counter::measure(|| {
        let mut made = Gate::new(GateOptions::default());
        cover(&mut made, 2_000, 1);
        let long = "x".repeat(180);
        for number in 0..2_000 {
            let sandbox_id = SandboxId::new(format!("{number}-{long}")).unwrap();
            made.handle(&Input::Forgotten { sandbox_id }, Millis::EPOCH).unwrap();
        }
        drain(&mut made);
        gate = Some(made);
    });
    assert_eq!(gate.unwrap().remembered_sandboxes(), 0);
    let base = u64::try_from(info.bytes_current).unwrap();
    println!("{base} bytes however many");
    assert!(base <= 100_000, "{base} bytes in a gate that remembers nothing");
    base
}

/// The bytes that a gate which remembers so many sandboxes holds, by the allocator's own count.
fn held(sandboxes: usize, turns: usize) -> u64 {
    let mut gate = None;
    let info = allocation_counter::measure(|| {
        let mut made = Gate::new(GateOptions::default());
        cover(&mut made, sandboxes, turns);
        gate = Some(made);
    });
    assert_eq!(gate.unwrap().remembered_sandboxes(), sandboxes);
    u64::try_from(info.bytes_current).unwrap()
}

#[test]
fn a_remembered_sandbox_costs_at_most_300_bytes_however_many_turns_it_had() {
    let base = base();
    for (sandboxes, turns) in [(900, 2), (1_000, TURNS), (1_000, 4 * TURNS), (20_000, 1)] {
        let each = (held(sandboxes, turns) - base) / u64::try_from(sandboxes).unwrap();
        println!("{sandboxes} sandboxes with {turns} turns: {each} bytes each");
        assert!(each <= MOST_BYTES, "{each} bytes a sandbox");
    }
}

#[test]
fn it_stays_so_when_most_of_them_are_forgotten() {
    let mut gate = None;
    let info = allocation_counter::measure(|| {
        let mut made = Gate::new(GateOptions::default());
        cover(&mut made, 5_000, 1);
        let long = "x".repeat(180);
        for number in (0..5_000).filter(|number| number % 5 != 0) {
            let sandbox_id = SandboxId::new(format!("{number}-{long}")).unwrap();
            made.handle(&Input::Forgotten { sandbox_id }, Millis::EPOCH).unwrap();
        }
        gate = Some(made);
    });
    assert_eq!(gate.unwrap().remembered_sandboxes(), 1_000);
    let each = (u64::try_from(info.bytes_current).unwrap() - base()) / 1_000;
    println!("1,000 left of 5,000: {each} bytes each");
    assert!(each <= MOST_BYTES, "{each} bytes a sandbox");
}

#[test]
fn attempts_whose_drivers_never_answer_do_not_pile_up() {
    let options = GateOptions { timeout: MillisSpan::from_millis(1), ..GateOptions::default() };
    let mut gate = Gate::new(options);
    let mut hang = |from: u64, to: u64| {
        for number in from..to {
            gate.handle(&batch(number, "s", &format!("t{number}")), Millis::since_epoch(2 * number)).unwrap();
            gate.handle(&Input::Tick, Millis::since_epoch(2 * number + 1)).unwrap();
            drain(&mut gate);
        }
    };
    hang(0, 2_000);
    let grown = allocation_counter::measure(|| hang(2_000, 6_000)).bytes_current;
    assert!(grown < 4_096, "{grown} bytes more after 4,000 more of them");
}

#[test]
fn a_covered_batch_allocates_nothing() {
    let options = GateOptions { digest_key: DigestKey::new([7; 16]), ..GateOptions::default() };
    let mut gate = Gate::new(options);
    let input = batch(1, "sandbox", "turn");
    gate.handle(&input, Millis::EPOCH).unwrap();
    let checkpoint_id = Some(DriverCheckpointId::new("01JZ4Q8M3N5P7R9T1V3X5Z7B9D").unwrap());
    gate.handle(&Input::Created { attempt: AttemptId::new(1), checkpoint_id, partial: false }, Millis::EPOCH)
        .unwrap();
    drain(&mut gate);
    let mut covered = 0;
    let info = allocation_counter::measure(|| {
        for now in 1..1_000 {
            gate.handle(&input, Millis::since_epoch(now)).unwrap();
            if let Output::Verdict(verdict) = gate.poll_output() {
                covered += i32::from(verdict.protected());
            }
        }
    });
    assert_eq!((covered, info.count_total), (999, 0), "covered batches, allocations");

    let (sandbox, turn) = (SandboxId::new("sandbox").unwrap(), TurnId::new("turn").unwrap());
    let info = allocation_counter::measure(|| {
        covered += i32::from(gate.pass_covered(&sandbox, &turn, Millis::since_epoch(1_000)).is_some());
    });
    assert_eq!((covered, info.count_total), (1_000, 0), "the short cut");
}
