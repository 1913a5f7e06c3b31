//! Mounts inside a workspace: not crossed, listed, never deleted through (inputs 75, 76, 77).

use std::fs;

use turnback_engine::Reason;

use crate::common::place::{Place, is_root};
use crate::common::process::{Mount, skip};

fn keeps_what_is_mounted(mount: impl Fn(&std::path::Path, &std::path::Path) -> Option<Mount>) {
    if !is_root() {
        return skip("only root mounts");
    }
    let place = Place::default();
    let outside = place.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("precious"), "outside").unwrap();
    place.write("d/f", "1");
    fs::create_dir(place.at("d/there")).unwrap();
    let Some(_first) = mount(&outside, &place.at("d/there")) else {
        return skip("mounting is not permitted here");
    };
    fs::write(place.at("d/there/inside"), "mounted").unwrap();
    let checkpoint = place.create();
    let listed: Vec<_> =
        checkpoint.coverage.uncovered.iter().map(|u| (u.path.to_string(), u.reason)).collect();
    assert_eq!(listed, [("d/there".to_owned(), Reason::Mount)]);
    assert!(
        place
            .manager
            .read_file(checkpoint.checkpoint_id, &crate::common::place::rel("d/there/inside"))
            .is_err()
    );

    // A mount that came later lies where the checkpoint proves that nothing was: still not deleted through.
    place.write("d/f", "2");
    fs::create_dir_all(place.at("later/mount")).unwrap();
    let _second = mount(&outside, &place.at("later/mount")).unwrap();
    fs::write(place.at("later/mount/more"), "mounted").unwrap();
    let report = place.rollback(checkpoint.checkpoint_id);
    assert!(
        report.kept.iter().any(|u| u.path.to_string() == "d/there"),
        "C6: coverage is repeated at rollback"
    );
    assert_eq!(fs::read(place.at("d/f")).unwrap(), b"1");
    assert_eq!(fs::read(place.at("d/there/inside")).unwrap(), b"mounted");
    assert_eq!(fs::read(place.at("later/mount/more")).unwrap(), b"mounted");
    assert!(report.kept.iter().any(|u| u.path.to_string() == "later/mount"), "{:?}", report.kept);
    assert_eq!(fs::read(outside.join("precious")).unwrap(), b"outside");
}

#[test]
fn a_bind_mount_of_the_same_file_system() {
    keeps_what_is_mounted(|from, at| Mount::new(&["--bind", from.to_str()?], at));
}

#[test]
fn a_tmpfs() {
    keeps_what_is_mounted(|_, at| Mount::new(&["-t", "tmpfs", "-o", "size=1m", "tmpfs"], at));
}

#[test]
fn a_mounted_file() {
    if !is_root() {
        return skip("only root mounts");
    }
    let place = Place::default();
    let outside = place.dir.path().join("file");
    fs::write(&outside, "outside").unwrap();
    place.write("f", "beneath");
    place.write("g", "1");
    let Some(mount) = Mount::new(&["--bind", outside.to_str().unwrap()], &place.at("f")) else {
        return skip("mounting is not permitted here");
    };
    let checkpoint = place.create();
    assert!(
        checkpoint.coverage.uncovered.iter().any(|u| u.path.to_string() == "f" && u.reason == Reason::Mount)
    );
    place.write("g", "2");
    place.rollback(checkpoint.checkpoint_id);
    assert_eq!(fs::read(place.at("f")).unwrap(), b"outside");
    assert_eq!(fs::read(place.at("g")).unwrap(), b"1");
    drop(mount);
    assert_eq!(fs::read(place.at("f")).unwrap(), b"beneath");
}
