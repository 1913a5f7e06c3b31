//! A commit into a store at its cap: what it writes is three checkpoints and a journal, and old automatic checkpoints make room for all
//! of them together (C16, S6).

use std::fs;
use std::path::Path;

use turnback_core::Phase;
use turnback_engine::{Context, CreateRequest, Durability, Manager, OpenOptions, Sandboxes, StoreLocation};

use crate::commit::{commit, put};
use crate::common::place::noise;
use crate::place::{Place, ctx};

const CAP: u64 = 6 << 20;

fn capped(store: &Path) -> Manager {
    Manager::open(OpenOptions {
        store: StoreLocation::Path(store.to_owned()),
        durability: Some(Durability::Process),
        max_bytes: Some(CAP),
        ..OpenOptions::default()
    })
    .unwrap()
}

/// Small automatic checkpoints of another directory, until less is left than a draft begins with; fewer than the default retention keeps.
fn fill(place: &Place) {
    let other = place.dir().join("other");
    fs::create_dir(&other).unwrap();
    let request = CreateRequest::new("plan".parse().unwrap(), Phase::PreBatch);
    let mut seed = 1000;
    // By a manager that minds no cap.
    while place.manager.usage().unwrap().store_bytes < CAP - (40 << 10) {
        seed += 1;
        fs::write(other.join("file"), noise(seed, 140_000)).unwrap();
        place.manager.create(&other, request.clone(), &Context::default()).unwrap();
    }
}

#[test]
fn a_commit_makes_room_for_all_that_it_writes() {
    let place = Place::here();
    place.write("kept", noise(1, 300_000));
    let capped = capped(&place.dir().join("store"));
    let sandbox = Sandboxes::new(&capped).create(&place.options(), &ctx()).unwrap();
    fill(&place);
    // Of the sandbox, and of the resource: both go into checkpoints that were not there.
    put(&sandbox, "new", noise(2, 1_300_000));
    place.write("own", noise(3, 1_300_000));
    let report = commit(&sandbox);
    assert!(report.committed, "{report:?}");
    assert_eq!(fs::read(place.resource().join("new")).unwrap(), noise(2, 1_300_000));
    assert_eq!(fs::read(place.resource().join("own")).unwrap(), noise(3, 1_300_000));
    assert!(capped.usage().unwrap().store_bytes <= CAP);
    assert_eq!(capped.verify(None, &ctx()).unwrap().damaged, []);
    put(&sandbox, "more", "x");
    assert!(commit(&sandbox).committed);
    sandbox.undo_commit(&ctx()).unwrap();
    assert!(!place.resource().join("more").exists());
}
