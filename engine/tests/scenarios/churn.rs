//! 200 turns at fixed churn, every tenth of them killed (W13, F1, F37).

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use turnback_core::Phase;
use turnback_engine::{Context, CreateRequest};

use crate::common::place::{Place, noise, open, request};
use crate::common::process::{child, task};

const TURNS: u64 = 200;
const CHANGED: u64 = 60_000;
const BESIDE: u64 = 64 << 10;

fn turn(place: &Place, turn: u64, request: CreateRequest) {
    // Bytes that no compression shortens, so that what was changed is what has to be stored.
    place.write(&format!("d{}/changing", turn % 7), noise(turn, CHANGED as usize));
    if turn % 10 == 9 {
        let mut process = child("churn::one_more", place.dir.path()).stdout(Stdio::null()).spawn().unwrap();
        let started = place.dir.path().join("started");
        while !started.exists() {
            std::hint::spin_loop();
        }
        let until = Instant::now() + Duration::from_micros(turn * 97 % 3000);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        process.kill().unwrap();
        process.wait().unwrap();
        fs::remove_file(started).unwrap();
        // What it left is reclaimed at the next open.
        open(&place.store()).unwrap();
        place.tmp_is_empty();
    } else {
        place.try_create(request).unwrap();
    }
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn one_more() {
    let Some(directory) = task() else { return };
    let manager = open(&directory.join("s")).unwrap();
    fs::write(directory.join("started"), "").unwrap();
    manager.create(&directory.join("w"), request(), &Context::default()).unwrap();
}

fn held(place: &Place) -> u64 {
    place.manager.usage().unwrap().store_bytes
}

fn still(root: &Path) {
    for i in 0..50 {
        fs::write(root.join(format!("still{i}")), noise(10_000 + i, 10_000)).unwrap();
    }
}

#[test]
fn growth_is_what_was_changed() {
    let place = Place::in_memory();
    still(&place.root());
    place.create();
    let before = held(&place);
    for n in 0..TURNS {
        turn(&place, n, request());
        let made = place.ids().len() as u64 - 1;
        let grown = held(&place) - before;
        assert!(grown <= (n + 1) * CHANGED * 6 / 5 + made * BESIDE, "{grown} after {n} turns");
    }
    assert!(place.ids().len() as u64 >= TURNS - TURNS / 10);
    place.verify_is_clean();
}

#[test]
fn by_default_it_ends_somewhere() {
    // Automatic checkpoints: the last fifty, and what is not yet looked after.
    let place = Place::in_memory();
    still(&place.root());
    place.create();
    let before = held(&place);
    let mut most = 0;
    for n in 0..TURNS {
        turn(&place, n, CreateRequest::new("plan".parse().unwrap(), Phase::PreBatch));
        most = most.max(held(&place) - before);
    }
    // Twenty more were made by processes that may have come through before they were killed.
    let bound = (50 + 20 + 17) * (CHANGED * 6 / 5 + BESIDE);
    assert!(most <= bound, "{most} of {bound}");
    place.verify_is_clean();
}
