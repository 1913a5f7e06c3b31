//! Labels and pins of checkpoints that are there already (C1, C9, input 36).

use std::fs;

use turnback_core::CheckpointId;
use turnback_engine::store::{FileLock, Layout, LockKind, Patience, share_store};
use turnback_engine::{Code, Context, LostMark, MAX_LABEL_BYTES, PruneRequest};

use crate::common::place::{Place, code, open, request};

fn marks(place: &Place, id: CheckpointId) -> (Option<String>, bool) {
    let listed = open(&place.store()).unwrap().list(None).unwrap();
    let one = listed.checkpoints.into_iter().find(|c| c.checkpoint.checkpoint_id == id).unwrap();
    (one.label, one.pinned)
}

#[test]
fn a_label_is_data() {
    let place = Place::default();
    let id = place.create().checkpoint_id;
    let record =
        std::fs::read(place.store().join("checkpoints").join(id.to_string()).join("record")).unwrap();
    for label in ["a\nb", "{\"pinned\":true}", "# /* -- */", "\u{202e}x\u{1b}[31m", "", &"é".repeat(100)] {
        place.manager.set_label(id, Some(label)).unwrap();
        assert_eq!(marks(&place, id), (Some(label.to_owned()), false));
    }
    let long = "x".repeat(MAX_LABEL_BYTES + 1);
    assert_eq!(code(place.manager.set_label(id, Some(&long))), Code::InvalidArgument);
    let mut asked = request();
    asked.label = Some(long);
    assert_eq!(code(place.try_create(asked)), Code::InvalidArgument);
    place.manager.set_pinned(id, true).unwrap();
    assert_eq!(marks(&place, id), (Some("é".repeat(100)), true), "one does not undo the other");
    place.manager.set_label(id, None).unwrap();
    assert_eq!(marks(&place, id), (None, true));
    place.manager.set_pinned(id, false).unwrap();
    assert_eq!(marks(&place, id), (None, false));
    place.manager.set_pinned(id, false).unwrap();
    let now = std::fs::read(place.store().join("checkpoints").join(id.to_string()).join("record")).unwrap();
    assert_eq!(now, record, "the record never changes");
    place.verify_is_clean();
    place.tmp_is_empty();
}

#[test]
fn unknown_ids() {
    let place = Place::default();
    place.create();
    let unknown = CheckpointId::from_bytes([1; 16]);
    assert_eq!(code(place.manager.set_label(unknown, Some("x"))), Code::NotFound);
    assert_eq!(code(place.manager.set_pinned(unknown, true)), Code::NotFound);
}

#[test]
fn a_pin_that_comes_while_a_prune_waits_is_heard() {
    // P8: the rules are applied beside others, and what they chose goes when the store is held alone. A pin that was acknowledged in
    // between has to hold.
    let place = Place::default();
    let made: Vec<_> = (0..4)
        .map(|n| {
            place.write("a", n.to_string());
            place.create().checkpoint_id
        })
        .collect();
    let (layout, ctx) = (Layout::new(fs::canonicalize(place.store()).unwrap()), Context::default());
    let reader = share_store(&layout, Patience::Try, &ctx).unwrap();
    let report = std::thread::scope(|scope| {
        let prune = scope.spawn(|| {
            let request = PruneRequest { keep_last: Some(1), ..PruneRequest::default() };
            open(&place.store()).unwrap().prune(request, &Context::default()).unwrap()
        });
        // It wants the store alone: the rules are applied.
        while FileLock::acquire(&layout.door(), LockKind::Shared, Patience::Try, &ctx).is_ok() {
            std::thread::yield_now();
        }
        place.manager.set_pinned(made[1], true).unwrap();
        drop(reader);
        prune.join().unwrap()
    });
    assert_eq!(report.deleted, [made[0], made[2]]);
    assert_eq!(place.ids(), [made[1], made[3]]);
    assert_eq!(marks(&place, made[1]), (None, true));
    place.verify_is_clean();
}

/// P7: damaged marks are shown, count as pinned, and can be written anew; the answer says what was lost.
#[test]
fn damaged_marks_are_written_anew() {
    let place = Place::default();
    let id = place.create().checkpoint_id;
    let file = place.store().join("checkpoints").join(id.to_string()).join("marks");
    let listed = |place: &Place| place.manager.list(None).unwrap().checkpoints.pop().unwrap();
    let damage = || {
        place.manager.set_label(id, Some("mine")).unwrap();
        place.manager.set_pinned(id, true).unwrap();
        let sound = std::fs::read(&file).unwrap();
        std::fs::write(&file, &sound[..sound.len() - 1]).unwrap();
        let one = listed(&place);
        assert_eq!((one.label, one.pinned), (None, true));
        let why = one.marks_damaged.unwrap();
        assert!(!why.contains("turnback verify"), "{why}");
        assert_eq!(place.manager.verify(Some(id), &Context::default()).unwrap().damaged[0].reason, why);
    };
    damage();
    assert_eq!(place.manager.set_label(id, Some("new")).unwrap(), Some(LostMark::Pin));
    assert_eq!(marks(&place, id), (Some("new".to_owned()), true));
    damage();
    assert_eq!(place.manager.set_label(id, None).unwrap(), Some(LostMark::Pin));
    assert_eq!(marks(&place, id), (None, true));
    damage();
    // Even to what it counts as already.
    assert_eq!(place.manager.set_pinned(id, true).unwrap(), Some(LostMark::Label));
    assert_eq!(marks(&place, id), (None, true));
    damage();
    assert_eq!(place.manager.set_pinned(id, false).unwrap(), Some(LostMark::Label));
    assert_eq!(marks(&place, id), (None, false));
    assert_eq!(listed(&place).marks_damaged, None);
    place.verify_is_clean();
}

/// P7: what lies where label and pin belong and is no file is damage as well, and nothing in it is touched.
#[test]
fn a_directory_in_the_place_of_the_marks() {
    let place = Place::default();
    let id = place.create().checkpoint_id;
    let there = place.store().join("checkpoints").join(id.to_string()).join("marks");
    fs::create_dir(&there).unwrap();
    fs::write(there.join("mine"), "mine").unwrap();
    let listed = place.manager.list(None).unwrap().checkpoints.pop().unwrap();
    assert!(listed.pinned && listed.marks_damaged.is_some());
    let changes = [
        place.manager.set_label(id, Some("new")),
        place.manager.set_pinned(id, true),
        place.manager.set_pinned(id, false),
    ];
    for changed in changes {
        let error = changed.unwrap_err();
        assert_eq!(error.code(), Code::Corrupt, "{error}");
        assert!(error.to_string().contains(there.to_str().unwrap()), "{error}");
        assert!(error.advice().contains("move the directory out of the store"), "{error}");
    }
    place.tmp_is_empty();
    fs::rename(&there, place.dir.path().join("away")).unwrap();
    assert_eq!(fs::read(place.dir.path().join("away/mine")).unwrap(), b"mine");
    assert_eq!(place.manager.set_label(id, Some("new")).unwrap(), None);
}
