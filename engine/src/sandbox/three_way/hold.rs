//! What a commit holds back (S6; inputs 18, 19, 106): the sandbox's picture with those paths as the baseline has them.

use std::collections::{BTreeMap, BTreeSet};

use super::patch::Patch;
use super::put_back::{from_the_top, links};
use super::read::read_xattrs;
use crate::checkpoint::commit::Look;
use crate::error::Result;
use crate::model::{Entry, Meta, Node, Picture, Reason, RelPath, Xattrs};
use crate::restore::{same_state, same_value};
use crate::sandbox::commit::{CommitOptions, HeldBack, HoldReason};
use crate::sandbox::held_back::by_name;
use crate::sandbox::leads::Leads;
use crate::tree::{Difference, change, differences, lookup};

const SET_ID: u16 = 0o6000;
const SET_GROUP: u16 = 0o2000;

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
    let sides =
        [(look.resource_root, look.noticed_in_resource), (look.sandbox_root, look.noticed_in_sandbox)];
    let leads = Leads::find(sides.into_iter())?;
    let found = differences(look.base, look.sandbox, look.manifests, look.ctx)?;
    let mut tops: BTreeMap<RelPath, HoldReason> = BTreeMap::new();
    let mut gits: BTreeMap<RelPath, bool> = BTreeMap::new();
    for difference in &found {
        if let Some(reason) = not_captured_here(difference) {
            tops.insert(difference.path.clone(), reason);
        }
    }
    for difference in found.iter().filter(|difference| change(difference).is_some()) {
        let is_directory =
            |entry: &Option<Entry>| matches!(entry, Some(Entry { node: Node::Directory { .. }, .. }));
        let replaces = !is_directory(&difference.before) || !is_directory(&difference.after);
        let counts = by_name(&difference.path).or_else(|| leads.of(&difference.path, replaces));
        let held = match counts {
            Some((at, HoldReason::Git)) => {
                let is_same = match gits.get(&at) {
                    Some(known) => *known,
                    None => is_as_at_first(look, &at)?,
                };
                gits.insert(at.clone(), is_same);
                match (is_same, options.allow_git) {
                    (true, true) => None,
                    (true, false) => Some((at, HoldReason::Git)),
                    // No option brings it then.
                    (false, _) => Some((at, HoldReason::GitChanged)),
                }
            }
            Some((at, reason)) if !options.allow_trusted => Some((at, reason)),
            _ => None,
        };
        let other = || not_captured.iter().find(|top| difference.path.starts_with(top));
        let held = held.or_else(|| other().map(|top| (top.clone(), HoldReason::NotCaptured)));
        if let Some((at, reason)) = held {
            tops.insert(from_the_top(look.sandbox, at, look.manifests)?, reason);
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
        let Some(Entry { meta, node, .. }) = &difference.after else { continue };
        if is_held(&difference.path) {
            continue;
        }
        let may_have = match node {
            Node::File { .. } if same_value(difference.before.as_ref(), difference.after.as_ref()) => {
                continue;
            }
            Node::File { .. } => 0,
            Node::Directory { .. } => of_directory(look, &difference, meta)?,
            _ => continue,
        };
        if let Some(bare) = stripped(look, &difference.path, meta, may_have)? {
            patch.meta.insert(difference.path.clone(), bare);
            held.push(HeldBack { path: difference.path, reason: HoldReason::SetId });
        }
    }
    held.sort();
    if patch.is_empty() {
        return Ok(Allowed { picture: look.sandbox.clone(), held });
    }
    let mut picture = patch.apply(look.sandbox, look.base, look.baselines)?;
    picture.links = links(look.sandbox, look.base, &is_held);
    Ok(Allowed { picture, held })
}

/// Whether the resource has the same at a path as the baseline.
fn is_as_at_first(look: &Look<'_>, at: &RelPath) -> Result<bool> {
    let now = lookup(look.resource, at, look.manifests)?;
    let then = lookup(look.base, at, look.manifests)?;
    same_state(now.as_ref(), then.as_ref(), look.manifests, look.ctx)
}

/// What cannot be brought because nothing can be read of it in the sandbox, or nothing that is certain to have been there at any moment;
/// a baseline that did not know it either says nothing.
fn not_captured_here(difference: &Difference) -> Option<HoldReason> {
    if matches!(&difference.after, Some(Entry { node: Node::File { changing: true, .. }, .. })) {
        return Some(HoldReason::Changing);
    }
    let Some(Entry { node: Node::Uncovered { reason, .. }, .. }) = &difference.after else { return None };
    let was_known = !matches!(&difference.before, Some(Entry { node: Node::Uncovered { .. }, .. }));
    match reason {
        Reason::Socket | Reason::Device if was_known => Some(HoldReason::Special),
        Reason::Excluded => None,
        Reason::Changing => was_known.then_some(HoldReason::Changing),
        _ => was_known.then_some(HoldReason::NotRead),
    }
}

/// The set-id bits that the sandbox did not bring: a directory had them before, or has the bit of its group from the one above it, as
/// the system hands it on.
fn of_directory(look: &Look<'_>, difference: &Difference, meta: &Meta) -> Result<u16> {
    if let Some(Entry { meta: was, node: Node::Directory { .. }, .. }) = &difference.before {
        return Ok(was.mode & SET_ID);
    }
    let mut at = difference.path.split().map(|(parent, _)| parent);
    while let Some(path) = at {
        let above = if path.is_root() {
            Some(look.base.root.clone())
        } else {
            let there = lookup(look.base, &path, look.manifests)?;
            there.filter(|entry| matches!(entry.node, Node::Directory { .. })).map(|entry| entry.meta)
        };
        if let Some(above) = above {
            return Ok(if above.gid == meta.gid { above.mode & SET_GROUP } else { 0 });
        }
        at = path.split().map(|(parent, _)| parent);
    }
    Ok(0)
}

/// The metadata without set-id bits, save those of `may_have`, and capabilities; `None` when there are none.
fn stripped(look: &Look<'_>, path: &RelPath, meta: &Meta, may_have: u16) -> Result<Option<Meta>> {
    let mut bare = Meta { mode: meta.mode & !(SET_ID & !may_have), ..meta.clone() };
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
