//! List, get, diff, read, export, labels, coverage: what they answer (C1, C9, F54, inputs 36, 56).

use std::fs;

use turnback_core::Phase;
use turnback_engine::{ChangeKind, Code, Context, CreateRequest, DiffTo, Reason};

use crate::common::everything::{NAMES, fifo, os};
use crate::common::place::{Place, code, let_timestamps_age, noise, rel, request};

#[test]
fn records_say_what_was_asked_for() {
    let place = Place::default();
    place.write("a", "12345");
    let mut asked = CreateRequest::new("plan-7".parse().unwrap(), Phase::PreExecute);
    asked.metadata.insert("status".to_owned(), "line\nbreak \"quoted\" \u{202e}".to_owned());
    asked.label = Some("{\"json\": \"\n\"}".to_owned());
    let made = place.try_create(asked.clone()).unwrap();
    assert_eq!(made.phase, Phase::PreExecute);
    assert_eq!(made.plan_id.as_str(), "plan-7");
    assert_eq!(made.metadata, asked.metadata);
    assert_eq!(made.sandbox_id, place.manager.sandbox_id_of(&place.root()).unwrap());
    assert_eq!((made.coverage.files, made.coverage.bytes, made.coverage.complete), (2, 5, true));
    assert!(made.snapshot_path.is_dir());
    let listing = place.manager.list(Some(&made.sandbox_id)).unwrap();
    assert_eq!(listing.checkpoints.len(), 1);
    assert_eq!(listing.checkpoints[0].checkpoint, made);
    assert_eq!(listing.checkpoints[0].label, asked.label);
    assert_eq!(place.manager.get(made.checkpoint_id).unwrap(), Some(made.clone()));

    place.manager.set_pinned(made.checkpoint_id, true).unwrap();
    place.manager.set_label(made.checkpoint_id, None).unwrap();
    let listed = &place.manager.list(None).unwrap().checkpoints[0];
    assert_eq!((listed.label.clone(), listed.pinned), (None, true));
    assert_eq!(listed.checkpoint, made, "the record itself is frozen");

    let other = place.dir.path().join("other");
    fs::create_dir(&other).unwrap();
    let theirs = place.manager.create(&other, request(), &Context::default()).unwrap();
    assert_eq!(place.manager.list(Some(&made.sandbox_id)).unwrap().checkpoints.len(), 1);
    assert_eq!(place.manager.list(None).unwrap().checkpoints.len(), 2);
    let mismatch =
        place.manager.diff(made.checkpoint_id, DiffTo::Checkpoint(theirs.checkpoint_id), &Context::default());
    assert_eq!(code(mismatch), Code::WorkspaceMismatch);
    assert_eq!(code(place.manager.undo(made.checkpoint_id, &Context::default())), Code::NotUndoable);
}

#[test]
fn what_is_too_long_for_a_record_is_refused() {
    let place = Place::default();
    place.write("a", "1");
    let files = place.store_files();
    let mut asked = request();
    asked.metadata.insert("k".to_owned(), "v".repeat(20 << 20));
    assert_eq!(code(place.try_create(asked)), Code::InvalidArgument);
    let mut asked = request();
    asked.label = Some("l".repeat(20 << 20));
    assert_eq!(code(place.try_create(asked)), Code::InvalidArgument);
    assert_eq!(place.ids(), []);
    place.tmp_is_empty();
    assert!(place.store_files().len() <= files.len() + 2, "only lock files are new");
    let id = place.create().checkpoint_id;
    assert_eq!(code(place.manager.set_label(id, Some(&"l".repeat(20 << 20)))), Code::InvalidArgument);
    assert_eq!(place.manager.list(None).unwrap().checkpoints[0].label, None);
}

#[test]
fn differences_are_named() {
    let place = Place::default();
    for path in ["changed", "gone", "mode", "typed", "same", "d/same", "moved"] {
        place.write(path, path);
    }
    fs::create_dir(place.at("empty")).unwrap();
    let first = place.create().checkpoint_id;
    place.write("changed", "other bytes");
    fs::remove_file(place.at("gone")).unwrap();
    crate::common::everything::chmod(&place.at("mode"), 0o700);
    fs::remove_file(place.at("typed")).unwrap();
    fs::create_dir(place.at("typed")).unwrap();
    place.write("typed/child", "x");
    fs::rename(place.at("moved"), place.at("moved-to")).unwrap();
    fs::remove_dir(place.at("empty")).unwrap();
    place.write("d/new", "123");
    let shown = |to| -> Vec<(String, ChangeKind)> {
        let changes = place.manager.diff(first, to, &Context::default()).unwrap();
        changes.iter().map(|c| (c.path.to_string(), c.kind)).collect()
    };
    use ChangeKind::{Added, Deleted, Metadata, Modified, TypeChanged};
    let want: Vec<(String, ChangeKind)> = [
        ("changed", Modified),
        ("d/new", Added),
        ("empty", Deleted),
        ("gone", Deleted),
        ("mode", Metadata),
        ("moved", Deleted),
        ("moved-to", Added),
        ("typed", TypeChanged),
        ("typed/child", Added),
    ]
    .map(|(path, kind)| (path.to_owned(), kind))
    .to_vec();
    assert_eq!(shown(DiffTo::Now), want);
    let second = place.create().checkpoint_id;
    assert_eq!(shown(DiffTo::Checkpoint(second)), want);
    assert_eq!(shown(DiffTo::Checkpoint(first)), []);
    let back = place.manager.diff(second, DiffTo::Checkpoint(first), &Context::default()).unwrap();
    assert_eq!(back.len(), want.len());
    assert_eq!(back[1].kind, Deleted);
    assert_eq!(back[1].bytes, Some(3));
    // Now there is nothing at all.
    fs::remove_dir_all(place.root()).unwrap();
    let all = place.manager.diff(first, DiffTo::Now, &Context::default()).unwrap();
    assert!(all.iter().all(|c| c.kind == Deleted));
    assert_eq!(all.len(), 9);
}

#[test]
fn odd_names_are_listed_and_read() {
    // F36.
    let place = Place::default();
    let first = place.create().checkpoint_id;
    for name in NAMES {
        fs::write(place.root().join(os(name)), name).unwrap();
    }
    let second = place.create().checkpoint_id;
    let changes = place.manager.diff(first, DiffTo::Checkpoint(second), &Context::default()).unwrap();
    let mut paths: Vec<_> = changes.iter().map(|c| c.path.as_bytes().to_vec()).collect();
    let mut want: Vec<_> = NAMES.iter().map(|n| n.to_vec()).collect();
    paths.sort();
    want.sort();
    assert_eq!(paths, want);
    for name in NAMES {
        assert_eq!(place.manager.read_file(second, &rel(name)).unwrap(), name);
    }
    let shown: std::collections::BTreeSet<_> = changes.iter().map(|c| c.path.to_string()).collect();
    assert_eq!(shown.len(), NAMES.len(), "no two look alike");
    assert!(shown.iter().all(|s| !s.chars().any(char::is_control)));
}

#[test]
fn only_files_are_read() {
    let place = Place::default();
    place.write("d/f", noise(1, 2_500_000));
    std::os::unix::fs::symlink(place.dir.path().join("outside"), place.at("link")).unwrap();
    fifo(&place.at("pipe"));
    let file = fs::File::create(place.at("sparse")).unwrap();
    file.set_len(3 << 20).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"x", 2 << 20).unwrap();
    let huge = fs::File::create(place.at("huge")).unwrap();
    huge.set_len(8 << 40).unwrap();
    let id = place.create().checkpoint_id;
    assert_eq!(place.read(id, "d/f"), noise(1, 2_500_000));
    assert_eq!(place.read(id, "sparse"), fs::read(place.at("sparse")).unwrap());
    let read = |path: &str| code(place.manager.read_file(id, &rel(path)));
    for path in ["d", "link", "pipe", "", "huge"] {
        assert_eq!(read(path), Code::InvalidArgument, "{path}");
    }
    for path in ["nothing", "d/nothing", "d/f/beneath", "link/passwd"] {
        assert_eq!(read(path), Code::NotFound, "{path}");
    }
    // Input 40: 8 TiB of nothing take no room.
    assert!(place.manager.usage().unwrap().store_bytes < 8 << 20);
    fs::remove_file(place.at("huge")).unwrap();
    place.rollback(id);
    let metadata = fs::metadata(place.at("huge")).unwrap();
    assert_eq!((metadata.len(), std::os::unix::fs::MetadataExt::blocks(&metadata)), (8 << 40, 0));
}

#[test]
fn coverage_lists_a_hundred_and_knows_all() {
    let place = Place::default();
    for i in 0..250 {
        place.write(&format!("f{i:03}"), "large");
    }
    let mut asked = request();
    asked.max_file_bytes = Some(1);
    let_timestamps_age(&place);
    for _ in 0..2 {
        let made = place.try_create(asked.clone()).unwrap();
        assert_eq!(made.coverage.uncovered_count, 250);
        assert_eq!(made.coverage.uncovered.len(), 100);
        let all = place.manager.coverage(made.checkpoint_id).unwrap();
        assert_eq!(all.len(), 250);
        assert!(all.iter().all(|u| u.reason == Reason::TooLarge));
        assert_eq!(all[..100], made.coverage.uncovered);
    }
}
