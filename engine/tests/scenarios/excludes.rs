//! What the caller leaves out: not captured, listed, and never touched by a rollback (C6, F3, F49, F58, input 108).

use std::fs;

use turnback_engine::{ChangeKind, Checkpoint, Code, Context, DiffTo, Reason};

use crate::common::everything::{set_mtime, set_xattr};
use crate::common::picture::same;
use crate::common::place::{Place, code, let_timestamps_age, noise, request};

fn excluded(checkpoint: &Checkpoint) -> Vec<String> {
    let left_out = checkpoint.coverage.uncovered.iter().filter(|u| u.reason == Reason::Excluded);
    left_out.map(|u| u.path.to_string()).collect()
}

#[test]
fn excluded_output_survives_a_rollback() {
    // F3: a megabyte of untracked output that a rule leaves out.
    for by_size in [false, true] {
        let place = Place::default();
        let mut asked = request();
        if by_size {
            asked.max_file_bytes = Some(1000);
        } else {
            asked.exclude = vec!["out/".to_owned(), "*.log".to_owned()];
        }
        place.write("a.txt", "1");
        place.write("out/data.jsonl", noise(1, 1 << 20));
        place.write("deep/er/x.log", noise(2, 5000));
        let checkpoint = place.try_create(asked.clone()).unwrap();
        place.write("a.txt", "2");
        place.write("out/later.jsonl", noise(3, 1 << 20));
        place.write("deep/later/y.log", noise(4, 5000));
        let left_out = |place: &Place| {
            let names = ["out/data.jsonl", "deep/er/x.log", "out/later.jsonl", "deep/later/y.log"];
            names.map(|n| fs::read(place.at(n)).unwrap())
        };
        let before = left_out(&place);
        let report = place.rollback(checkpoint.checkpoint_id);
        assert_eq!(fs::read(place.at("a.txt")).unwrap(), b"1");
        assert_eq!(left_out(&place), before, "by size: {by_size}");
        // Only a limit leaves something that was asked for uncovered.
        assert_eq!(checkpoint.coverage.complete, !by_size);
        let kept: Vec<_> = report.kept.iter().map(|u| u.path.to_string()).collect();
        assert!(kept.contains(&"deep/later/y.log".to_owned()), "{kept:?}");
        place.undo(report.undo_checkpoint_id.unwrap());
        assert_eq!(fs::read(place.at("a.txt")).unwrap(), b"2");
        assert_eq!(left_out(&place), before);
    }
}

#[test]
fn patterns_are_those_of_gitignore() {
    let place = Place::default();
    for path in ["build/x", "src/build/y", "src/a.o", "src/keep.o", "top", "src/top", "b/build", "#x", "[a"] {
        place.write(path, path);
    }
    let mut asked = request();
    asked.exclude = ["build/", "*.o", "!keep.o", "/top"].map(str::to_owned).to_vec();
    let checkpoint = place.try_create(asked.clone()).unwrap();
    assert_eq!(excluded(&checkpoint), ["build", "src/a.o", "src/build", "top"]);
    assert_eq!(
        place.read(checkpoint.checkpoint_id, "b/build"),
        b"b/build",
        "a file, and the pattern says directory"
    );
    asked.exclude = vec!["[z-a]".to_owned()];
    assert_eq!(code(place.try_create(asked)), Code::InvalidArgument);
}

#[test]
fn ignore_files_nest() {
    let place = Place::default();
    place.write(".gitignore", "*.o\n/dist/\r\n# *.c\n\n");
    place.write("sub/.gitignore", "!keep.o\nlocal\n");
    place.write("sub/deeper/.gitignore", "keep.o\n");
    for path in [
        "a.o",
        "a.c",
        "dist/x",
        "sub/dist/x",
        "sub/keep.o",
        "sub/b.o",
        "sub/local",
        "local",
        "sub/deeper/keep.o",
    ] {
        place.write(path, path);
    }
    place.write(".git/a.o", "inside .git nothing is ignored by accident");
    let mut asked = request();
    asked.exclude_ignored = true;
    let checkpoint = place.try_create(asked.clone()).unwrap();
    assert!(checkpoint.coverage.complete);
    // What lies in `.git` is git's own and not ignored.
    assert_eq!(excluded(&checkpoint), ["a.o", "dist", "sub/b.o", "sub/deeper/keep.o", "sub/local"]);

    // The rules change, the tree does not: the next checkpoint follows the new ones, with a warm cache too.
    let_timestamps_age(&place);
    place.try_create(asked.clone()).unwrap();
    place.write(".gitignore", "*.c\n");
    let after = place.try_create(asked).unwrap();
    assert_eq!(excluded(&after), ["a.c", "sub/deeper/keep.o", "sub/local"]);
    assert_eq!(place.read(after.checkpoint_id, "dist/x"), b"dist/x");
}

#[test]
fn a_directory_that_is_ignored_no_longer_comes_with_everything() {
    let place = Place::default();
    place.write(".gitignore", "out\n");
    place.write("out/file", "1");
    let with_attributes = set_xattr(&place.at("out"), "user.x", b"kept");
    set_xattr(&place.at("out/file"), "user.x", b"kept");
    set_mtime(&place.at("out"), 1000, 1);
    let_timestamps_age(&place);
    let mut asked = request();
    asked.exclude_ignored = true;
    place.try_create(asked.clone()).unwrap();
    place.try_create(asked.clone()).unwrap();
    place.write(".gitignore", "");
    let checkpoint = place.try_create(asked).unwrap();
    let before = place.tree();
    fs::remove_dir_all(place.at("out")).unwrap();
    place.rollback(checkpoint.checkpoint_id);
    same(&place.tree(), &before);
    if !with_attributes {
        crate::common::process::skip("extended attributes: not on this file system");
    }
}

#[test]
fn excluded_directories_are_not_even_opened() {
    // F49: leaving out costs nothing; here it shows by an excluded tree that is too deep to be walked at all in the limit of paths.
    let place = Place::default();
    for i in 0..2000 {
        place.write(&format!("node_modules/m{}/f{i}", i % 50), "");
    }
    place.write("a", "1");
    let mut asked = request();
    asked.exclude = vec!["node_modules".to_owned()];
    asked.max_files = Some(10);
    let checkpoint = place.try_create(asked.clone()).unwrap();
    assert_eq!(checkpoint.coverage.files, 2);
    assert_eq!(checkpoint.coverage.uncovered_count, 1);
    asked.exclude.clear();
    assert_eq!(code(place.try_create(asked)), Code::TooBroad, "C16");
    place.tmp_is_empty();
}

#[test]
fn a_file_that_grows_over_the_limit_and_shrinks_again() {
    let place = Place::default();
    let mut asked = request();
    asked.max_file_bytes = Some(10);
    place.write("f", "small");
    let small = place.try_create(asked.clone()).unwrap();
    assert!(small.coverage.complete);
    place.write("f", "larger than ten bytes");
    let_timestamps_age(&place);
    let large = place.try_create(asked.clone()).unwrap();
    assert_eq!(large.coverage.uncovered[0].reason, Reason::TooLarge);
    assert_eq!(place.try_create(asked.clone()).unwrap().coverage, large.coverage);
    let report = place.rollback(small.checkpoint_id);
    assert_eq!(fs::read(place.at("f")).unwrap(), b"larger than ten bytes", "nobody holds these bytes: kept");
    assert!(!report.restored || !report.kept.is_empty());
    place.write("f", "tiny");
    assert!(place.try_create(asked).unwrap().coverage.complete);
}

#[test]
fn what_is_ignored_since_is_rolled_back_all_the_same() {
    // C7: the ignore files of now must not keep a rollback from what the checkpoint covers.
    for ignore in ["src/\n", "*\n"] {
        let place = Place::default();
        place.write(".gitignore", "out\n");
        place.write("src/main.c", "good");
        place.write("out/built", "1");
        let before = place.tree();
        let mut asked = request();
        asked.exclude_ignored = true;
        let id = place.try_create(asked.clone()).unwrap().checkpoint_id;
        place.write(".gitignore", ignore);
        place.write("src/main.c", "ruined");
        place.write("src/new.c", "new");
        let_timestamps_age(&place);
        // A cache that knows the new ignore file must not hide it either.
        place.try_create(asked).unwrap();
        let changes = place.manager.diff(id, DiffTo::Now, &Context::default()).unwrap();
        let kinds: Vec<_> = changes.iter().map(|c| (c.path.to_string(), c.kind)).collect();
        assert!(kinds.contains(&("src/main.c".to_owned(), ChangeKind::Modified)), "{kinds:?}");
        let report = place.rollback(id);
        assert!(report.restored, "{ignore}: {report:?}");
        if ignore == "*\n" {
            // New, and ignored now: out of scope, so it stays and is said.
            assert!(place.at("src/new.c").exists());
            std::fs::remove_file(place.at("src/new.c")).unwrap();
            place.rollback(id);
        }
        same(&place.tree(), &before);
    }
}
