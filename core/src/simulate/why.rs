use crate::gate::{Outcome, Reason};

/// Why a batch was answered as it was: in the gate's words, or in those of the other policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// One of the gate's.
    Gate(Reason),
    /// Each batch gets a checkpoint.
    NewBatch,
    /// The last checkpoint is long enough ago.
    IntervalOver,
    /// The last checkpoint is not long enough ago.
    WithinInterval,
    /// An attempt for another turn was under way.
    OtherTurnsAttempt,
    /// There are no checkpoints.
    Never,
}

impl Why {
    /// Every reason that is not the gate's.
    pub const OWN: [Self; 5] =
        [Self::NewBatch, Self::IntervalOver, Self::WithinInterval, Self::OtherTurnsAttempt, Self::Never];

    /// The word for it in TypeScript, for instance `within_interval`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gate(reason) => reason.as_str(),
            Self::NewBatch => "new_batch",
            Self::IntervalOver => "interval_over",
            Self::WithinInterval => "within_interval",
            Self::OtherTurnsAttempt => "other_turns_attempt",
            Self::Never => "never",
        }
    }

    /// What became of the batch's checkpoint.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Gate(reason) => reason.outcome(),
            Self::NewBatch | Self::IntervalOver => Outcome::Created,
            Self::WithinInterval | Self::Never => Outcome::Skipped,
            Self::OtherTurnsAttempt => Outcome::Joined,
        }
    }
}
