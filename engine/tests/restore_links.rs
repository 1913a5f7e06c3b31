//! Hard-link groups: afterwards the partition of paths is exactly the checkpoint's (C6).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers fail as tests do: by a panic

mod restore_support;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use restore_support::*;
use turnback_engine::model::Reason;
use turnback_engine::restore::{GitMode, PlanOptions};

/// Makes files and links from words such as `a=b=c d`: `a`, `b` and `c` share an inode.
fn make(place: &Place, groups: &str) {
    for group in groups.split_whitespace() {
        let mut names = group.split('=');
        let first = names.next().unwrap();
        place.write(first, "same bytes everywhere");
        set_mtime(&place.at(first), 5, 5);
        for name in names {
            if let Some((dir, _)) = name.rsplit_once('/') {
                place.mkdir(dir);
            }
            fs::hard_link(place.at(first), place.at(name)).unwrap();
        }
    }
}

fn clear(place: &Place) {
    fs::remove_dir_all(place.root()).unwrap();
    fs::create_dir(place.root()).unwrap();
}

#[test]
fn every_regrouping_of_equal_files_is_taken_back() {
    let partitions = [
        "a b c d", "a=b c d", "a=b=c d", "a=b=c=d", "a=b c=d", "a=c b=d", "a=d b=c", "a c=d b", "b=c=d a",
        "a=b", "c=d a",
    ];
    for then_groups in partitions {
        for now_groups in partitions {
            let place = Place::default();
            make(&place, then_groups);
            let (then, want) = (place.picture(), tree(&place.root()));
            clear(&place);
            make(&place, now_groups);
            // Directory times alike too: only the groups differ.
            let outcome = place.exact(&then, &want);
            assert_eq!(
                outcome.changes.is_empty(),
                then_groups == now_groups,
                "{now_groups} -> {then_groups}"
            );
        }
    }
}

#[test]
fn a_regrouping_that_left_no_other_trace_is_seen() {
    let place = Place::default();
    make(&place, "x/a y/b");
    for path in ["x", "y", ""] {
        set_mtime(&place.at(path), 9, 9);
    }
    let (then, want) = (place.picture(), tree(&place.root()));
    fs::remove_file(place.at("y/b")).unwrap();
    fs::hard_link(place.at("x/a"), place.at("y/b")).unwrap();
    for path in ["x", "y", ""] {
        set_mtime(&place.at(path), 9, 9);
    }
    place.exact(&then, &want);
}

#[test]
fn an_unchanged_group_is_not_touched() {
    let place = Place::default();
    make(&place, "x/a=y/b=z/c other");
    let (then, want) = (place.picture(), tree(&place.root()));
    let inode = fs::metadata(place.at("x/a")).unwrap().ino();
    fs::hard_link(place.at("x/a"), place.at("x/new")).unwrap();
    place.write("other", "changed");
    place.exact(&then, &want);
    assert_eq!(fs::metadata(place.at("y/b")).unwrap().ino(), inode);
}

#[test]
fn groups_cross_into_directories_that_were_deleted_or_became_files() {
    let place = Place::default();
    make(&place, "gone/deep/a=stays/b=c d=gone/e");
    symlink("anywhere", place.at("s1")).unwrap();
    rustix::fs::link(place.at("s1"), place.at("s2")).unwrap();
    place.write("was-file", "same bytes everywhere");
    fs::hard_link(place.at("was-file"), place.at("was-file-too")).unwrap();
    let (then, want) = (place.picture(), tree(&place.root()));
    fs::remove_dir_all(place.at("gone")).unwrap();
    fs::remove_file(place.at("s2")).unwrap();
    symlink("anywhere", place.at("s2")).unwrap();
    fs::remove_file(place.at("was-file")).unwrap();
    place.write("was-file/x", "x");
    place.exact(&then, &want);
}

#[test]
fn a_partner_outside_keeps_its_bytes_and_its_mode() {
    // Input 10: neither content nor metadata may be written through a shared inode.
    let place = Place::default();
    place.write("content", "inside");
    place.write("mode", "inside");
    let (then, want) = (place.picture(), tree(&place.root()));
    for name in ["content", "mode"] {
        fs::remove_file(place.at(name)).unwrap();
    }
    fs::write(place.outside("content"), "precious").unwrap();
    fs::write(place.outside("mode"), "inside").unwrap();
    for name in ["content", "mode"] {
        fs::hard_link(place.outside(name), place.at(name)).unwrap();
    }
    fs::set_permissions(place.outside("mode"), fs::Permissions::from_mode(0o600)).unwrap();
    let before = tree(&place.dir.path().join("outside"));
    place.exact(&then, &want);
    same(&tree(&place.dir.path().join("outside")), &before);
}

#[test]
fn a_group_that_is_only_partly_asked_for_is_reported() {
    let place = Place::default();
    make(&place, "a=b");
    let then = place.picture();
    fs::remove_file(place.at("a")).unwrap();
    let options = PlanOptions { git: GitMode::Exact, paths: Some(vec![rel("a")]) };
    let outcome = place.rollback_with(&then, &options, &plain);
    assert_eq!(list(&outcome.applied.kept), [("a".into(), Reason::LinkOutside)]);
    assert!(place.at("a").exists());
    assert_ne!(fs::metadata(place.at("a")).unwrap().ino(), fs::metadata(place.at("b")).unwrap().ino());
}

#[test]
fn a_group_too_large_for_one_inode_is_copied_and_said() {
    // Input 13. ext4 allows 65,000 names of an inode; elsewhere the group fits and everything is exact.
    let place = Place::default();
    place.write("d/0", "x");
    let picture = place.picture();
    let entry =
        turnback_engine::model::Objects::directory(&place.memory, picture.manifest).unwrap().remove(0);
    let turnback_engine::model::Node::Directory { manifest } = entry.node else { panic!("a directory") };
    let file = turnback_engine::model::Objects::directory(&place.memory, manifest).unwrap().remove(0);
    let count = 65_003;
    let names: Vec<String> = (0..count).map(|n| n.to_string()).collect();
    let entries = names
        .iter()
        .map(|name| turnback_engine::model::Entry { name: name.as_bytes().into(), ..file.clone() })
        .collect();
    let inner = place.memory.put_directory(entries);
    let node = turnback_engine::model::Node::Directory { manifest: inner };
    let outer = place.memory.put_directory(vec![turnback_engine::model::Entry { node, ..entry }]);
    let group = names.iter().map(|name| rel(format!("d/{name}"))).collect();
    let links = turnback_engine::model::LinkGroups::new([group]);
    let then = turnback_engine::model::Picture { manifest: outer, links, ..picture };
    let outcome = place.rollback(&then);
    assert_eq!(fs::read_dir(place.at("d")).unwrap().count(), count);
    let inodes: std::collections::HashSet<u64> =
        names.iter().map(|name| fs::metadata(place.at("d").join(name)).unwrap().ino()).collect();
    assert_eq!(outcome.applied.not_restorable.len(), inodes.len() - 1);
    assert!(outcome.applied.not_restorable.iter().all(|u| u.reason == Reason::MetadataRefused));
}
