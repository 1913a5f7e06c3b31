//! The sandboxes of plans (S11).

use std::collections::BTreeSet;
use std::fs;

use turnback_core::PlanId;
use turnback_engine::sandbox::{MechanismChoice, StrategyName};
use turnback_engine::{Code, SandboxManager, SandboxOptions};

use crate::place::{Place, changes, ctx};

fn plan(name: &str) -> PlanId {
    name.parse().unwrap()
}

#[test]
fn one_for_each_plan_and_resource() {
    let place = Place::here();
    place.write("f", "x");
    let other = place.dir().join("other");
    fs::create_dir(&other).unwrap();
    let plans = SandboxManager::new(&place.manager);
    let get = |name: &str, path: &std::path::Path| {
        plans.get_or_create(&plan(name), &SandboxOptions::new(path), &ctx()).unwrap()
    };
    let first = get("p", &place.resource());
    assert_eq!(first.handle().plan_id().map(ToString::to_string), Some("p".to_owned()));
    // The same, however the resource is written.
    assert_eq!(get("p", &place.resource().join("../work")).handle().id(), first.handle().id());
    assert_ne!(get("q", &place.resource()).handle().id(), first.handle().id());
    assert_ne!(get("p", &other).handle().id(), first.handle().id());
    assert_eq!(plans.of_plan(&plan("p")).len(), 2);
    // One that is gone is made anew.
    first.cleanup(false, &ctx()).unwrap();
    assert_ne!(get("p", &place.resource()).handle().id(), first.handle().id());
}

/// F19, S5: never another isolation than the one asked for.
#[test]
fn another_isolation_is_refused() {
    let place = Place::here();
    place.write("f", "x");
    let plans = SandboxManager::new(&place.manager);
    let ask = |strategy, mechanism| {
        plans
            .get_or_create(&plan("p"), &place.with(strategy, mechanism), &ctx())
            .map(|s| s.handle().id().clone())
    };
    let copy = ask(StrategyName::CopyOnWrite, MechanismChoice::Copy).unwrap();
    assert_eq!(ask(StrategyName::CopyOnWrite, MechanismChoice::Copy).unwrap(), copy);
    assert_eq!(ask(StrategyName::CopyOnWrite, MechanismChoice::Auto).unwrap(), copy);
    let others = [
        (StrategyName::CopyOnWrite, MechanismChoice::Reflink, "mechanism `copy`"),
        (StrategyName::CopyOnWrite, MechanismChoice::Btrfs, "mechanism `copy`"),
        (StrategyName::None, MechanismChoice::Auto, "strategy `copy_on_write`"),
        (StrategyName::GitWorktree, MechanismChoice::Auto, "strategy `copy_on_write`"),
    ];
    for (strategy, mechanism, held) in others {
        let error = ask(strategy, mechanism).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument, "{error}");
        assert!(error.to_string().contains(held) && error.to_string().contains(copy.as_str()), "{error}");
    }
    plans.of_plan(&plan("p"))[0].cleanup(false, &ctx()).unwrap();
    // What is not isolated is never given to somebody who asks for a copy.
    ask(StrategyName::None, MechanismChoice::Auto).unwrap();
    let error = ask(StrategyName::CopyOnWrite, MechanismChoice::Auto).unwrap_err();
    assert!(error.to_string().contains("strategy `none`"), "{error}");
}

#[test]
fn asked_for_by_many_at_once() {
    let place = Place::here();
    place.write("f", "x");
    let plans = SandboxManager::new(&place.manager);
    let ids: BTreeSet<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let sandbox = plans.get_or_create(&plan("p"), &place.options(), &ctx()).unwrap();
                    sandbox.handle().id().clone()
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(ids.len(), 1);
    assert_eq!(place.sandboxes.list(&ctx()).unwrap().len(), 1);
}

#[test]
fn all_of_a_plan() {
    let place = Place::here();
    let mut all = Vec::new();
    let plans = SandboxManager::new(&place.manager);
    for name in ["a", "b", "c"] {
        let resource = place.dir().join(name);
        fs::create_dir(&resource).unwrap();
        fs::write(resource.join("f"), "1").unwrap();
        let sandbox = plans.get_or_create(&plan("p"), &SandboxOptions::new(&resource), &ctx()).unwrap();
        fs::write(sandbox.enter(&ctx()).unwrap().join("f"), "2").unwrap();
        all.push(sandbox);
    }
    let other = plans.get_or_create(&plan("q"), &place.options(), &ctx()).unwrap();
    fs::write(other.enter(&ctx()).unwrap().join("g"), "2").unwrap();
    // Work in the way: nothing is lost, and they stay with the plan.
    assert!(
        plans
            .cleanup_all(&plan("p"), false, &ctx())
            .iter()
            .all(|answer| { answer.as_ref().is_err_and(|error| error.code() == Code::UnsavedWork) })
    );
    assert_eq!(plans.of_plan(&plan("p")).len(), 3);
    let answers = plans.rollback_all(&plan("p"), &ctx());
    assert!(answers.len() == 3 && answers.iter().all(|r| r.as_ref().unwrap().restored));
    assert!(all.iter().all(|sandbox| changes(sandbox).is_empty()));
    assert_eq!(changes(&other), [("g".to_owned(), "added")], "another plan's stays as it is");
    assert!(plans.cleanup_all(&plan("p"), false, &ctx()).iter().all(Result::is_ok));
    assert!(plans.of_plan(&plan("p")).is_empty());
    assert_eq!(plans.of_plan(&plan("q")).len(), 1);
}
