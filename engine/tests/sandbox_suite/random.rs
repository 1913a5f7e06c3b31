//! Random trees: the sandbox equals the resource, edits stay inside, and a rollback takes all of them back.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use proptest::prelude::*;

use crate::common::everything::{chmod, fifo, set_mtime, set_xattr};
use crate::common::picture::{Tree, same};
use crate::common::place::noise;
use crate::ground::Kind;
use crate::place::{Place, changes, ctx};

/// One thing that is done to a tree. Paths are small numbers, so that they meet.
#[derive(Debug, Clone)]
enum Edit {
    Write { at: u8, length: u32, seed: u8 },
    Sparse { at: u8, kilobytes: u16 },
    Directory { at: u8 },
    Link { at: u8, to: u8 },
    HardLink { at: u8, to: u8 },
    Fifo { at: u8 },
    Remove { at: u8 },
    Move { at: u8, to: u8 },
    Mode { at: u8, mode: u8 },
    Time { at: u8, sec: i32 },
    Attribute { at: u8, value: u8 },
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = 0u8..40;
    prop_oneof![
        5 => (at.clone(), 0u32..200_000, any::<u8>()).prop_map(|(at, length, seed)| Edit::Write { at, length, seed }),
        1 => (at.clone(), 1u16..3000).prop_map(|(at, kilobytes)| Edit::Sparse { at, kilobytes }),
        3 => at.clone().prop_map(|at| Edit::Directory { at }),
        1 => (at.clone(), at.clone()).prop_map(|(at, to)| Edit::Link { at, to }),
        2 => (at.clone(), at.clone()).prop_map(|(at, to)| Edit::HardLink { at, to }),
        1 => at.clone().prop_map(|at| Edit::Fifo { at }),
        2 => at.clone().prop_map(|at| Edit::Remove { at }),
        1 => (at.clone(), at.clone()).prop_map(|(at, to)| Edit::Move { at, to }),
        1 => (at.clone(), any::<u8>()).prop_map(|(at, mode)| Edit::Mode { at, mode }),
        1 => (at.clone(), any::<i32>()).prop_map(|(at, sec)| Edit::Time { at, sec }),
        1 => (at, any::<u8>()).prop_map(|(at, value)| Edit::Attribute { at, value }),
    ]
}

/// `at` names a path of up to three levels.
fn path(root: &Path, at: u8) -> std::path::PathBuf {
    match at {
        0..10 => root.join(format!("n{at}")),
        10..25 => root.join(format!("n{}/m{}", at % 4, at % 5)),
        _ => root.join(format!("n{}/m{}/o{}", at % 4, at % 3, at % 6)),
    }
}

/// Whatever does not work on this tree is no edit.
fn apply(root: &Path, edit: &Edit) {
    let is_there = |at: u8| fs::symlink_metadata(path(root, at)).is_ok_and(|m| !m.is_symlink());
    let done: std::io::Result<()> = match *edit {
        Edit::Write { at, length, seed } => match fs::symlink_metadata(path(root, at)) {
            Ok(metadata) if !metadata.is_file() => Ok(()),
            _ => fs::write(path(root, at), noise(u64::from(seed), length as usize)),
        },
        Edit::Sparse { at, kilobytes } => {
            fs::File::create_new(path(root, at)).and_then(|f| f.set_len(u64::from(kilobytes) << 10))
        }
        Edit::Directory { at } => fs::create_dir(path(root, at)),
        Edit::Link { at, to } => symlink(format!("n{to}"), path(root, at)),
        Edit::HardLink { at, to } => fs::hard_link(path(root, to), path(root, at)),
        Edit::Fifo { at } => {
            if path(root, at).parent().is_some_and(|p| p.is_dir())
                && fs::symlink_metadata(path(root, at)).is_err()
            {
                fifo(&path(root, at));
            }
            Ok(())
        }
        Edit::Remove { at } => {
            fs::remove_file(path(root, at)).or_else(|_| fs::remove_dir_all(path(root, at)))
        }
        Edit::Move { at, to } => fs::rename(path(root, at), path(root, to)),
        Edit::Mode { at, mode } if is_there(at) => {
            // Readable and searchable, so that an ordinary user gets through as well.
            chmod(&path(root, at), 0o700 | u32::from(mode));
            Ok(())
        }
        Edit::Time { at, sec } if fs::symlink_metadata(path(root, at)).is_ok() => {
            set_mtime(&path(root, at), i64::from(sec), 5);
            Ok(())
        }
        Edit::Attribute { at, value } if is_there(at) => {
            set_xattr(&path(root, at), "user.test", &[value]);
            Ok(())
        }
        Edit::Mode { .. } | Edit::Time { .. } | Edit::Attribute { .. } => Ok(()),
    };
    drop(done);
}

fn holds_on(kind: Kind, cases: u32) {
    let Some(place) = Place::on(kind) else { return };
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let edits = || prop::collection::vec(edit(), 0..60);
    proptest!(config, |(first in edits(), second in edits())| {
        if place.resource().exists() {
            fs::remove_dir_all(place.resource()).unwrap();
        }
        fs::create_dir(place.resource()).unwrap();
        for edit in &first {
            apply(&place.resource(), edit);
        }
        let before = place.tree();
        let sandbox = place.create();
        let root = sandbox.enter(&ctx()).unwrap();
        same(&Tree::of(&root), &before);
        prop_assert_eq!(changes(&sandbox), []);
        for edit in &second {
            apply(&root, edit);
        }
        same(&place.tree(), &before);
        let changed = Tree::of(&root);
        if changed.0.keys().ne(before.0.keys()) {
            prop_assert!(!changes(&sandbox).is_empty());
        }
        prop_assert!(sandbox.rollback(&ctx()).unwrap().restored);
        same(&Tree::of(&root), &before);
        sandbox.cleanup(false, &ctx()).unwrap();
    });
}

#[test]
fn here() {
    holds_on(Kind::Tmpfs, 48);
}

#[test]
fn on_xfs() {
    holds_on(Kind::Xfs, 32);
}

#[test]
fn on_btrfs() {
    holds_on(Kind::Btrfs, 24);
}
