//! An attempt ends, or a batch leaves before it does.

use super::Gate;
use super::deadline::Deadline;
use super::digest::{SandboxKey, TurnKey};
use super::driver_checkpoint::DriverCheckpointId;
use super::ids::{AttemptId, BatchId};
use super::lane::{Attempt, LiveTurn, Waiter};
use super::mark::Held;
use super::output::Output;
use super::reason::Reason;
use super::turn::TurnRecord;
use super::verdict::Cover;
use crate::ids::TurnId;

impl Gate {
    /// The driver made the checkpoint of an attempt.
    pub(super) fn created(&mut self, attempt: AttemptId, id: Option<&DriverCheckpointId>, partial: bool) {
        if self.aborted.remove(attempt) {
            if let Some(checkpoint_id) = id.cloned() {
                self.held.push(Held { attempt, checkpoint_id, until: self.last_attempt });
            }
            return;
        }
        let Some((sandbox, live)) = self.settle(attempt) else { return };
        let mark = id.map(|id| self.digests.mark(id));
        if let Some(mark) = mark {
            self.answered.insert(mark);
        }
        let late = !live.tally.before.is_zero();
        let cover = Cover { late, partial, checkpoint_id: id.cloned() };
        let created = if late { Reason::EarlierBatchesRan } else { Reason::NewTurn };
        let reasons = std::iter::once(created).chain(std::iter::repeat(Reason::SharedAttempt));
        for (waiter, reason) in live.waiters.iter().zip(reasons) {
            self.dismiss(waiter, reason, Some(cover.clone()));
        }
        let under = live.covered();
        let record = match under {
            0 => TurnRecord::uncovered(live.key, live.tally),
            _ => {
                self.passed(sandbox, &live, true);
                TurnRecord::covered(live.key, live.tally, &cover, mark, under)
            }
        };
        self.ledger.put(sandbox, record, self.now);
        self.start_next(sandbox);
    }

    /// Has those late successes deleted that no attempt under way can answer with any more, if no turn counts on them.
    pub(super) fn delete_late(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let first = self.attempts.first().map(|&(attempt, _)| attempt);
        let (held, free): (Vec<_>, Vec<_>) = std::mem::take(&mut self.held)
            .into_iter()
            .partition(|held| first.is_some_and(|first| first <= held.until));
        self.held = held;
        for Held { attempt, checkpoint_id, .. } in free {
            let mark = self.digests.mark(&checkpoint_id);
            if !self.answered.has(mark) && !self.ledger.counts_on(mark, self.now) {
                self.outputs.push_back(Output::DeleteLate { attempt, checkpoint_id });
            }
        }
    }

    /// A checkpoint of a sandbox is gone.
    pub(super) fn deleted(&mut self, sandbox: SandboxKey, id: &DriverCheckpointId, turn: Option<&TurnId>) {
        let mark = self.digests.mark(id);
        self.answered.remove(mark);
        self.ledger.uncover(sandbox, mark, self.now);
        let Some(turn) = turn.map(|turn| self.digests.turn(turn)) else { return };
        // One that batches wait for is not in the ledger, and known all the same.
        if self.lanes.get_mut(sandbox).and_then(|lane| lane.turn_mut(turn)).is_none() {
            self.ledger.ran_under_what_is_gone(sandbox, turn, self.now);
        }
    }

    /// The driver failed.
    pub(super) fn failed(&mut self, attempt: AttemptId) {
        if self.aborted.remove(attempt) {
            return;
        }
        let Some((sandbox, live)) = self.settle(attempt) else { return };
        self.all_unprotected(sandbox, live, Reason::DriverFailed);
        self.start_next(sandbox);
    }

    /// The driver found the store paused: its batches pass as those do of which that was known beforehand.
    pub(super) fn paused(&mut self, attempt: AttemptId) {
        if self.aborted.remove(attempt) {
            return;
        }
        let Some((sandbox, live)) = self.settle(attempt) else { return };
        self.all_unprotected(sandbox, live, Reason::Paused);
        self.start_next(sandbox);
    }

    /// An attempt's limit is over. Gives the sandbox whose next attempt may start.
    pub(super) fn attempt_over(&mut self, attempt: AttemptId) -> Option<SandboxKey> {
        let sandbox = self.attempts.remove(attempt)?;
        if let Some(live) = self.end_attempt(sandbox) {
            self.all_unprotected(sandbox, live, Reason::Unfinished);
        }
        self.abort(attempt);
        Some(sandbox)
    }

    /// A batch's own limit is over. Gives its sandbox if another attempt may start there.
    pub(super) fn limit_over(&mut self, batch: BatchId) -> Option<SandboxKey> {
        let &(sandbox, turn) = self.waiting.get(batch)?;
        let live = self.lanes.get_mut(sandbox)?.turn_mut(turn)?;
        let reason = match &mut live.attempt {
            Some(attempt) => {
                attempt.cost_a_limit = true;
                Reason::Unfinished
            }
            None => Reason::Queued,
        };
        self.leave(batch, sandbox, turn, reason)
    }

    /// A batch's caller gave up.
    pub(super) fn cancelled(&mut self, batch: BatchId) {
        let Some(&(sandbox, turn)) = self.waiting.get(batch) else { return };
        if let Some(sandbox) = self.leave(batch, sandbox, turn, Reason::Cancelled) {
            self.start_next(sandbox);
        }
    }

    /// A batch waits no more. When it was the last, its turn leaves the queue and an attempt under way is aborted.
    fn leave(
        &mut self,
        batch: BatchId,
        sandbox: SandboxKey,
        turn: TurnKey,
        reason: Reason,
    ) -> Option<SandboxKey> {
        let live = self.lanes.get_mut(sandbox)?.turn_mut(turn)?;
        let waiter = live.leave(batch)?;
        if !waiter.withdrawn {
            self.ledger.passed.insert(batch, sandbox, turn, false);
        }
        let (deserted, attempt) = (live.waiters.is_empty(), live.attempt);
        self.dismiss(&waiter, reason, None);
        if !deserted {
            return None;
        }
        if let Some(attempt) = attempt {
            self.give_up(attempt);
        }
        let mut live = self.lanes.get_mut(sandbox)?.remove(turn)?;
        if attempt.is_some_and(|attempt| attempt.cost_a_limit) {
            live.tally.failed();
        }
        self.ledger.put(sandbox, TurnRecord::uncovered(live.key, live.tally), self.now);
        Some(sandbox)
    }

    /// The attempt under way in a sandbox is void: its picture is not of what the batches will find, or not by the driver that there is.
    /// They get another at once, within their limits; or none, when it was the third.
    pub(super) fn start_anew(&mut self, sandbox: SandboxKey) {
        let Some(live) = self.lanes.get_mut(sandbox).and_then(|lane| lane.turns.front_mut()) else { return };
        let Some(attempt) = live.attempt.take() else { return };
        live.voided = live.voided.saturating_add(1);
        live.tally.failures = live.voided;
        let exhausted = live.tally.exhausted();
        self.give_up(attempt);
        if exhausted && let Some(live) = self.lanes.get_mut(sandbox).and_then(|lane| lane.turns.pop_front()) {
            self.all_unprotected(sandbox, live, Reason::AttemptsExhausted);
        }
        self.start_next(sandbox);
    }

    /// Nothing comes of an attempt under way.
    fn give_up(&mut self, Attempt { id, deadline, .. }: Attempt) {
        self.deadlines.clear(deadline, Deadline::Attempt(id));
        self.attempts.remove(id);
        self.abort(id);
    }

    /// Tells the driver to stop.
    fn abort(&mut self, attempt: AttemptId) {
        self.aborted.insert(attempt);
        self.outputs.push_back(Output::Abort { attempt });
    }

    /// The driver has answered: the turn whose attempt that ends.
    fn settle(&mut self, attempt: AttemptId) -> Option<(SandboxKey, LiveTurn)> {
        let sandbox = self.attempts.remove(attempt)?;
        let deadline = self.lanes.get(sandbox)?.turns.front()?.attempt?.deadline;
        self.deadlines.clear(deadline, Deadline::Attempt(attempt));
        self.end_attempt(sandbox).map(|live| (sandbox, live))
    }

    /// Takes out the sandbox's first turn, whose attempt is over.
    fn end_attempt(&mut self, sandbox: SandboxKey) -> Option<LiveTurn> {
        let lane = self.lanes.get_mut(sandbox)?;
        lane.turns.front()?.attempt?;
        lane.turns.pop_front()
    }

    /// The batches of a turn that waited and will run are let through.
    fn passed(&mut self, sandbox: SandboxKey, live: &LiveTurn, covered: bool) {
        for waiter in live.waiters.iter().filter(|waiter| !waiter.withdrawn) {
            self.ledger.passed.insert(waiter.batch, sandbox, live.key, covered);
        }
    }

    /// An attempt gave no checkpoint: all its batches go on without one, and a later one of the turn may try again (G6).
    fn all_unprotected(&mut self, sandbox: SandboxKey, mut live: LiveTurn, reason: Reason) {
        for waiter in &live.waiters {
            self.dismiss(waiter, reason, None);
        }
        self.passed(sandbox, &live, false);
        live.tally.before.add(live.unprotected());
        // Attempts that are exhausted have been counted.
        if reason != Reason::Paused && reason != Reason::AttemptsExhausted {
            live.tally.failed();
        }
        self.ledger.put(sandbox, TurnRecord::uncovered(live.key, live.tally), self.now);
    }

    /// The verdict of a batch that waited.
    fn dismiss(&mut self, waiter: &Waiter, reason: Reason, cover: Option<Cover>) {
        self.waiting.remove(waiter.batch);
        self.deadlines.clear(waiter.limit, Deadline::Batch(waiter.batch));
        self.answer(waiter.batch, waiter.arrived, reason, cover);
    }
}
