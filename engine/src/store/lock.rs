//! Locks that die with their holder: `flock`, polled so that waiting can be cancelled (C10, C12, F7). No pid files.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::layout::Layout;
use crate::context::Context;
use crate::error::{Code, Error, Result};

/// How a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockKind {
    /// By many at once.
    Shared,
    /// By one alone.
    Exclusive,
}

/// How long to wait for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Not at all.
    Try,
    /// As long as this, and no longer than the operation's deadline.
    Wait(Duration),
}

/// A held lock; dropping it, or dying, frees it.
#[derive(Debug)]
pub struct FileLock {
    file: File,
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // A process that another thread has just forked has the file open until it becomes its program: closing alone would leave the
        // lock with it, and for that long whoever looks would take somebody for alive who is not (S9).
        while rustix::fs::flock(&self.file, FlockOperation::Unlock) == Err(Errno::INTR) {}
    }
}

impl FileLock {
    /// Takes the lock of a lock file, which is made when it is missing.
    ///
    /// # Errors
    /// `BUSY` when it is not free in time, `ABORTED`, `TIMED_OUT`, or the system's error.
    pub fn acquire(path: &Path, kind: LockKind, patience: Patience, ctx: &Context) -> Result<Self> {
        let file = open(path)?;
        let operation = match kind {
            LockKind::Shared => FlockOperation::NonBlockingLockShared,
            LockKind::Exclusive => FlockOperation::NonBlockingLockExclusive,
        };
        let started = Instant::now();
        let mut pause = Duration::from_micros(200);
        loop {
            match rustix::fs::flock(&file, operation) {
                Ok(()) => return Ok(Self { file }),
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => {}
                Err(e) => return Err(Error::io("taking a lock of the store", e).at(path)),
            }
            ctx.check()?;
            let waited = started.elapsed();
            match patience {
                Patience::Wait(limit) if waited < limit => {
                    // Not beyond the deadline: the answer has to come in time (C12).
                    let left = ctx.deadline.map_or(limit, |at| at.saturating_duration_since(Instant::now()));
                    std::thread::sleep(pause.min(limit - waited).min(left));
                    pause = (pause * 2).min(Duration::from_millis(10));
                }
                _ => return Err(busy()),
            }
        }
    }
}

/// How long the door stays closed for others while somebody who wants the store alone waits for them to leave (C10).
const DOOR_CLOSED: Duration = Duration::from_millis(25);

/// Holds the store for reading or adding objects, together with others.
///
/// # Errors
/// As [`FileLock::acquire`].
pub fn share_store(layout: &Layout, patience: Patience, ctx: &Context) -> Result<FileLock> {
    // Who wants the store alone closes the door for moments, so that a stream of others cannot keep it out for ever.
    let _door = FileLock::acquire(&layout.door(), LockKind::Shared, patience, ctx)?;
    FileLock::acquire(&layout.store_lock(), LockKind::Shared, patience, ctx)
}

/// The store held alone; nobody else reads, adds or removes objects.
#[derive(Debug)]
pub struct StoreAlone {
    _store: FileLock,
    _door: FileLock,
}

/// Holds the store alone. Waits for all others, but lets new ones in between: those who come never wait for those who work.
///
/// # Errors
/// As [`FileLock::acquire`].
pub fn own_store(layout: &Layout, patience: Patience, ctx: &Context) -> Result<StoreAlone> {
    let started = Instant::now();
    let left = || match patience {
        Patience::Try => Duration::ZERO,
        Patience::Wait(limit) => limit.saturating_sub(started.elapsed()),
    };
    loop {
        let door = FileLock::acquire(&layout.door(), LockKind::Exclusive, Patience::Wait(left()), ctx)?;
        let wait = Patience::Wait(left().min(DOOR_CLOSED));
        match FileLock::acquire(&layout.store_lock(), LockKind::Exclusive, wait, ctx) {
            Ok(store) => return Ok(StoreAlone { _store: store, _door: door }),
            Err(error) if error.code() == Code::Busy && !left().is_zero() => {
                drop(door);
                std::thread::sleep(left().min(DOOR_CLOSED));
            }
            Err(error) => return Err(error),
        }
    }
}

fn busy() -> Error {
    Error::new(
        Code::Busy,
        "another operation holds the lock",
        "try again when it is done; a holder that died frees its lock at once",
    )
}

fn open(path: &Path) -> Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut options = std::fs::OpenOptions::new();
    options.read(true).mode(0o600).custom_flags(flags.bits() as i32);
    // A lock must work on a full disk and on a read-only store as well: an existing file is opened for reading only.
    match options.open(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let made = options.write(true).create(true).open(path);
            let file = made.map_err(|e| Error::io("making a lock file", e).at(path))?;
            // Whatever the umask (C9).
            rustix::fs::fchmod(&file, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
                .map_err(|e| Error::io("setting a lock file's mode", e).at(path))?;
            Ok(file)
        }
        other => other.map_err(|e| Error::io("opening a lock file", e).at(path)),
    }
}
