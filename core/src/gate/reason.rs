use std::fmt;

/// What became of a batch's checkpoint (G9), in one word. [`Reason`] says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// A checkpoint was made, and this batch was the first of those that waited for it.
    Created,
    /// A checkpoint was made that another batch of the turn is said to have created.
    Joined,
    /// The turn already had its checkpoint.
    AlreadyCovered,
    /// None was due.
    Skipped,
    /// None could be made.
    Failed,
    /// None was made in time.
    TimedOut,
}

impl Outcome {
    /// The outcome's name in TypeScript and in logs, for instance `already_covered`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Joined => "joined",
            Self::AlreadyCovered => "already_covered",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a verdict is what it is. Its [`Outcome`] follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Created: no batch of the turn had run yet.
    NewTurn,
    /// Created: earlier batches of the turn ran without one, so the checkpoint is late (G6).
    EarlierBatchesRan,
    /// Joined: the batch waited for another one's attempt (G4).
    SharedAttempt,
    /// Already covered: an earlier batch of the turn got the checkpoint (G1).
    SameTurn,
    /// Skipped: the flag is off (G3).
    FlagOff,
    /// Skipped: the store is paused (C17).
    Paused,
    /// Skipped: there is no driver (G7).
    NoDriver,
    /// Skipped: there is no turn id (G7).
    NoTurnId,
    /// Skipped: the command is proven read-only (G14).
    ReadOnly,
    /// Skipped: the batch's caller gave up while it waited.
    Cancelled,
    /// Failed: the driver failed (G5).
    DriverFailed,
    /// Failed: the turn's three attempts have all failed, so that no more time is lost on it (G6).
    AttemptsExhausted,
    /// Timed out: the batch's limit ended while it stood behind another turn (G5).
    Queued,
    /// Timed out: the limit ended while the checkpoint was being made (G5).
    Unfinished,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 14] = [
        Self::NewTurn,
        Self::EarlierBatchesRan,
        Self::SharedAttempt,
        Self::SameTurn,
        Self::FlagOff,
        Self::Paused,
        Self::NoDriver,
        Self::NoTurnId,
        Self::ReadOnly,
        Self::Cancelled,
        Self::DriverFailed,
        Self::AttemptsExhausted,
        Self::Queued,
        Self::Unfinished,
    ];

    /// The reason's name in TypeScript and in logs, for instance `new_turn`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NewTurn => "new_turn",
            Self::EarlierBatchesRan => "earlier_batches_ran",
            Self::SharedAttempt => "shared_attempt",
            Self::SameTurn => "same_turn",
            Self::FlagOff => "flag_off",
            Self::Paused => "paused",
            Self::NoDriver => "no_driver",
            Self::NoTurnId => "no_turn_id",
            Self::ReadOnly => "read_only",
            Self::Cancelled => "cancelled",
            Self::DriverFailed => "driver_failed",
            Self::AttemptsExhausted => "attempts_exhausted",
            Self::Queued => "queued",
            Self::Unfinished => "unfinished",
        }
    }

    /// What became of the checkpoint.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::NewTurn | Self::EarlierBatchesRan => Outcome::Created,
            Self::SharedAttempt => Outcome::Joined,
            Self::SameTurn => Outcome::AlreadyCovered,
            Self::FlagOff
            | Self::Paused
            | Self::NoDriver
            | Self::NoTurnId
            | Self::ReadOnly
            | Self::Cancelled => Outcome::Skipped,
            Self::DriverFailed | Self::AttemptsExhausted => Outcome::Failed,
            Self::Queued | Self::Unfinished => Outcome::TimedOut,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
