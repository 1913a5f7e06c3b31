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

/// The place of checkpoints that stay, where it is told what goes with which.
pub(super) const STAYS: usize = 0;

/// Every reachable object with its owner. Each manifest is read at most twice: by its first owner, and when it turns out to be shared.
pub(super) struct Reach<'a> {
    packs: &'a PackSet,
    ctx: &'a Context,
    pub(super) owners: HashMap<Hash, Owner>,
    /// An object belongs to who reached it first, so that nothing is read twice.
    first_only: bool,
    todo: Vec<(Item, usize)>,
}

enum Item {
    Manifest(Hash),
    Segments(Hash, u64),
}

impl<'a> Reach<'a> {
    /// Tells who alone reaches an object.
    pub(super) fn new(packs: &'a PackSet, ctx: &'a Context) -> Self {
        Self { packs, ctx, owners: HashMap::new(), first_only: false, todo: Vec::new() }
    }

    /// Tells who reaches an object first; those that stay, at place [`STAYS`], count before all others whenever they come. Checkpoints are added in the opposite of the order in which they would go: then the first one
    /// is the one whose deletion frees the object.
    pub(super) fn first(packs: &'a PackSet, ctx: &'a Context) -> Self {
        Self { first_only: true, ..Self::new(packs, ctx) }
    }

    /// Adds all that a checkpoint reaches.
    ///
    /// # Errors
    /// `CORRUPT` when something on the way is missing: then nobody may be told that an object is unreachable.
    pub(super) fn add(&mut self, checkpoint: &Published, place: usize) -> Result<()> {
        self.begin(checkpoint, place);
        self.finish(self.ctx)
    }

    /// Notes what a checkpoint begins with; the rest is for [`Reach::finish`].
    pub(super) fn begin(&mut self, checkpoint: &Published, place: usize) {
        let parsed = &checkpoint.parsed;
        for hash in [parsed.links, parsed.all_uncovered, parsed.root.xattrs].into_iter().flatten() {
            self.claim(hash, place);
        }
        if self.claim(parsed.manifest, place) {
            self.todo.push((Item::Manifest(parsed.manifest), place));
        }
    }

    /// Follows everything that was begun. After a deadline it can be called again.
    ///
    /// # Errors
    /// `ABORTED`, `TIMED_OUT`; `CORRUPT` as for [`Reach::add`].
    pub(super) fn finish(&mut self, ctx: &Context) -> Result<()> {
        while !self.todo.is_empty() {
            ctx.check()?;
            let Some((item, place)) = self.todo.pop() else { break };
            let mut todo = Vec::new();
            let read = match item {
                Item::Manifest(hash) => self.manifest(hash, place, &mut todo),
                Item::Segments(hash, size) => self.segments(hash, size, place),
            };
            if let Err(error) = read {
                self.todo.clear();
                return Err(error);
            }
            self.todo.extend(todo.into_iter().map(|item| (item, place)));
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
            // Somebody who stays has come to need what was to go, and everything behind it.
            Some(owner @ Owner::One(1..)) if self.first_only && place == STAYS => {
                *owner = Owner::One(STAYS);
                true
            }
            Some(owner @ Owner::One(_)) if !self.first_only && *owner != Owner::One(place) => {
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
