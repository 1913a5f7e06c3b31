//! The byte cap of a store, which is never passed (C16, F1): who wants to write takes room first, under a lock, and everybody counts what
//! the others have taken. What a dead process had taken is free again, because its lock died with it.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, SystemTime};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::layout::Layout;
use super::lock::{FileLock, LockKind, Patience};
use super::room::{Reservation, Room};
use super::{files, grave};
use crate::context::Context;
use crate::error::{Code, Error, Result};

/// The largest cap that is set by itself: 20 GiB.
pub const MAX_DEFAULT_CAP: u64 = 20 << 30;

/// The smallest cap: below it a store could not even be made.
pub const MIN_CAP: u64 = 256 << 10;

/// What is kept free on the disk, so that we are not the ones who fill it to the last byte: a hundredth of it, at most 64 MiB.
const MAX_RESERVE: u64 = 64 << 20;

/// Measuring and taking room is short: who holds the lock for longer is stuck.
const PATIENCE: Duration = Duration::from_secs(10);

/// How the names of reservations begin, in the store's `tmp`.
const PREFIX: &str = "room-";

/// How the names of staging directories begin, in the store's `tmp`.
pub(crate) const STAGE: &str = "stage-";

/// What happens when a checkpoint does not fit under the cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFull {
    /// The oldest automatic checkpoints without pin and label go until it fits.
    #[default]
    Prune,
    /// It fails with `STORE_FULL`.
    Fail,
}

/// How much a store may hold, and how much it holds.
#[derive(Debug)]
pub struct Budget {
    pub(super) layout: Layout,
    pub(super) cap: u64,
    pub(super) on_full: OnFull,
    /// Sizes of checkpoints' directories, as long as those do not change.
    sizes: Mutex<HashMap<String, (Stamp, u64)>>,
    /// Room that was made for what a thread is about to write.
    promised: Mutex<HashMap<ThreadId, Reservation>>,
}

/// What counts against a cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Bytes on the disk that stay.
    pub settled: u64,
    /// Bytes that are being written, or may be.
    pub taken: u64,
}

type Stamp = (u64, i64, i64);

/// What the store holds, and what is taken.
pub(super) struct Survey {
    /// Bytes on the disk that belong to no reservation.
    pub(super) settled: u64,
    pub(super) rooms: Vec<Taken>,
}

/// The reservation of somebody who is alive.
pub(super) struct Taken {
    pub(super) name: String,
    reserved: u64,
    /// What is on the disk already.
    pub(super) written: u64,
}

impl Budget {
    /// The budget of a store; `None` for the default cap.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a cap below [`MIN_CAP`], or the system's error.
    pub fn new(layout: Layout, cap: Option<u64>, on_full: OnFull) -> Result<Self> {
        let cap = match cap {
            Some(cap) if cap < MIN_CAP => {
                return Err(Error::new(
                    Code::InvalidArgument,
                    format!("a limit of {cap} bytes is too small for a store"),
                    format!("give at least {MIN_CAP} bytes"),
                ));
            }
            Some(cap) => cap,
            None => default_cap(layout.root())?,
        };
        Ok(Self { layout, cap, on_full, sizes: Mutex::default(), promised: Mutex::default() })
    }

    /// The most bytes that the store may hold.
    #[must_use]
    pub const fn cap(&self) -> u64 {
        self.cap
    }

    /// What happens when something does not fit.
    #[must_use]
    pub const fn on_full(&self) -> OnFull {
        self.on_full
    }

    /// What counts against the cap: the bytes that the store holds, and those that somebody has taken for what is being written.
    ///
    /// # Errors
    /// `BUSY`, or the system's error.
    pub fn held(&self) -> Result<Held> {
        let _alone = self.alone()?;
        let survey = self.survey()?;
        let taken = survey.rooms.iter().fold(0, |sum: u64, room| sum.saturating_add(room.counts()));
        Ok(Held { settled: survey.settled, taken })
    }

    /// Room for a file or a directory called `name` in `tmp`; nothing is taken yet. The store's lock must be held, shared or alone, as
    /// long as there is room: then nobody sweeps.
    #[must_use]
    pub fn room(&self, name: String) -> Room<'_> {
        Room { budget: self, name, taken: Mutex::new(None) }
    }

    /// Takes room for what this thread writes next, so that nobody is faster: the first [`Room`] in which it needs some begins with it.
    ///
    /// # Errors
    /// As [`Room::need`].
    pub fn promise(&self, bytes: u64) -> Result<()> {
        let room = self.room(files::random_name()?);
        room.need(bytes)?;
        let taken = room.taken.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(reservation) = taken {
            self.promises().insert(std::thread::current().id(), reservation);
        }
        Ok(())
    }

    /// Gives back what was promised to this thread and not used.
    pub fn forget_promise(&self) {
        self.promises().remove(&std::thread::current().id());
    }

    pub(super) fn reservation(&self, name: &str, bytes: u64) -> PathBuf {
        self.layout.tmp().join(format!("{PREFIX}{name}-{bytes}"))
    }

    pub(super) fn promises(&self) -> std::sync::MutexGuard<'_, HashMap<ThreadId, Reservation>> {
        self.promised.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn alone(&self) -> Result<FileLock> {
        let path = self.layout.budget_lock();
        FileLock::acquire(&path, LockKind::Exclusive, Patience::Wait(PATIENCE), &Context::default())
    }

    /// Measures. The budget's lock must be held.
    pub(super) fn survey(&self) -> Result<Survey> {
        // Reservations first: what is published between the two is counted twice rather than not at all.
        let tmp = self.layout.tmp();
        let names = files::names(&tmp)?;
        let mut rooms = Vec::new();
        for name in &names {
            let Some((of, reserved)) = parse(name) else { continue };
            if is_alive(&tmp.join(name))? {
                // What is staged for a rollback may be a large tree: it counts as announced.
                let written = if of.starts_with(STAGE) { 0 } else { on_disk(&tmp.join(of))? };
                rooms.push(Taken { name: of.to_owned(), reserved, written });
            } else {
                files::remove_leftover(&tmp.join(name));
            }
        }
        let mut settled = own(self.layout.root())?;
        for name in files::names(self.layout.root())? {
            let path = self.layout.root().join(name);
            let bytes = if path == tmp {
                let others = names.iter().filter(|n| rooms.iter().all(|room| room.name != **n));
                others.map(|n| on_disk(&tmp.join(n))).try_fold(own(&tmp)?, add)?
            } else if path == self.layout.checkpoints() {
                self.checkpoints()?
            } else {
                on_disk(&path)?
            };
            settled = settled.saturating_add(bytes);
        }
        Ok(Survey { settled, rooms })
    }

    fn checkpoints(&self) -> Result<u64> {
        /// Within this time a directory can change twice with one and the same timestamp.
        const RACY: Duration = Duration::from_secs(2);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let settled_before = i64::try_from(now.saturating_sub(RACY).as_secs()).unwrap_or(0);
        let directory = self.layout.checkpoints();
        let mut total = own(&directory)?;
        let mut sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = std::mem::take(&mut *sizes);
        for name in files::names(&directory)? {
            let path = directory.join(&name);
            let Some(metadata) = metadata(&path)? else { continue };
            let stamp = (metadata.ino(), metadata.ctime(), metadata.ctime_nsec());
            let bytes = match known.remove(&name) {
                Some((then, bytes)) if then == stamp => bytes,
                _ => on_disk(&path)?,
            };
            if stamp.1 < settled_before {
                sizes.insert(name, (stamp, bytes));
            }
            total = total.saturating_add(bytes);
        }
        Ok(total)
    }
}

impl Taken {
    pub(super) fn counts(&self) -> u64 {
        self.reserved.max(self.written)
    }
}

const NEEDED: &str = "neededBytes";

pub(super) fn full(cap: u64, held: u64, needed: u64) -> Error {
    let holds = if held == 0 { String::new() } else { format!(" holds {held} bytes and") };
    // What is larger than the whole store does not fit into an empty one either.
    let advice = match needed <= cap {
        true => {
            "delete checkpoints (`turnback prune --keep-last`, `turnback delete`), or raise the cap (`maxBytes`, --store-cap)"
        }
        false => "raise the cap (`maxBytes`, --store-cap)",
    };
    Error::new(
        Code::StoreFull,
        format!("the store{holds} may hold {cap} bytes; {needed} more are needed"),
        advice,
    )
    .with_detail(NEEDED, needed.to_string())
    .with_detail("maxBytes", cap.to_string())
}

/// The bytes that were needed when a store turned out to be full.
#[must_use]
pub fn needed_bytes(error: &Error) -> Option<u64> {
    let needed = error.details().iter().find(|(name, _)| *name == NEEDED);
    needed.filter(|_| error.code() == Code::StoreFull)?.1.parse().ok()
}

/// The smaller of 20 GiB and a fifth of the disk (C16).
fn default_cap(root: &Path) -> Result<u64> {
    let (all, _) = space(root)?;
    Ok((all / 5).clamp(MIN_CAP, MAX_DEFAULT_CAP))
}

/// Bytes that we could write, and bytes of these that we leave alone.
pub(super) fn free_space(root: &Path) -> Result<(u64, u64)> {
    let (all, free) = space(root)?;
    Ok((free, (all / 100).min(MAX_RESERVE)))
}

/// The size of the file system and what of it we could write, in bytes.
fn space(root: &Path) -> Result<(u64, u64)> {
    let fs = rustix::fs::statvfs(root).map_err(|e| Error::io("examining the store's file system", e))?;
    // Some file systems in memory have no size.
    let bytes = |blocks: u64| if fs.f_blocks == 0 { u64::MAX } else { blocks.saturating_mul(fs.f_frsize) };
    Ok((bytes(fs.f_blocks), bytes(fs.f_bavail)))
}

fn parse(name: &str) -> Option<(&str, u64)> {
    let (of, bytes) = name.strip_prefix(PREFIX)?.rsplit_once('-')?;
    Some((of, bytes.parse().ok()?))
}

/// Whether the process that made a reservation still holds it.
fn is_alive(path: &Path) -> Result<bool> {
    let file = match files::open_file(path) {
        Ok(file) => file,
        Err(error) if error.code() == Code::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(false),
        Err(Errno::AGAIN) => Ok(true),
        Err(errno) => Err(Error::io("examining a reservation", errno).at(path)),
    }
}

fn metadata(path: &Path) -> Result<Option<std::fs::Metadata>> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        // What a dead process staged may be deeper than a path can be; it goes at the next open.
        Err(e) if e.raw_os_error() == Some(Errno::NAMETOOLONG.raw_os_error()) => Ok(None),
        Err(e) => Err(Error::io("examining a file of the store", e).at(path)),
    }
}

/// Allocated bytes of a file or a directory itself.
fn own(path: &Path) -> Result<u64> {
    Ok(metadata(path)?.map_or(0, |m| m.blocks().saturating_mul(512)))
}

/// Allocated bytes of a file, or of a directory and everything beneath it. What is about to be removed and has another name counts
/// there.
pub(super) fn on_disk(path: &Path) -> Result<u64> {
    let Some(metadata) = metadata(path)? else { return Ok(0) };
    let is_grave = |p: &Path| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with(grave::PREFIX));
    if !metadata.is_dir() {
        let counts_elsewhere = metadata.nlink() > 1 && path.ancestors().any(is_grave);
        return Ok(if counts_elsewhere { 0 } else { metadata.blocks().saturating_mul(512) });
    }
    let reading = |e: std::io::Error| Error::io("measuring the store", e).at(path);
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        Err(e) => return Err(reading(e)),
    };
    let sizes = entries.map(|entry| on_disk(&entry.map_err(reading)?.path()));
    sizes.into_iter().try_fold(metadata.blocks().saturating_mul(512), add)
}

fn add(sum: u64, more: Result<u64>) -> Result<u64> {
    more.map(|more| sum.saturating_add(more))
}
