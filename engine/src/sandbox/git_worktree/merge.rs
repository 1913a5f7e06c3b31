//! The three-way merge of trees, path by path, and of texts by libgit2. No merge driver, no attribute and no rename is looked at.

use std::collections::BTreeMap;

use git2::ObjectType;

use super::objects::{Item, Kind, Objects, Tree};
use crate::context::Context;
use crate::error::Result;
use crate::model::RelPath;
use crate::report::Conflict;
use crate::sandbox::commit::OnCommitConflict;
use crate::sandbox::texts;

/// Longer texts are not merged.
const MAX_TEXT: usize = 16 << 20;
/// As far as git looks for a NUL, which no text has.
const LOOK: usize = 8_000;

/// The trees of a merge.
pub(super) struct Three<'a> {
    pub(super) base: &'a Tree,
    /// The resource's.
    pub(super) resource: &'a Tree,
    /// The sandbox's.
    pub(super) sandbox: &'a Tree,
}

/// How to merge.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    pub(super) on_conflict: OnCommitConflict,
    pub(super) texts: bool,
}

/// Merges trees. Where there are conflicts the tree has what `on_conflict` says, the resource's state for `Fail`.
pub(super) fn merge(
    objects: &Objects,
    three: &Three<'_>,
    how: How,
    ctx: &Context,
) -> Result<(Tree, BTreeMap<RelPath, Conflict>)> {
    let mut merged = three.resource.clone();
    let mut conflicts = BTreeMap::new();
    let changed = three.base.keys().chain(three.sandbox.keys());
    for path in changed {
        let [base, resource, sandbox] =
            [three.base, three.resource, three.sandbox].map(|tree| tree.get(path).copied());
        if sandbox == base || sandbox == resource || conflicts.contains_key(path) {
            continue;
        }
        ctx.check()?;
        let taken = if resource == base {
            Some(sandbox)
        } else {
            let text = if how.texts { merged_text(objects, base, resource, sandbox)? } else { None };
            text.map(Some)
        };
        let taken = taken.unwrap_or_else(|| {
            conflicts.insert(path.clone(), conflict(path, base, resource, sandbox));
            if how.on_conflict == OnCommitConflict::Ours { sandbox } else { resource }
        });
        set(&mut merged, path, taken);
    }
    settle_directories(&mut merged, three, how, &mut conflicts);
    Ok((merged, conflicts))
}

pub(super) fn set(tree: &mut Tree, path: &RelPath, item: Option<Item>) {
    match item {
        Some(item) => drop(tree.insert(path.clone(), item)),
        None => drop(tree.remove(path)),
    }
}

/// A path cannot be a file and hold others.
fn settle_directories(
    merged: &mut Tree,
    three: &Three<'_>,
    how: How,
    conflicts: &mut BTreeMap<RelPath, Conflict>,
) {
    let mut wrong: Vec<(RelPath, RelPath)> = Vec::new();
    for path in merged.keys() {
        let mut at = path.split().map(|(parent, _)| parent);
        while let Some(parent) = at.filter(|parent| !parent.is_root()) {
            if merged.contains_key(&parent) {
                wrong.push((parent.clone(), path.clone()));
            }
            at = parent.split().map(|(parent, _)| parent);
        }
    }
    for (file, beneath) in wrong {
        let winner = if how.on_conflict == OnCommitConflict::Ours { three.sandbox } else { three.resource };
        for path in [&file, &beneath] {
            if winner.get(path).is_none() {
                merged.remove(path);
            }
        }
        let of = |tree: &Tree| tree.get(&file).copied();
        conflicts
            .entry(file.clone())
            .or_insert_with(|| conflict(&file, of(three.base), of(three.resource), of(three.sandbox)));
    }
}

/// The merged text; `None` when it is none or the changed lines meet.
fn merged_text(
    objects: &Objects,
    base: Option<Item>,
    resource: Option<Item>,
    sandbox: Option<Item>,
) -> Result<Option<Item>> {
    let (Some(base), Some(resource), Some(sandbox)) = (base, resource, sandbox) else { return Ok(None) };
    let is_file = |item: Item| matches!(item.kind, Kind::File | Kind::Executable);
    if ![base, resource, sandbox].into_iter().all(is_file) {
        return Ok(None);
    }
    let kind = if resource.kind == base.kind { sandbox.kind } else { resource.kind };
    if resource.oid == sandbox.oid || sandbox.oid == base.oid {
        return Ok(Some(Item { kind, oid: resource.oid }));
    }
    if resource.oid == base.oid {
        return Ok(Some(Item { kind, oid: sandbox.oid }));
    }
    let [base, resource, sandbox] =
        [objects.blob(base.oid)?, objects.blob(resource.oid)?, objects.blob(sandbox.oid)?];
    let is_text = |bytes: &Vec<u8>| bytes.len() <= MAX_TEXT && !bytes.iter().take(LOOK).any(|&b| b == 0);
    if ![&base, &resource, &sandbox].into_iter().all(is_text) {
        return Ok(None);
    }
    let Some(merged) = texts::merged(&base, &resource, &sandbox)? else { return Ok(None) };
    Ok(Some(Item { kind, oid: objects.write(ObjectType::Blob, &merged)? }))
}

/// A conflict in words.
pub(super) fn conflict(
    path: &RelPath,
    base: Option<Item>,
    resource: Option<Item>,
    sandbox: Option<Item>,
) -> Conflict {
    let words = |now: Option<Item>| match (base, now) {
        (None, Some(_)) => "added",
        (Some(_), None) => "deleted",
        (Some(a), Some(b)) if a == b => "unchanged",
        (Some(_), Some(_)) => "changed",
        (None, None) => "nothing",
    };
    Conflict { path: path.clone(), ours: words(sandbox).to_owned(), theirs: words(resource).to_owned() }
}
