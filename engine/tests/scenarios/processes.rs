//! Several processes on one workspace and one store (C10, F14, P9).

use std::fs;
use std::process::{Child, Stdio};

use crate::common::place::{Place, open, request};
use crate::common::process::{child, task};
use turnback_engine::Context;

#[test]
fn every_checkpoint_of_every_process_is_listed() {
    let place = Place::default();
    for i in 0..30 {
        place.write(&format!("d{}/f{i}", i % 3), format!("{i}"));
    }
    let children: Vec<Child> = (0..4)
        .map(|_| {
            child("processes::four_checkpoints", place.dir.path()).stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let ids = place.ids();
    assert_eq!(ids.len(), 16);
    place.verify_is_clean();
    place.tmp_is_empty();
    for id in ids {
        let report = place.rollback(id);
        assert!(report.restored);
        assert_eq!(fs::read(place.at("d0/f0")).unwrap(), b"0");
    }
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn four_checkpoints() {
    let Some(directory) = task() else { return };
    let manager = open(&directory.join("s")).unwrap();
    for round in 0..4 {
        fs::write(directory.join("w").join(format!("by-{}-{round}", std::process::id())), "x").unwrap();
        manager.create(&directory.join("w"), request(), &Context::default()).unwrap();
    }
}

#[test]
fn a_manager_sees_what_others_do() {
    let place = Place::default();
    place.write("a", "1");
    let other = open(&place.store()).unwrap();
    let by_other = other.create(&place.root(), request(), &Context::default()).unwrap().checkpoint_id;
    assert_eq!(place.ids(), [by_other]);
    assert_eq!(place.read(by_other, "a"), b"1");
    place.write("a", "2");
    let ours = place.create().checkpoint_id;
    assert!(other.delete(by_other).unwrap());
    assert_eq!(place.ids(), [ours]);
    assert_eq!(place.manager.get(by_other).unwrap(), None);
    place.write("a", "3");
    place.rollback(ours);
    assert_eq!(fs::read(place.at("a")).unwrap(), b"2");
    place.verify_is_clean();
}
