//! How much of a method is run.

use std::time::{Duration, Instant};

/// A number of rounds for the quick tier, or a time for the long one.
#[derive(Debug, Clone, Copy)]
pub enum Budget {
    /// As many rounds as each method says it needs at least.
    Quick,
    /// One round at least, and further ones until this moment. A round that is under way then ends.
    Until(Instant),
}

impl Budget {
    /// A budget that ends after some time from now.
    #[must_use]
    pub fn lasting(time: Duration) -> Self {
        Self::Until(Instant::now() + time)
    }

    /// Whether another round is due after `done` of them, where the quick tier has `least`.
    #[must_use]
    pub fn more(self, done: u64, least: u64) -> bool {
        match self {
            Self::Quick => done < least,
            Self::Until(_) => done == 0 || !self.is_over(),
        }
    }

    /// Whether something that comes about by chance has to be waited for: the quick tier needs `least` of it, the long one ends in time.
    #[must_use]
    pub const fn lacks(self, have: u64, least: u64) -> bool {
        matches!(self, Self::Quick) && have < least
    }

    /// Whether the time is up. The quick tier has no time.
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, Self::Until(end) if Instant::now() >= end)
    }

    /// Whether this is the long tier, which leaves nothing out that there is time for.
    #[must_use]
    pub const fn is_long(self) -> bool {
        matches!(self, Self::Until(_))
    }

    /// An equal share of what is left, for one of `parts` that follow one another.
    #[must_use]
    pub fn share(self, parts: u32) -> Self {
        match self {
            Self::Quick => Self::Quick,
            Self::Until(end) => Self::lasting(end.saturating_duration_since(Instant::now()) / parts.max(1)),
        }
    }
}
