//! The frozen snapshot beside a sandbox that is a snapshot itself. Making the two takes a moment at any size; the baseline is pictured from
//! the frozen one when it is first needed, and that one goes then (W6).

use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::handle::Locked;
use super::locations::unsupported;
use super::names::{Mechanism, MechanismChoice};
use super::record::Record;
use super::registry::Place;
use super::removal::plan_of;
use super::snapshot;
use crate::checkpoint::Manager;
use crate::checkpoint::baseline::Frozen;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::model::Timestamp;
use crate::restore::{Dir, Root};
use crate::tree::sys;

/// The record's note that the baseline is still to be pictured.
const FROZEN: &str = "frozen";

/// The name of the sandbox's root with something after it: never that name itself.
pub(super) fn path_of(record: &Record) -> PathBuf {
    let mut path = record.path.clone().into_os_string();
    path.push(".frozen");
    path.into()
}

fn name_of(path: &std::path::Path) -> &[u8] {
    path.file_name().map(OsStrExt::as_bytes).unwrap_or_default()
}

/// Takes both snapshots: the frozen one of the resource, and of that one the other, so that they are equal. Gives the file clock as it
/// was right before.
///
/// # Errors
/// `UNSUPPORTED_FILESYSTEM` when the system refuses one.
pub(super) fn take(record: &Record, holder: &Dir) -> Result<Timestamp> {
    let refused = |e: std::io::Error| unsupported(MechanismChoice::Btrfs, &[e.to_string()]).because(e);
    let resource = sys::open_root(&record.resource)
        .map_err(|e| Error::io("opening the resource", e).at(&record.resource))?;
    let frozen = path_of(record);
    let before = sys::file_clock();
    snapshot::take(resource.as_fd(), holder, name_of(&frozen), true).map_err(refused)?;
    // One that came meanwhile would be empty.
    snapshot::can_be_taken_of(&record.resource)
        .map_err(|reason| unsupported(MechanismChoice::Btrfs, &[reason]))?;
    let source = holder
        .dir(name_of(&frozen))
        .and_then(|dir| dir.readable())
        .map_err(|e| Error::io("opening the snapshot", e).at(&frozen))?;
    snapshot::take(source.as_fd(), holder, name_of(&record.path), false).map_err(refused)?;
    let_clock_tick();
    Ok(before)
}

/// Lets the clock that stamps files move on, so that no write in the sandbox can have a timestamp that something has already.
fn let_clock_tick() {
    let now = || {
        let now = sys::file_clock();
        (now.sec, now.nsec)
    };
    let taken = now();
    while now() <= taken {
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
}

/// Notes that the baseline is to be pictured.
pub(super) fn note(record: &mut Record, at: Timestamp) {
    record.extra.insert(FROZEN.to_owned(), format!("{} {}", at.sec, at.nsec));
}

/// When the snapshots were taken, by the file clock; older records do not say.
fn taken_at(note: &str) -> Option<Timestamp> {
    let (sec, nsec) = note.split_once(' ')?;
    Some(Timestamp { sec: sec.parse().ok()?, nsec: nsec.parse().ok()? })
}

/// Pictures the baseline of a sandbox that has only its frozen snapshot, and gives the new record, which is written; `None` when it has
/// one. The sandbox's lock must be held.
pub(super) fn pictured(
    manager: &Manager,
    place: &Place,
    record: &Record,
    ctx: &Context,
) -> Result<Option<Record>> {
    let Some(noted) = record.extra.get(FROZEN) else { return Ok(None) };
    // One that a killed process made.
    manager.let_go_of_commits(&record.id)?;
    let path = path_of(record);
    let plan_id = plan_of(record.plan_id.as_ref())?;
    let (resource, sandbox, at) = (&record.resource, &record.path, taken_at(noted));
    let frozen = Frozen { path: &path, resource, sandbox, at };
    let baseline = manager.take_frozen(&frozen, &plan_id, ctx)?;
    let mut next = record.clone();
    next.extra.remove(FROZEN);
    next.baseline = Some(baseline);
    place.write(&next)?;
    if let Some(Ok(holder)) = record.holder.as_deref().map(Root::open) {
        snapshot::remove(holder.top(), name_of(&path));
    }
    Ok(Some(next))
}

/// As [`pictured`], for a sandbox that a call works on.
pub(super) fn know(at: &mut Locked<'_>, ctx: &Context) -> Result<()> {
    let handle = at.handle();
    if let Ok(record) = at.record()
        && let Some(next) = pictured(handle.manager(), handle.place(), record, ctx)?
    {
        at.renew(next);
    }
    Ok(())
}

/// Removes the snapshots of a sandbox as far as they can be removed at once; what is left is removed as any directory.
pub(super) fn remove(record: &Record, holder: &Dir) {
    debug_assert!(record.mechanism == Some(Mechanism::Btrfs));
    for path in [&record.path, &path_of(record)] {
        if matches!(holder.lstat_opt(name_of(path)), Ok(Some(_))) {
            snapshot::remove(holder, name_of(path));
        }
    }
}
