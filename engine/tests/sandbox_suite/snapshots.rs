//! Snapshots of btrfs subvolumes (S5, W6): when they are taken, what becomes of the frozen one, and that they go, also without rights.

use std::fs;
use std::path::PathBuf;

use turnback_engine::probe::sandbox_mechanisms;
use turnback_engine::sandbox::{Mechanism, MechanismChoice, StrategyName};
use turnback_engine::{Code, SandboxOptions, Sandboxes};

use crate::common::picture::{Tree, same};
use crate::common::place::{noise, open};
use crate::common::process::{as_nobody, run, skip, task};
use crate::ground::{Kind, subvolume};
use crate::place::{Place, changes, ctx};

/// The directories in the private one around a sandbox.
fn beside(sandbox: &dyn turnback_engine::Sandbox) -> Vec<String> {
    let holder = sandbox.handle().path().parent().unwrap();
    let mut names: Vec<_> =
        fs::read_dir(holder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_baseline_is_pictured_when_it_is_needed() {
    let Some(place) = Place::on(Kind::Subvolume) else { return };
    place.write("d/f", "1");
    let sandbox = place.create();
    assert_eq!(sandbox.handle().mechanism(), Some(Mechanism::Btrfs));
    assert_eq!(place.manager.list(None).unwrap().checkpoints.len(), 0);
    assert_eq!(beside(&*sandbox), ["work", "work.frozen"]);
    // Nobody changes what it will be pictured from.
    let frozen = sandbox.handle().path().with_file_name("work.frozen");
    assert!(fs::write(frozen.join("d/f"), "x").is_err());
    let path = sandbox.enter(&ctx()).unwrap();
    assert_eq!(beside(&*sandbox).len(), 2, "using it needs no baseline");
    fs::write(path.join("d/f"), "2").unwrap();
    assert_eq!(changes(&sandbox), [("d/f".to_owned(), "modified")]);
    assert_eq!(beside(&*sandbox), ["work"], "the frozen one is not needed any more");
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
    same(&Tree::of(&path), &place.tree());
}

/// A snapshot leaves subvolumes inside empty: then it is no copy.
#[test]
fn not_of_a_resource_with_subvolumes_inside() {
    let Some(place) = Place::on(Kind::Subvolume) else { return };
    place.write("d/f", noise(1, 100_000));
    subvolume(&place.resource().join("d/inner"));
    place.write("d/inner/deep", "1");
    let btrfs = place.with(StrategyName::CopyOnWrite, MechanismChoice::Btrfs);
    let error = place.sandboxes.create(&btrfs, &ctx()).unwrap_err();
    assert_eq!(error.code(), Code::UnsupportedFilesystem);
    assert!(error.to_string().contains("subvolumes inside"), "{error}");
    place.is_clean(0);
    let found = sandbox_mechanisms(&place.resource(), &place.dir().join("store")).unwrap();
    assert_eq!((found[0].name, found[0].ok, found[1].ok), ("btrfs", false, true), "{found:?}");
    let sandbox = place.create();
    assert_eq!(sandbox.handle().mechanism(), Some(Mechanism::Reflink));
    assert_eq!(fs::read(sandbox.handle().path().join("d/inner/deep")).unwrap(), b"1");
}

/// What the agent makes of subvolumes in its sandbox goes with it.
#[test]
fn subvolumes_in_the_sandbox_go_with_it() {
    let Some(place) = Place::on(Kind::Subvolume) else { return };
    place.write("f", "1");
    let sandbox = place.create();
    let path = sandbox.enter(&ctx()).unwrap();
    subvolume(&path.join("inner"));
    fs::write(path.join("inner/f"), "x").unwrap();
    assert!(changes(&sandbox).contains(&("inner/f".to_owned(), "added")));
    sandbox.cleanup(true, &ctx()).unwrap();
    place.is_clean(1);
}

#[test]
fn doctor_says_that_they_can_be_taken() {
    let Some(place) = Place::on(Kind::Subvolume) else { return };
    place.write("f", "1");
    let found = sandbox_mechanisms(&place.resource(), &place.dir().join("store")).unwrap();
    assert_eq!((found[0].name, found[0].ok), ("btrfs", true));
    assert!(found[0].detail.contains("snapshots"), "{found:?}");
}

/// A limit of paths needs a count.
#[test]
fn not_under_a_limit_of_paths() {
    let Some(place) = Place::on(Kind::Subvolume) else { return };
    place.write("f", "1");
    let limited =
        |asked| SandboxOptions { max_files: Some(1_000), ..place.with(StrategyName::CopyOnWrite, asked) };
    let error = place.sandboxes.create(&limited(MechanismChoice::Btrfs), &ctx()).unwrap_err();
    assert_eq!(error.code(), Code::UnsupportedFilesystem);
    let sandbox = place.sandboxes.create(&limited(MechanismChoice::Auto), &ctx()).unwrap();
    assert_eq!(sandbox.handle().mechanism(), Some(Mechanism::Reflink));
}

/// An ordinary user may take a snapshot and not remove it at once.
#[test]
fn as_an_ordinary_user() {
    let Some(place) = Place::on(Kind::Subvolume) else { return };
    place.write("d/f", "1");
    let given =
        std::process::Command::new("chown").args(["-R", "65534:65534"]).arg(place.resource()).status();
    assert!(given.unwrap().success());
    fs::remove_dir_all(place.dir().join("store")).unwrap();
    run(as_nobody("snapshots::takes_one_and_cleans_up", place.dir()));
}

#[test]
#[ignore = "run by its parent as another user"]
fn takes_one_and_cleans_up() {
    let Some(directory) = task() else { return };
    let manager = open(&directory.join("store")).unwrap();
    let sandboxes = Sandboxes::new(&manager);
    let sandbox = sandboxes.create(&SandboxOptions::new(directory.join("work")), &ctx()).unwrap();
    assert_eq!(sandbox.handle().mechanism(), Some(Mechanism::Btrfs));
    let path = sandbox.enter(&ctx()).unwrap();
    fs::write(path.join("d/f"), "2").unwrap();
    assert_eq!(changes(&sandbox), [("d/f".to_owned(), "modified")]);
    assert_eq!(
        beside(&*sandbox),
        ["work", "work.frozen"],
        "only root removes it at once: it goes with the rest"
    );
    sandbox.cleanup(true, &ctx()).unwrap();
    assert!(!path.parent().unwrap().exists());
    // One that nobody ever used.
    let holder: PathBuf = {
        let unused = sandboxes.create(&SandboxOptions::new(directory.join("work")), &ctx()).unwrap();
        unused.handle().path().parent().unwrap().to_owned()
    };
    assert_eq!(sandboxes.cleanup_abandoned(&ctx()).unwrap().removed.len(), 1);
    assert!(!holder.exists());
}

/// `kill -9` between any two calls leaves nothing that nobody lists, and no snapshot (S9).
#[test]
fn killed_while_it_is_made() {
    if !std::process::Command::new("strace").arg("-V").output().is_ok_and(|o| o.status.success()) {
        return skip("no strace here");
    }
    let Some(place) = Place::on(Kind::Subvolume) else { return };
    place.write("d/f", "1");
    let before = place.tree();
    let mut kills = 0;
    for call in ["ioctl", "mkdirat", "rename", "renameat", "unlinkat", "fchmod", "flock", "pwrite64"] {
        for n in 1..60 {
            let mut command = std::process::Command::new("strace");
            let inject = format!("inject={call}:signal=SIGKILL:when={n}");
            command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject]);
            command.arg(std::env::current_exe().unwrap());
            command.args(["--ignored", "--exact", "killed::creates_and_cleans_up_once", "--test-threads=1"]);
            command.env(crate::common::process::TASK, place.dir());
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
            let is_through = command.status().unwrap().success();
            crate::killed::is_recovered(&place, &before);
            if is_through {
                break;
            }
            kills += 1;
        }
    }
    eprintln!("{kills} kills");
    assert!(kills > 20, "{kills}: is anything injected?");
}
