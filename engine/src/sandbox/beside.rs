//! What lies beside a sandbox's root, in the private directory around it: whoever works there can make something with `../`, or move the
//! root itself. No checkpoint of the root holds it, so that it is never removed (S10).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;

use super::frozen;
use super::names::{Mechanism, StrategyName};
use super::record::Record;
use crate::error::{Code, Error, Result};
use crate::restore::{Dir, Root, remove_beneath};

/// Whether something of that name is the sandbox's own.
fn is_own(record: &Record, dir: &Dir, name: &[u8]) -> Result<bool, Errno> {
    let Some(stat) = dir.lstat_opt(name)? else { return Ok(true) };
    let kind = FileType::from_raw_mode(stat.st_mode);
    let is_called = |path: &Path| path.file_name().map(OsStrExt::as_bytes) == Some(name);
    if is_called(&record.path) {
        // A link or a file in its place is not what was made there.
        return Ok(kind == FileType::Directory);
    }
    if record.mechanism == Some(Mechanism::Btrfs) && is_called(&frozen::path_of(record)) {
        return Ok(kind == FileType::Directory);
    }
    Ok(record.strategy == StrategyName::GitWorktree && kind == FileType::RegularFile && is_index_copy(name))
}

/// The copy of an index that a killed call left, or the lock beside it.
fn is_index_copy(name: &[u8]) -> bool {
    let rest = name.strip_prefix(b"index-").unwrap_or_default();
    let random = rest.strip_suffix(b".lock").unwrap_or(rest);
    random.len() == 32 && random.iter().all(u8::is_ascii_hexdigit)
}

/// What lies beside a sandbox's root and is not the sandbox's own, by name.
///
/// # Errors
/// When the directory cannot be read: then it cannot be told.
pub(super) fn beside(record: &Record) -> Result<Vec<PathBuf>> {
    let Some(holder) = &record.holder else { return Ok(Vec::new()) };
    match Root::open(holder) {
        Ok(root) => others(record, holder, root.top()).map_err(|errno| failed(holder, errno)),
        Err(error) if error.code() == Code::NotFound => Ok(Vec::new()),
        // What stands in the place of that directory.
        Err(error) if error.code() == Code::NotADirectory => Ok(vec![holder.clone()]),
        Err(error) => Err(error),
    }
}

fn failed(holder: &Path, errno: Errno) -> Error {
    Error::io("looking at what lies beside the sandbox's root", errno).at(holder)
}

fn others(record: &Record, holder: &Path, dir: &Dir) -> Result<Vec<PathBuf>, Errno> {
    let mut found = Vec::new();
    for name in dir.names()? {
        if !is_own(record, dir, &name)? {
            found.push(holder.join(OsStr::from_bytes(&name)));
        }
    }
    found.sort();
    Ok(found)
}

/// Removes what is the sandbox's own from the directory around it, and gives what is left there.
pub(super) fn remove_own(record: &Record, holder: &Path, dir: &Dir) -> Result<Vec<PathBuf>, Errno> {
    dir.unlock_self(0o700)?;
    for name in dir.names()? {
        if !is_own(record, dir, &name)? {
            continue;
        }
        match dir.lstat_opt(&name)? {
            None => {}
            Some(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
                remove_beneath(&Root::from_dir(dir.dir(&name)?, holder.join(OsStr::from_bytes(&name))))?;
                dir.rmdir(&name)?;
            }
            Some(_) => dir.unlink(&name)?,
        }
    }
    others(record, holder, dir)
}
