//! The life of a sandbox: core's table, one call at a time, the same for every process (S2, S3).

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use turnback_core::Phase;
use turnback_core::SandboxStatus::{Active, CleanedUp, Created, RolledBack};
use turnback_engine::{
    Cancel, Code, Context, CreateRequest, Durability, Manager, OpenOptions, Sandboxes, StoreLocation,
};

use crate::common::place::code;
use crate::place::{Place, changes, ctx};

#[test]
fn goes_as_the_table_says() {
    let place = Place::here();
    place.write("f", "1");
    let sandbox = place.create();
    let status = || sandbox.handle().status().unwrap();
    assert_eq!(status(), Created);
    // Reading the path and comparing change nothing.
    assert_eq!(changes(&sandbox), []);
    assert!(sandbox.handle().path().is_dir());
    assert_eq!(status(), Created);
    // S2: a rollback is a first use as well.
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
    assert_eq!(status(), RolledBack);
    assert_eq!(sandbox.enter(&ctx()).unwrap(), sandbox.handle().path());
    assert_eq!(status(), Active);
    sandbox.enter(&ctx()).unwrap();
    assert_eq!(status(), Active);
    sandbox.cleanup(false, &ctx()).unwrap();
    assert_eq!(status(), CleanedUp);
}

#[test]
fn nothing_follows_a_cleanup() {
    let place = Place::here();
    place.write("f", "1");
    let sandbox = place.create();
    let same = place.sandboxes.attach(sandbox.handle().id(), &ctx()).unwrap();
    sandbox.cleanup(false, &ctx()).unwrap();
    for sandbox in [&sandbox, &same] {
        let error = sandbox.enter(&ctx()).unwrap_err();
        assert_eq!(error.code(), Code::IllegalTransition);
        let details = error.details();
        assert!(details.contains(&("from", "CLEANED_UP".to_owned())), "{error:?}");
        assert!(details.contains(&("to", "ACTIVE".to_owned())), "{error:?}");
        assert!(error.to_string().contains("create a new sandbox"), "{error}");
        assert_eq!(code(sandbox.rollback(&ctx())), Code::IllegalTransition);
        assert_eq!(code(sandbox.cleanup(true, &ctx())), Code::IllegalTransition);
        assert_eq!(code(sandbox.changes(&ctx())), Code::IllegalTransition);
    }
    assert_eq!(code(place.sandboxes.attach(sandbox.handle().id(), &ctx())), Code::NotFound);
    place.is_clean(0);
}

/// The record is the truth: a second handle sees what the first one did.
#[test]
fn two_handles_are_one_sandbox() {
    let place = Place::here();
    place.write("f", "1");
    let one = place.create();
    let two = place.sandboxes.attach(one.handle().id(), &ctx()).unwrap();
    assert_eq!(two.handle().path(), one.handle().path());
    assert_eq!(two.handle().mechanism(), one.handle().mechanism());
    one.enter(&ctx()).unwrap();
    assert_eq!(two.handle().status().unwrap(), Active);
    fs::write(one.handle().path().join("f"), "2").unwrap();
    assert_eq!(changes(&two), [("f".to_owned(), "modified")]);
    assert!(two.rollback(&ctx()).unwrap().restored);
    assert_eq!(one.handle().status().unwrap(), RolledBack);
}

/// Many cleanups at once: one does it, all others are told.
#[test]
fn calls_on_one_sandbox_are_serialised() {
    let place = Place::here();
    for i in 0..200 {
        place.write(&format!("d{}/f{i}", i % 7), "x");
    }
    let sandbox = place.create();
    fs::write(sandbox.enter(&ctx()).unwrap().join("new"), "work").unwrap();
    let (done, saved) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| match sandbox.cleanup(true, &ctx()) {
                Ok(report) => {
                    done.fetch_add(1, Ordering::Relaxed);
                    saved.fetch_add(usize::from(report.saved_checkpoint_id.is_some()), Ordering::Relaxed);
                }
                Err(error) => assert_eq!(error.code(), Code::IllegalTransition, "{error}"),
            });
            scope.spawn(|| match sandbox.rollback(&ctx()) {
                Ok(report) => assert!(report.restored),
                Err(error) => assert_eq!(error.code(), Code::IllegalTransition, "{error}"),
            });
        }
    });
    assert_eq!(done.load(Ordering::Relaxed), 1);
    // A rollback that came first left nothing to save but its own safety checkpoint.
    assert!(saved.load(Ordering::Relaxed) <= 1);
    assert!(!sandbox.handle().path().exists());
}

#[test]
fn a_held_lock_is_busy_at_the_deadline() {
    let place = Place::here();
    place.write("f", "1");
    let sandbox = place.create();
    let lock = place.dir().join("store/sandboxes").join(sandbox.handle().id().as_str()).join("lock");
    let file = fs::OpenOptions::new().create(true).append(true).open(lock).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let soon = Context { deadline: Some(Instant::now() + Duration::from_millis(20)), ..Context::default() };
    let error = sandbox.enter(&soon).unwrap_err();
    assert!(matches!(error.code(), Code::Busy | Code::TimedOut), "{error}");
    // One that is worked on is listed, and what it holds is not known.
    let listed = place.sandboxes.list(&ctx()).unwrap();
    assert_eq!((listed.len(), listed[0].unsaved, listed[0].problem.clone()), (1, None, None));
    drop(file);
    sandbox.enter(&ctx()).unwrap();
}

/// C12 for sandboxes: a create that is cancelled leaves nothing.
#[test]
fn a_cancelled_create_leaves_nothing() {
    let place = Place::here();
    for i in 0..3000 {
        place.write(&format!("d{}/f{i}", i % 60), format!("{i}"));
    }
    for after in [0, 1, 1000, 2000] {
        let cancel = Cancel::default();
        let seen = Arc::new(AtomicUsize::new(0));
        let stop = {
            let (cancel, seen) = (cancel.clone(), Arc::clone(&seen));
            Arc::new(move |progress: turnback_engine::Progress| {
                seen.fetch_add(1, Ordering::Relaxed);
                if progress.done >= after {
                    cancel.cancel();
                }
            })
        };
        if after == 0 {
            cancel.cancel();
        }
        let context = Context { cancel, on_progress: Some(stop), ..Context::default() };
        assert_eq!(code(place.sandboxes.create(&place.options(), &context)), Code::Aborted, "{after}");
        assert!(place.sandboxes.list(&ctx()).unwrap().is_empty());
        place.is_clean(0);
    }
}

/// C16: when the store is full, automatic checkpoints make room, and what was copied by then is copied anew.
#[test]
fn a_full_store_makes_room_for_a_baseline() {
    use crate::common::place::noise;
    let place = Place::here();
    let manager = Manager::open(OpenOptions {
        store: StoreLocation::Path(place.dir().join("small")),
        durability: Some(Durability::Process),
        max_bytes: Some(4 << 20),
        ..OpenOptions::default()
    })
    .unwrap();
    let other = place.dir().join("other");
    fs::create_dir(&other).unwrap();
    for i in 0..8u64 {
        fs::write(other.join("f"), noise(1_000 + i, 400_000)).unwrap();
        let request = CreateRequest::new("p".parse().unwrap(), Phase::PreBatch);
        manager.create(&other, request, &ctx()).unwrap();
    }
    for i in 0..60u64 {
        place.write(&format!("d{}/f{i}", i % 5), noise(i, 40_000));
    }
    fs::hard_link(place.resource().join("d0/f0"), place.resource().join("d1/link")).unwrap();
    crate::common::everything::chmod(&place.resource(), 0o555);
    let sandbox = Sandboxes::new(&manager).create(&place.options(), &ctx()).unwrap();
    let left = manager.list(None).unwrap().checkpoints.len();
    assert!(left < 9, "nothing had to go: the test shows nothing");
    let baseline = &manager.list(Some(sandbox.handle().id())).unwrap().checkpoints[0].checkpoint;
    assert_eq!((baseline.coverage.files, baseline.coverage.uncovered_count), (67, 0));
    crate::common::picture::same(&crate::common::picture::Tree::of(sandbox.handle().path()), &place.tree());
    assert_eq!(changes(&sandbox), []);
    // What can never fit is an error that leaves nothing.
    place.write("d0/huge", noise(7, 6 << 20));
    assert_eq!(code(Sandboxes::new(&manager).create(&place.options(), &ctx())), Code::StoreFull);
    assert_eq!(Sandboxes::new(&manager).list(&ctx()).unwrap().len(), 1);
    assert_eq!(fs::read_dir(place.dir().join("small-sandboxes")).unwrap().count(), 1);
}
