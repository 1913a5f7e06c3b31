//! Automatic checkpoints go by themselves, others do not (C16, F48, input 58).

use std::fs;

use turnback_core::{AUTOMATIC_LAST, CheckpointId, Phase};
use turnback_engine::store::{Layout, Patience, Record, seal, share_store};
use turnback_engine::{Context, CreateRequest, PruneRequest};

use crate::common::place::{Place, exact, files_beneath, noise, open, request};

fn automatic() -> CreateRequest {
    CreateRequest::new("plan".parse().unwrap(), Phase::PreBatch)
}

fn turn(place: &Place, round: u64) -> CheckpointId {
    place.write("changing", noise(round, 3000));
    place.try_create(automatic()).unwrap().checkpoint_id
}

/// Gives a record another time of making, as if the clock had said something else.
fn stamp(place: &Place, id: CheckpointId, change: impl FnOnce(u64) -> u64) {
    let path = place.store().join("checkpoints").join(id.to_string()).join("record");
    let text = fs::read(&path).unwrap();
    let mut record: Record = serde_json::from_slice(text.split(|b| *b == b'\n').next().unwrap()).unwrap();
    record.created_at_ms = change(record.created_at_ms);
    fs::write(&path, seal(&record).unwrap()).unwrap();
}

const WEEK: u64 = 7 * 86_400_000;

#[test]
fn the_last_fifty_stay() {
    let place = Place::in_memory();
    place.write("still", noise(1, 50_000));
    let by_hand = place.create().checkpoint_id;
    let pinned = turn(&place, 1000);
    place.manager.set_pinned(pinned, true).unwrap();
    let labelled = turn(&place, 1001);
    place.manager.set_label(labelled, Some("keep me")).unwrap();
    let mut made = Vec::new();
    for round in 0..80 {
        made.push(turn(&place, round));
        let automatic = place.ids().len() - 3;
        assert_eq!(automatic, made.len().min(AUTOMATIC_LAST), "after round {round}");
    }
    let mut expected = vec![by_hand, pinned, labelled];
    expected.extend(&made[made.len() - AUTOMATIC_LAST..]);
    assert_eq!(place.ids(), expected);
    place.verify_is_clean();
    place.tmp_is_empty();
    for (round, id) in made.iter().enumerate().skip(30) {
        assert_eq!(place.read(*id, "changing"), noise(round as u64, 3000));
    }
    // What the removed ones held does not pile up: it goes from time to time, and at once when it is asked for.
    let kept = || files_beneath(&place.store().join("packs")).len();
    assert!(kept() <= 3 * 17, "{}", kept());
    let report = place.manager.prune(PruneRequest::default(), &Context::default()).unwrap();
    assert_eq!(report.deleted, []);
    assert_eq!(kept(), 0);
    place.verify_is_clean();
}

#[test]
fn other_workspaces_have_fifty_of_their_own() {
    let place = Place::in_memory();
    let other = place.dir.path().join("other");
    fs::create_dir(&other).unwrap();
    let first = place.manager.create(&other, automatic(), &Context::default()).unwrap().checkpoint_id;
    for round in 0..55 {
        turn(&place, round);
    }
    assert_eq!(place.ids().len(), 51);
    assert!(place.ids().contains(&first));
}

#[test]
fn a_week_and_no_longer() {
    let place = Place::default();
    let made: Vec<_> = (0..6).map(|round| turn(&place, round)).collect();
    let by_hand = place.create().checkpoint_id;
    stamp(&place, made[1], |now| now - WEEK - 60_000);
    stamp(&place, made[2], |now| now - WEEK + 60_000);
    stamp(&place, made[3], |now| now + 100 * WEEK);
    stamp(&place, by_hand, |now| now - 100 * WEEK);
    let manager = open(&place.store()).unwrap();
    manager.create(&place.root(), automatic(), &Context::default()).unwrap();
    let ids = place.ids();
    assert!(!ids.contains(&made[1]));
    // Input 58: what seems to come from the future is not old.
    assert!([made[0], made[2], made[3], made[4], made[5], by_hand].iter().all(|id| ids.contains(id)));
    place.verify_is_clean();
}

#[test]
fn never_what_a_rollback_just_used() {
    let place = Place::default();
    let target = turn(&place, 0);
    turn(&place, 1);
    stamp(&place, target, |now| now - 2 * WEEK);
    let manager = open(&place.store()).unwrap();
    let report = manager.rollback(target, exact(), &Context::default()).unwrap();
    let ids = place.ids();
    assert!(ids.contains(&target) && ids.contains(&report.undo_checkpoint_id.unwrap()));
    manager.undo(report.undo_checkpoint_id.unwrap(), &Context::default()).unwrap();
}

#[test]
fn a_store_in_use_is_pruned_next_time() {
    let place = Place::in_memory();
    for round in 0..AUTOMATIC_LAST as u64 {
        turn(&place, round);
    }
    let layout = Layout::new(fs::canonicalize(place.store()).unwrap());
    let reader = share_store(&layout, Patience::Try, &Context::default()).unwrap();
    turn(&place, 100);
    assert_eq!(place.ids().len(), AUTOMATIC_LAST + 1, "nothing goes while somebody reads");
    place.tmp_is_empty();
    drop(reader);
    turn(&place, 101);
    assert_eq!(place.ids().len(), AUTOMATIC_LAST);
    place.verify_is_clean();
}

#[test]
fn checkpoints_by_hand_never_go() {
    let place = Place::in_memory();
    let made: Vec<_> = (0..55).map(|_| place.try_create(request()).unwrap().checkpoint_id).collect();
    turn(&place, 1);
    assert_eq!(place.ids()[..55], made);
}
