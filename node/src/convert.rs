//! The engine's answers as JavaScript objects.

use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;
use turnback_engine as engine;
use turnback_engine::Result;

use crate::number::to_js;
use crate::path::PathText;
use crate::recovery::NativeRecoveryReport;
use crate::revert::NativeConflict;

/// A path that is not covered, kept or restorable, with the reason.
#[napi(object, object_from_js = false)]
pub struct NativeUncovered {
    /// The path, relative to the workspace.
    pub path: PathText,
    /// The reason, in lower snake case.
    pub reason: String,
    /// More than the reason, where there is more to say.
    pub detail: Option<String>,
}

impl From<&engine::Uncovered> for NativeUncovered {
    fn from(from: &engine::Uncovered) -> Self {
        Self {
            path: PathText::from_bytes(from.path.as_bytes()),
            reason: from.reason.as_str().to_owned(),
            detail: from.detail.clone(),
        }
    }
}

/// Converts a list of uncovered paths.
pub(crate) fn uncovered(list: &[engine::Uncovered]) -> Vec<NativeUncovered> {
    list.iter().map(NativeUncovered::from).collect()
}

/// How much of a workspace a checkpoint holds.
#[napi(object, object_from_js = false)]
pub struct NativeCoverage {
    /// Paths of every kind that are stored, the root among them.
    pub files: i64,
    /// The bytes of the files among them.
    pub bytes: i64,
    /// Whether everything that was asked for is stored.
    pub complete: bool,
    /// Files that changed while they were read.
    pub changing: i64,
    /// How many paths are not covered.
    pub uncovered_count: i64,
    /// The first of them, at most 100.
    pub uncovered: Vec<NativeUncovered>,
}

/// One entry of the metadata. Not a property of an object: a key may be `__proto__`.
#[napi(object)]
pub struct NativePair {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
}

/// A checkpoint's record.
#[napi(object, object_from_js = false)]
pub struct NativeCheckpoint {
    /// The checkpoint's id.
    pub checkpoint_id: String,
    /// The id of the sandbox or workspace.
    pub sandbox_id: String,
    /// The plan's id.
    pub plan_id: String,
    /// The phase, in lower snake case.
    pub phase: String,
    /// Milliseconds since the Unix epoch.
    pub created_at_ms: i64,
    /// The caller's metadata.
    pub metadata: Vec<NativePair>,
    /// The checkpoint's own directory in the store.
    pub snapshot_path: PathText,
    /// The directory that was checkpointed.
    pub workspace: PathText,
    /// What is covered.
    pub coverage: NativeCoverage,
}

impl TryFrom<&engine::Checkpoint> for NativeCheckpoint {
    type Error = engine::Error;

    fn try_from(from: &engine::Checkpoint) -> Result<Self> {
        let coverage = &from.coverage;
        Ok(Self {
            checkpoint_id: from.checkpoint_id.to_string(),
            sandbox_id: from.sandbox_id.to_string(),
            plan_id: from.plan_id.to_string(),
            phase: from.phase.as_str().to_owned(),
            created_at_ms: to_js(from.created_at.as_u64())?,
            metadata: from
                .metadata
                .iter()
                .map(|(key, value)| NativePair { key: key.clone(), value: value.clone() })
                .collect(),
            snapshot_path: PathText::from_path(&from.snapshot_path),
            workspace: PathText::from_path(&from.workspace),
            coverage: NativeCoverage {
                files: to_js(coverage.files)?,
                bytes: to_js(coverage.bytes)?,
                complete: coverage.complete,
                changing: to_js(coverage.changing)?,
                uncovered_count: to_js(coverage.uncovered_count)?,
                uncovered: uncovered(&coverage.uncovered),
            },
        })
    }
}

/// A checkpoint with what lies beside its record.
#[napi(object, object_from_js = false)]
pub struct NativeListed {
    /// The record.
    pub checkpoint: NativeCheckpoint,
    /// The label, if there is one.
    pub label: Option<String>,
    /// Whether it is kept from pruning.
    pub pinned: bool,
    /// Why label and pin cannot be read.
    pub marks_damaged: Option<String>,
    /// Bytes that this checkpoint stored.
    pub bytes: i64,
}

/// Something damaged in the store.
#[napi(object, object_from_js = false)]
pub struct NativeDamaged {
    /// The name of the checkpoint's directory.
    pub checkpoint_id: String,
    /// The damaged path, where one is known.
    pub path: Option<PathText>,
    /// What is wrong.
    pub reason: String,
}

impl From<&engine::Damaged> for NativeDamaged {
    fn from(from: &engine::Damaged) -> Self {
        Self {
            checkpoint_id: from.checkpoint_id.clone(),
            path: from.path.as_ref().map(|path| PathText::from_bytes(path.as_bytes())),
            reason: from.reason.clone(),
        }
    }
}

/// The checkpoints of a store.
#[napi(object, object_from_js = false)]
pub struct NativeListing {
    /// Oldest first.
    pub checkpoints: Vec<NativeListed>,
    /// Those that cannot be read.
    pub damaged: Vec<NativeDamaged>,
}

impl TryFrom<&engine::Listing> for NativeListing {
    type Error = engine::Error;

    fn try_from(from: &engine::Listing) -> Result<Self> {
        let listed = |listed: &engine::Listed| {
            Ok(NativeListed {
                checkpoint: NativeCheckpoint::try_from(&listed.checkpoint)?,
                label: listed.label.clone(),
                pinned: listed.pinned,
                marks_damaged: listed.marks_damaged.clone(),
                bytes: to_js(listed.bytes)?,
            })
        };
        Ok(Self {
            checkpoints: from.checkpoints.iter().map(listed).collect::<Result<_>>()?,
            damaged: from.damaged.iter().map(NativeDamaged::from).collect(),
        })
    }
}

/// A path that differs.
#[napi(object, object_from_js = false)]
pub struct NativeChange {
    /// The path, relative to the workspace.
    pub path: PathText,
    /// How it differs, in lower snake case.
    pub kind: String,
    /// The file's length.
    pub bytes: Option<i64>,
}

/// Converts a list of differences.
///
/// # Errors
/// `CORRUPT` for a length that no file has.
pub(crate) fn changes(list: &[engine::Change]) -> Result<Vec<NativeChange>> {
    let change = |from: &engine::Change| {
        Ok(NativeChange {
            path: PathText::from_bytes(from.path.as_bytes()),
            kind: from.kind.as_str().to_owned(),
            bytes: from.bytes.map(to_js).transpose()?,
        })
    };
    list.iter().map(change).collect()
}

/// What a rollback did, or would do.
#[napi(object, object_from_js = false)]
pub struct NativeRollbackReport {
    /// Whether the tree equals the checkpoint.
    pub restored: bool,
    /// The checkpoint that was restored.
    pub checkpoint_id: String,
    /// The checkpoint that undoes it.
    pub undo_checkpoint_id: Option<String>,
    /// Paths written.
    pub written: i64,
    /// Paths deleted.
    pub deleted: i64,
    /// Directories of which nothing but the modification time goes back.
    pub restamped: i64,
    /// The root was missing and was created.
    pub root_recreated: bool,
    /// A HEAD differs and was left alone.
    pub head_moved: bool,
    /// Changed on both sides.
    pub conflicts: Vec<NativeConflict>,
    /// Left alone on purpose.
    pub kept: Vec<NativeUncovered>,
    /// Could not be brought back.
    pub not_restorable: Vec<NativeUncovered>,
    /// Path by path.
    pub actions: Vec<NativeChange>,
    /// Whether a journal was kept.
    pub journaled: bool,
    /// An interrupted restore that was finished first.
    pub recovered: Option<NativeRecoveryReport>,
    /// The paths that it was limited to.
    pub paths: Option<Vec<PathText>>,
    /// How long it took, in milliseconds.
    pub duration_ms: f64,
}

impl TryFrom<&engine::RollbackReport> for NativeRollbackReport {
    type Error = engine::Error;

    fn try_from(from: &engine::RollbackReport) -> Result<Self> {
        Ok(Self {
            restored: from.restored,
            checkpoint_id: from.checkpoint_id.to_string(),
            undo_checkpoint_id: from.undo_checkpoint_id.map(|id| id.to_string()),
            written: to_js(from.written)?,
            deleted: to_js(from.deleted)?,
            restamped: to_js(from.restamped)?,
            root_recreated: from.root_recreated,
            head_moved: from.head_moved,
            conflicts: from.conflicts.iter().map(NativeConflict::from).collect(),
            kept: uncovered(&from.kept),
            not_restorable: uncovered(&from.not_restorable),
            actions: changes(&from.actions)?,
            paths: from
                .paths
                .as_ref()
                .map(|paths| paths.iter().map(|path| PathText::from_bytes(path.as_bytes())).collect()),
            journaled: from.journaled,
            recovered: from.recovered.as_deref().map(NativeRecoveryReport::try_from).transpose()?,
            duration_ms: from.duration.as_secs_f64() * 1000.0,
        })
    }
}

/// What a verification found.
#[napi(object, object_from_js = false)]
pub struct NativeVerifyReport {
    /// Checkpoints checked.
    pub checked: i64,
    /// What is damaged.
    pub damaged: Vec<NativeDamaged>,
}

impl TryFrom<&engine::VerifyReport> for NativeVerifyReport {
    type Error = engine::Error;

    fn try_from(from: &engine::VerifyReport) -> Result<Self> {
        Ok(Self {
            checked: to_js(from.checked)?,
            damaged: from.damaged.iter().map(NativeDamaged::from).collect(),
        })
    }
}

/// The bytes that deleting one checkpoint would free.
#[napi(object, object_from_js = false)]
pub struct NativeCheckpointUsage {
    /// The checkpoint's id.
    pub checkpoint_id: String,
    /// Bytes freed by its deletion.
    pub freed_by_delete_bytes: i64,
}

/// What the store holds.
#[napi(object, object_from_js = false)]
pub struct NativeUsageReport {
    /// Bytes in the store.
    pub store_bytes: i64,
    /// What the store could grow to.
    pub max_bytes: i64,
    /// Each checkpoint's share.
    pub checkpoints: Vec<NativeCheckpointUsage>,
}

impl TryFrom<&engine::UsageReport> for NativeUsageReport {
    type Error = engine::Error;

    fn try_from(from: &engine::UsageReport) -> Result<Self> {
        let share = |(id, bytes): &(turnback_core::CheckpointId, u64)| {
            Ok(NativeCheckpointUsage { checkpoint_id: id.to_string(), freed_by_delete_bytes: to_js(*bytes)? })
        };
        Ok(Self {
            store_bytes: to_js(from.store_bytes)?,
            max_bytes: to_js(from.max_bytes)?,
            checkpoints: from.checkpoints.iter().map(share).collect::<Result<_>>()?,
        })
    }
}

/// A file's bytes.
pub(crate) fn bytes(content: Vec<u8>) -> Uint8Array {
    Uint8Array::from(content)
}
