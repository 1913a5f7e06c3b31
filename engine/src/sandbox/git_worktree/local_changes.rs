//! Whether a path of the resource may be written: not when it has changes that are in no commit (S8).

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use git2::IndexEntry;

use super::changed::Carried;
use super::index::PrivateIndex;
use super::local::{self, Local};
use super::objects::Item;
use crate::checkpoint::edited::Seen;
use crate::error::Result;
use crate::model::{RelPath, Timestamp};
use crate::restore::Root;

/// What is known of the resource.
pub(super) struct Resource<'a> {
    pub(super) root: &'a Root,
    pub(super) index: &'a PrivateIndex,
    pub(super) skipped: &'a HashSet<RelPath>,
    /// Paths of which the sandbox was given what the resource had, in no commit (`carryChanges`): that is no change of the resource's.
    pub(super) carried: Option<&'a BTreeMap<RelPath, Carried>>,
}

/// What may be done with a path.
pub(super) enum Finding {
    /// It is to be written; this was seen there.
    Write(Option<Seen>),
    /// The file is already as it is to be, or need not be there.
    IndexOnly,
    /// It has changes of its own; this was seen there, if it is something that git knows.
    Changed(Option<Seen>),
}

pub(super) fn as_path(path: &RelPath) -> &Path {
    Path::new(OsStr::from_bytes(path.as_bytes()))
}

fn seen(local: &Local) -> Seen {
    let stat = &local.stat;
    let nsec = u32::try_from(stat.st_mtime_nsec).unwrap_or_default();
    Seen::Leaf { mtime: Timestamp { sec: stat.st_mtime, nsec }, size: local.bytes.len() as u64 }
}

impl Resource<'_> {
    /// Whether the index has a path as a commit does.
    pub(super) fn is_staged(&self, path: &RelPath, item: Option<Item>) -> bool {
        let stage = |stage| self.index.index.get_path(as_path(path), stage);
        let is_unmerged = (1..=3).any(|number| stage(number).is_some());
        let staged = stage(0).map(|entry| (entry.id, entry.mode));
        !is_unmerged && staged == item.map(|item| (item.oid, item.kind.mode()))
    }

    /// Compares a path with the commit that is checked out (`from`) and with the one that is to be (`to`).
    pub(super) fn look(&self, path: &RelPath, from: Option<Item>, to: Option<Item>) -> Result<Finding> {
        let local = local::read(self.root, path)?;
        let seen = local.as_ref().map(seen);
        let carried = self.carried.and_then(|all| all.get(path));
        let entry = self.index.index.get_path(as_path(path), 0);
        let is_given = carried.is_some_and(|carried| self.is_staged(path, carried.was));
        if !is_given && !self.is_staged(path, from) && !self.is_staged(path, to) {
            return Ok(Finding::Changed(seen));
        }
        let is_moved = carried.is_some_and(|carried| from != carried.base);
        let Some(local) = local else {
            // A path that the sandbox was given, and that is gone since, is a change of the resource's.
            let is_as_it_was = match carried {
                Some(carried) => carried.was.is_none() || (is_moved && from.is_none()),
                None => from.is_none(),
            };
            return Ok(match self.skipped.contains(path) {
                false if to.is_some() && is_as_it_was => Finding::Write(None),
                false if to.is_some() => Finding::Changed(None),
                _ => Finding::IndexOnly,
            });
        };
        let now = Item { kind: local.kind, oid: local.oid()? };
        let is_clean = from == Some(now) || self.is_clean(entry.as_ref(), from, &local);
        let is_as_it_was = match carried {
            Some(carried) => carried.was == Some(now) || (is_moved && is_clean),
            None => is_clean,
        };
        Ok(if to == Some(now) || (to == from && is_clean) {
            Finding::IndexOnly
        } else if is_as_it_was {
            Finding::Write(seen)
        } else {
            Finding::Changed(seen)
        })
    }

    /// Whether git itself takes the file for unchanged, although its bytes are not the blob's: a checkout may have converted them.
    fn is_clean(&self, entry: Option<&IndexEntry>, from: Option<Item>, local: &Local) -> bool {
        let (Some(entry), Some(from)) = (entry, from) else { return false };
        let now = super::checkout::index_entry(&RelPath::root(), from, &local.stat);
        let same = entry.id == from.oid
            && local.kind == from.kind
            && (entry.mtime, entry.ctime, entry.ino, entry.file_size, entry.uid, entry.gid)
                == (now.mtime, now.ctime, now.ino, now.file_size, now.uid, now.gid);
        // Written in the same moment as the index: its time proves nothing.
        same && self.index.is_older(&entry.mtime)
    }
}
