//! Sandboxes of ephemeral stores: they go with their manager, and what a killed process left goes when the next ephemeral store has its
//! first sandbox (C11, S9). Its store, with the registry, goes with the process, so that nobody could list them any more.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::registry::Registry;
use super::removal::remove_files;
use super::sandboxes::Sandboxes;
use crate::context::Context;
use crate::error::{Code, Result};
use crate::restore::{Root, remove_beneath};

/// How the directories beside ephemeral stores are called: the store's own name, and this.
pub(super) const SUFFIX: &str = "-sandboxes";

impl Sandboxes {
    /// Ends the sandboxes of an ephemeral store, which goes with its manager: directories, registrations, and branches without commits
    /// of their own. What was not committed goes with them. Call it before the manager is closed; for other stores, and after that, it
    /// does nothing.
    ///
    /// # Errors
    /// The first one, after all were tried.
    pub fn end_ephemeral(&self) -> Result<()> {
        match self.manager.is_ephemeral() {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) if error.code() == Code::Poisoned => return Ok(()),
            Err(error) => return Err(error),
        }
        let registry = Registry::of(&self.manager);
        let mut first = Ok(());
        for id in registry.ids()? {
            let ended = match registry.place(&id).read() {
                Ok(Some(record)) => remove_files(&record, &Context::default()).map(drop),
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            first = first.and(ended);
        }
        first
    }
}

/// Removes the directories of sandboxes whose ephemeral store is gone. What cannot be examined or removed is left: it is not worth a
/// failure.
pub(super) fn sweep(store: &Path) {
    let Some(parent) = store.parent() else { return };
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(of) = name.to_str().and_then(|name| name.strip_suffix(SUFFIX)) else { continue };
        let digits = of.strip_prefix("turnback-").unwrap_or_default();
        let is_one = digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let is_gone = || {
            let found = std::fs::symlink_metadata(parent.join(of));
            found.is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound)
        };
        if is_one && is_gone() && is_ours(&entry.path()) {
            remove(parent, name.as_bytes());
        }
    }
}

fn is_ours(path: &Path) -> bool {
    let us = rustix::process::geteuid().as_raw();
    std::fs::symlink_metadata(path).is_ok_and(|m| m.is_dir() && m.uid() == us && m.mode() & 0o7777 == 0o700)
}

fn remove(parent: &Path, name: &[u8]) {
    let removed = Root::open(parent).map(|root| {
        let dir = root.top().dir(name)?;
        remove_beneath(&Root::from_dir(dir, parent.to_owned()))?;
        root.top().rmdir(name)
    });
    match removed {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the sandboxes of a dead ephemeral store stay"),
        Err(error) => tracing::debug!(%error, "the sandboxes of a dead ephemeral store stay"),
    }
}
