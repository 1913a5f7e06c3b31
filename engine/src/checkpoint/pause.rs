//! Switching the guard's checkpoints off and on for a store (C17, F46): a file in the store, so that every process sees it at once.

use super::manager::Manager;
use crate::error::{Error, Result};
use crate::store::create_file;

impl Manager {
    /// Switches the guard's checkpoints off for this store. Doing it twice is fine. Checkpoints that somebody asks for are still taken.
    ///
    /// # Errors
    /// `STORE_FORMAT`, `DISK_FULL`, `PERMISSION_DENIED`, `IO`.
    pub fn pause(&self) -> Result<()> {
        let inner = self.open_inner()?;
        inner.store.require_writable()?;
        if self.is_paused()? {
            return Ok(());
        }
        match create_file(&inner.layout().paused()) {
            Ok(_) => Ok(()),
            // Somebody else was faster.
            Err(_) if self.is_paused()? => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Switches them on again.
    ///
    /// # Errors
    /// `STORE_FORMAT`, `PERMISSION_DENIED`, `IO`.
    pub fn resume(&self) -> Result<()> {
        let inner = self.open_inner()?;
        inner.store.require_writable()?;
        let path = inner.layout().paused();
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io("switching the guard's checkpoints on", e).at(&path))
            }
            _ => Ok(()),
        }
    }

    /// Whether the guard's checkpoints are switched off. One system call: it is asked before every attempt.
    ///
    /// # Errors
    /// `IO` when the store cannot be looked at.
    pub fn is_paused(&self) -> Result<bool> {
        let path = self.open_inner()?.layout().paused();
        match rustix::fs::lstat(&path) {
            Ok(_) => Ok(true),
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(errno) => Err(Error::io("looking whether the store is paused", errno).at(&path)),
        }
    }
}
