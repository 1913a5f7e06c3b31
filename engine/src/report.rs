//! What a rollback or a revert reports (C8, C15): never a bare boolean.

use std::time::Duration;

use turnback_core::CheckpointId;

use crate::change::Change;
use crate::model::{RelPath, Uncovered};
use crate::recovery::RecoveryReport;

/// What a rollback or a revert did, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollbackReport {
    /// Whether the tree now equals the checkpoint in everything that was in scope; for a revert, whether everything that was asked
    /// for was taken back. `false` for a dry run, whenever `not_restorable` has entries, and for a revert that conflicts kept from
    /// writing anything.
    pub restored: bool,
    /// The checkpoint that was restored; for a revert, the earlier state that came back (`from`).
    pub checkpoint_id: CheckpointId,
    /// The checkpoint that brings back the state before the rollback; `None` when nothing was there before, for a dry run, and
    /// with `safety: false`.
    pub undo_checkpoint_id: Option<CheckpointId>,
    /// Paths written: created, replaced or given their metadata back.
    pub written: u64,
    /// Paths deleted.
    pub deleted: u64,
    /// Directories of which nothing but the modification time goes back: neither among `actions` nor counted in `written`.
    pub restamped: u64,
    /// The root directory was missing and was created.
    pub root_recreated: bool,
    /// With `git: keep`: a HEAD differs from the checkpoint's and was left alone.
    pub head_moved: bool,
    /// Paths that changed on both sides, sorted; a revert finds them, a rollback never has any.
    pub conflicts: Vec<Conflict>,
    /// Paths left alone on purpose.
    pub kept: Vec<Uncovered>,
    /// Paths that could not be brought back, and the checkpoint's own uncovered paths.
    pub not_restorable: Vec<Uncovered>,
    /// The plan, path by path, as differences that the rollback takes back; the same list for a dry run and for the run itself.
    pub actions: Vec<Change>,
    /// Whether a journal was kept, so that an interruption could have been taken up again. `false` when there was nothing to do, for a
    /// dry run, and with `safety: false` when the store's disk had no room for one.
    pub journaled: bool,
    /// An interrupted restore of this workspace that was finished first.
    pub recovered: Option<Box<RecoveryReport>>,
    /// The paths that it was limited to; an undo has those of the rollback that it takes back. `None` when it was about everything.
    pub paths: Option<Vec<RelPath>>,
    /// How long it took.
    pub duration: Duration,
}

impl RollbackReport {
    /// A report of something that is taken back without a write: what was written is filled in.
    pub(crate) const fn untouched(checkpoint_id: CheckpointId) -> Self {
        Self {
            restored: true,
            checkpoint_id,
            undo_checkpoint_id: None,
            written: 0,
            deleted: 0,
            restamped: 0,
            root_recreated: false,
            head_moved: false,
            conflicts: Vec::new(),
            kept: Vec::new(),
            not_restorable: Vec::new(),
            actions: Vec::new(),
            journaled: false,
            recovered: None,
            paths: None,
            duration: Duration::ZERO,
        }
    }
}

/// A path that changed on both sides (C15).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conflict {
    /// The path.
    pub path: RelPath,
    /// What is there now, in words.
    pub ours: String,
    /// What the checkpoint that was to come back has, in words.
    pub theirs: String,
}
