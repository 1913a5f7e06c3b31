//! What a new sandbox is to be.

use std::path::PathBuf;
use std::time::Duration;

use turnback_core::PlanId;

use super::names::{MechanismChoice, StrategyName};

/// Who keeps a sandbox from counting as abandoned (S9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LeaseRequest {
    /// The processes that hold it; it dies with the last of them.
    #[default]
    Held,
    /// Nobody has to, until this much time has passed: for command lines.
    Detached(Duration),
}

/// What a new sandbox is to be.
#[derive(Debug, Clone)]
pub struct SandboxOptions {
    /// The directory to isolate. A relative path is resolved once, by the process's working directory.
    pub resource: PathBuf,
    /// How.
    pub strategy: StrategyName,
    /// The plan that it belongs to.
    pub plan_id: Option<PlanId>,
    /// How a `copy_on_write` sandbox is made; for the others only `auto`.
    pub mechanism: MechanismChoice,
    /// The directory in which to make it. By default one beside the store, or one on the resource's file system where only that one
    /// lets files share their blocks.
    pub location: Option<PathBuf>,
    /// For `git_worktree`: paths relative to the resource, ignored or untracked ones, that are carried in with all that lies beneath
    /// them and never committed back.
    pub seed: Vec<PathBuf>,
    /// For `git_worktree`: begin with the resource's uncommitted state instead of its commit.
    pub carry_changes: bool,
    /// Who keeps it.
    pub lease: LeaseRequest,
    /// More paths than this fail with `TOO_BROAD`.
    pub max_files: Option<u64>,
}

impl SandboxOptions {
    /// A `copy_on_write` sandbox held by this process.
    #[must_use]
    pub fn new(resource: impl Into<PathBuf>) -> Self {
        Self {
            resource: resource.into(),
            strategy: StrategyName::default(),
            plan_id: None,
            mechanism: MechanismChoice::default(),
            location: None,
            seed: Vec::new(),
            carry_changes: false,
            lease: LeaseRequest::default(),
            max_files: None,
        }
    }
}
