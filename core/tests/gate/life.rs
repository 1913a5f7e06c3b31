//! What really happened to one turn of one sandbox, as somebody sees it who looks at inputs and outputs only.

use std::collections::BTreeSet;

use turnback_core::{AttemptId, DriverCheckpointId};

use super::plan::DAY;

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
    pub(crate) may_be_forgotten: Option<Forgotten>,
    /// It was once in such doubt: how many attempts it had before, and which batches, is not held against the gate.
    pub(crate) unsure: bool,
    /// A batch of it has really run without a checkpoint. That is never forgotten before a day has passed: its next checkpoint
    /// must be called late.
    pub(crate) ran_unprotected: bool,
}

impl Life {
    /// What is left of it when the gate forgot it.
    pub(crate) fn forgotten(&self, how: Forgotten) -> Self {
        let ran_unprotected = self.ran_unprotected && how == Forgotten::Displaced;
        // A release of a batch that waits was told to the gate since: it belongs to what is under way, not to what was forgotten.
        let released_while_waiting = self.released_while_waiting;
        Self { unsure: true, ran_unprotected, released_while_waiting, ..Self::default() }
    }
}

/// Why the gate may have forgotten a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Forgotten {
    /// Six others were used since.
    Displaced,
    /// Its sandbox was unused for a day.
    Expired,
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
    /// What the driver called the checkpoint.
    pub(crate) id: Option<DriverCheckpointId>,
    /// By the order of things.
    pub(crate) completed: Option<u64>,
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
    /// More turns than are remembered were there: of those that fell out the gate keeps a filter, which may take an unknown turn for
    /// one of them and then calls it late, never the other way round.
    pub(crate) fn is_crowded(&self) -> bool {
        self.lives.len() > 6
    }

    pub(crate) fn used(&mut self, turn: usize) {
        self.recent.retain(|&one| one != turn);
        self.recent.push(turn);
    }

    /// The turns that the gate cannot have forgotten.
    pub(crate) fn surely_known(&self, now: u64) -> BTreeSet<usize> {
        let turns = self.recent.iter().rev().take(6).copied();
        let doubtful =
            |turn: &usize| self.lives.get(turn).is_some_and(|life| life.may_be_forgotten.is_some());
        turns.filter(|turn| now - self.surely_used < DAY && !doubtful(turn)).collect()
    }

    /// How many other turns were used since this one was.
    pub(crate) fn others_since(&self, turn: usize) -> usize {
        self.recent.iter().rev().take_while(|&&one| one != turn).count()
    }
}
