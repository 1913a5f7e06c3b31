//! Committing all of a plan, killed at one system call after the other (S11, P3): when anybody has made the next call, all resources have
//! it or none has; what was not committed is still in the sandboxes, and nothing is committed twice.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use turnback_core::{PlanId, SandboxId};
use turnback_engine::sandbox::{CommitOptions, StrategyName};
use turnback_engine::{Manager, SandboxManager, SandboxOptions, Sandboxes};

use crate::common::place::{files_beneath, open};
use crate::common::process::{child, skip, task};
use crate::contract::subject::git;
use crate::ground::Kind;
use crate::place::{Place, ctx};

const NAMES: [&str; 3] = ["a", "b", "c"];
const CALLS: [&str; 8] =
    ["renameat2", "renameat", "rename", "unlinkat", "unlink", "mkdir", "mkdirat", "utimensat"];
/// So many points of each call, spread over all of them.
const POINTS: u64 = 10;

/// The plan's sandboxes, changed: two copies, and a worktree between them.
fn prepared(directory: &Path) -> (Manager, SandboxManager, PlanId) {
    let manager = open(&directory.join("store")).unwrap();
    let plans = SandboxManager::new(&manager);
    let plan: PlanId = "p".parse().unwrap();
    for name in NAMES {
        let strategy = if name == "b" { StrategyName::GitWorktree } else { StrategyName::CopyOnWrite };
        let options = SandboxOptions { strategy, ..SandboxOptions::new(directory.join(name)) };
        let path = plans.get_or_create(&plan, &options, &ctx()).unwrap().enter(&ctx()).unwrap();
        fs::write(path.join("f"), "2").unwrap();
        fs::write(path.join("new"), "n").unwrap();
        fs::remove_file(path.join("gone")).unwrap();
    }
    fs::write(directory.join("prepared"), "").unwrap();
    (manager, plans, plan)
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn prepares() {
    let Some(directory) = task() else { return };
    prepared(&directory);
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn commits_all() {
    let Some(directory) = task() else { return };
    let (_manager, plans, plan) = prepared(&directory);
    let reports = plans.commit_all(&plan, &CommitOptions::default(), &ctx()).unwrap();
    assert!(reports.len() == 3 && reports.iter().all(|report| report.committed));
}

fn strace(test: &str, directory: &Path, more: &[String]) -> bool {
    let task = child(&format!("commit_all_killed::{test}"), directory);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq"]).args(more).arg(task.get_program()).args(task.get_args());
    command.envs(task.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
}

/// How often the busiest thread makes each call.
fn counted(test: &str) -> BTreeMap<&'static str, u64> {
    let place = scene();
    let trace = place.dir().join("trace");
    let arguments =
        ["-o".to_owned(), trace.display().to_string(), "-e".to_owned(), format!("trace={}", CALLS.join(","))];
    assert!(strace(test, place.dir(), &arguments));
    let mut threads: BTreeMap<(String, &str), u64> = BTreeMap::new();
    for line in fs::read_to_string(trace).unwrap().lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        if let Some(call) = CALLS.iter().find(|call| rest.trim_start().starts_with(&format!("{call}("))) {
            *threads.entry((thread.to_owned(), call)).or_default() += 1;
        }
    }
    let mut most = BTreeMap::new();
    for ((_, call), count) in threads {
        let call = CALLS.iter().find(|known| **known == call).unwrap();
        let so_far: &mut u64 = most.entry(*call).or_default();
        *so_far = count.max(*so_far);
    }
    most
}

fn scene() -> Place {
    let place = Place::on(Kind::Tmpfs).unwrap_or_else(Place::here);
    for name in NAMES {
        let resource = place.dir().join(name);
        fs::create_dir(&resource).unwrap();
        fs::write(resource.join("f"), "1").unwrap();
        fs::write(resource.join("gone"), "g").unwrap();
    }
    let repository = place.dir().join("b");
    git(&repository, &["init", "-q", "-b", "main"]);
    git(&repository, &["add", "-A"]);
    git(&repository, &["commit", "-q", "-m", "first"]);
    place
}

/// Whether each resource has its changes: all of its own, or none.
fn have(place: &Place, at: &str) -> [bool; 3] {
    NAMES.map(|name| {
        let resource = place.dir().join(name);
        let all = [
            fs::read(resource.join("f")).unwrap() == b"2",
            resource.join("new").exists(),
            !resource.join("gone").exists(),
        ];
        assert!(all == [true; 3] || all == [false; 3], "{at}: {name} is torn: {all:?}");
        all[0]
    })
}

/// What the kills found.
#[derive(Debug, Default)]
struct Seen {
    kills: u32,
    /// Some were committed and others not when the process died, as far as that can be seen without a call.
    in_between: u32,
    all: u32,
    none: u32,
}

fn after_a_kill(place: &Place, at: &str, seen: &mut Seen) {
    let torn = |name: &str| fs::read(place.dir().join(name).join("f")).unwrap() == b"2";
    let raw = NAMES.map(torn);
    seen.in_between += u32::from(raw.contains(&true) && raw.contains(&false));
    let manager = open(&place.dir().join("store")).unwrap();
    let sandboxes = Sandboxes::new(&manager);
    let ids: Vec<SandboxId> = sandboxes.list(&ctx()).unwrap().into_iter().map(|info| info.id).collect();
    // Anybody's next call.
    let all: Vec<_> = ids.iter().map(|id| sandboxes.attach(id, &ctx()).unwrap()).collect();
    let have = have(place, at);
    assert!(have == [true; 3] || have == [false; 3], "{at}: some are committed: {have:?}, before: {raw:?}");
    let is_all = have[0];
    *(if is_all { &mut seen.all } else { &mut seen.none }) += 1;
    let notes = place.dir().join("store/together");
    assert!(!notes.exists() || files_beneath(&notes).is_empty(), "{at}: a note is left");
    assert_eq!(manager.pending().unwrap(), [], "{at}");
    // Once more, by hand: what is there already is not committed again, and nothing is missing.
    assert_eq!(all.len(), 3, "{at}");
    for sandbox in &all {
        let left = sandbox.changes(&ctx()).unwrap();
        let left = left.iter().filter(|change| !change.path.is_root()).count();
        assert_eq!(left, if is_all { 0 } else { 3 }, "{at}: {}", sandbox.handle().resource().display());
        let report = sandbox.commit(&CommitOptions::default(), &ctx()).unwrap();
        assert!(report.committed, "{at}: {report:?}");
        assert_eq!(report.changes.iter().any(|c| !c.path.is_root()), !is_all, "{at}: {report:?}");
    }
    assert_eq!(self::have(place, at), [true; 3], "{at}");
    git(&place.dir().join("b"), &["fsck", "--strict"]);
    assert_eq!(manager.verify(None, &ctx()).unwrap().damaged, [], "{at}");
    drop(all);
    assert_eq!(sandboxes.cleanup_abandoned(&ctx()).unwrap().kept, [], "{at}");
}

#[test]
fn all_of_them_or_none() {
    if !Command::new("strace").arg("-V").output().is_ok_and(|o| o.status.success()) {
        return skip("no strace here");
    }
    let (before, all) = (counted("prepares"), counted("commits_all"));
    let mut seen = Seen::default();
    for call in CALLS {
        let total = all.get(call).copied().unwrap_or(0);
        let first = before.get(call).copied().unwrap_or(0) + 1;
        let step = (total.saturating_sub(first) / POINTS).max(1);
        for when in (first..=total).step_by(usize::try_from(step).unwrap()) {
            let place = scene();
            let arguments = ["-o", "/dev/null", "-e", &format!("trace={call}"), "-e"]
                .map(str::to_owned)
                .into_iter()
                .chain([format!("inject={call}:signal=SIGKILL:when={when}")])
                .collect::<Vec<_>>();
            if strace("commits_all", place.dir(), &arguments) {
                continue;
            }
            if !place.dir().join("prepared").exists() {
                continue;
            }
            seen.kills += 1;
            after_a_kill(&place, &format!("{call} {when} of {total}"), &mut seen);
        }
    }
    eprintln!("{seen:?}");
    assert!(seen.kills > 30 && seen.in_between > 8, "{seen:?}: is anything injected?");
    assert!(seen.all > 0 && seen.none > 0, "{seen:?}");
}
