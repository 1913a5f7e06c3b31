//! What users hand in and get back.

use std::collections::BTreeMap;
use std::path::PathBuf;

use turnback_core::{CheckpointId, Millis, Phase, PlanId, SandboxId};

use crate::model::Uncovered;
use crate::store::{Damaged, Layout, Published};

/// Where the path of a directory that is checkpointed comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RootPath {
    /// Somebody gave it: links in it are followed, once.
    #[default]
    Given,
    /// It is a sandbox's own: a link in the place of its root was put there since, and is refused with `WORKSPACE_REPLACED` (S4).
    Recorded,
}

/// What a new checkpoint is for and what it leaves out.
#[derive(Debug, Clone)]
pub struct CreateRequest {
    /// The plan it belongs to.
    pub plan_id: PlanId,
    /// Why it is taken.
    pub phase: Phase,
    /// The caller's own.
    pub metadata: BTreeMap<String, String>,
    /// A name for people.
    pub label: Option<String>,
    /// Patterns in gitignore syntax, relative to the root.
    pub exclude: Vec<String>,
    /// Leave out what `.gitignore` files say.
    pub exclude_ignored: bool,
    /// Leave out files over this length in bytes.
    pub max_file_bytes: Option<u64>,
    /// More paths than this fail with `TOO_BROAD`.
    pub max_files: Option<u64>,
    /// Allow `/`, a home directory and a temporary root.
    pub allow_broad: bool,
    /// Where the directory's path comes from.
    pub root: RootPath,
}

impl CreateRequest {
    /// A checkpoint of everything.
    #[must_use]
    pub fn new(plan_id: PlanId, phase: Phase) -> Self {
        Self {
            plan_id,
            phase,
            metadata: BTreeMap::new(),
            label: None,
            exclude: Vec::new(),
            exclude_ignored: false,
            max_file_bytes: None,
            max_files: None,
            allow_broad: false,
            root: RootPath::Given,
        }
    }
}

/// What a checkpoint covers (C6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coverage {
    /// Covered paths of every kind, the root among them.
    pub files: u64,
    /// Bytes of the covered files.
    pub bytes: u64,
    /// Nothing is missing that was asked for.
    pub complete: bool,
    /// Files that changed while they were read.
    pub changing: u64,
    /// How many paths are not covered.
    pub uncovered_count: u64,
    /// The first 100 of them.
    pub uncovered: Vec<Uncovered>,
}

/// A checkpoint: a frozen record (C1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its id; ids sort by age.
    pub checkpoint_id: CheckpointId,
    /// Whose it is: for a plain directory the stable id of that workspace.
    pub sandbox_id: SandboxId,
    /// The plan it belongs to.
    pub plan_id: PlanId,
    /// Why it was taken.
    pub phase: Phase,
    /// When, by the machine's clock.
    pub created_at: Millis,
    /// The caller's own.
    pub metadata: BTreeMap<String, String>,
    /// The checkpoint's directory in the store; not a plain copy.
    pub snapshot_path: PathBuf,
    /// The canonical path of what was checkpointed: where a rollback restores to (C5).
    pub workspace: PathBuf,
    /// What is covered.
    pub coverage: Coverage,
}

impl Checkpoint {
    pub(super) fn of(published: &Published, layout: &Layout) -> Self {
        let Published { record, parsed } = published;
        Self {
            checkpoint_id: parsed.id,
            sandbox_id: parsed.sandbox_id.clone(),
            plan_id: parsed.plan_id.clone(),
            phase: parsed.phase,
            created_at: Millis::since_epoch(record.created_at_ms),
            metadata: record.metadata.clone(),
            snapshot_path: layout.checkpoint(parsed.id),
            workspace: parsed.workspace.clone(),
            coverage: Coverage {
                files: record.coverage.files,
                bytes: record.coverage.bytes,
                complete: record.coverage.complete,
                changing: record.coverage.changing,
                uncovered_count: record.coverage.uncovered_count,
                uncovered: parsed.uncovered.clone(),
            },
        }
    }
}

/// A checkpoint with what lies beside its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The record.
    pub checkpoint: Checkpoint,
    /// A name for people.
    pub label: Option<String>,
    /// Retention leaves it alone.
    pub pinned: bool,
    /// Why label and pin cannot be read, when they cannot: it counts as pinned until one of them is set anew.
    pub marks_damaged: Option<String>,
    /// Bytes that it added to the store.
    pub bytes: u64,
}

/// The checkpoints of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Oldest first.
    pub checkpoints: Vec<Listed>,
    /// Those whose record cannot be read.
    pub damaged: Vec<Damaged>,
}

/// How large the store is (C9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageReport {
    /// Allocated bytes of the store.
    pub store_bytes: u64,
    /// The cap: the most bytes that it may ever hold (C16).
    pub max_bytes: u64,
    /// For each checkpoint, the bytes that deleting it would free.
    pub checkpoints: Vec<(CheckpointId, u64)>,
}
