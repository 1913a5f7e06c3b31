//! A create that is cancelled, late or locked out leaves nothing and publishes nothing (C12, P11, F4, F50, F62).

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use turnback_engine::store::{FileLock, LockKind, Patience};
use turnback_engine::{Cancel, Code, Context};

use crate::common::picture::same;
use crate::common::place::{Place, code, exact, noise, request};

fn wide() -> Place {
    let place = Place::default();
    for i in 0..4000u64 {
        place.write(&format!("d{}/f{i}", i % 40), noise(i, 100));
    }
    place.write("kept", "1");
    place
}

#[test]
fn cancelled_at_many_points() {
    let place = wide();
    let files = {
        place.create();
        place.store_files()
    };
    fs::write(place.at("d0/f0"), "changed").unwrap();
    let before = place.tree();
    for stop_at in [0u64, 1, 2, 3] {
        let cancel = Cancel::default();
        let seen = Arc::new(AtomicU64::new(0));
        let (ours, count) = (cancel.clone(), seen.clone());
        if stop_at == 0 {
            cancel.cancel();
        }
        let ctx = Context {
            cancel,
            on_progress: Some(Arc::new(move |_| {
                if count.fetch_add(1, Ordering::Relaxed) + 1 == stop_at {
                    ours.cancel();
                }
            })),
            ..Context::default()
        };
        let result = place.manager.create(&place.root(), request(), &ctx);
        assert_eq!(code(result), Code::Aborted, "cancelled at report {stop_at}");
        assert_eq!(place.store_files(), files, "the store is as before");
    }
    same(&place.tree(), &before);
    // And nothing stands in the way of the next one.
    place.create();
    place.verify_is_clean();
}

#[test]
fn a_deadline_that_has_passed() {
    let place = wide();
    place.create();
    let files = place.store_files();
    for after in [Duration::ZERO, Duration::from_micros(300), Duration::from_millis(2)] {
        let deadline = Instant::now() + after;
        let ctx = Context { deadline: Some(deadline), ..Context::default() };
        fs::write(place.at("d0/f0"), format!("{after:?}")).unwrap();
        // All of it is read again: otherwise it might be done in time.
        for i in 0..400 {
            place.write(&format!("d{}/f{i}", i % 40), noise(i + 9000, 50_000));
        }
        assert_eq!(code(place.manager.create(&place.root(), request(), &ctx)), Code::TimedOut);
        assert_eq!(place.store_files(), files);
    }
    let ctx = Context { deadline: Some(Instant::now()), ..Context::default() };
    let id = place.ids()[0];
    let before = place.tree();
    assert_eq!(code(place.manager.rollback(id, exact(), &ctx)), Code::TimedOut);
    assert_eq!(code(place.manager.verify(None, &ctx)), Code::TimedOut);
    assert_eq!(code(place.manager.export(id, &place.dir.path().join("out"), &ctx)), Code::TimedOut);
    same(&place.tree(), &before);
    place.tmp_is_empty();
}

#[test]
fn a_workspace_that_is_in_use() {
    let place = Place::default();
    place.write("a", "1");
    let checkpoint = place.create();
    let lock = place.store().join("locks").join(checkpoint.sandbox_id.as_str());
    assert!(lock.exists());
    let held = FileLock::acquire(&lock, LockKind::Exclusive, Patience::Try, &Context::default()).unwrap();
    let again = FileLock::acquire(&lock, LockKind::Exclusive, Patience::Try, &Context::default());
    let busy = again.unwrap_err();
    assert_eq!(busy.code(), Code::Busy);
    assert!(busy.code().retryable(), "F62");

    let soon =
        || Context { deadline: Some(Instant::now() + Duration::from_millis(500)), ..Context::default() };
    let files = place.store_files();
    // The deadline ends the wait, and yet it is not the operation that was slow: the other one is named (C12).
    for error in [
        place.manager.create(&place.root(), request(), &soon()).unwrap_err(),
        place.manager.rollback(checkpoint.checkpoint_id, exact(), &soon()).unwrap_err(),
    ] {
        assert_eq!(error.code(), Code::Busy);
        assert!(error.to_string().contains("the workspace is in use"), "{error}");
        assert_eq!(error.path(), Some(place.root().as_path()));
    }
    assert_eq!(place.store_files(), files);
    // Another workspace does not wait for this one (C10).
    let other = place.dir.path().join("other");
    fs::create_dir(&other).unwrap();
    place.manager.create(&other, request(), &Context::default()).unwrap();
    // Waiting can be cancelled.
    let ctx = Context::default();
    ctx.cancel.cancel();
    assert_eq!(code(place.manager.create(&place.root(), request(), &ctx)), Code::Aborted);
    drop(held);
    place.create();
}

/// C12, P11: who gives up and the worker agree on what became of it, whenever the two meet.
#[test]
fn a_create_that_was_cancelled_in_time_is_never_published() {
    let place = Place::default();
    for i in 0..40u64 {
        place.write(&format!("f{i}"), noise(i, 3_000));
    }
    let mut listed = vec![place.create().checkpoint_id];
    let (mut in_time, mut abandoned, mut too_late) = (0, 0, 0);
    for round in 0..400u64 {
        place.write("f1", noise(round, 3_000));
        let ctx = Context::default();
        let cancel = ctx.cancel.clone();
        let start = std::sync::Barrier::new(2);
        let (result, stopped, left) = std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                start.wait();
                place.manager.create(&place.root(), request(), &ctx)
            });
            start.wait();
            // Somewhere within the few milliseconds that it takes: each round a little later.
            let until = Instant::now() + Duration::from_micros(round * 20);
            while Instant::now() < until {
                std::hint::spin_loop();
            }
            let stopped = cancel.cancel();
            let left = !stopped && round % 2 == 1 && cancel.abandon();
            (worker.join().unwrap(), stopped, left)
        });
        match result {
            Err(error) => {
                assert!(stopped || left, "round {round}: {error}");
                assert_eq!(error.code(), Code::Aborted);
                if stopped { in_time += 1 } else { abandoned += 1 }
            }
            Ok(checkpoint) => {
                assert!(!stopped && !left, "round {round}: it was given up and is there");
                listed.push(checkpoint.checkpoint_id);
                too_late += 1;
            }
        }
        let now: Vec<_> = place.manager.list(None).unwrap().checkpoints;
        let now: Vec<_> = now.iter().map(|c| c.checkpoint.checkpoint_id).collect();
        assert_eq!(now, listed, "round {round}");
    }
    assert!(in_time > 0, "none was cancelled in time");
    println!("{in_time} cancelled, {abandoned} taken back, {too_late} too late to cancel");
    place.verify_is_clean();
    assert_eq!(fs::read_dir(place.manager.store_path().join("tmp")).unwrap().count(), 0);
}

/// One context may go through several operations, and a stop holds for all that follow.
#[test]
fn one_flag_for_several_operations() {
    let place = Place::default();
    let ctx = Context::default();
    for round in ["1", "2", "3"] {
        place.write("f", round);
        place.manager.create(&place.root(), request(), &ctx).unwrap();
    }
    ctx.cancel.cancel();
    assert_eq!(code(place.manager.create(&place.root(), request(), &ctx)), Code::Aborted);
    assert_eq!(place.ids().len(), 3);
}
