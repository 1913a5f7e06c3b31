//! What the making of a sandbox leaves in the store: a stat cache of the resource, so that the first commit does not read all of it (W7),
//! and contents as they are, as long as there is ample room (W6).

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;

use turnback_engine::sandbox::{MechanismChoice, StrategyName};
use turnback_engine::{Durability, Manager, OpenOptions, Sandboxes, StoreLocation};

use crate::commit::{commit, put};
use crate::common::everything::set_mtime;
use crate::common::place::{let_clock_pass, noise};
use crate::common::process::{child, run, skip, task};
use crate::ground::Kind;
use crate::place::{Place, ctx};

const FILES: u64 = 40;
const LENGTH: usize = 200_000;

/// How many bytes this process read so far; who counts is a process of its own.
fn bytes_read() -> Option<u64> {
    let io = fs::read_to_string("/proc/self/io").ok()?;
    io.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok())
}

fn fill(place: &Place) {
    for i in 0..FILES {
        place.write(&format!("d{}/f{i}", i % 4), noise(i, LENGTH));
    }
    symlink("d0", place.resource().join("link")).unwrap();
    fs::hard_link(place.resource().join("d1/f1"), place.resource().join("d1/again")).unwrap();
    let_clock_pass(place.dir());
}

fn all_mechanisms() -> [(Kind, MechanismChoice); 5] {
    [
        (Kind::Here, MechanismChoice::Copy),
        (Kind::Ext4, MechanismChoice::Copy),
        (Kind::Xfs, MechanismChoice::Reflink),
        (Kind::Btrfs, MechanismChoice::Reflink),
        (Kind::Subvolume, MechanismChoice::Btrfs),
    ]
}

/// Runs a test that counts what its process reads.
fn counts(test: &str) {
    if bytes_read().is_none() {
        return skip("the system does not count what a process reads");
    }
    let dir = tempfile::tempdir().unwrap();
    let output = run(child(test, dir.path()));
    for line in String::from_utf8_lossy(&output.stderr).lines().filter(|line| line.starts_with("skipped: ")) {
        eprintln!("{line}");
    }
}

#[test]
fn the_first_commit_reads_nothing_that_did_not_change() {
    counts("learned::counts_a_first_commit");
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn counts_a_first_commit() {
    if task().is_none() {
        return;
    }
    for (kind, mechanism) in all_mechanisms() {
        let Some(place) = Place::on(kind) else { continue };
        fill(&place);
        let options = place.with(StrategyName::CopyOnWrite, mechanism);
        let sandbox = place.sandboxes.create(&options, &ctx()).unwrap();
        // A snapshot's baseline is pictured when it is first needed.
        assert!(sandbox.changes(&ctx()).unwrap().is_empty());
        put(&sandbox, "d0/f0", "changed");
        let before = bytes_read().unwrap();
        assert!(commit(&sandbox).committed);
        let read = bytes_read().unwrap() - before;
        assert!(read < FILES * LENGTH as u64 / 4, "{kind:?} {mechanism:?}: read {read} bytes");
        assert_eq!(fs::read(place.resource().join("d0/f0")).unwrap(), b"changed");
    }
}

/// What is known of the resource is known of the bytes that were read: a later change of any kind is seen, also one that hides.
#[test]
fn what_changes_in_the_resource_afterwards_is_seen() {
    for (kind, mechanism) in all_mechanisms() {
        let Some(place) = Place::on(kind) else { continue };
        fill(&place);
        let options = place.with(StrategyName::CopyOnWrite, mechanism);
        let sandbox = place.sandboxes.create(&options, &ctx()).unwrap();
        // At once, of the same length, and with the old time.
        let file = place.resource().join("d2/f2");
        let then = fs::symlink_metadata(&file).unwrap();
        fs::write(&file, noise(1000, LENGTH)).unwrap();
        set_mtime(&file, then.mtime(), then.mtime_nsec());
        let moved = place.resource().join("d3/f3");
        fs::rename(&moved, place.resource().join("d3/new")).unwrap();
        put(&sandbox, "d2/f2", "ours");
        put(&sandbox, "d3/f3", "ours, too");
        let report = commit(&sandbox);
        assert!(!report.committed, "{kind:?} {mechanism:?}");
        let conflicts: Vec<_> = report.conflicts.iter().map(|one| one.path.to_string()).collect();
        assert_eq!(conflicts, ["d2/f2", "d3/f3"], "{kind:?} {mechanism:?}");
        assert_eq!(fs::read(&file).unwrap(), noise(1000, LENGTH));
    }
}

/// The names of what was in the resource go with the only checkpoint that had them (C9).
#[test]
fn nothing_of_it_is_left_when_the_sandbox_goes() {
    for (kind, mechanism) in all_mechanisms() {
        let Some(place) = Place::on(kind) else { continue };
        fill(&place);
        let options = place.with(StrategyName::CopyOnWrite, mechanism);
        let sandbox = place.sandboxes.create(&options, &ctx()).unwrap();
        assert!(sandbox.changes(&ctx()).unwrap().is_empty());
        let id = place.manager.sandbox_id_of(&place.resource()).unwrap();
        let caches = place.dir().join("store/workspaces").join(id.as_str());
        let left = || -> Vec<PathBuf> {
            fs::read_dir(&caches).map_or_else(|_| Vec::new(), |all| all.map(|e| e.unwrap().path()).collect())
        };
        assert_eq!(left().len(), 2, "{kind:?} {mechanism:?}: a head and its records");
        sandbox.cleanup(false, &ctx()).unwrap();
        assert_eq!(left(), Vec::<PathBuf>::new(), "{kind:?} {mechanism:?}");
        place.is_clean(0);
    }
}

/// A resource that has a stat cache keeps it: it mirrors a checkpoint that stays longer than the sandbox.
#[test]
fn what_was_known_before_stays_known() {
    counts("learned::counts_what_was_known");
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn counts_what_was_known() {
    if task().is_none() {
        return;
    }
    let place = Place::here();
    fill(&place);
    let plan = "plan".parse().unwrap();
    let request = turnback_engine::CreateRequest::new(plan, turnback_core::Phase::Manual);
    place.manager.create(&place.resource(), request.clone(), &ctx()).unwrap();
    place.create().cleanup(false, &ctx()).unwrap();
    let before = bytes_read().unwrap();
    place.manager.create(&place.resource(), request, &ctx()).unwrap();
    let read = bytes_read().unwrap() - before;
    assert!(read < FILES * LENGTH as u64 / 4, "read {read} bytes");
}

/// Nobody waits for the compressor where there is ample room; where there is little, it is worth waiting for.
#[test]
fn contents_are_compressed_when_room_is_short() {
    const TEXT: usize = 4 << 20;
    let stored = |max_bytes: Option<u64>| {
        let place = Place::here();
        for i in 0..16u64 {
            let mut bytes = noise(i, TEXT / 64);
            bytes.resize(TEXT / 16, b' ');
            place.write(&format!("f{i}"), bytes);
        }
        let store = place.dir().join("capped");
        let manager = Manager::open(OpenOptions {
            store: StoreLocation::Path(store),
            durability: Some(Durability::Process),
            max_bytes,
            ..OpenOptions::default()
        })
        .unwrap();
        let sandbox = Sandboxes::new(&manager).create(&place.options(), &ctx()).unwrap();
        put(&sandbox, "f3", "gone");
        sandbox.rollback(&ctx()).unwrap();
        assert_eq!(
            fs::read(sandbox.handle().path().join("f3")).unwrap()[..],
            fs::read(place.resource().join("f3")).unwrap()[..]
        );
        assert_eq!(manager.verify(None, &ctx()).unwrap().damaged, []);
        manager.usage().unwrap().store_bytes
    };
    let (ample, scarce) = (stored(None), stored(Some(6 << 20)));
    assert!(ample > TEXT as u64, "{ample}");
    assert!(scarce < TEXT as u64 / 2, "{scarce}");
}
