//! When two states count as the same.

use crate::context::Context;
use crate::error::Result;
use crate::model::{Entry, Hash, Meta, Node, Objects};

/// Whether two states have one value: everything but the time, which a `touch` moves as well. Directories are compared by their
/// manifests, uncovered paths by all that is known of them.
pub(crate) fn same_value(a: Option<&Entry>, b: Option<&Entry>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) if is_uncovered(Some(a)) || is_uncovered(Some(b)) => a == b,
        (Some(a), Some(b)) => same_meta(&a.meta, &b.meta) && same_node(&a.node, &b.node),
        _ => false,
    }
}

/// Mode, owner and attributes.
pub(super) fn same_meta(a: &Meta, b: &Meta) -> bool {
    (a.mode, a.uid, a.gid, a.xattrs) == (b.mode, b.uid, b.gid, b.xattrs)
}

fn same_node(a: &Node, b: &Node) -> bool {
    match (a, b) {
        // That a file changed while it was read is no part of its value.
        (Node::File { size: a, content: x, .. }, Node::File { size: b, content: y, .. }) => a == b && x == y,
        (a, b) => a == b,
    }
}

/// Whether a picture has the path without knowing what is in it.
pub(super) const fn is_uncovered(entry: Option<&Entry>) -> bool {
    matches!(entry, Some(Entry { node: Node::Uncovered { .. }, .. }))
}

/// The manifest of a directory.
pub(super) const fn manifest(entry: Option<&Entry>) -> Option<Hash> {
    match entry {
        Some(Entry { node: Node::Directory { manifest }, .. }) => Some(*manifest),
        _ => None,
    }
}

/// Whether everything in a directory now has the value that it had, with nothing added, missing or not captured.
pub(super) fn same_tree(now: Hash, then: Hash, objects: &dyn Objects, ctx: &Context) -> Result<bool> {
    let mut todo = vec![(now, then)];
    while let Some((now, then)) = todo.pop() {
        ctx.check()?;
        if now == then {
            continue;
        }
        let (now, then) = (objects.directory(now)?, objects.directory(then)?);
        if now.len() != then.len() {
            return Ok(false);
        }
        for (now, then) in now.iter().zip(&then) {
            let same = match (manifest(Some(now)), manifest(Some(then))) {
                (Some(a), Some(b)) => {
                    todo.push((a, b));
                    same_meta(&now.meta, &then.meta)
                }
                _ => same_value(Some(now), Some(then)),
            };
            if !same || now.name != then.name || matches!(now.node, Node::File { changing: true, .. }) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Whether two paths have one value, with all that is beneath them.
pub(crate) fn same_state(
    a: Option<&Entry>,
    b: Option<&Entry>,
    objects: &dyn Objects,
    ctx: &Context,
) -> Result<bool> {
    match (a, b, manifest(a), manifest(b)) {
        (Some(a), Some(b), Some(now), Some(then)) => {
            Ok(same_meta(&a.meta, &b.meta) && same_tree(now, then, objects, ctx)?)
        }
        _ => Ok(same_value(a, b)),
    }
}
