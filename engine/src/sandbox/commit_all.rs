//! Committing all sandboxes of a plan, or none (S11).

use std::sync::Arc;

use turnback_core::{PlanId, SandboxId, SandboxStatus};

use super::commit::{CommitOptions, CommitReport, OnCommitConflict};
use super::names::StrategyName;
use super::plans::SandboxManager;
use super::strategy::Sandbox;
use super::together::{TakenBack, Together, take_back};
use crate::context::Context;
use crate::error::{Code, Error, Result};

impl SandboxManager {
    /// Commits all sandboxes of a plan, in the order of their resources, or none of them. The conflicts of all are looked for before the
    /// first one is written. When one fails or has a conflict after all, those that were committed before it are taken back. With
    /// conflicts the reports say so, all with `committed: false`.
    ///
    /// A process that dies in the middle leaves a note of it: the next call of any process that makes, finds, commits or cleans up
    /// sandboxes in the store takes back what was committed. The work stays in the sandboxes.
    ///
    /// # Errors
    /// `NOT_UNDOABLE` before anything is written when one of several is of strategy `none`, whose writes cannot be taken back. The error
    /// of the one that failed; its detail `undone` names the sandboxes that were taken back, `notUndone` those that stay committed, because
    /// their resource has been changed since. `CONFLICT` with that detail when one had conflicts and another one cannot be taken back,
    /// also for an earlier call that was cut short.
    pub fn commit_all(
        &self,
        plan_id: &PlanId,
        options: &CommitOptions,
        ctx: &Context,
    ) -> Result<Vec<CommitReport>> {
        let earlier = self.sandboxes.take_up_together(ctx)?;
        if !earlier.stay.is_empty() || !earlier.failed.is_empty() {
            return Err(names_of(stays("an earlier commit of a plan was cut short"), &earlier));
        }
        let mut all = Vec::new();
        for sandbox in self.of_plan(plan_id) {
            if sandbox.handle().status()? != SandboxStatus::CleanedUp {
                all.push(sandbox);
            }
        }
        if let [one] = all.as_slice() {
            return Ok(vec![one.commit(options, ctx)?]);
        }
        refuse_in_place(&all)?;
        let foreseen = all.iter().map(|sandbox| sandbox.foresee(options, ctx)).collect::<Result<Vec<_>>>()?;
        if options.on_conflict == OnCommitConflict::Fail && foreseen.iter().any(|r| !r.conflicts.is_empty()) {
            return Ok(foreseen);
        }
        let together = Together::begin(&self.sandboxes.manager, &all, ctx)?;
        let mut reports: Vec<CommitReport> = Vec::new();
        for (nth, sandbox) in all.iter().enumerate() {
            let failed = match sandbox.commit(options, ctx) {
                Ok(report) if report.committed => {
                    reports.push(report);
                    continue;
                }
                other => other,
            };
            let wrote =
                |report: &CommitReport| report.pre_apply_checkpoint_id.is_some() || report.commit.is_some();
            let mut committed: Vec<_> =
                all.iter().zip(&reports).filter(|(_, report)| wrote(report)).map(|(s, _)| s).collect();
            if failed.as_ref().is_err_and(Error::is_pending) {
                // It would be finished by the next call.
                committed.push(&all[nth]);
            }
            let done = take_back(committed.into_iter());
            if done.failed.is_empty() {
                together.end()?;
            }
            let mut conflicting = failed.map_err(|error| names_of(error, &done))?;
            if !done.stay.is_empty() || !done.failed.is_empty() {
                return Err(names_of(stays("a sandbox of the plan has conflicts"), &done));
            }
            for report in &mut reports {
                *report = CommitReport {
                    held_back: std::mem::take(&mut report.held_back),
                    ..CommitReport::default()
                };
            }
            conflicting.committed = false;
            reports.push(conflicting);
            reports.resize(all.len(), CommitReport::default());
            return Ok(reports);
        }
        together.end()?;
        Ok(reports)
    }
}

fn stays(why: &str) -> Error {
    Error::new(
        Code::Conflict,
        format!("{why}, and the commit of another one cannot be taken back"),
        "settle it in the resources of the sandboxes that `notUndone` names, and commit again",
    )
}

/// Adds which sandboxes were taken back, and which were not.
fn names_of(error: Error, done: &TakenBack) -> Error {
    let named = |ids: &[SandboxId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let error = error.with_detail("undone", named(&done.undone));
    let left = [done.stay.as_slice(), done.failed.as_slice()].concat();
    if left.is_empty() { error } else { error.with_detail("notUndone", named(&left)) }
}

/// What cannot be taken back is said before anything is written.
fn refuse_in_place(all: &[Arc<dyn Sandbox>]) -> Result<()> {
    let in_place = all.iter().find(|sandbox| sandbox.handle().strategy() == StrategyName::None);
    match in_place {
        Some(sandbox) if all.len() > 1 => Err(Error::new(
            Code::NotUndoable,
            "a sandbox of strategy `none` cannot be committed with others: its writes cannot be taken back when another one fails",
            "commit the others one by one, or take a checkpoint of that directory and leave it out of the plan",
        )
        .at(sandbox.handle().resource())),
        _ => Ok(()),
    }
}
