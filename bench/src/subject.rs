//! The engine as the benches use it: one store, one workspace, and the checkpoint that is turned back to.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use turnback_core::{CheckpointId, Phase};
use turnback_engine::{
    Checkpoint, Context, CreateRequest, Durability, GitMode, Manager, OpenOptions, RollbackReport,
    RollbackRequest, StoreLocation,
};

/// A store with a manager whose threads run.
#[derive(Debug, Clone)]
pub struct Subject {
    manager: Manager,
    workspace: PathBuf,
    exclude_ignored: bool,
}

impl Subject {
    /// Opens a store for the checkpoints of `workspace`, making it when it is missing.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn open(store: &Path, workspace: &Path, durability: Durability) -> Result<Self> {
        let manager = Manager::open(OpenOptions {
            store: StoreLocation::Path(store.to_path_buf()),
            durability: Some(durability),
            ..OpenOptions::default()
        })?;
        Ok(Self { manager, workspace: workspace.to_path_buf(), exclude_ignored: false })
    }

    /// The same, leaving out what `.gitignore` files say.
    #[must_use]
    pub const fn without_ignored(mut self) -> Self {
        self.exclude_ignored = true;
        self
    }

    /// Takes a checkpoint.
    ///
    /// # Errors
    /// Those of the engine; a checkpoint that is not complete is one too, as its figure would not count.
    pub fn checkpoint(&self) -> Result<Checkpoint> {
        let mut request = CreateRequest::new("bench".parse()?, Phase::Manual);
        request.exclude_ignored = self.exclude_ignored;
        let checkpoint = self.manager.create(&self.workspace, request, &Context::default())?;
        ensure!(checkpoint.coverage.complete, "the checkpoint is not complete: {:?}", checkpoint.coverage);
        Ok(checkpoint)
    }

    /// Turns back, `.git` included.
    ///
    /// # Errors
    /// Those of the engine; a rollback that restored only a part is one too.
    pub fn rollback(&self, to: CheckpointId) -> Result<RollbackReport> {
        let request = RollbackRequest { git: GitMode::Exact, ..RollbackRequest::default() };
        let report = self.manager.rollback(to, request, &Context::default())?;
        ensure!(report.restored, "the rollback is not complete: {:?}", report.not_restorable);
        Ok(report)
    }

    /// Deletes a checkpoint, so that a long series does not measure a store that fills up.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn delete(&self, id: CheckpointId) -> Result<()> {
        self.manager.delete(id)?;
        Ok(())
    }

    /// Allocated bytes of the store.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn store_bytes(&self) -> Result<u64> {
        Ok(self.manager.usage()?.store_bytes)
    }
}
