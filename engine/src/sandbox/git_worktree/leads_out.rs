//! What in a copied tree would make git work outside of the copy (S4): a `.git` file or link, a `commondir` or a `core.worktree` that
//! leads elsewhere. Found when the copy is made; such a tree is refused.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::config::Config;
use super::files;
use crate::error::{Code, Error, Result};
use crate::model::{RelPath, escape};
use crate::restore::{Root, is_git_name};

/// The longest file of this kind that is read, in bytes.
const MAX_TEXT: u64 = 1 << 20;
/// What git writes to in a git directory, where it is a link.
const WRITTEN: [&[u8]; 8] =
    [b"HEAD", b"config", b"index", b"logs", b"modules", b"objects", b"packed-refs", b"refs"];

/// Whether a copied file may say where git works: then its text is to be examined.
pub(in crate::sandbox) fn may_lead(directory: &RelPath, name: &[u8]) -> bool {
    let is_of_git = || directory.names().any(is_git_name);
    is_git_name(name) || (matches!(name, b"commondir" | b"config" | b"config.worktree") && is_of_git())
}

/// Refuses a file that leads git out of the copy.
///
/// # Errors
/// `GIT_UNSUPPORTED`; `IO` when the file cannot be read.
pub(in crate::sandbox) fn check_file(top: &Root, directory: &RelPath, name: &[u8]) -> Result<()> {
    let failed = |errno| Error::io("examining a file of git", errno).at(top.path());
    let dir = top.dir(directory).map_err(failed)?;
    let stat = dir.lstat_opt(name).map_err(failed)?;
    if stat.is_none_or(|stat| FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile) {
        return Ok(());
    }
    let text = match files::read_raw(&dir, name, MAX_TEXT) {
        // Git reads no such file either.
        Err(rustix::io::Errno::FBIG) if is_git_name(name) => return Ok(()),
        other => other.map_err(failed)?,
    };
    let target = if is_git_name(name) {
        text.strip_prefix(b"gitdir:").map(|named| named.trim_ascii().to_vec())
    } else if name == b"commondir" {
        Some(text.trim_ascii().to_vec())
    } else {
        // Text that is malformed stops git too.
        Config::parse(&text).ok().and_then(|config| Some(config.get("core", None, "worktree")?.to_vec()))
    };
    target.map_or(Ok(()), |target| check(directory, name, &target))
}

/// Refuses a link that leads git out of the copy.
///
/// # Errors
/// `GIT_UNSUPPORTED`.
pub(in crate::sandbox) fn check_link(directory: &RelPath, name: &[u8], target: &[u8]) -> Result<()> {
    let in_git = directory.names().last().is_some_and(is_git_name);
    if is_git_name(name) || (in_git && WRITTEN.contains(&name)) {
        check(directory, name, target)
    } else {
        Ok(())
    }
}

/// Refuses a resource whose own `.git` leads elsewhere, or that has worktrees of its repository inside, before anything is copied.
///
/// # Errors
/// `GIT_UNSUPPORTED`; `IO` when it cannot be told.
pub(in crate::sandbox) fn check_resource(resource: &Path) -> Result<()> {
    let failed = |errno| Error::io("examining `.git`", errno).at(resource);
    let top = Root::open(resource)?;
    let root = RelPath::root();
    let Some(stat) = top.top().lstat_opt(b".git").map_err(failed)? else { return Ok(()) };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(top.top().fd(), ".git", Vec::new()).map_err(failed)?;
            return check_link(&root, b".git", target.as_bytes());
        }
        FileType::RegularFile => return check_file(&top, &root, b".git"),
        FileType::Directory => {}
        _ => return Ok(()),
    }
    let git = root.join(b".git");
    for name in [&b"commondir"[..], b"config", b"config.worktree"] {
        check_file(&top, &git, name)?;
    }
    let Some(worktrees) = files::dir_at(top.top(), b".git/worktrees").map_err(failed)? else { return Ok(()) };
    for name in worktrees.names().map_err(failed)? {
        let Ok(Some(dir)) = files::dir_at(&worktrees, &name) else { continue };
        let Ok(text) = files::read_raw(&dir, b"gitdir", MAX_TEXT) else { continue };
        let link = PathBuf::from(std::ffi::OsString::from_vec(text.trim_ascii_end().to_vec()));
        if let Ok(inside) = link.strip_prefix(resource)
            && let Ok(path) = RelPath::parse(inside.as_os_str().as_bytes())
            && let Some((directory, name)) = path.split()
        {
            check_file_if_there(&top, &directory, name)?;
        }
    }
    Ok(())
}

fn check_file_if_there(top: &Root, directory: &RelPath, name: &[u8]) -> Result<()> {
    match top.dir(directory) {
        Ok(_) => check_file(top, directory, name),
        // Registered still, and gone.
        Err(_) => Ok(()),
    }
}

fn check(directory: &RelPath, name: &[u8], target: &[u8]) -> Result<()> {
    if !leaves(directory.names().count(), target) {
        return Ok(());
    }
    let path = directory.join(name);
    Err(Error::new(
        Code::GitUnsupported,
        format!(
            "git in a copy would work outside of it: `{path}` leads to `{}`",
            escape(target)
        ),
        "use the strategy `git_worktree` (--strategy git_worktree), or move what lies there out of the directory",
    )
    .with_detail("path", path.to_string())
    .at(Path::new(OsStr::from_bytes(path.as_bytes()))))
}

/// Whether a path that is named by something `depth` directories deep leads out of the tree.
fn leaves(depth: usize, target: &[u8]) -> bool {
    let mut depth = depth;
    if target.first() == Some(&b'/') {
        return true;
    }
    for name in target.split(|&b| b == b'/') {
        match name {
            b"" | b"." => {}
            b".." if depth == 0 => return true,
            b".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}
