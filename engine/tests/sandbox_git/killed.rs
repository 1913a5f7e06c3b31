//! A call that is killed anywhere (S9, C8): what it left is listed, and the next call finishes it or clears it away.

use std::fs;
use std::path::Path;
use std::process::Command;

use turnback_engine::sandbox::{CommitOptions, Owner, StrategyName};
use turnback_engine::{SandboxOptions, Sandboxes};

use crate::common::place::open;
use crate::common::process::{TASK, skip, task};
use crate::ground::{Ground, ctx, locks, write};

fn parts(dir: &Path) -> (Sandboxes, SandboxOptions) {
    let manager = open(&dir.join("store")).unwrap();
    let options =
        SandboxOptions { strategy: StrategyName::GitWorktree, ..SandboxOptions::new(dir.join("work")) };
    (Sandboxes::new(&manager), options)
}

#[test]
#[ignore = "a child's part"]
fn child_creates() {
    let Some(dir) = task() else { return };
    let (sandboxes, options) = parts(&dir);
    std::mem::forget(sandboxes.create(&options, &ctx()).unwrap());
}

#[test]
#[ignore = "a child's part"]
fn child_cleans_up() {
    let Some(dir) = task() else { return };
    let (sandboxes, _) = parts(&dir);
    let id = sandboxes.list(&ctx()).unwrap()[0].id.clone();
    sandboxes.attach(&id, &ctx()).unwrap().cleanup(true, &ctx()).unwrap();
}

#[test]
#[ignore = "a child's part"]
fn child_commits() {
    let Some(dir) = task() else { return };
    let (sandboxes, _) = parts(&dir);
    let id = sandboxes.list(&ctx()).unwrap()[0].id.clone();
    let sandbox = sandboxes.attach(&id, &ctx()).unwrap();
    assert!(sandbox.commit(&CommitOptions::default(), &ctx()).unwrap().committed);
}

#[test]
#[ignore = "a child's part"]
fn child_undoes() {
    let Some(dir) = task() else { return };
    let (sandboxes, _) = parts(&dir);
    let id = sandboxes.list(&ctx()).unwrap()[0].id.clone();
    assert!(sandboxes.attach(&id, &ctx()).unwrap().undo_commit(&ctx()).unwrap().restored);
}

/// Runs a child that is killed at the `n`th call of a kind; `false` when it came to its end.
fn killed_at(test: &str, dir: &Path, call: &str, n: u32) -> bool {
    let mut command = Command::new("strace");
    command
        .args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}")])
        .args(["-e", &format!("inject={call}:signal=SIGKILL:when={n}")])
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", &format!("killed::{test}"), "--nocapture", "--test-threads=1"])
        .env(TASK, dir);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() {
        assert!(text.contains("1 passed"), "{text}");
        return false;
    }
    assert!(!text.contains("FAILED"), "{text}{}", String::from_utf8_lossy(&output.stderr));
    true
}

const CALLS: [&str; 9] =
    ["renameat", "renameat2", "rename", "mkdirat", "linkat", "unlinkat", "symlinkat", "write", "utimensat"];

fn has_strace() -> bool {
    let found = Command::new("strace").arg("-V").output().is_ok();
    if !found {
        skip("there is no strace");
    }
    found
}

/// Which kills to try: every one at first, then ever fewer.
fn sweep(one: impl FnMut(&str, u32) -> bool) {
    sweep_of(&CALLS, one);
}

fn sweep_of(calls: &[&str], mut one: impl FnMut(&str, u32) -> bool) {
    for call in calls {
        let mut n = 1;
        while one(call, n) {
            n += 1 + n / 6;
        }
    }
}

#[test]
fn while_it_is_made_or_removed() {
    if !has_strace() {
        return;
    }
    let mut kills = 0;
    sweep(|call, n| {
        let ground = Ground::new();
        let before = ground.repository();
        let was_killed = killed_at("child_creates", ground.dir(), call, n);
        kills += u32::from(was_killed);
        let listed = ground.sandboxes.list(&ctx()).unwrap();
        let made = ground.at(".git/worktrees").exists() || ground.dir().join("store-sandboxes").exists();
        assert!(!made || listed.len() == 1, "{call} {n}: something is there that nobody lists");
        assert!(listed.iter().all(|info| info.owner == Owner::Orphan));
        let report = ground.sandboxes.cleanup_abandoned(&ctx()).unwrap();
        assert_eq!(report.kept, [], "{call} {n}");
        assert_eq!(ground.repository(), before, "{call} {n}");
        ground.is_clean();
        was_killed
    });
    sweep(|call, n| {
        let ground = Ground::new();
        let sandbox = ground.create();
        let id = sandbox.handle().id().clone();
        write(sandbox.handle().path(), "work", "w");
        drop(sandbox);
        let was_killed = killed_at("child_cleans_up", ground.dir(), call, n);
        kills += u32::from(was_killed);
        if let Ok(sandbox) = ground.sandboxes.attach(&id, &ctx()) {
            sandbox.cleanup(true, &ctx()).unwrap();
        }
        ground.is_clean();
        was_killed
    });
    eprintln!("{kills} kills");
    assert!(kills > 40, "{kills}");
}

/// All of it or nothing, once the next call has run.
fn whole(ground: &Ground, what: &str) -> bool {
    assert_eq!(ground.git(&["status", "--porcelain"]), "", "{what}");
    assert_eq!(locks(&ground.at(".git")), Vec::<std::path::PathBuf>::new(), "{what}");
    ground.git(&["fsck", "--strict"]);
    let left: Vec<_> = fs::read_dir(ground.at(".git"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("turnback"))
        .collect();
    assert_eq!(left, Vec::<String>::new(), "{what}");
    let is_new = ground.read("a.txt") != "1\n2\n3\n4\n5\n";
    assert_eq!(ground.at("new/file").exists(), is_new, "{what}");
    assert_eq!(ground.at("dir/b.txt").exists(), !is_new, "{what}");
    is_new
}

fn changed(ground: &Ground) -> std::sync::Arc<dyn turnback_engine::Sandbox> {
    let sandbox = ground.create();
    let path = sandbox.handle().path();
    write(path, "a.txt", "changed");
    write(path, "new/file", "n");
    fs::remove_file(path.join("dir/b.txt")).unwrap();
    sandbox
}

#[test]
fn while_it_is_committed() {
    if !has_strace() {
        return;
    }
    let (mut kills, mut done) = (0, 0);
    sweep(|call, n| {
        let ground = Ground::new();
        let sandbox = changed(&ground);
        let id = sandbox.handle().id().clone();
        drop(sandbox);
        let what = format!("{call} {n}");
        let was_killed = killed_at("child_commits", ground.dir(), call, n);
        kills += u32::from(was_killed);
        // The next writing call takes it up.
        let report = ground.sandboxes.cleanup_abandoned(&ctx()).unwrap();
        let is_new = whole(&ground, &what);
        done += u32::from(was_killed && is_new);
        let was_clean = report.removed.len() == 1;
        assert_eq!(was_clean, is_new, "{what}: {report:?}");
        if !is_new {
            let sandbox = ground.sandboxes.attach(&id, &ctx()).unwrap();
            assert!(sandbox.commit(&CommitOptions::default(), &ctx()).unwrap().committed, "{what}");
            assert!(whole(&ground, &what), "{what}");
            assert!(sandbox.undo_commit(&ctx()).unwrap().restored, "{what}");
            assert!(!whole(&ground, &what), "{what}");
            sandbox.cleanup(true, &ctx()).unwrap();
        }
        ground.is_clean();
        was_killed
    });
    eprintln!("{kills} kills, {done} of them after the commit was certain");
    assert!(kills > 40 && done > 10, "{kills} {done}");
}

/// S6, S10: what is held back is the agent's own at any moment, and goes with a rollback.
#[test]
fn while_something_is_held_back() {
    if !has_strace() {
        return;
    }
    let (mut kills, mut done) = (0, 0);
    sweep_of(&["renameat", "renameat2", "rename", "unlinkat"], |call, n| {
        let ground = Ground::new();
        let sandbox = changed(&ground);
        let (id, path) = (sandbox.handle().id().clone(), sandbox.handle().path().to_owned());
        write(&path, ".envrc", "the agent's");
        drop(sandbox);
        let what = format!("{call} {n}");
        let was_killed = killed_at("child_commits", ground.dir(), call, n);
        kills += u32::from(was_killed);
        let report = ground.sandboxes.cleanup_abandoned(&ctx()).unwrap();
        assert_eq!((report.removed.len(), report.kept.len()), (0, 1), "{what}: {report:?}");
        let is_new = whole(&ground, &what);
        done += u32::from(was_killed && is_new);
        let sandbox = ground.sandboxes.attach(&id, &ctx()).unwrap();
        let changes = || -> Vec<String> {
            let all = sandbox.changes(&ctx()).unwrap().into_iter().map(|one| one.path.to_string());
            all.filter(|path| path.contains('.')).collect()
        };
        let left = if is_new { vec![".envrc"] } else { vec![".envrc", "a.txt", "dir/b.txt"] };
        assert_eq!(changes(), left, "{what}");
        let report = sandbox.commit(&CommitOptions::default(), &ctx()).unwrap();
        assert!(report.committed && report.held_back.len() == 1, "{what}: {report:?}");
        assert!(whole(&ground, &what), "{what}");
        assert_eq!(fs::read(path.join(".envrc")).unwrap(), b"the agent's", "{what}");
        assert!(sandbox.rollback(&ctx()).unwrap().restored, "{what}");
        assert!(!path.join(".envrc").exists() && changes().is_empty(), "{what}");
        assert!(sandbox.undo_commit(&ctx()).unwrap().restored, "{what}");
        assert!(!whole(&ground, &what), "{what}");
        assert!(sandbox.rollback(&ctx()).unwrap().restored, "{what}");
        assert_eq!(changes(), Vec::<String>::new(), "{what}");
        sandbox.cleanup(false, &ctx()).unwrap();
        ground.is_clean();
        was_killed
    });
    eprintln!("{kills} kills, {done} of them after the commit was certain");
    assert!(kills > 10 && done > 2, "{kills} {done}");
}

#[test]
fn while_it_is_taken_back() {
    if !has_strace() {
        return;
    }
    let (mut kills, mut done) = (0, 0);
    sweep(|call, n| {
        let ground = Ground::new();
        let sandbox = changed(&ground);
        let id = sandbox.handle().id().clone();
        assert!(sandbox.commit(&CommitOptions::default(), &ctx()).unwrap().committed);
        drop(sandbox);
        let what = format!("{call} {n}");
        let was_killed = killed_at("child_undoes", ground.dir(), call, n);
        kills += u32::from(was_killed);
        let sandbox = ground.sandboxes.attach(&id, &ctx()).unwrap();
        // A writing call that changes nothing of the resource.
        assert!(sandbox.rollback(&ctx()).unwrap().restored, "{what}");
        let is_new = whole(&ground, &what);
        done += u32::from(was_killed && !is_new);
        sandbox.cleanup(true, &ctx()).unwrap();
        ground.is_clean();
        was_killed
    });
    eprintln!("{kills} kills, {done} of them after it was certain");
    assert!(kills > 40 && done > 10, "{kills} {done}");
}
