//! Paths that changed on both sides: listed, and never overwritten unless that was asked for (C15, F10).

use std::fs;
use std::os::unix::fs::symlink;

use turnback_core::CheckpointId;
use turnback_engine::{Code, OnConflict, RevertRequest};

use super::revert_support::{conflicts, exact, ours, revert, theirs, try_revert, with, with_meta};
use crate::common::everything::{chmod, set_xattr};
use crate::common::picture::{Tree, same};
use crate::common::place::Place;

/// A turn that changed `a` and `b`; the user changed `a` since.
fn both_changed(place: &Place) -> (CheckpointId, CheckpointId, Tree) {
    place.write("a", "before");
    place.write("b", "before");
    let (before, from) = (place.tree(), place.create().checkpoint_id);
    place.write("a", "by the turn");
    place.write("b", "by the turn");
    let to = place.create().checkpoint_id;
    place.write("a", "mine, and longer");
    (from, to, before)
}

#[test]
fn any_conflict_means_that_nothing_is_written() {
    let place = Place::default();
    let (from, to, _) = both_changed(&place);
    let (now, store) = (place.tree(), place.store_files());
    for dry_run in [true, false] {
        let request = RevertRequest { dry_run, ..exact() };
        let report = try_revert(&place, from, to, request).unwrap();
        assert_eq!(conflicts(&report), ["a"]);
        assert_eq!(report.conflicts[0].ours, "a file of 16 bytes");
        assert_eq!(report.conflicts[0].theirs, "a file of 6 bytes");
        assert_eq!((report.restored, report.written, report.deleted), (false, 0, 0));
        assert_eq!((report.actions, report.undo_checkpoint_id), (vec![], None));
        same(&place.tree(), &now);
    }
    assert_eq!(place.ids(), [from, to], "no checkpoint of something that did not happen");
    let ids = |files: &std::collections::BTreeSet<(std::path::PathBuf, u64, u64)>| files.len();
    assert_eq!(ids(&place.store_files()), ids(&store));
    place.tmp_is_empty();
}

#[test]
fn ours_keeps_the_conflicting_path_and_reverts_the_rest() {
    let place = Place::default();
    let (from, to, before) = both_changed(&place);
    let now = place.tree();
    let report = revert(&place, from, to, ours());
    assert_eq!(conflicts(&report), ["a"]);
    same(&place.tree(), &with(&before, &now, &["a"]));
    place.undo(report.undo_checkpoint_id.unwrap());
    same(&place.tree(), &now);
}

#[test]
fn theirs_takes_the_checkpoint_s_state_and_can_be_undone() {
    let place = Place::default();
    let (from, to, before) = both_changed(&place);
    place.write("new", "mine");
    let now = place.tree();
    let report = revert(&place, from, to, theirs());
    assert_eq!(conflicts(&report), ["a"]);
    same(&place.tree(), &with(&with_meta(&before, &now, &[""]), &now, &["new"]));
    place.undo(report.undo_checkpoint_id.unwrap());
    same(&place.tree(), &now);
}

/// Every way in which both can have changed one path: the state before, what the turn did, what happened since.
#[test]
fn every_kind_of_conflict() {
    type Make = fn(&Place);
    let nothing: Make = |_| {};
    let cases: [(&str, Make, Make, Make, &str, &str); 13] = [
        (
            "edited, edited",
            |p| p.write("p", "1"),
            |p| p.write("p", "22"),
            |p| p.write("p", "333"),
            "a file of 3 bytes",
            "a file of 1 byte",
        ),
        (
            "edited, deleted",
            |p| p.write("p", "1"),
            |p| p.write("p", "22"),
            |p| gone(p),
            "nothing",
            "a file of 1 byte",
        ),
        (
            "deleted, made anew",
            |p| p.write("p", "1"),
            |p| gone(p),
            |p| p.write("p", "22"),
            "a file of 2 bytes",
            "a file of 1 byte",
        ),
        (
            "made, edited",
            nothing,
            |p| p.write("p", "1"),
            |p| p.write("p", "22"),
            "a file of 2 bytes",
            "nothing",
        ),
        (
            "made, retyped",
            nothing,
            |p| p.write("p", "1"),
            |p| {
                gone(p);
                link(p, "x")
            },
            "a link to `x`",
            "nothing",
        ),
        (
            "retargeted twice",
            |p| link(p, "1"),
            |p| {
                gone(p);
                link(p, "2")
            },
            |p| {
                gone(p);
                link(p, "3\n")
            },
            "a link to `3\\n`",
            "a link to `1`",
        ),
        (
            "mode and mode",
            |p| mode(p, 0o600),
            |p| mode(p, 0o640),
            |p| mode(p, 0o644),
            "a file of 1 byte, mode 0644",
            "a file of 1 byte, mode 0600",
        ),
        (
            "mode, edited",
            |p| mode(p, 0o600),
            |p| mode(p, 0o640),
            |p| p.write("p", "22"),
            "a file of 2 bytes, mode 0640",
            "a file of 1 byte, mode 0600",
        ),
        (
            "deleted, a directory since",
            |p| p.write("p", "1"),
            |p| gone(p),
            |p| p.write("p/x", "x"),
            "a directory",
            "a file of 1 byte",
        ),
        (
            "a file for a directory, edited",
            |p| p.write("p/x", "x"),
            |p| {
                gone(p);
                p.write("p", "1")
            },
            |p| p.write("p", "22"),
            "a file of 2 bytes",
            "a directory",
        ),
        (
            "a directory for a file, more in it",
            |p| p.write("p", "1"),
            |p| {
                gone(p);
                p.write("p/x", "x")
            },
            |p| p.write("p/y", "y"),
            "a directory",
            "a file of 1 byte",
        ),
        (
            "a directory for a file, renamed in it",
            |p| p.write("p", "1"),
            |p| {
                gone(p);
                p.write("p/x", "x");
            },
            |p| fs::rename(p.at("p/x"), p.at("p/y")).unwrap(),
            "a directory",
            "a file of 1 byte",
        ),
        (
            "a directory for a file, gone",
            |p| p.write("p", "1"),
            |p| {
                gone(p);
                p.write("p/x", "x")
            },
            |p| gone(p),
            "nothing",
            "a file of 1 byte",
        ),
    ];
    for (case, first, turn, since, ours_words, theirs_words) in cases {
        let place = Place::in_memory();
        place.write("other", "1");
        first(&place);
        let (before, from) = (place.tree(), place.create().checkpoint_id);
        turn(&place);
        place.write("other", "2");
        let to = place.create().checkpoint_id;
        since(&place);
        let now = place.tree();
        let failed = try_revert(&place, from, to, exact()).unwrap();
        assert_eq!(conflicts(&failed), ["p"], "{case}");
        assert_eq!(
            (&*failed.conflicts[0].ours, &*failed.conflicts[0].theirs),
            (ours_words, theirs_words),
            "{case}"
        );
        same(&place.tree(), &now);
        let kept = revert(&place, from, to, ours());
        same(&place.tree().without(&[""]), &with(&before, &now, &["p"]).without(&[""]));
        place.undo(kept.undo_checkpoint_id.unwrap());
        same(&place.tree(), &now);
        let taken = revert(&place, from, to, theirs());
        assert_eq!(conflicts(&taken), ["p"], "{case}");
        same(&place.tree().without(&[""]), &before.without(&[""]));
        place.undo(taken.undo_checkpoint_id.unwrap());
        same(&place.tree(), &now);
    }
}

fn gone(place: &Place) {
    let path = place.at("p");
    if path.is_dir() && !path.is_symlink() {
        fs::remove_dir_all(path).unwrap();
    } else {
        fs::remove_file(path).unwrap();
    }
}

fn link(place: &Place, target: &str) {
    symlink(target, place.at("p")).unwrap();
}

fn mode(place: &Place, mode: u32) {
    if !place.at("p").exists() {
        place.write("p", "1");
    }
    chmod(&place.at("p"), mode);
}

#[test]
fn nothing_beneath_a_conflicting_directory_is_touched() {
    // The turn made a directory of a file; something was added in it since. Its other files stay, whatever the turn did to them.
    let place = Place::default();
    place.write("p", "1");
    let from = place.create().checkpoint_id;
    gone(&place);
    place.write("p/by-the-turn", "1");
    place.write("p/deep/by-the-turn", "1");
    let to = place.create().checkpoint_id;
    place.write("p/deep/mine", "1");
    let now = place.tree();
    let report = revert(&place, from, to, ours());
    assert_eq!(conflicts(&report), ["p"]);
    same(&place.tree(), &now);
    // F44, the other way: the turn deleted a directory's file, and the directory is a link now.
    let place = Place::default();
    place.write("d/x", "1");
    let out = place.dir.path().join("out");
    fs::create_dir(&out).unwrap();
    let from = place.create().checkpoint_id;
    fs::remove_file(place.at("d/x")).unwrap();
    let to = place.create().checkpoint_id;
    fs::remove_dir(place.at("d")).unwrap();
    symlink(&out, place.at("d")).unwrap();
    let report = revert(&place, from, to, ours());
    assert_eq!(conflicts(&report), ["d"]);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0, "nothing is written through a link");
    revert(&place, from, to, theirs());
    assert_eq!(fs::read(place.at("d/x")).unwrap(), b"1");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
}

#[test]
fn the_metadata_of_directories_is_merged_field_by_field() {
    let place = Place::default();
    for path in ["d/x", "e/x", "f/x"] {
        place.write(path, "1");
    }
    for path in ["d", "e", "f"] {
        chmod(&place.at(path), 0o700);
    }
    let from = place.create().checkpoint_id;
    for path in ["d", "e", "f"] {
        chmod(&place.at(path), 0o750);
    }
    let to = place.create().checkpoint_id;
    // Another field, the same field, and the state of before.
    let has_attributes = set_xattr(&place.at("d"), "user.mine", b"1");
    chmod(&place.at("e"), 0o755);
    chmod(&place.at("f"), 0o700);
    let now = place.tree();
    let report = try_revert(&place, from, to, exact()).unwrap();
    assert_eq!(conflicts(&report), ["e"]);
    assert_eq!(report.conflicts[0].ours, "a directory, mode 0755");
    assert_eq!(report.conflicts[0].theirs, "a directory, mode 0700");
    revert(&place, from, to, ours());
    let tree = place.tree();
    assert_eq!(tree.0[&b"d"[..]].mode, 0o700);
    assert_eq!(tree.0[&b"d"[..]].xattrs.len(), usize::from(has_attributes), "mine");
    assert_eq!(tree.0[&b"e"[..]], now.0[&b"e"[..]]);
    revert(&place, from, to, theirs());
    assert_eq!(place.tree().0[&b"e"[..]].mode, 0o700);
}

#[test]
fn a_directory_that_the_turn_made_and_that_got_another_mode() {
    let place = Place::default();
    place.write("a", "1");
    let from = place.create().checkpoint_id;
    place.write("d/x", "1");
    let to = place.create().checkpoint_id;
    chmod(&place.at("d"), 0o700);
    let report = revert(&place, from, to, ours());
    assert_eq!(conflicts(&report), ["d"]);
    assert!(place.at("d").is_dir() && !place.at("d/x").exists());
    place.undo(report.undo_checkpoint_id.unwrap());
    revert(&place, from, to, theirs());
    assert!(!place.at("d").exists());
}

#[test]
fn the_ways_to_deal_with_conflicts_by_name() {
    for one in [OnConflict::Fail, OnConflict::Ours, OnConflict::Theirs] {
        assert_eq!(one.as_str().parse::<OnConflict>().unwrap(), one);
    }
    assert_eq!("Fail\n".parse::<OnConflict>().unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(OnConflict::default(), OnConflict::Fail);
}
