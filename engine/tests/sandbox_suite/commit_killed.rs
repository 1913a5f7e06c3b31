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

/// The child under strace; with a number, killed at that occurrence of the call. Whether it came through.
fn strace(directory: &Path, output: &Path, call: &str, when: Option<u64>) -> bool {
    let task = child("commit_killed::commits", directory);
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

#[test]
fn is_all_or_nothing() {
    if !Command::new("strace").arg("-V").output().is_ok_and(|o| o.status.success()) {
        return skip("no strace here");
    }
    let (place, sandbox) = scene();
    let before = content(&place.tree());
    assert!(commit(&sandbox).committed);
    let after = content(&place.tree());
    drop((sandbox, place));

    let (mut kills, mut wholes, mut nothings) = (0, 0, 0);
    for call in CALLS {
        let (place, _sandbox) = scene();
        let trace = tempfile::NamedTempFile::new().unwrap();
        assert!(strace(place.dir(), trace.path(), call, None));
        let total =
            fs::read_to_string(trace.path()).unwrap().lines().filter(|l| l.contains('(')).count() as u64;
        let step = (total / POINTS).max(1);
        for when in (1..=total).step_by(usize::try_from(step).unwrap()) {
            let at = format!("{call} {when} of {total}");
            let (place, sandbox) = scene();
            if strace(place.dir(), Path::new("/dev/null"), call, Some(when)) {
                continue;
            }
            kills += 1;
            // Another process comes: attaching finishes what was begun.
            let manager = open(&place.dir().join("store")).unwrap();
            let id = sandbox.handle().id().clone();
            drop(sandbox);
            let sandbox = Sandboxes::new(&manager).attach(&id, &ctx()).unwrap();
            let tree = content(&place.tree());
            let left: Vec<_> = changes(&sandbox).into_iter().map(|(path, _)| path).collect();
            if sandbox.handle().status().unwrap() == Committed {
                assert!(tree == after, "{at}: committed, and not all is there");
                assert_eq!(left, [".envrc"], "{at}");
                wholes += 1;
                assert!(sandbox.undo_commit(&ctx()).unwrap().restored, "{at}");
                assert!(content(&place.tree()) == before, "{at}: undone");
            } else {
                assert!(tree == before, "{at}: not committed, and something is there");
                assert!(left.len() > 5, "{at}: {left:?}");
                assert_ne!(sandbox.handle().status().unwrap(), Committed);
                nothings += 1;
            }
            assert!(commit(&sandbox).committed, "{at}");
            assert!(content(&place.tree()) == after, "{at}");
            assert_eq!(manager.pending().unwrap(), [], "{at}");
            assert_eq!(manager.verify(None, &ctx()).unwrap().damaged, [], "{at}");
            sandbox.cleanup(true, &ctx()).unwrap();
        }
    }
    eprintln!("{kills} kills: {wholes} whole, {nothings} nothing");
    assert!(wholes > 5 && nothings > 5, "{wholes} {nothings}: is anything injected?");
}
