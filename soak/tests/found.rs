//! What the methods found once, as the smallest test that shows it.

use std::fs;

use std::time::Duration;

use turnback_engine::Context;
use turnback_soak::methods::errors;
use turnback_soak::methods::under::Under;
use turnback_soak::parsers::{Kind, Parsers, pack_of, repaired};
use turnback_soak::{Scene, machine};

/// P15, input 46: an index whose checksums are right and whose table speaks of four thousand million entries. Its reader took the
/// table's word for the length of what it read, and the process ended for want of 200 GB.
#[test]
fn an_index_that_speaks_of_more_than_it_has() {
    let mut index = b"TBINDX\0\x01".to_vec();
    index.extend_from_slice(&0u32.to_le_bytes());
    index.extend_from_slice(&1u64.to_le_bytes());
    index.extend_from_slice(&[0; 4]);
    index.extend_from_slice(&u32::MAX.to_le_bytes());
    index.extend_from_slice(&[0; 4 + 48]);
    Parsers::new().unwrap().parse(Kind::Index, &repaired(&index)).unwrap();
}

/// P15, input 42: a pack without an index, of which a frame says that its three bytes become 900 million. Memory for all of them was
/// taken before a byte was looked at.
#[test]
fn a_frame_that_speaks_of_more_than_it_can_give() {
    let mut pack = pack_of(&[b"one", b"two", &[7; 900]]);
    pack[12..16].copy_from_slice(&900_000_000u32.to_le_bytes());
    Parsers::new().unwrap().parse(Kind::Pack, &pack).unwrap();
}

/// P1: a deletion that is killed between giving the pack and its index second names leaves the first without the second. The checkpoint
/// is still listed and whole, and was called damaged.
#[test]
fn a_second_name_of_a_pack_is_no_damage() {
    let directory = machine::quick_directory().unwrap();
    let scene = Scene::new(directory.path()).unwrap();
    let own = scene.store().join("checkpoints").join(scene.base.to_string()).join("objects.pack");
    fs::hard_link(own, scene.store().join("packs").join(format!("{}.pack", scene.base))).unwrap();
    let manager = scene.open().unwrap();
    scene.create(&manager).unwrap();
    let report = manager.verify(None, &Context::default()).unwrap();
    assert_eq!(report.damaged, []);
}

/// A disk that fails at each of these calls once.
#[allow(clippy::unwrap_used, reason = "a helper fails as tests do: by a panic")]
fn fails_at_each(under: Under, calls: &'static [&'static str]) {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_soak-op"));
    let outcome = errors::at_each(program, under, calls, Duration::from_secs(240)).unwrap();
    outcome.figures.iter().for_each(|one| println!("{}: {}: {}", one.promise, one.what, one.figure));
    outcome.skipped.iter().for_each(|why| println!("skipped: {why}"));
    let breaches: Vec<_> = outcome.breaches.iter().map(|(_, what)| what).collect();
    assert!(breaches.is_empty(), "{breaches:#?}");
}

/// P1: a look at a checkpoint's directory that failed once was taken for a checkpoint that is gone: what it needed was erased with the
/// one that was deleted.
#[test]
fn what_cannot_be_looked_at_is_not_gone() {
    fails_at_each(Under::Delete, &["newfstatat", "statx"]);
}

/// P3: the directory that is renamed into a workspace to see whether that works stayed there when its removal failed.
#[test]
fn a_trial_leaves_nothing_in_the_workspace() {
    fails_at_each(Under::Rollback, &["unlinkat"]);
}

/// P12: a directory that could not be looked at was taken for one that somebody had changed, and what it was to get was dropped.
#[test]
fn a_recovery_that_cannot_look_goes_on_later() {
    fails_at_each(Under::Recover, &["fstat"]);
}
