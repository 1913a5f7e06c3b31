//! What a restore lay between when its journal cannot be read: found in the catalog instead (C8).

use turnback_core::{CheckpointId, Phase};

use crate::error::{Code, Error, Result};
use crate::store::Catalog;

/// The two checkpoints of a workspace's last restore. Either makes a half-restored tree whole again.
pub(super) struct Ends {
    /// The state before it.
    before: CheckpointId,
    /// What it restored, as long as that is there.
    target: Option<CheckpointId>,
}

impl Ends {
    /// Those of the newest restore of a workspace; `None` when no checkpoint was taken for one.
    ///
    /// # Errors
    /// The system's error. A checkpoint whose record is damaged does not count: nothing can be restored from it.
    pub(super) fn of(catalog: &Catalog, workspace: &str) -> Result<Option<Self>> {
        for id in catalog.ids()?.into_iter().rev() {
            let found = match catalog.get(id) {
                Err(error) if error.code() == Code::Corrupt => continue,
                other => other?,
            };
            let Some(found) = found.filter(|found| {
                // As long as there is a journal nobody else takes a checkpoint of the workspace: the newest one is the journal's.
                matches!(found.parsed.phase, Phase::PreRollback | Phase::PreApply)
                    && found.parsed.sandbox_id.as_str() == workspace
            }) else {
                continue;
            };
            let there = catalog.ids()?;
            let target = found.record.rollback_of.as_ref().and_then(|of| of.target.parse().ok());
            let target = target.filter(|target| there.contains(target));
            return Ok(Some(Self { before: id, target }));
        }
        Ok(None)
    }

    /// Both.
    pub(super) fn ids(&self) -> impl Iterator<Item = CheckpointId> + use<> {
        std::iter::once(self.before).chain(self.target)
    }

    /// Why a journal cannot be read, and to which checkpoints its workspace can be rolled back.
    ///
    /// # Errors
    /// As [`Ends::of`].
    pub(super) fn told(catalog: &Catalog, workspace: &str, unreadable: &Error) -> Result<String> {
        let unreadable = unreadable.found();
        Ok(match Self::of(catalog, workspace)? {
            None => unreadable,
            Some(Self { before, target: None }) => format!(
                "{unreadable}; the tree may be half restored: `turnback rollback {before}` brings back the state before"
            ),
            Some(Self { before, target: Some(target) }) => format!(
                "{unreadable}; the tree may be half restored: `turnback rollback {before}` brings back the state before, \
                 `turnback rollback {target}` the one that it restored from"
            ),
        })
    }
}
