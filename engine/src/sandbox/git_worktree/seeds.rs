//! What a worktree is given besides its commit: paths that git does not track (`seed`), and the resource's uncommitted state
//! (`carryChanges`).

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;

use super::checkout::copy;
use super::ignored::Ignored;
use super::objects::{Item, Kind, Tree};
use super::repository::Repository;
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::{RelPath, escape};
use crate::restore::{Root, is_git_name};

/// Checks what is to be seeded: paths beneath the resource that are there.
///
/// # Errors
/// `INVALID_ARGUMENT`, `NOT_FOUND`.
pub(super) fn check(resource: &Path, seeds: &[PathBuf]) -> Result<Vec<RelPath>> {
    let root = Root::open(resource)?;
    let one = |seed: &PathBuf| -> Result<RelPath> {
        use std::os::unix::ffi::OsStrExt;
        let shown = escape(seed.as_os_str().as_bytes());
        let bad = || {
            Error::new(
                Code::InvalidArgument,
                format!("`{shown}` cannot be seeded"),
                "give a path relative to the resource, without `..` and outside of `.git`",
            )
        };
        let bytes = seed.as_os_str().as_bytes();
        let bytes = bytes.strip_suffix(b"/").unwrap_or(bytes);
        let path = RelPath::parse(bytes.strip_prefix(b"./").unwrap_or(bytes)).map_err(|_| bad())?;
        if path.is_root() || path.names().any(is_git_name) {
            return Err(bad());
        }
        let (dir, name) =
            root.parent(&path).map_err(|e| Error::io(format!("looking for the seed `{shown}`"), e))?;
        match dir.lstat_opt(name) {
            Ok(Some(_)) => Ok(path),
            Ok(None) => Err(Error::new(
                Code::NotFound,
                format!("there is no `{shown}` to seed in the resource"),
                "check the path; it is relative to the resource",
            )),
            Err(errno) => Err(Error::io(format!("looking for the seed `{shown}`"), errno)),
        }
    };
    seeds.iter().map(one).collect()
}

/// Carries paths in with all that lies beneath them. What is there already stays.
pub(super) fn plant(from: &Root, to: &Root, seeds: &[RelPath], ctx: &Context) -> Result<()> {
    for seed in seeds {
        walk(from, seed, ctx, &mut |path, is_directory| {
            if !is_directory {
                copy(from, to, path).map_err(|e| failed(path, e))?;
            }
            Ok(true)
        })?;
    }
    Ok(())
}

fn failed(path: &RelPath, errno: Errno) -> Error {
    Error::io(format!("carrying `{}` into the sandbox", escape(path.as_bytes())), errno)
}

/// Goes through what lies at and beneath a path, but for git's own directories; `visit` says of directories whether to go in.
fn walk(
    root: &Root,
    from: &RelPath,
    ctx: &Context,
    visit: &mut dyn FnMut(&RelPath, bool) -> Result<bool>,
) -> Result<()> {
    let mut todo = vec![from.clone()];
    while let Some(path) = todo.pop() {
        ctx.check()?;
        let is_directory = match root.parent(&path).and_then(|(dir, name)| dir.lstat_opt(name)) {
            _ if path.is_root() => true,
            Ok(Some(stat)) => FileType::from_raw_mode(stat.st_mode) == FileType::Directory,
            Ok(None) | Err(Errno::NOENT | Errno::NOTDIR) => continue,
            Err(errno) => return Err(failed(&path, errno)),
        };
        if !path.is_root() && !visit(&path, is_directory)? || !is_directory {
            continue;
        }
        let names = match root.dir(&path).and_then(|dir| dir.names()) {
            // Nothing is carried across a mount.
            Err(Errno::XDEV | Errno::NOENT | Errno::NOTDIR) => continue,
            other => other.map_err(|e| failed(&path, e))?,
        };
        todo.extend(names.iter().filter(|name| !is_git_name(name)).map(|name| path.join(name)));
    }
    Ok(())
}

/// Makes the sandbox's files those of the resource: tracked ones as they are there, and untracked ones that are not ignored.
pub(super) fn carry(
    repository: &Repository,
    tree: &Tree,
    skipped: &HashSet<RelPath>,
    from: &Root,
    to: &Root,
    ctx: &Context,
) -> Result<()> {
    for (path, item) in tree {
        ctx.check()?;
        if item.kind != Kind::Submodule && !is_same(from, path, *item, skipped)? {
            take_away(to, path).map_err(|e| failed(path, e))?;
            copy(from, to, path).map_err(|e| failed(path, e))?;
        }
    }
    let ignored = Ignored::new(repository, from)?;
    walk(from, &RelPath::root(), ctx, &mut |path, is_directory| {
        if let Some(item) = tree.get(path) {
            return Ok(item.kind != Kind::Submodule);
        }
        if ignored.has(path, is_directory)? {
            return Ok(false);
        }
        if !is_directory {
            copy(from, to, path).map_err(|e| failed(path, e))?;
        }
        Ok(true)
    })
}

fn is_same(from: &Root, path: &RelPath, item: Item, skipped: &HashSet<RelPath>) -> Result<bool> {
    let there = super::local::read(from, path)?;
    match there {
        Some(there) if there.kind == item.kind => Ok(there.oid()? == item.oid),
        Some(_) => Ok(false),
        // Where the index says that it need not be there (sparse checkouts), it is not deleted.
        None => Ok(skipped.contains(path)),
    }
}

/// Removes a file or link, and the directories that are empty then.
fn take_away(root: &Root, path: &RelPath) -> Result<(), Errno> {
    let (dir, name) = root.parent(path)?;
    dir.unlink(name)?;
    let mut at = path.split().map(|(parent, _)| parent);
    while let Some(directory) = at.filter(|d| !d.is_root()) {
        let (dir, name) = root.parent(&directory)?;
        if dir.rmdir(name).is_err() {
            break;
        }
        root.forget(&directory);
        at = directory.split().map(|(parent, _)| parent);
    }
    Ok(())
}
