//! A sandbox whose place is not there: its file system need not be mounted, and its work comes back with it (S9, S10).

use crate::error::{Code, Error, Result};
use rustix::io::Errno;
use turnback_core::SandboxStatus;

use super::record::Record;

/// Refuses to give up a sandbox when the directory around its root is missing, which neither a cleanup nor whoever works there removes.
/// What has not been made yet and what a cleanup removed already is not missing.
///
/// # Errors
/// `NOT_FOUND`, and the system's error when it cannot be told.
pub(super) fn refuse_missing(record: &Record) -> Result<()> {
    let Some(holder) = &record.holder else { return Ok(()) };
    if matches!(record.status, SandboxStatus::Pending | SandboxStatus::CleanedUp) {
        return Ok(());
    }
    match rustix::fs::lstat(holder) {
        Ok(_) => Ok(()),
        Err(Errno::NOENT | Errno::NOTDIR) => Err(Error::new(
            Code::NotFound,
            "the directory around the sandbox is not there, so that nobody can tell what work the sandbox holds",
            "mount the file system that it lies on, and clean up again; if it is gone for good, make that directory anew, empty \
             (`mkdir -p`), and clean up again",
        )
        .at(holder)),
        Err(errno) => Err(Error::io("looking for the sandbox's directory", errno).at(holder)),
    }
}
