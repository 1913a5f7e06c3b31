//! Trees deeper than PATH_MAX and than the limit of open files (input 37).

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::common::place::Place;
use crate::common::process::{child, run, task};

const DEPTH: usize = 2000;

fn open(at: impl AsFd, name: &str) -> OwnedFd {
    rustix::fs::openat(at, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
}

fn put(at: impl AsFd, name: &str, bytes: &[u8]) {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
    let file = rustix::fs::openat(at, name, flags, Mode::RUSR | Mode::WUSR).unwrap();
    rustix::io::write(&file, bytes).unwrap();
}

/// A chain of directories, each with a file and `beside` empty directories.
fn chain(root: &Path, depth: usize, beside: usize) {
    let mut at = open(rustix::fs::CWD, root.to_str().unwrap());
    for level in 0..depth {
        put(&at, "file", level.to_string().as_bytes());
        for side in 0..beside {
            rustix::fs::mkdirat(&at, format!("{side}").as_str(), Mode::RWXU).unwrap();
            put(open(&at, &format!("{side}")), "leaf", b"leaf");
        }
        rustix::fs::mkdirat(&at, "deeper", Mode::RWXU).unwrap();
        at = open(&at, "deeper");
    }
    put(&at, "file", b"bottom");
}

/// The names and the file's bytes of every level.
fn levels(root: &Path) -> Vec<(Vec<String>, String)> {
    let mut at = open(rustix::fs::CWD, root.to_str().unwrap());
    let mut found = Vec::new();
    loop {
        let mut names: Vec<_> = rustix::fs::Dir::read_from(&at)
            .unwrap()
            .map(|e| e.unwrap().file_name().to_str().unwrap().to_owned())
            .filter(|n| n != "." && n != "..")
            .collect();
        names.sort();
        let mut bytes = [0; 32];
        let file = rustix::fs::openat(&at, "file", OFlags::RDONLY, Mode::empty()).unwrap();
        let n = rustix::io::read(&file, &mut bytes).unwrap();
        found.push((names.clone(), String::from_utf8_lossy(&bytes[..n]).into_owned()));
        if !names.contains(&"deeper".to_owned()) {
            return found;
        }
        at = open(&at, "deeper");
    }
}

/// Removes such a chain from the bottom up; `remove_dir_all` of the standard library needs a descriptor for each level.
fn remove(root: &Path, depth: usize) {
    let mut at = open(rustix::fs::CWD, root.to_str().unwrap());
    for _ in 0..depth {
        at = open(&at, "deeper");
    }
    for level in (0..=depth).rev() {
        let names: Vec<_> =
            rustix::fs::Dir::read_from(&at).unwrap().map(|e| e.unwrap().file_name().to_owned()).collect();
        for name in names.iter().filter(|n| n.as_c_str() != c"." && n.as_c_str() != c"..") {
            if rustix::fs::unlinkat(&at, name, AtFlags::empty()).is_err() {
                let side = open(&at, name.to_str().unwrap());
                let _none_in_deeper = rustix::fs::unlinkat(&side, "leaf", AtFlags::empty());
                rustix::fs::unlinkat(&at, name, AtFlags::REMOVEDIR).unwrap();
            }
        }
        if level > 0 {
            at = open(&at, "..");
        }
    }
    fs::remove_dir(root).unwrap();
}

#[test]
fn with_few_open_files() {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    run(child("deep::in_a_small_process", directory.path()));
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn in_a_small_process() {
    let Some(directory) = task() else { return };
    setrlimit(Resource::Nofile, Rlimit { current: Some(128), maximum: Some(128) }).unwrap();
    deep_tree(&directory, DEPTH, 0);
    // Directories with several children each, so that many could be open at once.
    deep_tree(&directory, 300, 3);
}

fn deep_tree(directory: &Path, depth: usize, beside: usize) {
    let place = Place::in_directory(tempfile::tempdir_in(directory).unwrap());
    chain(&place.root(), depth, beside);
    let before = levels(&place.root());
    assert_eq!(before.len(), depth + 1);
    let first = place.create();
    assert!(first.coverage.complete, "{:?}", first.coverage);
    assert_eq!(first.coverage.files, (depth * (2 + 2 * beside) + 2) as u64);
    assert_eq!(place.create().coverage, first.coverage);

    let mut at = open(rustix::fs::CWD, place.root().to_str().unwrap());
    for _ in 0..depth {
        at = open(&at, "deeper");
    }
    put(&at, "file", b"changed at the bottom");
    put(&at, "new", b"new");
    let changed = levels(&place.root());
    let report = place.rollback(first.checkpoint_id);
    assert!(report.restored);
    assert!(levels(&place.root()) == before);
    place.undo(report.undo_checkpoint_id.unwrap());
    assert!(levels(&place.root()) == changed);

    remove(&place.root(), depth);
    place.rollback(first.checkpoint_id);
    assert!(levels(&place.root()) == before);
    place.verify_is_clean();
    remove(&place.root(), depth);
}
