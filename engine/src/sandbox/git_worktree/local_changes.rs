//! Whether a path of the resource may be written: not when it has changes that are in no commit (S8).

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use git2::IndexEntry;
use turnback_core::CheckpointId;

use super::index::PrivateIndex;
use super::local::{self, Local};
use super::objects::Item;
use crate::checkpoint::Manager;
use crate::checkpoint::edited::Seen;
use crate::error::Result;
use crate::model::{Node, RelPath, Timestamp};
use crate::restore::Root;

/// What is known of the resource.
pub(super) struct Resource<'a> {
    pub(super) root: &'a Root,
    pub(super) index: &'a PrivateIndex,
    pub(super) skipped: &'a HashSet<RelPath>,
    /// The state that the sandbox began with, where that was not the commit's (`carryChanges`).
    pub(super) carried: Option<(&'a Manager, CheckpointId)>,
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
    Seen { mtime: Timestamp { sec: stat.st_mtime, nsec }, size: local.bytes.len() as u64 }
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
        let entry = self.index.index.get_path(as_path(path), 0);
        if !self.is_staged(path, from) && !self.is_staged(path, to) {
            return Ok(Finding::Changed(seen));
        }
        let Some(local) = local else {
            return Ok(match (from, self.skipped.contains(path)) {
                (_, true) => Finding::IndexOnly,
                (None, _) if to.is_some() => Finding::Write(None),
                (Some(_), _) if to.is_none() => Finding::IndexOnly,
                _ => Finding::Changed(None),
            });
        };
        let now = Item { kind: local.kind, oid: local.oid()? };
        Ok(if to == Some(now) {
            Finding::IndexOnly
        } else if from == Some(now)
            || self.is_clean(entry.as_ref(), from, &local)
            || self.is_carried(path, now)?
        {
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

    fn is_carried(&self, path: &RelPath, now: Item) -> Result<bool> {
        let Some((manager, baseline)) = self.carried else { return Ok(false) };
        let bytes = match manager.look(baseline, path)?.map(|entry| entry.node) {
            Some(Node::File { .. }) => manager.read_file(baseline, path)?,
            Some(Node::Symlink { target }) => target.into_vec(),
            _ => return Ok(false),
        };
        let oid = git2::Oid::hash_object(git2::ObjectType::Blob, &bytes);
        Ok(oid.map_err(|e| super::refusal::git("hashing a file", e))? == now.oid)
    }
}
