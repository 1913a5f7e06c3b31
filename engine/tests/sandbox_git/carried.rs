//! Sandboxes that began with the resource's uncommitted state (`carryChanges`): what they change is compared with that (S6, S10, F13).

use std::fs;
use std::sync::Arc;

use turnback_engine::Sandbox;
use turnback_engine::sandbox::{CommitOptions, CommitReport, OnCommitConflict};

use crate::commit::commit;
use crate::ground::{Ground, ctx, shown, write};
use crate::undo_exact::{State, commit_ours};

fn carry(ground: &Ground) -> Arc<dyn Sandbox> {
    let mut options = ground.options();
    options.carry_changes = true;
    ground.sandboxes.create(&options, &ctx()).unwrap()
}

fn commit_with(sandbox: &Arc<dyn Sandbox>, on_conflict: OnCommitConflict) -> CommitReport {
    sandbox.commit(&CommitOptions { on_conflict, ..CommitOptions::default() }, &ctx()).unwrap()
}

fn conflicts(report: &CommitReport) -> Vec<String> {
    report.conflicts.iter().map(|conflict| conflict.path.to_string()).collect()
}

/// An untracked file, a staged one, a staged and an unstaged edit, a deletion.
fn dirty() -> Ground {
    let ground = Ground::new();
    ground.write("m", "m");
    ground.write("e", "e");
    ground.commit_all("second");
    ground.write("untracked", "user");
    ground.write("staged", "user");
    ground.write("e", "edited");
    ground.git(&["add", "staged", "e"]);
    ground.write("m", "edited");
    fs::remove_file(ground.at("run.sh")).unwrap();
    ground
}

/// The sandbox makes of everything what the commit has.
fn put_right(sandbox: &Arc<dyn Sandbox>) {
    let path = sandbox.handle().path();
    fs::remove_file(path.join("untracked")).unwrap();
    fs::remove_file(path.join("staged")).unwrap();
    write(path, "m", "m");
    write(path, "e", "e");
    write(path, "run.sh", "#!/bin/sh\n");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(path.join("run.sh"), executable).unwrap();
}

const ALL: [&str; 5] = ["e", "m", "run.sh", "staged", "untracked"];

/// The branch does not change then, but the resource does; and it comes back.
#[test]
fn may_become_what_the_commit_has() {
    let ground = dirty();
    let sandbox = carry(&ground);
    let before = State::of(&ground);
    put_right(&sandbox);
    let report = commit(&sandbox);
    assert!(report.committed, "{report:?}");
    assert_eq!(shown(&report.changes).into_iter().map(|(path, _)| path).collect::<Vec<_>>(), ALL);
    assert_eq!(ground.git(&["status", "--porcelain"]), "");
    assert_eq!(ground.read("m"), "m");
    assert_eq!(ground.git(&["rev-list", "--count", "HEAD"]), "2");
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    before.is_still(&ground);
    assert!(commit(&sandbox).committed);
    assert_eq!(ground.git(&["status", "--porcelain"]), "");
    sandbox.cleanup(false, &ctx()).unwrap();
    ground.is_clean();
}

/// Together with other paths, of which there is a commit.
#[test]
fn goes_along_with_other_paths() {
    let ground = dirty();
    let sandbox = carry(&ground);
    let before = State::of(&ground);
    put_right(&sandbox);
    write(sandbox.handle().path(), "a.txt", "changed");
    assert!(commit(&sandbox).committed);
    assert_eq!(ground.git(&["status", "--porcelain"]), "");
    assert_eq!(ground.git(&["diff", "--name-only", "HEAD^", "HEAD"]), "a.txt");
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    before.is_still(&ground);
}

/// What the user changed since is a conflict, which both options settle.
#[test]
fn conflicts_with_later_edits() {
    let ground = dirty();
    let sandbox = carry(&ground);
    put_right(&sandbox);
    for path in ALL {
        ground.write(path, "later");
    }
    let before = State::of(&ground);
    let report = commit(&sandbox);
    assert!(!report.committed);
    assert_eq!(conflicts(&report), ALL);
    before.is_still(&ground);
    commit_ours(&sandbox);
    assert_eq!(ground.git(&["status", "--porcelain"]), "");
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    before.is_still(&ground);
    let report = commit_with(&sandbox, OnCommitConflict::Theirs);
    assert!(report.committed);
    assert_eq!(conflicts(&report), ALL);
    assert_eq!(shown(&report.changes), []);
    before.is_still(&ground);
}

/// The user committed what the sandbox was given: the sandbox's change of that is a change of the branch then.
#[test]
fn follows_what_was_committed_since() {
    let ground = dirty();
    let sandbox = carry(&ground);
    put_right(&sandbox);
    let user = ground.commit_all("all of it");
    let before = State::of(&ground);
    let report = commit(&sandbox);
    assert!(report.committed, "{report:?}");
    assert_eq!(ground.git(&["status", "--porcelain"]), "");
    assert_eq!(ground.git(&["diff", "HEAD", &format!("{user}^")]), "");
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    before.is_still(&ground);
}

/// Staged or not: what is edited further is committed, and only that.
#[test]
fn is_edited_further_staged_or_not() {
    let ground = dirty();
    let sandbox = carry(&ground);
    let path = sandbox.handle().path();
    let before = State::of(&ground);
    for name in ["e", "m", "staged"] {
        write(path, name, format!("{name} further"));
    }
    // The same bytes again are no change.
    write(path, "untracked", "user");
    let report = commit(&sandbox);
    assert!(report.committed, "{report:?}");
    assert_eq!(ground.git(&["diff", "--name-only", "HEAD^", "HEAD"]), "e\nm\nstaged");
    assert_eq!(ground.git(&["status", "--porcelain"]).trim(), "D run.sh\n?? untracked");
    assert_eq!(ground.read("staged"), "staged further");
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    before.is_still(&ground);
}

/// In a repository that has no commit yet.
#[test]
fn without_any_commit() {
    let ground = Ground::empty();
    ground.write("untracked", "user");
    ground.write("staged", "user");
    ground.git(&["add", "staged"]);
    let sandbox = carry(&ground);
    let before = State::of(&ground);
    for name in ["untracked", "staged"] {
        fs::remove_file(sandbox.handle().path().join(name)).unwrap();
    }
    assert!(commit(&sandbox).committed);
    assert!(ground.files().is_empty());
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    before.is_still(&ground);
}
