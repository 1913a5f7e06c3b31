//! What a commit is asked for, and what it reports (S6, S7).

use turnback_core::CheckpointId;

use crate::change::Change;
use crate::model::RelPath;
use crate::report::Conflict;

/// What happens to paths that both the sandbox and its resource changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnCommitConflict {
    /// Nothing is written at all, and the conflicts are listed.
    #[default]
    Fail,
    /// The sandbox's state is taken.
    Ours,
    /// The resource's state stays. The sandbox's stays its unsaved work, save that `git_worktree` has it on the sandbox's branch.
    Theirs,
}

/// Where a `git_worktree` sandbox's changes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MergeMode {
    /// To the sandbox's branch, and into the branch that is checked out in the resource, with its files.
    #[default]
    Merge,
    /// To the sandbox's branch alone.
    Branch,
}

/// How to commit.
#[derive(Debug, Clone, Default)]
pub struct CommitOptions {
    /// What happens to paths that both sides changed.
    pub on_conflict: OnCommitConflict,
    /// For `git_worktree`: where the changes go.
    pub merge: MergeMode,
    /// Merge texts whose changed lines do not meet. By default `git_worktree` does, as git itself.
    pub text_merge: Option<bool>,
    /// For `git_worktree`: the commit's message.
    pub message: Option<String>,
    /// Do not hold back what lies in a `.git`; a `git_worktree` cannot commit that.
    pub allow_git: bool,
    /// Do not hold back files that make the host run something later.
    pub allow_trusted: bool,
}

/// Why a path is not committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum HoldReason {
    /// It lies in a `.git`.
    Git,
    /// It lies in a `.git` that the resource changed too, so that no option brings it.
    GitChanged,
    /// It makes the host run something later.
    Trusted,
    /// An ignore file names it.
    Ignored,
    /// It was seeded.
    Seeded,
    /// It lies in a submodule.
    Submodule,
    /// There is nothing to bring of its kind: a socket or a device, for git also a named pipe. Sockets and devices are no unsaved work.
    Special,
    /// It could not be read in the sandbox.
    NotRead,
    /// Somebody wrote to it while it was read, so that what was read need not ever have been there.
    Changing,
    /// It is committed without its set-id bits and capabilities.
    SetId,
    /// What the resource has there could not be captured, so that it is not overwritten.
    NotCaptured,
    /// A directory that the sandbox deleted and in which the resource has something else since.
    NotEmpty,
    /// The resource changed it while the commit wrote, or the system refused to write it.
    NotWritten,
}

impl HoldReason {
    /// The reason as users see it, in lower snake case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Git => "git_metadata",
            Self::GitChanged => "git_changed",
            Self::Trusted => "trusted",
            Self::Ignored => "ignored",
            Self::Seeded => "seeded",
            Self::Submodule => "submodule",
            Self::Special => "special",
            Self::NotRead => "not_read",
            Self::Changing => "changing",
            Self::SetId => "set_id",
            Self::NotCaptured => "not_captured",
            Self::NotEmpty => "not_empty",
            Self::NotWritten => "not_written",
        }
    }
}

/// A changed path that was not committed; a directory stands for all that lies beneath it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldBack {
    /// The path.
    pub path: RelPath,
    /// Why.
    pub reason: HoldReason,
}

/// What a commit did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommitReport {
    /// Whether everything that is not held back is in the resource now (or on the branch); `false` when conflicts kept it from being.
    pub committed: bool,
    /// What was committed.
    pub changes: Vec<Change>,
    /// Paths that both sides changed, sorted: `ours` says what the sandbox did, `theirs` what the resource has.
    pub conflicts: Vec<Conflict>,
    /// What was held back, sorted.
    pub held_back: Vec<HeldBack>,
    /// The `pre_apply` checkpoint of the resource; `None` when nothing was written to it.
    pub pre_apply_checkpoint_id: Option<CheckpointId>,
    /// For `git_worktree`: the sandbox's branch, without `refs/heads/`.
    pub branch: Option<String>,
    /// For `git_worktree`: the commit that the changes are in: after a merge the one that the resource is at.
    pub commit: Option<String>,
}
