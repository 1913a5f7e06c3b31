//! A cancelled create ends at its next system call (C12): counted in calls after the flag, not in milliseconds.

use std::fs;
use std::io::Write;
use std::process::Command;
use std::sync::Arc;

use turnback_engine::{Cancel, Code, Context};

use crate::common::place::{Place, code, noise, open, request};
use crate::common::process::{child, run, skip, task};

const CANCELLED: &str = "turnback-test: cancelled";
const RETURNED: &str = "turnback-test: returned";

/// Calls with which the workspace is read.
const READING: [&str; 5] = ["openat2(", "newfstatat(", "pread64(", "getdents64(", "readlinkat("];
/// What each thread may still do: the call that it is in, and those that a signal-free check can lie between.
const CALLS_A_THREAD: usize = 4;

#[test]
fn it_ends_at_the_next_one() {
    if Command::new("strace").arg("-V").output().is_err() {
        return skip("there is no strace");
    }
    let place = Place::default();
    for i in 0..6000u64 {
        place.write(&format!("d{}/f{i}", i % 60), noise(i, 200));
    }
    let trace = place.dir.path().join("trace");
    let own = child("calls_after_cancel::cancelled_in_the_middle", place.dir.path());
    let mut traced = Command::new("strace");
    traced.args([
        "-f",
        "-qq",
        "-s",
        "64",
        "-e",
        "trace=openat2,newfstatat,pread64,getdents64,readlinkat,write",
    ]);
    traced.arg("-o").arg(&trace).arg(own.get_program()).args(own.get_args());
    for (name, value) in own.get_envs() {
        traced.env(name, value.unwrap());
    }
    run(traced);
    let lines = fs::read_to_string(&trace).unwrap();
    let lines: Vec<_> = lines.lines().collect();
    let at =
        |marker: &str| lines.iter().position(|l| l.contains(marker)).unwrap_or_else(|| panic!("no {marker}"));
    let reading = |line: &&&str| READING.iter().any(|call| line.contains(call));
    let before = lines[..at(CANCELLED)].iter().filter(reading).count();
    let after = lines[at(CANCELLED)..at(RETURNED)].iter().filter(reading).count();
    let threads = std::thread::available_parallelism().unwrap().get();
    assert!(before > 1000, "it was at work: {before} calls");
    assert!(after <= threads * CALLS_A_THREAD, "{after} calls after the flag, with {threads} threads");
    eprintln!("{before} calls before the flag, {after} after it");
    assert_eq!(place.ids(), [], "nothing is published");
    place.tmp_is_empty();
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn cancelled_in_the_middle() {
    let Some(directory) = task() else { return };
    let manager = open(&directory.join("s")).unwrap();
    let cancel = Cancel::default();
    let ours = cancel.clone();
    let on_progress = move |_| {
        if !ours.is_cancelled() {
            ours.cancel();
            // One system call, so that it stands in the trace where it happened.
            std::io::stderr().write_all(CANCELLED.as_bytes()).unwrap();
        }
    };
    let ctx = Context { cancel, on_progress: Some(Arc::new(on_progress)), ..Context::default() };
    let result = manager.create(&directory.join("w"), request(), &ctx);
    std::io::stderr().write_all(RETURNED.as_bytes()).unwrap();
    assert_eq!(code(result), Code::Aborted);
}
