//! Who gives a restore up hears at once how far it came, whatever its worker hangs in, and it goes no further than that (C8, C12).

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use turnback_engine::{Cancel, Code, Context, Far, Progress, RollbackRequest, Step};

use crate::common::picture::{Tree, same};
use crate::common::place::{Place, exact, request};

/// A workspace of which a rollback changes many paths.
fn scene() -> (Place, turnback_core::CheckpointId, Tree) {
    let place = Place::in_memory();
    for i in 0..2500 {
        place.write(&format!("d{}/f{i:04}", i % 5), format!("then {i}"));
    }
    let first = place.create().checkpoint_id;
    for i in 0..2500 {
        place.write(&format!("d{}/f{i:04}", i % 5), format!("now, {i}"));
    }
    let before = place.tree();
    (place, first, before)
}

/// A context that is given up in this phase; what was told then.
fn given_up_in(phase: &'static str, cancel_too: bool) -> (Context, Arc<Mutex<Option<Far>>>) {
    let told = Arc::new(Mutex::new(None));
    let mut ctx = Context::default();
    let (cancel, reached, tell): (Cancel, _, _) = (ctx.cancel.clone(), ctx.reached.clone(), told.clone());
    ctx.on_progress = Some(Arc::new(move |progress: Progress| {
        if progress.phase == phase {
            tell.lock().unwrap().get_or_insert_with(|| reached.give_up());
            if cancel_too {
                cancel.cancel();
            }
        }
    }));
    (ctx, told)
}

fn has(error: &turnback_engine::Error, name: &str) -> bool {
    error.details().iter().any(|(n, value)| *n == name && value == "true")
}

#[test]
fn before_the_journal_and_before_the_first_write_nothing_more_is_done() {
    let (place, first, before) = scene();
    // Giving up alone holds it: nobody has to hear of a cancellation in time.
    for (phase, step) in [("scan", Step::Nothing), ("stage", Step::Journal)] {
        let (ctx, told) = given_up_in(phase, false);
        let error = place.manager.rollback(first, exact(), &ctx).unwrap_err();
        assert_eq!(error.code(), Code::Aborted, "{phase}");
        assert!(!has(&error, "pending") && !has(&error, "begun"), "{error}");
        assert!(error.to_string().ends_with("nothing was written to the workspace"), "{error}");
        let far = told.lock().unwrap().unwrap();
        assert_eq!(far.step, step, "{phase}");
        assert_eq!(far.undo.is_some(), step == Step::Journal, "{phase}");
        same(&place.tree(), &before);
        assert_eq!(place.manager.pending().unwrap(), [], "{phase}");
    }
    place.tmp_is_empty();
}

#[test]
fn after_the_first_write_it_waits_and_can_be_undone() {
    let (place, first, before) = scene();
    let (ctx, told) = given_up_in("apply", true);
    let error = place.manager.rollback(first, exact(), &ctx).unwrap_err();
    assert!(has(&error, "pending") && has(&error, "begun"), "{error}");
    assert!(!error.to_string().contains("nothing was"), "{error}");
    let far = told.lock().unwrap().unwrap();
    assert_eq!(far.step, Step::Begun { journaled: true });
    let waiting = place.manager.pending().unwrap();
    assert_eq!(waiting[0].begun.clone().unwrap().undo_checkpoint_id, far.undo);
    place.undo(far.undo.unwrap());
    same(&place.tree(), &before);
}

#[test]
fn what_was_interrupted_before_counts_as_begun_from_the_start() {
    let (place, first, before) = scene();
    let (ctx, _) = given_up_in("apply", true);
    place.manager.rollback(first, exact(), &ctx).unwrap_err();
    let (ctx, told) = given_up_in("recover", true);
    let error = place.manager.create(&place.root(), request(), &ctx).unwrap_err();
    assert!(has(&error, "pending"), "{error}");
    let far = told.lock().unwrap().unwrap();
    assert_eq!(far.step, Step::Begun { journaled: true });
    // It is finished first; then the walk of the rollback is given up.
    let (ctx, told) = given_up_in("scan", true);
    let error = place.manager.rollback(first, exact(), &ctx).unwrap_err();
    assert!(!has(&error, "pending") && !has(&error, "begun"), "{error}");
    assert!(error.details().contains(&("recovered", "finished".to_owned())), "{error}");
    assert!(error.to_string().ends_with("before that an interrupted restore was ended"), "{error}");
    assert_eq!(told.lock().unwrap().unwrap(), Far { recovered: Some("finished"), ..Far::default() });
    place.undo(far.undo.unwrap());
    same(&place.tree(), &before);
}

/// C8: the texts do not contradict one another.
#[test]
fn a_deadline_before_the_first_write_says_so() {
    let (place, first, before) = scene();
    let late = Context { deadline: Some(Instant::now()), ..Context::default() };
    let error = place.manager.rollback(first, exact(), &late).unwrap_err();
    assert_eq!(error.code(), Code::TimedOut);
    assert!(error.advice().contains("nothing was written to the workspace"), "{error}");
    same(&place.tree(), &before);
}

/// C16: whoever has no room for the checkpoint that undoes it hears that it can be done without.
#[test]
fn no_room_for_what_undoes_it() {
    let place = Place::default();
    let small = |store: &std::path::Path| {
        turnback_engine::Manager::open(turnback_engine::OpenOptions {
            store: turnback_engine::StoreLocation::Path(store.to_owned()),
            max_bytes: Some(1 << 20),
            ..turnback_engine::OpenOptions::default()
        })
        .unwrap()
    };
    place.write("a", "then");
    let manager = small(&place.store());
    let ctx = Context::default();
    let first = manager.create(&place.root(), request(), &ctx).unwrap().checkpoint_id;
    place.write("a", crate::common::place::noise(1, 900_000));
    let error = manager.rollback(first, exact(), &ctx).unwrap_err();
    assert_eq!(error.code(), Code::StoreFull);
    assert!(error.advice().contains("`safety: false`, --no-safety"), "{error}");
    manager.rollback(first, RollbackRequest { safety: false, ..exact() }, &ctx).unwrap();
    assert_eq!(fs::read(place.at("a")).unwrap(), b"then");
}
