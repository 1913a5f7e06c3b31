//! The stat cache is only a cache: whatever becomes of it, the results are right (design, P5, input 99).

use std::fs;
use std::path::PathBuf;

use turnback_core::CheckpointId;
use turnback_engine::{Context, DiffTo};

use crate::common::everything::fifo;
use crate::common::place::{Place, files_beneath, let_timestamps_age};

struct Cached {
    place: Place,
    /// The cache's files with their contents.
    files: Vec<(PathBuf, Vec<u8>)>,
    /// Checkpoints of the two states that the workspace has in turn.
    states: [(CheckpointId, &'static str); 2],
}

fn cached() -> Cached {
    let place = Place::in_memory();
    for (path, bytes) in [("a", "1"), ("d/b", "2"), ("d/e/c", "3"), ("x", "one")] {
        place.write(path, bytes);
    }
    fs::hard_link(place.at("a"), place.at("d/a")).unwrap();
    let_timestamps_age(&place);
    let first = place.create().checkpoint_id;
    place.write("x", "two");
    let second = place.create().checkpoint_id;
    let_timestamps_age(&place);
    place.create();
    let files = files_beneath(&place.store().join("workspaces")).into_iter().filter(|p| p.is_file());
    let files: Vec<_> = files.map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    assert_eq!(files.len(), 2, "head and records: {files:?}");
    Cached { place, files, states: [(first, "one"), (second, "two")] }
}

impl Cached {
    fn put_back(&self) {
        for (path, bytes) in &self.files {
            if !fs::symlink_metadata(path).is_ok_and(|s| s.is_file()) {
                let _ = fs::remove_file(path);
            }
            fs::write(path, bytes).unwrap();
        }
    }

    /// A checkpoint of the state number `i` must show exactly that state.
    fn right(&self, i: usize, what: &str) {
        let (expected, bytes) = self.states[i % 2];
        self.place.write("x", bytes);
        let now = self.place.create();
        let ctx = Context::default();
        let changes = self.place.manager.diff(expected, DiffTo::Checkpoint(now.checkpoint_id), &ctx).unwrap();
        // The same bytes were written anew: only the times differ.
        let content = changes.iter().filter(|c| c.kind.as_str() != "metadata" || c.path.to_string() != "x");
        assert_eq!(content.collect::<Vec<_>>(), Vec::<&_>::new(), "{what}");
        assert_eq!(self.place.read(now.checkpoint_id, "x"), bytes.as_bytes(), "{what}");
        assert_eq!(now.coverage.files, 8, "{what}");
        fs::remove_dir_all(&now.snapshot_path).unwrap();
    }
}

#[test]
fn each_flipped_byte() {
    let cached = cached();
    let mut rounds = 0;
    for (path, bytes) in &cached.files {
        for at in 0..bytes.len() {
            cached.put_back();
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x41;
            fs::write(path, flipped).unwrap();
            cached.right(rounds, &format!("{} byte {at}", path.display()));
            rounds += 1;
        }
    }
    assert!(rounds > 700, "{rounds}");
}

#[test]
fn cut_off_missing_swapped() {
    let cached = cached();
    let canary = cached.place.dir.path().join("canary");
    fs::write(&canary, "canary").unwrap();
    for (path, bytes) in &cached.files {
        for length in [0, 1, bytes.len() / 2, bytes.len() - 1] {
            cached.put_back();
            fs::write(path, &bytes[..length]).unwrap();
            cached.right(length, "cut off");
        }
        cached.put_back();
        fs::remove_file(path).unwrap();
        cached.right(0, "missing");
        cached.put_back();
        fs::remove_file(path).unwrap();
        std::os::unix::fs::symlink(&canary, path).unwrap();
        cached.right(1, "a link");
        cached.put_back();
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
        cached.right(0, "a directory");
        if path.is_dir() {
            fs::remove_dir(path).unwrap();
        }
        cached.put_back();
    }
    assert_eq!(fs::read(&canary).unwrap(), b"canary");
}

#[test]
fn a_pipe_in_its_place_does_not_block() {
    let cached = cached();
    for (path, _) in &cached.files {
        cached.put_back();
        fs::remove_file(path).unwrap();
        fifo(path);
        cached.right(1, "a pipe");
    }
}

#[test]
fn another_workspace_s_cache() {
    // The cache of a copy of the tree, put in place of our own, does not fool the walk: inode numbers differ.
    let cached = cached();
    let other = Place::default();
    for (path, bytes) in [("a", "9"), ("d/b", "8"), ("d/e/c", "7"), ("x", "six")] {
        other.write(path, bytes);
    }
    let_timestamps_age(&other);
    other.create();
    let theirs: Vec<_> =
        files_beneath(&other.store().join("workspaces")).into_iter().filter(|p| p.is_file()).collect();
    for (mine, (path, _)) in theirs.iter().zip(&cached.files) {
        fs::copy(mine, path).unwrap();
    }
    cached.right(0, "another workspace's");
}
