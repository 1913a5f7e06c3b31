//! Taking back what changed between two checkpoints and keeping later edits (C15): check, walk, merge three-way, plan, take the
//! checkpoint that undoes it, apply. From the plan on it is a rollback.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use turnback_core::CheckpointId;

use super::carry_out::{Carried, Job};
use super::create::Taken;
use super::failed::{or_without_safety, told};
use super::manager::{Inner, Manager};
use super::rollback::duplicate;
use super::workspace::{Broad, Workspace, identity};
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::{Picture, RelPath, Uncovered};
use crate::recovery::RestoreKind;
use crate::report::RollbackReport;
use crate::restore::{
    Applied, GitMode, MergeOptions, Merged, OnConflict, Plan, PlanOptions, Sides, merge, plan,
};
use crate::store::{Preview, Published};
use crate::tree::Limits;

/// How to take changes back.
#[derive(Debug, Clone)]
pub struct RevertRequest {
    /// What happens to paths that were changed again since.
    pub on_conflict: OnConflict,
    /// Only say what would be done.
    pub dry_run: bool,
    /// What happens inside `.git`.
    pub git: GitMode,
    /// Only these paths and what lies beneath them.
    pub paths: Option<Vec<RelPath>>,
    /// Go on when the root is another directory than the one that was checkpointed.
    pub allow_replaced_root: bool,
    /// Take a checkpoint first, so that the revert can be undone. Without it nothing can bring back what is overwritten.
    pub safety: bool,
}

impl Default for RevertRequest {
    fn default() -> Self {
        Self {
            on_conflict: OnConflict::Fail,
            dry_run: false,
            git: GitMode::Keep,
            paths: None,
            allow_replaced_root: false,
            safety: true,
        }
    }
}

/// The two checkpoints whose difference is taken back.
struct Turn {
    /// The state before, which is to come back.
    from: Arc<Published>,
    /// The state after, to which later edits are compared.
    to: Arc<Published>,
    before: Picture,
    after: Picture,
}

/// What is to be done.
struct Decision {
    merged: Merged,
    plan: Plan,
}

impl Manager {
    /// Takes back what changed from one checkpoint to another, and keeps what was changed since: "undo this turn, keep mine".
    ///
    /// A path that the turn did not change is never touched. One that nobody changed since the turn becomes what it was before; a
    /// `touch`, or the same bytes written again, is no change. One that was changed since is a conflict, unless it is already as it
    /// was before. The two checkpoints may be given in either order: the other way round is a redo. The workspace is walked under the
    /// rules of `from`; what only one of the two covers is left alone and listed.
    ///
    /// With [`OnConflict::Fail`] and conflicts the report lists them, nothing is written, and no checkpoint is taken. [`Manager::undo`]
    /// with the report's `undo_checkpoint_id` brings back exactly the state before the revert.
    ///
    /// # Errors
    /// `WORKSPACE_MISMATCH` for checkpoints of different workspaces; `NOT_FOUND` for a checkpoint, a path, or a root that is gone;
    /// `WORKSPACE_REPLACED`, `NOT_A_DIRECTORY`, `STORE_FORMAT`, `BUSY`, `CORRUPT`, `DISK_FULL`, `PERMISSION_DENIED`, `ABORTED`,
    /// `TIMED_OUT`, `IO`. An error means that nothing was written, unless it has the detail `begun` (see [`Manager::rollback`]); what
    /// fails for single paths is in the report.
    pub fn revert(
        &self,
        from: CheckpointId,
        to: CheckpointId,
        request: RevertRequest,
        ctx: &Context,
    ) -> Result<RollbackReport> {
        self.try_revert(from, to, request, ctx).map_err(|error| told(error, ctx))
    }

    fn try_revert(
        &self,
        from: CheckpointId,
        to: CheckpointId,
        request: RevertRequest,
        ctx: &Context,
    ) -> Result<RollbackReport> {
        let started = Instant::now();
        let inner = self.open_inner()?;
        if !request.dry_run {
            inner.store.require_writable()?;
        }
        let (from, to) = (inner.catalog.require(from)?, inner.catalog.require(to)?);
        if from.parsed.sandbox_id != to.parsed.sandbox_id || from.parsed.workspace != to.parsed.workspace {
            return Err(Error::new(
                Code::WorkspaceMismatch,
                "the two checkpoints are of different workspaces",
                "give two checkpoints of one workspace",
            ));
        }
        let workspace = Workspace::at(from.parsed.workspace.clone())?;
        workspace.check_scope(inner.layout(), Broad::Allowed)?;
        if workspace.path.parent().is_some_and(std::path::Path::exists) {
            workspace.check_ancestors()?;
        }
        let _workspace = if request.dry_run { None } else { Some(inner.lock_workspace(&workspace, ctx)?) };
        // Room is never made by those that are compared.
        let mut protected = BTreeSet::from([from.parsed.id, to.parsed.id]);
        let recovered = match request.dry_run {
            true => None,
            false => inner.recover_first(&workspace, &protected, ctx)?,
        };
        let mut report = inner.with_room(&protected, ctx, || {
            let _store = inner.share_store(ctx)?;
            let (from, to) = (inner.catalog.require(from.parsed.id)?, inner.catalog.require(to.parsed.id)?);
            let before = from.parsed.picture(&inner.packs)?;
            let after = to.parsed.picture(&inner.packs)?;
            inner.revert(&workspace, &Turn { from, to, before, after }, &request, ctx)
        })?;
        if let Some(undo) = report.undo_checkpoint_id {
            protected.insert(undo);
            inner.retain(&protected, ctx);
        }
        report.recovered = recovered.map(|recovered| Box::new(recovered.report));
        report.paths = request.paths;
        report.duration = started.elapsed();
        Ok(report)
    }
}

impl Inner {
    fn revert(
        &self,
        workspace: &Workspace,
        turn: &Turn,
        request: &RevertRequest,
        ctx: &Context,
    ) -> Result<RollbackReport> {
        let Some(root) = workspace.open_if_there()? else {
            return Err(Error::new(
                Code::NotFound,
                "the workspace is gone, so that there is nothing to take a turn back in",
                "roll back to a checkpoint: that makes it anew",
            )
            .at(&workspace.path));
        };
        self.check_reverted_root(workspace, turn, request, &root)?;
        let no_room = |error| or_without_safety(RestoreKind::Revert, error);
        let manifests = Preview::new(&self.packs);
        let mut taken = None;
        let now = if request.dry_run || !request.safety {
            self.preview(workspace, duplicate(&root)?, &turn.from, &turn.before, &manifests, ctx)?
        } else {
            let (rules, limits) = (turn.from.record.rules.clone(), Limits::default());
            let (root, target) = (duplicate(&root)?, Some(&turn.before));
            let walked = self.take(workspace, root, rules, limits, target, Some(&manifests), ctx);
            taken.insert(walked.map_err(no_room)?).walked.picture.clone()
        };
        let decision = decide(turn, &now, &manifests, request, ctx)?;
        if decision.stops(request) || decision.plan.is_empty() || request.dry_run {
            return Ok(decision.report(turn, request));
        }
        self.precheck(workspace, Some(&root), &decision.plan, ctx)?;
        let shares = taken.iter().map(Taken::share).collect::<Result<Vec<_>>>()?;
        let counted = shares.iter().map(|share| share.needs).sum();
        let journal = self.prepare_journal(&decision.plan, !request.safety, &shares).map_err(no_room)?;
        drop(shares);
        let undo = match taken {
            None => None,
            Some(taken) => {
                let (git, paths) = (request.git, request.paths.as_deref());
                let publish = || self.publish_before(workspace, taken, &turn.from, git, paths, ctx);
                Some(journal.beside(counted, publish).map_err(no_room)?)
            }
        };
        let job = Job {
            kind: RestoreKind::Revert,
            workspace,
            root: Some(&root),
            plan: &decision.plan,
            targets: vec![turn.from.parsed.id, turn.to.parsed.id],
            undo,
            git: request.git,
            paths: request.paths.clone(),
            in_place_of: None,
            journal,
        };
        let Carried { applied, journaled } = self.carry_out(&job, &manifests, ctx)?;
        drop(job);
        Ok(RollbackReport { journaled, ..decision.done(turn, applied, undo) })
    }

    /// The root must be the directory that both checkpoints are of (C5).
    fn check_reverted_root(
        &self,
        workspace: &Workspace,
        turn: &Turn,
        request: &RevertRequest,
        root: &OwnedFd,
    ) -> Result<()> {
        let now = identity(root)?;
        let same = |of: &Published| workspace.is_same_root(self.layout(), of.record.identity, now);
        if request.allow_replaced_root || (same(&turn.from) && same(&turn.to)) {
            return Ok(());
        }
        Err(Error::new(
            Code::WorkspaceReplaced,
            "the workspace is another directory than the one that was checkpointed",
            "allow it (`allowReplacedRoot`, --allow-replaced-root) if it holds the same project",
        )
        .at(&workspace.path))
    }
}

fn decide(
    turn: &Turn,
    now: &Picture,
    preview: &Preview<'_>,
    request: &RevertRequest,
    ctx: &Context,
) -> Result<Decision> {
    let sides = Sides { base: &turn.after, ours: now, theirs: &turn.before };
    let options =
        MergeOptions { on_conflict: request.on_conflict, git: request.git, paths: request.paths.clone() };
    let merged = merge(sides, preview, &options, ctx)?;
    // The merged picture has what is there now wherever nothing was asked for, so that the plan needs no paths.
    let options = PlanOptions { git: request.git, paths: None };
    let plan = plan(Some(now), &merged.picture, preview, &options, ctx)?;
    Ok(Decision { merged, plan })
}

impl Decision {
    /// Whether conflicts keep everything from being written.
    fn stops(&self, request: &RevertRequest) -> bool {
        request.on_conflict == OnConflict::Fail && !self.merged.conflicts.is_empty()
    }

    /// The report of a revert that writes nothing.
    fn report(self, turn: &Turn, request: &RevertRequest) -> RollbackReport {
        let stops = self.stops(request);
        let applied = Applied {
            kept: self.plan.kept().to_vec(),
            not_restorable: self.plan.not_restorable().to_vec(),
            ..Applied::default()
        };
        let report = self.done(turn, applied, None);
        RollbackReport {
            restored: report.restored && !stops && !request.dry_run,
            actions: if stops { Vec::new() } else { report.actions },
            restamped: if stops { 0 } else { report.restamped },
            ..report
        }
    }

    fn done(self, turn: &Turn, applied: Applied, undo: Option<CheckpointId>) -> RollbackReport {
        let not_restorable = joined(self.merged.not_restorable, applied.not_restorable);
        RollbackReport {
            restored: not_restorable.is_empty(),
            checkpoint_id: turn.from.parsed.id,
            undo_checkpoint_id: undo,
            written: applied.written,
            deleted: applied.deleted,
            restamped: self.plan.restamped(),
            root_recreated: applied.root_recreated,
            head_moved: self.merged.head_moved || self.plan.head_moved(),
            conflicts: self.merged.conflicts,
            kept: joined(self.merged.kept, applied.kept),
            not_restorable,
            actions: self.plan.changes(),
            journaled: false,
            recovered: None,
            paths: None,
            duration: Duration::ZERO,
        }
    }
}

fn joined(mut all: Vec<Uncovered>, more: Vec<Uncovered>) -> Vec<Uncovered> {
    all.extend(more);
    all.sort();
    all.dedup_by(|a, b| a.path == b.path && a.reason == b.reason);
    all
}
