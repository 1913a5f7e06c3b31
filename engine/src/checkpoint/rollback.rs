//! Turning a workspace back: check, walk, plan, take the checkpoint that undoes it, apply (C5, C7, C8).

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Instant;

use turnback_core::{CheckpointId, Phase};

use super::create::Purpose;
use super::manager::{Inner, Manager};
use super::stage_names;
use super::workspace::{Workspace, identity, make_private};
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::{Objects, Picture, Reason, RelPath};
use crate::report::RollbackReport;
use crate::restore::{Applied, ApplyOptions, GitMode, Plan, PlanOptions, Root, Target, apply, plan};
use crate::store::{Durability, LossyPath, Preview, Published, RollbackOf, remove_tree};
use crate::tree::Limits;

/// How to turn back.
#[derive(Debug, Clone)]
pub struct RollbackRequest {
    /// Only say what would be done.
    pub dry_run: bool,
    /// Only these paths and what lies beneath them.
    pub paths: Option<Vec<RelPath>>,
    /// Restore to another directory, which must be missing or empty unless `allow_replaced_root` is set.
    pub into: Option<PathBuf>,
    /// What happens inside `.git`.
    pub git: GitMode,
    /// Go on when the root is another directory than the one that was checkpointed.
    pub allow_replaced_root: bool,
    /// Take a checkpoint first, so that the rollback can be undone. Without it nothing can bring back what is overwritten.
    pub safety: bool,
}

impl Default for RollbackRequest {
    fn default() -> Self {
        Self {
            dry_run: false,
            paths: None,
            into: None,
            git: GitMode::Keep,
            allow_replaced_root: false,
            safety: true,
        }
    }
}

impl Manager {
    /// Makes a workspace equal to a checkpoint.
    ///
    /// # Errors
    /// `NOT_FOUND` for the checkpoint, a path or the parent of a missing root; `WORKSPACE_REPLACED`, `NOT_A_DIRECTORY`, `CONFLICT`
    /// (`into` is not empty), `STORE_FORMAT`, `BUSY`, `CORRUPT`, `DISK_FULL`, `PERMISSION_DENIED`, `ABORTED`, `TIMED_OUT`, `IO`. An
    /// error means that nothing was written, unless its message says otherwise; what fails for single paths is in the report.
    pub fn rollback(
        &self,
        id: CheckpointId,
        request: RollbackRequest,
        ctx: &Context,
    ) -> Result<RollbackReport> {
        let started = Instant::now();
        let inner = self.open_inner()?;
        if !request.dry_run {
            inner.store.require_writable()?;
        }
        let then = inner.catalog.require(id)?;
        let workspace = match &request.into {
            Some(into) => Workspace::resolve_missing(into)?,
            None => Workspace::at(then.parsed.workspace.clone())?,
        };
        // Where a checkpoint was allowed to be taken it may be restored; elsewhere nobody has allowed it yet.
        let elsewhere = workspace.path != then.parsed.workspace;
        workspace.check_scope(inner.layout(), !elsewhere)?;
        let nested = workspace.path.starts_with(&then.parsed.workspace)
            || then.parsed.workspace.starts_with(&workspace.path);
        if elsewhere && nested {
            return Err(Error::new(
                Code::InvalidArgument,
                "the target directory and the checkpoint's workspace lie in one another",
                "give a directory beside the workspace",
            )
            .at(&workspace.path));
        }
        if workspace.path.parent().is_some_and(std::path::Path::exists) {
            workspace.check_ancestors()?;
        }
        let _workspace = if request.dry_run { None } else { Some(inner.lock_workspace(&workspace, ctx)?) };
        // Room for the checkpoint that undoes it is never made by the one that is restored.
        let mut protected = BTreeSet::from([id]);
        let mut report = inner.with_room(&protected, ctx, || {
            let _store = inner.share_store(ctx)?;
            inner.catalog.require(id)?;
            let mut report = inner.roll_back(&workspace, &then, &request, ctx)?;
            inner.repeat_coverage(&then, &request, &mut report)?;
            Ok(report)
        })?;
        if let Some(undo) = report.undo_checkpoint_id {
            protected.insert(undo);
            inner.retain(&protected, ctx);
        }
        report.duration = started.elapsed();
        Ok(report)
    }

    /// Takes a rollback back: restores the checkpoint that it took before its first write, within the same scope.
    ///
    /// # Errors
    /// `NOT_UNDOABLE` when the checkpoint was not taken by a rollback; otherwise as [`Manager::rollback`].
    pub fn undo(&self, undo_checkpoint: CheckpointId, ctx: &Context) -> Result<RollbackReport> {
        let inner = self.open_inner()?;
        let then = inner.catalog.require(undo_checkpoint)?;
        let Some(of) = &then.record.rollback_of else {
            return Err(Error::new(
                Code::NotUndoable,
                format!("checkpoint {undo_checkpoint} was not taken by a rollback"),
                "give the id that the rollback reported, or roll back to this checkpoint instead",
            ));
        };
        let paths = of
            .paths
            .as_ref()
            .map(|paths| paths.iter().map(|p| RelPath::parse(&p.bytes()?).ok()).collect::<Option<Vec<_>>>());
        let paths = match paths {
            Some(None) => return Err(Error::corrupt("the scope of the rollback is malformed")),
            Some(Some(paths)) => Some(paths),
            None => None,
        };
        let git = if of.git_exact { GitMode::Exact } else { GitMode::Keep };
        self.rollback(undo_checkpoint, RollbackRequest { paths, git, ..RollbackRequest::default() }, ctx)
    }
}

impl Inner {
    fn roll_back(
        &self,
        workspace: &Workspace,
        then: &Published,
        request: &RollbackRequest,
        ctx: &Context,
    ) -> Result<RollbackReport> {
        let root = workspace.open_if_there()?;
        if let Some(root) = &root {
            self.check_root(workspace, then, request, root)?;
        }
        let after = then.parsed.picture(&self.packs)?;
        let preview = Preview::new(&self.packs);
        let mut undo = None;
        let before = match &root {
            None => None,
            Some(root) if request.dry_run || !request.safety => {
                let root = duplicate(root)?;
                Some(self.preview(workspace, root, then, &after, &preview, ctx)?)
            }
            Some(root) => {
                let (picture, id) = self.take_before(workspace, root, then, &after, request, ctx)?;
                undo = id;
                Some(picture)
            }
        };
        let options = PlanOptions { git: request.git, paths: request.paths.clone() };
        let plan = plan(before.as_ref(), &after, &preview, &options, ctx)?;
        if request.dry_run {
            return Ok(self.dry_run(then, &plan, root.is_none()));
        }
        self.apply(workspace, root, then, &plan, undo, &preview, ctx)
    }

    /// The root must be the directory that was checkpointed (C5), or an empty one for `into`.
    fn check_root(
        &self,
        workspace: &Workspace,
        then: &Published,
        request: &RollbackRequest,
        root: &OwnedFd,
    ) -> Result<()> {
        if request.allow_replaced_root {
            return Ok(());
        }
        if request.into.is_some() && workspace.path != then.parsed.workspace {
            let mut entries = std::fs::read_dir(&workspace.path)
                .map_err(|e| Error::io("listing the target directory", e).at(&workspace.path))?;
            return match entries.next() {
                None => Ok(()),
                Some(_) => Err(Error::new(
                    Code::Conflict,
                    "the target directory is not empty",
                    "give a new or an empty directory; `allowReplacedRoot` (--allow-replaced-root) makes this one equal to the checkpoint",
                )
                .at(&workspace.path)),
            };
        }
        if workspace.is_same_root(self.layout(), then.record.identity, identity(root)?) {
            return Ok(());
        }
        Err(Error::new(
            Code::WorkspaceReplaced,
            "the workspace is another directory than the one that was checkpointed",
            "restore elsewhere (`into`, --into), or allow it (`allowReplacedRoot`, --allow-replaced-root)",
        )
        .at(&workspace.path))
    }

    /// The checkpoint that undoes the rollback; none when there is nothing to roll back.
    fn take_before(
        &self,
        workspace: &Workspace,
        root: &OwnedFd,
        then: &Published,
        after: &Picture,
        request: &RollbackRequest,
        ctx: &Context,
    ) -> Result<(Picture, Option<CheckpointId>)> {
        let taken = self.take(
            workspace,
            duplicate(root)?,
            then.record.rules.clone(),
            Limits::default(),
            Some(after),
            ctx,
        )?;
        let picture = taken.walked.picture.clone();
        if picture == *after {
            return Ok((picture, None));
        }
        let paths = request.paths.as_ref();
        let purpose = Purpose {
            plan_id: &then.parsed.plan_id,
            phase: Phase::PreRollback,
            metadata: BTreeMap::new(),
            label: None,
            rollback_of: Some(RollbackOf {
                target: then.record.id.clone(),
                git_exact: request.git == GitMode::Exact,
                paths: paths.map(|p| p.iter().map(|p| LossyPath::new(p.as_bytes())).collect()),
            }),
        };
        let published = self.publish(workspace, taken, purpose, ctx)?;
        Ok((picture, Some(published.parsed.id)))
    }

    /// What the checkpoint does not cover is said again (C6): it was left as it is.
    fn repeat_coverage(
        &self,
        then: &Published,
        request: &RollbackRequest,
        report: &mut RollbackReport,
    ) -> Result<()> {
        let in_scope = |path: &RelPath| {
            request.paths.as_ref().is_none_or(|paths| paths.iter().any(|scope| path.starts_with(scope)))
        };
        let listed: HashSet<RelPath> =
            report.kept.iter().chain(&report.not_restorable).map(|u| u.path.clone()).collect();
        let uncovered = self.all_uncovered(then)?;
        // A file that changed while it was read was restored as far as it was stable.
        let left =
            uncovered.into_iter().filter(|u| !u.reason.leaves_complete() && u.reason != Reason::Changing);
        report.kept.extend(left.filter(|u| in_scope(&u.path) && !listed.contains(&u.path)));
        report.kept.sort();
        Ok(())
    }

    fn dry_run(&self, then: &Published, plan: &Plan, root_missing: bool) -> RollbackReport {
        RollbackReport {
            restored: false,
            checkpoint_id: then.parsed.id,
            undo_checkpoint_id: None,
            written: 0,
            deleted: 0,
            root_recreated: root_missing,
            head_moved: plan.head_moved(),
            conflicts: Vec::new(),
            kept: plan.kept().to_vec(),
            not_restorable: plan.not_restorable().to_vec(),
            actions: plan.changes(),
            duration: std::time::Duration::ZERO,
        }
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "the last step of a rollback needs the results of all others"
    )]
    fn apply(
        &self,
        workspace: &Workspace,
        root: Option<OwnedFd>,
        then: &Published,
        plan: &Plan,
        undo: Option<CheckpointId>,
        objects: &dyn Objects,
        ctx: &Context,
    ) -> Result<RollbackReport> {
        let root = root.map(|fd| Root::from_fd(fd, &workspace.path)).transpose()?;
        let target = match &root {
            Some(root) => Target::Existing(root),
            None => Target::Missing(&workspace.path),
        };
        let applied = self.apply_to(workspace, target, plan, objects, ctx).map_err(|e| match undo {
            Some(id) => e.with_detail("undoCheckpointId", id.to_string()),
            None => e,
        })?;
        if applied.root_recreated {
            let now = identity(&workspace.open()?)?;
            if workspace.path == then.parsed.workspace {
                workspace.adopt(self.layout(), then.record.identity, now)?;
            }
        }
        Ok(RollbackReport {
            restored: applied.not_restorable.is_empty(),
            checkpoint_id: then.parsed.id,
            undo_checkpoint_id: undo,
            written: applied.written,
            deleted: applied.deleted,
            root_recreated: applied.root_recreated,
            head_moved: plan.head_moved(),
            conflicts: Vec::new(),
            kept: applied.kept,
            not_restorable: applied.not_restorable,
            actions: plan.changes(),
            duration: std::time::Duration::ZERO,
        })
    }

    /// Applies a plan, staging in the store where a rename from there works.
    pub(super) fn apply_to(
        &self,
        workspace: &Workspace,
        target: Target<'_>,
        plan: &Plan,
        objects: &dyn Objects,
        ctx: &Context,
    ) -> Result<Applied> {
        let leftovers = stage_names::remembered(self.layout(), workspace)?;
        let stage_name = stage_names::remember(self.layout(), workspace, self.next_id()?, self.durability)?;
        let name = format!("{}{}", crate::store::STAGE, crate::store::random_name()?);
        let stage = self.layout().tmp().join(&name);
        // What does not fit under the cap is staged in the workspace itself.
        let room = self.budget.room(name);
        let has_room = room.need(plan.staged_bytes()).is_ok();
        make_private(&stage)?;
        let options = ApplyOptions {
            pool: self.pool()?,
            stage_in: has_room.then_some(stage.as_path()),
            stage_name: &stage_name,
            leftovers: &leftovers,
            sync: self.durability == Durability::Power,
            root_made: None,
        };
        let applied = apply(target, plan, objects, &options, ctx).map_err(Error::from);
        if let Err(error) = remove_tree(&stage) {
            tracing::warn!(%error, "a staging directory stays until the next open");
        }
        if let Err(error) = stage_names::forget_gone(self.layout(), workspace, &workspace.path) {
            tracing::warn!(%error, "a staging directory stays remembered");
        }
        applied
    }
}

fn duplicate(fd: &OwnedFd) -> Result<OwnedFd> {
    fd.try_clone().map_err(|e| Error::io("duplicating the root's descriptor", e))
}
