//! Removing what was renamed away: blocks are given back first, because another process may still have a file open (F40).

use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::files;
use super::layout::Layout;
use crate::error::{Error, Result};

/// How names of what is about to be removed begin, in the store's `tmp`.
pub(super) const PREFIX: &str = "gone-";

/// A name in `tmp` for what is about to be removed.
///
/// # Errors
/// When the system has no random bytes.
pub(super) fn name(layout: &Layout) -> Result<PathBuf> {
    Ok(layout.tmp().join(format!("{PREFIX}{}", files::random_name()?)))
}

/// Removes a file or a directory for good and tells how many bytes the disk got back. A file that has another name keeps its blocks.
///
/// # Errors
/// The system's error. What is not there frees nothing.
pub(super) fn bury(path: &Path) -> Result<u64> {
    let removing = |e| Error::io("removing deleted data", e).at(path);
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        Err(e) => return Err(removing(e)),
    };
    let blocks = metadata.blocks().saturating_mul(512);
    if !metadata.is_dir() {
        let freed = if metadata.nlink() == 1 { blocks } else { 0 };
        if metadata.is_file() && metadata.nlink() == 1 {
            empty(path);
        }
        std::fs::remove_file(path).map_err(removing)?;
        return Ok(freed);
    }
    let mut freed = blocks;
    for name in files::names(path)? {
        let path = path.join(name);
        if std::fs::symlink_metadata(&path).is_ok_and(|m| m.is_file()) {
            freed = freed.saturating_add(bury(&path)?);
        }
    }
    // A staging directory may hold anything, at any depth.
    files::remove_tree(path)?;
    Ok(freed)
}

/// Gives the blocks of a file back before its name goes.
fn empty(path: &Path) {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = std::fs::OpenOptions::new().write(true).custom_flags(flags.bits().cast_signed()).open(path);
    // It may be immutable, or replaced by something else: the removal that follows says so if it matters.
    if let Err(error) =
        file.and_then(|file| if file.metadata()?.is_file() { file.set_len(0) } else { Ok(()) })
    {
        tracing::debug!(%error, "a file is not emptied before it is removed");
    }
}
