//! What a walk gathers beside the manifests: counts, uncovered paths, hard links.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::model::{LinkGroups, Reason, RelPath, Uncovered};

/// Counts of what a walk covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Covered paths of every kind, directories and the root among them.
    pub files: u64,
    /// Bytes of the covered regular files, as their lengths add up.
    pub bytes: u64,
    /// Files that changed while they were read.
    pub changing: u64,
}

#[derive(Default)]
pub(super) struct Collector {
    files: AtomicU64,
    bytes: AtomicU64,
    changing: AtomicU64,
    uncovered: Mutex<Vec<Uncovered>>,
    links: Mutex<HashMap<(u64, u64), LinkSeen>>,
    noticed: Mutex<Vec<RelPath>>,
}

struct LinkSeen {
    nlink: u32,
    paths: Vec<RelPath>,
}

impl Collector {
    /// Counts covered paths; returns how many there are by now.
    pub(super) fn count(&self, files: u64, bytes: u64) -> u64 {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.files.fetch_add(files, Ordering::Relaxed) + files
    }

    pub(super) fn totals(&self) -> Totals {
        Totals {
            files: self.files.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            changing: self.changing.load(Ordering::Relaxed),
        }
    }

    pub(super) fn uncovered(&self, item: Uncovered) {
        if item.reason == Reason::Changing {
            self.changing.fetch_add(1, Ordering::Relaxed);
        }
        self.uncovered.lock().unwrap_or_else(PoisonError::into_inner).push(item);
    }

    pub(super) fn link(&self, dev: u64, ino: u64, nlink: u32, path: RelPath) {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = links.entry((dev, ino)).or_insert(LinkSeen { nlink, paths: Vec::new() });
        seen.nlink = seen.nlink.max(nlink);
        seen.paths.push(path);
    }

    pub(super) fn notice(&self, path: RelPath) {
        self.noticed.lock().unwrap_or_else(PoisonError::into_inner).push(path);
    }

    /// The paths that somebody wanted to hear of, sorted.
    pub(super) fn noticed(&self) -> Vec<RelPath> {
        let mut noticed = std::mem::take(&mut *self.noticed.lock().unwrap_or_else(PoisonError::into_inner));
        noticed.sort();
        noticed.dedup();
        noticed
    }

    /// The hard-link groups, and all uncovered paths sorted by path.
    pub(super) fn finish(self) -> (LinkGroups, Vec<Uncovered>) {
        let links = self.links.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut uncovered = self.uncovered.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut groups = Vec::new();
        for seen in links.into_values() {
            let found = u32::try_from(seen.paths.len()).unwrap_or(u32::MAX);
            if seen.nlink > found {
                let detail =
                    format!("{} of {} links lie outside the workspace", seen.nlink - found, seen.nlink);
                uncovered.extend(seen.paths.iter().map(|path| Uncovered {
                    path: path.clone(),
                    reason: Reason::LinkOutside,
                    detail: Some(detail.clone()),
                }));
            }
            groups.push(seen.paths);
        }
        uncovered.sort();
        (LinkGroups::new(groups), uncovered)
    }
}
