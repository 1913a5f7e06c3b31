//! Leases: who keeps a sandbox from counting as abandoned (S9). A lock that dies with its holder, or a time in the record.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use turnback_core::Millis;

use crate::checkpoint::baseline::wall_clock;
use crate::context::Context;
use crate::error::{Code, Result};
use crate::store::{FileLock, LockKind, Patience};

/// When a time from now is over.
pub(super) fn until(time: Duration) -> Millis {
    let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Millis::since_epoch(wall_clock().as_u64().saturating_add(ms))
}

/// Whether a detached sandbox's time is not over yet.
pub(super) fn runs(detached_until: Option<Millis>) -> bool {
    detached_until.is_some_and(|until| wall_clock() < until)
}

/// Whoever cleans up holds a lease for a moment.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long somebody who only looks can hold a lease.
const A_MOMENT: Duration = Duration::from_millis(3);

/// Who keeps a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// This process holds it.
    ThisProcess,
    /// Another process holds it.
    Alive,
    /// Nobody holds it, and its time has not passed.
    Detached,
    /// Nobody does.
    Orphan,
}

impl Owner {
    /// The name as users see it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ThisProcess => "this_process",
            Self::Alive => "alive",
            Self::Detached => "detached",
            Self::Orphan => "orphan",
        }
    }
}

/// How often each lease is held by this process.
static HELD: Mutex<Option<HashMap<PathBuf, usize>>> = Mutex::new(None);

fn held() -> MutexGuard<'static, Option<HashMap<PathBuf, usize>>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A held lease; several may hold one sandbox.
#[derive(Debug)]
pub(crate) struct Lease {
    _lock: FileLock,
    place: PathBuf,
}

fn file(directory: &Path) -> PathBuf {
    directory.join("lease")
}

impl Lease {
    /// Holds a sandbox that is there.
    pub(crate) fn hold(place: &Path, ctx: &Context) -> Result<Self> {
        Self::hold_new(place, place, ctx)
    }

    /// Holds a sandbox whose directory is still called `made` and will lie at `place`.
    pub(super) fn hold_new(made: &Path, place: &Path, ctx: &Context) -> Result<Self> {
        let lock = FileLock::acquire(&file(made), LockKind::Shared, Patience::Wait(PATIENCE), ctx)?;
        *held().get_or_insert_default().entry(place.to_owned()).or_default() += 1;
        Ok(Self { _lock: lock, place: place.to_owned() })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut held = held();
        let Some(counts) = held.as_mut() else { return };
        if let Some(count) = counts.get_mut(&self.place) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.place);
            }
        }
    }
}

/// Who keeps a sandbox now.
pub(crate) fn owner(place: &Path, detached_until: Option<Millis>) -> Result<Owner> {
    if held().as_ref().is_some_and(|counts| counts.contains_key(place)) {
        return Ok(Owner::ThisProcess);
    }
    Ok(match claim(place, detached_until)? {
        Claim::Refused(owner) => owner,
        Claim::Held(_) => Owner::Orphan,
    })
}

/// What came of claiming a sandbox that seems to be abandoned.
pub(crate) enum Claim {
    /// Somebody keeps it.
    Refused(Owner),
    /// It is ours to look at: nobody can come to hold it meanwhile.
    Held(FileLock),
}

/// Claims an abandoned sandbox.
pub(crate) fn claim(place: &Path, detached_until: Option<Millis>) -> Result<Claim> {
    let path = file(place);
    // Others who look hold it for a moment.
    match FileLock::acquire(&path, LockKind::Exclusive, Patience::Wait(A_MOMENT), &Context::default()) {
        Ok(_) if runs(detached_until) => Ok(Claim::Refused(Owner::Detached)),
        Ok(lock) => Ok(Claim::Held(lock)),
        Err(error) if error.code() == Code::Busy => {
            let ours = held().as_ref().is_some_and(|counts| counts.contains_key(place));
            Ok(Claim::Refused(if ours { Owner::ThisProcess } else { Owner::Alive }))
        }
        Err(error) => Err(error),
    }
}
