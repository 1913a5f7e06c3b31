//! What a commit holds back (S6; inputs 18, 19, 106): the sandbox's picture with those paths as the baseline has them.

use std::collections::{BTreeMap, BTreeSet};

use super::patch::Patch;
use super::read::read_xattrs;
use crate::checkpoint::commit::Look;
use crate::error::Result;
use crate::model::{Entry, LinkGroups, Meta, Node, Picture, RelPath, Xattrs};
use crate::restore::{same_state, same_value};
use crate::sandbox::commit::{CommitOptions, HeldBack, HoldReason};
use crate::sandbox::held_back::by_name;
use crate::tree::{change, differences, lookup};

const SET_ID: u16 = 0o6000;

/// The sandbox without what is held back, and what that is.
pub(super) struct Allowed {
    pub(super) picture: Picture,
    pub(super) held: Vec<HeldBack>,
}

/// `not_captured` are paths that cannot be written for another reason.
pub(super) fn hold_back(
    look: &Look<'_>,
    options: &CommitOptions,
    not_captured: &BTreeSet<RelPath>,
) -> Result<Allowed> {
    let found = differences(look.base, look.sandbox, look.manifests, look.ctx)?;
    let mut tops: BTreeMap<RelPath, HoldReason> = BTreeMap::new();
    let mut gits: BTreeMap<RelPath, bool> = BTreeMap::new();
    for difference in found.iter().filter(|difference| change(difference).is_some()) {
        let held = match by_name(&difference.path) {
            Some((at, HoldReason::Git)) => match gits.get(&at) {
                Some(true) => None,
                Some(false) => Some((at, HoldReason::Git)),
                None => {
                    let is_free = options.allow_git && is_as_at_first(look, &at)?;
                    gits.insert(at.clone(), is_free);
                    (!is_free).then_some((at, HoldReason::Git))
                }
            },
            Some((at, reason)) if !options.allow_trusted => Some((at, reason)),
            _ => None,
        };
        let other = || not_captured.iter().find(|top| difference.path.starts_with(top));
        let held = held.or_else(|| other().map(|top| (top.clone(), HoldReason::NotCaptured)));
        if let Some((at, reason)) = held {
            tops.insert(whole(look, at)?, reason);
        }
    }
    // One beneath another says nothing new.
    let all: Vec<RelPath> = tops.keys().cloned().collect();
    tops.retain(|path, _| !all.iter().any(|other| other != path && path.starts_with(other)));

    let mut patch = Patch::default();
    let mut held = Vec::new();
    for (path, reason) in &tops {
        patch.set.insert(path.clone(), lookup(look.base, path, look.manifests)?);
        held.push(HeldBack { path: path.clone(), reason: *reason });
    }
    let is_held = |path: &RelPath| tops.keys().any(|top| path.starts_with(top));
    for difference in found {
        let Some(Entry { meta, node: Node::File { .. }, .. }) = &difference.after else { continue };
        if is_held(&difference.path) || same_value(difference.before.as_ref(), difference.after.as_ref()) {
            continue;
        }
        if let Some(bare) = stripped(look, &difference.path, meta)? {
            patch.meta.insert(difference.path.clone(), bare);
            held.push(HeldBack { path: difference.path, reason: HoldReason::SetId });
        }
    }
    held.sort();
    if patch.is_empty() {
        return Ok(Allowed { picture: look.sandbox.clone(), held });
    }
    let mut picture = patch.apply(look.sandbox, look.base, look.baselines)?;
    picture.links = links(look, &is_held);
    Ok(Allowed { picture, held })
}

/// Whether the resource has the same at a path as the baseline.
fn is_as_at_first(look: &Look<'_>, at: &RelPath) -> Result<bool> {
    let now = lookup(look.resource, at, look.manifests)?;
    let then = lookup(look.base, at, look.manifests)?;
    same_state(now.as_ref(), then.as_ref(), look.manifests, look.ctx)
}

/// Where the sandbox has something else in the place of a parent, that one is held back as a whole: nothing can lie beneath it.
fn whole(look: &Look<'_>, at: RelPath) -> Result<RelPath> {
    let mut top = at.clone();
    let mut parent = at.split().map(|(parent, _)| parent);
    while let Some(path) = parent.filter(|path| !path.is_root()) {
        let there = lookup(look.sandbox, &path, look.manifests)?;
        if there.is_some_and(|entry| !matches!(entry.node, Node::Directory { .. })) {
            top = path.clone();
        }
        parent = path.split().map(|(parent, _)| parent);
    }
    Ok(top)
}

/// The metadata without set-id bits and capabilities; `None` when there are none.
fn stripped(look: &Look<'_>, path: &RelPath, meta: &Meta) -> Result<Option<Meta>> {
    let mut bare = Meta { mode: meta.mode & !SET_ID, ..meta.clone() };
    if let Some(hash) = meta.xattrs {
        let mut xattrs = read_xattrs(look, path, hash)?;
        let before = xattrs.0.len();
        xattrs.0.retain(|(name, _)| **name != *Xattrs::CAPABILITY);
        if xattrs.0.len() != before {
            bare.xattrs = match xattrs.0.is_empty() {
                true => None,
                false => {
                    // The baseline and the resource need it, each in a draft of its own.
                    look.manifests.put(&xattrs.encode())?;
                    Some(look.baselines.put(&xattrs.encode())?)
                }
            };
        }
    }
    Ok((bare != *meta).then_some(bare))
}

/// The sandbox's hard-link groups, with those of the baseline where something is held back.
fn links(look: &Look<'_>, is_held: &dyn Fn(&RelPath) -> bool) -> LinkGroups {
    let part = |groups: &LinkGroups, held: bool| -> Vec<Vec<RelPath>> {
        let of = |group: &Vec<RelPath>| group.iter().filter(|p| is_held(p) == held).cloned().collect();
        groups.groups().iter().map(of).collect()
    };
    let mut all = part(&look.sandbox.links, false);
    all.extend(part(&look.base.links, true));
    LinkGroups::new(all)
}
