//! Changes that leave bytes and sizes as they are, each on an aged tree with a warm stat cache (C6, C7).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use turnback_engine::{ChangeKind, Context, DiffTo};

use crate::common::everything::{chmod, set_mtime, set_xattr};
use crate::common::picture::same;
use crate::common::place::{Place, is_root, let_timestamps_age};

/// Takes a checkpoint, makes one change, and expects it in the diff, in the next checkpoint and in the rollback.
fn seen(path: &str, kind: Option<ChangeKind>, change: impl Fn(&Path)) {
    let place = Place::default();
    place.write("d/file", "same bytes");
    place.write("d/other", "same bytes");
    place.write("d/sub/x", "x");
    fs::hard_link(place.at("d/file"), place.at("partner")).unwrap();
    let_timestamps_age(&place);
    place.create();
    let first = place.create().checkpoint_id;
    let before = place.tree();
    change(&place.root());
    let after = place.tree();
    assert_ne!(before, after, "the change is one");
    let now = place.manager.diff(first, DiffTo::Now, &Context::default()).unwrap();
    let second = place.create().checkpoint_id;
    let stored = place.manager.diff(first, DiffTo::Checkpoint(second), &Context::default()).unwrap();
    assert_eq!(now, stored);
    let found = stored.iter().find(|c| c.path.to_string() == path).map(|c| c.kind);
    assert_eq!(found, kind, "{stored:?}");
    place.rollback(first);
    same(&place.tree(), &before);
    place.rollback(second);
    same(&place.tree(), &after);
}

#[test]
fn a_directory_s_mode() {
    seen("d/sub", Some(ChangeKind::Metadata), |root| chmod(&root.join("d/sub"), 0o700));
}

#[test]
fn a_directory_s_mtime() {
    // Not shown in a diff, and still put back.
    seen("d/sub", None, |root| set_mtime(&root.join("d/sub"), 77, 7));
}

#[test]
fn the_root_s_mode() {
    seen("", Some(ChangeKind::Metadata), |root| chmod(root, 0o711));
}

#[test]
fn an_extended_attribute() {
    let probe = tempfile::tempdir().unwrap();
    if !set_xattr(probe.path(), "user.x", b"1") {
        return crate::common::process::skip("no extended attributes on this file system");
    }
    seen("d/file", Some(ChangeKind::Metadata), |root| {
        assert!(set_xattr(&root.join("d/file"), "user.x", b"1"))
    });
    seen("d", Some(ChangeKind::Metadata), |root| assert!(set_xattr(&root.join("d"), "user.x", b"1")));
    seen("", Some(ChangeKind::Metadata), |root| assert!(set_xattr(root, "user.x", b"1")));
}

#[test]
fn an_mtime_set_back() {
    seen("d/other", Some(ChangeKind::Metadata), |root| set_mtime(&root.join("d/other"), 5, 5));
}

#[test]
fn a_hard_link_in_place_of_an_equal_file() {
    seen("d/other", Some(ChangeKind::Metadata), |root| {
        let mtime = fs::metadata(root.join("d/other")).unwrap();
        fs::remove_file(root.join("d/other")).unwrap();
        fs::hard_link(root.join("d/file"), root.join("d/other")).unwrap();
        set_mtime(&root.join("d/other"), mtime.mtime(), mtime.mtime_nsec());
    });
}

#[test]
fn a_file_of_its_own_in_place_of_a_hard_link() {
    seen("partner", Some(ChangeKind::Metadata), |root| {
        let stat = fs::metadata(root.join("partner")).unwrap();
        fs::remove_file(root.join("partner")).unwrap();
        fs::write(root.join("partner"), "same bytes").unwrap();
        set_mtime(&root.join("partner"), stat.mtime(), stat.mtime_nsec());
    });
}

#[test]
fn an_owner() {
    if !is_root() {
        return crate::common::process::skip("only root changes owners");
    }
    seen("d/file", Some(ChangeKind::Metadata), |root| {
        std::os::unix::fs::chown(root.join("d/file"), Some(12), Some(34)).unwrap();
    });
    seen("d/sub", Some(ChangeKind::Metadata), |root| {
        std::os::unix::fs::chown(root.join("d/sub"), None, Some(34)).unwrap();
    });
}

#[test]
fn same_size_and_same_mtime() {
    seen("d/other", Some(ChangeKind::Modified), |root| {
        let stat = fs::metadata(root.join("d/other")).unwrap();
        fs::write(root.join("d/other"), "SAME bytes").unwrap();
        set_mtime(&root.join("d/other"), stat.mtime(), stat.mtime_nsec());
    });
}

#[test]
fn a_directory_in_place_of_another() {
    seen("d/sub/x", Some(ChangeKind::Modified), |root| {
        fs::create_dir(root.join("new")).unwrap();
        fs::write(root.join("new/x"), "y").unwrap();
        let stat = fs::metadata(root.join("d/sub/x")).unwrap();
        set_mtime(&root.join("new/x"), stat.mtime(), stat.mtime_nsec());
        fs::remove_dir_all(root.join("d/sub")).unwrap();
        fs::rename(root.join("new"), root.join("d/sub")).unwrap();
    });
}

/// A directory whose time alone differs is restored; neither a comparison nor a plan lists it, and the plan says how many there are.
#[test]
fn only_the_time_of_a_directory() {
    let place = Place::default();
    place.write("d/f", "1");
    crate::common::everything::set_mtime(&place.at("d"), 7, 7);
    let id = place.create().checkpoint_id;
    let then = place.tree();
    crate::common::everything::set_mtime(&place.at("d"), 8, 8);
    let ctx = turnback_engine::Context::default();
    assert_eq!(place.manager.diff(id, turnback_engine::DiffTo::Now, &ctx).unwrap(), []);
    let dry = turnback_engine::RollbackRequest { dry_run: true, ..crate::common::place::exact() };
    let report = place.manager.rollback(id, dry.clone(), &ctx).unwrap();
    assert_eq!((report.actions, report.restamped), (Vec::new(), 1));
    let report = place.rollback(id);
    assert_eq!((report.written, report.restamped), (0, 1));
    crate::common::picture::same(&place.tree(), &then);
    assert_eq!(place.manager.rollback(id, dry, &ctx).unwrap().restamped, 0);
}
