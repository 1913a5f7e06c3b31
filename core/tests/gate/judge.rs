//! Looks at what goes into the gate and what comes out, keeps its own books, and stops the test at the first broken promise.

use std::collections::{BTreeMap, BTreeSet};

use turnback_core::{AttemptId, DriverCheckpointId, Output, Reason, Start, Verdict};

use super::deletions::Deletions;
use super::life::{AttemptTruth, Forgotten, Life, SandboxTruth, Standing, State};
use super::plan::{Answer, BatchPlan, DAY, Fate, Kind, LIMIT};
use super::world::{checkpoint_id, sandbox_id, turn_id};

/// What an input says, in the world's own terms.
#[derive(Clone, Debug)]
pub(crate) enum Truth {
    Tick,
    Arrived { batch: u64, plan: BatchPlan },
    Answered { attempt: AttemptId, answer: Answer },
    Released { batch: u64, named: bool },
    Cancelled { batch: u64 },
    Restored { sandbox: usize },
    Uncovered { sandbox: Option<usize> },
    Deleted { sandbox: usize, id: DriverCheckpointId },
}

#[derive(Debug)]
pub(super) struct BatchTruth {
    plan: BatchPlan,
    arrived: u64,
    waits: bool,
    released: bool,
    /// It came when its turn had its checkpoint: the gate has no number for it.
    covered: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Judge {
    pub(super) now: u64,
    pub(super) order: u64,
    pub(super) sandboxes: BTreeMap<usize, SandboxTruth>,
    pub(super) batches: BTreeMap<u64, BatchTruth>,
    pub(super) attempts: BTreeMap<AttemptId, AttemptTruth>,
    /// The input whose outputs are being judged.
    pub(super) input: Option<Truth>,
    /// The attempt that this input settles, and whether it succeeded.
    pub(super) settles: Option<(AttemptId, bool)>,
    /// Whether it did not because the store is paused: no failure (C17).
    pub(super) paused: bool,
    pub(super) deletions: Deletions,
    pub(super) created: usize,
}

impl Judge {
    /// Whether a release of the batch can name it.
    pub(crate) fn has_number(&self, batch: u64) -> bool {
        let one = &self.batches[&batch];
        one.plan.named && !one.covered
    }

    pub(crate) fn input(&mut self, now: u64, truth: Truth) {
        self.now = now;
        self.order += 1;
        (self.settles, self.created) = (None, 0);
        match &truth {
            Truth::Tick => {}
            Truth::Arrived { batch, plan } => self.arrived(*batch, plan),
            Truth::Answered { attempt, answer } => self.answered(*attempt, *answer),
            Truth::Released { batch, named } => self.released(*batch, *named),
            // One that waits no more is left alone; `waits` and the reasons' checks see to that.
            Truth::Cancelled { .. } => {}
            Truth::Restored { sandbox } => self.restored(*sandbox),
            Truth::Uncovered { sandbox } => self.uncovered(*sandbox),
            Truth::Deleted { sandbox, id } => self.deleted(*sandbox, id),
        }
        self.input = Some(truth);
    }

    /// The id of the turn's checkpoint, if it has one.
    pub(crate) fn standing_id(&self, sandbox: usize, turn: usize) -> Option<DriverCheckpointId> {
        let standing = self.sandboxes.get(&sandbox)?.lives.get(&turn)?.standing?;
        self.attempts[&standing.attempt].id.clone()
    }

    fn deleted(&mut self, place: usize, id: &DriverCheckpointId) {
        self.deletions.gone(id);
        let sandbox = self.sandboxes.get_mut(&place).unwrap();
        let known = sandbox.surely_known(self.now);
        for (turn, life) in &mut sandbox.lives {
            let gone = |standing: Standing| self.attempts[&standing.attempt].id.as_ref() == Some(id);
            if life.standing.is_some_and(gone) {
                // Of a covered turn that was forgotten nothing is known, not even its checkpoint.
                life.ran_unprotected |= life.first_ran.is_some() && known.contains(turn);
                life.uncover();
            }
        }
    }

    fn restored(&mut self, place: usize) {
        let sandbox = self.sandboxes.entry(place).or_default();
        sandbox.epoch += 1;
        let ran = |life: &Life| !life.before.is_empty() || !life.under.is_empty() || life.unsure;
        sandbox.outlived.extend(sandbox.lives.iter().filter(|(_, life)| ran(life)).map(|(&turn, _)| turn));
        sandbox.lives.clear();
        void(sandbox);
        // Those who wait belong to the sandbox as it is now.
        for batch in self.batches.values_mut().filter(|one| one.waits && one.plan.sandbox == place) {
            // The gate cannot know that a nameless release was not for a batch from before the restore.
            batch.released &= batch.plan.named;
        }
    }

    fn uncovered(&mut self, place: Option<usize>) {
        for (_, sandbox) in
            self.sandboxes.iter_mut().filter(|&(&one, _)| place.is_none_or(|place| place == one))
        {
            let known = sandbox.surely_known(self.now);
            for (turn, life) in &mut sandbox.lives {
                if life.standing.is_some() {
                    life.ran_unprotected |= life.first_ran.is_some() && known.contains(turn);
                    life.uncover();
                }
                life.failures = 0;
            }
            void(sandbox);
        }
    }

    fn arrived(&mut self, batch: u64, plan: &BatchPlan) {
        let sandbox = self.sandboxes.entry(plan.sandbox).or_default();
        let waiting = sandbox.queue.contains(&plan.turn);
        if plan.kind != Kind::NoTurn && plan.kind != Kind::ReadOnly {
            if self.now - sandbox.perhaps_used >= DAY && sandbox.queue.is_empty() {
                // Some had lost their places before.
                sandbox.outlived.extend(sandbox.lives.keys());
                sandbox.lives.clear();
            }
            let expired = self.now - sandbox.surely_used >= DAY;
            let displaced = sandbox.others_since(plan.turn) >= 6;
            for (&turn, life) in &mut sandbox.lives {
                if sandbox.queue.contains(&turn) {
                    continue;
                }
                let how = if expired {
                    Forgotten::Expired
                } else if displaced && turn == plan.turn {
                    Forgotten::Displaced
                } else {
                    continue;
                };
                sandbox.outlived.insert(turn);
                life.may_be_forgotten = Some(life.may_be_forgotten.map_or(how, |before| before.max(how)));
                life.unsure = true;
            }
            sandbox.used(plan.turn);
            sandbox.perhaps_used = self.now;
            if plan.kind == Kind::Ordinary && !waiting {
                sandbox.surely_used = self.now;
                life_begins_to_wait(sandbox, plan.turn);
            }
        }
        let one = BatchTruth {
            plan: plan.clone(),
            arrived: self.now,
            waits: true,
            released: false,
            covered: false,
        };
        self.batches.insert(batch, one);
    }

    fn answered(&mut self, attempt: AttemptId, answer: Answer) {
        let one = self.attempts.get_mut(&attempt).unwrap();
        match one.state {
            State::UnderWay => {
                one.state = State::Over;
                (one.partial, one.id) = (answer.partial, checkpoint_id(attempt, answer.name));
                let sandbox = self.sandboxes.get_mut(&one.sandbox).unwrap();
                assert_eq!(sandbox.under_way.take(), Some(attempt));
                if one.epoch == sandbox.epoch {
                    self.settles = Some((attempt, answer.success));
                    one.id.iter().filter(|_| answer.success).for_each(|id| self.deletions.succeeded(id));
                    self.paused = answer.paused();
                }
            }
            State::Aborted => {
                one.state = State::AbortedAnswered;
                if let Some(id) = checkpoint_id(attempt, answer.name).filter(|_| answer.success) {
                    let under_way = self.under_way();
                    self.deletions.late(attempt, id, under_way);
                }
            }
            State::AbortedAnswered | State::Over => {}
        }
    }

    fn released(&mut self, batch: u64, named: bool) {
        let one = self.batches.get_mut(&batch).unwrap();
        one.released = true;
        let sandbox = self.sandboxes.get_mut(&one.plan.sandbox).unwrap();
        sandbox.perhaps_used = self.now;
        sandbox.perhaps_used_turn(one.plan.turn);
        let life = sandbox.lives.entry(one.plan.turn).or_default();
        life.mix();
        life.nameless += usize::from(!named);
        life.mix();
        life.before.remove(&batch);
        life.under.remove(&batch);
    }

    pub(crate) fn output(&mut self, output: &Output) {
        self.order += 1;
        match output {
            Output::Start(start) => self.start(start),
            Output::Verdict(verdict) => self.verdict(verdict),
            Output::Abort { attempt } => self.abort(*attempt),
            Output::DeleteLate { attempt, checkpoint_id: id } => self.deleted_late(*attempt, id),
            Output::Timeout { .. } | Output::Idle => {}
        }
    }

    fn deleted_late(&mut self, attempt: AttemptId, id: &DriverCheckpointId) {
        let lives = self.sandboxes.values().flat_map(|sandbox| {
            sandbox.surely_known(self.now).into_iter().filter_map(|turn| sandbox.lives.get(&turn))
        });
        // After a release nobody may have run under a checkpoint, and then it protects nothing.
        let mut certain = lives.into_iter().filter(|life| life.under.len() > life.nameless);
        assert!(!certain.any(|life| self.counts_on(life, id)), "G10: it protects a turn");
        let under_way = self.under_way();
        self.deletions.asked(attempt, id, &under_way);
    }

    /// Whether a turn has a checkpoint of this id.
    fn counts_on(&self, life: &Life, id: &DriverCheckpointId) -> bool {
        life.standing.is_some_and(|one| self.attempts[&one.attempt].id.as_ref() == Some(id))
    }

    fn under_way(&self) -> BTreeSet<AttemptId> {
        self.sandboxes.values().filter_map(|sandbox| sandbox.under_way).collect()
    }

    fn start(&mut self, start: &Start) {
        let (&place, sandbox) =
            self.sandboxes.iter_mut().find(|(place, _)| sandbox_id(**place) == start.sandbox_id).unwrap();
        assert_eq!(sandbox.under_way, None, "G4: two attempts at once on one sandbox");
        let turn = *sandbox.queue.first().expect("G4: an attempt that nobody waits for");
        assert_eq!(start.turn_id, turn_id(turn), "G4: not the turn that has waited longest");
        assert_eq!(start.comment(), format!("turnback-pre-agent-turn-{turn}"), "G2");
        assert_eq!(start.deadline.as_u64(), self.now + LIMIT, "G5");
        sandbox.under_way = Some(start.attempt);
        let crowded = sandbox.is_crowded();
        let life = sandbox.lives.entry(turn).or_default();
        if let Some(how) = life.may_be_forgotten {
            *life = life.forgotten(how);
        }
        assert!(start.late || !life.ran_unprotected, "G6: late, and not called so");
        if life.standing.is_some() {
            assert!(life.under.len() <= life.nameless, "G1: a second checkpoint of one turn");
            // Those were given back, by what the gate can know.
            life.standing = None;
            life.under.clear();
        }
        assert!(life.failures < 3, "G6: a fourth attempt");
        assert!(start.late || life.first_ran.is_none() || life.expired, "G6: late, and not called so");
        if !life.unsure {
            let may_be_late = !life.before.is_empty() || life.nameless > 0 || crowded;
            assert!(!start.late || may_be_late, "G6, G8: called late for nothing");
        }
        let began = AttemptTruth {
            sandbox: place,
            turn,
            epoch: sandbox.epoch,
            state: State::UnderWay,
            cost_a_limit: false,
            partial: false,
            id: None,
            completed: None,
        };
        assert!(self.attempts.insert(start.attempt, began).is_none(), "an attempt's number is used twice");
    }

    fn abort(&mut self, attempt: AttemptId) {
        let one = self.attempts.get_mut(&attempt).unwrap();
        assert_eq!(one.state, State::UnderWay, "aborted though it is over");
        one.state = State::Aborted;
        let sandbox = self.sandboxes.get_mut(&one.sandbox).unwrap();
        assert_eq!(sandbox.under_way.take(), Some(attempt));
        let void = matches!(self.input, Some(Truth::Restored { .. } | Truth::Uncovered { .. }));
        if one.cost_a_limit && !void {
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
        if let Some(how) = life.may_be_forgotten.take().filter(|_| !verdict.protected()) {
            *life = life.forgotten(how);
        }
        let one = self.batches.get_mut(&number).unwrap();
        one.covered = verdict.reason == Reason::SameTurn;
        if !one.released {
            if verdict.protected() { &mut life.under } else { &mut life.before }.insert(number);
        }
        life.mix();
        if plan.fate == Fate::Runs && verdict.reason != Reason::Cancelled {
            life.first_ran.get_or_insert(self.order);
            life.ran_unprotected |= !verdict.protected();
        }
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
        let under_way = self.under_way();
        for id in self.deletions.due(&under_way) {
            let mut lives = self.sandboxes.values().flat_map(|sandbox| sandbox.lives.values());
            let counted_on = lives.any(|life| self.counts_on(life, &id));
            assert!(counted_on, "G10: the driver was not asked to delete a late success");
        }
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
    sandbox.voided.insert(turn, 0);
}

/// An attempt under way is void, which counts as a failure of a turn that has had no others.
fn void(sandbox: &mut SandboxTruth) {
    if let Some(turn) = sandbox.queue.first() {
        *sandbox.voided.get_mut(turn).unwrap() += 1;
    }
    for turn in &sandbox.queue {
        sandbox.lives.entry(*turn).or_default().failures = sandbox.voided[turn];
    }
}
