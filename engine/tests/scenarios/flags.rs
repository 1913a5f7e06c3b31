//! The flags with which names are opened, each shown by itself: with `openat2`, and without it as in some container profiles
//! (P4, inputs 3, 4, 14, 60, 75, 99). What they do in a race is shown in `soak`.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use rustix::io::Errno;
use turnback_engine::restore::Root;
use turnback_engine::store::{FileLock, LockKind, Patience};
use turnback_engine::tree::sys;
use turnback_engine::{Context, RollbackRequest};

use crate::common::everything::fifo;
use crate::common::picture::same;
use crate::common::place::{Place, exact, is_root, noise};
use crate::common::process::{Mount, child, run, skip, task};

/// A workspace with everything that must not be opened as what it is not.
fn names_that_are_not_followed() {
    let place = Place::default();
    let outside = place.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "secret").unwrap();
    place.write("file", "1");
    place.write("directory/inside", "1");
    symlink("file", place.at("to-file")).unwrap();
    symlink("directory", place.at("to-directory")).unwrap();
    symlink(outside.join("secret"), place.at("out")).unwrap();
    symlink(&outside, place.at("out-directory")).unwrap();
    fifo(&place.at("pipe"));
    let root = sys::open_root(&fs::canonicalize(place.root()).unwrap()).unwrap();
    let root = root.as_fd();
    assert!(sys::open_file(root, c"file").is_ok() && sys::open_directory(root, c"directory").is_ok());
    for name in [c"to-file", c"out"] {
        assert_eq!(sys::open_file(root, name).err(), Some(Errno::LOOP), "{name:?}");
    }
    for name in [c"to-directory", c"out-directory"] {
        let refused = sys::open_directory(root, name).err();
        assert!(matches!(refused, Some(Errno::LOOP | Errno::NOTDIR)), "{name:?}: {refused:?}");
    }
    // It must not wait for somebody who writes.
    assert!(sys::open_file(root, c"pipe").is_ok());
    symlink(place.root(), place.dir.path().join("to-root")).unwrap();
    let by_link = sys::open_root(&place.dir.path().join("to-root")).err();
    assert!(matches!(by_link, Some(Errno::LOOP | Errno::NOTDIR)), "{by_link:?}");
    let for_writing = Root::open(&place.dir.path().join("to-root"));
    assert!(for_writing.is_err(), "{for_writing:?}");
    if !is_root() {
        return skip("only root mounts");
    }
    let Some(_mount) = Mount::new(&["--bind", outside.to_str().unwrap()], &place.at("directory")) else {
        return skip("mounting is not permitted here");
    };
    assert_eq!(
        sys::open_directory(root, c"directory").err(),
        Some(Errno::XDEV),
        "a mount of the same device"
    );
    let Some(_file) = Mount::new(&["--bind", outside.join("secret").to_str().unwrap()], &place.at("file"))
    else {
        return skip("mounting is not permitted here");
    };
    assert_eq!(sys::open_file(root, c"file").err(), Some(Errno::XDEV));
}

#[test]
fn names_are_not_followed() {
    names_that_are_not_followed();
}

#[test]
fn names_are_not_followed_without_openat2() {
    if Command::new("strace").arg("-V").output().is_err() {
        return skip("there is no strace");
    }
    let directory = tempfile::tempdir().unwrap();
    let own = child("flags::without_openat2", directory.path());
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=openat2", "-e", "inject=openat2:error=ENOSYS"]);
    traced.arg(own.get_program()).args(own.get_args());
    traced.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    run(traced);
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn without_openat2() {
    if task().is_none() {
        return;
    }
    assert!(!sys::has_openat2());
    names_that_are_not_followed();
    let place = Place::default();
    place.write("d/e/f", noise(1, 9000));
    let then = place.tree();
    let id = place.create().checkpoint_id;
    fs::remove_dir_all(place.at("d")).unwrap();
    place.write("d", "a file");
    place.rollback(id);
    same(&place.tree(), &then);
}

#[test]
fn a_link_to_something_immutable_is_in_nobodys_way() {
    // What is looked at before the first write is the link itself.
    let place = Place::default();
    let locked = place.dir.path().join("locked");
    fs::write(&locked, "locked").unwrap();
    place.write("f", "1");
    let id = place.create().checkpoint_id;
    let then = place.tree();
    fs::remove_file(place.at("f")).unwrap();
    symlink(&locked, place.at("f")).unwrap();
    let flag = |how: &str| Command::new("chattr").arg(how).arg(&locked).status().is_ok_and(|s| s.success());
    if !flag("+i") {
        return skip("flags of files cannot be set here");
    }
    let report = place.manager.rollback(id, exact(), &Context::default());
    assert!(flag("-i"));
    assert!(report.unwrap().restored);
    same(&place.tree(), &then);
}

#[test]
fn lock_files_are_not_followed_and_do_not_block() {
    let place = Place::default();
    let target = place.dir.path().join("made-by-a-lock");
    let at = place.dir.path().join("lock");
    let try_it = || FileLock::acquire(&at, LockKind::Exclusive, Patience::Try, &Context::default());
    symlink(&target, &at).unwrap();
    assert!(try_it().is_err());
    assert!(!target.exists(), "nothing is made where a link leads");
    fs::write(&target, "precious").unwrap();
    assert!(try_it().is_err(), "nor is what is there taken for a lock");
    fs::remove_file(&at).unwrap();
    fifo(&at);
    // A pipe can be locked as well; what counts is that nobody waits for it.
    drop(try_it());
    fs::remove_file(&at).unwrap();
    drop(try_it().unwrap());
    assert_eq!(fs::metadata(&at).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_staging_directory_is_not_reached_through_a_link() {
    // The store's own directory for it was put elsewhere: a rollback writes nothing there.
    let place = Place::default();
    place.write("f", "1");
    let id = place.create().checkpoint_id;
    place.write("f", "2");
    let before = place.tree();
    let (tmp, elsewhere) = (place.store().join("tmp"), place.dir.path().join("elsewhere"));
    fs::rename(&tmp, &elsewhere).unwrap();
    symlink(&elsewhere, &tmp).unwrap();
    let request = RollbackRequest { safety: false, ..exact() };
    let result = place.manager.rollback(id, request, &Context::default());
    assert!(result.is_err(), "{result:?}");
    same(&place.tree(), &before);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}
