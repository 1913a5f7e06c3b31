//! Rolling a worktree back (S12): besides its files also its HEAD, its branch and its index, and nothing of what git began there. What the
//! agent committed or staged and is nowhere else gets refs first, so that nothing of it is lost; it is on no branch any more.

use std::path::Path;

use git2::{Index, IndexEntry};
use rustix::fs::{FileType, Stat};

use super::checkout::index_entry;
use super::finish::without_stat;
use super::local_changes::as_path;
use super::objects::Item;
use super::refs::Reflog;
use super::refusal::git;
use super::registration::Registered;
use super::repository::Repository;
use super::saved::Leaves;
use super::{files, identity, local};
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::RelPath;
use crate::report::RollbackReport;
use crate::restore::{Dir, Overwrite, Root, remove_beneath};
use crate::sandbox::copy_on_write::put_back_copy;
use crate::sandbox::handle::Locked;
use crate::store::Durability;

/// What a registration keeps: git's own files, which are written anew where they differ, the logs, and that a person locked it.
const KEPT: [&[u8]; 6] = [b"HEAD", b"commondir", b"gitdir", b"index", b"locked", b"logs"];
/// Where the new index lies before it is in its place.
const NEW_INDEX: &str = "index.turnback-new";

/// Puts files, HEAD, branch and index back. Where the repository is gone, the files alone.
///
/// # Errors
/// Those of a rollback; those of the repository once the files are back.
pub(super) fn put_back(at: &Locked<'_>, ctx: &Context) -> Result<RollbackReport> {
    let record = at.record()?;
    let registered = Registered::of(record)?;
    let repository = registered.repository(&record.resource);
    if let Err(error) = &repository
        && is_gone(&registered, error)
    {
        tracing::warn!(%error, "only the files of a sandbox go back: its repository is gone");
        return put_back_copy(at, ctx);
    }
    // Before the files: what is only staged is looked for in them.
    let saved = repository
        .as_ref()
        .map(|repository| registered.save_for(repository, &record.path, Leaves::Branch, ctx));
    let saved = saved.ok().transpose();
    let report = put_back_copy(at, ctx)?;
    let repository = repository?;
    let saved = saved?.unwrap_or_default();
    if report.restored {
        let sync = at.handle().manager().durability()? == Durability::Power;
        registered.put_back(&repository, &record.path, sync, ctx)?;
        if !saved.is_empty() {
            tracing::info!(
                refs = saved.join(" "),
                "what was committed or staged in a sandbox that was rolled back has refs"
            );
        }
    }
    Ok(report)
}

fn is_gone(registered: &Registered, error: &Error) -> bool {
    let is_missing = || {
        std::fs::symlink_metadata(&registered.common).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound)
    };
    matches!(error.code(), Code::WorkspaceReplaced | Code::NotFound) || is_missing()
}

impl Registered {
    fn put_back(&self, repository: &Repository, worktree: &Path, sync: bool, ctx: &Context) -> Result<()> {
        let failed =
            |errno| Error::io("putting the worktree's registration back", errno).at(self.directory());
        let path = format!("worktrees/{}", self.name);
        let dir = files::make_dirs(repository.common.top(), path.as_bytes()).map_err(failed)?;
        self.clear(&dir)?;
        for (name, text) in self.texts(worktree) {
            if files::read(&dir, name)?.as_ref() != Some(&text) {
                let new = format!("{name}.turnback-new");
                files::create(&dir, new.as_bytes(), 0o666, &text, sync).map_err(failed)?;
                dir.rename(new.as_bytes(), &dir, name.as_bytes(), Overwrite::Yes).map_err(failed)?;
            }
        }
        let tip = repository.resolve(&self.branch)?;
        if tip != self.base || repository.names_another(&self.branch)? {
            let author = identity::author(&repository.config);
            let message = "reset: turnback rollback";
            let why = Reflog { author: &author, message, sync, owner: &self.name };
            repository.move_branch(&self.branch, tip, self.base, &why)?;
        }
        self.put_index_back(repository, &dir, worktree, ctx)?;
        if sync { files::sync_dir(&dir).map_err(failed) } else { Ok(()) }
    }

    /// Takes away what git began there and what it locked: a merge that went on would bring what was rolled back.
    fn clear(&self, dir: &Dir) -> Result<()> {
        let failed = |errno| Error::io("clearing the worktree's registration", errno).at(self.directory());
        for name in dir.names().map_err(failed)? {
            let Some(stat) = dir.lstat_opt(&name).map_err(failed)? else { continue };
            let kind = FileType::from_raw_mode(stat.st_mode);
            let is_right =
                if *name == *b"logs" { FileType::Directory } else { FileType::RegularFile } == kind;
            if is_right && KEPT.contains(&&name[..]) {
                continue;
            }
            if kind == FileType::Directory {
                let beneath = dir.dir(&name).map_err(failed)?;
                remove_beneath(&Root::from_dir(beneath, self.directory())).map_err(failed)?;
                dir.rmdir(&name).map_err(failed)?;
            } else {
                dir.unlink(&name).map_err(failed)?;
            }
        }
        Ok(())
    }

    fn put_index_back(
        &self,
        repository: &Repository,
        dir: &Dir,
        worktree: &Path,
        ctx: &Context,
    ) -> Result<()> {
        let failed = |e| git("writing the worktree's index", e);
        let renaming = |errno| Error::io("writing the worktree's index", errno).at(self.directory());
        let known = Known::read(dir, &self.directory()).map_err(renaming)?;
        let sandbox = Root::open(worktree)?;
        let mut index = Index::open(&self.directory().join(NEW_INDEX)).map_err(failed)?;
        for (path, item) in &repository.tree_of(self.base)? {
            ctx.check()?;
            let entry = match known.entry(path, *item) {
                Some(entry) => entry,
                None => match local::read(&sandbox, path)? {
                    Some(local) if local.kind == item.kind && local.oid()? == item.oid => {
                        index_entry(path, *item, &local.stat)
                    }
                    // It is for git to look at.
                    _ => without_stat(path, *item),
                },
            };
            index.add(&entry).map_err(failed)?;
        }
        index.write().map_err(failed)?;
        dir.rename(NEW_INDEX.as_bytes(), dir, b"index", Overwrite::Yes).map_err(renaming)
    }
}

/// What the index had so far: its entries save reading the files.
struct Known(Option<(Index, Stat)>);

impl Known {
    fn read(dir: &Dir, at: &Path) -> Result<Self, rustix::io::Errno> {
        let stat = dir.lstat_opt(b"index")?;
        let stat = stat.filter(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
        // One that cannot be read saves nothing.
        Ok(Self(stat.and_then(|stat| Some((Index::open(&at.join("index")).ok()?, stat)))))
    }

    /// The entry of a path that is to be as it was. A file that was written after the index may be another one by now.
    fn entry(&self, path: &RelPath, item: Item) -> Option<IndexEntry> {
        let (index, written) = self.0.as_ref()?;
        let entry = index.get_path(as_path(path), 0)?;
        let is_it = entry.id == item.oid && entry.mode == item.kind.mode();
        let at = (i64::from(entry.mtime.seconds()), i64::from(entry.mtime.nanoseconds()));
        let is_older = at < (written.st_mtime, i64::try_from(written.st_mtime_nsec).unwrap_or(0));
        // Without what was said of it (`--assume-unchanged`, `--skip-worktree`).
        (is_it && is_older).then_some(IndexEntry { flags: 0, flags_extended: 0, ..entry })
    }
}
