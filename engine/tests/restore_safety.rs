//! What a rollback must never do: leave the root, delete what is not saved, clobber later edits, leave litter (C7, C8).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers fail as tests do: by a panic

mod restore_support;

use std::fs;
use std::os::unix::fs::symlink;

use restore_support::*;
use turnback_engine::Context;
use turnback_engine::model::Reason;
use turnback_engine::restore::{ApplyOptions, GitMode, PlanOptions, Root, Target, apply};

const EXACT: PlanOptions = PlanOptions { git: GitMode::Exact, paths: None };

fn uncovered(path: &'static str, reason: Reason) -> impl Fn(&str) -> Option<Special> {
    move |at| (at == path).then_some(Special::Uncovered(reason))
}

#[test]
fn a_parent_that_became_a_symlink_is_replaced_and_its_target_left_alone() {
    // F44
    let place = Place::default();
    place.write("d/f", "inside");
    let (then, want) = (place.picture(), tree(&place.root()));
    fs::write(place.outside("f"), "outside").unwrap();
    fs::write(place.outside("g"), "outside too").unwrap();
    fs::remove_dir_all(place.at("d")).unwrap();
    symlink(place.dir.path().join("outside"), place.at("d")).unwrap();
    let before = tree(&place.dir.path().join("outside"));
    place.exact(&then, &want);
    same(&tree(&place.dir.path().join("outside")), &before);
}

#[test]
fn a_parent_swapped_for_a_symlink_after_the_plan_is_not_followed() {
    // The same names lie where the link leads: outside by its full path, outside by way of `..`, and elsewhere inside.
    for (moved, link) in [("outside/d", None), ("outside/d", Some("../outside/d")), ("w/e", Some("e"))] {
        let place = Place::default();
        for name in ["write", "gone", "extra", "meta"] {
            place.write(&format!("d/sub/{name}"), "then");
        }
        let then = place.picture();
        place.write("d/sub/write", "now");
        fs::remove_file(place.at("d/sub/gone")).unwrap();
        place.write("d/sub/new", "now");
        set_mtime(&place.at("d/sub/meta"), 1, 1);
        let plan = place.plan(Some(&place.picture()), &then, &EXACT);
        let moved = place.dir.path().join(moved);
        fs::rename(place.at("d"), &moved).unwrap();
        symlink(link.map_or(moved.clone(), Into::into), place.at("d")).unwrap();
        let before = tree(&moved);
        let applied = place.apply(&plan);
        same(&tree(&moved), &before);
        assert!(list(&applied.not_restorable).iter().all(|(_, reason)| *reason == Reason::ConcurrentChange));
        assert!(list(&applied.kept).contains(&("d/sub/new".into(), Reason::ConcurrentChange)));
        assert_eq!((applied.written, applied.deleted), (0, 0));
    }
}

#[test]
fn without_openat2_a_swapped_parent_is_not_followed_either() {
    let place = Place::default();
    for name in ["write", "gone"] {
        place.write(&format!("d/sub/{name}"), "then");
    }
    let then = place.picture();
    place.write("d/sub/write", "now");
    fs::remove_file(place.at("d/sub/gone")).unwrap();
    place.write("d/sub/new", "now");
    let plan = place.plan(Some(&place.picture()), &then, &EXACT);
    fs::rename(place.at("d"), place.outside("d")).unwrap();
    symlink(place.outside("d"), place.at("d")).unwrap();
    let before = tree(&place.dir.path().join("outside"));
    let fd = fs::File::open(place.root()).unwrap().into();
    let resolver = turnback_engine::restore::Resolver::PerComponent;
    let root = Root::with_resolver(fd, &place.root(), resolver).unwrap();
    let options = ApplyOptions {
        pool: &place.pool,
        stage_in: None,
        stage_name: STAGE,
        leftovers: &[],
        sync: false,
        root_made: None,
    };
    let applied =
        apply(Target::Existing(&root), &plan, &place.memory, &options, &Context::default()).unwrap();
    same(&tree(&place.dir.path().join("outside")), &before);
    assert_eq!((applied.written, applied.deleted), (0, 0));
}

#[test]
fn what_was_not_covered_then_or_is_not_saved_now_stays() {
    // F3, F21, F43, input 73
    let place = Place::default();
    place.write("a", "a");
    place.write("out/data", "precious then");
    let then = place.picture_with(&uncovered("out", Reason::TooLarge));
    place.write("out/data", "precious now");
    place.write("new/saved", "s");
    place.write("new/deep/unsaved", "u");
    place.write("log", "grows");
    let now = |at: &str| match at {
        "new/deep/unsaved" => Some(Special::Uncovered(Reason::TooLarge)),
        "out" => Some(Special::Uncovered(Reason::TooLarge)),
        "log" => Some(Special::Changing),
        _ => None,
    };
    let outcome = place.rollback_with(&then, &EXACT, &now);
    assert_eq!(
        list(&outcome.applied.kept),
        [
            ("log".into(), Reason::NotCaptured),
            ("new".into(), Reason::NotEmpty),
            ("new/deep".into(), Reason::NotEmpty),
            ("new/deep/unsaved".into(), Reason::NotCaptured)
        ]
    );
    assert!(!place.at("new/saved").exists());
    assert_eq!(fs::read(place.at("out/data")).unwrap(), b"precious now");
    assert_eq!(fs::read(place.at("new/deep/unsaved")).unwrap(), b"u");
    // `out` differs by its mtime only if the rewrite moved it: it did not, so that there is nothing to say.
    assert_eq!(outcome.applied.not_restorable, []);
}

#[test]
fn what_was_not_covered_and_is_gone_is_said() {
    // F24
    let place = Place::default();
    place.write("big", "b");
    place.write("node_modules/x", "x");
    place.write("socket-like", "s");
    let special = |at: &str| match at {
        "big" => Some(Special::Uncovered(Reason::TooLarge)),
        "node_modules" => Some(Special::Uncovered(Reason::Excluded)),
        "socket-like" => Some(Special::Uncovered(Reason::Socket)),
        _ => None,
    };
    let then = place.picture_with(&special);
    fs::remove_file(place.at("big")).unwrap();
    fs::remove_dir_all(place.at("node_modules")).unwrap();
    fs::remove_file(place.at("socket-like")).unwrap();
    place.write("socket-like", "a file since");
    let outcome = place.rollback_with(&then, &EXACT, &plain);
    assert_eq!(
        list(&outcome.applied.not_restorable),
        [
            ("big".into(), Reason::TooLarge),
            ("node_modules".into(), Reason::Excluded),
            ("socket-like".into(), Reason::Socket)
        ]
    );
    assert_eq!(list(&outcome.applied.kept), [("socket-like".into(), Reason::UncoveredThen)]);
    assert_eq!(fs::read(place.at("socket-like")).unwrap(), b"a file since");
}

#[test]
fn what_is_not_saved_now_is_not_overwritten() {
    let place = Place::default();
    for path in ["changing", "excluded", "dir/x", "to-dir/x"] {
        place.write(path, "then");
    }
    place.mkdir("file-then");
    fs::remove_dir(place.at("file-then")).unwrap();
    place.write("file-then", "f");
    let then = place.picture();
    place.write("changing", "now");
    place.write("excluded", "now");
    fs::remove_file(place.at("file-then")).unwrap();
    place.write("file-then/unsaved", "u");
    place.write("file-then/saved", "s");
    fs::remove_dir_all(place.at("to-dir")).unwrap();
    place.write("to-dir", "changing file");
    let now = |at: &str| match at {
        "changing" | "to-dir" => Some(Special::Changing),
        "excluded" => Some(Special::Uncovered(Reason::Excluded)),
        "file-then/unsaved" => Some(Special::Uncovered(Reason::TooLarge)),
        _ => None,
    };
    let before = tree(&place.root());
    let outcome = place.rollback_with(&then, &EXACT, &now);
    assert_eq!(
        list(&outcome.applied.not_restorable),
        ["changing", "excluded", "file-then", "to-dir"].map(|path| (path.to_owned(), Reason::NotCaptured))
    );
    assert_eq!(list(&outcome.applied.kept), [("file-then/unsaved".into(), Reason::NotCaptured)]);
    let mut after = tree(&place.root());
    let mut before = before;
    // The root's mtime is the checkpoint's.
    before.remove("");
    after.remove("");
    same(&after, &before);
}

#[test]
fn later_changes_of_others_are_kept() {
    let place = Place::default();
    for path in ["replace", "delete-later/x", "keep"] {
        place.write(path, "then");
    }
    let then = place.picture();
    place.write("replace", "agent");
    fs::remove_file(place.at("keep")).unwrap();
    place.write("new", "agent");
    place.write("new-dir/file", "agent");
    let plan = place.plan(Some(&place.picture()), &then, &EXACT);
    // Somebody works on while the rollback begins.
    place.write("replace", "user");
    place.write("keep", "user");
    place.write("new", "user, longer");
    place.write("new-dir/user", "user");
    let applied = place.apply(&plan);
    for (path, bytes) in
        [("replace", "user"), ("keep", "user"), ("new", "user, longer"), ("new-dir/user", "user")]
    {
        assert_eq!(fs::read_to_string(place.at(path)).unwrap(), bytes, "{path}");
    }
    assert!(!place.at("new-dir/file").exists());
    let concurrent =
        ["keep", "new", "new-dir", "replace"].map(|path| (path.to_owned(), Reason::ConcurrentChange));
    assert_eq!(list(&applied.kept), concurrent);
    assert_eq!(list(&applied.not_restorable), concurrent);
}

#[test]
fn a_mount_inside_is_neither_entered_nor_deleted() {
    // Input 75: a bind mount of the same file system has the same device number.
    let place = Place::default();
    if !is_root() {
        return; // mounting takes root
    }
    place.mkdir("m");
    place.write("m/then", "t");
    let then = place.picture();
    place.write("m/now", "n");
    let plan = place.plan(Some(&place.picture()), &then, &EXACT);
    fs::write(place.outside("now"), "n").unwrap();
    fs::copy(place.at("m/now"), place.outside("now")).unwrap();
    let mounted = std::process::Command::new("mount")
        .arg("--bind")
        .args([place.dir.path().join("outside"), place.at("m")])
        .status()
        .is_ok_and(|status| status.success());
    if !mounted {
        return; // this container may not mount
    }
    let before = tree(&place.dir.path().join("outside"));
    let mut outcomes = Vec::new();
    for resolver in
        [turnback_engine::restore::Resolver::Openat2, turnback_engine::restore::Resolver::PerComponent]
    {
        let fd = fs::File::open(place.root()).unwrap().into();
        let root = Root::with_resolver(fd, &place.root(), resolver).unwrap();
        let options = ApplyOptions {
            pool: &place.pool,
            stage_in: None,
            stage_name: STAGE,
            leftovers: &[],
            sync: false,
            root_made: None,
        };
        outcomes.push(apply(Target::Existing(&root), &plan, &place.memory, &options, &Context::default()));
    }
    let after = tree(&place.dir.path().join("outside"));
    let unmounted = std::process::Command::new("umount").arg(place.at("m")).status().unwrap();
    assert!(unmounted.success());
    same(&after, &before);
    for outcome in outcomes {
        let applied = outcome.unwrap();
        assert!(list(&applied.kept).contains(&("m/now".into(), Reason::ConcurrentChange)));
        assert_eq!(applied.deleted, 0);
    }
}

#[test]
fn a_link_to_the_outside_that_appears_late_is_not_written_through() {
    // Input 10, raced: the file had one name when it was staged.
    let place = Place::default();
    place.write("f", "same");
    let then = place.picture();
    set_mtime(&place.at("f"), 1, 1);
    let plan = place.plan(Some(&place.picture()), &then, &EXACT);
    let (inside, outside) = (place.at("f"), place.outside("f"));
    let target = outside.clone();
    let on_progress = move |progress: turnback_engine::Progress| {
        if progress.phase == "stage" {
            fs::hard_link(&inside, &target).unwrap_or_default();
        }
    };
    let ctx = Context { on_progress: Some(std::sync::Arc::new(on_progress)), ..Context::default() };
    let applied = place.try_apply(&plan, &ctx).unwrap();
    assert_eq!(list(&applied.kept), [("f".into(), Reason::ConcurrentChange)]);
    let stat = fs::metadata(&outside).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::mtime(&stat), 1, "the other name's inode is as it was");
}
