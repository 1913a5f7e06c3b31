//! The last steps of a move, each of which may be done again: HEAD's branch, the index, the sandbox's record. And what becomes of a move
//! that was cut short.

use std::collections::BTreeMap;

use rustix::fs::Timespec;
use turnback_core::SandboxStatus;

use super::checkout::index_entry;
use super::index::PrivateIndex;
use super::kept_index::{Kept, clear, coming_back};
use super::local_changes::as_path;
use super::lock::{self, clear_index, lock_index, new_index};
use super::mover::changed;
use super::objects::Tree;
use super::pending::{self, Pending, Undo, Work, malformed};
use super::refs::Reflog;
use super::registration::{Registered, unlisted};
use super::repository::Repository;
use super::{files, identity, local};
use crate::checkpoint::Manager;
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::RelPath;
use crate::restore::{Overwrite, Root};
use crate::sandbox::handle::illegal;
use crate::sandbox::record::Record;
use crate::sandbox::registry::Place;
use crate::store::Durability;

/// One sandbox whose move is finished.
pub(super) struct Finishing<'a> {
    pub(super) manager: &'a Manager,
    pub(super) place: &'a Place,
    pub(super) repository: &'a Repository,
    pub(super) ctx: &'a Context,
}

impl Finishing<'_> {
    /// Does what is left when the files are in their place. The lock of the index must be held.
    pub(super) fn run(&self, record: &Record, pending: &Pending, work: &Work) -> Result<Record> {
        let sync = self.manager.durability()? == Durability::Power;
        if let (Some((before, after)), false) = (work.checkpoints()?, work.then.is_undo) {
            // As long as the commit can be taken back.
            self.manager.set_pinned(before, true)?;
            self.manager.set_pinned(after, true)?;
        }
        self.move_head(record, work, sync)?;
        if work.then.is_undo {
            move_own_branch_back(self.repository, record, Undo::of(record)?.as_ref(), sync)?;
        }
        let (from, to) = (self.repository.tree_of(work.from()?)?, self.repository.tree_of(work.to()?)?);
        self.write_index(record, &pending.token, &from, &to, work, sync)?;
        let done = settled(record, work)?;
        let mut locked = done.clone();
        Pending::put(&mut locked, Some(&Pending { token: pending.token.clone(), work: None }))?;
        self.place.write(&locked)?;
        // The record names the lock until it is gone.
        clear_index(self.repository, &pending.token);
        self.place.write(&done)?;
        forget_old(self.manager, record, work);
        Ok(done)
    }

    fn move_head(&self, record: &Record, work: &Work, sync: bool) -> Result<()> {
        let (from, to) = (work.from()?, work.to()?);
        let head = self.repository.head()?;
        if from == to || self.repository.tip(&head)? == to {
            return Ok(());
        }
        let author = identity::author(&self.repository.config);
        let message =
            if work.then.is_undo { "reset: turnback undo-commit" } else { "merge: turnback sandbox" };
        let why = Reflog { author: &author, message, sync, owner: &Registered::of(record)?.name };
        match (&work.head, from, to) {
            (Some(name), _, _) => self.repository.move_branch(name, from, to, &why),
            (None, Some(from), Some(to)) => self.repository.move_detached(from, to, &why),
            (None, ..) => Ok(()),
        }
    }

    /// Brings exactly the entries of the moved paths up to date.
    fn write_index(
        &self,
        record: &Record,
        token: &str,
        from: &Tree,
        to: &Tree,
        work: &Work,
        sync: bool,
    ) -> Result<()> {
        let private = record.holder.clone().unwrap_or_default();
        let mut index = PrivateIndex::read(self.repository, &private)?;
        let root = Root::open(&record.resource)?;
        let skipped = unlisted(&work.skipped).unwrap_or_default();
        let mut any = false;
        let coming = self.coming_back(record, from, to, work)?;
        for (path, before, after) in changed(from, to).filter(|(path, ..)| !coming.contains_key(*path)) {
            self.ctx.check()?;
            any = true;
            self.entry(&mut index, &root, path, before.is_some(), after, &skipped)?;
        }
        for path in
            unlisted(&work.same).ok_or_else(malformed)?.iter().filter(|path| !coming.contains_key(*path))
        {
            any = true;
            self.entry(&mut index, &root, path, true, to.get(path).copied(), &skipped)?;
        }
        for (path, kept) in &coming {
            any = true;
            kept.put_back(&mut index.index, &root, path)?;
        }
        if !any {
            return Ok(());
        }
        let written = index.written;
        let bytes = index.bytes()?;
        self.put_index(&bytes, token, written, sync)
            .map_err(|errno| Error::io("writing the index", errno).at(self.repository.own.path()))
    }

    /// What the index had that was in no commit, where a commit is taken back.
    fn coming_back(
        &self,
        record: &Record,
        from: &Tree,
        to: &Tree,
        work: &Work,
    ) -> Result<BTreeMap<RelPath, Kept>> {
        let Some(undo) = Undo::of(record)?.filter(|_| work.then.is_undo) else { return Ok(BTreeMap::new()) };
        let committed = self.repository.tree_of(pending::oid(undo.to.as_ref())?)?;
        let before = self.repository.tree_of(pending::oid(undo.from.as_ref())?)?;
        coming_back(&undo, &committed, &before, from, to)
    }

    fn entry(
        &self,
        index: &mut PrivateIndex,
        root: &Root,
        path: &RelPath,
        was_there: bool,
        after: Option<super::objects::Item>,
        skipped: &[RelPath],
    ) -> Result<()> {
        let failed = |e| super::refusal::git("changing the index", e);
        let old = index.index.get_path(as_path(path), 0);
        let Some(item) = after else {
            return if was_there { clear(&mut index.index, path) } else { Ok(()) };
        };
        let local = local::read(root, path)?;
        let is_it = match &local {
            Some(local) => local.kind == item.kind && local.oid()? == item.oid,
            None => false,
        };
        let mut entry = match (&local, &old) {
            (Some(local), _) if is_it => index_entry(path, item, &local.stat),
            // It is for git to look at the file, or not to miss it.
            (_, Some(old)) => git2::IndexEntry {
                id: item.oid,
                mode: item.kind.mode(),
                path: path.as_bytes().to_vec(),
                mtime: git2::IndexTime::new(0, 0),
                file_size: 0,
                ctime: git2::IndexTime::new(0, 0),
                dev: 0,
                ino: 0,
                uid: 0,
                gid: 0,
                flags: old.flags,
                flags_extended: old.flags_extended,
            },
            (_, None) => without_stat(path, item),
        };
        if let Some(old) = old.filter(|_| skipped.contains(path)) {
            entry.flags_extended = old.flags_extended;
        }
        // It is not unmerged any more.
        clear(&mut index.index, path)?;
        index.index.add(&entry).map_err(failed)
    }

    fn put_index(
        &self,
        bytes: &[u8],
        token: &str,
        written: Option<Timespec>,
        sync: bool,
    ) -> Result<(), rustix::io::Errno> {
        let dir = self.repository.own.top();
        let name = new_index(token);
        clear_index_copy(dir, &name);
        files::create(dir, name.as_bytes(), 0o666, bytes, sync)?;
        if let Some(written) = written {
            // Files that were written after the index are looked at by content, whatever their time says. An older index keeps it so
            // for all of them.
            lock::set_mtime(dir, &name, written)?;
        }
        dir.rename(name.as_bytes(), dir, b"index", Overwrite::Yes)?;
        if sync { files::sync_dir(dir) } else { Ok(()) }
    }
}

/// Deletes the checkpoints that nothing needs any more once a record is written; what cannot be deleted now goes with the sandbox.
pub(super) fn forget_old(manager: &Manager, record: &Record, work: &Work) {
    if let Err(error) = try_forget_old(manager, record, work) {
        tracing::warn!(%error, "a checkpoint that is not needed any more stays");
    }
}

fn try_forget_old(manager: &Manager, record: &Record, work: &Work) -> Result<()> {
    if let Some(walked) = pending::walked(record)
        && !work.then.is_undo
        && work.then.walked.as_ref() != Some(walked)
    {
        // A newer one saves the next walk what it has read.
        delete(manager, walked)?;
    }
    let earlier = Undo::of(record)?;
    if !work.then.is_undo && earlier.is_some() && earlier == work.then.undo {
        // It is still what can be taken back; only the baseline in between goes.
        let between = record.baseline.map(|id| id.to_string());
        return match between.filter(|id| *id != work.then.baseline) {
            Some(between) => delete(manager, &between),
            None => Ok(()),
        };
    }
    if let Some(undo) = earlier {
        if let Some((before, after)) = pending::ids(undo.checkpoints.as_ref())? {
            manager.set_pinned(before, false)?;
            manager.delete(after)?;
        }
        if !work.then.is_undo {
            delete(manager, &undo.baseline)?;
        }
    }
    if work.then.is_undo {
        if let Some(baseline) = record.baseline {
            manager.delete(baseline)?;
        }
        if let Some((before, after)) = work.checkpoints()? {
            manager.set_pinned(before, false)?;
            manager.delete(after)?;
        }
    }
    Ok(())
}

/// What git's index says of a path whose file it has to look at.
pub(super) fn without_stat(path: &RelPath, item: super::objects::Item) -> git2::IndexEntry {
    let zero = git2::IndexTime::new(0, 0);
    git2::IndexEntry {
        ctime: zero,
        mtime: zero,
        dev: 0,
        ino: 0,
        mode: item.kind.mode(),
        uid: 0,
        gid: 0,
        file_size: 0,
        id: item.oid,
        flags: 0,
        flags_extended: 0,
        path: path.as_bytes().to_vec(),
    }
}

/// Takes the sandbox's branch back where it was before a commit. What the agent itself committed stays, and so does the commit when
/// something was built on it.
fn move_own_branch_back(
    repository: &Repository,
    record: &Record,
    commit: Option<&Undo>,
    sync: bool,
) -> Result<()> {
    let Some((from, to)) = commit.and_then(|commit| commit.own.as_ref()) else { return Ok(()) };
    let (from, to) = (pending::oid(from.as_ref())?, pending::oid(Some(to))?);
    let registered = Registered::of(record)?;
    if from == to || repository.resolve(&registered.branch)? != to {
        return Ok(());
    }
    let author = identity::author(&repository.config);
    let message = "reset: turnback sandbox";
    let why = Reflog { author: &author, message, sync, owner: &registered.name };
    repository.move_branch(&registered.branch, to, from, &why)
}

/// Clears away the locks that a killed call left.
fn clear_locks(repository: &Repository, registered: &Registered, pending: &Pending) {
    clear_index(repository, &pending.token);
    repository.clear_ref_lock(&registered.branch, &registered.name);
    if let Some(head) = pending.work.as_ref().and_then(|work| work.head.as_ref()) {
        repository.clear_ref_lock(head, &registered.name);
    }
}

fn clear_index_copy(dir: &crate::restore::Dir, name: &str) {
    if let Ok(Some(_)) = dir.lstat_opt(name.as_bytes()) {
        files::discard(dir, name.as_bytes());
    }
}

/// Deletes a checkpoint by its id's text.
pub(super) fn delete(manager: &Manager, id: &str) -> Result<()> {
    if let Ok(id) = id.parse() {
        manager.delete(id)?;
    }
    Ok(())
}

/// The record of a sandbox whose move is done.
pub(super) fn settled(record: &Record, work: &Work) -> Result<Record> {
    let mut done = record.clone();
    let then = &work.then;
    let mut registered = Registered::of(record)?;
    registered.base = pending::oid(then.base.as_ref())?;
    registered.put(&mut done.extra);
    done.baseline = Some(then.baseline.parse().map_err(|_| malformed())?);
    let next = if then.is_undo { SandboxStatus::RolledBack } else { SandboxStatus::Committed };
    if done.status == SandboxStatus::Created {
        done.status = SandboxStatus::Active;
    }
    done.status = done.status.transition(next).map_err(illegal)?;
    if !then.is_undo {
        pending::put_walked(&mut done, then.walked.as_ref());
    }
    Undo::put(&mut done, then.undo.as_ref())?;
    Pending::put(&mut done, None)?;
    Ok(done)
}

/// Finishes a move that was cut short, or clears away one of which nothing was done. `None` when there is none.
///
/// # Errors
/// `BUSY` when git holds the lock that is needed; those of finishing it.
pub(super) fn recover(
    manager: &Manager,
    place: &Place,
    record: &Record,
    ctx: &Context,
) -> Result<Option<Record>> {
    let Some(pending) = Pending::of(record)? else { return Ok(None) };
    let registered = Registered::of(record)?;
    let repository = match registered.repository(&record.resource) {
        // The repository is gone, and with it all that was begun there.
        Err(error) if matches!(error.code(), Code::WorkspaceReplaced | Code::NotFound) => {
            tracing::warn!(%error, "an interrupted commit cannot be finished any more");
            let mut cleared = record.clone();
            Pending::put(&mut cleared, None)?;
            place.write(&cleared)?;
            return Ok(Some(cleared));
        }
        other => other?,
    };
    let cleared = || -> Result<Record> {
        clear_locks(&repository, &registered, &pending);
        let mut cleared = record.clone();
        Pending::put(&mut cleared, None)?;
        place.write(&cleared)?;
        Ok(cleared)
    };
    let Some(work) = &pending.work else { return cleared().map(Some) };
    // The files first: their journal says what was to be written.
    manager.recover(&record.resource, ctx)?;
    clear_locks(&repository, &registered, &pending);
    let _lock = lock_index(&repository, &pending.token)?;
    if !was_begun(manager, &repository, work)? {
        let sync = manager.durability()? == Durability::Power;
        move_own_branch_back(&repository, record, work.then.undo.as_ref(), sync)?;
        return cleared().map(Some);
    }
    let finishing = Finishing { manager, place, repository: &repository, ctx };
    match finishing.run(record, &pending, work) {
        // Somebody took HEAD elsewhere meanwhile: what is in the files now is his to look at.
        Err(error) if error.code() == Code::Conflict => {
            tracing::warn!(%error, "an interrupted commit is not finished; the checkpoint from before it is kept");
            cleared().map(Some)
        }
        other => other.map(Some),
    }
}

/// Whether anything of a move was done: HEAD is there already, or the files are as they were to be.
fn was_begun(manager: &Manager, repository: &Repository, work: &Work) -> Result<bool> {
    let (from, to) = (work.from()?, work.to()?);
    if from != to && repository.tip(&repository.head()?)? == to {
        return Ok(true);
    }
    match work.checkpoints()? {
        // Where nothing else changes the index is left.
        None => Ok(from == to && !work.writes),
        Some((_, after)) => manager.is_done(after),
    }
}
