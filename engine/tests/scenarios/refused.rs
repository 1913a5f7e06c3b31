//! What the system would refuse is found before the first write, and no checkpoint is taken for nothing (C8; inputs 30, 74, 75, 76).

use std::fs;
use std::path::Path;
use std::process::Command;

use turnback_core::CheckpointId;
use turnback_engine::{Code, Context, Error, RollbackRequest};

use crate::common::picture::same;
use crate::common::place::{Place, exact, is_root, rel};
use crate::common::process::{Mount, as_nobody, run, skip, task};

/// A flag of `chattr` that goes with this value.
struct Flag<'p>(&'p Path, &'static str);

impl<'p> Flag<'p> {
    fn set(path: &'p Path, flag: &'static str) -> Option<Self> {
        let status = Command::new("chattr").arg(format!("+{flag}")).arg(path).output().ok()?.status;
        status.success().then_some(Self(path, flag))
    }
}

impl Drop for Flag<'_> {
    fn drop(&mut self) {
        let done = Command::new("chattr").arg(format!("-{}", self.1)).arg(self.0).status();
        assert!(done.is_ok_and(|status| status.success()), "the flag stays on {}", self.0.display());
    }
}

fn paths(error: &Error) -> Vec<String> {
    let listed = error.details().iter().find(|(name, _)| *name == "paths").unwrap();
    listed.1.lines().map(str::to_owned).collect()
}

/// The rollback is refused, for these paths, and nothing at all has happened.
#[track_caller]
fn is_refused(place: &Place, id: CheckpointId, code: Code, want: &[&str]) {
    let (before, files, ids) = (place.tree(), place.store_files(), place.ids());
    let error = place.manager.rollback(id, exact(), &Context::default()).unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    assert_eq!(paths(&error), want);
    same(&place.tree(), &before);
    assert_eq!(place.ids(), ids, "no checkpoint for a rollback that cannot be");
    assert_eq!(place.store_files(), files);
    assert_eq!(place.manager.pending().unwrap(), []);
}

#[test]
fn immutable_and_append_only() {
    for (flag, why) in [("i", "immutable"), ("a", "append-only")] {
        for path in ["dir/changed", "dir/new", "dir/times", "dir", "gone", "becomes"] {
            let place = Place::default();
            place.write("dir/changed", "1");
            place.write("dir/times", "1");
            place.write("becomes/directory", "1");
            let id = place.create().checkpoint_id;
            let then = place.tree();
            place.write("dir/changed", "2");
            place.write("dir/new", "2");
            place.write("gone/file", "2");
            crate::common::everything::set_mtime(&place.at("dir/times"), 7, 7);
            fs::remove_dir_all(place.at("becomes")).unwrap();
            place.write("becomes", "a file");
            let full = place.at(path);
            let Some(set) = Flag::set(&full, flag) else {
                return skip("flags of files cannot be set here");
            };
            is_refused(&place, id, Code::PermissionDenied, &[&format!("{path}: {why}")]);
            drop(set);
            place.rollback(id);
            same(&place.tree(), &then);
        }
    }
}

#[test]
fn an_immutable_file_that_nothing_happens_to_is_in_nobodys_way() {
    let place = Place::default();
    place.write("dir/locked", "1");
    place.write("other/changed", "1");
    let id = place.create().checkpoint_id;
    let then = place.tree();
    place.write("other/changed", "2");
    place.write("dir/new", "2");
    let locked = place.at("dir/locked");
    let Some(_set) = Flag::set(&locked, "i") else {
        return skip("flags of files cannot be set here");
    };
    place.rollback(id);
    same(&place.tree(), &then);
}

#[test]
fn a_mount_point_where_something_is_to_come_back() {
    if !is_root() {
        return skip("only root mounts");
    }
    let place = Place::default();
    place.write("there/file", "1");
    place.write("a", "1");
    let id = place.create().checkpoint_id;
    fs::remove_dir_all(place.at("there")).unwrap();
    fs::create_dir(place.at("there")).unwrap();
    place.write("a", "2");
    let Some(mount) = Mount::new(&["-t", "tmpfs", "-o", "size=64k", "tmpfs"], &place.at("there")) else {
        return skip("mounting is not permitted here");
    };
    is_refused(&place, id, Code::Conflict, &["there: a mount point"]);
    // Without it everything else can be restored.
    let request = RollbackRequest { paths: Some(vec![rel("a")]), ..exact() };
    assert!(place.manager.rollback(id, request, &Context::default()).unwrap().restored);
    drop(mount);
    assert!(place.rollback(id).restored);
}

#[test]
fn a_file_system_that_is_mounted_read_only() {
    if !is_root() {
        return skip("only root mounts");
    }
    let place = Place::default();
    let root = place.root();
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=1m,mode=0755", "tmpfs"], &root) else {
        return skip("mounting is not permitted here");
    };
    place.write("a", "1");
    let id = place.create().checkpoint_id;
    place.write("a", "2");
    let remount = |how: &str| {
        let status = Command::new("mount").args(["-o", how]).arg(&root).status().unwrap();
        assert!(status.success());
    };
    remount("remount,ro");
    let (before, ids) = (place.tree(), place.ids());
    let error = place.manager.rollback(id, exact(), &Context::default()).unwrap_err();
    assert_eq!(error.code(), Code::PermissionDenied, "{error}");
    same(&place.tree(), &before);
    assert_eq!(place.ids(), ids);
    remount("remount,rw");
    assert!(place.rollback(id).restored);
}

#[test]
fn files_of_others_in_directories_of_others() {
    if !is_root() {
        return skip("only root can act as two users");
    }
    let dir = tempfile::tempdir().unwrap();
    run(as_nobody("refused::as_an_ordinary_user", dir.path()));
    let place = Place::in_directory(dir);
    for path in ["sticky/theirs", "sticky/mine", "closed/theirs"] {
        assert!(place.at(path).exists(), "{path}");
    }
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn as_an_ordinary_user() {
    // Directories that root made cannot be had by an ordinary user, so that the plan is made against a bare picture: what the user may
    // not do is only asked for by `access`.
    let Some(directory) = task() else { return };
    let place = Place::in_directory(tempfile::tempdir_in(&directory).unwrap());
    place.write("own/file", "1");
    let id = place.create().checkpoint_id;
    place.write("own/file", "2");
    fs::set_permissions(place.at("own"), std::os::unix::fs::PermissionsExt::from_mode(0o555)).unwrap();
    // What is ours is opened up, not refused.
    assert!(place.rollback(id).restored);
    for path in ["sticky/theirs", "sticky/mine", "closed/theirs"] {
        let full = directory.join("w").join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, "kept").unwrap();
    }
}

#[test]
fn names_that_the_file_system_takes_for_one() {
    if !is_root() {
        return skip("only root mounts");
    }
    let disk = tempfile::tempdir().unwrap();
    let image = disk.path().join("image");
    fs::File::create(&image).unwrap().set_len(320 << 20).unwrap();
    let at = disk.path().join("m");
    fs::create_dir(&at).unwrap();
    let make = |program: &str, arguments: &[&str]| {
        let made = Command::new(program).args(arguments).arg(&image).output();
        made.is_ok_and(|output| output.status.success())
    };
    let loop_mount = || Mount::new(&["-o", "loop", image.to_str().unwrap()], &at);
    let mount = (make("mkfs.vfat", &[]).then(loop_mount).flatten())
        .or_else(|| make("mkfs.xfs", &["-q", "-f", "-n", "version=ci"]).then(loop_mount).flatten())
        .or_else(|| Mount::new(&["-t", "tmpfs", "-o", "casefold", "tmpfs"], &at));
    let Some(_mount) = mount else {
        return skip("no file system here takes two names for one");
    };
    let place = Place::default();
    place.write("d/Name", "1");
    place.write("d/name", "2");
    place.write("Top", "1");
    place.write("top", "2");
    let id = place.create().checkpoint_id;
    let into = at.join("into");
    let request = RollbackRequest { into: Some(into.clone()), ..exact() };
    let error = place.manager.rollback(id, request, &Context::default()).unwrap_err();
    assert_eq!(error.code(), Code::UnsupportedFilesystem, "{error}");
    assert!(!into.exists());
}

/// The root itself has a name in the message, and one path is one path.
#[test]
fn an_immutable_root() {
    let place = Place::default();
    place.write("a", "1");
    let id = place.create().checkpoint_id;
    place.write("b", "2");
    let root = place.root();
    let Some(set) = Flag::set(&root, "i") else {
        return skip("flags of files cannot be set here");
    };
    let error = place.manager.rollback(id, exact(), &Context::default()).unwrap_err();
    assert!(error.to_string().contains("would refuse to change one path: .: immutable"), "{error}");
    drop(set);
}
