//! How much of a method is run.

use std::time::{Duration, Instant};

/// A number of rounds for the quick tier, or a time for the long one.
#[derive(Debug, Clone, Copy)]
pub enum Budget {
    /// As many rounds as each method says it needs at least.
    Quick,
    /// At least those rounds, and further ones until this moment.
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
        done < least || matches!(self, Self::Until(end) if Instant::now() < end)
    }

    /// Whether this is the long tier, which leaves nothing out.
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
