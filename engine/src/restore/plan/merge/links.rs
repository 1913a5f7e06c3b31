//! The hard-link groups of a merged tree.
//!
//! A path that gets its state from `theirs` is in the group that it has there, one that stays in the group that it has now; a path
//! whose group changed from `base` to `theirs`, and not since, goes to the group of `theirs`. Only names of one state are one inode.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use super::{Manifests, Sides};
use crate::error::{Code, Result};
use crate::model::{Entry, Hash, LinkGroups, Meta, Node, Picture, Reason, RelPath, Uncovered};
use crate::tree::lookup;

/// What the groups depend on, apart from the pictures.
pub(super) struct Concerns<'a> {
    /// Paths that are as in `theirs`, with all that is beneath them.
    pub(super) taken: Vec<RelPath>,
    /// Paths that a side does not cover.
    pub(super) unknown: Vec<RelPath>,
    /// The paths that may be written.
    pub(super) scope: Option<&'a [RelPath]>,
}

/// The groups of one picture.
struct Groups<'a> {
    links: &'a LinkGroups,
    of: HashMap<&'a RelPath, usize>,
}

impl<'a> Groups<'a> {
    fn new(links: &'a LinkGroups) -> Self {
        Self { links, of: links.by_path() }
    }

    /// The names of the inode of a path, itself included.
    fn class(&self, path: &'a RelPath) -> Vec<&'a RelPath> {
        let group = self.of.get(path).and_then(|&group| self.links.groups().get(group));
        group.map_or_else(|| vec![path], |group| group.iter().collect())
    }
}

pub(super) fn merge(
    sides: Sides<'_>,
    merged: &Picture,
    concerns: &Concerns<'_>,
    manifests: &dyn Manifests,
    kept: &mut Vec<Uncovered>,
) -> Result<LinkGroups> {
    if concerns.taken.is_empty() && sides.base.links == sides.theirs.links {
        return Ok(sides.ours.links.clone());
    }
    let taken: HashSet<&RelPath> = concerns.taken.iter().collect();
    let unknown: HashSet<&RelPath> = concerns.unknown.iter().collect();
    let in_scope =
        |path: &RelPath| concerns.scope.is_none_or(|paths| paths.iter().any(|asked| path.starts_with(asked)));
    let [base, ours, theirs] = [sides.base, sides.ours, sides.theirs].map(|side| Groups::new(&side.links));

    let all: HashSet<&RelPath> = ours.of.keys().chain(theirs.of.keys()).copied().collect();
    let mut pair = Pair { merged, ours: sides.ours, manifests, read: HashMap::new() };
    let mut buckets: BTreeMap<(bool, usize), Vec<&RelPath>> = BTreeMap::new();
    for path in all {
        // A name whose state stays is in the company that it has now: its inode need not be another one.
        let was_taken = is_beneath(path, &taken) && !pair.have_one_state(path)?;
        let regrouped = || {
            in_scope(path) && !is_beneath(path, &unknown) && {
                let was = base.class(path);
                theirs.class(path) != was && ours.class(path) == was
            }
        };
        let from_theirs = was_taken || regrouped();
        let side = if from_theirs { &theirs } else { &ours };
        if let Some(&group) = side.of.get(path) {
            buckets.entry((from_theirs, group)).or_default().push(path);
            let class = if was_taken { side.class(path) } else { Vec::new() };
            if class.iter().any(|other| !in_scope(other)) {
                let detail = Some("other names of the file are not among the paths".to_owned());
                kept.push(Uncovered { path: path.clone(), reason: Reason::LinkOutside, detail });
            }
        }
    }

    let mut groups = Vec::new();
    for ((from_theirs, _), members) in buckets {
        if !from_theirs {
            // What stays is as it is now, with the same state under each of its names.
            groups.push(members.into_iter().cloned().collect());
            continue;
        }
        let mut by_state: HashMap<State, Vec<RelPath>> = HashMap::new();
        for path in members {
            if let Some(state) = state_of(merged, path, manifests)? {
                by_state.entry(state).or_default().push(path.clone());
            }
        }
        groups.extend(by_state.into_values());
    }
    Ok(LinkGroups::new(groups))
}

/// The tree that is to be and the one that is there.
struct Pair<'a> {
    merged: &'a Picture,
    ours: &'a Picture,
    manifests: &'a dyn Manifests,
    /// Directories that were read: many paths lie in the same ones.
    read: HashMap<Hash, Rc<Vec<Entry>>>,
}

impl Pair<'_> {
    /// Whether a path has the same state in both. Where a directory above it is the same, nothing beneath is read.
    fn have_one_state(&mut self, path: &RelPath) -> Result<bool> {
        let (mut left, mut right) = (self.merged.manifest, self.ours.manifest);
        for name in path.names() {
            if left == right {
                return Ok(true);
            }
            match (self.child(left, name), self.child(right, name)) {
                (Ok(Some(one)), Ok(Some(other))) => (left, right) = (one, other),
                _ => break,
            }
        }
        Ok(state_of(self.merged, path, self.manifests)? == state_of(self.ours, path, self.manifests)?)
    }

    /// The manifest of a directory in a directory; `None` when there is none.
    fn child(&mut self, directory: Hash, name: &[u8]) -> Result<Option<Hash>> {
        let entries = match self.read.get(&directory) {
            Some(entries) => Rc::clone(entries),
            None => {
                let entries = Rc::new(self.manifests.directory(directory)?);
                self.read.insert(directory, Rc::clone(&entries));
                entries
            }
        };
        let at = entries.binary_search_by(|entry| (*entry.name).cmp(name));
        Ok(at.ok().and_then(|at| match entries[at].node {
            Node::Directory { manifest } => Some(manifest),
            _ => None,
        }))
    }
}

/// What two names of one inode have in common.
type State = Vec<u8>;

fn state_of(picture: &Picture, path: &RelPath, manifests: &dyn Manifests) -> Result<Option<State>> {
    let entry = match lookup(picture, path, manifests) {
        Ok(entry) => entry,
        // Nothing is written in a damaged directory.
        Err(error) if error.code() == Code::Corrupt => None,
        Err(error) => return Err(error),
    };
    let Some(Entry { meta, node, .. }) = entry else { return Ok(None) };
    if matches!(node, Node::Directory { .. } | Node::Uncovered { .. }) {
        return Ok(None);
    }
    let mut encoder = crate::model::Encoder::default();
    let entry: Entry = nameless(meta, node);
    crate::model::encode_entry(&mut encoder, &entry);
    Ok(Some(encoder.into_bytes()))
}

fn nameless(meta: Meta, node: Node) -> Entry {
    Entry { name: Box::from(*b"-"), meta, node }
}

/// Whether a path or one of its parents is in the set.
fn is_beneath(path: &RelPath, set: &HashSet<&RelPath>) -> bool {
    if set.is_empty() {
        return false;
    }
    let mut at = path.clone();
    loop {
        if set.contains(&at) {
            return true;
        }
        match at.split() {
            Some((parent, _)) => at = parent,
            None => return false,
        }
    }
}
