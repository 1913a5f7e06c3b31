//! Metadata: owner first, then the mode with its set-id bits only for the right owner, then attributes, the mtime last (C6, input 18).

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{Gid, Mode, Stat, Timespec, Timestamps, UTIME_OMIT, Uid};
use rustix::io::Errno;

use super::attributes;
use super::dir::Dir;
use crate::model::{Meta, Timestamp, Xattrs};

/// Which parts of the metadata were not taken by the file system, or are not ours to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Refused {
    pub(crate) owner: bool,
    pub(crate) mode: bool,
    pub(crate) xattrs: bool,
    pub(crate) mtime: bool,
}

impl Refused {
    /// The refused parts in words; `None` when everything was taken.
    pub(crate) fn words(self) -> Option<String> {
        let parts = [
            (self.owner, "owner"),
            (self.mode, "mode"),
            (self.xattrs, "extended attributes"),
            (self.mtime, "mtime"),
        ];
        let words: Vec<_> = parts.iter().filter(|(refused, _)| *refused).map(|(_, word)| *word).collect();
        (!words.is_empty()).then(|| format!("not taken: {}", words.join(", ")))
    }

    /// Compares what is there with what was wanted. Links have no mode of their own.
    pub(crate) fn compare(stat: &Stat, want: &Meta, is_link: bool) -> Self {
        Self {
            owner: stat.st_uid != want.uid || stat.st_gid != want.gid,
            mode: !is_link && stat.st_mode & 0o7777 != u32::from(want.mode),
            xattrs: false,
            mtime: mtime_of(stat) != want.mtime,
        }
    }

    /// Both together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            owner: self.owner || other.owner,
            mode: self.mode || other.mode,
            xattrs: self.xattrs || other.xattrs,
            mtime: self.mtime || other.mtime,
        }
    }
}

/// The mtime of a `stat`.
#[allow(clippy::unnecessary_cast, clippy::cast_lossless)] // the field types differ between architectures
pub(crate) fn mtime_of(stat: &Stat) -> Timestamp {
    Timestamp { sec: stat.st_mtime as i64, nsec: stat.st_mtime_nsec as u32 }
}

fn times(mtime: Timestamp) -> Timestamps {
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: mtime.sec, tv_nsec: i64::from(mtime.nsec) },
    }
}

/// Sets the mtime alone.
pub(super) fn set_mtime(fd: BorrowedFd<'_>, mtime: Timestamp) -> Result<(), Errno> {
    rustix::fs::futimens(fd, &times(mtime))
}

/// Gives owner and group where they differ; the group alone where the owner is not ours to give.
fn give(
    have: (u32, u32),
    want: &Meta,
    mut chown: impl FnMut(Option<u32>, Option<u32>) -> Result<(), Errno>,
) -> bool {
    let uid = (have.0 != want.uid).then_some(want.uid);
    let gid = (have.1 != want.gid).then_some(want.gid);
    if uid.is_none() && gid.is_none() {
        return false;
    }
    if chown(uid, gid).is_err() && uid.is_some() && gid.is_some() {
        // What is refused shows when the owner is read back.
        let _ = chown(None, gid);
    }
    true
}

fn settle(
    fd: BorrowedFd<'_>,
    have: &Stat,
    want: &Meta,
    xattrs: Option<&Xattrs>,
    fresh: bool,
) -> Result<Refused, Errno> {
    let changed = give((have.st_uid, have.st_gid), want, |uid, gid| {
        rustix::fs::fchown(fd, uid.map(Uid::from_raw), gid.map(Gid::from_raw))
    });
    // Read back: a change of owner clears set-id bits, and a refused one must not be followed by them.
    let now = if changed { rustix::fs::fstat(fd)? } else { *have };
    let trusted = now.st_uid == want.uid && now.st_gid == want.gid;
    let mode = if trusted { u32::from(want.mode) } else { u32::from(want.mode) & 0o1777 };
    let mut refused = Refused { owner: !trusted, mode: mode != u32::from(want.mode), ..Refused::default() };
    let mut mode_now = now.st_mode & 0o7777;
    if let Some(xattrs) = xattrs {
        // Attributes may only be set on what its owner may write.
        if mode_now & 0o200 == 0 {
            rustix::fs::fchmod(fd, Mode::from_raw_mode(mode_now | 0o200))?;
        }
        refused.xattrs = !attributes::replace(fd, xattrs, fresh, trusted);
        // An access list brings permission bits of its own.
        mode_now = rustix::fs::fstat(fd)?.st_mode & 0o7777;
    }
    if mode_now != mode {
        refused.mode |= rustix::fs::fchmod(fd, Mode::from_raw_mode(mode)).is_err();
    }
    refused.mtime = rustix::fs::futimens(fd, &times(want.mtime)).is_err();
    Ok(refused)
}

/// Settles a file of ours that has just been written. `xattrs` is `None` when it is to have none.
pub(crate) fn settle_new(fd: BorrowedFd<'_>, want: &Meta, xattrs: Option<&Xattrs>) -> Result<Refused, Errno> {
    let have = rustix::fs::fstat(fd)?;
    settle(fd, &have, want, xattrs, true)
}

/// Settles something that was there before: attributes that are not wanted go.
pub(crate) fn settle_existing(fd: BorrowedFd<'_>, want: &Meta, xattrs: &Xattrs) -> Result<Refused, Errno> {
    let have = rustix::fs::fstat(fd)?;
    let refused = settle(fd, &have, want, Some(xattrs), false)?;
    Ok(refused.and(Refused::compare(&rustix::fs::fstat(fd)?, want, false)))
}

/// Settles a directory; `xattrs` is `None` when they are right as they are.
pub(crate) fn settle_directory(
    dir: &Dir,
    want: &Meta,
    xattrs: Option<&Xattrs>,
    sync: bool,
) -> Result<Refused, Errno> {
    let fd = match dir.readable() {
        Err(Errno::ACCESS) => {
            dir.unlock_self(0o700)?;
            dir.readable()?
        }
        other => other?,
    };
    let have = rustix::fs::fstat(&fd)?;
    let refused = settle(fd.as_fd(), &have, want, xattrs, false)?;
    let refused = refused.and(Refused::compare(&rustix::fs::fstat(&fd)?, want, false));
    if sync {
        rustix::fs::fsync(&fd)?;
    }
    Ok(refused)
}

/// Settles a symlink of ours that has just been made.
pub(crate) fn settle_link(dir: &Dir, name: &[u8], want: &Meta) -> Result<Refused, Errno> {
    let have = dir.lstat(name)?;
    give((have.st_uid, have.st_gid), want, |uid, gid| dir.chown(name, uid, gid));
    let mtime = dir.set_times(name, &times(want.mtime)).is_err();
    let refused = Refused { mtime, ..Refused::default() };
    Ok(refused.and(Refused::compare(&dir.lstat(name)?, want, true)))
}
