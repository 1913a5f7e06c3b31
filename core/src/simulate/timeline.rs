use super::driver::Recorded;
use crate::time::{Millis, MillisSpan};

/// How many batches a timeline has at most.
pub const MOST_BATCHES: usize = 1_000_000;

/// One tool call that was about to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineBatch {
    /// The host's number for its sandbox.
    pub sandbox: u32,
    /// The host's number for its turn, which counts within its sandbox; `None` where nobody knows the turn.
    pub turn: Option<u32>,
    /// When it would begin if nothing ever waited.
    pub start: Millis,
    /// How long it runs.
    pub duration: MillisSpan,
    /// Whether it is proven to change nothing.
    pub read_only: bool,
    /// What a real driver did when this batch led an attempt.
    pub recorded: Option<Recorded>,
}

/// Batches in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline(Vec<TimelineBatch>);

impl Timeline {
    /// The timeline of these batches.
    ///
    /// # Errors
    /// [`TooManyBatches`] when there are more than [`MOST_BATCHES`].
    pub fn new(batches: Vec<TimelineBatch>) -> Result<Self, TooManyBatches> {
        if batches.len() > MOST_BATCHES {
            return Err(TooManyBatches { batches: batches.len() });
        }
        Ok(Self(batches))
    }

    /// Its batches, each at its place.
    pub fn batches(&self) -> &[TimelineBatch] {
        &self.0
    }
}

/// More batches than a timeline can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a scenario has at most 1,000,000 batches, but {batches} were given: replay it in parts")]
pub struct TooManyBatches {
    /// How many were given.
    pub batches: usize,
}

impl TooManyBatches {
    /// The stable code of this error.
    pub const fn code(&self) -> &'static str {
        "INVALID_ARGUMENT"
    }
}
