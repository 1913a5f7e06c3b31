use std::collections::VecDeque;

use super::digest::TurnKey;
use super::ids::{AttemptId, BatchId};
use super::sorted::Sorted;
use super::turn::Tally;
use crate::ids::{SandboxId, TurnId};
use crate::time::Millis;

/// One sandbox's turns that batches are waiting for, in the order of their coming. Only the first has an attempt.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) sandbox_id: SandboxId,
    pub(super) turns: VecDeque<LiveTurn>,
}

impl Lane {
    pub(super) const fn new(sandbox_id: SandboxId) -> Self {
        Self { sandbox_id, turns: VecDeque::new() }
    }

    pub(super) fn turn_mut(&mut self, turn: TurnKey) -> Option<&mut LiveTurn> {
        self.turns.iter_mut().find(|live| live.key == turn)
    }

    pub(super) fn remove(&mut self, turn: TurnKey) -> Option<LiveTurn> {
        let at = self.turns.iter().position(|live| live.key == turn)?;
        self.turns.remove(at)
    }
}

/// A turn that at least one batch is waiting for.
#[derive(Debug)]
pub(super) struct LiveTurn {
    pub(super) key: TurnKey,
    pub(super) id: TurnId,
    pub(super) tally: Tally,
    /// In the order of arrival.
    pub(super) waiters: Vec<Waiter>,
    /// How many releases came that named no batch and may be for one that waits: at most as many as wait.
    pub(super) released: usize,
    pub(super) attempt: Option<Attempt>,
    /// How many of its attempts a restore or another driver made void since it began to wait. They count as failed ones, or else a
    /// sandbox that is restored again and again would be pictured without end (G6).
    pub(super) voided: u8,
}

impl LiveTurn {
    pub(super) const fn new(key: TurnKey, id: TurnId, tally: Tally) -> Self {
        Self { key, id, tally, waiters: Vec::new(), released: 0, attempt: None, voided: 0 }
    }

    /// A batch of the turn will not run, nobody says which. It is taken for one of those that wait as long as it can be, because to
    /// take it for one that was let through would be to forget a batch that may have run.
    pub(super) fn release(&mut self) {
        if self.released < self.open() {
            self.released += 1;
        } else {
            self.tally.before.take();
        }
    }

    /// How many of the waiting batches may run.
    fn open(&self) -> usize {
        self.waiters.iter().filter(|waiter| !waiter.withdrawn).count()
    }

    /// How many batches run without a checkpoint, when those that wait are let through.
    pub(super) fn unprotected(&self) -> usize {
        self.open().saturating_sub(self.released)
    }

    /// How many batches run under the checkpoint that has just been made. One at least, if a nameless release may have been for a
    /// batch that ran before: the turn keeps its checkpoint then.
    pub(super) fn covered(&self) -> usize {
        let least = usize::from(!self.tally.before.is_zero()).min(self.open());
        self.unprotected().max(least)
    }

    /// Takes a batch out that waits no more and was let through.
    pub(super) fn leave(&mut self, batch: BatchId) -> Option<Waiter> {
        let at = self.waiters.iter().position(|waiter| waiter.batch == batch)?;
        let waiter = self.waiters.remove(at);
        if !waiter.withdrawn {
            self.tally.before.add(1);
        }
        if self.released > self.open() {
            self.released = self.open();
            self.tally.before.take();
        }
        Some(waiter)
    }
}

/// A batch that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    pub(super) batch: BatchId,
    pub(super) arrived: Millis,
    /// When its own limit ends.
    pub(super) limit: Millis,
    /// It will not run, whatever its verdict.
    pub(super) withdrawn: bool,
}

/// An attempt under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    pub(super) id: AttemptId,
    pub(super) deadline: Millis,
    /// A batch waited for it until its own limit.
    pub(super) cost_a_limit: bool,
}

/// The attempts that were aborted and whose drivers have not answered: the last 1,024. A success of an older one is not
/// asked to be deleted; retention will do that.
#[derive(Debug, Default)]
pub(super) struct Aborted(Sorted<AttemptId, ()>);

impl Aborted {
    const MOST: usize = 1024;

    pub(super) fn insert(&mut self, attempt: AttemptId) {
        self.0.insert(attempt, ());
        if self.0.len() > Self::MOST {
            self.0.pop_first();
        }
    }

    /// Whether it was there; it no longer is.
    pub(super) fn remove(&mut self, attempt: AttemptId) -> bool {
        self.0.remove(attempt).is_some()
    }
}
