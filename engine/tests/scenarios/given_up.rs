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
    assert!(error.to_string().contains("of what was asked nothing was written"), "{error}");
    assert!(error.to_string().ends_with("was carried out to its end"), "{error}");
    assert!(!has(&error, "pending") && !has(&error, "begun"), "{error}");
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
    let said: Vec<_> = error.details().iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert!(said.contains(&("pending", "false")) && said.contains(&("begun", "false")), "{said:?}");
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

/// Where the journal of an interrupted rollback is.
fn journal(place: &Place) -> std::path::PathBuf {
    let id = place.manager.sandbox_id_of(&place.root()).unwrap();
    place.store().join("workspaces").join(id.as_str()).join("journal")
}

/// A workspace whose rollback was interrupted.
fn interrupted() -> (Place, turnback_core::CheckpointId) {
    let (place, first, _) = scene();
    let (ctx, _) = given_up_in("apply", true);
    let error = place.manager.rollback(first, exact(), &ctx).unwrap_err();
    assert!(has(&error, "pending"), "{error}");
    (place, first)
}

/// What ends an interrupted restore.
type Ends = fn(&Place, &Context) -> turnback_engine::Result<()>;

const ENDS: [(&str, Ends); 4] = [
    ("recover", |place, ctx| place.manager.recover(&place.root(), ctx).map(drop)),
    ("abandon", |place, ctx| place.manager.abandon(&place.root(), ctx).map(drop)),
    ("create", |place, ctx| place.manager.create(&place.root(), request(), ctx).map(drop)),
    ("rollback", |place, ctx| {
        let first = place.manager.list(None)?.checkpoints[0].checkpoint.checkpoint_id;
        place.manager.rollback(first, exact(), ctx).map(drop)
    }),
];

/// Contexts of those who do not wait any more: they gave it up, cancelled it, or set a limit that has passed.
fn over() -> [(&'static str, Context, Code); 3] {
    let (given_up, cancelled) = (Context::default(), Context::default());
    assert_eq!(given_up.reached.give_up(), Far::default());
    assert!(cancelled.cancel.cancel());
    let late = Context { deadline: Some(Instant::now()), ..Context::default() };
    [
        ("given up", given_up, Code::Aborted),
        ("cancelled", cancelled, Code::Aborted),
        ("late", late, Code::TimedOut),
    ]
}

/// C8, C12: what was told to wait on does: whoever gave a call up that was to end it finds it as they were told.
#[test]
fn nothing_is_ended_after_the_answer() {
    type Change = fn(&Place);
    let ways: [(&str, Change); 4] = [
        ("as it was", |_| {}),
        ("a damaged journal", |place| fs::write(journal(place), "no journal").unwrap()),
        ("no root", |place| fs::remove_dir_all(place.root()).unwrap()),
        ("another root", |place| {
            fs::rename(place.root(), place.dir.path().join("away")).unwrap();
            fs::create_dir(place.root()).unwrap();
            fs::write(place.at("mine"), "mine").unwrap();
        }),
    ];
    for (found, change) in ways {
        let (place, _) = interrupted();
        change(&place);
        let there = fs::read(journal(&place)).unwrap();
        // Others look at the root first.
        let calls = if place.root().join("d0").is_dir() { &ENDS[..] } else { &ENDS[..2] };
        for (call, end) in calls {
            for (how, ctx, code) in over() {
                let error = end(&place, &ctx).unwrap_err();
                assert_eq!(error.code(), code, "{call}, {found}, {how}: {error}");
                assert_eq!(fs::read(journal(&place)).unwrap(), there, "{call}, {found}, {how}");
                assert!(has(&error, "pending"), "{call}, {found}, {how}: {error}");
            }
        }
        assert_eq!(place.manager.pending().unwrap().len(), 1, "{found}");
        place.manager.abandon(&place.root(), &Context::default()).unwrap();
        assert_eq!(place.manager.pending().unwrap(), [], "{found}");
    }
}

/// C8: a restore of which everything is in its place waits on where its caller was told so in the last moment, and is found to be done.
#[test]
fn what_was_told_to_wait_at_the_end_waits() {
    let (place, _) = interrupted();
    let bytes = fs::read(journal(&place)).unwrap();
    place.manager.recover(&place.root(), &Context::default()).unwrap();
    let whole = place.tree();
    fs::write(journal(&place), bytes).unwrap();
    let given_up = Context::default();
    assert_eq!(given_up.reached.give_up(), Far::default());
    let error = place.manager.recover(&place.root(), &given_up).unwrap_err();
    assert!(has(&error, "pending"), "{error}");
    assert_eq!(place.manager.pending().unwrap().len(), 1);
    let report = place.manager.recover(&place.root(), &Context::default()).unwrap().unwrap();
    assert_eq!((report.written, report.deleted, report.not_restorable), (0, 0, Vec::new()));
    same(&place.tree(), &whole);
}
