//! Looks at what goes into the gate and what comes out, keeps its own books, and stops the test at the first broken promise.

use std::collections::{BTreeMap, BTreeSet};

use turnback_core::{AttemptId, Output, Reason, Start, Verdict};

use super::life::{AttemptTruth, Life, SandboxTruth, Standing, State};
use super::plan::{Answer, BatchPlan, DAY, Fate, Kind, LIMIT};
use super::world::{checkpoint_id, sandbox_id, turn_id};

/// What an input says, in the world's own terms.
#[derive(Clone, Debug)]
pub(crate) enum Truth {
    Tick,
    Arrived { batch: u64, plan: BatchPlan },
    Answered { attempt: AttemptId, answer: Answer },
    Released { batch: u64 },
    Cancelled { batch: u64 },
    Restored { sandbox: usize },
}

#[derive(Debug)]
struct BatchTruth {
    plan: BatchPlan,
    arrived: u64,
    waits: bool,
    released: bool,
    epoch: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Judge {
    now: u64,
    order: u64,
    sandboxes: BTreeMap<usize, SandboxTruth>,
    batches: BTreeMap<u64, BatchTruth>,
    attempts: BTreeMap<AttemptId, AttemptTruth>,
    /// The input whose outputs are being judged.
    input: Option<Truth>,
    /// The attempt that this input settles, and whether it succeeded.
    settles: Option<(AttemptId, bool)>,
    /// Whether it did not because the store is paused: no failure (C17).
    paused: bool,
    /// The late success that the driver must now be asked to delete.
    must_delete: Option<AttemptId>,
    created: usize,
}

impl Judge {
    /// Whether the batch's sandbox was restored since it came: its host no longer speaks of it.
    pub(crate) fn outlived(&self, batch: u64) -> bool {
        let one = &self.batches[&batch];
        self.sandboxes[&one.plan.sandbox].epoch != one.epoch
    }

    pub(crate) fn input(&mut self, now: u64, truth: Truth) {
        self.now = now;
        self.order += 1;
        (self.settles, self.must_delete, self.created) = (None, None, 0);
        match &truth {
            Truth::Tick => {}
            Truth::Arrived { batch, plan } => self.arrived(*batch, plan),
            Truth::Answered { attempt, answer } => self.answered(*attempt, *answer),
            Truth::Released { batch } => self.released(*batch),
            // One that waits no more is left alone; `waits` and the reasons' checks see to that.
            Truth::Cancelled { .. } => {}
            Truth::Restored { sandbox } => self.restored(*sandbox),
        }
        self.input = Some(truth);
    }

    fn restored(&mut self, place: usize) {
        let sandbox = self.sandboxes.entry(place).or_default();
        sandbox.epoch += 1;
        sandbox.lives.clear();
        // Those who wait belong to the sandbox as it is now.
        for batch in self.batches.values_mut().filter(|one| one.waits && one.plan.sandbox == place) {
            batch.epoch = sandbox.epoch;
            // The gate cannot know that this release was not for a batch from before the restore.
            batch.released = false;
        }
    }

    fn arrived(&mut self, batch: u64, plan: &BatchPlan) {
        let sandbox = self.sandboxes.entry(plan.sandbox).or_default();
        let waiting = sandbox.queue.contains(&plan.turn);
        if plan.kind != Kind::NoTurn && plan.kind != Kind::ReadOnly {
            if self.now - sandbox.perhaps_used >= DAY && sandbox.queue.is_empty() {
                sandbox.lives.clear();
            }
            let fuzzy = self.now - sandbox.surely_used >= DAY || sandbox.others_since(plan.turn) >= 6;
            if let Some(life) = sandbox.lives.get_mut(&plan.turn).filter(|_| fuzzy && !waiting) {
                life.may_be_forgotten = true;
                life.unsure = true;
            }
            sandbox.used(plan.turn);
            sandbox.perhaps_used = self.now;
            if plan.kind == Kind::Ordinary && !waiting {
                sandbox.surely_used = self.now;
                life_begins_to_wait(sandbox, plan.turn);
            }
        }
        let epoch = self.sandboxes[&plan.sandbox].epoch;
        let one = BatchTruth { plan: plan.clone(), arrived: self.now, waits: true, released: false, epoch };
        self.batches.insert(batch, one);
    }

    fn answered(&mut self, attempt: AttemptId, answer: Answer) {
        let one = self.attempts.get_mut(&attempt).unwrap();
        match one.state {
            State::UnderWay => {
                one.state = State::Over;
                (one.partial, one.named) = (answer.partial, answer.named);
                let sandbox = self.sandboxes.get_mut(&one.sandbox).unwrap();
                assert_eq!(sandbox.under_way.take(), Some(attempt));
                if one.epoch == sandbox.epoch {
                    self.settles = Some((attempt, answer.success));
                    self.paused = answer.paused();
                }
            }
            State::Aborted => {
                one.state = State::AbortedAnswered;
                self.must_delete = (answer.success && answer.named).then_some(attempt);
            }
            State::AbortedAnswered | State::Over => {}
        }
    }

    fn released(&mut self, batch: u64) {
        let one = self.batches.get_mut(&batch).unwrap();
        one.released = true;
        let sandbox = self.sandboxes.get_mut(&one.plan.sandbox).unwrap();
        sandbox.perhaps_used = self.now;
        sandbox.used(one.plan.turn);
        let life = sandbox.lives.entry(one.plan.turn).or_default();
        life.unreleased.remove(&batch);
        life.released_while_waiting = true;
        if let Some(standing) = &mut life.standing {
            standing.released = true;
        }
    }

    pub(crate) fn output(&mut self, output: &Output) {
        self.order += 1;
        match output {
            Output::Start(start) => self.start(start),
            Output::Verdict(verdict) => self.verdict(verdict),
            Output::Abort { attempt } => self.abort(*attempt),
            Output::DeleteLate { attempt, checkpoint_id: id } => {
                assert_eq!(self.must_delete.take(), Some(*attempt), "G10: not to be deleted");
                assert_eq!(*id, checkpoint_id(*attempt));
                self.attempts.get_mut(attempt).unwrap().deleted = true;
            }
            Output::Timeout { .. } | Output::Idle => {}
        }
    }

    fn start(&mut self, start: &Start) {
        let (&place, sandbox) =
            self.sandboxes.iter_mut().find(|(place, _)| sandbox_id(**place) == start.sandbox_id).unwrap();
        assert_eq!(sandbox.under_way, None, "G4: two attempts at once on one sandbox");
        let turn = *sandbox.queue.first().expect("G4: an attempt that nobody waits for");
        assert_eq!(start.turn_id, turn_id(turn), "G4: not the turn that has waited longest");
        assert_eq!(start.comment, format!("turnback-pre-agent-turn-{turn}"), "G2");
        assert_eq!(start.deadline.as_u64(), self.now + LIMIT, "G5");
        sandbox.under_way = Some(start.attempt);
        let life = sandbox.lives.entry(turn).or_default();
        if life.may_be_forgotten {
            *life = Life { unsure: true, ..Life::default() };
        }
        if let Some(standing) = life.standing.take() {
            assert!(standing.released, "G1: a second checkpoint of one turn");
        }
        assert!(life.failures < 3, "G6: a fourth attempt");
        if !life.unsure {
            assert!(start.late || life.first_ran.is_none(), "G6: late, and not called so");
            let may_be_late = !life.unreleased.is_empty() || life.released_while_waiting;
            assert!(!start.late || may_be_late, "G6, G8: called late for nothing");
        }
        let began = AttemptTruth {
            sandbox: place,
            turn,
            epoch: sandbox.epoch,
            state: State::UnderWay,
            cost_a_limit: false,
            partial: false,
            named: false,
            completed: None,
            deleted: false,
        };
        assert!(self.attempts.insert(start.attempt, began).is_none(), "an attempt's number is used twice");
    }

    fn abort(&mut self, attempt: AttemptId) {
        let one = self.attempts.get_mut(&attempt).unwrap();
        assert_eq!(one.state, State::UnderWay, "aborted though it is over");
        one.state = State::Aborted;
        let sandbox = self.sandboxes.get_mut(&one.sandbox).unwrap();
        assert_eq!(sandbox.under_way.take(), Some(attempt));
        if one.cost_a_limit && one.epoch == sandbox.epoch {
            sandbox.lives.entry(one.turn).or_default().failures += 1;
        }
    }

    fn verdict(&mut self, verdict: &Verdict) {
        let number = verdict.batch.as_u64();
        let one = self.batches.get_mut(&number).unwrap();
        assert!(std::mem::take(&mut one.waits), "G9: a second verdict");
        assert_eq!(verdict.duration.as_u64(), self.now - one.arrived, "G9");
        let plan = one.plan.clone();
        let at_once = matches!(&self.input, Some(Truth::Arrived { batch, .. }) if *batch == number);
        self.check_reason(verdict, &plan, number, at_once);
        if verdict.protected() {
            self.check_protection(verdict, &plan);
        }
        if plan.kind == Kind::NoTurn || plan.kind == Kind::ReadOnly {
            return;
        }
        let still_waits = self.waiting(plan.sandbox, plan.turn).next().is_some();
        let sandbox = self.sandboxes.get_mut(&plan.sandbox).unwrap();
        sandbox.perhaps_used = self.now;
        if plan.kind == Kind::Ordinary || !still_waits {
            sandbox.surely_used = self.now;
        }
        sandbox.used(plan.turn);
        if !still_waits {
            sandbox.queue.retain(|&turn| turn != plan.turn);
        }
        let life = sandbox.lives.entry(plan.turn).or_default();
        if life.may_be_forgotten && !verdict.protected() {
            *life = Life { unsure: true, ..Life::default() };
        }
        life.may_be_forgotten = false;
        life.passed_unprotected |= !verdict.protected();
        if !self.batches[&number].released {
            life.unreleased.insert(number);
        }
        if plan.fate == Fate::Runs && verdict.reason != Reason::Cancelled {
            life.first_ran.get_or_insert(self.order);
        }
    }

    fn check_reason(&mut self, verdict: &Verdict, plan: &BatchPlan, number: u64, at_once: bool) {
        let skipped = match plan.kind {
            Kind::FlagOff => Some(Reason::FlagOff),
            Kind::Paused => Some(Reason::Paused),
            Kind::NoDriver => Some(Reason::NoDriver),
            Kind::NoTurn => Some(Reason::NoTurnId),
            Kind::ReadOnly => Some(Reason::ReadOnly),
            Kind::Ordinary => None,
        };
        if let Some(reason) = skipped {
            assert_eq!(verdict.reason, reason, "G3, G7, G14, C17");
            assert!(at_once, "a skipped batch waited");
            return;
        }
        let sandbox = self.sandboxes.get_mut(&plan.sandbox).unwrap();
        let under_way = sandbox.under_way.filter(|attempt| self.attempts[attempt].turn == plan.turn);
        let life = sandbox.lives.entry(plan.turn).or_default();
        match verdict.reason {
            Reason::SameTurn => {
                assert!(at_once && life.standing.is_some(), "G1: skipped without a checkpoint of the turn");
                let all_released = life.unreleased.is_empty() && !life.unsure;
                assert!(!all_released, "G8: the slot was not given back");
            }
            Reason::AttemptsExhausted => {
                assert!(
                    at_once && (life.failures >= 3 || life.unsure),
                    "G1: a turn skipped for something else than its failures"
                );
            }
            Reason::NewTurn | Reason::EarlierBatchesRan | Reason::SharedAttempt => {
                let (attempt, success) = self.settles.expect("no attempt of the turn has ended");
                let one = &self.attempts[&attempt];
                assert!(
                    success && (one.sandbox, one.turn) == (plan.sandbox, plan.turn),
                    "G4: another turn's checkpoint"
                );
                self.created += 1;
                assert_eq!(verdict.reason == Reason::SharedAttempt, self.created > 1, "G9: one is the first");
            }
            Reason::DriverFailed | Reason::Paused => {
                assert_eq!(verdict.reason == Reason::Paused, self.paused, "C17: paused is no failure");
                let (attempt, success) = self.settles.expect("no attempt of the turn has ended");
                let one = &self.attempts[&attempt];
                assert!(
                    !success && (one.sandbox, one.turn) == (plan.sandbox, plan.turn),
                    "G4: another turn's failure"
                );
            }
            Reason::Queued => {
                assert!(verdict.duration.as_u64() >= LIMIT && under_way.is_none(), "G5: not queued");
            }
            Reason::Unfinished => {
                let attempt = self.attempts.get_mut(&under_way.expect("G5: it was queued")).unwrap();
                attempt.cost_a_limit = true;
            }
            Reason::Cancelled => {
                let cancelled = matches!(&self.input, Some(Truth::Cancelled { batch }) if *batch == number);
                assert!(cancelled, "nobody cancelled it");
            }
            reason => panic!("{reason} for an ordinary batch"),
        }
    }

    /// `protected` is never a lie (G9).
    fn check_protection(&mut self, verdict: &Verdict, plan: &BatchPlan) {
        let cover = verdict.cover.as_ref().unwrap();
        let sandbox = self.sandboxes.get_mut(&plan.sandbox).unwrap();
        let life = sandbox.lives.get_mut(&plan.turn).expect("protected, by what?");
        if let Some((attempt, true)) = self.settles {
            let one = self.attempts.get_mut(&attempt).unwrap();
            let completed = *one.completed.get_or_insert(self.order);
            if life.standing.is_none_or(|standing| standing.attempt != attempt) {
                if !life.unsure {
                    let ran_before = life.first_ran.is_some_and(|ran| ran < completed);
                    assert!(cover.late || !ran_before, "G9: late, and not called so");
                    assert!(!cover.late || life.passed_unprotected, "G6: called late for nothing");
                }
                let released = life.released_while_waiting;
                life.standing = Some(Standing { attempt, late: cover.late, released });
            }
        }
        let standing = life.standing.expect("G9: protected without a checkpoint");
        let one = &self.attempts[&standing.attempt];
        assert_eq!((one.sandbox, one.turn), (plan.sandbox, plan.turn), "G4: another turn's checkpoint");
        assert!(one.completed.is_some() && !one.deleted, "G10: the checkpoint is not there");
        assert_eq!(one.epoch, sandbox.epoch, "G8: the checkpoint is from before the restore");
        assert_eq!(cover.late, standing.late, "G9");
        assert_eq!(cover.partial, one.partial, "G9");
        assert_eq!(cover.checkpoint_id, one.named.then(|| checkpoint_id(standing.attempt)), "G9");
    }

    fn waiting(&self, sandbox: usize, turn: usize) -> impl Iterator<Item = &BatchTruth> {
        self.batches.values().filter(move |one| {
            one.waits
                && (one.plan.sandbox, one.plan.turn) == (sandbox, turn)
                && one.plan.kind == Kind::Ordinary
        })
    }

    /// All outputs of an input were taken.
    pub(crate) fn settled(&mut self) {
        if let Some(Truth::Cancelled { batch }) = self.input {
            assert!(!self.batches[&batch].waits, "a batch waits though its caller gave up");
        }
        assert_eq!(self.must_delete, None, "G10: the driver was not asked to delete a late success");
        if let Some((attempt, success)) = self.settles {
            let one = &self.attempts[&attempt];
            assert_eq!(
                self.waiting(one.sandbox, one.turn).count(),
                0,
                "G4: the attempt ended, but not for all"
            );
            if !success && !self.paused {
                let sandbox = self.sandboxes.get_mut(&one.sandbox).unwrap();
                sandbox.lives.entry(one.turn).or_default().failures += 1;
            }
        }
        for one in self.batches.values().filter(|one| one.waits) {
            assert!(self.now < one.arrived + LIMIT, "G5: a batch waits beyond its limit");
        }
        let waiting: BTreeSet<(usize, usize)> = (self.batches.values().filter(|one| one.waits))
            .map(|one| (one.plan.sandbox, one.plan.turn))
            .collect();
        for (place, sandbox) in &self.sandboxes {
            let queued: BTreeSet<_> = sandbox.queue.iter().map(|&turn| (*place, turn)).collect();
            assert!(waiting.range((*place, 0)..(*place + 1, 0)).eq(&queued), "somebody waits for nothing");
            let first = sandbox.under_way.map(|attempt| self.attempts[&attempt].turn);
            assert_eq!(first, sandbox.queue.first().copied(), "G1, G4: nothing happens, or for nobody");
        }
    }

    pub(crate) fn finish(&self) {
        assert!(self.batches.values().all(|one| !one.waits), "G9: a batch without a verdict");
    }
}

fn life_begins_to_wait(sandbox: &mut SandboxTruth, turn: usize) {
    sandbox.queue.push(turn);
    sandbox.lives.entry(turn).or_default().released_while_waiting = false;
}
