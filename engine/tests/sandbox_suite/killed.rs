//! `kill -9` anywhere leaves nothing that nobody lists (S9), and never touches the resource (S4).

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use turnback_engine::{SandboxOptions, Sandboxes};

use crate::common::picture::same;
use crate::common::place::open;
use crate::common::process::{child, skip, task};
use crate::place::{Place, ctx};

/// Every directory of a sandbox belongs to a record.
fn all_is_listed(place: &Place) {
    let listed = place.sandboxes.list(&ctx()).unwrap();
    let paths: Vec<_> =
        listed.iter().filter_map(|info| info.about.as_ref().map(|a| a.path.clone())).collect();
    let Ok(entries) = fs::read_dir(place.base()) else { return };
    for entry in entries {
        let holder = entry.unwrap().path();
        assert!(paths.iter().any(|path| path.starts_with(&holder)), "nobody lists {holder:?}");
    }
}

/// After a kill: all is listed, nothing is damaged, and a cleanup leaves nothing.
pub fn is_recovered(place: &Place, before: &crate::common::picture::Tree) {
    let manager = open(&place.dir().join("store")).unwrap();
    all_is_listed(place);
    assert_eq!(manager.verify(None, &ctx()).unwrap().damaged, []);
    let report = place.sandboxes.cleanup_abandoned(&ctx()).unwrap();
    assert_eq!(report.kept, [], "nobody worked in them");
    place.is_clean(0);
    same(&place.tree(), before);
}

#[test]
fn at_random_moments() {
    let place = Place::on(crate::ground::Kind::Tmpfs).unwrap_or_else(Place::here);
    for i in 0..150 {
        place.write(&format!("d{}/f{i}", i % 6), crate::common::place::noise(i, 2000));
    }
    fs::hard_link(place.resource().join("d0/f0"), place.resource().join("d1/link")).unwrap();
    let before = place.tree();
    for round in 0..40u64 {
        let mut process = child("killed::creates_and_cleans_up_without_end", place.dir())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("at work")));
        let until = Instant::now() + Duration::from_micros(round * 1_777 % 60_000);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        process.kill().unwrap();
        process.wait().unwrap();
        is_recovered(&place, &before);
    }
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn creates_and_cleans_up_without_end() {
    let Some(directory) = task() else { return };
    let manager = open(&directory.join("store")).unwrap();
    let sandboxes = Sandboxes::new(&manager);
    loop {
        println!("at work");
        std::io::stdout().flush().unwrap();
        let sandbox = sandboxes.create(&SandboxOptions::new(directory.join("work")), &ctx()).unwrap();
        sandbox.enter(&ctx()).unwrap();
        sandbox.cleanup(false, &ctx()).unwrap();
    }
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn creates_and_cleans_up_once() {
    let Some(directory) = task() else { return };
    let manager = open(&directory.join("store")).unwrap();
    let sandboxes = Sandboxes::new(&manager);
    let sandbox = sandboxes.create(&SandboxOptions::new(directory.join("work")), &ctx()).unwrap();
    sandbox.enter(&ctx()).unwrap();
    sandbox.cleanup(false, &ctx()).unwrap();
}

/// The child is killed at the n-th call of one kind, for every n until it comes through.
#[test]
fn at_every_call_that_changes_something() {
    if !Command::new("strace").arg("-V").output().is_ok_and(|o| o.status.success()) {
        return skip("no strace here");
    }
    let place = Place::on(crate::ground::Kind::Tmpfs).unwrap_or_else(Place::here);
    place.write("d/f", "1");
    place.write("g", "2");
    std::os::unix::fs::symlink("g", place.resource().join("l")).unwrap();
    let before = place.tree();
    let mut kills = 0;
    let calls = [
        "mkdir",
        "mkdirat",
        "rename",
        "renameat",
        "renameat2",
        "unlink",
        "unlinkat",
        "rmdir",
        "fchmod",
        "symlinkat",
        "pwrite64",
        "ftruncate",
        "flock",
        "utimensat",
    ];
    for call in calls {
        for n in 1..400 {
            let exe = std::env::current_exe().unwrap();
            let mut command = Command::new("strace");
            let inject = format!("inject={call}:signal=SIGKILL:when={n}");
            command
                .args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject])
                .arg(exe);
            command.args(["--ignored", "--exact", "killed::creates_and_cleans_up_once", "--test-threads=1"]);
            command.env(crate::common::process::TASK, place.dir());
            let done = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
            is_recovered(&place, &before);
            if done.success() {
                break;
            }
            kills += 1;
        }
    }
    assert!(kills > 40, "only {kills} kills: is anything injected?");
    eprintln!("{kills} kills");
}
