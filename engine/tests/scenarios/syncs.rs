//! The order in which a checkpoint is made durable (P1, P2): pack, index, record, their directory, the rename, the directory that
//! lists it; and that two who work on one workspace exclude each other (C10).

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use turnback_engine::store::{FileLock, LockKind, Patience};
use turnback_engine::{Code, Context, Durability, Manager, OpenOptions, StoreLocation};

use crate::common::place::{Place, code, exact, noise, request};
use crate::common::process::{child, run, skip, task};

/// The calls of a trace as `name of the file` by `sync` or `rename`, in order. File names come from strace's `-y`.
fn steps(trace: &str) -> Vec<String> {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let step = |line: &str| {
        let call = line.split_once(' ').map_or(line, |(_, call)| call.trim_start());
        if call.starts_with("fsync(") || call.starts_with("fdatasync(") {
            let path = call.split_once('<')?.1.split_once('>')?.0;
            return Some(format!("sync {}", last(path)));
        }
        let to = call.strip_prefix("rename(")?.split('"').nth(3)?;
        Some(format!("rename to {}", to.rsplit('/').nth(1).unwrap_or_default()))
    };
    trace.lines().filter_map(step).collect()
}

#[test]
fn everything_is_synced_before_it_is_published() {
    if Command::new("strace").arg("-V").output().is_err() {
        return skip("there is no strace");
    }
    let place = Place::default();
    place.write("a", noise(1, 5000));
    let trace = place.dir.path().join("trace");
    let own = child("syncs::one_checkpoint", place.dir.path());
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "-y", "-s", "400", "-e", "trace=fsync,fdatasync,rename"]).arg("-o").arg(&trace);
    traced.arg(own.get_program()).args(own.get_args());
    for (name, value) in own.get_envs() {
        traced.env(name, value.unwrap());
    }
    run(traced);
    let steps = steps(&fs::read_to_string(&trace).unwrap());
    let published = steps.iter().position(|s| s == "rename to checkpoints").expect("it is published");
    let before: Vec<_> = steps[..published].iter().map(String::as_str).collect();
    let place_of = |what: &str| {
        before.iter().rposition(|s| *s == what).unwrap_or_else(|| panic!("no {what} in {steps:?}"))
    };
    let order = ["sync objects.pack", "sync objects.index", "sync record"].map(place_of);
    assert!(order.is_sorted(), "{steps:?}");
    let directory = before.len() - 1;
    assert!(
        directory > order[2] && before[directory].len() == "sync ".len() + 32,
        "the directory in tmp comes last: {steps:?}"
    );
    assert_eq!(steps.get(published + 1).map(String::as_str), Some("sync checkpoints"), "{steps:?}");
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn one_checkpoint() {
    let Some(directory) = task() else { return };
    let manager = Manager::open(OpenOptions {
        store: StoreLocation::Path(directory.join("s")),
        durability: Some(Durability::Power),
        ..OpenOptions::default()
    })
    .unwrap();
    manager.create(&directory.join("w"), request(), &Context::default()).unwrap();
}

#[test]
fn one_workspace_is_worked_on_by_one_at_a_time() {
    let place = Place::default();
    place.write("a", "1");
    let made = place.create();
    let lock = place.store().join("locks").join(made.sandbox_id.as_str());
    // Somebody who only shares it excludes the others all the same: they hold it alone.
    let held = FileLock::acquire(&lock, LockKind::Shared, Patience::Try, &Context::default()).unwrap();
    let soon =
        || Context { deadline: Some(Instant::now() + Duration::from_millis(500)), ..Context::default() };
    for result in [
        code(place.manager.create(&place.root(), request(), &soon())),
        code(place.manager.rollback(made.checkpoint_id, exact(), &soon())),
    ] {
        assert_eq!(result, Code::Busy);
    }
    drop(held);
}
