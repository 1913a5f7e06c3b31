//! What becomes of the checkpoints of commits.

use turnback_core::{CheckpointId, SandboxId};

use super::baseline::BASELINE_LABEL;
use super::manager::Manager;
use super::types::Listed;
use crate::error::Result;

/// How the checkpoint of a resource after a commit is called.
pub(super) const AFTER_LABEL: &str = "after a sandbox's commit";

/// The metadata that names the sandbox whose commit took a checkpoint.
pub(super) const COMMIT_OF: &str = "commitOf";

impl Manager {
    /// Whether everything of a commit was written.
    pub(crate) fn is_done(&self, after: CheckpointId) -> Result<bool> {
        let inner = self.open_inner()?;
        match inner.catalog.get(after)? {
            None => Ok(false),
            Some(_) => Ok(inner.catalog.marks(after)?.pinned),
        }
    }

    /// Lets go of all that commits of a sandbox left in the store. The checkpoints before them stay, as any other.
    pub(crate) fn let_go_of_commits(&self, sandbox: &SandboxId) -> Result<()> {
        for Listed { checkpoint, label, pinned, .. } in self.list(None)?.checkpoints {
            if checkpoint.metadata.get(COMMIT_OF).is_none_or(|of| of != sandbox.as_str()) {
                continue;
            }
            match label.as_deref() {
                Some(BASELINE_LABEL | AFTER_LABEL) => self.discard(&[checkpoint.checkpoint_id]),
                _ if pinned => self.set_pinned(checkpoint.checkpoint_id, false).map(drop)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Deletes checkpoints that nobody needs any more. One that stays costs room and nothing else.
    pub(crate) fn discard(&self, ids: &[CheckpointId]) {
        if let Err(error) = self.unlist(ids) {
            tracing::warn!(%error, ?ids, "checkpoints of a commit that nobody needs stay");
        }
    }
}
