//! What keeps a commit from being made leaves everything as it was (S7, S8).

use std::fs;
use std::os::unix::fs::symlink;

use turnback_core::SandboxStatus;
use turnback_engine::Code;
use turnback_engine::sandbox::{CommitOptions, OnCommitConflict};

use crate::common::place::code;
use crate::ground::{Ground, ctx, write};

/// What the resource has done, and what the sandbox did; and the paths in conflict.
type Case = (&'static str, fn(&Ground), fn(&std::path::Path), &'static [&'static str]);

fn change(path: &std::path::Path) {
    write(path, "a.txt", "1\n2\nsandbox\n4\n5\n");
}

const TABLE: [Case; 14] = [
    (
        "the same line, committed",
        |g| {
            g.write("a.txt", "1\n2\nhost\n4\n5\n");
            g.commit_all("h");
        },
        change,
        &["a.txt"],
    ),
    ("not committed", |g| g.write("a.txt", "1\n2\n3\n4\nhost\n"), change, &["a.txt"]),
    (
        "staged",
        |g| {
            g.write("a.txt", "host\n");
            g.git(&["add", "a.txt"]);
            g.write("a.txt", "1\n2\n3\n4\n5\n");
        },
        change,
        &["a.txt"],
    ),
    (
        "deleted by the host",
        |g| {
            g.git(&["rm", "-q", "a.txt"]);
            g.commit_all("h");
        },
        change,
        &["a.txt"],
    ),
    ("deleted and not committed", |g| fs::remove_file(g.at("a.txt")).unwrap(), change, &["a.txt"]),
    (
        "deleted by the sandbox",
        |g| {
            g.write("a.txt", "host");
            g.commit_all("h");
        },
        |p| fs::remove_file(p.join("a.txt")).unwrap(),
        &["a.txt"],
    ),
    ("untracked in the way", |g| g.write("new", "host"), |p| write(p, "new", "sandbox"), &["new"]),
    (
        "ignored in the way",
        |g| {
            g.write("new", "host");
            fs::write(g.at(".git/info/exclude"), "new\n").unwrap();
        },
        |p| {
            write(p, "new", "sandbox");
        },
        &[],
    ),
    (
        "both added",
        |g| {
            g.write("new", "host");
            g.commit_all("h");
        },
        |p| write(p, "new", "sandbox"),
        &["new"],
    ),
    ("a directory in the way", |g| g.write("new/host", "host"), |p| write(p, "new", "sandbox"), &["new"]),
    (
        "a file in the way of a directory",
        |g| g.write("new", "host"),
        |p| write(p, "new/inner", "sandbox"),
        &["new"],
    ),
    (
        "a link in the way of a directory",
        |g| symlink("/tmp", g.at("new")).unwrap(),
        |p| write(p, "new/inner", "sandbox"),
        &["new"],
    ),
    (
        "a file there, a directory here",
        |g| {
            g.write("new", "host");
            g.commit_all("h");
        },
        |p| write(p, "new/inner", "sandbox"),
        &["new"],
    ),
    (
        "binary on both sides",
        |g| {
            g.write("a.txt", b"\0host");
            g.commit_all("h");
        },
        |p| write(p, "a.txt", b"\0sandbox"),
        &["a.txt"],
    ),
];

#[test]
fn leave_everything_as_it_was() {
    for (name, host, agent, expected) in TABLE {
        let ground = Ground::new();
        let sandbox = ground.create();
        agent(sandbox.handle().path());
        host(&ground);
        let (repository, files) = (ground.repository(), ground.files());
        let before = ground.manager.list(None).unwrap().checkpoints.len();
        let paths: Vec<String> = match sandbox.commit(&CommitOptions::default(), &ctx()) {
            Ok(report) if expected.is_empty() => {
                assert!(report.committed, "{name}");
                continue;
            }
            Ok(report) => {
                assert!(!report.committed, "{name}: {report:?}");
                assert_eq!(report.changes, [], "{name}");
                assert_eq!(report.commit, None, "{name}");
                report.conflicts.iter().map(|c| c.path.to_string()).collect()
            }
            Err(error) => {
                assert_eq!(error.code(), Code::Conflict, "{name}: {error}");
                let paths = error.details().iter().find(|(n, _)| *n == "paths");
                paths.map(|(_, paths)| paths.lines().map(ToOwned::to_owned).collect()).unwrap_or_default()
            }
        };
        assert_eq!(paths, expected, "{name}");
        assert_eq!(ground.repository(), repository, "{name}");
        assert_eq!(ground.files(), files, "{name}");
        assert_eq!(ground.manager.list(None).unwrap().checkpoints.len(), before, "{name}");
        assert_eq!(sandbox.handle().status().unwrap(), SandboxStatus::Active, "{name}");
        ground.git(&["fsck"]);
    }
}

fn with(on_conflict: OnCommitConflict) -> CommitOptions {
    CommitOptions { on_conflict, ..CommitOptions::default() }
}

/// S6: ours is the sandbox's.
#[test]
fn are_decided_as_asked() {
    for (on_conflict, committed, edited) in
        [(OnCommitConflict::Ours, "sandbox", "sandbox"), (OnCommitConflict::Theirs, "host", "host's edit")]
    {
        let ground = Ground::new();
        let sandbox = ground.create();
        let path = sandbox.handle().path().to_owned();
        write(&path, "a.txt", "sandbox");
        write(&path, "dir/b.txt", "sandbox");
        write(&path, "new", "sandbox");
        ground.write("a.txt", "host");
        ground.commit_all("h");
        ground.write("dir/b.txt", "host's edit");
        let report = sandbox.commit(&with(on_conflict), &ctx()).unwrap();
        assert!(report.committed, "{on_conflict:?}: {report:?}");
        assert_eq!(report.conflicts.len(), 2);
        let brought: Vec<String> = report.changes.iter().map(|change| change.path.to_string()).collect();
        let all = ["a.txt", "dir/b.txt", "new"];
        // What the resource won was not brought.
        assert_eq!(brought, if on_conflict == OnCommitConflict::Ours { &all[..] } else { &all[2..] });
        assert_eq!(ground.read("a.txt"), committed);
        assert_eq!(ground.read("dir/b.txt"), edited);
        assert_eq!(ground.read("new"), "sandbox");
        let left = if on_conflict == OnCommitConflict::Ours { "" } else { "M dir/b.txt" };
        assert_eq!(ground.git(&["status", "--porcelain"]).trim(), left);
        // What gave way is in the checkpoint from before.
        let before = ground.manager.list(None).unwrap().checkpoints;
        let before = before.iter().find(|c| c.checkpoint.phase.as_str() == "pre_apply").unwrap();
        let path = crate::common::place::rel("dir/b.txt");
        assert_eq!(ground.manager.read_file(before.checkpoint.checkpoint_id, &path).unwrap(), b"host's edit");
        ground.git(&["fsck", "--strict"]);
    }
}

/// S8: somebody else's lock is never broken.
#[test]
fn locks_of_others_are_respected() {
    let ground = Ground::new();
    let sandbox = ground.create();
    change(sandbox.handle().path());
    for lock in ["index.lock", "refs/heads/main.lock", "HEAD.lock"] {
        fs::write(ground.at(".git").join(lock), "held").unwrap();
        let (repository, files) = (ground.repository(), ground.files());
        let error = sandbox.commit(&CommitOptions::default(), &ctx()).unwrap_err();
        assert_eq!(error.code(), Code::Busy, "{lock}: {error}");
        assert!(error.to_string().contains(lock), "{error}");
        assert_eq!(ground.files(), files, "{lock}");
        assert_eq!(ground.repository(), repository, "{lock}");
        fs::remove_file(ground.at(".git").join(lock)).unwrap();
    }
    assert!(sandbox.commit(&CommitOptions::default(), &ctx()).unwrap().committed);
}

#[test]
fn not_in_the_middle_of_something() {
    let ground = Ground::new();
    ground.git(&["checkout", "-q", "-b", "side"]);
    ground.write("a.txt", "side");
    ground.commit_all("side");
    ground.git(&["checkout", "-q", "main"]);
    ground.write("a.txt", "main");
    ground.commit_all("main");
    let sandbox = ground.create();
    write(sandbox.handle().path(), "new", "n");
    assert!(!ground.try_git_at(&ground.work(), &["merge", "side"]).status.success());
    let (repository, files) = (ground.repository(), ground.files());
    let error = sandbox.commit(&CommitOptions::default(), &ctx()).unwrap_err();
    assert_eq!(error.code(), Code::Busy);
    assert!(error.to_string().contains("merge"), "{error}");
    assert_eq!((ground.repository(), ground.files()), (repository, files));
    ground.git(&["merge", "--abort"]);
    assert!(sandbox.commit(&CommitOptions::default(), &ctx()).unwrap().committed);
}

/// Inputs 86 and 87, between creation and commit.
#[test]
fn not_into_another_repository() {
    let ground = Ground::new();
    let sandbox = ground.create();
    change(sandbox.handle().path());
    fs::rename(ground.at(".git"), ground.dir().join("aside")).unwrap();
    ground.git(&["init", "-q", "-b", "main"]);
    let (repository, files) = (ground.repository(), ground.files());
    assert_eq!(code(sandbox.commit(&CommitOptions::default(), &ctx())), Code::WorkspaceReplaced);
    assert_eq!((ground.repository(), ground.files()), (repository, files));
}
