//! Random trees, random changes, random checkpoints, rollbacks, undos and deletions, against the independent picture
//! (P6, F16, F20, F25). `TURNBACK_SEQUENCES` asks for more of them.

use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use turnback_core::CheckpointId;

use crate::common::everything::{chmod, fifo, set_mtime, set_xattr};
use crate::common::picture::{Tree, same};
use crate::common::place::Place;

#[derive(Debug, Clone)]
enum Step {
    Write(usize, u8, u16),
    Append(usize),
    Overwrite(usize, u8),
    Sparse(usize),
    Directory(usize),
    Remove(usize),
    Link(usize, usize),
    HardLink(usize, usize),
    Rename(usize, usize),
    Fifo(usize),
    Mode(usize, u16),
    Time(usize, i32),
    Attribute(usize, u8),
    Checkpoint,
    Rollback(usize),
    Undo,
    Delete(usize),
    LoseRoot,
}

const PATHS: [&str; 14] =
    ["a", "b", "c", "d", "d/a", "d/b", "d/e", "d/e/a", "d/e/b", "f", "f/a", "f/b", "f/\u{e4} \n", "g"];

fn step() -> impl Strategy<Value = Step> {
    let path = || 0..PATHS.len();
    prop_oneof![
        4 => (path(), any::<u8>(), prop_oneof![Just(0u16), 1..300u16, Just(9000)]).prop_map(|(p, b, n)| Step::Write(p, b, n)),
        1 => path().prop_map(Step::Append),
        2 => (path(), any::<u8>()).prop_map(|(p, b)| Step::Overwrite(p, b)),
        1 => path().prop_map(Step::Sparse),
        2 => path().prop_map(Step::Directory),
        3 => path().prop_map(Step::Remove),
        1 => (path(), path()).prop_map(|(a, b)| Step::Link(a, b)),
        2 => (path(), path()).prop_map(|(a, b)| Step::HardLink(a, b)),
        2 => (path(), path()).prop_map(|(a, b)| Step::Rename(a, b)),
        1 => path().prop_map(Step::Fifo),
        1 => (path(), 0..0o1000u16).prop_map(|(p, m)| Step::Mode(p, m | 0o700)),
        1 => (path(), any::<i32>()).prop_map(|(p, t)| Step::Time(p, t)),
        1 => (path(), any::<u8>()).prop_map(|(p, v)| Step::Attribute(p, v)),
        4 => Just(Step::Checkpoint),
        4 => any::<usize>().prop_map(Step::Rollback),
        2 => Just(Step::Undo),
        1 => any::<usize>().prop_map(Step::Delete),
        1 => Just(Step::LoseRoot),
    ]
}

/// One change of the workspace; one that makes no sense in the present tree does nothing.
fn change(root: &Path, step: &Step) {
    let at = |p: &usize| root.join(PATHS[*p]);
    let is_file = |p: &Path| fs::symlink_metadata(p).is_ok_and(|s| s.is_file());
    let _nonsense_is_ignored: Option<()> = (|| {
        // Nobody makes another root in place of a lost one: that would be another workspace (C5).
        fs::symlink_metadata(root).ok()?;
        match step {
            Step::Write(p, byte, length) => {
                fs::create_dir_all(at(p).parent()?).ok()?;
                if fs::symlink_metadata(at(p)).is_ok_and(|s| !s.is_file()) {
                    return None;
                }
                fs::write(at(p), vec![*byte; usize::from(*length)]).ok()?;
            }
            Step::Append(p) if is_file(&at(p)) => {
                let file = fs::OpenOptions::new().write(true).open(at(p)).ok()?;
                let end = file.metadata().ok()?.len();
                file.write_all_at(b"more", end).ok()?;
            }
            Step::Overwrite(p, byte) if is_file(&at(p)) => {
                let file = fs::OpenOptions::new().write(true).open(at(p)).ok()?;
                if file.metadata().ok()?.len() > 0 {
                    file.write_all_at(&[*byte], 0).ok()?;
                }
            }
            Step::Sparse(p) if is_file(&at(p)) => {
                let file = fs::OpenOptions::new().write(true).open(at(p)).ok()?;
                file.set_len(200_000).ok()?;
                file.write_all_at(b"far", 150_000).ok()?;
            }
            Step::Directory(p) => fs::create_dir(at(p)).ok()?,
            Step::Remove(p) => {
                if fs::symlink_metadata(at(p)).ok()?.is_dir() {
                    fs::remove_dir_all(at(p)).ok()?;
                } else {
                    fs::remove_file(at(p)).ok()?;
                }
            }
            Step::Link(a, b) => symlink(PATHS[*a], at(b)).ok()?,
            Step::HardLink(a, b) => fs::hard_link(at(a), at(b)).ok()?,
            Step::Rename(a, b) => fs::rename(at(a), at(b)).ok()?,
            Step::Fifo(p) if at(p).parent()?.is_dir() && fs::symlink_metadata(at(p)).is_err() => fifo(&at(p)),
            Step::Mode(p, mode) if fs::symlink_metadata(at(p)).is_ok_and(|s| !s.is_symlink()) => {
                chmod(&at(p), u32::from(*mode));
            }
            Step::Time(p, sec) if fs::symlink_metadata(at(p)).is_ok() => {
                set_mtime(&at(p), i64::from(*sec), 3)
            }
            Step::Attribute(p, value) if is_file(&at(p)) || at(p).is_dir() => {
                set_xattr(&at(p), "user.v", &[*value]);
            }
            _ => {}
        }
        Some(())
    })();
}

fn sequence(steps: &[Step]) {
    // Half of them on the disk's file system, half on that of memory: their timestamps and holes differ.
    let place = if steps.len().is_multiple_of(2) { Place::default() } else { Place::in_memory() };
    let mut known: Vec<(CheckpointId, Tree)> = Vec::new();
    let mut last: Option<(CheckpointId, Tree)> = None;
    for step in steps {
        match step {
            Step::Checkpoint => {
                let tree = place.tree();
                if !tree.0.is_empty() {
                    known.push((place.create().checkpoint_id, tree));
                }
            }
            Step::Rollback(i) if !known.is_empty() => {
                let (id, want) = &known[i % known.len()];
                let before = place.tree();
                let report = place.rollback(*id);
                assert!(report.restored, "{report:?}");
                same(&place.tree(), want);
                assert_eq!(report.undo_checkpoint_id.is_none(), before == *want || before.0.is_empty());
                last = report.undo_checkpoint_id.map(|id| (id, before));
            }
            Step::Undo => {
                if let Some((id, want)) = last.take() {
                    place.undo(id);
                    same(&place.tree(), &want);
                    known.push((id, want));
                }
            }
            Step::Delete(i) if !known.is_empty() => {
                let (id, _) = known.swap_remove(i % known.len());
                assert!(place.manager.delete(id).unwrap());
            }
            Step::LoseRoot if !known.is_empty() && !place.tree().0.is_empty() => {
                fs::remove_dir_all(place.root()).unwrap();
            }
            other => change(&place.root(), other),
        }
    }
    // Whatever happened in between: each checkpoint that is left is still what it was.
    for (id, want) in &known {
        place.rollback(*id);
        same(&place.tree(), want);
    }
    place.verify_is_clean();
    place.tmp_is_empty();
}

#[test]
fn every_checkpoint_stays_what_it_was() {
    let wanted = std::env::var("TURNBACK_SEQUENCES").ok().and_then(|n| n.parse().ok());
    let config = Config {
        cases: wanted.unwrap_or(200),
        failure_persistence: None,
        max_shrink_iters: 400,
        ..Config::default()
    };
    let steps = proptest::collection::vec(step(), 4..40);
    let outcome = TestRunner::new(config).run(&steps, |steps| {
        sequence(&steps);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
