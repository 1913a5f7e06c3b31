//! The three-way merge on a disk, where names share inodes: what the merge says is what the tree is afterwards (C6, C15).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers fail as tests do: by a panic

mod restore_support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use restore_support::{Memory, Place, plain, set_mtime};
use turnback_engine::model::{Entry, Hash, LinkGroups, Node, Objects, Picture, RelPath, Sink};
use turnback_engine::restore::{GitMode, MergeOptions, OnConflict, PlanOptions, Sides, merge};
use turnback_engine::{Context, Result};

impl Sink for Memory {
    fn put(&self, bytes: &[u8]) -> Result<Hash> {
        Ok(Memory::put(self, bytes))
    }

    fn put_directory(&self, entries: &[Entry]) -> Result<Hash> {
        Ok(Memory::put_directory(self, entries.to_vec()))
    }
}

#[derive(Debug, Clone)]
enum Step {
    Write(usize, u8),
    Remove(usize),
    Directory(usize),
    Link(usize, usize),
    Rename(usize, usize),
    Time(usize, i64),
}

const PATHS: [&str; 9] = ["a", "b", "c", "d", "d/a", "d/b", "d/e", "d/e/a", "f"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let path = || 0..PATHS.len();
    let step = prop_oneof![
        4 => (path(), 1..5u8).prop_map(|(p, v)| Step::Write(p, v)),
        2 => path().prop_map(Step::Remove),
        2 => path().prop_map(Step::Directory),
        5 => (path(), path()).prop_map(|(a, b)| Step::Link(a, b)),
        1 => (path(), path()).prop_map(|(a, b)| Step::Rename(a, b)),
        1 => (path(), 1..4i64).prop_map(|(p, t)| Step::Time(p, t)),
    ];
    proptest::collection::vec(step, 1..9)
}

/// A step that makes no sense in the present tree does nothing.
fn run(root: &Path, steps: &[Step]) {
    let at = |p: &usize| root.join(PATHS[*p]);
    for step in steps {
        let _nonsense_is_ignored = match step {
            Step::Write(p, value) => fs::write(at(p), vec![*value; usize::from(*value)]),
            Step::Remove(p) => fs::remove_file(at(p)).or_else(|_| fs::remove_dir_all(at(p))),
            Step::Directory(p) => fs::create_dir(at(p)),
            Step::Link(a, b) => fs::hard_link(at(a), at(b)),
            Step::Rename(a, b) => fs::rename(at(a), at(b)),
            Step::Time(p, sec) => {
                if at(p).exists() {
                    set_mtime(&at(p), *sec, 0);
                }
                Ok(())
            }
        };
    }
}

fn states(memory: &Memory, of: &Picture) -> BTreeMap<RelPath, Entry> {
    let mut all = BTreeMap::new();
    let mut todo = vec![(RelPath::root(), of.manifest)];
    while let Some((path, manifest)) = todo.pop() {
        for entry in memory.directory(manifest).unwrap() {
            let path = path.join(&entry.name);
            if let Node::Directory { manifest } = entry.node {
                todo.push((path.clone(), manifest));
            }
            all.insert(path, entry);
        }
    }
    all
}

fn linked(links: &LinkGroups, a: &RelPath, b: &RelPath) -> bool {
    links.groups().iter().any(|group| group.contains(a) && group.contains(b))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_tree_is_what_was_merged(first in steps(), turn in steps(), since in steps(), wins: bool) {
        let place = Place::in_memory();
        run(&place.root(), &first);
        let theirs = place.picture();
        run(&place.root(), &turn);
        let base = place.picture();
        run(&place.root(), &since);
        let ours = place.picture();
        let on_conflict = if wins { OnConflict::Theirs } else { OnConflict::Ours };
        let options = MergeOptions { on_conflict, git: GitMode::Exact, paths: None };
        let merge = |base, ours, theirs| {
            merge(Sides { base, ours, theirs }, &place.memory, &options, &Context::default()).unwrap()
        };
        let have = merge(&base, &ours, &theirs);

        // Names of one inode have one state, and nothing is linked that was not linked on one of the two sides.
        let m = states(&place.memory, &have.picture);
        for group in have.picture.links.groups() {
            let mut states: Vec<_> = group.iter().map(|path| (&m[path].meta, &m[path].node)).collect();
            states.dedup();
            prop_assert_eq!(states.len(), 1, "{:?}", group);
            for other in &group[1..] {
                let known = linked(&ours.links, &group[0], other) || linked(&theirs.links, &group[0], other);
                prop_assert!(known, "{:?}", group);
            }
        }
        // A group that is the same on all sides, and as it was, stays.
        for group in ours.links.groups() {
            let everywhere = base.links.groups().contains(group) && theirs.links.groups().contains(group);
            let (o, t) = (states(&place.memory, &ours), states(&place.memory, &theirs));
            if everywhere && group.iter().all(|path| o.get(path) == m.get(path) || t.get(path) == m.get(path)) {
                prop_assert!(have.picture.links.groups().contains(group), "{:?}", group);
            }
        }
        prop_assert_eq!(&merge(&base, &base, &theirs).picture, &theirs);
        prop_assert_eq!(&merge(&base, &theirs, &theirs).picture, &theirs);
        prop_assert_eq!(&merge(&base, &ours, &base).picture, &ours);

        let plan = place.plan(Some(&ours), &have.picture, &PlanOptions { git: GitMode::Exact, paths: None });
        let applied = place.apply(&plan);
        prop_assert_eq!(applied.not_restorable, vec![]);
        prop_assert_eq!(applied.kept, vec![]);
        let after = restore_support::picture(&place.memory, &place.root(), &plain);
        prop_assert_eq!(states(&place.memory, &after), m);
        prop_assert_eq!(after, have.picture);
    }
}
