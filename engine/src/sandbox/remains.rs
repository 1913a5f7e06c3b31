//! What a cleanup leaves where it is, because nothing else holds it (S10, input 96).

use std::path::PathBuf;

/// What stays of sandboxes that are gone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Remains {
    /// What lies beside a sandbox's root, which no checkpoint holds.
    pub paths: Vec<PathBuf>,
    /// Refs of the resource's repository that lead to commits which no other ref does: the sandbox's branch, and under
    /// `refs/turnback/saved/` what only its worktree knew.
    pub refs: Vec<String>,
    /// Repositories that are not where they were or cannot be read: a sandbox's branch and worktree are still registered there.
    pub repositories: Vec<PathBuf>,
}

impl Remains {
    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.refs.is_empty() && self.repositories.is_empty()
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.paths.extend(other.paths);
        self.refs.extend(other.refs);
        self.repositories.extend(other.repositories);
    }
}
