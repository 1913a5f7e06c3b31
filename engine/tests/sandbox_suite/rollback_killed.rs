//! A rollback of a sandbox that is killed leaves nothing that a cleanup does not end: neither its journal nor the baseline that it needs
//! (S9, S10).

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use turnback_core::SandboxId;
use turnback_engine::Sandboxes;

use crate::commit::put;
use crate::common::place::open;
use crate::common::process::{child, skip, task};
use crate::ground::Kind;
use crate::place::{Place, ctx};

#[test]
#[ignore = "run by its parent in a process of its own"]
fn rolls_back() {
    let Some(directory) = task() else { return };
    let manager = open(&directory.join("store")).unwrap();
    let id: SandboxId = fs::read_to_string(directory.join("id")).unwrap().parse().unwrap();
    let sandbox = Sandboxes::new(&manager).attach(&id, &ctx()).unwrap();
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
}

/// The child, killed at an occurrence of a call. Whether it came through.
fn killed_at(directory: &Path, call: &str, when: u64) -> bool {
    let task = child("rollback_killed::rolls_back", directory);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}")]);
    command.args(["-e", &format!("inject={call}:signal=SIGKILL:when={when}")]);
    command.arg(task.get_program()).args(task.get_args());
    command.envs(task.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
}

#[test]
fn a_cleanup_ends_it() {
    if !Command::new("strace").arg("-V").output().is_ok_and(|o| o.status.success()) {
        return skip("no strace here");
    }
    let mut pending = 0;
    for call in ["renameat2", "renameat", "unlinkat"] {
        for when in 1..40 {
            let place = Place::on(Kind::Tmpfs).unwrap_or_else(Place::here);
            for i in 0..6 {
                place.write(&format!("f{i}"), "1");
            }
            let sandbox = place.create();
            for i in 0..6 {
                put(&sandbox, &format!("f{i}"), "2");
                put(&sandbox, &format!("new{i}"), "2");
            }
            let id = sandbox.handle().id().clone();
            fs::write(place.dir().join("id"), id.to_string()).unwrap();
            drop(sandbox);
            if killed_at(place.dir(), call, when) {
                break;
            }
            pending += place.manager.pending().unwrap().len();
            let sandbox = place.sandboxes.attach(&id, &ctx()).unwrap();
            sandbox.cleanup(true, &ctx()).unwrap();
            let at = format!("{call} {when}");
            assert_eq!(place.sandboxes.list(&ctx()).unwrap(), [], "{at}");
            assert_eq!(place.manager.pending().unwrap(), [], "{at}");
            let listed = place.manager.list(None).unwrap().checkpoints;
            assert!(listed.iter().all(|one| one.label.as_deref() != Some("baseline")), "{at}: {listed:?}");
            // What was rolled back, or what is left of it, is in a checkpoint.
            assert!(!listed.is_empty(), "{at}");
        }
    }
    eprintln!("{pending} journals");
    assert!(pending > 3, "{pending}: is anything injected?");
}
