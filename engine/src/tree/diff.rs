//! The comparison of two pictures: descends only where addresses differ.

use std::collections::HashSet;

use crate::change::{Change, ChangeKind};
use crate::context::Context;
use crate::error::Result;
use crate::model::{Content, Entry, Meta, Node, Objects, Picture, RelPath};

/// One path that differs between two pictures. At least one side is there; the root has an empty name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The path.
    pub path: RelPath,
    /// Its state in the first picture.
    pub before: Option<Entry>,
    /// Its state in the second picture.
    pub after: Option<Entry>,
    /// Its hard-link group differs.
    pub regrouped: bool,
}

/// All differences between two pictures, parents before children, siblings sorted by name.
///
/// Directories that differ only beneath themselves are not listed; those whose own metadata differs are.
///
/// # Errors
/// `CORRUPT` when a manifest cannot be read, `ABORTED`, `TIMED_OUT`.
pub fn differences(
    before: &Picture,
    after: &Picture,
    objects: &dyn Objects,
    ctx: &Context,
) -> Result<Vec<Difference>> {
    let mut found = Vec::new();
    if before.root != after.root {
        let root = |meta: &Meta, manifest| Entry {
            name: Box::default(),
            meta: meta.clone(),
            node: Node::Directory { manifest },
        };
        found.push(Difference {
            path: RelPath::root(),
            before: Some(root(&before.root, before.manifest)),
            after: Some(root(&after.root, after.manifest)),
            regrouped: false,
        });
    }
    let mut comparison = Comparison { objects, ctx, found };
    comparison.run(before, after)?;
    let mut found = comparison.found;
    add_regrouped(before, after, objects, &mut found)?;
    found.sort_by(|a, b| a.path.names().cmp(b.path.names()));
    Ok(found)
}

struct Comparison<'a> {
    objects: &'a dyn Objects,
    ctx: &'a Context,
    found: Vec<Difference>,
}

type Pair = (RelPath, Option<crate::model::Hash>, Option<crate::model::Hash>);

impl Comparison<'_> {
    fn run(&mut self, before: &Picture, after: &Picture) -> Result<()> {
        // A list of work instead of recursion: trees may be deeper than the stack.
        let mut todo: Vec<Pair> = vec![(RelPath::root(), Some(before.manifest), Some(after.manifest))];
        while let Some((path, before, after)) = todo.pop() {
            self.ctx.check()?;
            if before != after {
                self.directory(&path, before, after, &mut todo)?;
            }
        }
        Ok(())
    }

    fn directory(
        &mut self,
        path: &RelPath,
        before: Option<crate::model::Hash>,
        after: Option<crate::model::Hash>,
        todo: &mut Vec<Pair>,
    ) -> Result<()> {
        let read = |hash: Option<_>| hash.map_or_else(|| Ok(Vec::new()), |h| self.objects.directory(h));
        let mut old = read(before)?.into_iter().peekable();
        let mut new = read(after)?.into_iter().peekable();
        loop {
            let (a, b) = match (old.peek(), new.peek()) {
                (None, None) => return Ok(()),
                (Some(_), None) => (old.next(), None),
                (None, Some(_)) => (None, new.next()),
                (Some(a), Some(b)) => match a.name.cmp(&b.name) {
                    std::cmp::Ordering::Less => (old.next(), None),
                    std::cmp::Ordering::Greater => (None, new.next()),
                    std::cmp::Ordering::Equal => (old.next(), new.next()),
                },
            };
            if a != b {
                self.entry(path, a, b, todo);
            }
        }
    }

    fn entry(&mut self, parent: &RelPath, a: Option<Entry>, b: Option<Entry>, todo: &mut Vec<Pair>) {
        let name = a.as_ref().or(b.as_ref()).map(|e| e.name.clone()).unwrap_or_default();
        let path = parent.join(&name);
        let manifest = |e: &Option<Entry>| match e {
            Some(Entry { node: Node::Directory { manifest }, .. }) => Some(*manifest),
            _ => None,
        };
        let (old, new) = (manifest(&a), manifest(&b));
        if old.is_some() || new.is_some() {
            todo.push((path.clone(), old, new));
        }
        let only_beneath = match (&a, &b) {
            (Some(a), Some(b)) => old.is_some() && new.is_some() && a.meta == b.meta,
            _ => false,
        };
        if !only_beneath {
            self.found.push(Difference { path, before: a, after: b, regrouped: false });
        }
    }
}

/// Marks the paths whose hard-link group differs, and adds those that differ in nothing else.
fn add_regrouped(
    before: &Picture,
    after: &Picture,
    objects: &dyn Objects,
    found: &mut Vec<Difference>,
) -> Result<()> {
    if before.links == after.links {
        return Ok(());
    }
    let old: HashSet<&Vec<RelPath>> = before.links.groups().iter().collect();
    let new: HashSet<&Vec<RelPath>> = after.links.groups().iter().collect();
    let mut paths: HashSet<&RelPath> =
        old.symmetric_difference(&new).flat_map(|group| group.iter()).collect();
    for difference in found.iter_mut() {
        difference.regrouped = paths.remove(&difference.path);
    }
    for path in paths {
        let before = lookup(before, path, objects)?;
        let after = lookup(after, path, objects)?;
        if before.is_some() || after.is_some() {
            found.push(Difference { path: path.clone(), before, after, regrouped: true });
        }
    }
    Ok(())
}

/// The entry of a path in a picture; `None` when there is none. The root has no entry.
///
/// # Errors
/// `CORRUPT` when a manifest cannot be read.
pub fn lookup(picture: &Picture, path: &RelPath, objects: &dyn Objects) -> Result<Option<Entry>> {
    let mut manifest = picture.manifest;
    let mut names = path.names().peekable();
    while let Some(name) = names.next() {
        let entries = objects.directory(manifest)?;
        let Ok(at) = entries.binary_search_by(|e| (*e.name).cmp(name)) else { return Ok(None) };
        let entry = entries.into_iter().nth(at);
        match (names.peek(), entry) {
            (None, entry) => return Ok(entry),
            (Some(_), Some(Entry { node: Node::Directory { manifest: next }, .. })) => manifest = next,
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// The differences as users see them: uncovered paths and directories whose only difference is their mtime are left out.
#[must_use]
pub fn changes(differences: &[Difference]) -> Vec<Change> {
    differences.iter().filter_map(change).collect()
}

/// One difference as users see it; `None` when there is nothing to show.
#[must_use]
pub fn change(difference: &Difference) -> Option<Change> {
    let uncovered = |e: &Option<Entry>| matches!(e, Some(Entry { node: Node::Uncovered { .. }, .. }));
    let (before, after) = (&difference.before, &difference.after);
    if uncovered(before) || uncovered(after) {
        return None;
    }
    let size = |e: &Option<Entry>| match e {
        Some(Entry { node: Node::File { size, .. }, .. }) => Some(*size),
        _ => None,
    };
    let (kind, bytes) = match (before, after) {
        (None, None) => return None,
        (None, Some(_)) => (ChangeKind::Added, size(after)),
        (Some(_), None) => (ChangeKind::Deleted, size(before)),
        (Some(a), Some(b)) => (kind_of(a, b, difference.regrouped)?, size(after)),
    };
    Some(Change { path: difference.path.clone(), kind, bytes })
}

fn kind_of(a: &Entry, b: &Entry, regrouped: bool) -> Option<ChangeKind> {
    if a.node.kind() != b.node.kind() {
        return Some(ChangeKind::TypeChanged);
    }
    match (&a.node, &b.node) {
        (Node::Directory { .. }, Node::Directory { .. }) => {
            let own = |m: &Meta| (m.mode, m.uid, m.gid, m.xattrs);
            (own(&a.meta) != own(&b.meta)).then_some(ChangeKind::Metadata)
        }
        (Node::File { size: s, content: c, .. }, Node::File { size: t, content: d, .. }) => {
            if s != t || !same_bytes(c, d) {
                Some(ChangeKind::Modified)
            } else {
                (a.meta != b.meta || c != d || regrouped).then_some(ChangeKind::Metadata)
            }
        }
        (Node::Symlink { target: s }, Node::Symlink { target: t }) if s != t => Some(ChangeKind::Modified),
        _ => (a.meta != b.meta || regrouped).then_some(ChangeKind::Metadata),
    }
}

fn same_bytes(a: &Content, b: &Content) -> bool {
    a.hash() == b.hash()
}
