//! Files that change, come and go under the reader: nothing torn is called clean (P5, inputs 41, 47, 50).

use std::fs;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use turnback_engine::Reason;

use crate::common::place::Place;

/// A thread that does one thing over and over until it is dropped.
pub(crate) struct Busy(Arc<AtomicBool>, Option<JoinHandle<()>>);

impl Busy {
    pub(crate) fn new(mut work: impl FnMut(u64) + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = stop.clone();
        let thread = thread::spawn(move || {
            let mut round = 0;
            while !asked.load(Ordering::Relaxed) {
                work(round);
                round += 1;
            }
        });
        Self(stop, Some(thread))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        if let Some(thread) = self.1.take() {
            thread.join().unwrap();
        }
    }
}

/// Checkpoints against a writer that fills a file with one byte value after another.
fn uniform_or_marked(place: &Place, length: usize, rounds: usize) -> (usize, usize) {
    place.write("f", vec![0; length]);
    let file = fs::OpenOptions::new().write(true).open(place.at("f")).unwrap();
    let busy = Busy::new(move |round| file.write_all_at(&vec![round as u8; length], 0).unwrap());
    let (mut clean, mut marked) = (0, 0);
    for round in 0..rounds {
        let now = place.create();
        let bytes = place.read(now.checkpoint_id, "f");
        let changing = now.coverage.uncovered.iter().any(|u| u.reason == Reason::Changing);
        assert_eq!(changing, now.coverage.changing == 1);
        if changing {
            assert!(!now.coverage.complete);
            marked += 1;
        } else {
            assert_eq!(bytes.len(), length);
            let torn = bytes.iter().filter(|b| **b != bytes[0]).count();
            assert_eq!(torn, 0, "round {round}: torn and called clean");
            clean += 1;
        }
        fs::remove_dir_all(&now.snapshot_path).unwrap();
    }
    drop(busy);
    let quiet = place.create();
    assert_eq!(quiet.coverage.changing, 0, "a file that rests is not marked for ever");
    (clean, marked)
}

#[test]
fn a_small_file_that_is_rewritten_all_the_time() {
    let (clean, marked) = uniform_or_marked(&Place::default(), 4 << 10, 300);
    eprintln!("4 KiB: {clean} clean, {marked} marked as changing");
}

#[test]
fn a_large_file_that_is_rewritten_all_the_time() {
    let (clean, marked) = uniform_or_marked(&Place::default(), 3 << 20, 30);
    eprintln!("3 MiB: {clean} clean, {marked} marked as changing");
}

#[test]
fn a_file_that_grows_without_end() {
    let place = Place::default();
    place.write("log", "");
    let file = fs::OpenOptions::new().write(true).open(place.at("log")).unwrap();
    let busy = Busy::new(move |round| file.write_all_at(&[b'x'; 999], (round % 20_000) * 999).unwrap());
    for _ in 0..30 {
        let now = place.create();
        let bytes = place.read(now.checkpoint_id, "log");
        assert!(bytes.iter().all(|b| *b == b'x'));
    }
    drop(busy);
    place.verify_is_clean();
}

#[test]
fn names_that_vanish_and_change_their_type() {
    let place = Place::default();
    for i in 0..20 {
        place.write(&format!("d/keep{i}"), "kept");
    }
    let root = place.root();
    let canary = place.dir.path().join("canary");
    fs::write(&canary, "canary").unwrap();
    let target = canary.clone();
    let busy = Busy::new(move |round| {
        let path = root.join("d").join(format!("v{}", round % 7));
        match round % 4 {
            0 => drop(fs::write(&path, "file")),
            1 => {
                let _ = fs::remove_file(&path);
                let _ = fs::create_dir(&path);
                let _ = fs::write(path.join("inside"), "x");
            }
            2 => drop(fs::remove_dir_all(&path)),
            _ => drop(std::os::unix::fs::symlink(&target, &path)),
        }
    });
    let mut taken = Vec::new();
    for _ in 0..60 {
        let now = place.create();
        for i in 0..20 {
            assert_eq!(place.read(now.checkpoint_id, &format!("d/keep{i}")), b"kept");
        }
        taken.push(now.checkpoint_id);
    }
    drop(busy);
    place.verify_is_clean();
    for id in [taken[0], taken[30], taken[59]] {
        place.rollback(id);
        assert_eq!(fs::read(place.at("d/keep0")).unwrap(), b"kept");
    }
    assert_eq!(fs::read(&canary).unwrap(), b"canary");
}
