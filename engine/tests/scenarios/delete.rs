//! Deleting frees what only that checkpoint held, and the bytes are really gone (C9, F34, F40, P8).

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::picture::same;
use crate::common::place::{Place, files_beneath, noise, open};
use crate::common::process::{Mount, skip};

/// Whether a stretch of the bytes is anywhere in the store, as it is.
fn holds(store: &Path, secret: &[u8]) -> bool {
    let needle = &secret[secret.len() / 2..secret.len() / 2 + 64];
    files_beneath(store).iter().filter(|p| p.is_file()).any(|path| {
        let bytes = fs::read(path).unwrap();
        bytes.windows(needle.len()).any(|window| window == needle)
    })
}

/// What `du` says, in bytes.
fn du(path: &Path) -> u64 {
    let output = Command::new("du").args(["-s", "-B1"]).arg(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap().split_whitespace().next().unwrap().parse().unwrap()
}

fn within(have: u64, want: u64, percent: u64) -> bool {
    have.abs_diff(want) * 100 <= want * percent
}

#[test]
fn a_secret_that_only_it_held() {
    let place = Place::default();
    let secret = noise(42, 200_000);
    place.write("a", "1");
    let first = place.create().checkpoint_id;
    place.write("secret", &secret);
    let second = place.create().checkpoint_id;
    fs::remove_file(place.at("secret")).unwrap();
    let third = place.create().checkpoint_id;
    assert!(holds(&place.store(), &secret), "the search can find it");
    let usage = place.manager.usage().unwrap();
    let announced = usage.checkpoints.iter().find(|c| c.0 == second).unwrap().1;
    let before = du(&place.store());
    assert!(place.manager.delete(second).unwrap());
    let freed = before - du(&place.store());
    assert!(!holds(&place.store(), &secret));
    assert!(announced >= 200_000 && within(freed, announced, 10), "announced {announced}, freed {freed}");
    assert_eq!(place.ids(), [first, third]);
    place.verify_is_clean();
    assert!(!place.manager.delete(second).unwrap(), "twice is fine");
}

#[test]
fn a_secret_in_a_pack_that_others_need() {
    let place = Place::default();
    let secret = noise(43, 150_000);
    place.write("shared", noise(1, 100_000));
    place.write("secret", &secret);
    let first = place.create().checkpoint_id;
    fs::remove_file(place.at("secret")).unwrap();
    let second = place.create().checkpoint_id;
    let tree = place.tree();
    assert!(place.manager.delete(first).unwrap());
    assert!(!holds(&place.store(), &secret), "gone although its pack lives on");
    assert!(holds(&place.store(), &noise(1, 100_000)));
    assert!(du(&place.store()) < 180_000, "its blocks are given back: {}", du(&place.store()));
    let fresh = open(&place.store()).unwrap();
    assert_eq!(fresh.verify(None, &turnback_engine::Context::default()).unwrap().damaged, []);
    fs::remove_file(place.at("shared")).unwrap();
    place.rollback(second);
    same(&place.tree(), &tree);
    // And the last one takes the rest with it.
    for id in place.ids() {
        place.manager.delete(id).unwrap();
    }
    assert!(!holds(&place.store(), &noise(1, 100_000)));
    assert_eq!(files_beneath(&place.store().join("packs")), Vec::<std::path::PathBuf>::new());
    assert_eq!(files_beneath(&place.store().join("checkpoints")), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_secret_that_two_held() {
    let place = Place::default();
    let secret = noise(44, 50_000);
    place.write("secret", &secret);
    let first = place.create().checkpoint_id;
    place.write("more", "x");
    let second = place.create().checkpoint_id;
    place.manager.delete(first).unwrap();
    assert_eq!(place.read(second, "secret"), secret);
    place.manager.delete(second).unwrap();
    assert!(!holds(&place.store(), &secret));
    // The workspace itself is as it was.
    assert_eq!(fs::read(place.at("secret")).unwrap(), secret);
    let third = place.create().checkpoint_id;
    assert_eq!(place.read(third, "secret"), secret, "and can be captured anew");
}

#[test]
fn deleting_the_one_that_the_stat_cache_mirrors() {
    let place = Place::default();
    place.write("d/f", noise(1, 10_000));
    crate::common::place::let_timestamps_age(&place);
    let first = place.create().checkpoint_id;
    place.manager.delete(first).unwrap();
    let second = place.create().checkpoint_id;
    assert_eq!(place.read(second, "d/f"), noise(1, 10_000));
    place.verify_is_clean();
}

#[test]
fn usage_agrees_with_du() {
    let place = Place::default();
    for i in 0..40 {
        place.write(&format!("d{}/f{i}", i % 5), noise(i, 20_000));
        if i % 10 == 0 {
            place.create();
        }
    }
    let last = place.create().checkpoint_id;
    place.manager.delete(place.ids()[1]).unwrap();
    let usage = place.manager.usage().unwrap();
    assert!(
        within(usage.store_bytes, du(&place.store()), 5),
        "{} and {}",
        usage.store_bytes,
        du(&place.store())
    );
    assert_eq!(usage.checkpoints.len(), 4);
    assert!(usage.max_bytes > usage.store_bytes);
    let before = du(&place.store());
    let announced = usage.checkpoints.iter().find(|c| c.0 == last).unwrap().1;
    place.manager.delete(last).unwrap();
    assert!(before - du(&place.store()) + 8192 >= announced, "no more is announced than comes back");
}

#[test]
fn blocks_come_back_while_managers_have_the_packs_open() {
    // F40: `statfs` shows it, not only `du`; a pack that somebody has open would keep its blocks.
    let disk = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=8m,mode=0700", "tmpfs"], disk.path()) else {
        return skip("mounting is not permitted here");
    };
    let place = Place::in_directory(tempfile::tempdir_in(disk.path()).unwrap());
    place.write("a", "1");
    place.create();
    let free = || rustix::fs::statvfs(disk.path()).map(|fs| fs.f_bfree * fs.f_frsize).unwrap();
    let before = free();
    place.write("large", noise(1, 2 << 20));
    let large = place.create().checkpoint_id;
    let other = open(&place.store()).unwrap();
    for manager in [&place.manager, &other] {
        let read = manager.read_file(large, &crate::common::place::rel("large")).unwrap();
        assert_eq!(read.len(), 2 << 20);
    }
    fs::remove_file(place.at("large")).unwrap();
    assert!(before - free() > 2 << 20, "it takes room as long as it is there");
    place.manager.delete(large).unwrap();
    assert!(free() + (64 << 10) > before, "{} of {before} bytes are free", free());
    drop(other);
}

#[test]
fn on_a_disk_that_is_full() {
    // C16: with no byte free, deleting still works, and frees some.
    let directory = tempfile::tempdir().unwrap();
    let Some(_disk) = Mount::new(&["-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs"], directory.path())
    else {
        return skip("mounting is not permitted here");
    };
    let own = tempfile::tempdir_in(directory.path()).unwrap();
    let place = Place::in_directory(own);
    place.write("shared", noise(1, 200_000));
    place.write("gone", noise(2, 200_000));
    let first = place.create().checkpoint_id;
    fs::remove_file(place.at("gone")).unwrap();
    let second = place.create().checkpoint_id;
    let filler = fs::File::create(place.dir.path().join("filler")).unwrap();
    let mut at = 0;
    for size in [64 << 10, 4096, 1] {
        while std::os::unix::fs::FileExt::write_all_at(&filler, &vec![1; size], at).is_ok() {
            at += size as u64;
        }
    }
    let manager = open(&place.store()).unwrap();
    assert_eq!(manager.list(None).unwrap().checkpoints.len(), 2);
    assert_eq!(manager.read_file(second, &crate::common::place::rel("shared")).unwrap(), noise(1, 200_000));
    assert!(manager.delete(first).unwrap());
    assert!(fs::write(place.dir.path().join("room"), noise(3, 150_000)).is_ok(), "there is room now");
    assert_eq!(manager.verify(None, &turnback_engine::Context::default()).unwrap().damaged, []);
    assert!(!holds(&place.store(), &noise(2, 200_000)));
    place.tmp_is_empty();
}

/// All of them go, or none: whatever keeps one is found before the first is gone.
#[test]
fn several_at_once() {
    let place = Place::default();
    let made: Vec<_> = (0..5u64)
        .map(|round| {
            place.write("file", noise(round, 20_000));
            place.create().checkpoint_id
        })
        .collect();
    let unknown = turnback_core::CheckpointId::from_bytes([1; 16]);
    let refused = |ids: &[turnback_core::CheckpointId], code| {
        let files = place.store_files();
        assert_eq!(crate::common::place::code(open(&place.store()).unwrap().delete_all(ids)), code);
        assert_eq!(place.store_files(), files);
    };
    refused(&[made[0], unknown], turnback_engine::Code::NotFound);
    let record = place.store().join("checkpoints").join(made[1].to_string()).join("record");
    let sound = fs::read(&record).unwrap();
    fs::write(&record, "nonsense").unwrap();
    refused(&[made[0], made[2]], turnback_engine::Code::Corrupt);
    fs::write(&record, sound).unwrap();
    let deleted = place.manager.delete_all(&[made[3], made[0], made[3]]).unwrap();
    assert_eq!(deleted, [made[3], made[0]], "each once, as they were given");
    assert_eq!(place.ids(), [made[1], made[2], made[4]]);
    assert!(!holds(&place.store(), &noise(3, 20_000)));
    // A damaged one goes with the others.
    fs::write(&record, "nonsense").unwrap();
    let manager = open(&place.store()).unwrap();
    assert_eq!(manager.delete_all(&[made[2], made[1]]).unwrap().len(), 2);
    place.verify_is_clean();
    assert_eq!(manager.delete_all(&[]).unwrap(), []);
}
