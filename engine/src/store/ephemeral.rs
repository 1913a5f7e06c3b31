//! Ephemeral stores (C11): each holds a lock as long as its manager lives, so that the next one can remove what a killed process left.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::files;
use super::layout::Layout;
use super::lock::{FileLock, LockKind, Patience};
use crate::context::Context;
use crate::error::Result;

/// How the directories' names begin; 32 random hexadecimal digits follow.
pub(super) const PREFIX: &str = "turnback-";

fn lock_of(layout: &Layout) -> std::path::PathBuf {
    layout.locks().join("alive")
}

/// Says that a store is in use; the lock is taken before the directory looks like a store.
pub(super) fn hold(layout: &Layout) -> Result<FileLock> {
    files::make_directory(&layout.locks())?;
    FileLock::acquire(&lock_of(layout), LockKind::Exclusive, Patience::Try, &Context::default())
}

/// Removes the ephemeral stores of dead processes. What cannot be examined or removed is left: it is not worth a failure.
pub(super) fn sweep() {
    let Ok(entries) = std::fs::read_dir(std::env::temp_dir()) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let digits = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        if digits.is_some_and(|d| d.len() == 32 && d.bytes().all(|b| b.is_ascii_hexdigit()))
            && let Err(error) = remove_if_dead(&entry.path())
        {
            tracing::debug!(%error, "an ephemeral store of another process stays");
        }
    }
}

fn remove_if_dead(path: &Path) -> Result<()> {
    let ours = std::fs::symlink_metadata(path).is_ok_and(|m| {
        m.is_dir() && m.uid() == rustix::process::geteuid().as_raw() && m.mode() & 0o7777 == 0o700
    });
    let layout = Layout::new(path.to_owned());
    // Only what became a store: one that is being made has no format yet.
    if !ours || !files::exists(&layout.format())? || !files::exists(&lock_of(&layout))? {
        return Ok(());
    }
    let _lock =
        FileLock::acquire(&lock_of(&layout), LockKind::Exclusive, Patience::Try, &Context::default())?;
    files::remove_tree(path)
}
