//! What a rollback will do, decided before anything is touched: two pictures in, actions out. No I/O save reading manifests.

mod compare;
mod descend;
mod git;
mod links;
mod merge;
mod scope;
mod settle;
mod size;
mod work;

pub use git::GitMode;
pub(crate) use git::is_git_name;
pub use merge::{Manifests, MergeOptions, Merged, OnConflict, Sides, merge};
pub(crate) use merge::{same_state, same_value};
pub(super) use work::{Act, DirWork, Item, Role, State};

use crate::change::{Change, ChangeKind};
use crate::context::Context;
use crate::error::Result;
use crate::model::{Meta, Objects, Picture, RelPath, Uncovered};

/// What to restore, and how.
#[derive(Debug, Clone, Default)]
pub struct PlanOptions {
    /// What happens in every `.git`.
    pub git: GitMode,
    /// Only these paths with what is beneath them; `None` for everything.
    pub paths: Option<Vec<RelPath>>,
}

/// What a rollback will do. The same plan is shown by a dry run and carried out by [`super::apply`].
///
/// *Looking at it:* [`Plan::is_empty`], [`Plan::changes`], [`Plan::kept`], [`Plan::not_restorable`], [`Plan::head_moved`].
#[derive(Debug)]
pub struct Plan {
    /// Parents before their children; the first is the root.
    pub(super) dirs: Vec<DirWork>,
    /// Sorted by directory, then by name.
    pub(super) items: Vec<Item>,
    /// The root is missing or empty: everything in it is made, its own metadata too.
    pub(super) fresh: bool,
    kept: Vec<Uncovered>,
    not_restorable: Vec<Uncovered>,
    head_moved: bool,
}

/// Decides what brings a workspace from the picture `now` back to the picture `then`.
///
/// `now` is `None` when the root is missing or an empty directory. A path is deleted only when `then` proves that it was not there
/// and `now` has captured it (C7); what `now` has not captured is not overwritten either.
///
/// # Errors
/// `NOT_FOUND` for one of `options.paths` that neither picture has; `CORRUPT` when a root's manifest cannot be read (a damaged
/// directory further down is listed as not restorable instead); `ABORTED` and `TIMED_OUT` from `ctx`.
pub fn plan(
    now: Option<&Picture>,
    then: &Picture,
    objects: &dyn Objects,
    options: &PlanOptions,
    ctx: &Context,
) -> Result<Plan> {
    let draft = descend::descend(now, then, objects, options, ctx)?;
    Ok(settle::settle(draft, now.is_none()))
}

impl Plan {
    /// Puts a plan together again, from a journal. `dirs` and `items` must be in the order of a plan's.
    pub(super) fn of_parts(
        mut dirs: Vec<DirWork>,
        items: Vec<Item>,
        fresh: bool,
        kept: Vec<Uncovered>,
        not_restorable: Vec<Uncovered>,
        head_moved: bool,
    ) -> Self {
        settle::share_out(&mut dirs, &items);
        Self { dirs, items, fresh, kept, not_restorable, head_moved }
    }

    /// Whether there is nothing to write or delete, not even an mtime.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.fresh
            && self.items.is_empty()
            && self.dirs.iter().all(|dir| match &dir.role {
                Role::Keep { before, after } => before == after,
                Role::Create { .. } | Role::Delete { .. } => false,
            })
    }

    /// The differences that the rollback takes back, sorted by path: what only exists now is `Added`, what is missing now is
    /// `Deleted`. Directories of which only the mtime differs are restored and not listed.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        let paths = self.dir_paths();
        let mut changes: Vec<Change> = Vec::with_capacity(self.items.len());
        for (dir, path) in self.dirs.iter().zip(&paths) {
            let kind = match &dir.role {
                Role::Keep { before, after } if differs_visibly(before, after) => ChangeKind::Metadata,
                Role::Create { replaces: None, .. } => ChangeKind::Deleted,
                Role::Create { replaces: Some(_), .. } => ChangeKind::TypeChanged,
                Role::Delete { .. } if !dir.then => ChangeKind::Added,
                // The item that takes the directory's place speaks for both.
                Role::Delete { .. } | Role::Keep { .. } => continue,
            };
            let bytes = match &dir.role {
                Role::Create { replaces, .. } => replaces.as_ref().and_then(State::bytes),
                _ => None,
            };
            changes.push(Change { path: path.clone(), kind, bytes });
        }
        for item in &self.items {
            let Some(dir) = paths.get(item.dir) else { continue };
            let (before, after) = (item.before.as_ref(), item.after.as_ref());
            let kind = match item.act {
                Act::Create => ChangeKind::Deleted,
                Act::Delete => ChangeKind::Added,
                Act::Metadata | Act::Relink => ChangeKind::Metadata,
                Act::Replace if before.map(|s| s.node.kind()) == after.map(|s| s.node.kind()) => {
                    ChangeKind::Modified
                }
                Act::Replace => ChangeKind::TypeChanged,
            };
            let seen = if kind == ChangeKind::Deleted { after } else { before };
            changes.push(Change { path: dir.join(&item.name), kind, bytes: seen.and_then(State::bytes) });
        }
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        changes
    }

    /// Directories of which nothing but the modification time goes back; they are not among the changes.
    #[must_use]
    pub fn restamped(&self) -> u64 {
        let only_time = |dir: &&DirWork| match &dir.role {
            Role::Keep { before, after } => before != after && !differs_visibly(before, after),
            Role::Create { .. } | Role::Delete { .. } => false,
        };
        self.dirs.iter().filter(only_time).count() as u64
    }

    /// Paths that are left alone on purpose, sorted.
    #[must_use]
    pub fn kept(&self) -> &[Uncovered] {
        &self.kept
    }

    /// Paths in scope that cannot be brought back, the checkpoint's own uncovered ones among them, sorted.
    #[must_use]
    pub fn not_restorable(&self) -> &[Uncovered] {
        &self.not_restorable
    }

    /// Whether, with [`GitMode::Keep`], a HEAD differs from the checkpoint's and is left alone.
    #[must_use]
    pub const fn head_moved(&self) -> bool {
        self.head_moved
    }

    /// The path of every directory, by its number.
    pub(super) fn dir_paths(&self) -> Vec<RelPath> {
        let mut paths: Vec<RelPath> = Vec::with_capacity(self.dirs.len());
        for dir in &self.dirs {
            let parent = dir.parent.and_then(|parent| paths.get(parent));
            let path = parent.map_or_else(RelPath::root, |parent| parent.join(&dir.name));
            paths.push(path);
        }
        paths
    }
}

/// Whether users would call it a difference: the mtime of a directory follows from what happens in it.
pub(super) fn differs_visibly(before: &Meta, after: &Meta) -> bool {
    (before.mode, before.uid, before.gid, before.xattrs) != (after.mode, after.uid, after.gid, after.xattrs)
}
