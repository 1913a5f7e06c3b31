//! The process's own limit on the size of files (`ulimit -f`): a write beyond it ends the process with SIGXFSZ, the host with it, so
//! that it is looked at before each write that makes a file longer (input 68).

use std::fs::File;
use std::os::unix::fs::FileExt;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// Whether this process may make a file of `length` bytes.
///
/// # Errors
/// `EFBIG`, as from the call that would not have come back.
pub(crate) fn check_length(length: u64) -> Result<(), Errno> {
    match getrlimit(Resource::Fsize).current {
        Some(limit) if length > limit => Err(Errno::FBIG),
        _ => Ok(()),
    }
}

/// Writes all bytes at an offset.
///
/// # Errors
/// `EFBIG` before anything is written beyond the limit; otherwise the system's error.
pub(crate) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> std::io::Result<()> {
    check_length(offset.saturating_add(bytes.len() as u64))?;
    file.write_all_at(bytes, offset)
}
