//! Room that somebody takes in a store before writing (C16).

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use rustix::fs::FlockOperation;

use super::budget::{Budget, OnFull, free_space, full, on_disk};
use super::files;
use crate::error::{Code, Error, Result};

/// Room that was taken in a store; dropping it, or dying, gives it back. What was written stays written.
#[derive(Debug)]
pub struct Room<'a> {
    pub(super) budget: &'a Budget,
    pub(super) name: String,
    pub(super) taken: Mutex<Option<Reservation>>,
}

#[derive(Debug)]
pub(super) struct Reservation {
    path: PathBuf,
    /// Its lock shows that we are alive.
    _file: File,
    bytes: u64,
}

impl Room<'_> {
    /// Takes room until there is enough for `total` bytes altogether.
    ///
    /// # Errors
    /// `STORE_FULL` when the store would pass its cap, `DISK_FULL` when the disk has not that much, `BUSY`, or the system's error.
    pub fn need(&self, total: u64) -> Result<()> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.as_ref().is_some_and(|t| t.bytes >= total) {
            return Ok(());
        }
        let budget = self.budget;
        let _alone = budget.alone()?;
        if taken.is_none()
            && let Some(mut promised) = budget.promises().remove(&std::thread::current().id())
        {
            promised.become_of(budget, &self.name, promised.bytes)?;
            *taken = Some(promised);
        }
        if taken.as_ref().is_some_and(|t| t.bytes >= total) {
            return Ok(());
        }
        let survey = budget.survey()?;
        let others = survey.rooms.iter().filter(|room| room.name != self.name);
        let held = others.clone().fold(survey.settled, |sum, room| sum.saturating_add(room.counts()));
        let promised: u64 = others.map(|room| room.counts().saturating_sub(room.written)).sum();
        let written = on_disk(&budget.layout.tmp().join(&self.name))?;
        let (free, reserve) = free_space(budget.layout.root())?;
        let is_under_cap = |bytes: u64| held.saturating_add(bytes) <= budget.cap;
        let is_on_disk = |bytes: u64| {
            let more = bytes.saturating_sub(written);
            more.saturating_add(promised).saturating_add(reserve) <= free
        };
        // A little more, so that not every piece has to ask.
        let ample = total.saturating_add((budget.cap / 256).clamp(64 << 10, 8 << 20));
        let bytes = if is_under_cap(ample) && is_on_disk(ample) { ample } else { total };
        if !is_under_cap(bytes) {
            return Err(full(budget.cap, held, bytes));
        }
        if !is_on_disk(bytes) {
            return Err(Error::new(
                Code::DiskFull,
                format!("the store's disk has {free} bytes left, too few for what has to be written"),
                "free some space, or delete checkpoints",
            )
            .at(budget.layout.root()));
        }
        match &mut *taken {
            Some(reservation) => reservation.become_of(budget, &self.name, bytes),
            none => {
                *none = Some(Reservation::new(budget, &self.name, bytes)?);
                Ok(())
            }
        }
    }

    /// Gives `spare` bytes back for what the same caller writes beside, as long as `least` stay.
    ///
    /// # Errors
    /// `BUSY`, or the system's error.
    pub fn spare(&self, spare: u64, least: u64) -> Result<()> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(reservation) = taken.as_mut().filter(|t| t.bytes > least) else { return Ok(()) };
        let _alone = self.budget.alone()?;
        let bytes = reservation.bytes.saturating_sub(spare).max(least);
        reservation.become_of(self.budget, &self.name, bytes)
    }

    /// How many bytes were taken.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(0, |t| t.bytes)
    }

    /// What the store's budget says of something that needs this many bytes and does not fit.
    #[must_use]
    pub fn refuse(&self, needed: u64) -> Error {
        full(self.budget.cap, 0, needed)
    }

    /// Whether more could ever fit under the cap.
    #[must_use]
    pub const fn can_ever_hold(&self, bytes: u64) -> bool {
        bytes <= self.budget.cap
    }

    /// What happens when something does not fit.
    #[must_use]
    pub const fn on_full(&self) -> OnFull {
        self.budget.on_full
    }
}

impl Reservation {
    fn new(budget: &Budget, name: &str, bytes: u64) -> Result<Self> {
        let path = budget.reservation(name, bytes);
        let file = files::create_file(&path)?;
        let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
        let reservation = Self { path, _file: file, bytes };
        locked.map(|()| reservation).map_err(|errno| Error::io("taking room in the store", errno))
    }

    /// Gives it another owner or another size. The budget's lock must be held.
    fn become_of(&mut self, budget: &Budget, name: &str, bytes: u64) -> Result<()> {
        let path = budget.reservation(name, bytes);
        match std::fs::rename(&self.path, &path) {
            Ok(()) => {
                self.path = path;
                self.bytes = bytes;
                Ok(())
            }
            // Swept while no lock of the store was held.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                *self = Self::new(budget, name, bytes)?;
                Ok(())
            }
            Err(e) => Err(Error::io("taking room in the store", e).at(&path)),
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        files::remove_leftover(&self.path);
    }
}
