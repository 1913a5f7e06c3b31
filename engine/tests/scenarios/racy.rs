//! A rewrite of the same size in the same tick of the clock is always seen (P5; jj's own test does 100 rounds).

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::common::everything::set_mtime;
use crate::common::place::Place;
use crate::common::process::{Mount, skip};

#[test]
fn a_thousand_rewrites_right_after_a_checkpoint() {
    rewrites(&Place::default(), 1000);
}

#[test]
fn rewrites_where_timestamps_are_coarse() {
    // Since Linux 6.13 ext4, XFS, btrfs and tmpfs stamp finely after each look; ramfs does not, so that many rewrites share a stamp.
    let directory = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(&["-t", "ramfs", "-o", "mode=0700", "ramfs"], directory.path()) else {
        return skip("mounting is not permitted here");
    };
    rewrites(&Place::in_directory(tempfile::tempdir_in(directory.path()).unwrap()), 1000);
}

fn rewrites(place: &Place, rounds: u32) {
    place.write("still", "never changes");
    let mut last = None;
    for round in 0..rounds {
        place.write("d/f", format!("{round:08} a"));
        let before = place.create();
        let stat = fs::metadata(place.at("d/f")).unwrap();
        let second = format!("{round:08} b");
        // In place, so that the inode stays.
        let file = fs::OpenOptions::new().write(true).open(place.at("d/f")).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, second.as_bytes(), 0).unwrap();
        if round % 2 == 1 {
            set_mtime(&place.at("d/f"), stat.mtime(), stat.mtime_nsec());
        }
        let after = place.create();
        assert_eq!(place.read(before.checkpoint_id, "d/f"), format!("{round:08} a").as_bytes());
        assert_eq!(place.read(after.checkpoint_id, "d/f"), second.as_bytes(), "round {round}");
        // Old checkpoints only make the listing slow here; the last one carries the stat cache and stays.
        fs::remove_dir_all(&before.snapshot_path).unwrap();
        if let Some(old) = last.replace(after.snapshot_path) {
            fs::remove_dir_all::<std::path::PathBuf>(old).unwrap();
        }
    }
}

#[test]
fn a_thousand_names_that_come_and_go() {
    let place = Place::in_memory();
    place.write("d/x", "x");
    let mut last: Option<std::path::PathBuf> = None;
    for round in 0..1000u32 {
        let name = format!("d/{}", round % 5);
        if round % 10 < 5 {
            place.write(&name, "");
        } else {
            fs::remove_file(place.at(&name)).unwrap();
        }
        let now = place.create();
        let names = 1 + if round % 10 < 5 { round % 5 + 1 } else { 4 - round % 5 };
        assert_eq!(now.coverage.files, u64::from(2 + names), "round {round}");
        if let Some(old) = last.replace(now.snapshot_path) {
            fs::remove_dir_all(old).unwrap();
        }
    }
}
