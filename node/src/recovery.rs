//! Interrupted restores as JavaScript sees them.

use napi_derive::napi;
use turnback_engine as engine;
use turnback_engine::{Checkpoint, RecoveryOutcome, RecoveryReport, Result};

use crate::convert::{NativeChange, NativeCheckpoint, NativeUncovered, changes, uncovered};
use crate::number::to_js;
use crate::path::PathText;

/// What an interrupted restore was doing.
#[napi(object, object_from_js = false)]
pub struct NativeBegun {
    /// What kind of work, in lower snake case.
    pub kind: String,
    /// The checkpoints that it restores from.
    pub targets: Vec<String>,
    /// The checkpoint that brings back the state before.
    pub undo_checkpoint_id: Option<String>,
    /// When it was begun, in milliseconds since the Unix epoch.
    pub started_at_ms: i64,
    /// The paths that it is limited to.
    pub paths: Option<Vec<PathText>>,
}

impl TryFrom<&engine::Begun> for NativeBegun {
    type Error = engine::Error;

    fn try_from(from: &engine::Begun) -> Result<Self> {
        Ok(Self {
            kind: from.kind.as_str().to_owned(),
            targets: from.targets.iter().map(ToString::to_string).collect(),
            undo_checkpoint_id: from.undo_checkpoint_id.map(|id| id.to_string()),
            started_at_ms: to_js(from.started_at.as_u64())?,
            paths: from
                .paths
                .as_ref()
                .map(|paths| paths.iter().map(|path| PathText::from_bytes(path.as_bytes())).collect()),
        })
    }
}

/// An interrupted restore that waits.
#[napi(object, object_from_js = false)]
pub struct NativePending {
    /// The workspace.
    pub sandbox_id: String,
    /// Its directory, when the journal can be read.
    pub workspace: Option<PathText>,
    /// What was begun, when the journal can be read.
    pub begun: Option<NativeBegun>,
    /// Why the journal cannot be read.
    pub damaged: Option<String>,
}

impl TryFrom<&engine::Pending> for NativePending {
    type Error = engine::Error;

    fn try_from(from: &engine::Pending) -> Result<Self> {
        Ok(Self {
            sandbox_id: from.sandbox_id.to_string(),
            workspace: from.workspace.as_deref().map(PathText::from_path),
            begun: from.begun.as_ref().map(NativeBegun::try_from).transpose()?,
            damaged: from.damaged.clone(),
        })
    }
}

/// What became of an interrupted restore.
#[napi(object, object_from_js = false)]
pub struct NativeRecoveryReport {
    /// The workspace.
    pub sandbox_id: String,
    /// Its directory.
    pub workspace: PathText,
    /// How it ended, in lower snake case.
    pub outcome: String,
    /// Where a damaged journal is kept.
    pub journal: Option<PathText>,
    /// What is wrong with it.
    pub reason: Option<String>,
    /// What had been begun.
    pub begun: Option<NativeBegun>,
    /// Paths written now.
    pub written: i64,
    /// Paths deleted now.
    pub deleted: i64,
    /// Left alone.
    pub kept: Vec<NativeUncovered>,
    /// Could not be brought to the state that was begun.
    pub not_restorable: Vec<NativeUncovered>,
    /// What was still to be done.
    pub actions: Vec<NativeChange>,
}

impl TryFrom<&engine::RecoveryReport> for NativeRecoveryReport {
    type Error = engine::Error;

    fn try_from(from: &engine::RecoveryReport) -> Result<Self> {
        let (journal, reason) = match &from.outcome {
            RecoveryOutcome::Damaged { journal, reason } => {
                (Some(PathText::from_path(journal)), Some(reason.clone()))
            }
            _ => (None, None),
        };
        Ok(Self {
            sandbox_id: from.sandbox_id.to_string(),
            workspace: PathText::from_path(&from.workspace),
            outcome: from.outcome.as_str().to_owned(),
            journal,
            reason,
            begun: from.begun.as_ref().map(NativeBegun::try_from).transpose()?,
            written: to_js(from.written)?,
            deleted: to_js(from.deleted)?,
            kept: uncovered(&from.kept),
            not_restorable: uncovered(&from.not_restorable),
            actions: changes(&from.actions)?,
        })
    }
}

/// A checkpoint that was made just now.
#[napi(object, object_from_js = false)]
pub struct NativeCreated {
    /// Its record.
    pub checkpoint: NativeCheckpoint,
    /// An interrupted restore of the workspace that was finished first.
    pub recovered: Option<NativeRecoveryReport>,
}

impl NativeCreated {
    /// Converts a checkpoint and what was finished before it.
    ///
    /// # Errors
    /// `CORRUPT` for a number that JavaScript does not have.
    pub(crate) fn new(checkpoint: &Checkpoint, recovered: Option<&RecoveryReport>) -> Result<Self> {
        Ok(Self {
            checkpoint: NativeCheckpoint::try_from(checkpoint)?,
            recovered: recovered.map(NativeRecoveryReport::try_from).transpose()?,
        })
    }
}
