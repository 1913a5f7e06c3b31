//! What a commit holds back of a worktree, beside what every strategy does (S6, S12): what is ignored, seeded, git's own.

use std::fs;

use turnback_engine::sandbox::CommitOptions;

use crate::commit::{commit, held};
use crate::common::place::{let_clock_pass, noise};
use crate::common::process::{child, run, skip, task};
use crate::ground::{Ground, ctx, write};

/// All of it is the sandbox's change until a rollback, which takes each thing out or puts it back, and leaves what was committed.
#[test]
fn goes_with_a_rollback() {
    let ground = Ground::new();
    ground.write(".gitignore", "target\n.env\n");
    ground.write(".env", "SECRET");
    ground.commit_all("second");
    let mut options = ground.options();
    options.seed = vec![".env".into()];
    let sandbox = ground.sandboxes.create(&options, &ctx()).unwrap();
    let path = sandbox.handle().path().to_owned();
    let link = fs::read(path.join(".git")).unwrap();
    write(&path, ".env", "CHANGED");
    write(&path, "target/out/big", "built");
    write(&path, "nested/.git/config", "evil");
    write(&path, "good", "g");
    fs::write(path.join(".git"), "gitdir: /somewhere/else\n").unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, path.join("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    let report = commit(&sandbox);
    let all = [".env", ".git", "nested/.git", "pipe", "target"];
    let names =
        |all: &[(String, &str)]| -> Vec<String> { all.iter().map(|(path, _)| path.clone()).collect() };
    assert_eq!(names(&held(&report)), all);
    let refused = sandbox.cleanup(false, &ctx()).unwrap_err();
    let (_, paths) = refused.details().iter().find(|(name, _)| *name == "paths").unwrap();
    for named in all {
        assert!(paths.split('\n').any(|path| path == named), "{named}: {refused:?}");
    }
    assert_eq!(names(&held(&commit(&sandbox))), all);
    let back = sandbox.rollback(&ctx()).unwrap();
    assert!(back.restored, "{:?}", back.not_restorable);
    assert_eq!(fs::read(path.join(".git")).unwrap(), link);
    assert_eq!(fs::read(path.join(".env")).unwrap(), b"SECRET");
    assert_eq!(fs::read(path.join("good")).unwrap(), b"g");
    for gone in ["target", "nested/.git", "pipe"] {
        assert!(!path.join(gone).exists(), "{gone}");
    }
    // C5: all of it is in the checkpoint from before.
    ground.manager.undo(back.undo_checkpoint_id.unwrap(), &ctx()).unwrap();
    assert_eq!(fs::read(path.join("target/out/big")).unwrap(), b"built");
    assert_eq!(fs::read(path.join(".env")).unwrap(), b"CHANGED");
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    assert_eq!((ground.read(".env").as_str(), ground.at("good").exists()), ("SECRET", false));
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
    sandbox.cleanup(false, &ctx()).unwrap();
    ground.is_clean();
}

/// `merge: 'branch'` holds the same back.
#[test]
fn of_a_branch_goes_too() {
    let ground = Ground::new();
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    write(&path, "good", "g");
    write(&path, ".envrc", "evil");
    let options =
        CommitOptions { merge: turnback_engine::sandbox::MergeMode::Branch, ..CommitOptions::default() };
    for _ in 0..2 {
        let report = sandbox.commit(&options, &ctx()).unwrap();
        assert_eq!(held(&report), [(".envrc".to_owned(), "trusted")]);
    }
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
    assert_eq!((path.join("good").exists(), path.join(".envrc").exists()), (true, false));
    let left = ground.manager.list(Some(sandbox.handle().id())).unwrap().checkpoints;
    let baselines = left.iter().filter(|one| one.label.as_deref() == Some("baseline"));
    assert!(baselines.count() <= 3, "those of a commit go with the next: {left:?}");
    sandbox.cleanup(false, &ctx()).unwrap();
}

fn bytes_read() -> Option<u64> {
    let io = fs::read_to_string("/proc/self/io").ok()?;
    io.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok())
}

/// C6: what an agent built lies in each worktree and is held back by each commit; it is read once.
#[test]
fn is_not_read_again() {
    if bytes_read().is_none() {
        return skip("the system does not count what a process reads");
    }
    let dir = tempfile::tempdir().unwrap();
    run(child("held_back::counts_what_is_read", dir.path()));
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn counts_what_is_read() {
    if task().is_none() {
        return;
    }
    let ground = Ground::new();
    ground.write(".gitignore", "target\n");
    ground.commit_all("second");
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    for i in 0..40 {
        write(&path, &format!("target/f{i}"), noise(i, 200_000));
    }
    let_clock_pass(ground.dir());
    for name in ["one", "two", "three"] {
        write(&path, name, name);
        let_clock_pass(ground.dir());
        let before = bytes_read().unwrap();
        assert_eq!(held(&commit(&sandbox)), [("target".to_owned(), "ignored")]);
        let read = bytes_read().unwrap() - before;
        assert!((read < 2_000_000) == (name != "one"), "{name}: {read} bytes were read of 8 MB");
    }
    let before = bytes_read().unwrap();
    assert_eq!(ground.sandboxes.list(&ctx()).unwrap()[0].unsaved, Some(true));
    let read = bytes_read().unwrap() - before;
    assert!(read < 2_000_000, "{read} bytes were read");
}
