//! A process that is killed while it rolls back, at one system call after the other, and once more while it recovers: the next call
//! brings the tree to the checkpoint exactly (P3). The sweep over all calls is a part of the soak; this one is short.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use turnback_core::CheckpointId;
use turnback_engine::{Context, CreateRequest, Manager, OpenOptions, StoreLocation};

use crate::common::everything::{build, damage, lose};
use crate::common::picture::{Tree, same};
use crate::common::place::{Place, exact, open};
use crate::common::process::{child, skip, task};

/// Calls that write to the tree, the staging area or the journal.
const CALLS: [&str; 8] =
    ["renameat2", "renameat", "unlinkat", "mkdirat", "fchmod", "utimensat", "fchown", "linkat"];
/// So many points of each call, spread over all of its occurrences.
const POINTS: u64 = 5;

fn has_strace() -> bool {
    let run = Command::new("strace").args(["-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    run.is_ok_and(|status| status.success())
}

/// Runs a child that is killed at one occurrence of a call; whether it was.
fn killed_at(test: &str, place: &Path, call: &str, occurrence: u64) -> bool {
    let task = child(test, place);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e"]);
    command.arg(format!("inject={call}:signal=SIGKILL:when={occurrence}"));
    command.arg(task.get_program()).args(task.get_args());
    command.envs(task.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    !status.success()
}

fn first_of(place: &Path) -> CheckpointId {
    fs::read_to_string(place.join("id")).unwrap().parse().unwrap()
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn rolls_back() {
    let Some(directory) = task() else { return };
    let manager = open(&directory.join("s")).unwrap();
    manager.rollback(first_of(&directory), exact(), &Context::default()).unwrap();
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn recovers() {
    let Some(directory) = task() else { return };
    let manager = open(&directory.join("s")).unwrap();
    manager.recover(&directory.join("w"), &Context::default()).unwrap();
}

struct Scene {
    place: Place,
    then: Tree,
    before: Tree,
    first: CheckpointId,
    _apart: Apart,
}

/// What is different about a scene.
#[derive(Debug, Clone, Copy, Default)]
struct Kind {
    /// The root is missing.
    lost: bool,
    /// The store is on another file system, so that staging happens in the root.
    apart: bool,
}

/// The store's directory where it lies apart; it goes with the scene.
type Apart = Option<tempfile::TempDir>;

fn somewhere(kind: Kind) -> (Place, Apart) {
    let (Ok(memory), true) = (tempfile::tempdir_in("/dev/shm"), kind.apart) else {
        return (Place::in_memory(), None);
    };
    let store = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(store.path(), memory.path().join("s")).unwrap();
    (Place::in_directory(memory), Some(store))
}

fn scene(kind: Kind) -> Scene {
    let (place, apart) = somewhere(kind);
    let lost = kind.lost;
    build(&place.root(), place.dir.path());
    let first = place.create().checkpoint_id;
    fs::write(place.dir.path().join("id"), first.to_string()).unwrap();
    let then = place.tree();
    if lost {
        lose(&place.root())
    } else {
        damage(&place.root())
    }
    let before = place.tree();
    Scene { place, then, before, first, _apart: apart }
}

/// What a later call does, and whether the tree is as it was before or as it was to be.
fn ends_whole(scene: &Scene, at: &str) -> bool {
    let manager = open(&scene.place.store()).unwrap();
    let begun = !manager.pending().unwrap().is_empty();
    let report = manager.recover(&scene.place.root(), &Context::default()).unwrap();
    assert_eq!(report.is_some(), begun, "{at}");
    assert_eq!(manager.pending().unwrap(), [], "{at}");
    if let Some(report) = &report {
        assert_eq!(report.not_restorable, [], "{at}");
        assert_eq!(report.kept, [], "{at}");
    }
    let tree = scene.place.tree();
    let is_before = !begun && tree == scene.before;
    if !is_before {
        // One member of a group that reached outside is a file of its own: no part of the picture.
        same(&tree, &scene.then);
    }
    scene.place.tmp_is_empty();
    begun
}

fn sweep(kind: Kind, calls: &[&str]) -> u64 {
    let mut taken_up = 0;
    for &call in calls {
        let mut occurrences = 0;
        let mut step = 1;
        loop {
            let at = 1 + occurrences;
            let scene = scene(kind);
            if !killed_at("interrupted::rolls_back", scene.place.dir.path(), call, at) {
                break;
            }
            let place = format!("{call} number {at}, {kind:?}");
            // The second level: the recovery dies as well, here or not at all.
            let again = killed_at("interrupted::recovers", scene.place.dir.path(), call, 1 + at / 2);
            taken_up += u64::from(ends_whole(&scene, &format!("{place}, recovery killed: {again}")));
            if occurrences >= POINTS {
                step *= 2;
            }
            occurrences += step;
        }
    }
    taken_up
}

#[test]
fn at_system_calls_of_a_rollback_and_of_its_recovery() {
    if !has_strace() {
        return skip("there is no strace");
    }
    let taken_up = sweep(Kind::default(), &CALLS);
    assert!(taken_up >= 20, "only {taken_up} kills came between the first write and the last");
}

#[test]
fn at_system_calls_while_a_lost_root_is_made_anew() {
    if !has_strace() {
        return skip("there is no strace");
    }
    let taken_up = sweep(Kind { lost: true, apart: false }, &CALLS);
    assert!(taken_up >= 5, "only {taken_up} kills came between the first write and the last");
    // The new root counts as the same workspace (C5).
    let scene = scene(Kind { lost: true, apart: false });
    assert!(killed_at("interrupted::rolls_back", scene.place.dir.path(), "utimensat", 3));
    let report = scene.place.manager.rollback(scene.first, exact(), &Context::default());
    assert!(report.unwrap().restored);
    same(&scene.place.tree(), &scene.then);
}

#[test]
fn at_system_calls_with_everything_staged_in_the_root() {
    if !has_strace() {
        return skip("there is no strace");
    }
    let kind = Kind { lost: false, apart: true };
    let taken_up = sweep(kind, &["renameat2", "mkdirat", "unlinkat"]);
    assert!(taken_up >= 10, "only {taken_up} kills came between the first write and the last");
}

/// C8, C16: the journal of a root that has to be made anew is written once more, and a store at its cap makes room for that.
#[test]
fn a_lost_root_is_made_anew_at_the_cap() {
    if !has_strace() {
        return skip("there is no strace");
    }
    let kind = Kind { lost: true, apart: false };
    let waits = |at: u64| {
        let scene = scene(kind);
        let killed = killed_at("interrupted::rolls_back", scene.place.dir.path(), "mkdirat", at);
        assert!(killed, "no kill left the journal of a root that is not there yet");
        let is_pending = !scene.place.manager.pending().unwrap().is_empty();
        (is_pending && !scene.place.root().exists()).then_some(scene)
    };
    let scene = (1..).find_map(waits).unwrap();
    let other = scene.place.dir.path().join("other");
    fs::create_dir(&other).unwrap();
    let mut automatic = CreateRequest::new("plan".parse().unwrap(), turnback_core::Phase::PreBatch);
    automatic.label = None;
    let mut made = Vec::new();
    for seed in 0..6u64 {
        fs::write(other.join("file"), crate::common::place::noise(seed, 40_000)).unwrap();
        let one = scene.place.manager.create(&other, automatic.clone(), &Context::default()).unwrap();
        made.push(one.checkpoint_id);
    }
    // What is left is too little for a journal.
    let cap = scene.place.manager.usage().unwrap().store_bytes + (30 << 10);
    let options = OpenOptions {
        store: StoreLocation::Path(scene.place.store()),
        max_bytes: Some(cap),
        ..OpenOptions::default()
    };
    let capped = Manager::open(options).unwrap();
    let report = capped.recover(&scene.place.root(), &Context::default()).unwrap().unwrap();
    assert_eq!(report.outcome, turnback_engine::RecoveryOutcome::Finished);
    same(&scene.place.tree(), &scene.then);
    let ids = scene.place.ids();
    assert!(!ids.contains(&made[0]) && ids.contains(&made[5]) && ids.contains(&scene.first), "room was made");
    assert!(capped.usage().unwrap().store_bytes <= cap);
}
