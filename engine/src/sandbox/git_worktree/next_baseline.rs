//! The sandbox's baseline after a commit: as it was read, with what was held back as the baseline before has it. So that is still a change
//! of the sandbox, a rollback takes it out, and a commit that may bring it finds it (S6, S10, S12).

use turnback_core::{CheckpointId, PlanId};

use super::moving::Scene;
use crate::error::Result;
use crate::model::RelPath;
use crate::restore::Manifests;
use crate::sandbox::commit::HeldBack;
use crate::sandbox::three_way;

/// What a sandbox is compared with after a commit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Next {
    pub(super) baseline: CheckpointId,
    /// The checkpoint that the sandbox was read for, where the baseline is another one. Nothing depends on it, and no pin keeps it; as long
    /// as it is there, the next walk need not read what this one has read.
    pub(super) walked: Option<CheckpointId>,
}

impl Next {
    /// Where nothing was held back.
    pub(super) const fn as_walked(now: CheckpointId) -> Self {
        Self { baseline: now, walked: None }
    }

    /// Publishes the baseline that is to follow `old` when the sandbox is as `now` has it.
    ///
    /// # Errors
    /// Those of a checkpoint.
    pub(super) fn publish(
        scene: &Scene<'_>,
        (old, now): (CheckpointId, CheckpointId),
        held: &[HeldBack],
        plan_id: &PlanId,
    ) -> Result<Self> {
        if held.is_empty() {
            return Ok(Self::as_walked(now));
        }
        let paths: Vec<RelPath> = held.iter().map(|held| held.path.clone()).collect();
        let with = |newer: &_, older: &_, manifests: &dyn Manifests| {
            three_way::without(newer, older, &paths, manifests)
        };
        let baseline = scene.manager.rebase(now, old, with, plan_id, scene.ctx)?;
        scene.manager.set_pinned(now, false)?;
        Ok(Self { baseline, walked: Some(now) })
    }

    /// Its checkpoints.
    pub(super) fn ids(&self) -> impl Iterator<Item = CheckpointId> {
        std::iter::once(self.baseline).chain(self.walked)
    }
}
