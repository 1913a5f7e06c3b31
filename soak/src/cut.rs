//! The one place of this crate with unsafe code: the ioctl that shuts a file system down. rustix declares its argument in a trait that
//! is unsafe to implement, because the kernel trusts the type; there is no safe way to call it, and no tool of a plain system does.
#![allow(unsafe_code)]

use std::fs::File;
use std::path::Path;

use anyhow::{Context as _, Result};
use rustix::ioctl::{Opcode, Setter, ioctl};

/// `EXT4_IOC_SHUTDOWN`, which is `XFS_IOC_GOINGDOWN`: `_IOR('X', 125, u32)`.
const SHUTDOWN: Opcode = 0x8004_587d;

/// What still reaches the disk when the power goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Nothing: neither data nor the journal.
    Nothing,
    /// The journal, but no data.
    Log,
}

/// Cuts the power of a mounted file system; all that is left to do is to unmount it.
///
/// # Errors
/// When we are not root, or the file system cannot be shut down.
pub(crate) fn cut(at: &Path, how: Cut) -> Result<()> {
    let flag: u32 = match how {
        Cut::Nothing => 2,
        Cut::Log => 1,
    };
    let root = File::open(at)?;
    // SAFETY: the opcode takes a pointer to a u32 that it only reads, for both file systems; `Setter` passes one that lives as long
    // as the call. On any other file system the kernel refuses the opcode.
    unsafe { ioctl(root, Setter::<SHUTDOWN, u32>::new(flag)) }.context("shutting the file system down")
}
