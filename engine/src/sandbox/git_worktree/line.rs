//! What the agent itself committed on the sandbox's branch. Its commits come along as they are, unless one of them has what a commit of
//! the sandbox may not bring: what was seeded, is held back or ignored would reach the user's branch as history, and be public with the
//! next push (S6, S8). Neither does what was committed and is not in the sandbox's files any more, as after a rollback (S12).

use std::collections::{BTreeMap, BTreeSet};

use git2::Oid;

use super::changed::{Changed, Sorter};
use super::ignored::Ignored;
use super::mover;
use super::objects::{Kind, MAX_DEPTH, Objects};
use crate::context::Context;
use crate::error::Result;
use crate::model::RelPath;
use crate::restore::is_git_name;

/// What a tree says of a directory.
const DIRECTORY: u32 = 0o040_000;

impl Sorter<'_> {
    /// Whether what `tip` comes from and none of `known` does may come along.
    ///
    /// # Errors
    /// When a commit cannot be read.
    pub(super) fn lets_pass(
        &self,
        changed: &Changed,
        tip: Oid,
        known: &[Oid],
        ctx: &Context,
    ) -> Result<bool> {
        let ignored = Ignored::new(self.repository, self.sandbox)?;
        let stays = |path: &RelPath| -> Result<bool> {
            let is_held = changed.held.iter().any(|held| path.starts_with(&held.path));
            Ok(is_held || self.holds(path, false, &ignored)?.is_some())
        };
        let objects = &self.repository.objects;
        let tree_of = |commit: Oid| objects.commit(commit).map(|commit| commit.tree);
        // What the resource has itself is brought to nobody.
        let had: Vec<Oid> = known.iter().map(|commit| tree_of(*commit)).collect::<Result<_>>()?;
        for commit in self.repository.only_in(tip, known, ctx)? {
            let mut before: Vec<Option<Oid>> = had.iter().copied().map(Some).collect();
            for parent in self.repository.commit_in_history(commit)?.parents {
                before.push(Some(tree_of(parent)?));
            }
            if before.is_empty() {
                before.push(None);
            }
            if touches(objects, tree_of(commit)?, before, ctx, &stays)? {
                tracing::info!(%commit, "what the agent committed does not come along: it has a path that is held back");
                return Ok(false);
            }
        }
        let reached = self.repository.tree_of(Some(tip))?;
        let brought: BTreeSet<&RelPath> = changed.items.iter().map(|(path, _)| path).collect();
        for (path, before, after) in mover::changed(self.base, &reached) {
            let is_file = [before, after].iter().flatten().all(|item| item.kind != Kind::Submodule);
            if is_file && !brought.contains(path) && !stays(path)? {
                tracing::info!(%tip, "what the agent committed does not come along: some of it was put back since");
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// One directory of a commit, with the same one of each commit before it.
struct Place {
    path: RelPath,
    now: Option<Oid>,
    before: Vec<Option<Oid>>,
    depth: usize,
}

/// Whether a commit has a path other than each of the trees before it, and the path counts. Equal directories are not read.
fn touches(
    objects: &Objects,
    now: Oid,
    before: Vec<Option<Oid>>,
    ctx: &Context,
    counts: &dyn Fn(&RelPath) -> Result<bool>,
) -> Result<bool> {
    let mut todo = vec![Place { path: RelPath::root(), now: Some(now), before, depth: 0 }];
    while let Some(place) = todo.pop() {
        ctx.check()?;
        let now = entries(objects, place.now)?;
        let mut before = Vec::new();
        for tree in &place.before {
            before.push(entries(objects, *tree)?);
        }
        let names: BTreeSet<&Vec<u8>> = now.keys().chain(before.iter().flat_map(BTreeMap::keys)).collect();
        for name in names {
            let here = now.get(name).copied();
            let there: Vec<Option<Entry>> = before.iter().map(|tree| tree.get(name).copied()).collect();
            if there.contains(&here) {
                continue;
            }
            // Input 32: a tree that would write into a git directory.
            if is_git_name(name) || crate::model::check_name(name).is_err() || place.depth > MAX_DEPTH {
                return Ok(true);
            }
            let path = place.path.join(name);
            let all = || there.iter().chain([&here]).flatten();
            if all().any(|(mode, _)| *mode != DIRECTORY) && counts(&path)? {
                return Ok(true);
            }
            if all().any(|(mode, _)| *mode == DIRECTORY) {
                let tree =
                    |entry: &Option<Entry>| entry.filter(|(mode, _)| *mode == DIRECTORY).map(|(_, oid)| oid);
                let before = there.iter().map(tree).collect();
                todo.push(Place { path, now: tree(&here), before, depth: place.depth + 1 });
            }
        }
    }
    Ok(false)
}

/// Mode and object.
type Entry = (u32, Oid);

fn entries(objects: &Objects, tree: Option<Oid>) -> Result<BTreeMap<Vec<u8>, Entry>> {
    let Some(tree) = tree else { return Ok(BTreeMap::new()) };
    let all = objects.entries(tree)?;
    Ok(all.into_iter().map(|(mode, name, oid)| (name, (mode, oid))).collect())
}
