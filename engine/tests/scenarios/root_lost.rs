//! The root deleted, recreated, replaced (C5, input 5).

use std::fs;

use turnback_engine::{Code, Context, RollbackRequest};

use crate::common::everything::{build, lose};
use crate::common::picture::same;
use crate::common::place::{Place, code, exact};

#[test]
fn a_deleted_root_is_recreated_again_and_again() {
    let place = Place::default();
    build(&place.root(), place.dir.path());
    let before = place.tree();
    let first = place.create().checkpoint_id;
    for round in 0..3 {
        lose(&place.root());
        let report = place.rollback(first);
        assert!(report.root_recreated, "round {round}");
        assert_eq!(report.undo_checkpoint_id, None);
        // The hard link that reached outside has an inode of its own now; its other name is no part of the picture.
        same(&place.tree(), &before);
        // The new root counts as the same workspace: no `WORKSPACE_REPLACED`, and checkpoints go on.
        place.write("more", format!("{round}"));
        let again = place.create().checkpoint_id;
        let report = place.rollback(first);
        same(&place.tree(), &before);
        assert!(!report.root_recreated);
        place.rollback(again);
        assert_eq!(fs::read(place.at("more")).unwrap(), format!("{round}").as_bytes());
    }
}

#[test]
fn a_replaced_root_is_refused() {
    let place = Place::default();
    place.write("a", "1");
    let id = place.create().checkpoint_id;
    // The old directory stays alive, so that its inode number cannot be used again.
    fs::rename(place.root(), place.dir.path().join("old")).unwrap();
    fs::create_dir(place.root()).unwrap();
    place.write("precious", "somebody else's");
    let before = place.tree();
    let files = place.store_files();
    let refused = place.manager.rollback(id, exact(), &Context::default());
    assert_eq!(code(refused), Code::WorkspaceReplaced);
    same(&place.tree(), &before);
    assert_eq!(place.store_files(), files, "nothing was stored either");

    let allowed = RollbackRequest { allow_replaced_root: true, ..exact() };
    let report = place.manager.rollback(id, allowed, &Context::default()).unwrap();
    assert!(!place.at("precious").exists());
    place.manager.undo(report.undo_checkpoint_id.unwrap(), &Context::default()).unwrap();
    same(&place.tree(), &before);
}

#[test]
fn a_root_that_became_something_else_is_refused() {
    let place = Place::default();
    place.write("a", "1");
    let id = place.create().checkpoint_id;
    fs::rename(place.root(), place.dir.path().join("old")).unwrap();
    fs::write(place.root(), "a file").unwrap();
    assert_eq!(code(place.manager.rollback(id, exact(), &Context::default())), Code::NotADirectory);
    fs::remove_file(place.root()).unwrap();
    std::os::unix::fs::symlink(place.dir.path().join("old"), place.root()).unwrap();
    let refused = code(place.manager.rollback(id, exact(), &Context::default()));
    assert_eq!(refused, Code::WorkspaceReplaced);
    assert_eq!(fs::read(place.dir.path().join("old/a")).unwrap(), b"1");
}

#[test]
fn a_target_that_is_not_empty_is_refused() {
    let place = Place::default();
    place.write("a", "1");
    let id = place.create().checkpoint_id;
    let into = place.dir.path().join("into");
    fs::create_dir(&into).unwrap();
    fs::write(into.join("b"), "2").unwrap();
    let request = RollbackRequest { into: Some(into.clone()), ..exact() };
    assert_eq!(code(place.manager.rollback(id, request, &Context::default())), Code::Conflict);
    assert_eq!(code(place.manager.export(id, &into, &Context::default())), Code::Conflict);
    assert_eq!(fs::read(into.join("b")).unwrap(), b"2");
    assert!(!into.join("a").exists());
}
