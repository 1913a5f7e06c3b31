//! What the resource has in the way of what a sandbox adds, and git tracks nothing of: listed as a conflict that both options settle, and
//! back where it was when the commit is taken back (S3, S6, S7).

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use turnback_engine::Sandbox;
use turnback_engine::sandbox::{CommitOptions, CommitReport, OnCommitConflict};

use crate::common::picture::same;
use crate::ground::{Ground, ctx, write};
use crate::undo_exact::State;

fn commit_with(sandbox: &Arc<dyn Sandbox>, on_conflict: OnCommitConflict) -> CommitReport {
    sandbox.commit(&CommitOptions { on_conflict, ..CommitOptions::default() }, &ctx()).unwrap()
}

fn conflicts(report: &CommitReport) -> Vec<String> {
    report.conflicts.iter().map(|conflict| conflict.path.to_string()).collect()
}

/// By default nothing is written and it is listed; the sandbox's state can be taken, and given back.
#[track_caller]
fn is_settled(ground: &Ground, sandbox: &Arc<dyn Sandbox>, paths: &[&str], check: impl Fn()) {
    let before = State::of(ground);
    let report = commit_with(sandbox, OnCommitConflict::Fail);
    assert!(!report.committed);
    assert_eq!(conflicts(&report), paths);
    before.is_still(ground);
    let report = commit_with(sandbox, OnCommitConflict::Ours);
    assert!(report.committed);
    assert_eq!(conflicts(&report), paths);
    check();
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    before.is_still(ground);
    let report = commit_with(sandbox, OnCommitConflict::Theirs);
    assert!(report.committed, "{report:?}");
    assert_eq!(conflicts(&report), paths);
    same(&State::of(ground).files, &before.files);
    ground.git(&["fsck", "--strict"]);
}

/// A directory with nothing in it gives way, as git has it.
#[test]
fn an_empty_directory() {
    let ground = Ground::new();
    fs::create_dir_all(ground.at("b/er/deep")).unwrap();
    let sandbox = ground.create();
    write(sandbox.handle().path(), "b", "new");
    let before = State::of(&ground);
    let report = commit_with(&sandbox, OnCommitConflict::Fail);
    assert!(report.committed, "{report:?}");
    assert_eq!(ground.read("b"), "new");
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    before.is_still(&ground);
}

#[test]
fn a_directory_with_files() {
    let ground = Ground::new();
    ground.write("b/untracked", "u");
    ground.write("b/staged", "s");
    ground.git(&["add", "b/staged"]);
    let sandbox = ground.create();
    write(sandbox.handle().path(), "b", "new");
    is_settled(&ground, &sandbox, &["b"], || assert_eq!(ground.read("b"), "new"));
}

#[test]
fn a_link_a_file_or_a_pipe_in_the_place_of_a_directory() {
    for make in [
        &(|ground: &Ground| symlink("/nonexistent", ground.at("c")).unwrap()) as &dyn Fn(&Ground),
        &|ground| ground.write("c", "plain"),
        &|ground| crate::common::everything::fifo(&ground.at("c")),
    ] {
        let ground = Ground::new();
        ground.write("c/b/c", "1");
        ground.write("c/d", "2");
        ground.commit_all("second");
        let sandbox = ground.create();
        write(sandbox.handle().path(), "c/new", "new");
        fs::remove_dir_all(ground.at("c")).unwrap();
        make(&ground);
        is_settled(&ground, &sandbox, &["c"], || assert_eq!(ground.read("c/new"), "new"));
        // And where it makes a file of a directory further in.
        fs::remove_file(sandbox.handle().path().join("c/new")).unwrap();
        fs::remove_dir_all(sandbox.handle().path().join("c/b")).unwrap();
        write(sandbox.handle().path(), "c/b", "file");
        is_settled(&ground, &sandbox, &["c"], || assert_eq!(ground.read("c/b"), "file"));
    }
}

/// A repository of its own is never removed.
#[test]
fn a_repository_of_its_own() {
    let ground = Ground::new();
    ground.write("v/n", "n");
    ground.git_at(&ground.at("v"), &["init", "-q"]);
    let sandbox = ground.create();
    write(sandbox.handle().path(), "v", "new");
    write(sandbox.handle().path(), "a.txt", "changed");
    let before = State::of(&ground);
    for on_conflict in [OnCommitConflict::Fail, OnCommitConflict::Ours] {
        let report = commit_with(&sandbox, on_conflict);
        assert!(!report.committed);
        assert_eq!(conflicts(&report), ["v"]);
        before.is_still(&ground);
    }
    assert!(commit_with(&sandbox, OnCommitConflict::Theirs).committed);
    assert_eq!(ground.read("a.txt"), "changed");
    assert_eq!(ground.read("v/n"), "n");
}

/// The same when a commit is taken back: listed, not thrown.
#[test]
fn of_what_comes_back() {
    let ground = Ground::new();
    let sandbox = ground.create();
    let path = sandbox.handle().path();
    fs::remove_file(path.join("dir/b.txt")).unwrap();
    fs::remove_dir(path.join("dir")).unwrap();
    write(path, "added/file", "a");
    assert!(commit_with(&sandbox, OnCommitConflict::Fail).committed);
    ground.write("dir", "a file now");
    fs::remove_dir_all(ground.at("added")).unwrap();
    symlink("nowhere", ground.at("added")).unwrap();
    let before = State::of(&ground);
    let report = sandbox.undo_commit(&ctx()).unwrap();
    assert!(!report.restored);
    assert!(
        report.conflicts.iter().any(|conflict| conflict.path.to_string().starts_with("dir")),
        "{report:?}"
    );
    before.is_still(&ground);
}
