//! Committing all of a plan, or nothing (S11).

use std::fs;
use std::sync::Arc;

use turnback_core::PlanId;
use turnback_core::SandboxStatus::{Committed, RolledBack};
use turnback_engine::sandbox::{CommitOptions, StrategyName};
use turnback_engine::{Code, Sandbox, SandboxManager, SandboxOptions};

use crate::commit::{conflicts, put};
use crate::common::picture::{Tree, same};
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

/// One has a conflict: those before it are taken back.
#[test]
fn or_none_of_them() {
    let place = Place::here();
    let plans = SandboxManager::new(&place.manager);
    let all = three(&place, &plans);
    fs::write(place.dir().join("b/f"), "host").unwrap();
    let before = ["a", "b", "c"].map(|name| Tree::of(&place.dir().join(name)));
    let reports = plans.commit_all(&plan(), &CommitOptions::default(), &ctx()).unwrap();
    assert!(
        reports.len() == 3 && reports.iter().all(|report| !report.committed && report.changes.is_empty())
    );
    assert_eq!(conflicts(&reports[1]), ["f"]);
    for (name, before) in ["a", "b", "c"].iter().zip(before) {
        same(&Tree::of(&place.dir().join(name)), &before);
    }
    assert_eq!(all[0].handle().status().unwrap(), RolledBack);
    // The work is there, and goes through when the conflict is settled.
    fs::write(place.dir().join("b/f"), "1").unwrap();
    assert!(
        plans.commit_all(&plan(), &CommitOptions::default(), &ctx()).unwrap().iter().all(|r| r.committed)
    );
    assert_eq!(["a", "b", "c"].map(|name| read(&place, name)), ["2", "2", "2"]);
}

#[test]
fn a_failure_takes_the_others_back() {
    let place = Place::here();
    let plans = SandboxManager::new(&place.manager);
    let all = three(&place, &plans);
    fs::remove_dir_all(place.dir().join("c")).unwrap();
    let error = plans.commit_all(&plan(), &CommitOptions::default(), &ctx()).unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    let undone = error.details().iter().find(|(name, _)| *name == "undone").unwrap().1.clone();
    assert_eq!(undone, format!("{}\n{}", all[1].handle().id(), all[0].handle().id()));
    assert_eq!(["a", "b"].map(|name| read(&place, name)), ["1", "1"]);
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
