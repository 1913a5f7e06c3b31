//! Limits of the process and of the file system do no harm (inputs 13, 44, 60, 66, 68).

use std::fs;

use rustix::process::{Resource, Rlimit, setrlimit};
use turnback_engine::Context;

use crate::common::everything::set_xattr;
use crate::common::picture::same;
use crate::common::place::{Place, noise, open, request};
use crate::common::process::{child, run, skip, task};

#[test]
fn few_open_files_and_many_packs() {
    let directory = tempfile::tempdir().unwrap();
    run(child("limits::in_a_small_process", directory.path()));
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn in_a_small_process() {
    let Some(directory) = task() else { return };
    let place = Place::in_directory(tempfile::tempdir_in(directory).unwrap());
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum: Some(64) }).unwrap();
    let open_files = || fs::read_dir("/proc/self/fd").unwrap().count();
    // Every file in a pack of its own: one rollback needs them all.
    for i in 0..80u64 {
        place.write(&format!("d{}/f{i}", i % 9), noise(i, 400));
        place.create();
    }
    let last = *place.ids().last().unwrap();
    let tree = place.tree();
    let before = open_files();
    for _ in 0..5 {
        fs::remove_dir_all(place.at("d1")).unwrap();
        fs::remove_dir_all(place.at("d2")).unwrap();
        place.rollback(last);
        same(&place.tree(), &tree);
        place.verify_is_clean();
    }
    assert!(open_files() <= before + 33, "descriptors leak: {before}, then {}", open_files());
    let manager = open(&place.store()).unwrap();
    manager.create(&place.root(), request(), &Context::default()).unwrap();
}

#[test]
fn large_extended_attributes() {
    let place = Place::default();
    place.write("f", "x");
    let mut length = 60_000;
    // ext4 takes one block, tmpfs and XFS up to 64 KiB.
    while length > 0 && !set_xattr(&place.at("f"), "user.large", &noise(1, length)) {
        length /= 2;
    }
    if length == 0 {
        return skip("no extended attributes on this file system");
    }
    for i in 0..20 {
        set_xattr(&place.at("f"), &format!("user.{}{i}", "n".repeat(100)), b"");
    }
    let before = place.tree();
    let id = place.create().checkpoint_id;
    fs::remove_file(place.at("f")).unwrap();
    assert!(place.rollback(id).restored);
    same(&place.tree(), &before);
}

#[test]
fn incompressible_and_highly_compressible_files() {
    let place = Place::default();
    for (i, length) in [0usize, 1, 63, 64, 65, 4095, 4096, 4097, 1 << 20, (1 << 20) + 1, (2 << 20) - 1]
        .into_iter()
        .enumerate()
    {
        place.write(&format!("noise{i}"), noise(i as u64, length));
        place.write(&format!("zeros{i}"), vec![0; length]);
        place.write(&format!("text{i}"), "abc ".repeat(length / 4));
    }
    let before = place.tree();
    let id = place.create().checkpoint_id;
    fs::remove_dir_all(place.root()).unwrap();
    place.rollback(id);
    same(&place.tree(), &before);
    place.verify_is_clean();
}
