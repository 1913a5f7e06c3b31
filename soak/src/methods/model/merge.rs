//! What a revert has to give, by pictures alone (C15): the turn changed `then` to `base`, and since then somebody made `now` of it.
//! Path by path: what the turn did not change stays as it is now; what nobody changed since becomes what it was; what both changed
//! is a conflict. No code of the engine is in here.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::{Item, Picture, What};

/// What the tree has to be, and where both sides changed something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Merged {
    pub(super) tree: Picture,
    pub(super) conflicts: BTreeSet<Vec<u8>>,
}

/// Merges: `base` is what the turn left, `now` what is there, `then` what was before the turn. Where there is a conflict `then` wins
/// when it is told to.
pub(super) fn merged(base: &Picture, now: &Picture, then: &Picture, then_wins: bool) -> Merged {
    let mut merge = Merge {
        base,
        now,
        then,
        then_wins,
        conflicts: BTreeSet::new(),
        taken: BTreeSet::new(),
        lists: [base, now, then].map(names),
    };
    let tree = merge.path(b"");
    let tree = merge.grouped(Picture(tree));
    Merged { tree, conflicts: merge.conflicts }
}

type Tree = BTreeMap<Vec<u8>, Item>;
type Paths = BTreeSet<Vec<u8>>;
/// Who shares an inode: whether as `then` has it, with whom there, and in which state.
type Company = (bool, Paths, Option<Item>);
type Names = BTreeMap<Vec<u8>, Vec<Vec<u8>>>;

struct Merge<'a> {
    base: &'a Picture,
    now: &'a Picture,
    then: &'a Picture,
    then_wins: bool,
    conflicts: BTreeSet<Vec<u8>>,
    /// Paths that are as `then` has them, with what lies beneath them.
    taken: BTreeSet<Vec<u8>>,
    /// What lies directly in each directory.
    lists: [Names; 3],
}

/// What lies directly in each directory.
fn names(of: &Picture) -> Names {
    let mut all = Names::new();
    for path in of.0.keys().filter(|path| !path.is_empty()) {
        let parent = path.iter().rposition(|b| *b == b'/').map_or(&[][..], |at| &path[..at]);
        all.entry(parent.to_vec()).or_default().push(path.clone());
    }
    all
}

/// An item but for whom it shares its inode with, which is a matter of the whole tree.
fn state(item: Option<&Item>) -> Option<Item> {
    item.map(|item| Item { group: Vec::new(), ..item.clone() })
}

/// An item but for its time, which a `touch` moves as well.
fn value(item: Option<&Item>) -> Option<Item> {
    state(item).map(|item| Item { mtime: (0, 0), ..item })
}

fn is_directory(item: Option<&Item>) -> bool {
    item.is_some_and(|item| item.what == What::Directory)
}

fn is_beneath(path: &[u8], of: &[u8]) -> bool {
    of.is_empty() || path == of || (path.starts_with(of) && path.get(of.len()) == Some(&b'/'))
}

/// A path with all that lies beneath it.
fn whole(of: &Picture, path: &[u8]) -> Tree {
    of.0.iter().filter(|(at, _)| is_beneath(at, path)).map(|(at, item)| (at.clone(), item.clone())).collect()
}

/// One field: what one side changed; nothing when both did.
fn three_way<T: PartialEq>(base: Option<T>, now: T, then: T) -> Option<T> {
    if base.as_ref() == Some(&then) || now == then {
        Some(now)
    } else if base.as_ref() == Some(&now) {
        Some(then)
    } else {
        None
    }
}

impl<'a> Merge<'a> {
    fn at(&self, path: &[u8]) -> [Option<&'a Item>; 3] {
        [self.base.0.get(path), self.now.0.get(path), self.then.0.get(path)]
    }

    fn take(&mut self, path: &[u8]) -> Tree {
        self.taken.insert(path.to_vec());
        whole(self.then, path)
    }

    /// Both sides changed it.
    fn conflict(&mut self, path: &[u8]) -> Tree {
        self.conflicts.insert(path.to_vec());
        if self.then_wins { self.take(path) } else { whole(self.now, path) }
    }

    /// What has to be at and beneath a path; empty when nothing.
    fn path(&mut self, path: &[u8]) -> Tree {
        let [base, now, then] = self.at(path);
        match [base, now, then].map(is_directory) {
            [true, true, false] if then.is_some() => {
                // A directory that has to make way for something else must be as the turn left it, throughout.
                let [mut was, mut is] = [self.base, self.now].map(|side| whole(side, path));
                was.values_mut().chain(is.values_mut()).for_each(|item| {
                    item.group.clear();
                    item.mtime = (0, 0);
                });
                if was == is { self.take(path) } else { self.conflict(path) }
            }
            [true, true, _] | [true, _, true] | [_, true, true] => self.directory(path),
            _ => self.leaf(path),
        }
    }

    /// One of the three is a directory at most.
    fn leaf(&mut self, path: &[u8]) -> Tree {
        let sides = self.at(path);
        let ([base, now, then], [base_value, now_value, then_value]) = (sides.map(state), sides.map(value));
        if then == base {
            whole(self.now, path)
        } else if now == base {
            self.take(path)
        } else if now == then || then_value == base_value {
            whole(self.now, path)
        } else if now_value == base_value {
            self.take(path)
        } else if now_value == then_value {
            whole(self.now, path)
        } else {
            self.conflict(path)
        }
    }

    fn directory(&mut self, path: &[u8]) -> Tree {
        let [base, now, then] = self.at(path);
        let known = (self.conflicts.clone(), self.taken.clone());
        let all = self.lists.iter().filter_map(|names| names.get(path)).flatten().cloned();
        let all: BTreeSet<Vec<u8>> = all.collect();
        let (mut inner, mut as_then) = (Tree::new(), true);
        for kid in all {
            let tree = self.path(&kid);
            let there = self.then.0.get(&kid);
            let is = tree.get(&kid);
            as_then &= (is_directory(is) && is_directory(there)) || state(is) == state(there);
            inner.extend(tree);
        }
        let changed = value(base) != value(then);
        match [base, now, then].map(is_directory) {
            [was_directory, true, true] => {
                let base = base.filter(|_| was_directory);
                if let (Some(now), Some(then)) = (now, then) {
                    inner.insert(path.to_vec(), self.both(path, base, now, then, as_then));
                }
                inner
            }
            // It is to be gone, if nothing is left in it and it is as the turn left it.
            [_, true, false] => {
                let unchanged = value(base) == value(now);
                if inner.is_empty() && (unchanged || self.conflict(path).is_empty()) {
                    return self.take(path);
                }
                inner.extend(now.map(|now| (path.to_vec(), now.clone())));
                inner
            }
            // Something else is in its place: that stays, whatever would have to be beneath it.
            [_, false, _] if now.is_some() => {
                let wanted = !inner.is_empty() || self.conflicts != known.0;
                (self.conflicts, self.taken) = known;
                if wanted || changed { self.conflict(path) } else { whole(self.now, path) }
            }
            // It was deleted since: what has to come back in it brings it back.
            _ => {
                if inner.is_empty() && (!changed || self.conflict(path).is_empty()) {
                    return Tree::new();
                }
                inner.extend(then.map(|then| (path.to_vec(), then.clone())));
                inner
            }
        }
    }

    /// A directory that stays one: what one side changed of its metadata.
    fn both(&mut self, path: &[u8], base: Option<&Item>, now: &Item, then: &Item, as_then: bool) -> Item {
        let mode = three_way(base.map(|b| b.mode), now.mode, then.mode);
        let owner = three_way(base.map(|b| b.owner), now.owner, then.owner);
        let xattrs = three_way(base.map(|b| b.xattrs.clone()), now.xattrs.clone(), then.xattrs.clone());
        if mode.is_none() || owner.is_none() || xattrs.is_none() {
            self.conflicts.insert(path.to_vec());
        }
        let winner = if self.then_wins { then } else { now };
        // Its time follows from what happens in it: that of before comes back only with all that was in it.
        let mtime =
            if as_then && base.is_some_and(|b| b.mtime == now.mtime) { then.mtime } else { now.mtime };
        Item {
            mode: mode.unwrap_or(winner.mode),
            owner: owner.unwrap_or(winner.owner),
            xattrs: xattrs.unwrap_or_else(|| winner.xattrs.clone()),
            mtime,
            ..now.clone()
        }
    }

    /// The names of one inode: a path that comes from `then` is in the company that it has there, one that stays in the company that
    /// it has now. Where the turn changed the company and nobody did since, it is that of `then`.
    fn grouped(&self, mut tree: Picture) -> Picture {
        let together = |side: &Picture, path: &[u8]| -> Paths {
            match side.0.get(path).filter(|item| item.what != What::Directory) {
                Some(item) => {
                    let is_one =
                        |(_, other): &(_, &Item)| other.group == item.group && other.what != What::Directory;
                    side.0.iter().filter(is_one).map(|(path, _)| path.clone()).collect()
                }
                None => BTreeSet::from([path.to_vec()]),
            }
        };
        let mut inodes: BTreeMap<Company, Paths> = BTreeMap::new();
        for (path, item) in tree.0.iter().filter(|(_, item)| item.what != What::Directory) {
            let is_taken = self.taken.iter().any(|of| is_beneath(path, of));
            let is_new = is_taken && state(Some(item)) != state(self.now.0.get(path));
            let [base, now, then] = [self.base, self.now, self.then].map(|side| together(side, path));
            let from_then = is_new || (then != base && now == base);
            // One inode has one state.
            let (side, with) = if from_then { (then, state(Some(item))) } else { (now, None) };
            inodes.entry((from_then, side, with)).or_default().insert(path.clone());
        }
        for names in inodes.into_values() {
            for name in &names {
                if let (Some(item), Some(first)) = (tree.0.get_mut(name), names.first()) {
                    item.group.clone_from(first);
                }
            }
        }
        for (path, item) in tree.0.iter_mut().filter(|(_, item)| item.what == What::Directory) {
            item.group.clone_from(path);
        }
        tree
    }
}
