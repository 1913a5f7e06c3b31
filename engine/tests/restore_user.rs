//! Rollback by somebody who is not root: modes bind, and ownership cannot be given (C6; inputs 18, 73, 78).
//!
//! As root each test runs itself again as another user; that user first sees that the rights it lacks are really lacking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers fail as tests do: by a panic

mod restore_support;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;

use restore_support::*;
use turnback_engine::ChangeKind;
use turnback_engine::model::Reason;
use turnback_engine::restore::{GitMode, PlanOptions};

const NOBODY: u32 = 65_534;
const EXACT: PlanOptions = PlanOptions { git: GitMode::Exact, paths: None };

/// Runs `body` as a user without privileges.
fn as_user(test: &str, body: impl FnOnce()) {
    if !is_root() {
        body();
        return;
    }
    // One at a time: a program that another thread's child still holds open for writing cannot be run.
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    // The build directory may not be open to everybody: the test binary is copied.
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = dir.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    let output = std::process::Command::new(&copy)
        .args(["--exact", test, "--nocapture"])
        .current_dir("/")
        .env("TMPDIR", std::env::temp_dir())
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

fn chmod(place: &Place, path: &str, mode: u32) {
    fs::set_permissions(place.at(path), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn read_only_trees_are_restored_by_their_owner() {
    as_user("read_only_trees_are_restored_by_their_owner", || {
        let place = Place::default();
        place.write("ro/sub/a", "a");
        place.write("ro/sub/b", "b");
        place.write("gone/x/y", "y");
        rustix::fs::setxattr(place.at("ro/sub/a"), "user.k", b"v", rustix::fs::XattrFlags::empty()).unwrap();
        for (path, mode) in [
            ("ro/sub/a", 0o444),
            ("ro/sub", 0o555),
            ("ro", 0o500),
            ("gone/x", 0o555),
            ("gone", 0o555),
            ("", 0o555),
        ] {
            chmod(&place, path, mode);
        }
        assert!(fs::write(place.at("ro/new"), "x").is_err(), "the mode binds");
        let (then, want) = (place.picture(), tree(&place.root()));
        for path in ["", "gone", "gone/x", "ro", "ro/sub"] {
            chmod(&place, path, 0o755);
        }
        fs::remove_dir_all(place.at("gone")).unwrap();
        fs::remove_file(place.at("ro/sub/a")).unwrap();
        place.write("ro/sub/b", "changed");
        place.write("ro/new/n", "n");
        place.write("ro/other", "o");
        for (path, mode) in [("ro/new", 0o500), ("ro/sub", 0o555), ("ro", 0o555), ("", 0o555)] {
            chmod(&place, path, mode);
        }
        let outcome = place.rollback(&then);
        assert_eq!(outcome.applied.not_restorable, []);
        same(&tree(&place.root()), &want);
        chmod(&place, "", 0o755);
    });
}

#[test]
fn a_failure_puts_read_only_modes_back() {
    as_user("a_failure_puts_read_only_modes_back", || {
        let place = Place::default();
        place.write("a", "a");
        chmod(&place, "", 0o555);
        set_mtime(&place.root(), 3, 4);
        let then = place.picture();
        chmod(&place, "", 0o755);
        place.write("a", "now");
        chmod(&place, "", 0o555);
        let before = tree(&place.root());
        let plan = place.plan(Some(&place.picture()), &then, &EXACT);
        let cancel = turnback_engine::Cancel::default();
        let inner = cancel.clone();
        let on_progress = move |progress: turnback_engine::Progress| {
            if progress.phase == "stage" {
                inner.cancel();
            }
        };
        let ctx = turnback_engine::Context {
            cancel,
            on_progress: Some(std::sync::Arc::new(on_progress)),
            ..turnback_engine::Context::default()
        };
        let error = place.try_apply(&plan, &ctx).unwrap_err();
        assert_eq!(error.code(), turnback_engine::Code::Aborted);
        same(&tree(&place.root()), &before);
        place.no_leftovers();
        chmod(&place, "", 0o755);
    });
}

#[test]
fn an_owner_that_cannot_be_given_is_said_and_set_id_bits_stay_off() {
    as_user("an_owner_that_cannot_be_given_is_said_and_set_id_bits_stay_off", || {
        let place = Place::default();
        place.write("tool", "#!");
        place.write("plain", "p");
        chmod(&place, "tool", 0o755);
        let mut then = place.picture();
        let mut entries = turnback_engine::model::Objects::directory(&place.memory, then.manifest).unwrap();
        for entry in &mut entries {
            entry.meta.uid = 0;
            entry.meta.gid = 0;
            if *entry.name == *b"tool" {
                entry.meta.mode = 0o6755;
            }
        }
        then.manifest = place.memory.put_directory(entries);
        fs::remove_file(place.at("tool")).unwrap();
        fs::remove_file(place.at("plain")).unwrap();
        let outcome = place.rollback(&then);
        assert_eq!(
            list(&outcome.applied.not_restorable),
            [("plain".into(), Reason::MetadataRefused), ("tool".into(), Reason::MetadataRefused)]
        );
        let stat = fs::metadata(place.at("tool")).unwrap();
        assert_eq!(stat.mode() & 0o7777, 0o755, "no set-id bits without the owner");
        assert_ne!(stat.uid(), 0);
        assert_eq!(fs::read(place.at("tool")).unwrap(), b"#!");
    });
}

#[test]
fn a_mode_that_shuts_us_out_is_put_back() {
    as_user("a_mode_that_shuts_us_out_is_put_back", || {
        let place = Place::default();
        place.write("file", "content");
        place.write("other", "content");
        place.write("dir/x", "x");
        let (then, want) = (place.picture(), tree(&place.root()));
        place.write("other", "rewritten and longer");
        chmod(&place, "file", 0);
        chmod(&place, "other", 0);
        chmod(&place, "dir", 0);
        assert!(
            fs::read(place.at("file")).is_err() && fs::read_dir(place.at("dir")).is_err(),
            "the modes bind"
        );
        // As a walk that is refused would see it.
        let unreadable = |at: &str| {
            ["file", "other", "dir"].contains(&at).then_some(Special::Uncovered(Reason::Unreadable))
        };
        let outcome = place.rollback_with(&then, &EXACT, &unreadable);
        assert_eq!(
            list(&outcome.applied.not_restorable),
            [("dir".into(), Reason::NotCaptured), ("other".into(), Reason::NotCaptured)]
        );
        assert!(outcome.changes.iter().any(|c| c.path == rel("file") && c.kind == ChangeKind::Metadata));
        // What it can read now is restored by a second rollback.
        chmod(&place, "other", 0o644);
        let outcome = place.rollback(&then);
        assert_eq!(outcome.applied.not_restorable, []);
        same(&tree(&place.root()), &want);
    });
}
