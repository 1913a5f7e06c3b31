//! What the engine says of sandboxes, as JavaScript objects.

use napi_derive::napi;
use turnback_engine as engine;
use turnback_engine::Result;
use turnback_engine::sandbox::{
    AbandonedReport, CleanupReport, CommitReport, CopiedRecord, GitInfo, HeldBack, Remains, SandboxAbout,
    SandboxInfo,
};

use crate::convert::{NativeChange, NativeUncovered, changes};
use crate::number::{date_to_js, to_js};
use crate::path::PathText;
use crate::revert::NativeConflict;

/// What a commit did.
#[napi(object, object_from_js = false)]
pub struct NativeCommitReport {
    /// Whether everything that is not held back is where it belongs.
    pub committed: bool,
    /// What was committed.
    pub changes: Vec<NativeChange>,
    /// Changed on both sides.
    pub conflicts: Vec<NativeConflict>,
    /// Held back, with the reason.
    pub held_back: Vec<NativeUncovered>,
    /// The checkpoint of the resource from before.
    pub pre_apply_checkpoint_id: Option<String>,
    /// The worktree's branch.
    pub branch: Option<String>,
    /// The commit with the changes.
    pub commit: Option<String>,
}

impl TryFrom<&CommitReport> for NativeCommitReport {
    type Error = engine::Error;

    fn try_from(from: &CommitReport) -> Result<Self> {
        Ok(Self {
            committed: from.committed,
            changes: changes(&from.changes)?,
            conflicts: from.conflicts.iter().map(NativeConflict::from).collect(),
            held_back: from.held_back.iter().map(held_back).collect(),
            pre_apply_checkpoint_id: from.pre_apply_checkpoint_id.map(|id| id.to_string()),
            branch: from.branch.clone(),
            commit: from.commit.clone(),
        })
    }
}

fn held_back(from: &HeldBack) -> NativeUncovered {
    NativeUncovered {
        path: PathText::from_bytes(from.path.as_bytes()),
        reason: from.reason.as_str().to_owned(),
        detail: None,
    }
}

/// What there is to know of a worktree's repository.
#[napi(object, object_from_js = false)]
pub struct NativeGitInfo {
    /// The worktree's branch.
    pub branch: String,
    /// How many files are pointers to content elsewhere.
    pub lfs_pointers: i64,
    /// The first of them.
    pub lfs_paths: Vec<PathText>,
    /// How many submodules there are.
    pub submodules: i64,
    /// The first of them.
    pub submodule_paths: Vec<PathText>,
}

/// Converts what there is to know of a repository.
///
/// # Errors
/// `CORRUPT` for a count that no repository has.
pub(crate) fn git_info(from: &GitInfo) -> Result<NativeGitInfo> {
    let paths = |list: &[engine::RelPath]| {
        list.iter().map(|path| PathText::from_bytes(path.as_bytes())).collect::<Vec<_>>()
    };
    Ok(NativeGitInfo {
        branch: from.branch.clone(),
        lfs_pointers: to_js(from.lfs_pointers)?,
        lfs_paths: paths(&from.lfs_paths),
        submodules: to_js(from.submodules)?,
        submodule_paths: paths(&from.submodule_paths),
    })
}

/// How the files of a sandbox came about.
#[napi(object, object_from_js = false)]
pub struct NativeCopied {
    /// Files that share their blocks with the resource's.
    pub shared_files: i64,
    /// Files whose bytes were copied.
    pub copied_files: i64,
    /// Of those, the ones that the file system would not share.
    pub refused_files: i64,
    /// Absolute links that lead back into the resource.
    pub absolute_links: i64,
}

/// Converts how files came about.
///
/// # Errors
/// `CORRUPT` for a count that no directory has.
pub(crate) fn copied(from: CopiedRecord) -> Result<NativeCopied> {
    Ok(NativeCopied {
        shared_files: to_js(from.shared_files)?,
        copied_files: to_js(from.copied_files)?,
        refused_files: to_js(from.refused_files)?,
        absolute_links: to_js(from.absolute_links)?,
    })
}

/// What a sandbox's record says.
#[napi(object, object_from_js = false)]
pub struct NativeSandboxAbout {
    /// What it isolates.
    pub resource: PathText,
    /// Where to work.
    pub path: PathText,
    /// How it isolates.
    pub strategy: String,
    /// How a copy was made.
    pub mechanism: Option<String>,
    /// Its status.
    pub status: String,
    /// Its plan.
    pub plan_id: Option<String>,
    /// Until when it is kept whoever lives, in milliseconds since 1970.
    pub detached_until_ms: Option<i64>,
}

impl From<&SandboxAbout> for NativeSandboxAbout {
    fn from(from: &SandboxAbout) -> Self {
        Self {
            resource: PathText::from_path(&from.resource),
            path: PathText::from_path(&from.path),
            strategy: from.strategy.to_string(),
            mechanism: from.mechanism.map(|mechanism| mechanism.to_string()),
            status: from.status.to_string(),
            plan_id: from.plan_id.as_ref().map(ToString::to_string),
            detached_until_ms: from.detached_until.map(date_to_js),
        }
    }
}

/// A sandbox as it stands in the registry.
#[napi(object, object_from_js = false)]
pub struct NativeSandboxInfo {
    /// Its id.
    pub id: String,
    /// What its record says; nothing when that is damaged.
    pub about: Option<NativeSandboxAbout>,
    /// Who keeps it, in lower snake case.
    pub owner: String,
    /// Whether it holds unsaved work; nothing when that is not known.
    pub unsaved: Option<bool>,
    /// Why something is not known.
    pub problem: Option<String>,
}

impl From<&SandboxInfo> for NativeSandboxInfo {
    fn from(from: &SandboxInfo) -> Self {
        Self {
            id: from.id.to_string(),
            about: from.about.as_ref().map(NativeSandboxAbout::from),
            owner: from.owner.as_str().to_owned(),
            unsaved: from.unsaved,
            problem: from.problem.clone(),
        }
    }
}

/// What stays of sandboxes that are gone.
#[napi(object, object_from_js = false)]
pub struct NativeRemains {
    /// What lies beside their roots.
    pub paths: Vec<PathText>,
    /// Refs of the repository.
    pub refs: Vec<String>,
    /// Repositories that could not be reached.
    pub repositories: Vec<PathText>,
}

impl From<&Remains> for NativeRemains {
    fn from(from: &Remains) -> Self {
        let texts = |paths: &[std::path::PathBuf]| paths.iter().map(|p| PathText::from_path(p)).collect();
        Self { paths: texts(&from.paths), refs: from.refs.clone(), repositories: texts(&from.repositories) }
    }
}

/// What a cleanup did.
#[napi(object, object_from_js = false)]
pub struct NativeCleanupReport {
    /// The checkpoint that holds what was unsaved.
    pub saved_checkpoint_id: Option<String>,
    /// What was left.
    pub remains: NativeRemains,
}

impl From<&CleanupReport> for NativeCleanupReport {
    fn from(from: &CleanupReport) -> Self {
        Self {
            saved_checkpoint_id: from.saved_checkpoint_id.map(|id| id.to_string()),
            remains: NativeRemains::from(&from.remains),
        }
    }
}

/// An abandoned sandbox that stays.
#[napi(object, object_from_js = false)]
pub struct NativeKeptSandbox {
    /// Its id.
    pub id: String,
    /// Why.
    pub reason: String,
}

/// What became of the abandoned sandboxes.
#[napi(object, object_from_js = false)]
pub struct NativeAbandonedReport {
    /// Those that are gone.
    pub removed: Vec<String>,
    /// Those that stay.
    pub kept: Vec<NativeKeptSandbox>,
    /// What was left of those that are gone.
    pub remains: NativeRemains,
}

impl From<&AbandonedReport> for NativeAbandonedReport {
    fn from(from: &AbandonedReport) -> Self {
        let kept = from
            .kept
            .iter()
            .map(|kept| NativeKeptSandbox { id: kept.id.to_string(), reason: kept.reason.clone() });
        Self {
            removed: from.removed.iter().map(ToString::to_string).collect(),
            kept: kept.collect(),
            remains: NativeRemains::from(&from.remains),
        }
    }
}
