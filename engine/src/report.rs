//! What a rollback reports (C8): never a bare boolean.

use std::time::Duration;

use turnback_core::CheckpointId;

use crate::change::Change;
use crate::model::Uncovered;

/// What a rollback did, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollbackReport {
    /// Whether the tree now equals the checkpoint in everything that was in scope; `false` for a dry run and whenever
    /// `not_restorable` has entries.
    pub restored: bool,
    /// The checkpoint that was restored.
    pub checkpoint_id: CheckpointId,
    /// The checkpoint that brings back the state before the rollback; `None` when nothing was there before, for a dry run, and
    /// with `safety: false`.
    pub undo_checkpoint_id: Option<CheckpointId>,
    /// Paths written: created, replaced or given their metadata back.
    pub written: u64,
    /// Paths deleted.
    pub deleted: u64,
    /// The root directory was missing and was created.
    pub root_recreated: bool,
    /// With `git: keep`: a HEAD differs from the checkpoint's and was left alone.
    pub head_moved: bool,
    /// Paths left alone on purpose.
    pub kept: Vec<Uncovered>,
    /// Paths that could not be brought back, and the checkpoint's own uncovered paths.
    pub not_restorable: Vec<Uncovered>,
    /// The plan, path by path, as differences that the rollback takes back; the same list for a dry run and for the run itself.
    pub actions: Vec<Change>,
    /// How long it took.
    pub duration: Duration,
}
