//! What the gate counted or promised is taken back: a batch did not run, a sandbox is another, a checkpoint counts no longer.

use super::Gate;
use super::digest::{SandboxKey, TurnKey};
use super::ids::BatchId;
use super::turn::Tally;

impl Gate {
    /// A batch of the turn does not run: this one, or one that nobody names.
    pub(super) fn released(&mut self, sandbox: SandboxKey, turn: TurnKey, batch: Option<BatchId>) {
        let live = self.lanes.get_mut(sandbox).and_then(|lane| lane.turn_mut(turn));
        let Some(batch) = batch else {
            let outlived = self.ledger.outlived.may_have(sandbox, turn, self.now);
            match live {
                // It may be for a batch from before: then it says nothing of those that wait.
                Some(live) if !outlived => live.release(),
                Some(_) => {}
                None => self.ledger.release(sandbox, turn, outlived, self.now),
            }
            return;
        };
        let Some(live) = live else {
            if let Some(covered) = self.ledger.passed.take(batch, sandbox, turn) {
                self.ledger.release_known(sandbox, turn, covered, self.now);
            }
            return;
        };
        if let Some(waiter) = live.waiters.iter_mut().find(|waiter| waiter.batch == batch) {
            waiter.withdrawn = true;
        } else if self.ledger.passed.take(batch, sandbox, turn) == Some(false) {
            live.tally.before.take();
        }
    }

    /// The sandbox was restored.
    pub(super) fn forgotten(&mut self, sandbox: SandboxKey) {
        self.ledger.forget(sandbox, self.now);
        for live in self.lanes.get_mut(sandbox).into_iter().flat_map(|lane| &mut lane.turns) {
            if !live.tally.before.is_zero() {
                self.ledger.outlived.insert(sandbox, live.key, self.now);
            }
            live.tally = Tally::voided(live.voided);
            // A nameless release that came before may have been for a batch from before the restore.
            live.released = 0;
        }
        self.start_anew(sandbox);
    }

    /// No checkpoint of the sandbox counts any more, or none at all.
    pub(super) fn uncovered(&mut self, sandbox: Option<SandboxKey>) {
        self.ledger.uncover_all(sandbox, self.now);
        // In the order in which they began, whatever their digests are. Each sandbox that batches wait for has an attempt under way.
        let keys =
            self.attempts.iter().map(|&(_, key)| key).filter(|&key| sandbox.is_none_or(|one| one == key));
        for key in keys.collect::<Vec<_>>() {
            for live in self.lanes.get_mut(key).into_iter().flat_map(|lane| &mut lane.turns) {
                live.tally.failures = live.voided;
            }
            self.start_anew(key);
        }
    }
}
