//! Which objects a checkpoint reaches, and which of them no other one does.

use std::collections::HashMap;

use super::catalog::Published;
use super::manifest;
use super::pack_set::PackSet;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::model::{Content, Hash, Node, Objects, Segment, decode_segments};

/// Who reaches an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// One checkpoint alone, by its place in the list.
    One(usize),
    /// Several.
    Shared,
}

/// Every reachable object with its owner. Each manifest is read at most twice: by its first owner, and when it turns out to be shared.
pub(super) struct Reach<'a> {
    packs: &'a PackSet,
    ctx: &'a Context,
    pub(super) owners: HashMap<Hash, Owner>,
}

enum Item {
    Manifest(Hash),
    Segments(Hash, u64),
}

impl<'a> Reach<'a> {
    pub(super) fn new(packs: &'a PackSet, ctx: &'a Context) -> Self {
        Self { packs, ctx, owners: HashMap::new() }
    }

    /// Adds all that a checkpoint reaches.
    ///
    /// # Errors
    /// `CORRUPT` when something on the way is missing: then nobody may be told that an object is unreachable.
    pub(super) fn add(&mut self, checkpoint: &Published, place: usize) -> Result<()> {
        let parsed = &checkpoint.parsed;
        for hash in [parsed.links, parsed.all_uncovered, parsed.root.xattrs].into_iter().flatten() {
            self.claim(hash, place);
        }
        let mut todo = Vec::new();
        if self.claim(parsed.manifest, place) {
            todo.push(Item::Manifest(parsed.manifest));
        }
        while let Some(item) = todo.pop() {
            self.ctx.check()?;
            match item {
                Item::Manifest(hash) => self.manifest(hash, place, &mut todo)?,
                Item::Segments(hash, size) => self.segments(hash, size, place)?,
            }
        }
        Ok(())
    }

    /// Notes an owner; `true` when what lies behind the object has to be visited.
    fn claim(&mut self, hash: Hash, place: usize) -> bool {
        match self.owners.get_mut(&hash) {
            None => {
                self.owners.insert(hash, Owner::One(place));
                true
            }
            Some(owner @ Owner::One(_)) if *owner != Owner::One(place) => {
                *owner = Owner::Shared;
                true
            }
            Some(_) => false,
        }
    }

    fn manifest(&mut self, hash: Hash, place: usize, todo: &mut Vec<Item>) -> Result<()> {
        for part in manifest::parts(self.packs, hash)? {
            self.claim(part, place);
        }
        for entry in self.packs.directory(hash)? {
            if let Some(xattrs) = entry.meta.xattrs {
                self.claim(xattrs, place);
            }
            match entry.node {
                Node::Directory { manifest } => {
                    if self.claim(manifest, place) {
                        todo.push(Item::Manifest(manifest));
                    }
                }
                Node::File { content: Content::Blob(hash), .. } => {
                    self.claim(hash, place);
                }
                Node::File { content: Content::Segments(hash), size, .. } => {
                    if self.claim(hash, place) {
                        todo.push(Item::Segments(hash, size));
                    }
                }
                Node::Symlink { .. } | Node::Fifo | Node::Uncovered { .. } => {}
            }
        }
        Ok(())
    }

    fn segments(&mut self, hash: Hash, size: u64, place: usize) -> Result<()> {
        let bytes = self.packs.read(hash, u64::MAX)?;
        let segments = decode_segments(&bytes, size)
            .map_err(|e| Error::corrupt("a list of segments is malformed").because(e))?;
        for segment in segments {
            if let Segment::Data { hash, .. } = segment {
                self.claim(hash, place);
            }
        }
        Ok(())
    }
}
