//! The figures are only worth something if the tree is always the same, the reference walk sees everything, and a tree that did not
//! come back is noticed.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::path::Path;

use turnback_bench::churn::Churn;
use turnback_bench::fingerprint::Fingerprint;
use turnback_bench::stat_walk::StatWalk;
use turnback_bench::subject::Subject;
use turnback_bench::tree::{Made, TreeSpec};
use turnback_engine::Durability;

const SMALL: TreeSpec = TreeSpec { files: 1_200, seed: 7 };

fn generate(spec: TreeSpec) -> (tempfile::TempDir, Made) {
    let work = tempfile::tempdir().unwrap();
    let made = spec.generate(&work.path().join("tree")).unwrap();
    (work, made)
}

#[test]
fn the_same_spec_gives_the_same_tree_and_another_seed_another_one() {
    let (one, made) = generate(SMALL);
    let (two, made_again) = generate(SMALL);
    let (other, _) = generate(TreeSpec { seed: 8, ..SMALL });
    let print = |work: &tempfile::TempDir| Fingerprint::of(&work.path().join("tree")).unwrap();
    assert_eq!(made, made_again);
    assert_eq!(print(&one), print(&two));
    assert_ne!(print(&one), print(&other));
}

#[test]
fn the_tree_is_shaped_like_node_modules() {
    let (work, made) = generate(SMALL);
    assert_eq!(made.files, 1_200);
    assert!(made.symlinks > 0 && made.hard_links > 0, "{made:?}");
    assert!((60..240).contains(&made.directories), "{made:?}");
    let mut lengths = Vec::new();
    collect_lengths(&work.path().join("tree"), &mut lengths);
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!((1_400..2_800).contains(&median), "the median length is {median}");
    assert!(lengths.last().is_some_and(|&longest| longest > 100_000), "no file is over 100 kB");
}

fn collect_lengths(dir: &Path, lengths: &mut Vec<u64>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let meta = entry.metadata().unwrap();
        if meta.is_dir() {
            collect_lengths(&entry.path(), lengths);
        } else if meta.is_file() {
            lengths.push(meta.len());
        }
    }
}

#[test]
fn the_reference_walk_examines_every_path() {
    let (work, made) = generate(SMALL);
    let tree = work.path().join("tree");
    let seen = StatWalk::new().unwrap().run(&tree).unwrap();
    assert_eq!(seen.directories, made.directories + 1);
    assert_eq!(seen.paths, made.files + made.symlinks + made.directories + 1);
    let mut lengths = Vec::new();
    collect_lengths(&tree, &mut lengths);
    assert_eq!(seen.bytes, lengths.iter().sum::<u64>());
}

#[test]
fn half_of_the_tree_goes_and_the_fingerprint_tells() {
    let (work, _) = generate(SMALL);
    let tree = work.path().join("tree");
    let walk = StatWalk::new().unwrap();
    let (before, print) = (walk.run(&tree).unwrap().paths, Fingerprint::of(&tree).unwrap());
    let churn = Churn::plan(&tree).unwrap();
    churn.delete_half().unwrap();
    let gone = before - walk.run(&tree).unwrap().paths;
    assert_eq!(gone, churn.deleted_paths() as u64);
    assert!((before * 2 / 5..=before * 3 / 5).contains(&gone), "{gone} of {before} paths went");
    assert_ne!(Fingerprint::of(&tree).unwrap(), print);
}

#[test]
fn the_engine_covers_what_the_reference_sees_and_brings_it_back() {
    let (work, _) = generate(SMALL);
    let tree = work.path().join("tree");
    let print = Fingerprint::of(&tree).unwrap();
    let subject = Subject::open(&work.path().join("store"), &tree, Durability::Process).unwrap();
    let base = subject.checkpoint().unwrap();
    assert_eq!(base.coverage.files, StatWalk::new().unwrap().run(&tree).unwrap().paths);
    let churn = Churn::plan(&tree).unwrap();
    churn.edit(1).unwrap();
    assert_ne!(Fingerprint::of(&tree).unwrap(), print);
    churn.delete_half().unwrap();
    subject.rollback(base.checkpoint_id).unwrap();
    assert_eq!(Fingerprint::of(&tree).unwrap(), print);
}
