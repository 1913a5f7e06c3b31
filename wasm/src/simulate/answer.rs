use turnback_core::{
    AttemptEnd, AttemptRecord, BatchRecord, Lost, Millis, MillisSpan, Outcome, Reason, Replay, Waiting, Why,
};

use crate::gate::MAX_SAFE;

/// The outcomes by the numbers that stand for them.
const OUTCOMES: [Outcome; 6] = [
    Outcome::Created,
    Outcome::Joined,
    Outcome::AlreadyCovered,
    Outcome::Skipped,
    Outcome::Failed,
    Outcome::TimedOut,
];

/// How many numbers a batch has, and an attempt.
const BATCH: usize = 11;
const ATTEMPT: usize = 6;

/// What stands for an instant that never comes.
const NEVER: f64 = -1.0;

/// The summary (18 numbers, in the order of its fields), how many reasons for skipping there are, these with their counts, how many
/// batches and attempts there are, then each batch, then each attempt.
pub(super) fn written(Replay { batches, attempts, summary }: &Replay) -> Vec<f64> {
    let Waiting { total, median, p99, max } = summary.waiting;
    let Lost { mean_ms, p99: lost_p99, max: lost_max, batches: lost_batches, across_turns, nothing } =
        summary.lost;
    let mut numbers = vec![
        count(summary.checkpoints),
        count(summary.failures),
        count(summary.timeouts),
        count(summary.joined),
        count(summary.already_covered),
        count(summary.refused),
        count(summary.unprotected),
        count(summary.kept),
        span(total),
        span(median),
        span(p99),
        span(max),
        mean_ms,
        span(lost_p99),
        span(lost_max),
        f64::from(lost_batches),
        count(across_turns),
        count(nothing),
        count(summary.skipped.len()),
    ];
    for &(why, times) in &summary.skipped {
        numbers.extend_from_slice(&[why_number(why), count(times)]);
    }
    numbers.extend_from_slice(&[count(batches.len()), count(attempts.len())]);
    numbers.reserve_exact(batches.len() * BATCH + attempts.len() * ATTEMPT);
    for record in batches {
        numbers.extend_from_slice(&batch(record));
    }
    for record in attempts {
        numbers.extend_from_slice(&attempt(record));
    }
    numbers
}

/// Its place, when it asked, how long it waited, whether it ran (1), was protected (2), late (4), its reason, outcome, attempt and the one
/// that it returns to (0: none), and what would be lost.
fn batch(record: &BatchRecord) -> [f64; BATCH] {
    let flags = flags([record.ran, record.protected, record.late]);
    let outcome = record.why.outcome();
    [
        f64::from(record.batch),
        instant(record.at),
        span(record.waited),
        flags,
        why_number(record.why),
        place(OUTCOMES.iter().position(|one| *one == outcome)),
        f64::from(record.attempt.unwrap_or_default()),
        f64::from(record.returns_to.unwrap_or_default()),
        span(record.lost),
        f64::from(record.lost_batches),
        f64::from(record.lost_turns),
    ]
}

/// Who led it, when the driver was called, when the policy no longer waited, when the driver answered, how it ended, whether it is late (1)
/// and kept (2).
fn attempt(record: &AttemptRecord) -> [f64; ATTEMPT] {
    let end = match record.end {
        AttemptEnd::Succeeded => 0.0,
        AttemptEnd::Failed => 1.0,
        AttemptEnd::TimedOut => 2.0,
    };
    [
        f64::from(record.leader),
        instant(record.at),
        instant(record.ended),
        record.answered.map_or(NEVER, instant),
        end,
        flags([record.late, record.kept, false]),
    ]
}

fn flags([one, two, four]: [bool; 3]) -> f64 {
    f64::from(u8::from(one) | u8::from(two) << 1 | u8::from(four) << 2)
}

/// The gate's reasons in their order, then those of the other policies.
fn why_number(why: Why) -> f64 {
    let own = || Why::OWN.iter().position(|one| *one == why).map(|at| at + Reason::ALL.len());
    place(match why {
        Why::Gate(reason) => Reason::ALL.iter().position(|one| *one == reason),
        _ => own(),
    })
}

fn place(at: Option<usize>) -> f64 {
    count(at.unwrap_or(usize::MAX))
}

fn instant(instant: Millis) -> f64 {
    safe(instant.as_u64())
}

fn span(span: MillisSpan) -> f64 {
    safe(span.as_u64())
}

fn count(count: usize) -> f64 {
    safe(count as u64)
}

/// What is beyond the largest integer that a JavaScript number holds exactly becomes that one.
fn safe(number: u64) -> f64 {
    const MAX: u64 = (1 << 53) - 1;
    if number > MAX { MAX_SAFE } else { number as f64 }
}
