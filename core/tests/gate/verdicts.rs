//! Whether a verdict is right: its reason, and what it says of protection.

use turnback_core::{Reason, Verdict};

use super::judge::{Judge, Truth};
use super::life::Standing;
use super::plan::{BatchPlan, Kind, LIMIT};

impl Judge {
    pub(super) fn check_reason(&mut self, verdict: &Verdict, plan: &BatchPlan, number: u64, at_once: bool) {
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
            if plan.kind == Kind::ReadOnly {
                // A nameless release may be for this one, which holds nothing.
                self.sandboxes.get_mut(&plan.sandbox).unwrap().outlived.insert(plan.turn);
            }
            return;
        }
        // Which turns were outlived the gate knows by a filter, which says yes for others as well.
        let some_outlived = self.sandboxes.values().any(|sandbox| !sandbox.outlived.is_empty());
        let sandbox = self.sandboxes.get_mut(&plan.sandbox).unwrap();
        let under_way = sandbox.under_way.filter(|attempt| self.attempts[attempt].turn == plan.turn);
        let life = sandbox.lives.entry(plan.turn).or_default();
        match verdict.reason {
            Reason::SameTurn => {
                assert!(at_once && life.standing.is_some(), "G1: skipped without a checkpoint of the turn");
                let outlived = life.nameless > 0 && some_outlived;
                let may_be_kept = life.unsure || life.mixed || outlived;
                assert!(!life.under.is_empty() || may_be_kept, "G8: the slot was not given back");
            }
            Reason::AttemptsExhausted => {
                let void = matches!(self.input, Some(Truth::Restored { .. } | Truth::Uncovered { .. }));
                assert!(
                    (at_once && life.unsure) || ((at_once || void) && life.failures >= 3),
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
    pub(super) fn check_protection(&mut self, verdict: &Verdict, plan: &BatchPlan) {
        let cover = verdict.cover.as_ref().unwrap();
        let sandbox = self.sandboxes.get_mut(&plan.sandbox).unwrap();
        let crowded = sandbox.is_crowded();
        let life = sandbox.lives.get_mut(&plan.turn).expect("protected, by what?");
        if let Some((attempt, true)) = self.settles {
            let one = self.attempts.get_mut(&attempt).unwrap();
            let completed = *one.completed.get_or_insert(self.order);
            if life.standing.is_none_or(|standing| standing.attempt != attempt) {
                assert!(cover.late || !life.ran_unprotected, "G9: late, and not called so");
                let ran_before = life.first_ran.is_some_and(|ran| ran < completed);
                assert!(cover.late || !ran_before || life.expired, "G9: late, and not called so");
                if !life.unsure {
                    let may_be_late = !life.before.is_empty() || life.nameless > 0 || crowded;
                    assert!(!cover.late || may_be_late, "G6: called late for nothing");
                }
                life.standing = Some(Standing { attempt, late: cover.late });
            }
        }
        let standing = life.standing.expect("G9: protected without a checkpoint");
        let one = &self.attempts[&standing.attempt];
        assert_eq!((one.sandbox, one.turn), (plan.sandbox, plan.turn), "G4: another turn's checkpoint");
        assert!(one.completed.is_some(), "G9: the checkpoint is not there");
        assert_eq!(one.epoch, sandbox.epoch, "G8: the checkpoint is from before the restore");
        assert_eq!(cover.late, standing.late, "G9");
        assert_eq!(cover.partial, one.partial, "G9");
        let told = cover.checkpoint_id.as_ref();
        let too_long = one.id.as_ref().is_some_and(|id| id.to_string().len() > 16);
        let untold = told.is_none() && too_long && self.settles.is_none();
        assert!(told == one.id.as_ref() || untold, "G9: another checkpoint's id");
    }
}
