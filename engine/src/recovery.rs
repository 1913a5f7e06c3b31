//! What is known of a restore that was interrupted, and what became of it (C8).

use std::path::PathBuf;

use turnback_core::{CheckpointId, Millis, SandboxId};

use crate::change::Change;
use crate::model::{RelPath, Uncovered};

/// What kind of work writes to a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestoreKind {
    /// A rollback to a checkpoint.
    Rollback,
    /// A rollback was taken back.
    Undo,
    /// The changes between two checkpoints were taken back.
    Revert,
    /// A sandbox's changes were brought into its resource.
    Commit,
}

impl RestoreKind {
    /// The kind as users see it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rollback => "rollback",
            Self::Undo => "undo",
            Self::Revert => "revert",
            Self::Commit => "commit",
        }
    }
}

/// How an interrupted restore ended (C8).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecoveryOutcome {
    /// It was carried out to its end.
    Finished,
    /// The workspace's root is gone: nothing was touched.
    RootMissing,
    /// The workspace's root is another directory: nothing was touched.
    RootReplaced,
    /// Its journal is damaged: nothing was touched, and the journal lies at `journal` now.
    Damaged {
        /// Where the damaged journal is.
        journal: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// It was given up on request: the tree stays as it was found.
    Abandoned,
}

impl RecoveryOutcome {
    /// The outcome as users see it, in lower snake case.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::RootMissing => "root_missing",
            Self::RootReplaced => "root_replaced",
            Self::Damaged { .. } => "damaged",
            Self::Abandoned => "abandoned",
        }
    }
}

/// What became of an interrupted restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryReport {
    /// The workspace.
    pub sandbox_id: SandboxId,
    /// Its directory.
    pub workspace: PathBuf,
    /// How it ended.
    pub outcome: RecoveryOutcome,
    /// What had been begun; `None` when the journal is damaged.
    pub begun: Option<Begun>,
    /// Paths written now.
    pub written: u64,
    /// Paths deleted now.
    pub deleted: u64,
    /// Paths left alone, those that somebody changed meanwhile among them.
    pub kept: Vec<Uncovered>,
    /// Paths that could not be brought to the state that was begun.
    pub not_restorable: Vec<Uncovered>,
    /// What was still to be done when it was taken up or given up again, path by path.
    pub actions: Vec<Change>,
}

/// What an interrupted restore was doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// What kind of work.
    pub kind: RestoreKind,
    /// The checkpoints that it restores from.
    pub targets: Vec<CheckpointId>,
    /// The checkpoint that brings back the state before; `None` when there is none.
    pub undo_checkpoint_id: Option<CheckpointId>,
    /// When it was begun.
    pub started_at: Millis,
    /// The paths that it is limited to; `None` for all.
    pub paths: Option<Vec<RelPath>>,
}

/// An interrupted restore that nobody has taken up again yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// The workspace.
    pub sandbox_id: SandboxId,
    /// Its directory; `None` when the journal is damaged and no checkpoint of it is there that would tell.
    pub workspace: Option<PathBuf>,
    /// What was begun; `None` when the journal is damaged.
    pub begun: Option<Begun>,
    /// Why the journal cannot be read, when it cannot.
    pub damaged: Option<String>,
}
