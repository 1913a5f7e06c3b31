//! Each lock of the store does what it is for (C10, C12, C16, P8, P9): who comes while another one holds it waits, or is told so.
//! Locks of workspaces are in `syncs.rs` and `cancel.rs`.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use turnback_engine::store::{
    Budget, FileLock, Layout, LockKind, MIN_CAP, OnFull, Patience, own_store, share_store,
};
use turnback_engine::{Code, Context, PruneRequest};

use crate::common::place::{Place, code, noise, open};

fn layout(place: &Place) -> Layout {
    Layout::new(fs::canonicalize(place.store()).unwrap())
}

fn hold(path: std::path::PathBuf, kind: LockKind) -> FileLock {
    FileLock::acquire(&path, kind, Patience::Try, &Context::default()).unwrap()
}

#[test]
fn who_wants_the_store_alone_closes_the_door() {
    let place = Place::default();
    let (layout, ctx) = (layout(&place), Context::default());
    let door = hold(layout.door(), LockKind::Exclusive);
    assert_eq!(code(share_store(&layout, Patience::Try, &ctx)), Code::Busy);
    drop(door);
    let shared = share_store(&layout, Patience::Try, &ctx).unwrap();
    // Those who share it share it, and nobody has it alone meanwhile.
    let another = share_store(&layout, Patience::Try, &ctx).unwrap();
    assert_eq!(code(own_store(&layout, Patience::Try, &ctx)), Code::Busy);
    drop((shared, another));
    let alone = own_store(&layout, Patience::Try, &ctx).unwrap();
    assert_eq!(code(share_store(&layout, Patience::Try, &ctx)), Code::Busy);
    drop(alone);
}

#[test]
fn one_removal_at_a_time() {
    let place = Place::default();
    for round in 0..3 {
        place.write("a", noise(round, 500));
        place.create();
    }
    let ids = place.ids();
    let held = hold(layout(&place).removal_lock(), LockKind::Shared);
    let soon = Context { deadline: Some(Instant::now() + Duration::from_millis(20)), ..Context::default() };
    let request = || PruneRequest { keep_last: Some(1), ..PruneRequest::default() };
    let refused = place.manager.prune(request(), &soon);
    assert!(matches!(code(refused), Code::Busy | Code::TimedOut));
    assert_eq!(place.ids(), ids);
    drop(held);
    assert_eq!(place.manager.prune(request(), &Context::default()).unwrap().deleted.len(), 2);
}

#[test]
fn nobody_sweeps_while_somebody_is_at_work() {
    let place = Place::default();
    let layout = layout(&place);
    let theirs = place.store().join("tmp/theirs");
    let opened_beside = |held: FileLock| {
        fs::write(&theirs, "half made").unwrap();
        open(&place.store()).unwrap();
        assert!(theirs.exists(), "it is somebody's, who lives");
        drop(held);
    };
    opened_beside(hold(layout.removal_lock(), LockKind::Shared));
    opened_beside(share_store(&layout, Patience::Try, &Context::default()).unwrap());
    open(&place.store()).unwrap();
    place.tmp_is_empty();
}

#[test]
fn one_at_a_time_takes_room() {
    let place = Place::default();
    let layout = layout(&place);
    for _ in 0..100 {
        let budget = Budget::new(layout.clone(), None, OnFull::Fail).unwrap();
        let held = hold(layout.budget_lock(), LockKind::Shared);
        let released = AtomicBool::new(false);
        let (said, begun) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                said.send(()).unwrap();
                budget.held().unwrap();
                released.load(Ordering::Acquire)
            });
            begun.recv().unwrap();
            for _ in 0..200 {
                std::thread::yield_now();
            }
            released.store(true, Ordering::Release);
            drop(held);
            assert!(other.join().unwrap(), "it measured while another one did");
        });
    }
}

#[test]
fn room_that_somebody_has_taken_counts_as_long_as_they_live() {
    let place = Place::default();
    let layout = layout(&place);
    let budget = || Budget::new(layout.clone(), Some(MIN_CAP), OnFull::Fail).unwrap();
    let (ours, theirs) = (budget(), budget());
    let _shared = share_store(&layout, Patience::Try, &Context::default()).unwrap();
    let room = ours.room("ours".to_owned());
    room.need(MIN_CAP / 3 * 2).unwrap();
    let other = theirs.room("theirs".to_owned());
    assert_eq!(code(other.need(MIN_CAP / 3 * 2)), Code::StoreFull);
    drop(room);
    other.need(MIN_CAP / 3 * 2).unwrap();
}
