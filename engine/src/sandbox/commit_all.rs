//! Committing all sandboxes of a plan, or none (S11).

use std::sync::Arc;

use turnback_core::{PlanId, SandboxStatus};

use super::commit::{CommitOptions, CommitReport};
use super::names::StrategyName;
use super::plans::SandboxManager;
use super::strategy::Sandbox;
use crate::context::Context;
use crate::error::{Code, Error, Result};

impl SandboxManager {
    /// Commits all sandboxes of a plan, in the order of their resources. When one has conflicts or fails, those that were committed
    /// before it are taken back, and nothing is committed: with conflicts the reports say so, all with `committed: false`; those that it
    /// did not come to are empty.
    ///
    /// # Errors
    /// `NOT_UNDOABLE` before anything is written when one of several is of strategy `none`, whose writes cannot be taken back. The error
    /// of the one that failed; its detail `undone` names the sandboxes that were taken back, `notUndone` those whose resource has been
    /// changed since and that stay committed. `CONFLICT` with that detail when one had conflicts and another one cannot be taken back.
    pub fn commit_all(
        &self,
        plan_id: &PlanId,
        options: &CommitOptions,
        ctx: &Context,
    ) -> Result<Vec<CommitReport>> {
        let mut all = Vec::new();
        for sandbox in self.of_plan(plan_id) {
            if sandbox.handle().status()? != SandboxStatus::CleanedUp {
                all.push(sandbox);
            }
        }
        refuse_in_place(&all)?;
        let mut reports: Vec<CommitReport> = Vec::new();
        for sandbox in &all {
            let failed = match sandbox.commit(options, ctx) {
                Ok(report) if report.committed => {
                    reports.push(report);
                    continue;
                }
                other => other,
            };
            let (undone, left) = undo(&all, &mut reports, ctx);
            let named = |error: Error| {
                let error = error.with_detail("undone", undone.join("\n"));
                if left.is_empty() { error } else { error.with_detail("notUndone", left.join("\n")) }
            };
            let conflicting = failed.map_err(&named)?;
            if !left.is_empty() {
                return Err(named(Error::new(
                    Code::Conflict,
                    "a sandbox of the plan has conflicts, and the commit of another one cannot be taken back",
                    "settle it in the resources that `notUndone` names",
                )));
            }
            reports.push(conflicting);
            reports.resize(all.len(), CommitReport::default());
            return Ok(reports);
        }
        Ok(reports)
    }
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

/// Takes back what was written, the last one first: the ids of those that are as before, and of those that are not.
fn undo(all: &[Arc<dyn Sandbox>], reports: &mut [CommitReport], ctx: &Context) -> (Vec<String>, Vec<String>) {
    let (mut undone, mut left) = (Vec::new(), Vec::new());
    for (sandbox, report) in all.iter().zip(reports).rev() {
        let id = sandbox.handle().id().to_string();
        let wrote = report.pre_apply_checkpoint_id.is_some() || report.commit.is_some();
        match if wrote { sandbox.undo_commit(ctx).map(|undone| undone.restored) } else { Ok(true) } {
            Ok(true) => {
                undone.push(id);
                report.committed = false;
                report.changes.clear();
            }
            Ok(false) => left.push(id),
            Err(error) => {
                tracing::warn!(%error, %id, "a commit cannot be taken back");
                left.push(id);
            }
        }
    }
    (undone, left)
}
