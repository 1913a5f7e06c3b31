//! Making a sandbox, and finding one again.

use std::sync::Arc;

use turnback_core::{CheckpointId, SandboxId};

use super::copy_on_write::CopyOnWriteSandbox;
use super::git_worktree::GitWorktreeSandbox;
use super::lease::{Lease, until};
use super::names::StrategyName;
use super::none::NoSandbox;
use super::options::{LeaseRequest, SandboxOptions};
use super::registry::Registry;
use super::strategy::Sandbox;
use crate::checkpoint::Manager;
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::restore::GitMode;

/// The sandboxes of one store. Cheap to clone; all methods block.
#[derive(Debug, Clone)]
pub struct Sandboxes {
    pub(super) manager: Manager,
}

impl Sandboxes {
    /// Those of a manager's store.
    #[must_use]
    pub fn new(manager: &Manager) -> Self {
        Self { manager: manager.clone() }
    }

    /// Makes a sandbox. Exactly what was asked for, or an error (S5, F19); after an error nothing of it is left.
    ///
    /// # Errors
    /// `NOT_FOUND`, `NOT_A_DIRECTORY`, `PERMISSION_DENIED`, `TOO_BROAD`, `STORE_NESTED` for the resource; `INVALID_ARGUMENT` for options
    /// that the strategy does not have or a location inside the resource; `UNSUPPORTED_FILESYSTEM` for a mechanism that is not to be
    /// had; `GIT_UNSUPPORTED` for a repository that `git_worktree` does not work with; `BUSY`, `DISK_FULL`, `ABORTED`, `TIMED_OUT`, `IO`.
    pub fn create(&self, options: &SandboxOptions, ctx: &Context) -> Result<Arc<dyn Sandbox>> {
        let detached_until = match options.lease {
            LeaseRequest::Held => None,
            LeaseRequest::Detached(time) => Some(until(time)),
        };
        if options.strategy != StrategyName::GitWorktree
            && (!options.seed.is_empty() || options.carry_changes)
        {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("`{}` sandboxes have neither seeds nor carried changes", options.strategy),
                format!("leave them out, or use the strategy `{}`", StrategyName::GitWorktree),
            ));
        }
        // A resource that has half of what belongs together is no state to begin with.
        self.take_up_together_first(ctx);
        match options.strategy {
            StrategyName::None => {
                Ok(Arc::new(NoSandbox::create(&self.manager, options, detached_until, ctx)?))
            }
            StrategyName::CopyOnWrite => {
                Ok(Arc::new(CopyOnWriteSandbox::create(&self.manager, options, detached_until, ctx)?))
            }
            StrategyName::GitWorktree => {
                Ok(Arc::new(GitWorktreeSandbox::create(&self.manager, options, detached_until, ctx)?))
            }
        }
    }

    /// What a restore of a checkpoint does inside `.git` when nobody says: a directory that is ours is put back exactly, in any other
    /// one nothing is overwritten (C7).
    ///
    /// # Errors
    /// `CORRUPT` for a damaged record of the checkpoint or the sandbox.
    pub fn git_mode(&self, checkpoint: CheckpointId) -> Result<GitMode> {
        let Some(checkpoint) = self.manager.get(checkpoint)? else {
            // The restore itself says so.
            return Ok(GitMode::Keep);
        };
        let record = Registry::of(&self.manager).place(&checkpoint.sandbox_id).read()?;
        let is_ours = record.is_some_and(|record| record.holder.is_some());
        Ok(if is_ours { GitMode::Exact } else { GitMode::Keep })
    }

    /// A sandbox that was made earlier, by this process or another one; held by this process too from now on.
    ///
    /// # Errors
    /// `NOT_FOUND`, `CORRUPT` for a damaged record, `BUSY`, `IO`.
    pub fn attach(&self, id: &SandboxId, ctx: &Context) -> Result<Arc<dyn Sandbox>> {
        self.take_up_together_first(ctx);
        self.attach_alone(id, ctx)
    }

    /// As [`Sandboxes::attach`], for whoever is taking up the others.
    pub(super) fn attach_alone(&self, id: &SandboxId, ctx: &Context) -> Result<Arc<dyn Sandbox>> {
        let missing = || {
            Error::new(
                Code::NotFound,
                format!("there is no sandbox {id} in this store"),
                "see `turnback sandbox list` for the sandboxes there are, and check which store is used",
            )
        };
        let place = Registry::of(&self.manager).place(id);
        if place.read()?.is_none() {
            return Err(missing());
        }
        let lease = Lease::hold(place.directory(), ctx)?;
        // Read under the lease: whoever removes abandoned ones may have been quicker.
        let record = place.read()?.ok_or_else(missing)?;
        match record.strategy {
            StrategyName::None => Ok(Arc::new(NoSandbox::open(&self.manager, place, &record, lease))),
            StrategyName::CopyOnWrite => {
                let sandbox = CopyOnWriteSandbox::open(&self.manager, place, &record, lease);
                if super::carried::is_cut_short(&record) {
                    take_up(&sandbox, ctx);
                }
                Ok(Arc::new(sandbox))
            }
            StrategyName::GitWorktree => {
                let sandbox = GitWorktreeSandbox::open(&self.manager, place, &record, lease)?;
                if super::git_worktree::is_cut_short(&record) {
                    take_up(&sandbox, ctx);
                }
                Ok(Arc::new(sandbox))
            }
        }
    }
}

/// Finishes a commit that was cut short, or leaves it to the next call.
fn take_up(sandbox: &dyn Sandbox, ctx: &Context) {
    let taken_up = sandbox.handle().locked(ctx).and_then(|mut at| sandbox.take_up(&mut at, ctx));
    if let Err(error) = taken_up {
        tracing::warn!(%error, id = %sandbox.handle().id(), "a commit that was cut short waits for the next call");
    }
}
