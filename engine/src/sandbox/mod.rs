//! Sandboxes (S1–S12): isolated copies of a directory, behind one small trait, listed in a registry from before their first file on.
//!
//! *Making and finding them:* [`Sandboxes`]. *Working with one:* [`Sandbox`]. *Those of a plan:* [`SandboxManager`].
//! A strategy is a type that implements [`Sandbox`]'s three required steps; life, lock, lease and registry are the same for all.

mod abandoned;
mod beside;
mod carried;
mod commit;
mod commit_all;
mod contains;
mod copier;
mod copy_on_write;
mod ephemeral;
mod frozen;
mod git_worktree;
mod handle;
mod held_back;
mod leads;
mod lease;
mod locations;
mod missing;
mod names;
mod none;
mod options;
mod outside;
mod plans;
mod record;
mod registry;
mod remains;
mod removal;
mod sandboxes;
mod snapshot;
mod strategy;
mod texts;
mod three_way;
mod together;

pub use abandoned::{AbandonedReport, Kept, SandboxAbout, SandboxInfo};
pub use commit::{CommitOptions, CommitReport, HeldBack, HoldReason, MergeMode, OnCommitConflict};
pub use copy_on_write::CopyOnWriteSandbox;
pub use git_worktree::{GitInfo, GitWorktreeSandbox};
pub use handle::{Handle, Locked};
pub use lease::Owner;
pub(crate) use locations::mechanisms;
pub use names::{Mechanism, MechanismChoice, StrategyName};
pub use none::NoSandbox;
pub use options::{LeaseRequest, SandboxOptions};
pub use plans::SandboxManager;
pub use record::CopiedRecord;
pub use remains::Remains;
pub use sandboxes::Sandboxes;
pub use strategy::{CleanupReport, Sandbox};
