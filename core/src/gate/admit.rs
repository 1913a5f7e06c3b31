//! A batch comes: pass, wait with others, or lead an attempt.

use super::Gate;
use super::deadline::Deadline;
use super::digest::{SandboxKey, TurnKey};
use super::ids::BatchId;
use super::input::Batch;
use super::lane::{Attempt, Lane, LiveTurn, Waiter};
use super::output::{Output, Start};
use super::reason::Reason;
use super::verdict::{Cover, Verdict};
use crate::time::Millis;

impl Gate {
    pub(super) fn admit(&mut self, batch: &Batch) {
        if let Some(reason) = batch.skipped() {
            let cover = self.skip(batch);
            self.answer(batch.batch, self.now, reason, cover);
            return;
        }
        // `skipped` sent away the batches without one.
        let Some(turn_id) = &batch.turn_id else { return };
        let (sandbox, turn) = (self.digests.sandbox(&batch.sandbox_id), self.digests.turn(turn_id));
        if self.join(batch.batch, sandbox, turn) {
            return;
        }
        if let Some(cover) = self.ledger.pass_covered(sandbox, turn, self.now) {
            self.answer(batch.batch, self.now, Reason::SameTurn, Some(cover));
            return;
        }
        if self.ledger.tally(sandbox, turn, self.now).exhausted() {
            self.ledger.pass(batch.batch, sandbox, turn, self.now);
            self.answer(batch.batch, self.now, Reason::AttemptsExhausted, None);
            return;
        }
        let tally = self.ledger.take(sandbox, turn, self.now);
        if self.lanes.get(sandbox).is_none() {
            self.lanes.insert(sandbox, Lane::new(batch.sandbox_id.clone()));
        }
        if let Some(lane) = self.lanes.get_mut(sandbox) {
            lane.turns.push_back(LiveTurn::new(turn, turn_id.clone(), tally));
        }
        self.join(batch.batch, sandbox, turn);
        self.start_next(sandbox);
    }

    /// The batch runs without asking for a checkpoint. Whether its turn has one all the same is said, and a batch that can
    /// change the sandbox is counted: a checkpoint after it is a late one.
    fn skip(&mut self, batch: &Batch) -> Option<Cover> {
        let turn_id = batch.turn_id.as_ref()?;
        let (sandbox, turn) = (self.digests.sandbox(&batch.sandbox_id), self.digests.turn(turn_id));
        if let Some(live) = self.lanes.get_mut(sandbox).and_then(|lane| lane.turn_mut(turn)) {
            if batch.destructive() {
                live.tally.before.add(1);
                self.ledger.passed.insert(batch.batch, sandbox, turn, false);
            } else if !batch.paused {
                self.ledger.outlived.insert(sandbox, turn, self.now);
            }
            return None;
        }
        if batch.destructive() {
            self.ledger.pass(batch.batch, sandbox, turn, self.now)
        } else {
            if !batch.paused {
                // A release that names no batch may be for this one, which holds nothing (G8).
                self.ledger.outlived.insert(sandbox, turn, self.now);
            }
            self.ledger.cover(sandbox, turn, self.now)
        }
    }

    /// Lets the batch wait for the turn's attempt, if one is under way or queued.
    fn join(&mut self, batch: BatchId, sandbox: SandboxKey, turn: TurnKey) -> bool {
        let Some(live) = self.lanes.get_mut(sandbox).and_then(|lane| lane.turn_mut(turn)) else {
            return false;
        };
        let limit = self.now.saturating_add(self.timeout);
        live.waiters.push(Waiter { batch, arrived: self.now, limit, withdrawn: false });
        self.waiting.insert(batch, (sandbox, turn));
        self.deadlines.set(limit, Deadline::Batch(batch));
        true
    }

    /// Starts the attempt of the sandbox's first turn, if it has none; a sandbox without turns is no longer under way.
    pub(super) fn start_next(&mut self, sandbox: SandboxKey) {
        let Some(lane) = self.lanes.get_mut(sandbox) else { return };
        let Some(live) = lane.turns.front_mut() else {
            self.lanes.remove(sandbox);
            return;
        };
        if live.attempt.is_some() {
            return;
        }
        self.last_attempt = self.last_attempt.next();
        let id = self.last_attempt;
        let deadline = self.now.saturating_add(self.timeout);
        live.attempt = Some(Attempt { id, deadline, cost_a_limit: false });
        self.attempts.insert(id, sandbox);
        self.deadlines.set(deadline, Deadline::Attempt(id));
        self.outputs.push_back(Output::Start(Start {
            attempt: id,
            sandbox_id: lane.sandbox_id.clone(),
            turn_id: live.id.clone(),
            prefix: self.prefix.clone(),
            late: !live.tally.before.is_zero(),
            deadline,
        }));
    }

    pub(super) fn answer(&mut self, batch: BatchId, arrived: Millis, reason: Reason, cover: Option<Cover>) {
        let duration = self.now.since(arrived);
        self.outputs.push_back(Output::Verdict(Verdict { batch, reason, cover, duration }));
    }
}
