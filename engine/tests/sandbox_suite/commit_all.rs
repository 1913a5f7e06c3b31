//! Committing all of a plan, or nothing (S11).

use std::fs;
use std::sync::Arc;

use turnback_core::SandboxStatus::{Active, Committed, RolledBack};
use turnback_core::{Phase, PlanId};
use turnback_engine::sandbox::{CommitOptions, OnCommitConflict, StrategyName};
use turnback_engine::{Code, Sandbox, SandboxManager, SandboxOptions};

use crate::commit::{conflicts, put};
use crate::common::picture::{Tree, same};
use crate::common::process::{Mount, skip};
use crate::place::{Place, ctx};

fn plan() -> PlanId {
    "p".parse().unwrap()
}

/// Three resources `a`, `b`, `c`, each with a changed sandbox.
fn three(place: &Place, plans: &SandboxManager) -> Vec<Arc<dyn Sandbox>> {
    ["a", "b", "c"].map(|name| one(place, plans, name, StrategyName::CopyOnWrite)).into()
}

fn one(place: &Place, plans: &SandboxManager, name: &str, strategy: StrategyName) -> Arc<dyn Sandbox> {
    let resource = place.dir().join(name);
    fs::create_dir(&resource).unwrap();
    fs::write(resource.join("f"), "1").unwrap();
    let options = SandboxOptions { strategy, ..SandboxOptions::new(&resource) };
    let sandbox = plans.get_or_create(&plan(), &options, &ctx()).unwrap();
    if strategy != StrategyName::None {
        put(&sandbox, "f", "2");
    }
    sandbox
}

fn read(place: &Place, name: &str) -> String {
    fs::read_to_string(place.dir().join(name).join("f")).unwrap()
}

#[test]
fn all_of_them() {
    let place = Place::here();
    let plans = SandboxManager::new(&place.manager);
    let all = three(&place, &plans);
    let reports = plans.commit_all(&plan(), &CommitOptions::default(), &ctx()).unwrap();
    assert!(reports.len() == 3 && reports.iter().all(|report| report.committed));
    assert_eq!(["a", "b", "c"].map(|name| read(&place, name)), ["2", "2", "2"]);
    assert!(all.iter().all(|sandbox| sandbox.handle().status().unwrap() == Committed));
}

/// All conflicts are found before anything is written.
#[test]
fn or_none_of_them() {
    let place = Place::here();
    let plans = SandboxManager::new(&place.manager);
    let all = three(&place, &plans);
    for name in ["b", "c"] {
        fs::write(place.dir().join(name).join("f"), "host").unwrap();
    }
    let before = ["a", "b", "c"].map(|name| Tree::of(&place.dir().join(name)));
    let reports = plans.commit_all(&plan(), &CommitOptions::default(), &ctx()).unwrap();
    assert!(
        reports.len() == 3 && reports.iter().all(|report| !report.committed && report.changes.is_empty())
    );
    assert_eq!(conflicts(&reports[0]), Vec::<String>::new());
    assert_eq!([conflicts(&reports[1]), conflicts(&reports[2])], [["f"], ["f"]]);
    for (name, before) in ["a", "b", "c"].iter().zip(before) {
        same(&Tree::of(&place.dir().join(name)), &before);
    }
    // Not even for a moment: nothing was committed that had to be taken back.
    assert!(all.iter().all(|sandbox| sandbox.handle().status().unwrap() == Active));
    let phases: Vec<_> =
        place.manager.list(None).unwrap().checkpoints.iter().map(|c| c.checkpoint.phase).collect();
    assert!(!phases.contains(&Phase::PreApply), "{phases:?}");
    // The work is there, and goes through when the conflicts are settled.
    for name in ["b", "c"] {
        fs::write(place.dir().join(name).join("f"), "1").unwrap();
    }
    assert!(
        plans.commit_all(&plan(), &CommitOptions::default(), &ctx()).unwrap().iter().all(|r| r.committed)
    );
    assert_eq!(["a", "b", "c"].map(|name| read(&place, name)), ["2", "2", "2"]);
}

/// With a side to take there is nothing to stop for.
#[test]
fn conflicts_that_are_decided_stop_nothing() {
    let place = Place::here();
    let plans = SandboxManager::new(&place.manager);
    three(&place, &plans);
    fs::write(place.dir().join("b/f"), "host").unwrap();
    let options = CommitOptions { on_conflict: OnCommitConflict::Theirs, ..CommitOptions::default() };
    let reports = plans.commit_all(&plan(), &options, &ctx()).unwrap();
    assert!(reports.iter().all(|report| report.committed));
    assert_eq!(["a", "b", "c"].map(|name| read(&place, name)), ["2", "host", "2"]);
}

#[test]
fn what_is_missing_is_found_before_anything_is_written() {
    let place = Place::here();
    let plans = SandboxManager::new(&place.manager);
    three(&place, &plans);
    fs::remove_dir_all(place.dir().join("c")).unwrap();
    let error = plans.commit_all(&plan(), &CommitOptions::default(), &ctx()).unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    assert_eq!(["a", "b"].map(|name| read(&place, name)), ["1", "1"]);
    let listed = place.manager.list(None).unwrap().checkpoints;
    assert!(listed.iter().all(|c| c.checkpoint.phase != Phase::PreApply));
}

/// What only the writing itself shows, here a file system without room, takes those before it back.
#[test]
fn a_failure_takes_the_others_back() {
    if !crate::common::place::is_root() {
        return skip("only root mounts (a full file system)");
    }
    let place = Place::here();
    let plans = SandboxManager::new(&place.manager);
    let (a, b) = (
        one(&place, &plans, "a", StrategyName::CopyOnWrite),
        one(&place, &plans, "b", StrategyName::CopyOnWrite),
    );
    let full = place.dir().join("c");
    fs::create_dir(&full).unwrap();
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs"], &full) else {
        return skip("tmpfs cannot be mounted here (a full file system)");
    };
    fs::write(full.join("f"), "1").unwrap();
    let sandbox = plans.get_or_create(&plan(), &SandboxOptions::new(&full), &ctx()).unwrap();
    put(&sandbox, "large", "x".repeat(1 << 20));
    let error = plans.commit_all(&plan(), &CommitOptions::default(), &ctx()).unwrap_err();
    assert_eq!(error.code(), Code::DiskFull, "{error}");
    let undone = error.details().iter().find(|(name, _)| *name == "undone").unwrap().1.clone();
    assert_eq!(undone, format!("{}\n{}", b.handle().id(), a.handle().id()), "the last one first");
    assert_eq!(["a", "b", "c"].map(|name| read(&place, name)), ["1", "1", "1"]);
    assert_eq!(a.handle().status().unwrap(), RolledBack);
    assert!(!place.dir().join("store/together").read_dir().unwrap().any(|_| true), "a note is left");
    // The work is still there.
    fs::remove_file(sandbox.handle().path().join("large")).unwrap();
    let reports = plans.commit_all(&plan(), &CommitOptions::default(), &ctx()).unwrap();
    assert!(reports.iter().all(|report| report.committed));
    assert_eq!(["a", "b"].map(|name| read(&place, name)), ["2", "2"]);
}

/// What cannot be undone is said before anything is written.
#[test]
fn none_is_said_first() {
    let place = Place::here();
    let plans = SandboxManager::new(&place.manager);
    one(&place, &plans, "a", StrategyName::CopyOnWrite);
    one(&place, &plans, "z", StrategyName::None);
    let before = Tree::of(&place.dir().join("a"));
    let error = plans.commit_all(&plan(), &CommitOptions::default(), &ctx()).unwrap_err();
    assert_eq!(error.code(), Code::NotUndoable);
    same(&Tree::of(&place.dir().join("a")), &before);
}
