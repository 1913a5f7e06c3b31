//! Snapshots of btrfs subvolumes (S5). The calls are those of a crate that wraps the kernel's: this one has no unsafe code.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;

use crate::restore::Dir;
use crate::tree::sys;

/// Whether a snapshot would be the whole of a directory. The reason if not.
pub(super) fn can_be_taken_of(resource: &Path) -> Result<(), String> {
    let failed = |error: io::Error| format!("whether it is a btrfs subvolume cannot be told: {error}");
    let root = sys::open_root(resource).map_err(|errno| failed(errno.into()))?;
    if !libbtrfs::subvol::fd::is_subvol(root.as_fd()).map_err(failed)? {
        return Err("the resource is no btrfs subvolume".to_owned());
    }
    let mut inside = 0_usize;
    let counted = libbtrfs::subvol::fd::get_rootref(root.as_fd(), |_, _, _| {
        inside += 1;
        Ok(())
    });
    match counted {
        Ok(()) if inside == 0 => Ok(()),
        Ok(()) => Err("the resource has subvolumes inside, which a snapshot leaves empty".to_owned()),
        Err(error) => Err(format!("whether the resource has subvolumes inside cannot be told: {error}")),
    }
}

/// Makes a snapshot of an open subvolume's root, called `name`.
pub(super) fn take(source: BorrowedFd<'_>, into: &Dir, name: &[u8], is_frozen: bool) -> io::Result<()> {
    let into = into.readable()?;
    libbtrfs::snap::fd::create(source, into.as_fd(), name, is_frozen)
}

/// Removes a snapshot at once; where that is not allowed it becomes an ordinary directory, to be removed as any other.
pub(super) fn remove(from: &Dir, name: &[u8]) {
    let Ok(into) = from.readable() else { return };
    let Err(error) = libbtrfs::subvol::fd::destroy(into.as_fd(), name) else { return };
    tracing::debug!(%error, "a snapshot cannot be removed at once");
    let Ok(root) = from.dir(name).and_then(|dir| dir.readable()) else { return };
    if let Err(error) = libbtrfs::subvol::fd::set_readonly(root.as_fd(), false) {
        tracing::debug!(%error, "a snapshot stays frozen");
    }
}
