//! One path of a checkpoint, as its picture has it.

use turnback_core::CheckpointId;

use super::manager::Manager;
use crate::context::Context;
use crate::error::Result;
use crate::model::{Entry, Node, Objects as _, RelPath};
use crate::tree::lookup;

impl Manager {
    /// The entry of a path in a checkpoint; `None` when there is none.
    pub(crate) fn look(&self, id: CheckpointId, path: &RelPath) -> Result<Option<Entry>> {
        let inner = self.open_inner()?;
        let _store = inner.share_store(&Context::default())?;
        let picture = inner.catalog.require(id)?.parsed.picture(&inner.packs)?;
        lookup(&picture, path, &inner.packs)
    }

    /// All paths that are no directories at and beneath a path of a checkpoint.
    pub(crate) fn leaves(&self, id: CheckpointId, path: &RelPath) -> Result<Vec<RelPath>> {
        let inner = self.open_inner()?;
        let _store = inner.share_store(&Context::default())?;
        let picture = inner.catalog.require(id)?.parsed.picture(&inner.packs)?;
        let mut found = Vec::new();
        let mut todo = vec![(path.clone(), lookup(&picture, path, &inner.packs)?)];
        while let Some((path, entry)) = todo.pop() {
            match entry.map(|entry| entry.node) {
                None => {}
                Some(Node::Directory { manifest }) => {
                    let entries = inner.packs.directory(manifest)?;
                    todo.extend(entries.into_iter().map(|entry| (path.join(&entry.name), Some(entry))));
                }
                Some(_) => found.push(path),
            }
        }
        Ok(found)
    }
}
