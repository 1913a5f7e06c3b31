//! A worktree of a git repository with a branch of its own (S7, S8).
//!
//! libgit2 is used for what it is best at: reading objects, merging texts, reading and writing an index. It never opens the repository:
//! that would read the configuration of the repository, the user and the machine, and its checkout converts bytes. Refs, registration
//! and files are read and written here, through descriptors that follow no link. Nothing of the repository is ever run.

mod aim;
mod carry;
mod changed;
mod checkout;
mod config;
mod create;
mod files;
mod finish;
mod history;
mod identity;
mod ignored;
mod index;
mod info;
mod kept_index;
mod leads_out;
mod line;
mod local;
mod local_changes;
mod lock;
mod merge;
mod mover;
mod moving;
mod next_baseline;
mod objects;
mod obstacles;
mod pending;
mod put_back;
mod refs;
mod refusal;
mod registration;
mod repository;
mod saved;
mod seeds;
mod settings;
mod taking_back;
mod worktree_index;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::commit::{CommitOptions, CommitReport};
use super::handle::{Handle, Locked};
use super::lease::Lease;
use super::record::Record;
use super::registry::Place;
use super::remains::Remains;
use super::strategy::Sandbox;
use crate::change::Change;
use crate::checkpoint::baseline::BASELINE_LABEL;
use crate::checkpoint::{DiffTo, Manager};
use crate::context::Context;
use crate::error::Result;
use crate::report::RollbackReport;
pub(super) use config::Config;
pub(super) use files::read_raw;
pub use info::GitInfo;
pub(super) use leads_out::{check_file, check_link, check_resource, may_lead};
use registration::Registered;

/// A worktree outside the repository, on a branch of its own.
#[derive(Debug)]
pub struct GitWorktreeSandbox {
    handle: Handle,
    info: GitInfo,
    common: PathBuf,
    /// What was told of the repository's settings last.
    told: Mutex<Vec<PathBuf>>,
}

impl GitWorktreeSandbox {
    pub(super) fn open(manager: &Manager, place: Place, record: &Record, lease: Lease) -> Result<Self> {
        let registered = Registered::of(record)?;
        let info = GitInfo::of(record, &registered);
        Ok(Self {
            handle: Handle::new(manager, place, record, lease),
            info,
            common: registered.common,
            told: Mutex::default(),
        })
    }
}

impl GitWorktreeSandbox {
    /// Warns when git's settings in the resource's repository are not what they were; of the same ones once.
    fn tell_settings(&self, record: &Record) {
        settings::tell(record, &mut self.told.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Sandbox for GitWorktreeSandbox {
    fn handle(&self) -> &Handle {
        &self.handle
    }

    fn compare(&self, at: &Locked<'_>, ctx: &Context) -> Result<Vec<Change>> {
        at.handle().manager().diff(at.baseline()?, DiffTo::Now, ctx)
    }

    fn has_unsaved(&self, at: &Locked<'_>, ctx: &Context) -> Result<bool> {
        at.handle().manager().differs(at.baseline()?, ctx)
    }

    fn take_up(&self, at: &mut Locked<'_>, ctx: &Context) -> Result<()> {
        carry::take_up(at, ctx)?;
        self.tell_settings(at.record()?);
        Ok(())
    }

    fn commit(&self, options: &CommitOptions, ctx: &Context) -> Result<CommitReport> {
        self.commit_now(options, false, ctx)
    }

    fn foresee(&self, options: &CommitOptions, ctx: &Context) -> Result<CommitReport> {
        self.commit_now(options, true, ctx)
    }

    fn changed_settings(&self, ctx: &Context) -> Result<Vec<PathBuf>> {
        settings::changed(self.handle.locked(ctx)?.record()?)
    }

    fn undo_commit(&self, ctx: &Context) -> Result<RollbackReport> {
        self.undo_now(ctx)
    }

    fn put_back(&self, at: &Locked<'_>, ctx: &Context) -> Result<RollbackReport> {
        put_back::put_back(at, ctx)
    }

    /// Git keeps a worktree's HEAD, index, branch and objects in the repository (F61).
    fn writable_paths(&self) -> Vec<PathBuf> {
        vec![self.handle.path().to_owned(), self.common.clone()]
    }

    fn git(&self) -> Option<&GitInfo> {
        Some(&self.info)
    }
}

/// Takes back what a sandbox has in its repository, and names what has to stay.
pub(super) fn unregister(record: &Record, ctx: &Context) -> Result<Remains> {
    Registered::of(record)?.unmake(&record.resource, &record.path, ctx)
}

/// Whether a commit was begun, or taken back, and nobody has seen the end.
pub(super) fn is_cut_short(record: &Record) -> bool {
    !matches!(pending::Pending::of(record), Ok(None))
}

/// Finishes a commit of a sandbox that nobody holds and that was cut short.
pub(super) fn take_up_abandoned(
    manager: &Manager,
    place: &Place,
    record: &Record,
    ctx: &Context,
) -> Result<Option<Record>> {
    settings::tell(record, &mut Vec::new());
    finish::recover(manager, place, record, ctx)
}

/// Deletes the checkpoints that belong to a worktree besides its baseline.
pub(super) fn forget(manager: &Manager, record: &Record) -> Result<()> {
    if let Some(undo) = pending::Undo::of(record)? {
        if let Some((before, after)) = pending::ids(undo.checkpoints.as_ref())? {
            if manager.get(before)?.is_some() {
                manager.set_pinned(before, false)?;
            }
            manager.delete(after)?;
        }
        finish::delete(manager, &undo.baseline)?;
    }
    // Baselines of commits that were cut short.
    for listed in manager.list(Some(&record.id))?.checkpoints {
        if listed.label.as_deref() == Some(BASELINE_LABEL) {
            manager.delete(listed.checkpoint.checkpoint_id)?;
        }
    }
    Ok(())
}
