//! What every sandbox can do. A strategy gives the steps that touch files; the order of things is the same for all.

use std::fmt::Debug;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use turnback_core::{CheckpointId, Millis, Phase, SandboxStatus};

use super::beside::beside;
use super::commit::{CommitOptions, CommitReport};
use super::contains::contains;
use super::git_worktree::GitInfo;
use super::handle::{Handle, Locked, cleaned_up};
use super::lease::until;
use super::missing::refuse_missing;
use super::record::Record;
use super::remains::Remains;
use super::removal;
use crate::change::Change;
use crate::checkpoint::standing::{Standing, refuse_link, standing};
use crate::checkpoint::{CreateRequest, RootPath};
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::{RelPath, escape};
use crate::report::RollbackReport;

/// How many changed paths an error names.
const NAMED: usize = 10;

/// What a cleanup did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CleanupReport {
    /// The checkpoint with the work that was unsaved; export it, or roll back to it `into` another directory.
    pub saved_checkpoint_id: Option<CheckpointId>,
    /// What was left where it is.
    pub remains: Remains,
}

/// An isolated directory, or one that only seems to be (`none`).
///
/// Calls on one sandbox are serialised, also between processes; they wait ten seconds for each other and then fail with `BUSY`.
pub trait Sandbox: Debug + Send + Sync {
    /// What is the same for all strategies.
    fn handle(&self) -> &Handle;

    /// *A strategy's step:* what differs from the baseline.
    ///
    /// # Errors
    /// `NOT_UNDOABLE` without a baseline, otherwise those of [`crate::Manager::diff`].
    fn compare(&self, at: &Locked<'_>, ctx: &Context) -> Result<Vec<Change>>;

    /// *A strategy's step:* whether anything is there that is nowhere else, also what no checkpoint can keep.
    ///
    /// # Errors
    /// When it cannot be told.
    fn has_unsaved(&self, at: &Locked<'_>, ctx: &Context) -> Result<bool>;

    /// *A strategy's step:* makes the files those of the baseline.
    ///
    /// # Errors
    /// `NOT_UNDOABLE` without a baseline, otherwise those of [`crate::Manager::rollback`].
    fn put_back(&self, at: &Locked<'_>, ctx: &Context) -> Result<RollbackReport>;

    /// *A strategy's step:* finishes what an earlier call began and was cut short in.
    ///
    /// # Errors
    /// When it cannot be finished: then nothing else may be done.
    fn take_up(&self, _at: &mut Locked<'_>, _ctx: &Context) -> Result<()> {
        Ok(())
    }

    /// *A strategy's step:* makes sure that the baseline is there, where it is pictured only when it is needed.
    ///
    /// # Errors
    /// Those of a checkpoint.
    fn know_baseline(&self, _at: &mut Locked<'_>, _ctx: &Context) -> Result<()> {
        Ok(())
    }

    /// Brings the sandbox's changes into its resource (S6, S7). Conflicts are in the report; nothing is written then.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for options that the strategy does not have, or when it cannot commit; `ILLEGAL_TRANSITION`, `BUSY` also when
    /// another commit of this sandbox was made meanwhile, `NOT_FOUND` when a directory is gone, `CONFLICT` when somebody writes to the
    /// resource at the same time, `WORKSPACE_REPLACED`, `GIT_UNSUPPORTED`, `CORRUPT`, `ABORTED`, `TIMED_OUT`, `DISK_FULL`, `IO`. An
    /// error with the detail `pending` means that files were written: the next call on the sandbox finishes it.
    fn commit(&self, _options: &CommitOptions, _ctx: &Context) -> Result<CommitReport> {
        Err(no_commits(self.handle()))
    }

    /// What a commit would meet now: the conflicts, and what it would hold back. Writes nothing; the resource may change until then.
    ///
    /// # Errors
    /// Those of [`Sandbox::commit`].
    fn foresee(&self, _options: &CommitOptions, _ctx: &Context) -> Result<CommitReport> {
        Err(no_commits(self.handle()))
    }

    /// Takes the last commit back: its paths in the resource become what they were, and later edits elsewhere stay (S3). The sandbox's
    /// own files stay too, and count as uncommitted again. With conflicts nothing is written.
    ///
    /// # Errors
    /// `NOT_UNDOABLE` without such a commit, and those of [`Sandbox::commit`].
    fn undo_commit(&self, _ctx: &Context) -> Result<RollbackReport> {
        Err(no_commits(self.handle()))
    }

    /// The directories that must be writable to work in it.
    fn writable_paths(&self) -> Vec<PathBuf> {
        vec![self.handle().path().to_owned()]
    }

    /// The files of the resource's repository that make git run something, or change what it does, and that are others than when the
    /// sandbox was made: configuration, hooks, attributes. A worktree shares them with its resource (S4), and a person may have changed
    /// them. Commits, comparisons, rollbacks and cleanups warn of them. None for other strategies than `git_worktree`.
    ///
    /// # Errors
    /// `ILLEGAL_TRANSITION` when it was cleaned up, `BUSY`, `CORRUPT`, `IO`.
    fn changed_settings(&self, _ctx: &Context) -> Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }

    /// What there is to know of its repository; `None` for other strategies than `git_worktree`.
    fn git(&self) -> Option<&GitInfo> {
        None
    }

    /// The path, and a sandbox that was not in use becomes active (S2).
    ///
    /// # Errors
    /// `WORKSPACE_REPLACED` when a link or another directory stands in its root's place, `NOT_A_DIRECTORY`, `NOT_FOUND`,
    /// `ILLEGAL_TRANSITION`, `BUSY`, `CORRUPT`, `IO`.
    fn enter(&self, ctx: &Context) -> Result<PathBuf> {
        let mut at = self.handle().locked(ctx)?;
        self.take_up(&mut at, ctx)?;
        if at.status() != SandboxStatus::CleanedUp {
            require_root(self.handle().path())?;
            check_root(&at)?;
        }
        at.use_()?;
        Ok(self.handle().path().to_owned())
    }

    /// Keeps it for so long from now on whoever lives, and gives the end of that time (S9). One that is kept for longer already is kept so
    /// long. The process holds it as before.
    ///
    /// # Errors
    /// `ILLEGAL_TRANSITION` when it was cleaned up, `BUSY`, `CORRUPT`, `ABORTED`, `TIMED_OUT`, `IO`.
    fn keep_for(&self, time: Duration, ctx: &Context) -> Result<Millis> {
        let mut at = self.handle().locked(ctx)?;
        let record = at.record()?;
        if record.status == SandboxStatus::CleanedUp {
            return Err(cleaned_up(&record.id));
        }
        let until = until(time);
        match record.detached_until.filter(|later| *later >= until) {
            Some(later) => Ok(later),
            None => at.note(|record| record.detached_until = Some(until)).map(|()| until),
        }
    }

    /// Whether a path is inside, with every link followed; it need not be there (S9).
    fn contains(&self, path: &Path) -> bool {
        contains(self.handle().path(), path)
    }

    /// What differs from the baseline. Changes nothing, not even the status.
    ///
    /// # Errors
    /// `NOT_UNDOABLE` for a strategy without a baseline, `ILLEGAL_TRANSITION` when it was cleaned up, `WORKSPACE_REPLACED` when a link
    /// or another directory stands in its root's place, `BUSY`, `CORRUPT`, `ABORTED`, `TIMED_OUT`, `IO`.
    fn changes(&self, ctx: &Context) -> Result<Vec<Change>> {
        let mut at = self.handle().locked(ctx)?;
        at.record()?;
        self.take_up(&mut at, ctx)?;
        refuse_link(self.handle().path())?;
        self.know_baseline(&mut at, ctx)?;
        check_root(&at)?;
        self.compare(&at, ctx)
    }

    /// Puts the sandbox back to its baseline (S12), a worktree's HEAD, branch and index as well: what the agent committed gets refs, and
    /// taking the rollback back brings the files alone. What could not be put back is in the report; the sandbox is then still active.
    ///
    /// # Errors
    /// `NOT_UNDOABLE` for a strategy without a baseline, `ILLEGAL_TRANSITION`, and those of [`crate::Manager::rollback`].
    fn rollback(&self, ctx: &Context) -> Result<RollbackReport> {
        let mut at = self.handle().locked(ctx)?;
        at.record()?;
        self.take_up(&mut at, ctx)?;
        if let Some(holder) = &at.record()?.holder {
            // Of the two only the root is made anew.
            refuse_link(holder)?;
        }
        self.know_baseline(&mut at, ctx)?;
        if at.status() != SandboxStatus::Pending {
            at.baseline()?;
        }
        if at.status() != SandboxStatus::Errored {
            at.use_()?;
        }
        at.check(SandboxStatus::RolledBack)?;
        let report = self.put_back(&at, ctx)?;
        if report.restored {
            at.become_(SandboxStatus::RolledBack)?;
        }
        Ok(report)
    }

    /// Removes the sandbox. With work that is nowhere else it refuses, or with `force` first stores a checkpoint of it, which is
    /// pinned (S10). What lies beside the root is work as well: it is never removed, and the report names it; the same goes for a link or a
    /// file in the root's own place, which is never followed. So are the commits that only a
    /// worktree knows: they get refs. A cleanup that was cut
    /// short goes on where it was.
    ///
    /// # Errors
    /// `UNSAVED_WORK`, `NOT_FOUND` when the directory around its root is missing (its file system need not be mounted),
    /// `ILLEGAL_TRANSITION`, `BUSY`, and those of a checkpoint. When files cannot be removed the sandbox is cleaned
    /// up all the same, and stays listed until they are.
    fn cleanup(&self, force: bool, ctx: &Context) -> Result<CleanupReport> {
        let mut at = self.handle().locked(ctx)?;
        refuse_missing(at.record()?)?;
        self.take_up(&mut at, ctx)?;
        let mut report = CleanupReport::default();
        if at.status() != SandboxStatus::CleanedUp {
            at.check(SandboxStatus::CleanedUp)?;
            let beside = if force { Vec::new() } else { beside(at.record()?)? };
            let replaced = is_replaced(at.record()?)?;
            if let (Some(what), false) = (replaced, force) {
                return Err(not_the_root(what, &beside));
            }
            // What stands there instead is not looked into: it is left where it is.
            let unsaved_work = if replaced.is_some() {
                Ok(false)
            } else {
                self.know_baseline(&mut at, ctx)?;
                self.has_unsaved(&at, ctx)
            };
            match unsaved_work {
                Ok(false) if beside.is_empty() => {}
                Ok(false) => return Err(unsaved(&[], &[], &beside)),
                Ok(true) if force => report.saved_checkpoint_id = save(&at, ctx)?,
                Ok(true) => {
                    let unread = at.handle().manager().unread(at.baseline()?, ctx)?;
                    return Err(unsaved(&self.compare(&at, ctx)?, &unread, &beside));
                }
                Err(error) if ends_all(error.code()) => return Err(error),
                // Not known counts as unsaved: nothing is lost.
                Err(error) if force => {
                    tracing::warn!(%error, "what is unsaved in a sandbox cannot be told; all of it is stored");
                    report.saved_checkpoint_id = save(&at, ctx)?;
                }
                Err(error) => {
                    let named = named_beside(&beside);
                    return Err(Error::new(
                        Code::UnsavedWork,
                        format!("it cannot be told whether the sandbox holds unsaved work{named}"),
                        "with `force` (--force) a checkpoint of all of it is stored first",
                    )
                    .with_detail("paths", lines(&beside).join("\n"))
                    .because(error));
                }
            }
            at.become_(SandboxStatus::CleanedUp)?;
        }
        report.remains = removal::remove(&mut at, ctx)?;
        Ok(report)
    }
}

/// Refuses another directory in the place of the root of a sandbox that has one of its own and a baseline to tell it by.
fn check_root(at: &Locked<'_>) -> Result<()> {
    let record = at.record()?;
    match record.baseline.filter(|_| record.holder.is_some()) {
        Some(baseline) => at.handle().manager().check_sandbox_root(baseline),
        None => Ok(()),
    }
}

/// Refuses whatever is no directory.
fn require_root(path: &Path) -> Result<()> {
    refuse_link(path)?;
    let (code, found) = match standing(path)? {
        Standing::Directory | Standing::Link => return Ok(()),
        Standing::Missing => (Code::NotFound, "the sandbox's directory is gone"),
        Standing::Other => {
            (Code::NotADirectory, "something else stands in the place of the sandbox's directory")
        }
    };
    Err(Error::new(code, found, "roll the sandbox back, or put the directory back").at(path))
}

fn no_commits(handle: &Handle) -> Error {
    Error::new(
        Code::InvalidArgument,
        format!("this version does not commit sandboxes of strategy `{}`", handle.strategy()),
        "copy what you need from the sandbox's directory",
    )
}

const fn ends_all(code: Code) -> bool {
    matches!(code, Code::Aborted | Code::TimedOut | Code::Busy)
}

fn lines(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().take(NAMED).map(|path| escape(path.as_os_str().as_bytes())).collect()
}

/// What lies beside the root, as it goes on a sentence.
pub(super) fn named_beside(paths: &[PathBuf]) -> String {
    match paths.len() {
        0 => String::new(),
        n if n > NAMED => {
            format!("; beside its root lie `{}` and {} more", lines(paths).join("`, `"), n - NAMED)
        }
        _ => format!("; beside its root lies `{}`", lines(paths).join("`, `")),
    }
}

fn unsaved(changes: &[Change], unread: &[RelPath], beside: &[PathBuf]) -> Error {
    let mut named: Vec<_> = changes.iter().take(NAMED).map(|change| change.path.to_string()).collect();
    named.extend(unread.iter().take(NAMED).map(ToString::to_string));
    named.extend(lines(beside));
    let mut found: Vec<String> = Vec::new();
    match changes.len() {
        0 if !unread.is_empty() => {}
        0 => found.push("nothing in it changed since its baseline".to_owned()),
        1 => found.push("1 path changed since its baseline".to_owned()),
        n => found.push(format!("{n} paths changed since its baseline")),
    }
    match unread.len() {
        0 => {}
        1 => found.push("1 path cannot be read that was not so in its baseline".to_owned()),
        n => found.push(format!("{n} paths cannot be read that were not so in its baseline")),
    }
    let found = found.join(", and ");
    Error::new(
        Code::UnsavedWork,
        format!("the sandbox holds unsaved work: {found}{}", named_beside(beside)),
        if beside.is_empty() {
            "commit it (what a commit held back, or what lost a conflict, needs other options), roll it back, or with `force` (--force) \
             store a checkpoint of it first"
        } else {
            "move away what lies beside it; with `force` (--force) that stays where it is, and a checkpoint of the rest is stored first"
        },
    )
    .with_detail("changes", changes.len().to_string())
    .with_detail("paths", named.join("\n"))
}

/// Stores a pinned checkpoint; none when the root itself is gone and there is nothing to store.
fn save(at: &Locked<'_>, ctx: &Context) -> Result<Option<CheckpointId>> {
    let handle = at.handle();
    let mut request = CreateRequest::new(removal::plan_of(handle.plan_id())?, Phase::Manual);
    request.label = Some(format!("unsaved work of sandbox {}", handle.id()));
    request.root = RootPath::Recorded;
    let manager = handle.manager();
    match manager.create(handle.path(), request, ctx) {
        Ok(saved) => {
            manager.set_pinned(saved.checkpoint_id, true)?;
            Ok(Some(saved.checkpoint_id))
        }
        // What came in its place meanwhile stays where it is, and the report names it.
        Err(error)
            if matches!(error.code(), Code::NotFound | Code::NotADirectory | Code::WorkspaceReplaced)
                && standing(handle.path())? != Standing::Directory =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// What stands in the place of a sandbox's own root; `None` for a directory and for nothing.
fn is_replaced(record: &Record) -> Result<Option<&'static str>> {
    if record.holder.is_none() {
        // Nothing of it is removed.
        return Ok(None);
    }
    Ok(match standing(&record.path)? {
        Standing::Directory | Standing::Missing => None,
        Standing::Link => Some("a symbolic link"),
        Standing::Other => Some("a file"),
    })
}

fn not_the_root(what: &str, beside: &[PathBuf]) -> Error {
    Error::new(
        Code::UnsavedWork,
        format!("{what} stands where the sandbox's root was; there lies `{}`", lines(beside).join("`, `")),
        "move it away and roll the sandbox back; with `force` (--force) it is left where it is, nothing of it is stored, and the sandbox goes",
    )
    .with_detail("paths", lines(beside).join("\n"))
}
