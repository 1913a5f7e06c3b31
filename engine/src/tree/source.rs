//! What is learned of the tree that is read where the picture is another one's that is equal to it: a copy that is being made, or a
//! snapshot. It becomes a stat cache of that tree, so that a later walk of it reads only what changed since (W7).

use super::list::Slot;
use super::stat::Stat;
use super::stat_cache::{self, CacheWriter, Known, Listing};
use super::walk::Shared;
use crate::error::Result;
use crate::model::Hash;

/// A directory that was read.
#[derive(Clone, Copy)]
pub(super) struct Source {
    pub(super) stat: Stat,
    /// Equal timestamps mean equal names.
    pub(super) listing_trusted: bool,
    /// Equal timestamps mean equal metadata, too.
    pub(super) trusted: bool,
}

impl Source {
    /// As it was when the other tree was made of it, at one moment: what may have changed in the same tick of the clock is not trusted.
    pub(super) fn at_once(self, shared: &Shared<'_>) -> Self {
        let trusted = is_old(shared, &self.stat);
        Self { listing_trusted: self.listing_trusted && trusted, trusted, ..self }
    }

    /// Writes its record, with what is known of its names, and gives what its parent's says of it. The picture need not be whole: a name
    /// that is not in it has to be found again.
    pub(super) fn known<'n>(
        &self,
        is_whole: bool,
        (ignore_fingerprint, manifest): (u64, Hash),
        names: impl ExactSizeIterator<Item = (&'n [u8], Known)>,
        writer: &dyn CacheWriter,
    ) -> Result<Known> {
        let Self { stat, listing_trusted, trusted } = *self;
        let listing = Listing {
            ino: stat.ino,
            mtime: stat.mtime,
            ctime: stat.ctime,
            trusted: listing_trusted && is_whole,
            ignore_fingerprint,
            manifest,
        };
        let child = writer.append(&stat_cache::encode(&listing, names))?;
        Ok(Known { stat, child, trusted, uncovered: None })
    }
}

/// What is known of a name.
pub(super) fn source_of(shared: &Shared<'_>, slot: &Slot) -> Known {
    if shared.mirror.is_some() {
        return slot.source;
    }
    let trusted = slot.now.trusted && is_old(shared, &slot.now.stat);
    Known { child: slot.source.child, trusted, ..slot.now }
}

/// Whether an inode did not change any more in the tick of the clock in which the two trees were equal.
fn is_old(shared: &Shared<'_>, stat: &Stat) -> bool {
    let equal_at = shared.walk.source_cache.as_ref().and_then(|source| source.clock);
    equal_at.is_some_and(|clock| shared.trusts(stat.ctime, clock))
}
