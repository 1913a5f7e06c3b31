//! What really happened to one turn of one sandbox, as somebody sees it who looks at inputs and outputs only.

use std::collections::BTreeSet;

use turnback_core::AttemptId;

/// A turn, since its sandbox was last restored or it was forgotten.
#[derive(Clone, Debug, Default)]
pub(crate) struct Life {
    /// A batch of it has really run: the first one, by the order of things.
    pub(crate) first_ran: Option<u64>,
    /// Batches that got a verdict and that the host has not taken back.
    pub(crate) unreleased: BTreeSet<u64>,
    /// Some batch was let through without a checkpoint.
    pub(crate) passed_unprotected: bool,
    pub(crate) standing: Option<Standing>,
    pub(crate) failures: u32,
    /// Since it began to wait, a release came. Which batch it was for the gate cannot know.
    pub(crate) released_while_waiting: bool,
    /// By the documented bounds it may have been forgotten when this batch came, or not: its answer will tell.
    pub(crate) may_be_forgotten: bool,
    /// It was once in such doubt: what happened before is not held against the gate.
    pub(crate) unsure: bool,
}

/// The turn's checkpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(crate) attempt: AttemptId,
    pub(crate) late: bool,
    /// A release came since the turn began to wait for it: the gate may count the turn as uncovered.
    pub(crate) released: bool,
}

/// An attempt.
#[derive(Clone, Debug)]
pub(crate) struct AttemptTruth {
    pub(crate) sandbox: usize,
    pub(crate) turn: usize,
    /// How often the sandbox had been restored when it began.
    pub(crate) epoch: u32,
    pub(crate) state: State,
    /// A batch waited for it until its limit.
    pub(crate) cost_a_limit: bool,
    pub(crate) partial: bool,
    pub(crate) named: bool,
    /// By the order of things.
    pub(crate) completed: Option<u64>,
    pub(crate) deleted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    UnderWay,
    Aborted,
    /// Aborted, and the driver has answered.
    AbortedAnswered,
    Over,
}

/// A sandbox.
#[derive(Clone, Debug, Default)]
pub(crate) struct SandboxTruth {
    pub(crate) epoch: u32,
    /// The turns that batches wait for, in the order in which they began to.
    pub(crate) queue: Vec<usize>,
    pub(crate) under_way: Option<AttemptId>,
    /// The last thing that certainly counts as a use, and the last that might.
    pub(crate) surely_used: u64,
    pub(crate) perhaps_used: u64,
    pub(crate) lives: std::collections::BTreeMap<usize, Life>,
    /// The turns, the one used last at the end.
    pub(crate) recent: Vec<usize>,
}

impl SandboxTruth {
    pub(crate) fn used(&mut self, turn: usize) {
        self.recent.retain(|&one| one != turn);
        self.recent.push(turn);
    }

    /// How many other turns were used since this one was.
    pub(crate) fn others_since(&self, turn: usize) -> usize {
        self.recent.iter().rev().take_while(|&&one| one != turn).count()
    }
}
