//! The byte cap, which is never passed, and the room that is left on the disk (C16, F1, F6).

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::fs::FlockOperation;
use turnback_core::{CheckpointId, Phase};
use turnback_engine::model::Sink as _;
use turnback_engine::store::{Budget, Draft, Layout, PackSet};
use turnback_engine::{
    Code, Context, CreateRequest, Durability, Manager, OnFull, OpenOptions, Removals, RevertRequest,
    StoreLocation,
};

use crate::common::picture::same;
use crate::common::place::{Place, code, exact, noise, request};
use crate::common::process::{Mount, child, skip, task};

fn capped(store: &Path, max_bytes: u64, on_full: OnFull) -> Manager {
    Manager::open(OpenOptions {
        store: StoreLocation::Path(store.to_owned()),
        durability: Some(Durability::Process),
        max_bytes: Some(max_bytes),
        on_full,
        ..OpenOptions::default()
    })
    .unwrap()
}

fn automatic() -> CreateRequest {
    CreateRequest::new("plan".parse().unwrap(), Phase::PreBatch)
}

fn create(manager: &Manager, at: &Path, request: CreateRequest) -> turnback_engine::Result<CheckpointId> {
    manager.create(at, request, &Context::default()).map(|c| c.checkpoint_id)
}

#[test]
fn by_default_a_fifth_of_the_disk() {
    let directory = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=40m,mode=0700", "tmpfs"], directory.path())
    else {
        return skip("mounting is not permitted here");
    };
    let options = |max_bytes| OpenOptions {
        store: StoreLocation::Path(directory.path().join("s")),
        max_bytes,
        ..OpenOptions::default()
    };
    let manager = Manager::open(options(None)).unwrap();
    assert_eq!(manager.usage().unwrap().max_bytes, 8 << 20);
    let small = Manager::open(options(Some(1 << 20))).unwrap();
    assert_eq!(small.usage().unwrap().max_bytes, 1 << 20);
    assert_eq!(code(Manager::open(options(Some(10)))), Code::InvalidArgument);
}

#[test]
fn a_full_store_fails_and_leaves_nothing() {
    let place = Place::default();
    let manager = capped(&place.store(), 1 << 20, OnFull::Fail);
    place.write("a", noise(1, 300_000));
    let first = create(&manager, &place.root(), automatic()).unwrap();
    place.write("b", noise(2, 900_000));
    let files = place.store_files();
    let error = manager.create(&place.root(), request(), &Context::default()).unwrap_err();
    assert_eq!(error.code(), Code::StoreFull);
    assert!(error.advice().contains("maxBytes"));
    assert_eq!(place.store_files(), files);
    assert_eq!(place.ids(), [first]);
    place.write("b", noise(2, 200_000));
    create(&manager, &place.root(), request()).unwrap();
    place.verify_is_clean();
}

#[test]
fn the_oldest_automatic_ones_of_any_workspace_make_room() {
    let place = Place::default();
    let other = place.dir.path().join("other");
    fs::create_dir(&other).unwrap();
    let manager = capped(&place.store(), 2 << 20, OnFull::Prune);
    let step = |at: &Path, seed: u64, request: CreateRequest| {
        fs::write(at.join("file"), noise(seed, 300_000)).unwrap();
        create(&manager, at, request)
    };
    let by_hand = step(&place.root(), 1, request()).unwrap();
    let elsewhere = step(&other, 2, automatic()).unwrap();
    let pinned = step(&place.root(), 3, automatic()).unwrap();
    manager.set_pinned(pinned, true).unwrap();
    let labelled = step(&place.root(), 4, automatic()).unwrap();
    manager.set_label(labelled, Some("mine")).unwrap();
    let first = step(&place.root(), 5, automatic()).unwrap();
    let second = step(&place.root(), 6, automatic()).unwrap();
    assert_eq!(place.ids().len(), 6);
    // Other tests of this process remove some as well.
    let so_far = Removals::count();
    let third = step(&place.root(), 7, automatic()).unwrap();
    assert_eq!(place.ids(), [by_hand, pinned, labelled, first, second, third], "{elsewhere} was the oldest");
    let removed = Removals::since(so_far);
    assert!(removed.ids.contains(&elsewhere) && !removed.ids.contains(&first), "{removed:?} (G9)");
    assert_eq!(Removals::since(removed.count).ids.iter().find(|id| **id == elsewhere), None);
    let fourth = step(&place.root(), 8, request()).unwrap();
    assert_eq!(place.ids(), [by_hand, pinned, labelled, second, third, fourth]);
    let fifth = step(&place.root(), 9, request()).unwrap();
    let sixth = step(&place.root(), 10, request()).unwrap();
    assert_eq!(place.ids(), [by_hand, pinned, labelled, fourth, fifth, sixth]);
    let error = step(&place.root(), 11, request()).unwrap_err();
    assert_eq!(error.code(), Code::StoreFull, "nothing is left that nobody asked for");
    assert_eq!(place.ids(), [by_hand, pinned, labelled, fourth, fifth, sixth]);
    assert!(manager.usage().unwrap().store_bytes <= 2 << 20);
    manager.set_pinned(pinned, false).unwrap();
    step(&place.root(), 11, request()).unwrap();
    assert!(!place.ids().contains(&pinned));
    place.verify_is_clean();
    place.tmp_is_empty();
}

#[test]
fn nothing_goes_in_vain() {
    let place = Place::default();
    let manager = capped(&place.store(), 2 << 20, OnFull::Prune);
    place.write("a", noise(1, 300_000));
    let automatic = create(&manager, &place.root(), automatic()).unwrap();
    place.write("b", noise(2, 300_000));
    let by_hand = create(&manager, &place.root(), request()).unwrap();
    for size in [1_900_000, 9_000_000] {
        place.write("large", noise(3, size));
        assert_eq!(code(create(&manager, &place.root(), request())), Code::StoreFull);
        assert_eq!(place.ids(), [automatic, by_hand]);
        place.tmp_is_empty();
    }
    place.verify_is_clean();
}

#[test]
fn a_rollback_never_prunes_its_target() {
    let place = Place::default();
    let manager = capped(&place.store(), 2 << 20, OnFull::Prune);
    let turn = |seed: u64| {
        place.write("file", noise(seed, 400_000));
        create(&manager, &place.root(), automatic()).unwrap()
    };
    let target = turn(1);
    let then = place.tree();
    for seed in 2..5 {
        turn(seed);
    }
    place.write("file", noise(9, 400_000));
    let now = place.tree();
    let report = manager.rollback(target, exact(), &Context::default()).unwrap();
    same(&place.tree(), &then);
    let undo = report.undo_checkpoint_id.unwrap();
    assert!(place.ids().contains(&target) && place.ids().contains(&undo));
    assert!(place.ids().len() < 5, "room was made");
    manager.undo(undo, &Context::default()).unwrap();
    same(&place.tree(), &now);
    assert!(manager.usage().unwrap().store_bytes <= 2 << 20);
    place.verify_is_clean();
}

/// Fills a store with automatic checkpoints of another workspace until no further one of that size fits; the newest of them.
fn fill(place: &Place, manager: &Manager, seed: u64) -> CheckpointId {
    let other = place.dir.path().join("other");
    fs::create_dir_all(&other).unwrap();
    let turn = |seed| {
        fs::write(other.join("file"), noise(seed, 1_150_000)).unwrap();
        create(manager, &other, automatic()).unwrap()
    };
    turn(seed);
    turn(seed + 1);
    turn(seed + 2);
    // Less is left than a draft and a journal begin with.
    let left = CAP - manager.usage().unwrap().store_bytes;
    let rest = place.dir.path().join("rest");
    fs::create_dir_all(&rest).unwrap();
    fs::write(rest.join("file"), noise(seed + 3, left.saturating_sub(92 << 10) as usize)).unwrap();
    create(manager, &rest, automatic()).unwrap()
}

/// C5, C7, C16: what undoes a rollback, an undo or a revert takes more than a pack's buffer, and its journal takes room beside it. The
/// store is at its cap, and old automatic checkpoints make room for both.
#[test]
fn a_store_at_its_cap_turns_back() {
    let place = Place::default();
    let manager = capped(&place.store(), CAP, OnFull::Prune);
    let ctx = Context::default();
    place.write("file", noise(1, 1_150_000));
    let target = create(&manager, &place.root(), request()).unwrap();
    let then = place.tree();

    let automatic = fill(&place, &manager, 100);
    for i in 0..500 {
        place.write(&format!("d/{i}"), format!("{i}"));
    }
    place.write("file", noise(2, 1_150_000));
    let before = place.tree();
    let undo = manager.rollback(target, exact(), &ctx).unwrap().undo_checkpoint_id.unwrap();
    same(&place.tree(), &then);
    assert!(place.ids().contains(&automatic), "no more went than had to");

    manager.set_pinned(undo, true).unwrap();
    fill(&place, &manager, 200);
    place.write("file", noise(3, 1_150_000));
    let report = manager.undo(undo, &ctx).unwrap();
    same(&place.tree(), &before);
    manager.delete(report.undo_checkpoint_id.unwrap()).unwrap();
    manager.delete(undo).unwrap();

    place.write("turn", "done");
    place.write("file", noise(1, 1_150_000));
    let from = create(&manager, &place.root(), request()).unwrap();
    place.write("turn", "changed");
    let to = create(&manager, &place.root(), request()).unwrap();
    fill(&place, &manager, 300);
    place.write("mine", noise(4, 1_150_000));
    let report = manager.revert(from, to, RevertRequest::default(), &ctx).unwrap();
    assert!(report.restored);
    assert_eq!(fs::read(place.at("turn")).unwrap(), b"done");
    assert_eq!(fs::read(place.at("mine")).unwrap(), noise(4, 1_150_000));

    assert!(manager.usage().unwrap().store_bytes <= CAP);
    place.verify_is_clean();
    place.tmp_is_empty();
}

/// C16: where nothing may go by itself, the error says what has to be done, and that helps.
#[test]
fn what_a_full_store_advises_helps() {
    let place = Place::default();
    let manager = capped(&place.store(), CAP, OnFull::Prune);
    let ctx = Context::default();
    let turn = |seed| {
        place.write("file", noise(seed, 1_150_000));
        create(&manager, &place.root(), request()).unwrap()
    };
    let [oldest, middle, _] = [1, 2, 3].map(turn);
    place.write("file", noise(4, 1_150_000));
    let (ids, tree) = (place.ids(), place.tree());
    let error = manager.rollback(middle, exact(), &ctx).unwrap_err();
    assert_eq!(error.code(), Code::StoreFull);
    assert!(error.advice().contains("turnback delete"), "{error}");
    assert_eq!(place.ids(), ids);
    same(&place.tree(), &tree);
    manager.delete(oldest).unwrap();
    manager.rollback(middle, exact(), &ctx).unwrap();
    // No deletion makes room for more than the whole store.
    place.write("file", noise(5, 5_000_000));
    let error = manager.rollback(middle, exact(), &ctx).unwrap_err();
    assert_eq!(error.code(), Code::StoreFull);
    assert!(!error.advice().contains("delete") && error.advice().contains("maxBytes"), "{error}");
}

/// F1: after the first failed write every other one says the same.
#[test]
fn a_full_store_says_so_to_every_writer() {
    let place = Place::default();
    let layout = Layout::new(fs::canonicalize(place.store()).unwrap());
    let budget = Budget::new(layout.clone(), Some(1 << 20), OnFull::Fail).unwrap();
    let packs = PackSet::new(layout.clone());
    let draft = Draft::begin(&layout, &packs, &budget, Durability::Process).unwrap();
    let first = draft.put(&noise(1, 1_100_000)).unwrap_err();
    assert_eq!(first.code(), Code::StoreFull);
    let others = std::thread::scope(|scope| {
        let draft = &draft;
        let start = |seed| scope.spawn(move || draft.put(&noise(seed, 1000)).unwrap_err());
        [2, 3].map(start).map(|thread| thread.join().unwrap())
    });
    for error in others {
        assert_eq!(error.to_string(), first.to_string());
        assert_eq!((error.code(), error.details()), (first.code(), first.details()));
    }
}

#[test]
fn what_the_dead_had_taken_is_free() {
    let place = Place::default();
    let manager = capped(&place.store(), 1 << 20, OnFull::Fail);
    let taken = place.store().join("tmp").join("room-somebody-1000000");
    fs::write(&taken, "").unwrap();
    let alive = fs::File::open(&taken).unwrap();
    rustix::fs::flock(&alive, FlockOperation::LockExclusive).unwrap();
    place.write("a", "1");
    assert_eq!(code(create(&manager, &place.root(), request())), Code::StoreFull);
    drop(alive);
    create(&manager, &place.root(), request()).unwrap();
    place.tmp_is_empty();
}

/// Runs `watched`, and tells how many bytes were in use on a disk at most meanwhile.
fn most_in_use(disk: &Path, watched: impl FnOnce()) -> u64 {
    struct Ends<'a>(&'a AtomicBool);
    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    let most = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    let look = || {
        let fs = rustix::fs::statvfs(disk).unwrap();
        most.fetch_max((fs.f_blocks - fs.f_bfree) * fs.f_frsize, Ordering::AcqRel);
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                look();
            }
        });
        // Also when it panics.
        let _ends = Ends(&done);
        watched();
        look();
    });
    most.into_inner()
}

const CAP: u64 = 4 << 20;

#[test]
fn four_processes_at_once() {
    let disk = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=64m,mode=0700", "tmpfs"], disk.path()) else {
        return skip("mounting is not permitted here");
    };
    let store = disk.path().join("store");
    fs::create_dir(&store).unwrap();
    fs::set_permissions(&store, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(&store, dir.path().join("s")).unwrap();
    let place = Place::in_directory(dir);
    let most = most_in_use(disk.path(), || {
        let start = |_| child("cap::fills", place.dir.path()).stdout(Stdio::null()).spawn().unwrap();
        let children: Vec<_> = (0..4).map(start).collect();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
    });
    assert!(most <= CAP, "{most} bytes were in use");
    assert!(most > CAP / 2, "it was full: {most}");
    place.verify_is_clean();
    place.tmp_is_empty();
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn fills() {
    let Some(directory) = task() else { return };
    let own = directory.join(format!("w-{}", std::process::id()));
    fs::create_dir(&own).unwrap();
    let manager = capped(&directory.join("s"), CAP, OnFull::Prune);
    for round in 0..15 {
        let seed = u64::from(std::process::id()) * 100 + round;
        fs::write(own.join("a"), noise(seed, 250_000)).unwrap();
        fs::write(own.join("b"), noise(seed + 50, 70_000)).unwrap();
        create(&manager, &own, automatic()).unwrap();
    }
}

#[test]
fn the_disk_is_not_filled_to_the_last_byte() {
    let disk = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=8m,mode=0700", "tmpfs"], disk.path()) else {
        return skip("mounting is not permitted here");
    };
    let store = disk.path().join("store");
    fs::create_dir(&store).unwrap();
    fs::set_permissions(&store, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(&store, dir.path().join("s")).unwrap();
    let place = Place::in_directory(dir);
    place.write("a", "1");
    let first = place.create().checkpoint_id;
    for i in 0..64 {
        place.write(&format!("f{i}"), noise(i, 200_000));
    }
    let most = most_in_use(disk.path(), || {
        assert_eq!(code(place.try_create(request())), Code::DiskFull);
    });
    assert!(most <= (8 << 20) / 100 * 99, "{most} bytes were in use");
    assert_eq!(place.ids(), [first]);
    place.tmp_is_empty();
    for i in 34..64 {
        fs::remove_file(place.at(&format!("f{i}"))).unwrap();
    }
    let most = most_in_use(disk.path(), || {
        place.create();
    });
    assert!(most > 6 << 20, "what fits is written: {most}");
}
