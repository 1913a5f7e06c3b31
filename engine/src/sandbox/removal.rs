//! Removing what a sandbox consists of, in an order that a crash may cut short anywhere: the record goes last.

use std::path::Path;

use rustix::fs::FileType;
use rustix::io::Errno;
use turnback_core::PlanId;

use super::beside::{beside, remove_own};
use super::handle::Locked;
use super::locations::drop_if_empty;
use super::names::{Mechanism, StrategyName};
use super::record::Record;
use super::remains::Remains;
use crate::checkpoint::Manager;
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::escape;
use crate::restore::Root;

/// The plan that a sandbox's own checkpoints belong to.
pub(super) fn plan_of(plan_id: Option<&PlanId>) -> Result<PlanId> {
    match plan_id {
        Some(plan) => Ok(plan.clone()),
        None => PlanId::new("sandbox").map_err(|e| {
            Error::new(Code::Io, "the sandbox's checkpoints have no plan", "please report this").because(e)
        }),
    }
}

/// Removes the files, the baseline and the record of a sandbox that is cleaned up.
///
/// # Errors
/// When its files cannot be removed. A baseline that cannot be removed stays, and with it the record, for a later cleanup.
pub(super) fn remove(at: &mut Locked<'_>, ctx: &Context) -> Result<Remains> {
    let record = at.record()?.clone();
    let manager = at.handle().manager().clone();
    let left = remove_files(&record, ctx)?;
    if let Err(error) = forget(&manager, &record, ctx) {
        tracing::warn!(%error, id = %record.id, "the sandbox stays listed until its baseline can be deleted");
        return Ok(left);
    }
    at.forget(ctx)?;
    Ok(left)
}

/// Deletes what the store holds for a sandbox, save the checkpoints that somebody took in it.
pub(super) fn forget(manager: &Manager, record: &Record, ctx: &Context) -> Result<()> {
    if record.holder.is_some() {
        // What a killed rollback was to make of the directory; it would keep the baseline.
        manager.let_go_of_restore(&record.path, ctx)?;
    }
    super::carried::forget(manager, record)?;
    if record.strategy == StrategyName::GitWorktree {
        super::git_worktree::forget(manager, record)?;
    }
    if let Some(baseline) = record.baseline {
        manager.delete(baseline)?;
    }
    if record.holder.is_some() {
        manager.forget_workspace(&manager.id_at(&record.path)?, ctx)?;
    }
    Ok(())
}

/// Removes what a sandbox has in its repository, its root, and the directory around that: beneath its descriptor, never following a link.
/// What lies beside the root and is not the sandbox's own stays, and the directory with it; the report names it.
pub(super) fn remove_files(record: &Record, ctx: &Context) -> Result<Remains> {
    let mut report = Remains::default();
    if record.strategy == StrategyName::GitWorktree {
        report = super::git_worktree::unregister(record, ctx)?;
    }
    let Some(holder) = &record.holder else { return Ok(report) };
    let Some((base, name)) = holder.parent().zip(holder.file_name()) else { return Ok(report) };
    let failed = |errno: Errno| removal_failed(holder, errno);
    let root = match Root::open(base) {
        Ok(root) => root,
        Err(error) if error.code() == Code::NotFound => return Ok(report),
        Err(error) => return Err(error),
    };
    let name = std::os::unix::ffi::OsStrExt::as_bytes(name);
    match root.top().lstat_opt(name).map_err(failed)? {
        None => {}
        // A link or a file in its place is followed by nobody and stays.
        Some(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::Directory => {
            report.paths.push(holder.clone());
        }
        Some(_) => {
            let dir = root.top().dir(name).map_err(failed)?;
            if record.mechanism == Some(Mechanism::Btrfs) {
                super::frozen::remove(record, &dir);
            }
            report.paths = remove_own(record, holder, &dir).map_err(failed)?;
            match root.top().rmdir(name) {
                Ok(()) => {}
                // What is there now came meanwhile.
                Err(Errno::NOTEMPTY | Errno::EXIST) => report.paths = beside(record)?,
                Err(errno) => return Err(failed(errno)),
            }
        }
    }
    drop_if_empty(base, record.own_base);
    Ok(report)
}

fn removal_failed(holder: &Path, errno: Errno) -> Error {
    if matches!(errno, Errno::BUSY | Errno::XDEV) {
        let path = escape(std::os::unix::ffi::OsStrExt::as_bytes(holder.as_os_str()));
        return Error::new(
            Code::Busy,
            format!("something is mounted in the sandbox (`{path}`)"),
            "unmount it and clean up again; nothing is deleted through a mount",
        )
        .because(std::io::Error::from(errno));
    }
    Error::io("removing the sandbox's files", errno).at(holder)
}
