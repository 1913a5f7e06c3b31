//! One path of a checkpoint, as its picture has it.

use turnback_core::CheckpointId;

use super::manager::Manager;
use crate::context::Context;
use crate::error::Result;
use crate::model::{Entry, Node, Reason, RelPath, Uncovered};
use crate::tree::lookup;

impl Manager {
    /// The entry of a path in a checkpoint; `None` when there is none.
    pub(crate) fn look(&self, id: CheckpointId, path: &RelPath) -> Result<Option<Entry>> {
        let inner = self.open_inner()?;
        let _store = inner.share_store(&Context::default())?;
        let picture = inner.catalog.require(id)?.parsed.picture(&inner.packs)?;
        lookup(&picture, path, &inner.packs)
    }

    /// What a checkpoint could not cover and an earlier one of the same workspace did, or did not have. Without what was excluded.
    pub(crate) fn newly_uncovered(
        &self,
        earlier: CheckpointId,
        later: CheckpointId,
    ) -> Result<Vec<Uncovered>> {
        let inner = self.open_inner()?;
        let _store = inner.share_store(&Context::default())?;
        let before = inner.catalog.require(earlier)?.parsed.picture(&inner.packs)?;
        let published = inner.catalog.require(later)?;
        let after = published.parsed.picture(&inner.packs)?;
        let mut found = Vec::new();
        for one in inner.all_uncovered(&published)? {
            let is_uncovered = |picture| -> Result<bool> {
                let there = lookup(picture, &one.path, &inner.packs)?;
                Ok(there.is_some_and(|entry| matches!(entry.node, Node::Uncovered { .. })))
            };
            // Of a file that changed while it was read there is something, too.
            if one.reason != Reason::Excluded && is_uncovered(&after)? && !is_uncovered(&before)? {
                found.push(one);
            }
        }
        Ok(found)
    }
}
