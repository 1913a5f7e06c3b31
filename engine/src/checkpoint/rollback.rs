//! Turning a workspace back: check, walk, plan, take the checkpoint that undoes it, apply (C5, C7, C8).

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use turnback_core::{CheckpointId, Phase};

use super::carry_out::{Carried, Job};
use super::create::{Purpose, Taken};
use super::failed::{or_without_safety, told};
use super::manager::{Inner, Manager};
use super::recover::Recovered;
use super::workspace::{Broad, Workspace, identity};
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::{Reason, RelPath};
use crate::recovery::{RecoveryOutcome, RestoreKind};
use crate::report::RollbackReport;
use crate::restore::{GitMode, Plan, PlanOptions, plan};
use crate::store::{End, LossyPath, Preview, Published, RollbackOf};
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
    /// error means that nothing was written, unless it has the detail `begun`. With `pending` the journal stays, and the same call again, or
    /// any other that writes to the workspace, finishes the work. `recovered` says that an interrupted restore was ended first. What fails for single paths is in the report; what the system would
    /// certainly refuse (an immutable file, a mount point in the way) is an error before the first write.
    pub fn rollback(
        &self,
        id: CheckpointId,
        request: RollbackRequest,
        ctx: &Context,
    ) -> Result<RollbackReport> {
        self.rollback_as(RestoreKind::Rollback, id, request, ctx)
    }

    fn rollback_as(
        &self,
        kind: RestoreKind,
        id: CheckpointId,
        request: RollbackRequest,
        ctx: &Context,
    ) -> Result<RollbackReport> {
        self.try_rollback(kind, id, request, ctx).map_err(|error| told(error, ctx))
    }

    fn try_rollback(
        &self,
        kind: RestoreKind,
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
        let broad = if elsewhere { Broad::NoTarget } else { Broad::Allowed };
        workspace.check_scope(inner.layout(), broad)?;
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
        // Room is never made by the one that is restored.
        let mut protected = BTreeSet::from([id]);
        let recovered = match request.dry_run {
            true => None,
            false => inner.recover_first(&workspace, &protected, ctx)?,
        };
        let mut report = inner.with_room(&protected, ctx, || {
            let _store = inner.share_store(ctx)?;
            inner.catalog.require(id)?;
            let mut report = inner.roll_back(kind, &workspace, &then, &request, ctx)?;
            inner.repeat_coverage(&then, &request, &mut report)?;
            Ok(report)
        })?;
        if let Some(recovered) = recovered {
            take_over(&mut report, recovered, &request);
        }
        if let Some(undo) = report.undo_checkpoint_id {
            protected.insert(undo);
            inner.retain(&protected, ctx);
        }
        report.paths = request.paths;
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
        let request = RollbackRequest { paths, git, ..RollbackRequest::default() };
        self.rollback_as(RestoreKind::Undo, undo_checkpoint, request, ctx)
    }
}

impl Inner {
    fn roll_back(
        &self,
        kind: RestoreKind,
        workspace: &Workspace,
        then: &Published,
        request: &RollbackRequest,
        ctx: &Context,
    ) -> Result<RollbackReport> {
        let no_room = |error| or_without_safety(kind, error);
        let root = workspace.open_if_there()?;
        if let Some(root) = &root {
            self.check_root(workspace, then, request, root)?;
        }
        let after = then.parsed.picture(&self.packs)?;
        let manifests = Preview::new(&self.packs);
        let mut taken = None;
        let before = match &root {
            None => None,
            Some(root) if request.dry_run || !request.safety => {
                Some(self.preview(workspace, duplicate(root)?, then, &after, &manifests, ctx)?)
            }
            Some(root) => {
                let (rules, limits) = (then.record.rules.clone(), Limits::default());
                let root = duplicate(root)?;
                let walked = self.take(workspace, root, rules, limits, Some(&after), Some(&manifests), ctx);
                let walked = walked.map_err(no_room)?;
                Some(taken.insert(walked).walked.picture.clone())
            }
        };
        let options = PlanOptions { git: request.git, paths: request.paths.clone() };
        let plan = plan(before.as_ref(), &after, &manifests, &options, ctx)?;
        if request.dry_run {
            return Ok(self.planned(then, &plan, root.is_none()));
        }
        if plan.is_empty() && root.is_some() {
            // Nothing to undo either.
            let restored = plan.not_restorable().is_empty();
            return Ok(RollbackReport { restored, ..self.planned(then, &plan, false) });
        }
        self.precheck(workspace, root.as_ref(), &plan, ctx)?;
        // Room for the journal is taken before a checkpoint is made for nothing.
        let shares = taken.iter().map(Taken::share).collect::<Result<Vec<_>>>()?;
        let counted = shares.iter().map(|share| share.needs).sum();
        let journal = self.prepare_journal(&plan, !request.safety, &shares).map_err(no_room)?;
        drop(shares);
        let undo = match taken {
            None => None,
            Some(taken) => {
                let publish = || {
                    self.publish_before(workspace, taken, then, request.git, request.paths.as_deref(), ctx)
                };
                Some(journal.beside(counted, publish).map_err(no_room)?)
            }
        };
        let job = Job {
            kind,
            workspace,
            root: root.as_ref(),
            plan: &plan,
            targets: vec![then.parsed.id],
            undo,
            git: request.git,
            paths: request.paths.clone(),
            in_place_of: (workspace.path == then.parsed.workspace).then_some(then.record.identity),
            journal,
        };
        let Carried { applied, journaled } = self.carry_out(&job, &manifests, ctx)?;
        Ok(RollbackReport {
            restored: applied.not_restorable.is_empty(),
            undo_checkpoint_id: undo,
            written: applied.written,
            deleted: applied.deleted,
            root_recreated: applied.root_recreated,
            kept: applied.kept,
            not_restorable: applied.not_restorable,
            journaled,
            ..self.planned(then, &plan, false)
        })
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

    /// Publishes the checkpoint that undoes a rollback or a revert to `then`.
    pub(super) fn publish_before(
        &self,
        workspace: &Workspace,
        taken: Taken<'_>,
        then: &Published,
        git: GitMode,
        paths: Option<&[RelPath]>,
        ctx: &Context,
    ) -> Result<CheckpointId> {
        let purpose = Purpose {
            plan_id: &then.parsed.plan_id,
            phase: Phase::PreRollback,
            metadata: BTreeMap::new(),
            label: None,
            rollback_of: Some(RollbackOf {
                target: then.record.id.clone(),
                git_exact: git == GitMode::Exact,
                paths: paths.map(|p| p.iter().map(|p| LossyPath::new(p.as_bytes())).collect()),
            }),
        };
        Ok(self.publish(workspace, taken, purpose, End::Before(ctx))?.parsed.id)
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

    /// The report of a rollback that has written nothing.
    fn planned(&self, then: &Published, plan: &Plan, root_missing: bool) -> RollbackReport {
        RollbackReport {
            restored: false,
            checkpoint_id: then.parsed.id,
            undo_checkpoint_id: None,
            written: 0,
            deleted: 0,
            restamped: plan.restamped(),
            root_recreated: root_missing,
            head_moved: plan.head_moved(),
            conflicts: Vec::new(),
            kept: plan.kept().to_vec(),
            not_restorable: plan.not_restorable().to_vec(),
            actions: plan.changes(),
            journaled: false,
            recovered: None,
            paths: None,
            duration: Duration::ZERO,
        }
    }
}

/// Adds what was finished first. When that was this very rollback and nothing was left to do, its report is the rollback's.
fn take_over(report: &mut RollbackReport, recovered: Recovered, request: &RollbackRequest) {
    let Recovered { report: first, head } = recovered;
    let is_same = head.as_ref().is_some_and(|head| {
        first.outcome == RecoveryOutcome::Finished
            && matches!(head.kind, RestoreKind::Rollback | RestoreKind::Undo)
            && head.targets == [report.checkpoint_id]
            && head.git == request.git
            && head.paths == request.paths
    });
    if is_same && report.actions.is_empty() && report.undo_checkpoint_id.is_none() {
        report.undo_checkpoint_id = head.and_then(|head| head.undo);
        report.written = first.written;
        report.deleted = first.deleted;
        report.actions.clone_from(&first.actions);
        report.kept.extend(first.kept.iter().cloned());
        report.not_restorable.extend(first.not_restorable.iter().cloned());
        for list in [&mut report.kept, &mut report.not_restorable] {
            list.sort();
            list.dedup();
        }
        report.restored = report.not_restorable.is_empty();
        report.journaled = true;
    }
    report.recovered = Some(Box::new(first));
}

/// A second descriptor of a root.
///
/// # Errors
/// The system's error.
pub(super) fn duplicate(fd: &OwnedFd) -> Result<OwnedFd> {
    fd.try_clone().map_err(|e| Error::io("duplicating the root's descriptor", e))
}
