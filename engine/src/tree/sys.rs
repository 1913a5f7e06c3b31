//! The system calls with which a workspace is read: always by directory descriptor and single name, never following a link,
//! never crossing a mount (inputs 1, 3, 4, 22, 75).

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, SeekFrom, StatxFlags};
use rustix::io::Errno;

use super::stat::Stat;
use crate::model::Timestamp;

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY);
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY);

/// Opens a workspace's root by its canonical path; a link in the last place is refused.
///
/// # Errors
/// The system's error.
pub fn open_root(path: &Path) -> Result<OwnedFd, Errno> {
    with_noatime(|extra| rustix::fs::open(path, DIRECTORY | extra, Mode::empty()))
}

/// Opens a directory in a directory.
///
/// # Errors
/// `XDEV` for a mount point, `LOOP` or `NOTDIR` for a link, otherwise the system's error.
pub fn open_directory(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    with_noatime(|extra| open_child(parent, name, DIRECTORY | extra))
}

/// Opens a file in a directory for reading, without blocking on pipes.
///
/// # Errors
/// As [`open_directory`].
pub fn open_file(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    with_noatime(|extra| open_child(parent, name, FILE | extra))
}

/// `O_NOATIME` is only for owners: others read without it (C6).
fn with_noatime(open: impl Fn(OFlags) -> Result<OwnedFd, Errno>) -> Result<OwnedFd, Errno> {
    match retry(|| open(OFlags::NOATIME)) {
        Err(Errno::PERM) => retry(|| open(OFlags::empty())),
        other => other,
    }
}

const UNKNOWN: u8 = 0;
const HAS_OPENAT2: u8 = 1;
const LACKS_OPENAT2: u8 = 2;
static OPENAT2: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Whether `openat2` works here; some container profiles refuse it with `ENOSYS` or `EPERM`.
#[must_use]
pub fn has_openat2() -> bool {
    if OPENAT2.load(Ordering::Relaxed) == UNKNOWN {
        let probe = rustix::fs::openat2(
            rustix::fs::CWD,
            c".",
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::empty(),
        );
        let works = !matches!(probe, Err(Errno::NOSYS | Errno::PERM));
        OPENAT2.store(if works { HAS_OPENAT2 } else { LACKS_OPENAT2 }, Ordering::Relaxed);
    }
    OPENAT2.load(Ordering::Relaxed) == HAS_OPENAT2
}

/// How often a child is opened before it is taken for a mount. What is renamed out of the directory between its lookup and the last look
/// whether it lies beneath gives `EXDEV` as well (`complete_walk` in `fs/namei.c` of Linux): the next attempt tells the truth.
const MOVED: usize = 8;

fn open_child(parent: BorrowedFd<'_>, name: &CStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    if has_openat2() {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        let mut opened = Err(Errno::XDEV);
        for _ in 0..MOVED {
            opened = rustix::fs::openat2(parent, name, flags, Mode::empty(), resolve);
            if !matches!(opened, Err(Errno::XDEV)) {
                break;
            }
        }
        return opened;
    }
    let fd = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    if mount_id(fd.as_fd())? != mount_id(parent)? {
        return Err(Errno::XDEV);
    }
    Ok(fd)
}

/// The id of the mount that a descriptor lies on; device numbers do not show bind mounts of one file system.
fn mount_id(fd: BorrowedFd<'_>) -> Result<u64, Errno> {
    let sx = rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?;
    Ok(sx.stx_mnt_id)
}

/// The id of the mount that a path lies on, with links followed.
///
/// # Errors
/// The system's error.
pub fn mount_of(path: &std::path::Path) -> Result<u64, Errno> {
    let sx = rustix::fs::statx(rustix::fs::CWD, path, AtFlags::empty(), StatxFlags::MNT_ID)?;
    Ok(sx.stx_mnt_id)
}

/// Whether a directory is the root of a mount.
///
/// # Errors
/// The system's error.
pub fn is_mount_root(fd: BorrowedFd<'_>) -> Result<bool, Errno> {
    let sx = rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, StatxFlags::empty())?;
    Ok(sx.stx_attributes.contains(rustix::fs::StatxAttributes::MOUNT_ROOT))
}

/// `lstat` of a name in a directory.
///
/// # Errors
/// The system's error.
#[inline]
pub fn stat_at(parent: BorrowedFd<'_>, name: &CStr) -> Result<Stat, Errno> {
    rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).map(Stat::from)
}

/// `fstat`.
///
/// # Errors
/// The system's error.
pub fn stat_fd(fd: BorrowedFd<'_>) -> Result<Stat, Errno> {
    rustix::fs::fstat(fd).map(Stat::from)
}

/// The inode number and birth time of a descriptor: what identifies a directory as long as it lives (C5).
///
/// # Errors
/// The system's error. File systems without birth times give none.
pub fn birth(fd: BorrowedFd<'_>) -> Result<(u64, Option<Timestamp>), Errno> {
    let sx = rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, StatxFlags::INO | StatxFlags::BTIME)?;
    let has_btime = StatxFlags::from_bits_retain(sx.stx_mask).contains(StatxFlags::BTIME);
    let btime = has_btime.then_some(Timestamp { sec: sx.stx_btime.tv_sec, nsec: sx.stx_btime.tv_nsec });
    Ok((sx.stx_ino, btime))
}

/// The clock that the kernel stamps files with on local file systems: coarser than the real-time clock, and never ahead of it.
#[must_use]
pub fn file_clock() -> Timestamp {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    Timestamp { sec: now.tv_sec, nsec: u32::try_from(now.tv_nsec).unwrap_or(0) }
}

/// The next stretch of data of a file in `at..end`: where it starts and where it ends; `None` when the rest is a hole, or the file
/// ends before `at`. Moves the descriptor's position. Where the file system does not tell holes, all is data.
///
/// A file that is cut off between the two questions has data up to `end`: whoever reads it finds that it ends before (input 47).
///
/// # Errors
/// The system's error.
pub fn next_data(file: BorrowedFd<'_>, at: u64, end: u64) -> Result<Option<(u64, u64)>, Errno> {
    let start = match rustix::fs::seek(file, SeekFrom::Data(at)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        Err(Errno::INVAL) => return Ok(Some((at, end))),
        Err(errno) => return Err(errno),
    };
    if start >= end {
        return Ok(None);
    }
    match rustix::fs::seek(file, SeekFrom::Hole(start)) {
        Ok(stop) => Ok(Some((start, stop.clamp(start, end)))),
        Err(Errno::NXIO) => Ok(Some((start, end))),
        Err(errno) => Err(errno),
    }
}

/// Repeats a call that a signal interrupted (input 65).
///
/// # Errors
/// The call's error, save `INTR`.
pub fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}
