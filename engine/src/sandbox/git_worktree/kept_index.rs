//! What the resource's index said of the paths that a commit moves, where that was not what its commit has: a version that was only
//! staged, a flag, an unmerged path. Taking the commit back puts it back (S3, S8).

use std::collections::{BTreeMap, BTreeSet};

use git2::{Index, IndexEntry};
use serde::{Deserialize, Serialize};

use super::checkout::index_entry;
use super::local;
use super::local_changes::as_path;
use super::objects::{Item, Kind, Tree};
use super::pending::{Undo, malformed};
use super::refusal::git;
use super::registration::{listed, unlisted};
use crate::error::Result;
use crate::model::RelPath;
use crate::restore::Root;

/// The bits of an entry's flags that say something of the path: its stage, and that git need not look at its file.
const FLAGS: u16 = 0xb000;

/// One path's entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    path: String,
    /// One for each stage; none when the index did not have the path.
    entries: Vec<Staged>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Staged {
    id: String,
    mode: u32,
    flags: u16,
    extended: u16,
}

impl Staged {
    fn of(entry: &IndexEntry) -> Self {
        let (mode, extended) = (entry.mode, entry.flags_extended);
        Self { id: entry.id.to_string(), mode, flags: entry.flags & FLAGS, extended }
    }

    fn is(&self, item: Item) -> bool {
        let same = self.id == item.oid.to_string() && self.mode == item.kind.mode();
        same && self.flags == 0 && self.extended == 0
    }
}

fn staged(index: &Index, path: &RelPath) -> Vec<Staged> {
    let entries = (0..=3).filter_map(|stage| index.get_path(as_path(path), stage));
    entries.map(|entry| Staged::of(&entry)).collect()
}

/// What the index has of paths that are about to be moved, as far as it is not what the commit there has.
pub(super) fn kept(index: &Index, moved: &BTreeMap<RelPath, (Option<Item>, Option<Item>)>) -> Vec<Kept> {
    let mut all: BTreeMap<RelPath, Vec<Staged>> = BTreeMap::new();
    for (path, (from, to)) in moved {
        let entries = staged(index, path);
        let is_plain = match (entries.as_slice(), from) {
            ([], None) => true,
            ([one], Some(item)) => one.is(*item),
            _ => false,
        };
        if !is_plain {
            all.insert(path.clone(), entries);
        }
        if to.is_some() {
            // No index has a path and one beneath it: those have to make place.
            for other in in_the_way(index, path).into_iter().filter(|other| !moved.contains_key(other)) {
                let entries = staged(index, &other);
                all.insert(other, entries);
            }
        }
    }
    let one = |(path, entries)| Kept { path: listed(&[path]), entries };
    all.into_iter().map(one).collect()
}

/// Entries of the index that cannot be there together with a path.
fn in_the_way(index: &Index, path: &RelPath) -> BTreeSet<RelPath> {
    let mut found = BTreeSet::new();
    let mut above = path.split().map(|(parent, _)| parent);
    while let Some(parent) = above.filter(|parent| !parent.is_root()) {
        above = parent.split().map(|(parent, _)| parent);
        if !staged(index, &parent).is_empty() {
            found.insert(parent);
        }
    }
    let prefix = [path.as_bytes(), b"/"].concat();
    let first = index.find_prefix(prefix.clone()).ok();
    let beneath = first.into_iter().flat_map(|first| (first..).map_while(|at| index.get(at)));
    let beneath = beneath.take_while(|entry| entry.path.starts_with(&prefix));
    found.extend(beneath.filter_map(|entry| RelPath::parse(&entry.path).ok()));
    found
}

/// Takes all entries of a path out of an index.
pub(super) fn clear(index: &mut Index, path: &RelPath) -> Result<()> {
    for stage in 0..=3 {
        if index.get_path(as_path(path), stage).is_some() {
            index.remove(as_path(path), stage).map_err(|e| git("changing the index", e))?;
        }
    }
    Ok(())
}

impl Kept {
    /// Whether an index has it already.
    pub(super) fn is_in(&self, index: &Index, path: &RelPath) -> bool {
        staged(index, path) == self.entries
    }

    /// Puts it back.
    pub(super) fn put_back(&self, index: &mut Index, root: &Root, path: &RelPath) -> Result<()> {
        clear(index, path)?;
        let local = local::read(root, path)?;
        for one in &self.entries {
            let id = one.id.parse().map_err(|_| malformed())?;
            let item = Kind::of(one.mode).map(|kind| Item { kind, oid: id });
            let mut entry = match (&local, item) {
                (Some(local), Some(item))
                    if one.flags & 0x3000 == 0 && local.kind == item.kind && local.oid()? == id =>
                {
                    index_entry(path, item, &local.stat)
                }
                // It is for git to look at the file.
                _ => super::finish::without_stat(path, Item { kind: Kind::File, oid: id }),
            };
            (entry.mode, entry.flags, entry.flags_extended) = (one.mode, one.flags, one.extended);
            index.add(&entry).map_err(|e| git("changing the index", e))?;
        }
        Ok(())
    }
}

/// What comes back when a commit is taken back by a move from one tree to another: what no later commit changed.
pub(super) fn coming_back(
    undo: &Undo,
    committed: &Tree,
    before: &Tree,
    from: &Tree,
    to: &Tree,
) -> Result<BTreeMap<RelPath, Kept>> {
    let mut found = BTreeMap::new();
    for kept in &undo.index {
        let paths = unlisted(&kept.path).ok_or_else(malformed)?;
        for path in paths {
            if committed.get(&path) == from.get(&path) && before.get(&path) == to.get(&path) {
                found.insert(path, kept.clone());
            }
        }
    }
    Ok(found)
}
