//! Who keeps a sandbox, and what becomes of those that nobody does (S9).

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use turnback_core::SandboxId;
use turnback_engine::sandbox::{LeaseRequest, Owner, StrategyName};
use turnback_engine::{Code, SandboxOptions, Sandboxes};

use crate::common::place::open;
use crate::common::process::{child, task};
use crate::place::{Place, changes, ctx};

fn owners(place: &Place) -> Vec<(Owner, Option<bool>)> {
    place.sandboxes.list(&ctx()).unwrap().into_iter().map(|info| (info.owner, info.unsaved)).collect()
}

/// A process that holds a sandbox until its input ends.
fn holder(place: &Place) -> (Child, SandboxId) {
    let mut process = child("leases::holds_one", place.dir())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let id = lines.map_while(Result::ok).find_map(|line| Some(line.split("held ").nth(1)?.trim().to_owned()));
    (process, id.unwrap().parse().unwrap())
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn holds_one() {
    let Some(directory) = task() else { return };
    let manager = open(&directory.join("store")).unwrap();
    let sandboxes = Sandboxes::new(&manager);
    let sandbox = sandboxes.create(&SandboxOptions::new(directory.join("work")), &ctx()).unwrap();
    println!("held {}", sandbox.handle().id());
    std::io::stdout().flush().unwrap();
    let _end = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn a_live_holder_keeps_it_and_a_dead_one_does_not() {
    let place = Place::here();
    place.write("f", "x");
    let (mut process, id) = holder(&place);
    assert_eq!(owners(&place), [(Owner::Alive, Some(false))]);
    assert_eq!(place.sandboxes.cleanup_abandoned(&ctx()).unwrap(), Default::default());
    // Held by both: still kept when the first one dies.
    let ours = place.sandboxes.attach(&id, &ctx()).unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    assert_eq!(owners(&place), [(Owner::ThisProcess, Some(false))]);
    assert_eq!(place.sandboxes.cleanup_abandoned(&ctx()).unwrap(), Default::default());
    assert_eq!(changes(&ours), []);
    let path = ours.handle().path().to_owned();
    drop(ours);
    assert_eq!(owners(&place), [(Owner::Orphan, Some(false))]);
    let report = place.sandboxes.cleanup_abandoned(&ctx()).unwrap();
    assert_eq!((report.removed, report.kept.len()), (vec![id], 0));
    assert!(!path.exists());
    place.is_clean(0);
}

/// What another thread starts has this process's locks open for a moment, and keeps nothing by that.
#[test]
fn what_is_started_meanwhile_holds_nothing() {
    let place = Place::here();
    place.write("f", "x");
    drop(place.create());
    let is_over = AtomicBool::new(false);
    let seen: Vec<_> = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                drop(Command::new("true").status());
            }
        });
        let seen = (0..300).map(|_| place.sandboxes.list(&ctx())).collect();
        is_over.store(true, Ordering::Relaxed);
        seen
    });
    for (round, listed) in seen.into_iter().enumerate() {
        let info = &listed.unwrap()[0];
        assert_eq!((info.owner, info.unsaved), (Owner::Orphan, Some(false)), "round {round}");
    }
    assert_eq!(place.sandboxes.cleanup_abandoned(&ctx()).unwrap().removed.len(), 1);
    place.is_clean(0);
}

#[test]
fn an_orphan_with_unsaved_work_is_kept_and_can_be_taken_up_again() {
    let place = Place::here();
    place.write("f", "x");
    let (mut process, id) = holder(&place);
    let path = place.sandboxes.list(&ctx()).unwrap()[0].about.clone().unwrap().path;
    process.kill().unwrap();
    process.wait().unwrap();
    fs::write(path.join("f"), "work").unwrap();
    assert_eq!(owners(&place), [(Owner::Orphan, Some(true))]);
    let report = place.sandboxes.cleanup_abandoned(&ctx()).unwrap();
    assert_eq!(report.removed, []);
    assert_eq!(report.kept[0].id, id);
    assert!(report.kept[0].reason.contains("unsaved work"), "{report:?}");
    assert_eq!(fs::read(path.join("f")).unwrap(), b"work");
    // What cannot be compared any more is kept as well.
    let baseline = place.manager.list(Some(&id)).unwrap().checkpoints[0].checkpoint.checkpoint_id;
    place.manager.delete(baseline).unwrap();
    assert_eq!(owners(&place), [(Owner::Orphan, None)]);
    let report = place.sandboxes.cleanup_abandoned(&ctx()).unwrap();
    assert!(report.removed.is_empty() && report.kept[0].reason.contains("cannot be told"), "{report:?}");
    // S10: and can still be saved and cleaned up.
    let sandbox = place.sandboxes.attach(&id, &ctx()).unwrap();
    assert_eq!(sandbox.cleanup(false, &ctx()).unwrap_err().code(), Code::UnsavedWork);
    let saved = sandbox.cleanup(true, &ctx()).unwrap().saved_checkpoint_id.unwrap();
    let work = place.manager.read_file(saved, &crate::common::place::rel("f")).unwrap();
    assert_eq!(work, b"work");
    place.is_clean(1);
}

#[test]
fn a_detached_one_is_kept_until_its_time_has_passed() {
    let place = Place::here();
    place.write("f", "x");
    let create = |time| {
        let lease = LeaseRequest::Detached(time);
        let sandbox = place.sandboxes.create(&SandboxOptions { lease, ..place.options() }, &ctx()).unwrap();
        sandbox.handle().id().clone()
    };
    let kept = create(Duration::from_secs(3600));
    let ended = create(Duration::ZERO);
    let by_id: std::collections::BTreeMap<_, _> =
        place.sandboxes.list(&ctx()).unwrap().into_iter().map(|info| (info.id, info.owner)).collect();
    assert_eq!((by_id[&kept], by_id[&ended]), (Owner::Detached, Owner::Orphan));
    let report = place.sandboxes.cleanup_abandoned(&ctx()).unwrap();
    assert_eq!(report.removed, [ended]);
    assert_eq!(owners(&place), [(Owner::Detached, Some(false))]);
    // A command line comes back to it by its id.
    let again = place.sandboxes.attach(&kept, &ctx()).unwrap();
    assert_eq!(owners(&place), [(Owner::ThisProcess, Some(false))]);
    again.enter(&ctx()).unwrap();
    drop(again);
    assert_eq!(owners(&place), [(Owner::Detached, Some(false))]);
}

/// From the call on, and never for shorter than before; it counts when nobody holds the sandbox any more, of whatever strategy.
#[test]
fn a_lease_is_prolonged() {
    let place = Place::here();
    place.write("f", "x");
    let hour = Duration::from_secs(3600);
    for strategy in [StrategyName::None, StrategyName::CopyOnWrite] {
        let until = || place.sandboxes.list(&ctx()).unwrap()[0].about.clone().unwrap().detached_until;
        for lease in [LeaseRequest::Held, LeaseRequest::Detached(Duration::ZERO)] {
            let options = SandboxOptions { lease, strategy, ..place.options() };
            let sandbox = place.sandboxes.create(&options, &ctx()).unwrap();
            let id = sandbox.handle().id().clone();
            assert_eq!(until().is_some(), lease != LeaseRequest::Held);
            let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + hour;
            let first = sandbox.keep_for(hour, &ctx()).unwrap();
            assert!(u128::from(first.as_u64()) >= before.as_millis());
            assert_eq!(until(), Some(first));
            assert_eq!(
                sandbox.keep_for(Duration::from_secs(1), &ctx()).unwrap(),
                first,
                "it never ends sooner"
            );
            let second = sandbox.keep_for(2 * hour, &ctx()).unwrap();
            assert!(second > first && until() == Some(second));
            assert_eq!(owners(&place), [(Owner::ThisProcess, Some(false))]);
            // Looking, working and going on leave it as it is.
            sandbox.enter(&ctx()).unwrap();
            assert_eq!(until(), Some(second));
            drop(sandbox);
            assert_eq!(owners(&place), [(Owner::Detached, Some(false))]);
            assert_eq!(place.sandboxes.cleanup_abandoned(&ctx()).unwrap(), Default::default());
            let sandbox = place.sandboxes.attach(&id, &ctx()).unwrap();
            sandbox.cleanup(false, &ctx()).unwrap();
            assert_eq!(sandbox.keep_for(hour, &ctx()).unwrap_err().code(), Code::IllegalTransition);
            place.is_clean(0);
        }
    }
}

/// Several processes clean up at once, while others come back to the very same sandboxes.
#[test]
fn who_comes_back_and_who_cleans_up() {
    let place = Place::here();
    place.write("f", "x");
    for _ in 0..12 {
        let id = {
            let sandbox = place.create();
            sandbox.handle().id().clone()
        };
        let (attached, removed) = std::thread::scope(|scope| {
            let back = scope.spawn(|| place.sandboxes.attach(&id, &ctx()));
            let cleaners: Vec<_> =
                (0..2).map(|_| scope.spawn(|| place.sandboxes.cleanup_abandoned(&ctx()).unwrap())).collect();
            let removed: usize = cleaners.into_iter().map(|c| c.join().unwrap().removed.len()).sum();
            (back.join().unwrap(), removed)
        });
        match attached {
            Ok(sandbox) => {
                assert_eq!(removed, 0, "one that is held was removed");
                assert!(sandbox.handle().path().join("f").exists());
                sandbox.cleanup(false, &ctx()).unwrap();
            }
            Err(error) => {
                assert_eq!(error.code(), Code::NotFound, "{error}");
                assert_eq!(removed, 1);
            }
        }
        place.is_clean(0);
    }
}
