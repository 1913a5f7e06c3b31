//! What is written down of a replay, and how it is put together.

use super::Replay;
use super::lane::Lane;
use super::order::sorted;
use super::policy::ModelPolicy;
use super::summary::Summary;
use super::timeline::Timeline;
use super::why::Why;
use crate::time::{Millis, MillisSpan};

/// A batch asked, waited, and ran or was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchRecord {
    /// Its place in the timeline.
    pub batch: u32,
    /// When it asked.
    pub at: Millis,
    /// How long it waited for its answer.
    pub waited: MillisSpan,
    /// Whether it ran, from then on; otherwise it was refused.
    pub ran: bool,
    /// Why it was answered as it was.
    pub why: Why,
    /// Whether the policy believes that it can be taken back.
    pub protected: bool,
    /// Whether earlier batches of its turn ran before the checkpoint.
    pub late: bool,
    /// The number of the attempt that it waited for or counts on.
    pub attempt: Option<u32>,
    /// The number of the attempt whose checkpoint a rollback goes to. `None`: there is none, or nothing to take back.
    pub returns_to: Option<u32>,
    /// The work that such a rollback throws away besides the batch.
    pub lost: MillisSpan,
    /// Of how many earlier batches that is.
    pub lost_batches: u32,
    /// Of how many other turns.
    pub lost_turns: u32,
}

impl BatchRecord {
    /// When it began to run, if it did.
    pub fn started(&self) -> Option<Millis> {
        self.ran.then(|| self.answered())
    }

    pub(super) const fn answered(&self) -> Millis {
        self.at.saturating_add(self.waited)
    }
}

/// How an attempt ended, for the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// There is a checkpoint.
    Succeeded,
    /// The driver said that there is none.
    Failed,
    /// Nobody waited any longer.
    TimedOut,
}

/// The driver was asked for a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptRecord {
    /// The batch that led it, by its place in the timeline: that batch's sandbox and turn are the attempt's.
    pub leader: u32,
    /// When the driver was called.
    pub at: Millis,
    /// When the policy no longer waited.
    pub ended: Millis,
    /// When the driver answered, if it ever did.
    pub answered: Option<Millis>,
    /// How it ended.
    pub end: AttemptEnd,
    /// Whether earlier batches of the turn had run.
    pub late: bool,
    /// Whether its checkpoint is still there at the end.
    pub kept: bool,
}

/// One sandbox's part: batches in the order of its [`Lane`], attempts in their own; both name attempts by their place in it.
#[derive(Debug)]
pub(super) struct LaneRecords {
    pub(super) batches: Vec<BatchRecord>,
    pub(super) attempts: Vec<AttemptRecord>,
}

/// All sandboxes' parts.
#[derive(Debug)]
pub(super) struct Records {
    batches: Vec<BatchRecord>,
    attempts: Vec<AttemptRecord>,
    /// How many attempts there are before each sandbox's and after all of them.
    bounds: Vec<usize>,
    /// When everything is over.
    over: Millis,
}

impl Records {
    pub(super) fn new(batches: usize) -> Self {
        Self {
            batches: Vec::with_capacity(batches),
            attempts: Vec::new(),
            bounds: vec![0],
            over: Millis::EPOCH,
        }
    }

    pub(super) fn add(&mut self, lane: &Lane, records: LaneRecords) {
        let first = u32::try_from(self.attempts.len()).unwrap_or(u32::MAX);
        let moved = |attempt: Option<u32>| attempt.map(|attempt| attempt.saturating_add(first));
        for (batch, record) in lane.batches.iter().zip(records.batches) {
            let duration = if record.ran { batch.duration } else { MillisSpan::ZERO };
            self.over = self.over.max(record.answered().saturating_add(duration));
            let (attempt, returns_to) = (moved(record.attempt), moved(record.returns_to));
            self.batches.push(BatchRecord { attempt, returns_to, ..record });
        }
        for attempt in &records.attempts {
            self.over = self.over.max(attempt.ended);
        }
        self.attempts.extend(records.attempts);
        self.bounds.push(self.attempts.len());
    }

    pub(super) fn finish(mut self, timeline: &Timeline, policy: &ModelPolicy) -> Replay {
        self.keep(policy);
        let Self { batches, attempts, .. } = self;
        let by_call = sorted(attempts.len(), &|at| attempts.get(at).map_or(0, |attempt| attempt.at.as_u64()));
        let mut numbers = vec![0; attempts.len()];
        let mut in_order = Vec::with_capacity(attempts.len());
        for (number, &(_, place)) in (1..).zip(&by_call) {
            in_order.extend(attempts.get(place as usize));
            if let Some(own) = numbers.get_mut(place as usize) {
                *own = number;
            }
        }
        let numbered = |attempt: Option<u32>| numbers.get(attempt? as usize).copied();
        let in_timeline =
            sorted(batches.len(), &|at| batches.get(at).map_or(0, |record| record.batch.into()));
        let record_of = |batch: usize| batches.get(in_timeline.get(batch)?.1 as usize);
        let by_asking = sorted(batches.len(), &|at| record_of(at).map_or(0, |record| record.at.as_u64()));
        let mut asked = Vec::with_capacity(batches.len());
        for (_, batch) in by_asking {
            let Some(record) = record_of(batch as usize) else { continue };
            let (attempt, returns_to) = (numbered(record.attempt), numbered(record.returns_to));
            asked.push(BatchRecord { attempt, returns_to, ..*record });
        }
        let summary = Summary::of(timeline.batches(), &asked, &in_order);
        Replay { batches: asked, attempts: in_order, summary }
    }

    /// Which checkpoints are there in the end.
    fn keep(&mut self, policy: &ModelPolicy) {
        for bounds in self.bounds.windows(2) {
            let &[first, end] = bounds else { continue };
            let of_sandbox = self.attempts.get_mut(first..end).unwrap_or_default();
            let succeeded =
                of_sandbox.iter_mut().rev().filter(|attempt| attempt.end == AttemptEnd::Succeeded);
            for (rank, attempt) in succeeded.enumerate() {
                attempt.kept = policy.retention.keeps(rank == 0, rank, self.over.since(attempt.ended));
            }
        }
    }
}
