//! A picture with single paths changed.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::error::Result;
use crate::model::{Entry, Hash, Meta, Node, Picture, RelPath};
use crate::restore::Manifests;
use crate::tree::lookup;

/// Changes of single paths. None of those that are set may lie beneath another one.
#[derive(Debug, Clone, Default)]
pub(super) struct Patch {
    /// What is to be there, with all that is beneath it; `None` for nothing.
    pub(super) set: BTreeMap<RelPath, Option<Entry>>,
    /// Metadata of what is there.
    pub(super) meta: BTreeMap<RelPath, Meta>,
    /// Directories that are to be there with this metadata, whatever is in them.
    pub(super) directories: BTreeMap<RelPath, Meta>,
}

/// What happens to one name.
#[derive(Default)]
struct Child {
    set: Option<Option<Entry>>,
    manifest: Option<Hash>,
    meta: Option<Meta>,
    directory: Option<Meta>,
}

type Children = BTreeMap<Box<[u8]>, Child>;

fn depth(path: &RelPath) -> usize {
    path.names().count()
}

impl Patch {
    pub(super) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.meta.is_empty() && self.directories.is_empty()
    }

    /// The picture with the changes. A directory that is missing on the way to something that is set comes from `fallback`. The
    /// hard-link groups stay.
    pub(super) fn apply(
        &self,
        picture: &Picture,
        fallback: &Picture,
        manifests: &dyn Manifests,
    ) -> Result<Picture> {
        let mut picture = picture.clone();
        let mut todo: BTreeMap<(Reverse<usize>, RelPath), Children> = BTreeMap::new();
        let mut child = |path: &RelPath, with: &dyn Fn(&mut Child)| match path.split() {
            None => false,
            Some((parent, name)) => {
                let children = todo.entry((Reverse(depth(&parent)), parent)).or_default();
                with(children.entry(name.into()).or_default());
                true
            }
        };
        for (path, entry) in &self.set {
            child(path, &|child| child.set = Some(entry.clone()));
        }
        for (path, meta) in &self.meta {
            if !child(path, &|child| child.meta = Some(meta.clone())) {
                picture.root = meta.clone();
            }
        }
        for (path, meta) in &self.directories {
            if !child(path, &|child| child.directory = Some(meta.clone())) {
                picture.root = meta.clone();
            }
        }
        // The deepest first: what becomes of a directory is a change of the one above it.
        while let Some(((_, path), children)) = todo.pop_first() {
            let Some(now) = entries(&picture, &path, manifests)? else { continue };
            let is_new = now.is_none();
            let merged = changed(now.unwrap_or_default(), children, &path, fallback, manifests)?;
            if is_new && merged.is_empty() {
                continue;
            }
            let manifest = manifests.put_directory(&merged)?;
            match path.split() {
                None => picture.manifest = manifest,
                Some((parent, name)) => {
                    let above = todo.entry((Reverse(depth(&parent)), parent)).or_default();
                    above.entry(name.into()).or_default().manifest = Some(manifest);
                }
            }
        }
        Ok(picture)
    }
}

/// The entries of a directory, `Some(None)` when nothing is there, `None` when something else is.
fn entries(
    picture: &Picture,
    path: &RelPath,
    manifests: &dyn Manifests,
) -> Result<Option<Option<Vec<Entry>>>> {
    if path.is_root() {
        return manifests.directory(picture.manifest).map(|entries| Some(Some(entries)));
    }
    Ok(match lookup(picture, path, manifests)? {
        Some(Entry { node: Node::Directory { manifest }, .. }) => Some(Some(manifests.directory(manifest)?)),
        Some(_) => None,
        None => Some(None),
    })
}

fn changed(
    now: Vec<Entry>,
    children: Children,
    path: &RelPath,
    fallback: &Picture,
    manifests: &dyn Manifests,
) -> Result<Vec<Entry>> {
    let mut all: BTreeMap<Box<[u8]>, Entry> = now.into_iter().map(|e| (e.name.clone(), e)).collect();
    for (name, Child { set, manifest, meta, directory }) in children {
        match set {
            Some(Some(entry)) => drop(all.insert(name.clone(), entry)),
            Some(None) => drop(all.remove(&name)),
            None => {}
        }
        if let Some(manifest) = manifest {
            let node = Node::Directory { manifest };
            if let Some(entry) = all.get_mut(&name) {
                entry.node = node;
            } else if let Some(Entry { meta, .. }) = lookup(fallback, &path.join(&name), manifests)? {
                all.insert(name.clone(), Entry { name: name.clone(), meta, node });
            }
        }
        if directory.is_some() && !all.contains_key(&name) {
            let node = Node::Directory { manifest: manifests.put_directory(&[])? };
            all.insert(name.clone(), Entry { name: name.clone(), meta: Meta::default(), node });
        }
        if let (Some(meta), Some(entry)) = (meta.or(directory), all.get_mut(&name)) {
            entry.meta = meta;
        }
    }
    Ok(all.into_values().collect())
}
