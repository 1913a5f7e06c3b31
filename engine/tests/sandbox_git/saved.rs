//! Input 96: what only the worktree's HEAD, its log or its index knows is not lost with the worktree.

use std::fs;

use crate::ground::{Ground, ctx, write};

/// The refs that a cleanup made, in the order in which it names them.
fn saved(ground: &Ground, refs: &[String]) -> Vec<String> {
    assert!(refs.iter().all(|name| name.starts_with("refs/turnback/saved/")), "{refs:?}");
    refs.iter().map(|name| ground.git(&["log", "-1", "--format=%s", name])).collect()
}

#[test]
fn a_detached_commit_and_one_that_was_reset() {
    let ground = Ground::new();
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    let branch = sandbox.git().unwrap().branch.clone();
    let git = |arguments: &[&str]| ground.git_at(&path, arguments);
    git(&["checkout", "-q", "--detach"]);
    for step in ["first step", "second step"] {
        write(&path, "p", step);
        git(&["add", "p"]);
        git(&["commit", "-qm", step]);
    }
    git(&["checkout", "-q", &branch]);
    write(&path, "a.txt", "other");
    git(&["commit", "-qam", "reset"]);
    git(&["reset", "-q", "--hard", "HEAD~1"]);
    let remains = sandbox.cleanup(true, &ctx()).unwrap().remains;
    assert!(remains.paths.is_empty() && remains.repositories.is_empty());
    let mut subjects = saved(&ground, &remains.refs);
    subjects.sort();
    assert_eq!(subjects, ["reset", "second step"], "only the last of a line");
    ground.git(&["gc", "-q", "--prune=now"]);
    for name in &remains.refs {
        ground.git(&["rev-parse", "--verify", &format!("{name}^{{tree}}")]);
        ground.git(&["update-ref", "-d", name]);
    }
    ground.is_clean();
}

#[test]
fn what_is_only_staged() {
    let ground = Ground::new();
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    write(&path, "a.txt", "precious");
    ground.git_at(&path, &["add", "a.txt"]);
    fs::write(path.join("a.txt"), ground.read("a.txt")).unwrap();
    write(&path, "gone", "precious too");
    ground.git_at(&path, &["add", "gone"]);
    fs::remove_file(path.join("gone")).unwrap();
    // The times of directories count for nothing.
    assert_eq!(crate::ground::changes(&sandbox), []);
    let remains = sandbox.cleanup(true, &ctx()).unwrap().remains;
    let name = &remains.refs[0];
    assert_eq!(ground.git(&["show", &format!("{name}:a.txt")]), "precious");
    assert_eq!(ground.git(&["show", &format!("{name}:gone")]), "precious too");
    assert_eq!(ground.git(&["rev-parse", &format!("{name}^")]), ground.git(&["rev-parse", "main"]));
    ground.git(&["update-ref", "-d", name]);
    ground.is_clean();
}

/// Ordinary work leaves no refs: what is on a branch, merged or in the files.
#[test]
fn nothing_is_saved_that_is_elsewhere() {
    let ground = Ground::new();
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    write(&path, "one", "1");
    ground.git_at(&path, &["add", "-A"]);
    ground.git_at(&path, &["commit", "-qm", "by the agent"]);
    ground.git_at(&path, &["stash", "list"]);
    assert!(sandbox.commit(&turnback_engine::sandbox::CommitOptions::default(), &ctx()).unwrap().committed);
    assert!(sandbox.cleanup(false, &ctx()).unwrap().remains.is_empty());
    assert_eq!(ground.git(&["for-each-ref", "refs/turnback"]), "");
    ground.is_clean();
}

/// A branch that has to stay is named, and so is the repository that moved away with its branch and registration.
#[test]
fn what_stays_is_named() {
    let ground = Ground::new();
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    let branch = format!("refs/heads/{}", sandbox.git().unwrap().branch);
    write(&path, "one", "1");
    ground.git_at(&path, &["add", "-A"]);
    ground.git_at(&path, &["commit", "-qm", "by the agent"]);
    assert_eq!(sandbox.cleanup(true, &ctx()).unwrap().remains.refs, [branch]);
    let sandbox = ground.create();
    fs::rename(ground.work(), ground.dir().join("moved")).unwrap();
    let remains = sandbox.cleanup(true, &ctx()).unwrap().remains;
    assert_eq!(remains.repositories, [ground.at(".git")]);
    assert_eq!(remains.refs, Vec::<String>::new());
}
