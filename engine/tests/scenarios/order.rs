//! Checkpoints sort by the order in which they were taken, also when the clock was set back (input 58).

use std::fs;

use turnback_core::{CheckpointId, Millis};

use crate::common::place::Place;

#[test]
fn after_one_from_the_future() {
    let place = Place::default();
    place.write("a", "1");
    let honest = place.create().checkpoint_id;
    // As a checkpoint looks that was taken before the clock was set back by ten years. Its record says nothing of use.
    let later = Millis::since_epoch(honest.created_at().as_u64() + 10 * 365 * 86_400_000);
    let future = CheckpointId::from_parts(later, [9; 10]).unwrap();
    fs::create_dir(place.store().join("checkpoints").join(future.to_string())).unwrap();
    let next: Vec<_> = (0..20).map(|_| place.create().checkpoint_id).collect();
    assert!(honest < future && future < next[0]);
    assert!(next.is_sorted_by(|a, b| a < b));
    let listing = place.manager.list(None).unwrap();
    let listed: Vec<_> = listing.checkpoints.iter().map(|c| c.checkpoint.checkpoint_id).collect();
    assert_eq!(listed[0], honest);
    assert_eq!(listed[1..], next);
}

#[test]
fn many_within_one_millisecond() {
    let place = Place::default();
    let ids: Vec<_> = (0..100).map(|_| place.create().checkpoint_id).collect();
    assert!(ids.is_sorted_by(|a, b| a < b));
    assert_eq!(place.ids(), ids);
}

#[test]
fn ten_generations_are_ten_states() {
    // F20.
    let place = Place::default();
    for round in 0..10 {
        place.write("a", format!("{round}"));
        let id = place.create().checkpoint_id;
        place.write("a", "edited");
        place.write("new", "new");
        place.rollback(id);
        assert_eq!(fs::read(place.at("a")).unwrap(), format!("{round}").as_bytes());
        assert!(!place.at("new").exists());
    }
}
