//! Committing a sandbox, and taking that back (S7, S8).

use std::time::Instant;

use turnback_core::{CheckpointId, Phase, SandboxStatus};

use super::aim::{Aim, CommitAim, UndoAim};
use super::changed::{Changed, Sorter, between, leads};
use super::finish::{forget_old, recover, settled};
use super::moving::{Moved, Scene, move_head};
use super::next_baseline::Next;
use super::pending::{self, Pending, Undo, Work};
use super::refs::Reflog;
use super::{GitWorktreeSandbox, worktree_index};
use crate::checkpoint::baseline::BASELINE_LABEL;
use crate::checkpoint::standing::refuse_link;
use crate::checkpoint::{CreateRequest, DiffTo, RootPath};
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::report::RollbackReport;
use crate::restore::Root;
use crate::sandbox::commit::{CommitOptions, CommitReport, MergeMode, OnCommitConflict};
use crate::sandbox::handle::Locked;
use crate::sandbox::removal::plan_of;

/// Finishes what was cut short before anything else is done.
pub(super) fn take_up(at: &mut Locked<'_>, ctx: &Context) -> Result<()> {
    let handle = at.handle();
    if let Some(newer) = recover(handle.manager(), handle.place(), at.record()?, ctx)? {
        at.renew(newer);
    }
    Ok(())
}

impl GitWorktreeSandbox {
    /// Commits; or only looks what a commit would meet.
    pub(super) fn commit_now(
        &self,
        options: &CommitOptions,
        only_looks: bool,
        ctx: &Context,
    ) -> Result<CommitReport> {
        if options.allow_git {
            return Err(Error::new(
                Code::InvalidArgument,
                "what lies in a `.git` cannot be committed to a git repository",
                "leave `allowGit` out, or use the strategy `copy_on_write`",
            ));
        }
        let seen = self.handle.place().read()?.map(|record| record.baseline);
        let mut at = self.handle.locked(ctx)?;
        if seen != Some(at.record()?.baseline) {
            return Err(Error::new(
                Code::Busy,
                "another commit of this sandbox was made at the same time",
                "look at what changed since, and commit again if there is anything",
            ));
        }
        take_up(&mut at, ctx)?;
        self.tell_settings(at.record()?);
        refuse_link(self.handle.path())?;
        at.use_()?;
        at.check(SandboxStatus::Committed)?;
        let scene = Scene::of(&at, ctx)?;
        let old = at.baseline()?;
        scene.manager.check_sandbox_root(old)?;
        // What is committed is what this checkpoint has, whatever the agent does meanwhile.
        let mut request = CreateRequest::new(plan_of(self.handle.plan_id())?, Phase::Manual);
        request.label = Some(BASELINE_LABEL.to_owned());
        request.root = RootPath::Recorded;
        let now = scene.manager.create_before(self.handle.path(), request, ctx)?.checkpoint_id;
        scene.manager.set_pinned(now, true)?;
        let mut next = Next::as_walked(now);
        let done = self.commit_checkpoint(&mut at, &scene, options, only_looks, old, &mut next);
        let is_used =
            at.record().is_ok_and(|record| record.baseline == Some(next.baseline) || is_pending(record));
        for id in next.ids().filter(|_| !is_used) {
            if let Err(error) = scene.manager.delete(id) {
                tracing::warn!(%error, "the checkpoint of a commit that was not made stays until the sandbox goes");
            }
        }
        done
    }

    fn commit_checkpoint(
        &self,
        at: &mut Locked<'_>,
        scene: &Scene<'_>,
        options: &CommitOptions,
        only_looks: bool,
        old: CheckpointId,
        next: &mut Next,
    ) -> Result<CommitReport> {
        let now = next.baseline;
        let uncovered = scene.manager.newly_uncovered(old, now)?;
        let mut all = scene.manager.diff(old, DiffTo::Checkpoint(now), scene.ctx)?;
        // What lies in something that cannot be read is not gone.
        all.retain(|change| !uncovered.iter().any(|one| change.path.starts_with(&one.path)));
        let sandbox = Root::open(self.handle.path())?;
        let base = scene.repository.tree_of(scene.registered.base)?;
        let resource = Root::open(self.handle.resource())?;
        let leads = leads(&all, &base, &scene.repository.config, [&resource, &sandbox])?;
        let sorter = Sorter {
            manager: scene.manager,
            repository: &scene.repository,
            registered: &scene.registered,
            sandbox: &sandbox,
            leads: &leads,
            now,
            old,
            base: &base,
            options,
        };
        let changed = sorter.run(all, uncovered)?;
        if !only_looks {
            *next = Next::publish(scene, (old, now), &changed.held, &plan_of(self.handle.plan_id())?)?;
        }
        let message = options.message.clone().unwrap_or_else(|| default_message(&changed));
        let mut aim = CommitAim {
            changed: &changed,
            sorter: &sorter,
            message: &message,
            author: &scene.author,
            texts: options.text_merge.unwrap_or(true),
            next: *next,
            old,
            own: None,
            only_looks: false,
            earlier: Undo::of(at.record()?)?,
        };
        let mut report = CommitReport {
            committed: true,
            branch: Some(self.info.branch.clone()),
            held_back: changed.held.clone(),
            ..CommitReport::default()
        };
        if only_looks {
            report.committed = false;
            report.branch = None;
            if options.merge == MergeMode::Merge {
                aim.only_looks = true;
                if let Moved::Conflicts(conflicts) =
                    move_head(at, scene, Aim::Commit(aim), options.on_conflict)?
                {
                    report.conflicts = conflicts;
                }
            }
            return Ok(report);
        }
        if options.merge == MergeMode::Branch {
            report.commit = commit_to_branch(at, scene, &mut aim)?;
        } else {
            match move_head(at, scene, Aim::Commit(aim), options.on_conflict)? {
                Moved::Conflicts(conflicts) => {
                    return Ok(CommitReport { committed: false, conflicts, ..report });
                }
                Moved::Nothing => {
                    let then =
                        CommitAim { own: None, ..new_aim((&changed, &sorter), &message, scene, *next, old) };
                    let work = Work::new(
                        None,
                        None,
                        None,
                        String::new(),
                        then.then(&scene.registered, None, None, None, true),
                    );
                    finish_record(at, &work)?;
                }
                Moved::Done(done) => {
                    let (work, _, conflicts) = *done;
                    report.conflicts = conflicts;
                    report.pre_apply_checkpoint_id = work.checkpoints()?.map(|(before, _)| before);
                    report.commit = work.to()?.map(|oid| oid.to_string());
                    if changed.is_empty() {
                        // What an earlier commit left on the sandbox's branch came along.
                        let trees =
                            (scene.repository.tree_of(work.from()?)?, scene.repository.tree_of(work.to()?)?);
                        report.changes = between(&trees.0, &trees.1);
                    }
                }
            }
        }
        report.changes = if options.on_conflict == OnCommitConflict::Theirs && !report.conflicts.is_empty() {
            let reached = scene.repository.tree_of(pending::oid(report.commit.as_ref())?)?;
            changed.brought(&reached, &report.conflicts)
        } else {
            [std::mem::take(&mut report.changes), changed.changes.clone()].concat()
        };
        worktree_index::refresh(&scene.repository, &scene.registered, &sandbox, &changed);
        Ok(report)
    }

    pub(super) fn undo_now(&self, ctx: &Context) -> Result<RollbackReport> {
        let started = Instant::now();
        let mut at = self.handle.locked(ctx)?;
        at.record()?;
        take_up(&mut at, ctx)?;
        let undo = match Undo::of(at.record()?)? {
            Some(undo) if matches!(at.status(), SandboxStatus::Committed | SandboxStatus::RolledBack) => undo,
            _ => {
                return Err(Error::new(
                    Code::NotUndoable,
                    format!("the sandbox has no commit to take back; it is {}", at.status().as_str()),
                    "only the last commit can be taken back, and only until the sandbox is used again",
                ));
            }
        };
        if at.status() == SandboxStatus::RolledBack {
            // Putting the sandbox back said nothing of its commit. Taking that one back is a use of the sandbox.
            at.use_()?;
        }
        at.check(SandboxStatus::RolledBack)?;
        let scene = Scene::of(&at, ctx)?;
        let untouched = RollbackReport::untouched(at.baseline()?);
        let mut report = RollbackReport { journaled: true, ..untouched };
        if let Some((before, after)) = pending::ids(undo.checkpoints.as_ref())? {
            report.checkpoint_id = before;
            report.actions = scene.manager.diff(before, DiffTo::Checkpoint(after), ctx)?;
        }
        let before = scene.repository.tree_of(pending::oid(undo.from.as_ref())?)?;
        let message = format!("Take back {}", undo.to.as_deref().unwrap_or("a commit"));
        if undo.is_branch_only {
            undo_branch(&mut at, &scene, undo)?;
        } else {
            let aim = Aim::Undo(UndoAim { undo, message, before });
            match move_head(&mut at, &scene, aim, OnCommitConflict::Fail)? {
                Moved::Conflicts(conflicts) => {
                    report.restored = false;
                    report.conflicts = conflicts;
                    report.actions.clear();
                }
                Moved::Nothing => {}
                Moved::Done(done) => {
                    let (work, edited, _) = *done;
                    report.undo_checkpoint_id = work.checkpoints()?.map(|(before, _)| before);
                    report.written = edited.applied.written;
                    report.deleted = edited.applied.deleted;
                    report.not_restorable = edited.applied.not_restorable;
                }
            }
        }
        report.duration = started.elapsed();
        Ok(report)
    }
}

fn new_aim<'a>(
    (changed, sorter): (&'a Changed, &'a Sorter<'a>),
    message: &'a str,
    scene: &'a Scene<'_>,
    next: Next,
    old: CheckpointId,
) -> CommitAim<'a> {
    let (texts, only_looks) = (false, false);
    CommitAim {
        changed,
        sorter,
        message,
        author: &scene.author,
        texts,
        next,
        old,
        own: None,
        only_looks,
        earlier: None,
    }
}

fn is_pending(record: &crate::sandbox::record::Record) -> bool {
    !matches!(Pending::of(record), Ok(None))
}

fn default_message(changed: &Changed) -> String {
    let count = changed.items.len();
    let paths = if count == 1 { "path" } else { "paths" };
    format!("{count} {paths} changed in a sandbox")
}

/// Writes a record whose work needs no further step.
fn finish_record(at: &mut Locked<'_>, work: &Work) -> Result<()> {
    let done = settled(at.record()?, work)?;
    at.handle().place().write(&done)?;
    forget_old(at.handle().manager(), at.record()?, work);
    at.renew(done);
    Ok(())
}

/// `merge: 'branch'`: nothing but the sandbox's own branch is touched.
fn commit_to_branch(
    at: &mut Locked<'_>,
    scene: &Scene<'_>,
    aim: &mut CommitAim<'_>,
) -> Result<Option<String>> {
    let head = scene.repository.tip(&scene.repository.head()?)?;
    aim.own = scene.repository.own_commit(&scene.registered, aim, head, scene.ctx)?;
    let (from, to) = (aim.own.and_then(|own| own.from), aim.own.map(|own| own.commit));
    if let Some(left) = aim.own.and_then(|own| own.left) {
        scene.registered.keep(&scene.repository, left, scene.ctx)?;
    }
    if let Some(to) = to
        && from != Some(to)
    {
        if scene.sync {
            scene.repository.objects.sync()?;
        }
        let why = Reflog {
            author: &scene.author,
            message: "commit: turnback sandbox",
            sync: scene.sync,
            owner: &scene.registered.name,
        };
        scene.repository.move_branch(&scene.registered.branch, from, Some(to), &why)?;
    }
    let branch = Some(scene.registered.branch.clone());
    let then = aim.then(&scene.registered, branch, from, to, true);
    finish_record(at, &Work::new(None, None, None, String::new(), then))?;
    Ok(to.map(|oid| oid.to_string()))
}

fn undo_branch(at: &mut Locked<'_>, scene: &Scene<'_>, undo: Undo) -> Result<()> {
    let (from, to) = (pending::oid(undo.from.as_ref())?, pending::oid(undo.to.as_ref())?);
    if from != to && to.is_some() && scene.repository.resolve(&scene.registered.branch)? == to {
        let why = Reflog {
            author: &scene.author,
            message: "reset: turnback undo-commit",
            sync: scene.sync,
            owner: &scene.registered.name,
        };
        scene.repository.move_branch(&scene.registered.branch, to, from, &why)?;
    }
    let then =
        pending::Then { is_undo: true, baseline: undo.baseline, base: undo.base, walked: None, undo: None };
    finish_record(at, &Work::new(None, None, None, String::new(), then))
}
