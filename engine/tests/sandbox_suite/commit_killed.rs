//! A commit that is killed at one system call after the other: after the next call on the sandbox it is all there or nothing is, and
//! the record says which (input 107, P3).

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use turnback_core::SandboxId;
use turnback_core::SandboxStatus::Committed;
use turnback_engine::sandbox::CommitOptions;
use turnback_engine::{Sandbox, Sandboxes};

use crate::commit::{commit, put};
use crate::common::picture::Tree;
use crate::common::place::open;
use crate::common::process::{child, skip, task};
use crate::ground::Kind;
use crate::place::{Place, changes, ctx};

const CALLS: [&str; 9] =
    ["renameat2", "renameat", "rename", "unlinkat", "unlink", "mkdirat", "fchmod", "utimensat", "linkat"];
/// So many points of each call, spread over all of its occurrences.
const POINTS: u64 = 14;

#[test]
#[ignore = "run by its parent in a process of its own"]
fn commits() {
    let Some(directory) = task() else { return };
    let manager = open(&directory.join("store")).unwrap();
    let id: SandboxId = fs::read_to_string(directory.join("id")).unwrap().parse().unwrap();
    let sandbox = Sandboxes::new(&manager).attach(&id, &ctx()).unwrap();
    assert!(sandbox.commit(&CommitOptions::default(), &ctx()).unwrap().committed);
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn undoes() {
    let Some(directory) = task() else { return };
    let manager = open(&directory.join("store")).unwrap();
    let id: SandboxId = fs::read_to_string(directory.join("id")).unwrap().parse().unwrap();
    let sandbox = Sandboxes::new(&manager).attach(&id, &ctx()).unwrap();
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
}

/// The child under strace; with a number, killed at that occurrence of the call. Whether it came through.
fn strace(test: &str, directory: &Path, output: &Path, call: &str, when: Option<u64>) -> bool {
    let task = child(&format!("commit_killed::{test}"), directory);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o"]).arg(output).args(["-e", &format!("trace={call}")]);
    if let Some(when) = when {
        command.args(["-e", &format!("inject={call}:signal=SIGKILL:when={when}")]);
    }
    command.arg(task.get_program()).args(task.get_args());
    command.envs(task.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
}

/// A resource and a sandbox that changed it in every way.
fn scene() -> (Place, std::sync::Arc<dyn Sandbox>) {
    let place = Place::on(Kind::Tmpfs).unwrap_or_else(Place::here);
    for path in ["kept", "changed", "deep/er/file", "gone/f", "gone/g", "pair"] {
        place.write(path, "1");
    }
    let sandbox = place.create();
    let path = sandbox.handle().path();
    put(&sandbox, "changed", "2");
    put(&sandbox, "deep/er/file", "2");
    put(&sandbox, "new/er/file", "2");
    fs::hard_link(path.join("pair"), path.join("pair2")).unwrap();
    fs::remove_dir_all(path.join("gone")).unwrap();
    fs::remove_file(path.join("kept")).unwrap();
    std::os::unix::fs::symlink("pair", path.join("kept")).unwrap();
    put(&sandbox, ".envrc", "held back");
    place.write("elsewhere", "host");
    fs::write(place.dir().join("id"), sandbox.handle().id().to_string()).unwrap();
    (place, sandbox)
}

/// All but the times, which differ between two scenes.
fn content(tree: &Tree) -> Vec<(Vec<u8>, crate::common::picture::What, Vec<u8>)> {
    tree.0.iter().map(|(path, item)| (path.clone(), item.what.clone(), item.group.clone())).collect()
}

/// What is true of a killed process's work when the next one has come.
struct Found<'a> {
    at: &'a str,
    place: &'a Place,
    sandbox: &'a std::sync::Arc<dyn Sandbox>,
    is_before: bool,
    is_after: bool,
    /// The sandbox's changes.
    left: Vec<String>,
    is_committed: bool,
}

/// Kills the child everywhere and has each end looked at; `prepare` readies a scene.
fn sweep(test: &str, prepare: &dyn Fn(&std::sync::Arc<dyn Sandbox>), check: &mut dyn FnMut(&Found<'_>)) {
    if !Command::new("strace").arg("-V").output().is_ok_and(|o| o.status.success()) {
        return skip("no strace here");
    }
    let (place, sandbox) = scene();
    let before = content(&place.tree());
    assert!(commit(&sandbox).committed);
    let after = content(&place.tree());
    drop((sandbox, place));
    let mut kills = 0;
    for call in CALLS {
        let (place, sandbox) = scene();
        prepare(&sandbox);
        let trace = tempfile::NamedTempFile::new().unwrap();
        assert!(strace(test, place.dir(), trace.path(), call, None));
        let lines = fs::read_to_string(trace.path()).unwrap();
        let total = lines.lines().filter(|line| line.contains('(')).count() as u64;
        let step = (total / POINTS).max(1);
        for when in (1..=total).step_by(usize::try_from(step).unwrap()) {
            let at = format!("{call} {when} of {total}");
            let (place, sandbox) = scene();
            prepare(&sandbox);
            if strace(test, place.dir(), Path::new("/dev/null"), call, Some(when)) {
                continue;
            }
            kills += 1;
            // Another process comes: attaching finishes what was begun.
            let manager = open(&place.dir().join("store")).unwrap();
            let id = sandbox.handle().id().clone();
            drop(sandbox);
            let sandbox = Sandboxes::new(&manager).attach(&id, &ctx()).unwrap();
            let tree = content(&place.tree());
            let left = changes(&sandbox).into_iter().map(|(path, _)| path).collect();
            let is_committed = sandbox.handle().status().unwrap() == Committed;
            check(&Found {
                at: &at,
                place: &place,
                sandbox: &sandbox,
                is_before: tree == before,
                is_after: tree == after,
                left,
                is_committed,
            });
            assert!(commit(&sandbox).committed, "{at}");
            assert!(content(&place.tree()) == after, "{at}");
            assert_eq!(manager.pending().unwrap(), [], "{at}");
            assert_eq!(manager.verify(None, &ctx()).unwrap().damaged, [], "{at}");
            sandbox.cleanup(true, &ctx()).unwrap();
            // Nothing of the commits is left but the states before them, unpinned, and what was saved of `.envrc`.
            let listed = manager.list(None).unwrap().checkpoints;
            let pinned = listed.iter().filter(|c| c.pinned).count();
            let labels: Vec<_> = listed.iter().filter_map(|c| c.label.clone()).collect();
            assert_eq!((pinned, labels.len()), (1, 1), "{at}: {labels:?}");
        }
    }
    eprintln!("{kills} kills");
    assert!(kills > 30, "{kills}: is anything injected?");
}

#[test]
fn is_all_or_nothing() {
    let (mut wholes, mut nothings) = (0, 0);
    sweep("commits", &|_| {}, &mut |found| {
        let at = found.at;
        if found.is_committed {
            assert!(found.is_after, "{at}: committed, and not all is there");
            assert_eq!(found.left, [".envrc"], "{at}");
            wholes += 1;
            assert!(found.sandbox.undo_commit(&ctx()).unwrap().restored, "{at}");
            assert!(!found.place.resource().join("new").exists(), "{at}: undone");
        } else {
            assert!(found.is_before, "{at}: not committed, and something is there");
            assert!(found.left.len() > 5, "{at}: {:?}", found.left);
            nothings += 1;
        }
    });
    eprintln!("{wholes} whole, {nothings} nothing");
}

#[test]
fn undoing_is_all_or_nothing() {
    let (mut wholes, mut nothings) = (0, 0);
    let prepare = |sandbox: &std::sync::Arc<dyn Sandbox>| assert!(commit(sandbox).committed);
    sweep("undoes", &prepare, &mut |found| {
        let at = found.at;
        if found.is_committed {
            assert!(found.is_after, "{at}: still committed, and not all is there");
            assert_eq!(found.left, [".envrc"], "{at}");
            nothings += 1;
        } else {
            assert!(found.is_before, "{at}: undone, and something is there");
            assert!(found.left.len() > 5, "{at}: {:?}", found.left);
            wholes += 1;
        }
    });
    eprintln!("{wholes} undone, {nothings} not");
}
