//! What every sandbox has whatever its strategy: its record, its lock, its lease, and its life by core's table (S2, S3).

use std::path::{Path, PathBuf};

use turnback_core::{CheckpointId, IllegalTransition, PlanId, SandboxId, SandboxStatus};

use super::lease::Lease;
use super::names::{Mechanism, StrategyName};
use super::record::{CopiedRecord, Record};
use super::registry::Place;
use crate::checkpoint::Manager;
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::RelPath;
use crate::store::FileLock;

/// A sandbox as this process holds it. Its lease dies with it.
#[derive(Debug)]
pub struct Handle {
    manager: Manager,
    place: Place,
    id: SandboxId,
    strategy: StrategyName,
    mechanism: Option<Mechanism>,
    plan_id: Option<PlanId>,
    resource: PathBuf,
    path: PathBuf,
    absolute_links: Vec<RelPath>,
    copied: CopiedRecord,
    _lease: Lease,
}

impl Handle {
    pub(super) fn new(manager: &Manager, place: Place, record: &Record, lease: Lease) -> Self {
        Self {
            manager: manager.clone(),
            place,
            id: record.id.clone(),
            strategy: record.strategy,
            mechanism: record.mechanism,
            plan_id: record.plan_id.clone(),
            resource: record.resource.clone(),
            path: record.path.clone(),
            absolute_links: record.absolute_links.clone(),
            copied: record.copied,
            _lease: lease,
        }
    }

    /// The manager that keeps its checkpoints.
    #[must_use]
    pub const fn manager(&self) -> &Manager {
        &self.manager
    }

    /// Its id, unique in its store.
    #[must_use]
    pub const fn id(&self) -> &SandboxId {
        &self.id
    }

    /// The id under which its checkpoints stand: its own, except for `none`, whose checkpoints are those of the resource.
    ///
    /// # Errors
    /// When the path cannot be made an id.
    pub fn checkpoints_id(&self) -> Result<SandboxId> {
        self.manager.id_at(&self.path)
    }

    /// How it isolates.
    #[must_use]
    pub const fn strategy(&self) -> StrategyName {
        self.strategy
    }

    /// How it was made; `None` where nothing was made.
    #[must_use]
    pub const fn mechanism(&self) -> Option<Mechanism> {
        self.mechanism
    }

    /// The plan that it belongs to.
    #[must_use]
    pub const fn plan_id(&self) -> Option<&PlanId> {
        self.plan_id.as_ref()
    }

    /// The resource's canonical path.
    #[must_use]
    pub fn resource(&self) -> &Path {
        &self.resource
    }

    /// Where to work; reading it changes nothing.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first 100 absolute links that lead back into the resource (F47).
    #[must_use]
    pub fn absolute_links(&self) -> &[RelPath] {
        &self.absolute_links
    }

    /// How its files came about.
    #[must_use]
    pub const fn copied(&self) -> CopiedRecord {
        self.copied
    }

    /// Its status; [`SandboxStatus::CleanedUp`] when its record is gone.
    ///
    /// # Errors
    /// `CORRUPT` when the record is damaged.
    pub fn status(&self) -> Result<SandboxStatus> {
        Ok(self.place.read()?.map_or(SandboxStatus::CleanedUp, |record| record.status))
    }

    /// The checkpoint that it is compared with and put back to: of what it was made of, or of its last commit. None without isolation, and
    /// when the sandbox is gone.
    ///
    /// # Errors
    /// `CORRUPT` when the record is damaged.
    pub fn baseline(&self) -> Result<Option<CheckpointId>> {
        Ok(self.place.read()?.and_then(|record| record.baseline))
    }

    /// Where its record lies.
    pub(super) const fn place(&self) -> &Place {
        &self.place
    }

    /// Waits for its turn and reads the record anew: another process may have changed it.
    pub(crate) fn locked(&self, ctx: &Context) -> Result<Locked<'_>> {
        let lock = self.place.lock_patiently(ctx)?;
        let record = match &lock {
            Some(_) => self.place.read()?,
            None => None,
        };
        Ok(Locked { handle: self, lock, record })
    }
}

/// A sandbox while one call works on it.
#[derive(Debug)]
pub struct Locked<'a> {
    handle: &'a Handle,
    lock: Option<FileLock>,
    record: Option<Record>,
}

impl<'a> Locked<'a> {
    pub(crate) const fn handle(&self) -> &'a Handle {
        self.handle
    }
}

impl Locked<'_> {
    /// Its status; it is cleaned up when nothing is known of it any more.
    pub(crate) fn status(&self) -> SandboxStatus {
        self.record.as_ref().map_or(SandboxStatus::CleanedUp, |record| record.status)
    }

    /// The record; an error when the sandbox is gone.
    pub(crate) fn record(&self) -> Result<&Record> {
        self.record.as_ref().filter(|_| self.lock.is_some()).ok_or_else(|| cleaned_up(&self.handle.id))
    }

    /// What it is compared with and put back to.
    pub(crate) fn baseline(&self) -> Result<CheckpointId> {
        self.record()?.baseline.ok_or_else(|| no_baseline(self.handle.strategy))
    }

    /// Fails when `next` may not follow.
    pub(crate) fn check(&self, next: SandboxStatus) -> Result<()> {
        self.status().transition(next).map(drop).map_err(illegal)
    }

    /// Goes on to `next`, which counts from now on for every process.
    pub(crate) fn become_(&mut self, next: SandboxStatus) -> Result<()> {
        self.change(next, |_| {})
    }

    /// As [`Locked::become_`], and changes the record with the same write.
    pub(crate) fn change(&mut self, next: SandboxStatus, with: impl FnOnce(&mut Record)) -> Result<()> {
        self.check(next)?;
        let mut record = self.record()?.clone();
        record.status = next;
        with(&mut record);
        self.handle.place.write(&record)?;
        self.record = Some(record);
        Ok(())
    }

    /// Takes over a record that was written meanwhile, under the same lock.
    pub(crate) fn renew(&mut self, record: Record) {
        self.record = Some(record);
    }

    /// Changes the record and nothing of the status.
    pub(crate) fn note(&mut self, with: impl FnOnce(&mut Record)) -> Result<()> {
        let mut record = self.record()?.clone();
        with(&mut record);
        self.handle.place.write(&record)?;
        self.record = Some(record);
        Ok(())
    }

    /// The first use: what was made, put back or committed becomes active (S2).
    pub(crate) fn use_(&mut self) -> Result<()> {
        use SandboxStatus::{Active, Committed, Created, RolledBack};
        match self.status() {
            Active => Ok(()),
            Created | RolledBack | Committed => self.become_(Active),
            // Gives the error that names both.
            _ => self.check(Active),
        }
    }

    /// Takes it off the registry.
    pub(crate) fn forget(&mut self, ctx: &Context) -> Result<()> {
        self.handle.place.remove(ctx)?;
        self.record = None;
        Ok(())
    }
}

/// Nothing follows a cleanup.
pub(super) fn cleaned_up(id: &SandboxId) -> Error {
    Error::new(Code::IllegalTransition, format!("the sandbox {id} was cleaned up"), "create a new sandbox")
        .with_detail("from", SandboxStatus::CleanedUp.to_string())
        .with_detail("allowed", String::new())
}

/// Core's answer as an error of the engine.
pub(crate) fn illegal(error: IllegalTransition) -> Error {
    let allowed: Vec<_> = error.allowed().iter().map(|status| status.as_str()).collect();
    let advice = match allowed.as_slice() {
        [] => "nothing follows it, create a new sandbox".to_owned(),
        allowed => format!("allowed are {}", allowed.join(", ")),
    };
    let tried = format!("a sandbox that is {} cannot become {}", error.from, error.to);
    Error::new(Code::IllegalTransition, tried, advice)
        .with_detail("from", error.from.to_string())
        .with_detail("to", error.to.to_string())
        .with_detail("allowed", allowed.join(", "))
}

/// There is nothing to compare with or to go back to (S12).
pub(crate) fn no_baseline(strategy: StrategyName) -> Error {
    Error::new(
        Code::NotUndoable,
        format!("a sandbox of strategy `{strategy}` has no baseline: writes went straight to the resource"),
        "take a checkpoint of it first, and roll back to that one",
    )
}
