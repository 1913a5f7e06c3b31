//! What a sandbox changed, as git is to have it: what goes into the commit, and what is held back.

use std::collections::{BTreeMap, BTreeSet};

use git2::ObjectType;
use rustix::io::Errno;

use super::config::Config;
use super::ignored::Ignored;
use super::mover;
use super::objects::{Item, Kind, Tree};
use super::registration::Registered;
use super::repository::Repository;
use crate::change::{Change, ChangeKind};
use crate::checkpoint::Manager;
use crate::error::{Error, Result};
use crate::model::{Entry, Node, Reason, RelPath, Uncovered};
use crate::report::Conflict;
use crate::restore::Root;
use crate::sandbox::commit::{CommitOptions, HeldBack, HoldReason};
use crate::sandbox::held_back::by_name;
use crate::sandbox::leads::{Leads, counts};
use turnback_core::CheckpointId;

/// The changes of a sandbox since its baseline.
#[derive(Default)]
pub(super) struct Changed {
    /// What is committed, as users see it.
    pub(super) changes: Vec<Change>,
    /// The same for git; `None` for what is not there any more.
    pub(super) items: Vec<(RelPath, Option<Item>)>,
    /// Those of them that the sandbox did not begin as its base has them, but as the resource had them (`carryChanges`).
    pub(super) carried: BTreeMap<RelPath, Carried>,
    /// Sorted.
    pub(super) held: Vec<HeldBack>,
}

/// A change of a path that was carried in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Carried {
    /// What the sandbox's base has.
    pub(super) base: Option<Item>,
    /// What the sandbox was given: the resource had it, in no commit.
    pub(super) was: Option<Item>,
    /// What the sandbox made of it.
    pub(super) now: Option<Item>,
}

impl Changed {
    /// Whether there is nothing to commit.
    pub(super) const fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.items.is_empty()
    }

    /// The changes that are in the tree that was reached: without those that lost a conflict.
    pub(super) fn brought(&self, reached: &Tree, conflicts: &[Conflict]) -> Vec<Change> {
        let met = |path: &RelPath| conflicts.iter().any(|conflict| path.starts_with(&conflict.path));
        let is_there = |path: &RelPath| {
            let item = self.items.iter().find(|(other, _)| other == path).and_then(|(_, item)| *item);
            reached.get(path).copied() == item
        };
        // Where the commit checked out has the sandbox's state already, that says nothing of the file.
        let is_brought = |path: &RelPath| is_there(path) && !self.carried.contains_key(path);
        self.changes.iter().filter(|one| !met(&one.path) || is_brought(&one.path)).cloned().collect()
    }
}

/// The changes from one tree to another, as users see them.
pub(super) fn between(from: &Tree, to: &Tree) -> Vec<Change> {
    let change = |(path, before, after): (&RelPath, Option<Item>, Option<Item>)| {
        let kind = match (before, after) {
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Deleted,
            _ => ChangeKind::Modified,
        };
        Change { path: path.clone(), kind, bytes: None }
    };
    mover::changed(from, to).map(change).collect()
}

/// Sorts a sandbox's changes out, and writes the objects of what is committed. What is committed is what the checkpoint `now` has.
pub(super) struct Sorter<'a> {
    pub(super) manager: &'a Manager,
    pub(super) repository: &'a Repository,
    pub(super) registered: &'a Registered,
    pub(super) sandbox: &'a Root,
    /// Places that are held back.
    pub(super) leads: &'a Leads,
    pub(super) now: CheckpointId,
    /// The sandbox's baseline.
    pub(super) old: CheckpointId,
    /// What git tracks at the sandbox's base.
    pub(super) base: &'a Tree,
    pub(super) options: &'a CommitOptions,
}

/// Finds the places that something leads to which counts by its name: what git tracks, and what lies beside and above the changes.
///
/// # Errors
/// When something cannot be examined.
pub(super) fn leads(all: &[Change], base: &Tree, config: &Config, sides: [&Root; 2]) -> Result<Leads> {
    let mut noticed: BTreeSet<RelPath> = base
        .iter()
        .filter(|(path, item)| item.kind == Kind::Link && counts(path))
        .map(|(path, _)| path.clone())
        .collect();
    let mut directories = BTreeSet::from([RelPath::root()]);
    for change in all {
        let mut at = change.path.split().map(|(parent, _)| parent);
        while let Some(here) = at.filter(|here| directories.insert(here.clone())) {
            at = here.split().map(|(parent, _)| parent);
        }
    }
    for directory in &directories {
        for side in sides {
            match side.dir(directory).and_then(|dir| dir.names()) {
                Ok(names) => {
                    let paths = names.iter().map(|name| directory.join(name));
                    noticed.extend(paths.filter(counts));
                }
                // One side does not have it.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(errno) => {
                    return Err(Error::io(format!("listing `{directory}`"), errno).at(side.path()));
                }
            }
        }
    }
    let noticed: Vec<RelPath> = noticed.into_iter().collect();
    let mut leads = Leads::find(sides.into_iter().map(|side| (side, noticed.as_slice())))?;
    leads.add_hooks(sides, config)?;
    Ok(leads)
}

impl Sorter<'_> {
    /// `uncovered` is what came since the baseline and cannot be read.
    pub(super) fn run(&self, all: Vec<Change>, uncovered: Vec<Uncovered>) -> Result<Changed> {
        let ignored = Ignored::new(self.repository, self.sandbox)?;
        let mut done = Changed::default();
        for Uncovered { path, reason, .. } in uncovered {
            let reason = match reason {
                Reason::Socket | Reason::Device => HoldReason::Special,
                _ => HoldReason::NotRead,
            };
            done.held.push(HeldBack { path, reason });
        }
        for change in all {
            if change.path.is_root() || done.held.iter().any(|held| change.path.starts_with(&held.path)) {
                continue;
            }
            self.one(change, &ignored, &mut done)?;
        }
        let Changed { changes, items, carried, held } = &mut done;
        // One beneath another says nothing new.
        let tops: Vec<RelPath> = held.iter().map(|held| held.path.clone()).collect();
        held.retain(|held| !tops.iter().any(|top| *top != held.path && held.path.starts_with(top)));
        let is_held = |path: &RelPath| held.iter().any(|held| path.starts_with(&held.path));
        changes.retain(|change| !is_held(&change.path));
        items.retain(|(path, _)| !is_held(path));
        carried.retain(|path, _| !is_held(path));
        if self.registered.carried {
            self.make_room(&mut done);
        }
        done.items.sort_by(|(a, _), (b, _)| a.names().cmp(b.names()));
        done.items.dedup_by(|(a, _), (b, _)| a == b);
        done.changes.sort_by(|a, b| a.path.names().cmp(b.path.names()));
        done.changes.dedup_by(|a, b| a.path == b.path);
        done.held.sort();
        done.held.dedup();
        Ok(done)
    }

    /// No tree has a file and a path beneath it. What was carried in may have put one in the place of the other: the sandbox did not change
    /// that, but its own change is committed only together with it.
    fn make_room(&self, done: &mut Changed) {
        let mut gone: BTreeSet<RelPath> = BTreeSet::new();
        for (path, _) in done.items.iter().filter(|(_, item)| item.is_some()) {
            let mut above = path.split().map(|(parent, _)| parent);
            while let Some(parent) = above.filter(|parent| !parent.is_root()) {
                above = parent.split().map(|(parent, _)| parent);
                gone.extend(Some(parent).filter(|parent| self.base.contains_key(parent)));
            }
            // A path's bytes come before those of all beneath it.
            let beneath = self.base.range(path.clone()..).map(|(known, _)| known);
            let beneath = beneath.take_while(|known| known.as_bytes().starts_with(path.as_bytes()));
            gone.extend(beneath.filter(|known| *known != path && known.starts_with(path)).cloned());
        }
        for (path, _) in &done.items {
            gone.remove(path);
        }
        for path in gone {
            let base = self.base.get(&path).copied();
            done.carried.insert(path.clone(), Carried { base, was: None, now: None });
            done.changes.push(Change { path: path.clone(), kind: ChangeKind::Deleted, bytes: None });
            done.items.push((path, None));
        }
    }

    fn one(&self, change: Change, ignored: &Ignored<'_>, done: &mut Changed) -> Result<()> {
        let path = &change.path;
        let entry = self.manager.look(self.now, path)?;
        let is_directory = matches!(entry, Some(Entry { node: Node::Directory { .. }, .. }));
        if let Some(held) = self.holds(path, is_directory, ignored)? {
            done.held.push(HeldBack { path: self.lifted(held.path)?, ..held });
            return Ok(());
        }
        let item = match &entry {
            None => None,
            // What was read of it need not ever have been there (P5).
            Some(Entry { node: Node::File { changing: true, .. }, .. }) => {
                done.held.push(HeldBack { path: path.clone(), reason: HoldReason::Changing });
                return Ok(());
            }
            // What lies beneath comes by itself; git has no directories.
            Some(Entry { node: Node::Directory { .. }, .. }) => None,
            Some(entry) => match self.item(self.now, path, entry)? {
                Some(item) => Some(item),
                None => {
                    done.held.push(HeldBack { path: path.clone(), reason: HoldReason::Special });
                    return Ok(());
                }
            },
        };
        let base = self.base.get(path).copied();
        let carried = self.carried(path, base)?.map(|was| Carried { base, was, now: item });
        // A mode or a time that git does not have, an empty directory: nothing to commit.
        if carried.map_or(base, |carried| carried.was) == item {
            return Ok(());
        }
        done.carried.extend(carried.map(|carried| (path.clone(), carried)));
        done.items.push((path.clone(), item));
        done.changes.push(change);
        Ok(())
    }

    /// What a path was in the sandbox's baseline, where that is not what its base has because the resource had something else.
    fn carried(&self, path: &RelPath, base: Option<Item>) -> Result<Option<Option<Item>>> {
        if !self.registered.carried {
            return Ok(None);
        }
        let was = match self.manager.look(self.old, path)? {
            Some(entry) => self.item(self.old, path, &entry)?,
            None => None,
        };
        Ok((was != base).then_some(was))
    }

    /// Where the sandbox has something else in the place of a parent, that one counts as a whole: nothing can lie beneath it.
    fn lifted(&self, path: RelPath) -> Result<RelPath> {
        let mut top = path.clone();
        let mut parent = path.split().map(|(parent, _)| parent);
        while let Some(path) = parent.filter(|path| !path.is_root()) {
            let there = self.manager.look(self.now, &path)?;
            if there.is_some_and(|entry| !matches!(entry.node, Node::Directory { .. })) {
                top = path.clone();
            }
            parent = path.split().map(|(parent, _)| parent);
        }
        Ok(top)
    }

    /// Why a path is held back, if it is.
    pub(super) fn holds(
        &self,
        path: &RelPath,
        is_directory: bool,
        ignored: &Ignored<'_>,
    ) -> Result<Option<HeldBack>> {
        let held = |path: &RelPath, reason| Ok(Some(HeldBack { path: path.clone(), reason }));
        match by_name(path).or_else(|| self.leads.of(path, !is_directory)) {
            Some((at, HoldReason::Git)) => return held(&at, HoldReason::Git),
            Some((at, reason)) if !self.options.allow_trusted => return held(&at, reason),
            _ => {}
        }
        if let Some(seed) = self.registered.seeds.iter().find(|seed| path.starts_with(seed))
            && !self.base.contains_key(path)
        {
            return held(seed, HoldReason::Seeded);
        }
        let mut at = Some(path.clone());
        while let Some(here) = at.filter(|here| !here.is_root()) {
            if self.base.get(&here).is_some_and(|item| item.kind == Kind::Submodule) {
                return held(&here, HoldReason::Submodule);
            }
            at = here.split().map(|(parent, _)| parent);
        }
        if self.base.contains_key(path) || !ignored.has(path, is_directory)? {
            return Ok(None);
        }
        // Only where nothing tracked lies in it does a directory stand for all of it.
        if is_directory && self.base.keys().any(|tracked| tracked.starts_with(path)) {
            return Ok(None);
        }
        held(path, HoldReason::Ignored)
    }

    /// What git has for a path; `None` for kinds that it does not know.
    fn item(&self, of: CheckpointId, path: &RelPath, entry: &Entry) -> Result<Option<Item>> {
        let write = |bytes: &[u8]| self.repository.objects.write(ObjectType::Blob, bytes);
        Ok(match &entry.node {
            Node::Symlink { target } => Some(Item { kind: Kind::Link, oid: write(target)? }),
            Node::File { .. } => {
                let kind = if entry.meta.mode & 0o100 != 0 { Kind::Executable } else { Kind::File };
                Some(Item { kind, oid: write(&self.manager.read_file(of, path)?)? })
            }
            Node::Directory { .. } | Node::Fifo | Node::Uncovered { .. } => None,
        })
    }
}

/// The tree with the changes in it, and with what is held back as `common` has it, so that nothing of it is brought anywhere.
pub(super) fn applied(base: &Tree, common: &Tree, changed: &Changed) -> Tree {
    let mut tree = base.clone();
    for HeldBack { path, .. } in &changed.held {
        tree.retain(|known, _| !known.starts_with(path));
        let there = common.iter().filter(|(known, _)| known.starts_with(path));
        tree.extend(there.map(|(path, item)| (path.clone(), *item)));
    }
    for (path, item) in &changed.items {
        match item {
            Some(item) => drop(tree.insert(path.clone(), *item)),
            None => drop(tree.remove(path)),
        }
    }
    tree
}
