//! Finishing what was interrupted: the next writing call on a workspace takes its journal up again, under the workspace's lock (C8).
//! Only paths that are as before, as after, or as our own steps leave them in between are touched; others are left and listed.

use std::collections::BTreeSet;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use super::carry_out::{Hears, root_then};
use super::contents::StoredContents;
use super::ends::Ends;
use super::failed::unfinished;
use super::manager::{Inner, Manager};
use super::workspace::{Workspace, identity, identity_of};
use super::{journal_file, stage_names};
use turnback_core::CheckpointId;

use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::reached::Step;
use crate::recovery::{Begun, Pending, RecoveryOutcome, RecoveryReport};
use crate::restore::journal::{Head, Resumed, RootThen, resume};
use crate::restore::{Applied, Plan, needs_area, precheck, sweep};
use crate::store::{Durability, Identity};

/// A finished interruption, with what it was.
pub(super) struct Recovered {
    pub(super) report: RecoveryReport,
    /// Its journal's head; `None` when the journal was damaged.
    pub(super) head: Option<Head>,
}

impl Manager {
    /// Finishes an interrupted restore of a directory; `None` when there is none. Every call that writes to the workspace does the same
    /// first.
    ///
    /// # Errors
    /// With the detail `pending` when it cannot be finished now (`DISK_FULL`, `PERMISSION_DENIED`, `CONFLICT`, `ABORTED`,
    /// `TIMED_OUT`, `IO`): the journal stays. Otherwise `BUSY`, `STORE_FORMAT`, `IO`.
    pub fn recover(&self, directory: &Path, ctx: &Context) -> Result<Option<RecoveryReport>> {
        let inner = self.open_inner()?;
        inner.store.require_writable()?;
        let workspace = Workspace::resolve_missing(directory)?;
        let _workspace = inner.lock_workspace(&workspace, ctx)?;
        let recovered = inner.recover_first(&workspace, &BTreeSet::new(), ctx)?;
        Ok(recovered.map(|recovered| recovered.report))
    }

    /// Whether a restore of a directory was interrupted and waits: one look at the store.
    ///
    /// # Errors
    /// When the path cannot be made absolute, or the store cannot be read.
    pub fn is_pending(&self, directory: &Path) -> Result<bool> {
        let inner = self.open_inner()?;
        let workspace = Workspace::resolve_missing(directory)?;
        let journal = journal_file::path(inner.layout(), workspace.id.as_str());
        journal.try_exists().map_err(|e| Error::io("looking for a journal", e).at(&journal))
    }

    /// Gives an interrupted restore up: what was staged goes, the tree stays as it is, the report's `actions` say what was still to be
    /// done. `None` when there is none.
    ///
    /// # Errors
    /// With the detail `pending` when it cannot be given up now (`PERMISSION_DENIED`, `ABORTED`, `TIMED_OUT`, `IO`): the journal
    /// stays. Otherwise `BUSY`, `STORE_FORMAT`, `IO`.
    pub fn abandon(&self, directory: &Path, ctx: &Context) -> Result<Option<RecoveryReport>> {
        let inner = self.open_inner()?;
        inner.store.require_writable()?;
        let workspace = Workspace::resolve_missing(directory)?;
        let _workspace = inner.lock_workspace(&workspace, ctx)?;
        let _store = inner.share_store(ctx)?;
        inner.abandon(&workspace, ctx).map_err(|error| inner.waits_on(&workspace, error))
    }

    /// Lets go of an interrupted restore of a directory of ours that goes, or is gone: there is nothing left to be finished.
    ///
    /// # Errors
    /// `BUSY`, `IO`.
    pub(crate) fn let_go_of_restore(&self, canonical: &Path, ctx: &Context) -> Result<()> {
        let inner = self.open_inner()?;
        let workspace = Workspace::at(canonical.to_owned())?;
        let _workspace = inner.lock_workspace(&workspace, ctx)?;
        journal_file::remove(inner.layout(), workspace.id.as_str(), inner.durability)
    }

    /// Interrupted restores that nobody has taken up again yet, by workspace. Changes nothing.
    ///
    /// # Errors
    /// `IO` when the store cannot be read. Damaged journals are part of the list.
    pub fn pending(&self) -> Result<Vec<Pending>> {
        let inner = self.open_inner()?;
        let mut pending = Vec::new();
        for (workspace, head) in journal_file::all(inner.layout())? {
            // Directories that are not ours have no journals.
            let Ok(sandbox_id) = workspace.parse() else { continue };
            let ends = |error: &Error| Ends::told(&inner.catalog, &workspace, error);
            pending.push(match head {
                Ok(head) => Pending {
                    sandbox_id,
                    workspace: Some(directory_of(&head)),
                    begun: Some(begun(&head)),
                    damaged: None,
                },
                Err(error) => {
                    let all = inner.catalog.all()?.0;
                    let of = all.iter().rev().find(|one| one.parsed.sandbox_id == sandbox_id);
                    let workspace = of.map(|one| one.parsed.workspace.clone());
                    Pending { sandbox_id, workspace, begun: None, damaged: Some(ends(&error)?) }
                }
            });
        }
        Ok(pending)
    }
}

/// What a workspace's root turned out to be.
enum Place {
    /// The root of then.
    Root(OwnedFd),
    /// It was missing then and is to be made.
    ToBeMade,
    /// Something else; nothing may be touched.
    Other(RecoveryOutcome),
}

impl Inner {
    /// Takes up what was interrupted, before anything else is written to a workspace. When there is no room for it, room is made, but not
    /// by what is `protected`. The lock of the workspace must be held, that of the store must not.
    ///
    /// # Errors
    /// As [`Manager::recover`].
    pub(super) fn recover_first(
        &self,
        workspace: &Workspace,
        protected: &BTreeSet<CheckpointId>,
        ctx: &Context,
    ) -> Result<Option<Recovered>> {
        let recovered = self.with_room(protected, ctx, || {
            let _store = self.share_store(ctx)?;
            self.recover_pending(workspace, ctx)
        });
        recovered.map_err(|error| self.waits_on(workspace, error))
    }

    /// Takes up what was interrupted. The locks of the workspace and of the store must be held.
    fn recover_pending(&self, workspace: &Workspace, ctx: &Context) -> Result<Option<Recovered>> {
        ctx.reached.begins(None);
        let Some((head, plan)) = (match journal_file::read(self.layout(), workspace.id.as_str()) {
            Err(error) if error.code() == Code::Corrupt => {
                let recovered = self.put_aside(workspace, &error, ctx)?;
                ctx.reached.begins(Some(recovered.report.outcome.as_str()));
                return Ok(Some(recovered));
            }
            other => other?,
        }) else {
            return Ok(None);
        };
        ctx.reached.undone_by(head.undo);
        ctx.reached.is_at(Step::Begun { journaled: true });
        tracing::info!(
            workspace = %workspace.path.display(),
            kind = head.kind.as_str(),
            "an interrupted restore is finished first"
        );
        let unfinished = |error| unfinished(workspace, &head, error);
        let outcome = self.finish(workspace, &head, plan, ctx).map_err(unfinished)?;
        if outcome.0 == RecoveryOutcome::Finished {
            self.mark_done(head.kind, &head.targets).map_err(unfinished)?;
        } else {
            ctx.check().and_then(|()| ctx.reached.go_on(Step::Ending)).map_err(unfinished)?;
        }
        self.close_journal(workspace);
        let report = self.report(workspace, &head, outcome);
        ctx.reached.begins(Some(report.outcome.as_str()));
        if !report.not_restorable.is_empty() || report.outcome != RecoveryOutcome::Finished {
            tracing::warn!(
                outcome = ?report.outcome,
                left = report.not_restorable.len(),
                "the interrupted restore ended with something left"
            );
        }
        Ok(Some(Recovered { report, head: Some(head) }))
    }

    /// Carries the rest of a plan out.
    fn finish(
        &self,
        workspace: &Workspace,
        head: &Head,
        plan: Plan,
        ctx: &Context,
    ) -> Result<(RecoveryOutcome, Applied, Vec<crate::change::Change>)> {
        let root = match self.place(workspace, head)? {
            Place::Other(outcome) => {
                ctx.check()?;
                self.sweep(workspace)?;
                return Ok((outcome, Applied::default(), Vec::new()));
            }
            Place::ToBeMade => None,
            Place::Root(root) => Some(root),
        };
        let plan = match &root {
            None => plan,
            Some(root) => self.rest(workspace, root, plan, ctx)?,
        };
        if let Some(root) = &root {
            precheck(&workspace.root(root)?, &plan, self.pool()?, ctx)?;
        }
        // What an earlier attempt staged is made anew; it may hold the room that is needed.
        self.sweep(workspace)?;
        let actions = plan.changes();
        let journal = match root {
            None => Some(self.prepare_journal(&plan, false, &[])?),
            Some(_) => None,
        };
        let root_made = |fd: BorrowedFd<'_>| {
            let Some(journal) = &journal else { return Ok(()) };
            let head = Head { root: root_then(identity_of(fd)?), ..head.clone() };
            self.write_journal(workspace, &head, journal).map(drop)
        };
        // The journal's name was forgotten with what it named, and what is left of this attempt has to be known as ours.
        let id = self.next_id()?;
        let stage = match stage_names::remember(self.layout(), workspace, id, self.durability) {
            Err(error) if error.code() == Code::DiskFull && !needs_area(&plan) => stage_names::name(id),
            other => other?,
        };
        let done = |_: &Applied| {
            self.adopt_root(workspace, head)?;
            if self.durability == Durability::Power {
                // What was done before the interruption need not have reached the disk.
                let fd = workspace.open()?;
                rustix::fs::syncfs(fd).map_err(|e| Error::io("writing the restored tree to disk", e))?;
            }
            ctx.reached.ends(RecoveryOutcome::Finished.as_str())
        };
        let hears = Hears { root_made: &root_made, done: &done };
        let applied = self.apply_to(workspace, root.as_ref(), &plan, &stage, &hears, &self.packs, ctx)?;
        Ok((RecoveryOutcome::Finished, applied, actions))
    }

    fn rest(&self, workspace: &Workspace, root: &OwnedFd, plan: Plan, ctx: &Context) -> Result<Plan> {
        let contents = StoredContents { objects: &self.packs, ctx };
        let Resumed { plan, foreign } = resume(&workspace.root(root)?, plan, &contents, self.pool()?, ctx)?;
        for path in foreign.iter().take(100) {
            tracing::warn!(%path, "changed since the interruption; left as it is");
        }
        Ok(plan)
    }

    fn place(&self, workspace: &Workspace, head: &Head) -> Result<Place> {
        let root = match workspace.open_if_there() {
            Ok(Some(root)) => root,
            Ok(None) if head.root == RootThen::Missing => return Ok(Place::ToBeMade),
            Ok(None) => return Ok(Place::Other(RecoveryOutcome::RootMissing)),
            Err(error) if error.code() == Code::NotADirectory => {
                return Ok(Place::Other(RecoveryOutcome::RootReplaced));
            }
            Err(error) => return Err(error),
        };
        let is_ours = match head.root {
            then @ RootThen::There { .. } => root_then(identity(&root)?) == then,
            // Made by us just before the end, or by somebody: an empty directory serves as well as none.
            RootThen::Missing => is_empty(&workspace.path)?,
        };
        Ok(if is_ours { Place::Root(root) } else { Place::Other(RecoveryOutcome::RootReplaced) })
    }

    /// A root that was made in place of a missing one counts as the same workspace (C5).
    fn adopt_root(&self, workspace: &Workspace, head: &Head) -> Result<()> {
        let Some((ino, born)) = head.in_place_of else { return Ok(()) };
        let old = Identity { ino, born: born.map(|time| (time.sec, time.nsec)) };
        workspace.adopt(self.layout(), old, identity(&workspace.open()?)?)
    }

    /// Removes what interrupted restores staged in the root.
    fn sweep(&self, workspace: &Workspace) -> Result<()> {
        if let Some(root) = workspace.open_if_there()? {
            let leftovers = stage_names::remembered(self.layout(), workspace)?;
            let root = workspace.root(&root)?;
            let before = root.top().stat();
            sweep(&root, &leftovers).map_err(|errno| {
                Error::io("removing the staging directory of an interrupted restore", errno)
                    .at(&workspace.path)
            })?;
            if let (false, Ok(before)) = (leftovers.is_empty(), before)
                && let Err(errno) = root.top().put_back(&before)
            {
                tracing::warn!(%errno, "the root's mtime could not be put back");
            }
        }
        stage_names::forget_gone(self.layout(), workspace, &workspace.path)
    }

    fn abandon(&self, workspace: &Workspace, ctx: &Context) -> Result<Option<RecoveryReport>> {
        let Some((head, plan)) = (match journal_file::read(self.layout(), workspace.id.as_str()) {
            Err(error) if error.code() == Code::Corrupt => {
                let recovered = self.put_aside(workspace, &error, ctx)?;
                ctx.reached.begins(Some(recovered.report.outcome.as_str()));
                return Ok(Some(recovered.report));
            }
            other => other?,
        }) else {
            return Ok(None);
        };
        ctx.reached.undone_by(head.undo);
        ctx.reached.is_at(Step::Begun { journaled: true });
        let give_up = || {
            let actions = match self.place(workspace, &head)? {
                Place::Other(_) => Vec::new(),
                Place::ToBeMade => plan.changes(),
                Place::Root(root) => self.rest(workspace, &root, plan, ctx)?.changes(),
            };
            ctx.check()?;
            self.sweep(workspace)?;
            ctx.check()?;
            ctx.reached.go_on(Step::Ending)?;
            journal_file::remove(self.layout(), workspace.id.as_str(), self.durability)?;
            Ok(actions)
        };
        let actions = give_up().map_err(|error| unfinished(workspace, &head, error))?;
        let outcome = (RecoveryOutcome::Abandoned, Applied::default(), actions);
        let report = self.report(workspace, &head, outcome);
        ctx.reached.begins(Some(report.outcome.as_str()));
        Ok(Some(report))
    }

    /// The error of a call that was to end what was interrupted: it waits on, also where nobody can read what it is.
    fn waits_on(&self, workspace: &Workspace, error: Error) -> Error {
        let is_there = || journal_file::path(self.layout(), workspace.id.as_str()).try_exists();
        match error.code() {
            Code::Aborted | Code::TimedOut if !error.is_pending() && is_there().unwrap_or(true) => error
                .advised("what was interrupted waits on")
                .with_detail("pending", "true".to_owned())
                .with_detail("begun", "true".to_owned()),
            _ => error,
        }
    }

    /// A journal that cannot be read is kept under another name; the workspace can be used again.
    fn put_aside(&self, workspace: &Workspace, error: &Error, ctx: &Context) -> Result<Recovered> {
        ctx.check()?;
        ctx.reached.go_on(Step::Ending)?;
        let journal = journal_file::set_aside(self.layout(), workspace.id.as_str(), self.durability)?;
        tracing::warn!(
            %error,
            workspace = %workspace.path.display(),
            "the journal of an interrupted restore is damaged; the tree stays as it is"
        );
        self.sweep(workspace)?;
        let reason = Ends::told(&self.catalog, workspace.id.as_str(), error)?;
        let report = RecoveryReport {
            sandbox_id: workspace.id.clone(),
            workspace: workspace.path.clone(),
            outcome: RecoveryOutcome::Damaged { journal, reason },
            begun: None,
            written: 0,
            deleted: 0,
            kept: Vec::new(),
            not_restorable: Vec::new(),
            actions: Vec::new(),
        };
        Ok(Recovered { report, head: None })
    }

    fn report(
        &self,
        workspace: &Workspace,
        head: &Head,
        (outcome, applied, actions): (RecoveryOutcome, Applied, Vec<crate::change::Change>),
    ) -> RecoveryReport {
        RecoveryReport {
            sandbox_id: workspace.id.clone(),
            workspace: workspace.path.clone(),
            outcome,
            begun: Some(begun(head)),
            written: applied.written,
            deleted: applied.deleted,
            kept: applied.kept,
            not_restorable: applied.not_restorable,
            actions,
        }
    }
}

fn begun(head: &Head) -> Begun {
    Begun {
        kind: head.kind,
        targets: head.targets.clone(),
        undo_checkpoint_id: head.undo,
        started_at: head.started_at,
        paths: head.paths.clone(),
    }
}

fn directory_of(head: &Head) -> PathBuf {
    PathBuf::from(std::ffi::OsString::from_vec(head.workspace.clone()))
}

fn is_empty(path: &Path) -> Result<bool> {
    let mut entries = std::fs::read_dir(path).map_err(|e| Error::io("listing the workspace", e).at(path))?;
    Ok(entries.next().is_none())
}
