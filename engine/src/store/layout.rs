//! Where everything lies in the store.

use std::path::{Path, PathBuf};

use turnback_core::CheckpointId;

/// Paths inside one store.
#[derive(Debug, Clone)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// The layout of the store at an absolute path.
    #[must_use]
    pub const fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// The store's own directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Says what the directory is and which format it has.
    #[must_use]
    pub fn format(&self) -> PathBuf {
        self.root.join("format")
    }

    /// All published checkpoints.
    #[must_use]
    pub fn checkpoints(&self) -> PathBuf {
        self.root.join("checkpoints")
    }

    /// One published checkpoint.
    #[must_use]
    pub fn checkpoint(&self, id: CheckpointId) -> PathBuf {
        self.checkpoints().join(id.to_string())
    }

    /// Packs of deleted checkpoints that others still need.
    #[must_use]
    pub fn packs(&self) -> PathBuf {
        self.root.join("packs")
    }

    /// What is being written or removed.
    #[must_use]
    pub fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Lock files.
    #[must_use]
    pub fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    /// Shared by all who read or add objects, exclusive for those who remove some.
    #[must_use]
    pub fn store_lock(&self) -> PathBuf {
        self.locks().join("store")
    }

    /// What whoever comes to the store holds for a moment, and whoever wants it alone closes for a moment: the directory of the
    /// checkpoints itself. A lock on a directory needs no file, so that it works on a full disk.
    #[must_use]
    pub fn door(&self) -> PathBuf {
        self.checkpoints()
    }

    /// Exclusive for the one who removes checkpoints or objects: the directory of the kept packs itself.
    #[must_use]
    pub fn removal_lock(&self) -> PathBuf {
        self.packs()
    }

    /// Exclusive while somebody measures the store and takes room in it: the directory of temporary files itself.
    #[must_use]
    pub fn budget_lock(&self) -> PathBuf {
        self.tmp()
    }

    /// Exclusive for whoever works on a workspace.
    #[must_use]
    pub fn workspace_lock(&self, workspace: &str) -> PathBuf {
        self.locks().join(workspace)
    }

    /// What is remembered of a workspace: identity and stat cache.
    #[must_use]
    pub fn workspace(&self, workspace: &str) -> PathBuf {
        self.root.join("workspaces").join(workspace)
    }

    /// Objects that were found damaged.
    #[must_use]
    pub fn suspects(&self) -> PathBuf {
        self.root.join("suspects")
    }

    /// There while the guard's checkpoints are switched off (C17).
    #[must_use]
    pub fn paused(&self) -> PathBuf {
        self.root.join("paused")
    }

    /// All workspaces.
    #[must_use]
    pub fn workspaces(&self) -> PathBuf {
        self.root.join("workspaces")
    }
}
