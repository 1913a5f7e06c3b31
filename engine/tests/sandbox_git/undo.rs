//! Taking a commit back (S3).

use std::fs;

use turnback_core::SandboxStatus;
use turnback_engine::Code;
use turnback_engine::sandbox::{CommitOptions, MergeMode};

use crate::commit::commit;
use crate::common::place::code;
use crate::ground::{Ground, changes, ctx, locks, write};

#[test]
fn puts_everything_back() {
    let ground = Ground::new();
    ground.write("edited", "old");
    ground.commit_all("second");
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    write(&path, "a.txt", "changed");
    write(&path, "new/file", "n");
    fs::remove_file(path.join("dir/b.txt")).unwrap();
    let files = ground.files();
    let head = ground.git(&["rev-parse", "HEAD"]);
    let work = changes(&sandbox);
    commit(&sandbox);
    assert_ne!(ground.files(), files);
    // An edit elsewhere stays.
    ground.write("edited", "later");
    let report = sandbox.undo_commit(&ctx()).unwrap();
    assert!(report.restored, "{report:?}");
    assert_eq!((report.written, report.deleted), (3, 2), "two files and a directory; a file and a directory");
    assert_eq!(sandbox.handle().status().unwrap(), SandboxStatus::RolledBack);
    assert_eq!(ground.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(ground.git(&["status", "--porcelain"]), " M edited".trim_start().replacen('M', " M", 1));
    assert_eq!(ground.read("edited"), "later");
    ground.write("edited", "old");
    assert_eq!(ground.files(), files);
    assert_eq!(locks(&ground.at(".git")), Vec::<std::path::PathBuf>::new());
    // The sandbox's work is there, and uncommitted again.
    assert_eq!(changes(&sandbox), work);
    assert_eq!(code(sandbox.undo_commit(&ctx())), Code::NotUndoable);
    assert_eq!(code(sandbox.cleanup(false, &ctx())), Code::UnsavedWork);
    let report = commit(&sandbox);
    assert!(report.committed && !report.changes.is_empty());
    assert_eq!(ground.read("new/file"), "n");
    assert!(!ground.at("dir").exists());
    sandbox.cleanup(false, &ctx()).unwrap();
    ground.is_clean();
}

#[test]
fn under_later_commits() {
    let ground = Ground::new();
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    write(&path, "a.txt", "1\n2\n3\n4\nfive\n");
    write(&path, "new", "n");
    commit(&sandbox);
    ground.write("a.txt", "one\n2\n3\n4\nfive\n");
    ground.write("host", "h");
    let later = ground.commit_all("by the host");
    let report = sandbox.undo_commit(&ctx()).unwrap();
    assert!(report.restored, "{report:?}");
    assert_eq!(ground.read("a.txt"), "one\n2\n3\n4\n5\n", "the later commit's line stays");
    assert_eq!(ground.read("host"), "h");
    assert!(!ground.at("new").exists());
    assert_eq!(ground.git(&["rev-parse", "HEAD^"]), later, "a commit of its own");
    assert_eq!(ground.git(&["status", "--porcelain"]), "");
    // And it can be committed again, although git has it in its history.
    assert!(commit(&sandbox).committed);
    assert_eq!(ground.read("a.txt"), "one\n2\n3\n4\nfive\n");
    assert_eq!(ground.read("new"), "n");
    ground.git(&["fsck", "--strict"]);
}

#[test]
fn not_over_later_edits() {
    let ground = Ground::new();
    let sandbox = ground.create();
    write(sandbox.handle().path(), "a.txt", "changed");
    write(sandbox.handle().path(), "new", "n");
    commit(&sandbox);
    ground.write("a.txt", "edited since");
    let (repository, files) = (ground.repository(), ground.files());
    let report = sandbox.undo_commit(&ctx()).unwrap();
    assert!(!report.restored);
    assert_eq!(report.conflicts.iter().map(|c| c.path.to_string()).collect::<Vec<_>>(), ["a.txt"]);
    assert_eq!((ground.repository(), ground.files()), (repository, files));
    assert_eq!(sandbox.handle().status().unwrap(), SandboxStatus::Committed);
    ground.write("a.txt", "changed");
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    // Another branch is checked out.
    commit(&sandbox);
    ground.git(&["checkout", "-q", "-b", "other", "HEAD^"]);
    assert_eq!(code(sandbox.undo_commit(&ctx())), Code::Conflict);
    ground.git(&["checkout", "-q", "main"]);
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
}

#[test]
fn of_the_first_commit_and_of_a_branch() {
    let ground = Ground::empty();
    let sandbox = ground.create();
    write(sandbox.handle().path(), "new", "n");
    commit(&sandbox);
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    assert!(!ground.at("new").exists());
    assert!(!ground.try_git_at(&ground.work(), &["rev-parse", "-q", "--verify", "HEAD"]).status.success());
    assert_eq!(ground.git(&["status", "--porcelain"]), "");
    assert!(commit(&sandbox).committed);
    assert_eq!(ground.read("new"), "n");

    let ground = Ground::new();
    let sandbox = ground.create();
    let branch = sandbox.git().unwrap().branch.clone();
    let before = ground.git(&["rev-parse", &branch]);
    write(sandbox.handle().path(), "new", "n");
    let options = CommitOptions { merge: MergeMode::Branch, ..CommitOptions::default() };
    sandbox.commit(&options, &ctx()).unwrap();
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    assert_eq!(ground.git(&["rev-parse", &branch]), before);
    assert_eq!(changes(&sandbox), [("new".to_owned(), "added")]);
    assert_eq!(code(sandbox.undo_commit(&ctx())), Code::NotUndoable);
}

/// Putting the sandbox back says nothing of its commit: that one can be taken back all the same (S3, S12).
#[test]
fn after_a_rollback() {
    let ground = Ground::new();
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    let head = ground.git(&["rev-parse", "HEAD"]);
    let files = ground.files();
    write(&path, "a.txt", "committed");
    commit(&sandbox);
    write(&path, "a.txt", "more");
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
    assert_eq!(sandbox.handle().status().unwrap(), SandboxStatus::RolledBack);
    let report = sandbox.undo_commit(&ctx()).unwrap();
    assert!(report.restored, "{report:?}");
    assert_eq!((ground.git(&["rev-parse", "HEAD"]), ground.files()), (head, files));
    assert_eq!(fs::read(path.join("a.txt")).unwrap(), b"committed");
    assert!(!changes(&sandbox).is_empty(), "it is uncommitted again");
    assert_eq!(code(sandbox.undo_commit(&ctx())), Code::NotUndoable);
}
