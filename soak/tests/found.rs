//! What the methods found once, as the smallest test that shows it.

use std::fs;

use turnback_engine::Context;
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
