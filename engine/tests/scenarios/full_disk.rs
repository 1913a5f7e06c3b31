//! A full disk: a typed error, nothing left behind, the old checkpoints fine (P10, C16, inputs 61, 62).

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use turnback_engine::{Code, Context};

use crate::common::picture::same;
use crate::common::place::{Place, code, exact, noise, open, rel, request};
use crate::common::process::{Mount, skip};

/// A store on a small disk of its own; the workspace is elsewhere.
fn on_a_small_disk(options: &str, test: impl FnOnce(&Place, &Path)) {
    let disk = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", options, "tmpfs"], disk.path()) else {
        return skip("mounting is not permitted here");
    };
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(disk.path().join("store"), dir.path().join("s")).unwrap();
    fs::create_dir(disk.path().join("store")).unwrap();
    fs::set_permissions(disk.path().join("store"), std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .unwrap();
    test(&Place::in_directory(dir), disk.path());
}

fn fill(disk: &Path) {
    let file = fs::File::create(disk.join("filler")).unwrap();
    let mut at = 0;
    for size in [64 << 10, 4096] {
        while file.write_all_at(&vec![1; size], at).is_ok() {
            at += size as u64;
        }
    }
}

#[test]
fn no_bytes_left() {
    on_a_small_disk("size=4m,mode=0700", |place, disk| {
        place.write("a", noise(1, 100_000));
        place.write("b", noise(7, 100_000));
        let first = place.create().checkpoint_id;
        fs::remove_file(place.at("b")).unwrap();
        let second = place.create().checkpoint_id;
        place.write("large", noise(2, 8 << 20));
        let before = place.tree();
        for room in [true, false] {
            if !room {
                fill(disk);
            }
            let files = place.store_files();
            assert_eq!(code(place.try_create(request())), Code::DiskFull);
            assert_eq!(place.store_files(), files, "room: {room}");
            let refused = place.manager.rollback(first, exact(), &Context::default());
            assert_eq!(code(refused), Code::DiskFull, "C16: a rollback fails before its first write");
            same(&place.tree(), &before);
            assert_eq!(place.store_files(), files, "room: {room}");
        }
        // A manager that starts on the full disk can do what needs no room.
        let manager = open(&place.store()).unwrap();
        assert_eq!(manager.list(None).unwrap().checkpoints.len(), 2);
        assert_eq!(manager.read_file(first, &rel("a")).unwrap(), noise(1, 100_000));
        let to = turnback_engine::DiffTo::Now;
        assert!(!manager.diff(first, to, &Context::default()).unwrap().is_empty());
        assert_eq!(manager.verify(None, &Context::default()).unwrap().damaged, []);
        assert!(manager.delete(first).unwrap());
        assert_eq!(manager.verify(None, &Context::default()).unwrap().damaged, []);
        assert_eq!(manager.read_file(second, &rel("a")).unwrap(), noise(1, 100_000));
        place.tmp_is_empty();
    });
}

#[test]
fn every_size_of_the_disk() {
    // P10: a sweep in steps; wherever the room ends, the error is typed and nothing stays.
    let disk = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=8m,mode=0700", "tmpfs"], disk.path()) else {
        return skip("mounting is not permitted here");
    };
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(disk.path().join("store")).unwrap();
    fs::set_permissions(disk.path().join("store"), std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .unwrap();
    std::os::unix::fs::symlink(disk.path().join("store"), dir.path().join("s")).unwrap();
    let place = Place::in_directory(dir);
    place.write("a", "1");
    let first = place.create().checkpoint_id;
    for i in 0..20u64 {
        place.write(&format!("d/f{i}"), noise(i, 10_000));
    }
    let (mut full, mut done) = (0, 0);
    for kib in (40..440).step_by(16) {
        let size = format!("remount,size={kib}k");
        let status =
            std::process::Command::new("mount").args(["-o", &size]).arg(disk.path()).status().unwrap();
        if !status.success() {
            continue;
        }
        match place.try_create(request()) {
            Ok(made) => {
                assert_eq!(
                    place.manager.verify(Some(made.checkpoint_id), &Context::default()).unwrap().damaged,
                    []
                );
                place.manager.delete(made.checkpoint_id).unwrap();
                done += 1;
            }
            Err(error) => {
                assert_eq!(error.code(), Code::DiskFull, "{kib} KiB: {error}");
                full += 1;
            }
        }
        place.tmp_is_empty();
        assert_eq!(place.ids(), [first], "{kib} KiB");
        assert_eq!(place.read(first, "a"), b"1");
    }
    assert!(full > 5 && done > 5, "{full} {done}");
}

#[test]
fn no_inodes_left() {
    on_a_small_disk("size=8m,nr_inodes=40,mode=0700", |place, disk| {
        place.write("a", "1");
        let first = place.create().checkpoint_id;
        place.write("a", "2");
        let mut count = 0;
        while fs::File::create(disk.join(format!("i{count}"))).is_ok() {
            count += 1;
        }
        let files = place.store_files();
        assert_eq!(code(place.try_create(request())), Code::DiskFull);
        assert_eq!(place.store_files(), files);
        assert_eq!(place.read(first, "a"), b"1");
        for spare in 0..count.min(8) {
            fs::remove_file(disk.join(format!("i{spare}"))).unwrap();
            match place.try_create(request()) {
                Ok(made) => assert!(place.manager.delete(made.checkpoint_id).unwrap()),
                Err(error) => assert_eq!(error.code(), Code::DiskFull, "{error}"),
            }
            place.tmp_is_empty();
            assert_eq!(place.ids(), [first], "{spare} inodes");
        }
        place.verify_is_clean();
    });
}
