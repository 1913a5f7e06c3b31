//! Sockets and devices: listed, never opened, never deleted when they were there (C6, inputs 14 to 17).

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use turnback_engine::{Coverage, Reason};

use crate::common::place::{Place, is_root};
use crate::common::process::skip;

fn listed(coverage: &Coverage) -> Vec<(String, Reason)> {
    coverage.uncovered.iter().map(|u| (u.path.to_string(), u.reason)).collect()
}

#[test]
fn sockets() {
    let place = Place::default();
    place.write("a", "1");
    let _old = UnixListener::bind(place.at("socket")).unwrap();
    let checkpoint = place.create();
    assert_eq!(listed(&checkpoint.coverage), [("socket".to_owned(), Reason::Socket)]);
    assert!(!checkpoint.coverage.complete);
    place.write("a", "2");
    fs::create_dir(place.at("new")).unwrap();
    let _new = UnixListener::bind(place.at("new/socket")).unwrap();
    let report = place.rollback(checkpoint.checkpoint_id);
    assert!(
        report.kept.iter().any(|u| u.path.to_string() == "socket"),
        "C6: coverage is repeated at rollback"
    );
    assert_eq!(fs::read(place.at("a")).unwrap(), b"1");
    for path in ["socket", "new/socket"] {
        assert!(fs::symlink_metadata(place.at(path)).unwrap().file_type().is_socket(), "{path}");
    }
    assert!(report.kept.iter().any(|u| u.path.to_string() == "new/socket"), "{:?}", report.kept);
}

#[test]
fn devices_and_whiteouts() {
    if !is_root() {
        return skip("only root makes devices");
    }
    let place = Place::default();
    fs::create_dir(place.at("d")).unwrap();
    let node = |name: &str, device| {
        mknodat(CWD, place.at(name), FileType::CharacterDevice, Mode::from(0o600), device)
    };
    if node("d/null", makedev(1, 3)).is_err() {
        return skip("this container makes no devices");
    }
    node("d/whiteout", makedev(0, 0)).unwrap();
    place.write("d/f", "1");
    let checkpoint = place.create();
    let want = [("d/null".to_owned(), Reason::Device), ("d/whiteout".to_owned(), Reason::Device)];
    assert_eq!(listed(&checkpoint.coverage), want);
    place.write("d/f", "2");
    node("d/zero", makedev(1, 5)).unwrap();
    let report = place.rollback(checkpoint.checkpoint_id);
    assert_eq!(fs::read(place.at("d/f")).unwrap(), b"1");
    for path in ["d/null", "d/whiteout", "d/zero"] {
        assert!(fs::symlink_metadata(place.at(path)).unwrap().file_type().is_char_device(), "{path}");
    }
    assert!(report.kept.iter().any(|u| u.path.to_string() == "d/zero"), "{:?}", report.kept);
}
