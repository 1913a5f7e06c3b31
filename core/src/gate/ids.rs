use std::fmt;

/// The host's number for a batch that is waiting for its verdict. Any number will do that no other waiting batch has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchId(u64);

impl BatchId {
    /// The batch that the host numbers `number`.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The host's number.
    pub const fn as_u64(self) -> u64 {
        self.0
    }
}

impl fmt::Display for BatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "batch {}", self.0)
    }
}

/// The gate's number for one attempt to make a checkpoint: 1 for its first, never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId(u64);

impl AttemptId {
    /// Attempt `number`, as an [`Output::Start`](super::Output::Start) gave it.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The gate's number.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    pub(super) const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "attempt {}", self.0)
    }
}
