use super::ids::{AttemptId, BatchId};
use super::output::TimeoutReason;
use super::sorted::Sorted;
use crate::time::Millis;

/// Something that happens when time passes. Of several at one instant the batches' come first, so that nobody is told of
/// an attempt that started after their own limit; then by number, that is in the order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Deadline {
    /// A batch's own limit.
    Batch(BatchId),
    /// An attempt's limit.
    Attempt(AttemptId),
    /// The next look at the sandboxes that nobody has used.
    Sweep,
}

impl Deadline {
    const fn reason(self) -> TimeoutReason {
        match self {
            Self::Batch(_) => TimeoutReason::BatchLimit,
            Self::Attempt(_) => TimeoutReason::AttemptLimit,
            Self::Sweep => TimeoutReason::Sweep,
        }
    }
}

/// Every deadline that the gate has.
#[derive(Debug, Default)]
pub(super) struct Deadlines(Sorted<(Millis, Deadline), ()>);

impl Deadlines {
    pub(super) fn set(&mut self, at: Millis, deadline: Deadline) {
        self.0.insert((at, deadline), ());
    }

    pub(super) fn clear(&mut self, at: Millis, deadline: Deadline) {
        self.0.remove((at, deadline));
    }

    /// The earliest one.
    pub(super) fn next(&self) -> Option<(Millis, TimeoutReason)> {
        self.0.first().map(|&((at, deadline), ())| (at, deadline.reason()))
    }

    /// Takes out the earliest one that is due at `now`.
    pub(super) fn take_due(&mut self, now: Millis) -> Option<Deadline> {
        let &((at, _), ()) = self.0.first()?;
        if at > now { None } else { self.0.pop_first().map(|((_, deadline), ())| deadline) }
    }
}
