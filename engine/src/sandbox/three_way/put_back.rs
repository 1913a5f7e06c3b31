//! What a commit did not bring counts as unsaved (S6, S10): in the next baseline it is as the old one has it, so that it is still a change
//! of the sandbox, and a conflict is one again the next time.

use super::patch::Patch;
use crate::checkpoint::commit::Look;
use crate::error::Result;
use crate::model::{LinkGroups, Node, Picture, RelPath};
use crate::restore::Manifests;
use crate::tree::lookup;

/// A baseline in which some paths, with all that is beneath them, are as an older one has them: they were not committed after all.
pub(in crate::sandbox) fn without(
    baseline: &Picture,
    older: &Picture,
    paths: &[RelPath],
    manifests: &dyn Manifests,
) -> Result<Picture> {
    put_back(baseline, older, paths.to_vec(), &[], manifests)
}

/// The baseline without what lost a conflict, or stays because something else is in it.
pub(super) fn without_lost(
    look: &Look<'_>,
    baseline: &Picture,
    merged: &Picture,
    paths: &[RelPath],
) -> Result<Picture> {
    let is_directory = |picture: &Picture, path: &RelPath| -> Result<Option<bool>> {
        if path.is_root() {
            return Ok(Some(true));
        }
        let there = lookup(picture, path, look.manifests)?;
        Ok(there.map(|entry| matches!(entry.node, Node::Directory { .. })))
    };
    let (mut whole, mut own) = (Vec::new(), Vec::new());
    for path in paths {
        // Where it is a directory on all sides, or on all but the sandbox, what is in it was decided on name by name.
        let is_own = is_directory(merged, path)? == Some(true)
            && is_directory(look.base, path)? == Some(true)
            && is_directory(baseline, path)? != Some(false);
        if is_own { &mut own } else { &mut whole }.push(path.clone());
    }
    put_back(baseline, look.base, whole, &own, look.baselines)
}

/// `whole` are paths with all that is beneath them, `own` directories without it.
fn put_back(
    baseline: &Picture,
    older: &Picture,
    whole: Vec<RelPath>,
    own: &[RelPath],
    manifests: &dyn Manifests,
) -> Result<Picture> {
    let mut tops: Vec<RelPath> = Vec::new();
    for path in whole.into_iter().filter(|path| !path.is_root()) {
        tops.push(from_the_top(baseline, path, manifests)?);
    }
    tops.sort();
    tops.dedup();
    let is_beneath = |path: &RelPath| tops.iter().any(|top| top != path && path.starts_with(top));
    let mut patch = Patch::default();
    for path in tops.iter().filter(|path| !is_beneath(path)) {
        patch.set.insert(path.clone(), lookup(older, path, manifests)?);
    }
    let is_back = |path: &RelPath| tops.iter().any(|top| path.starts_with(top));
    for path in own.iter().filter(|path| !is_back(path)) {
        if path.is_root() {
            patch.directories.insert(path.clone(), older.root.clone());
        } else if let Some(entry) = lookup(older, path, manifests)? {
            patch.directories.insert(path.clone(), entry.meta);
        }
    }
    let mut picture = patch.apply(baseline, older, manifests)?;
    picture.links = links(baseline, older, &is_back);
    Ok(picture)
}

/// Where a picture has something else in the place of a parent, that one counts as a whole: nothing can lie beneath it.
pub(super) fn from_the_top(picture: &Picture, path: RelPath, manifests: &dyn Manifests) -> Result<RelPath> {
    let mut top = path.clone();
    let mut parent = path.split().map(|(parent, _)| parent);
    while let Some(path) = parent.filter(|path| !path.is_root()) {
        let there = lookup(picture, &path, manifests)?;
        if there.is_some_and(|entry| !matches!(entry.node, Node::Directory { .. })) {
            top = path.clone();
        }
        parent = path.split().map(|(parent, _)| parent);
    }
    Ok(top)
}

/// The hard-link groups of one picture, with those of an older one among the paths that are as there.
pub(super) fn links(newer: &Picture, older: &Picture, is_older: &dyn Fn(&RelPath) -> bool) -> LinkGroups {
    let part = |groups: &LinkGroups, of_older: bool| -> Vec<Vec<RelPath>> {
        let of = |group: &Vec<RelPath>| group.iter().filter(|p| is_older(p) == of_older).cloned().collect();
        groups.groups().iter().map(of).collect()
    };
    let mut all = part(&newer.links, false);
    all.extend(part(&older.links, true));
    LinkGroups::new(all)
}
