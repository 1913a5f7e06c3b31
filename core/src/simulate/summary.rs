use super::order::{Placed, sorted};
use super::record::{AttemptEnd, AttemptRecord, BatchRecord};
use super::timeline::TimelineBatch;
use super::why::Why;
use crate::gate::Outcome;
use crate::time::MillisSpan;

/// What a timeline comes to under a policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Attempts that succeeded.
    pub checkpoints: usize,
    /// Attempts that the driver failed.
    pub failures: usize,
    /// Attempts that were given up because of the time.
    pub timeouts: usize,
    /// Batches that shared the attempt of another.
    pub joined: usize,
    /// Batches that counted on an earlier checkpoint.
    pub already_covered: usize,
    /// Batches that were skipped, by reason, in the order in which these came up.
    pub skipped: Vec<(Why, usize)>,
    /// Batches that did not run.
    pub refused: usize,
    /// Destructive batches that ran though the policy knew of no checkpoint for them.
    pub unprotected: usize,
    /// How long batches waited.
    pub waiting: Waiting,
    /// Checkpoints that are there in the end.
    pub kept: usize,
    /// What rollbacks would cost.
    pub lost: Lost,
}

/// How long batches waited, over all of them; percentiles by nearest rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// All of it.
    pub total: MillisSpan,
    /// Half of the batches waited at most so long.
    pub median: MillisSpan,
    /// 99 of 100 batches waited at most so long.
    pub p99: MillisSpan,
    /// None waited longer.
    pub max: MillisSpan,
}

/// What it would cost to roll a destructive batch back, over those that ran and have a checkpoint to go back to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lost {
    /// On average, in milliseconds.
    pub mean_ms: f64,
    /// 99 of 100 cost at most so much; by nearest rank.
    pub p99: MillisSpan,
    /// None costs more.
    pub max: MillisSpan,
    /// The most earlier batches that one takes with it.
    pub batches: u32,
    /// How many take another turn's work with them.
    pub across_turns: usize,
    /// How many destructive batches ran with nothing to go back to.
    pub nothing: usize,
}

impl Summary {
    pub(super) fn of(
        timeline: &[TimelineBatch],
        batches: &[BatchRecord],
        attempts: &[AttemptRecord],
    ) -> Self {
        let mut summary = Self::default();
        let mut lost = Vec::new();
        for record in batches {
            match record.why.outcome() {
                Outcome::Joined => summary.joined += 1,
                Outcome::AlreadyCovered => summary.already_covered += 1,
                Outcome::Skipped => summary.skip(record.why),
                Outcome::Created | Outcome::Failed | Outcome::TimedOut => {}
            }
            if !record.ran {
                summary.refused += 1;
            } else if timeline.get(record.batch as usize).is_some_and(|batch| !batch.read_only) {
                summary.unprotected += usize::from(!record.protected);
                if summary.lost.add(record) {
                    lost.push(record.lost.as_u64());
                }
            }
        }
        for attempt in attempts {
            summary.kept += usize::from(attempt.kept);
            *match attempt.end {
                AttemptEnd::Succeeded => &mut summary.checkpoints,
                AttemptEnd::Failed => &mut summary.failures,
                AttemptEnd::TimedOut => &mut summary.timeouts,
            } += 1;
        }
        let waited =
            Spread::of(batches.len(), &|at| batches.get(at).map_or(0, |record| record.waited.as_u64()));
        summary.waiting =
            Waiting { total: waited.total, median: waited.median, p99: waited.p99, max: waited.max };
        let lost = Spread::of(lost.len(), &|at| lost.get(at).copied().unwrap_or_default());
        (summary.lost.mean_ms, summary.lost.p99, summary.lost.max) = (lost.mean_ms, lost.p99, lost.max);
        summary
    }

    fn skip(&mut self, why: Why) {
        match self.skipped.iter_mut().find(|(one, _)| *one == why) {
            Some((_, count)) => *count += 1,
            None => self.skipped.push((why, 1)),
        }
    }
}

impl Lost {
    /// A destructive batch ran: whether it has something to go back to.
    fn add(&mut self, record: &BatchRecord) -> bool {
        let back = record.returns_to.is_some();
        self.nothing += usize::from(!back);
        self.across_turns += usize::from(record.lost_turns > 0);
        self.batches = self.batches.max(record.lost_batches);
        back
    }
}

/// How some spans are spread.
struct Spread {
    total: MillisSpan,
    mean_ms: f64,
    median: MillisSpan,
    p99: MillisSpan,
    max: MillisSpan,
}

impl Spread {
    fn of(count: usize, value: &dyn Fn(usize) -> u64) -> Self {
        let values = sorted(count, value);
        let total = values.iter().fold(0_u64, |sum, &(value, _)| sum.saturating_add(value));
        // Both numbers are exact below 2^53, and a division rounds the same way everywhere.
        let mean_ms = if count == 0 { 0.0 } else { total as f64 / count as f64 };
        let ranked = |percent| ranked(&values, percent);
        Self {
            total: MillisSpan::from_millis(total),
            mean_ms,
            median: ranked(50),
            p99: ranked(99),
            max: ranked(100),
        }
    }
}

/// The smallest value that `percent` of 100 are not above.
fn ranked(values: &[Placed], percent: usize) -> MillisSpan {
    let rank = (values.len() * percent).div_ceil(100);
    let value = values.get(rank.saturating_sub(1)).map_or(0, |&(value, _)| value);
    MillisSpan::from_millis(value)
}
