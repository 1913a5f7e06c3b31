//! What really happened to one turn of one sandbox, as somebody sees it who looks at inputs and outputs only.

use std::collections::BTreeSet;

use turnback_core::{AttemptId, DriverCheckpointId};

use super::plan::DAY;

/// A turn, since its sandbox was last restored or it was forgotten.
#[derive(Clone, Debug, Default)]
pub(crate) struct Life {
    /// A batch of it has really run: the first one, by the order of things.
    pub(crate) first_ran: Option<u64>,
    /// Batches that were let through without a checkpoint, or under one that is gone, and that the host has not taken back.
    pub(crate) before: BTreeSet<u64>,
    /// Those that were let through under the checkpoint that stands.
    pub(crate) under: BTreeSet<u64>,
    pub(crate) standing: Option<Standing>,
    pub(crate) failures: u32,
    /// How many releases came that named no batch: which one it was for the gate cannot know.
    pub(crate) nameless: usize,
    /// One of them may have been for a batch that ran before the checkpoint: the gate has to keep it then.
    pub(crate) mixed: bool,
    /// By the documented bounds it may have been forgotten when this batch came, or not: its answer will tell.
    pub(crate) may_be_forgotten: Option<Forgotten>,
    /// It was once forgotten because nobody used its sandbox for a day: then the gate knows of no batch from before.
    pub(crate) expired: bool,
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
        let nameless = self.nameless;
        let expired = self.expired || how == Forgotten::Expired;
        Self { unsure: true, ran_unprotected, nameless, expired, ..Self::default() }
    }

    /// The checkpoint no longer stands: whoever ran under it ran without one.
    pub(crate) fn uncover(&mut self) {
        self.standing = None;
        self.before.append(&mut self.under);
    }

    /// After each event.
    pub(crate) fn mix(&mut self) {
        self.mixed |= self.nameless > 0 && !self.before.is_empty();
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
    /// How many attempts were made void since the turn began to wait.
    pub(crate) voided: std::collections::BTreeMap<usize, u32>,
    /// Turns of which batches were let through and that the gate may have forgotten, other than by a day without use.
    pub(crate) outlived: BTreeSet<usize>,
    /// The turns, the one used last at the end.
    pub(crate) recent: Vec<usize>,
    /// The same without releases that may have moved nothing.
    pub(crate) firm: Vec<usize>,
}

impl SandboxTruth {
    /// More turns than are remembered were there: of those that fell out the gate keeps a filter, which may take an unknown turn for
    /// one of them and then calls it late, never the other way round.
    pub(crate) fn is_crowded(&self) -> bool {
        self.lives.len() > 6
    }

    pub(crate) fn used(&mut self, turn: usize) {
        self.perhaps_used_turn(turn);
        self.firm.retain(|&one| one != turn);
        self.firm.push(turn);
    }

    /// A release of a batch that the gate may have forgotten: then it moves nothing.
    pub(crate) fn perhaps_used_turn(&mut self, turn: usize) {
        self.recent.retain(|&one| one != turn);
        self.recent.push(turn);
    }

    /// The turns that the gate cannot have forgotten.
    pub(crate) fn surely_known(&self, now: u64) -> BTreeSet<usize> {
        let firm: BTreeSet<usize> = self.firm.iter().rev().take(6).copied().collect();
        let turns = self.recent.iter().rev().take(6).copied().filter(|turn| firm.contains(turn));
        let doubtful =
            |turn: &usize| self.lives.get(turn).is_some_and(|life| life.may_be_forgotten.is_some());
        turns.filter(|turn| now - self.surely_used < DAY && !doubtful(turn)).collect()
    }

    /// How many other turns were used since this one was.
    pub(crate) fn others_since(&self, turn: usize) -> usize {
        let since = |order: &[usize]| order.iter().rev().take_while(|&&one| one != turn).count();
        since(&self.recent).max(since(&self.firm))
    }
}
