//! Bad inputs: what a file system or a process cannot take, whose directories these are, and what is mounted
//! (inputs 7, 33, 44, 45, 56, 67, 68, 77, 79 of docs/inputs.md).

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::process::Command;

use rustix::process::{Resource, Rlimit, setrlimit};
use turnback_engine::{Code, Context, DiffTo, Reason, RollbackRequest};

use crate::common::everything::{chmod, set_mtime, set_xattr};
use crate::common::picture::same;
use crate::common::place::{Place, code, exact, is_root, noise, open, rel, request};
use crate::common::process::{Mount, child, run, skip, task};

#[test]
fn a_workspace_that_others_could_lead_elsewhere() {
    // Input 7, amended: an ancestor that a third user may write, without the sticky bit.
    let place = Place::default();
    let shared = place.dir.path().join("shared");
    let workspace = shared.join("w");
    fs::create_dir_all(&workspace).unwrap();
    fs::write(workspace.join("a"), "1").unwrap();
    let create = || place.manager.create(&workspace, request(), &Context::default());
    let id = create().unwrap().checkpoint_id;
    fs::write(workspace.join("a"), "2").unwrap();
    let files = place.store_files();
    for mode in [0o777, 0o707, 0o703] {
        chmod(&shared, mode);
        assert_eq!(code(create()), Code::PermissionDenied, "{mode:o}");
        let back = place.manager.rollback(id, exact(), &Context::default());
        assert_eq!(code(back), Code::PermissionDenied, "{mode:o}");
        assert_eq!(fs::read(workspace.join("a")).unwrap(), b"2");
    }
    assert_eq!(place.store_files(), files);
    if is_root() {
        chmod(&shared, 0o755);
        chown(&shared, Some(1234), None).unwrap();
        assert_eq!(code(create()), Code::PermissionDenied, "somebody else's");
        chown(&shared, Some(0), None).unwrap();
    }
    chmod(&shared, 0o1777);
    create().unwrap();
    place.rollback(id);
    assert_eq!(fs::read(workspace.join("a")).unwrap(), b"1");
}

#[test]
fn names_that_are_ours_elsewhere() {
    // Input 33: a workspace may have files that are called as those of a store or of a rollback, also where the rollback has to stage
    // in the workspace's root.
    let in_memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(in_memory.path().join("store")).unwrap();
    chmod(&in_memory.path().join("store"), 0o700);
    symlink(in_memory.path().join("store"), dir.path().join("s")).unwrap();
    let place = Place::in_directory(dir);
    let names = [
        "format",
        "paused",
        "suspects",
        "record",
        "marks",
        "objects.pack",
        "objects.index",
        "tmp/half",
        "locks/store",
        "checkpoints/record",
        "packs/a.pack",
        "workspaces/journal",
        ".turnback-stage-01ARZ3NDEKTSV4RRFFQ69G5FAW/f0/0",
        ".turnback-stage-01ARZ3NDEKTSV4RRFFQ69G5FAW/trial",
        "trial",
    ];
    for name in names {
        place.write(name, name);
    }
    // As ours would be: for its owner alone.
    chmod(&place.at(".turnback-stage-01ARZ3NDEKTSV4RRFFQ69G5FAW"), 0o700);
    let before = place.tree();
    let made = place.create();
    assert!(made.coverage.complete);
    for name in names {
        assert_eq!(place.read(made.checkpoint_id, name), name.as_bytes());
        fs::remove_file(place.at(name)).unwrap();
    }
    place.write("trial", "other");
    let report = place.rollback(made.checkpoint_id);
    same(&place.tree(), &before);
    place.undo(report.undo_checkpoint_id.unwrap());
    open(&place.store()).unwrap();
    place.rollback(made.checkpoint_id);
    same(&place.tree(), &before);
}

#[test]
fn a_checkpoint_that_was_deleted() {
    // Input 56.
    let place = Place::default();
    place.write("a", "1");
    let id = place.create().checkpoint_id;
    place.write("a", "2");
    assert!(place.manager.delete(id).unwrap());
    let before = place.tree();
    assert_eq!(code(place.manager.rollback(id, exact(), &Context::default())), Code::NotFound);
    assert_eq!(code(place.manager.read_file(id, &rel("a"))), Code::NotFound);
    same(&place.tree(), &before);
    assert_eq!(place.ids(), []);
}

/// A workspace in memory and a directory on the disk, on two file systems.
fn in_memory_and_on_disk() -> Option<(Place, tempfile::TempDir)> {
    let (place, disk) = (Place::in_memory(), tempfile::tempdir().unwrap());
    let device = |path: &std::path::Path| fs::metadata(path).unwrap().dev();
    (device(place.dir.path()) != device(disk.path())).then_some((place, disk))
}

#[test]
fn an_attribute_for_which_the_target_has_no_room() {
    // Input 44: the file comes back, and what is missing of it is said.
    let Some((place, disk)) = in_memory_and_on_disk() else { return skip("there is one file system only") };
    place.write("f", "bytes");
    if !set_xattr(&place.at("f"), "user.large", &noise(1, 60_000)) {
        return skip("no large attributes in memory");
    }
    if set_xattr(disk.path(), "user.large", &noise(1, 60_000)) {
        return skip("the disk takes large attributes as well");
    }
    let id = place.create().checkpoint_id;
    let into = disk.path().join("into");
    let request = RollbackRequest { into: Some(into.clone()), ..exact() };
    let report = place.manager.rollback(id, request, &Context::default()).unwrap();
    assert!(!report.restored);
    let listed: Vec<_> = report.not_restorable.iter().map(|u| (u.path.to_string(), u.reason)).collect();
    assert_eq!(listed, [("f".to_owned(), Reason::MetadataRefused)]);
    assert_eq!(fs::read(into.join("f")).unwrap(), b"bytes");
}

#[test]
fn times_that_the_target_cannot_keep() {
    // Input 45: the year 33658. ext4 clamps it, which is said; where it can be kept it is exact.
    let Some((place, disk)) = in_memory_and_on_disk() else { return skip("there is one file system only") };
    const FAR: i64 = 1_000_000_000_000;
    place.write("far", "1");
    place.write("early", "1");
    set_mtime(&place.at("far"), FAR, 7);
    set_mtime(&place.at("early"), -2_000_000_000, 7);
    if fs::metadata(place.at("far")).unwrap().mtime() != FAR {
        return skip("the file system in memory has no such times");
    }
    let before = place.tree();
    let id = place.create().checkpoint_id;
    for name in ["far", "early"] {
        fs::remove_file(place.at(name)).unwrap();
    }
    assert!(place.rollback(id).restored);
    same(&place.tree(), &before);

    let probe = disk.path().join("probe");
    fs::write(&probe, "").unwrap();
    set_mtime(&probe, FAR, 7);
    if fs::metadata(&probe).unwrap().mtime() == FAR {
        return skip("the disk's file system keeps the year 33658");
    }
    let into = disk.path().join("into");
    let request = RollbackRequest { into: Some(into.clone()), ..exact() };
    let report = place.manager.rollback(id, request, &Context::default()).unwrap();
    assert!(!report.restored);
    let listed: Vec<_> = report.not_restorable.iter().map(|u| (u.path.to_string(), u.reason)).collect();
    assert_eq!(listed, [("far".to_owned(), Reason::MetadataRefused)]);
    assert_eq!(fs::read(into.join("far")).unwrap(), b"1");
    assert_eq!(fs::metadata(into.join("early")).unwrap().mtime(), -2_000_000_000);
}

#[test]
fn a_store_that_is_mounted_read_only() {
    // Input 67: what reads works, what writes fails before it begins.
    if !is_root() {
        return skip("only root mounts");
    }
    let disk = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=8m,mode=0700", "tmpfs"], disk.path()) else {
        return skip("mounting is not permitted here");
    };
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(disk.path().join("store")).unwrap();
    chmod(&disk.path().join("store"), 0o700);
    symlink(disk.path().join("store"), dir.path().join("s")).unwrap();
    let place = Place::in_directory(dir);
    place.write("a", "1");
    let then = place.tree();
    let id = place.create().checkpoint_id;
    place.write("a", "2");
    let now = place.tree();
    let remount = |how: &str| {
        let status = Command::new("mount").args(["-o", how]).arg(disk.path()).status().unwrap();
        assert!(status.success());
    };
    remount("remount,ro");
    let manager = open(&place.store()).unwrap();
    let ctx = Context::default();
    assert_eq!(manager.list(None).unwrap().checkpoints.len(), 1);
    assert_eq!(manager.get(id).unwrap().unwrap().checkpoint_id, id);
    assert_eq!(manager.read_file(id, &rel("a")).unwrap(), b"1");
    assert_eq!(manager.diff(id, DiffTo::Now, &ctx).unwrap().len(), 1);
    assert_eq!(manager.verify(None, &ctx).unwrap().damaged, []);
    manager.usage().unwrap();
    let copy = place.dir.path().join("copy");
    manager.export(id, &copy, &ctx).unwrap();
    same(&crate::common::picture::Tree::of(&copy), &then);
    for code in [
        code(manager.create(&place.root(), request(), &ctx)),
        code(manager.rollback(id, exact(), &ctx)),
        code(manager.set_label(id, Some("x"))),
        code(manager.delete(id)),
    ] {
        assert!(matches!(code, Code::PermissionDenied | Code::Io), "{code:?}");
    }
    same(&place.tree(), &now);
    remount("remount,rw");
    assert_eq!(place.ids(), [id]);
    place.rollback(id);
    same(&place.tree(), &then);
}

#[test]
fn a_limit_of_file_sizes() {
    let directory = tempfile::tempdir().unwrap();
    run(child("inputs_limits::under_a_limit_of_file_sizes", directory.path()));
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn under_a_limit_of_file_sizes() {
    // Input 68: a write past the limit would end the process by SIGXFSZ, so that it is looked at first.
    let Some(directory) = task() else { return };
    let place = Place::in_directory(tempfile::tempdir_in(directory).unwrap());
    place.write("large", noise(1, 3 << 20));
    place.write("small", "1");
    let id = place.create().checkpoint_id;
    let then = place.tree();
    fs::remove_file(place.at("large")).unwrap();
    place.write("small", "2");
    let before = place.tree();
    setrlimit(Resource::Fsize, Rlimit { current: Some(1 << 20), maximum: None }).unwrap();
    let error = place.manager.rollback(id, exact(), &Context::default()).unwrap_err();
    assert_eq!(error.code(), Code::Io, "{error}");
    assert!(error.advice().contains("ulimit -f"), "{error}");
    same(&place.tree(), &before);
    // What is small enough can be restored all the same.
    let part = RollbackRequest { paths: Some(vec![rel("small")]), ..exact() };
    assert!(place.manager.rollback(id, part, &Context::default()).unwrap().restored);
    assert_eq!(fs::read(place.at("small")).unwrap(), b"1");
    setrlimit(Resource::Fsize, Rlimit { current: None, maximum: None }).unwrap();
    place.rollback(id);
    same(&place.tree(), &then);

    // The store's own files: at every limit an answer, nothing left behind, and what was there is there still.
    place.write("large", noise(2, 40_000));
    let (mut refused, mut done) = (0, 0);
    for limit in [0, 1, 40, 100, 300, 1000, 3000, 10_000, 30_000, 39_999, 60_000, 200_000] {
        place.write("small", format!("{limit}"));
        let before = place.tree();
        let ids = place.ids();
        let limited = |current| setrlimit(Resource::Fsize, Rlimit { current, maximum: None }).unwrap();
        limited(Some(limit));
        let made = place.try_create(request());
        let back = place.manager.rollback(id, exact(), &Context::default());
        let label = place.manager.set_label(id, Some("label"));
        let undone = back.as_ref().ok().and_then(|report| report.undo_checkpoint_id);
        limited(None);
        place.tmp_is_empty();
        for error in [made.as_ref().err(), back.as_ref().err(), label.as_ref().err()].into_iter().flatten() {
            assert_eq!(error.code(), Code::Io, "{limit}: {error}");
        }
        match &back {
            Err(_) => same(&place.tree(), &before),
            Ok(_) => {
                place.undo(undone.unwrap());
                same(&place.tree(), &before);
            }
        }
        refused += u32::from(made.is_err());
        done += u32::from(made.is_ok());
        assert!(ids.iter().all(|id| place.ids().contains(id)));
        place.verify_is_clean();
    }
    assert!(refused > 3 && done > 1, "{refused} {done}");
}

#[test]
fn the_system_s_own_tree_mounted_inside() {
    // Input 77: `/proc` has files that never end, and links that lead everywhere.
    if !is_root() {
        return skip("only root mounts");
    }
    let place = Place::default();
    place.write("f", "1");
    for path in ["proc", "sys"] {
        fs::create_dir(place.at(path)).unwrap();
    }
    let Some(_proc) = Mount::new(&["-t", "proc", "proc"], &place.at("proc")) else {
        return skip("mounting is not permitted here");
    };
    let Some(_sys) = Mount::new(&["--bind", "/sys"], &place.at("sys")) else {
        return skip("mounting is not permitted here");
    };
    let made = place.create();
    let listed: Vec<_> = made.coverage.uncovered.iter().map(|u| (u.path.to_string(), u.reason)).collect();
    assert_eq!(listed, [("proc".to_owned(), Reason::Mount), ("sys".to_owned(), Reason::Mount)]);
    assert_eq!(made.coverage.files, 2, "the root and one file");
    place.write("f", "2");
    place.rollback(made.checkpoint_id);
    assert_eq!(fs::read(place.at("f")).unwrap(), b"1");
    assert!(place.at("proc/self/status").exists() && place.at("sys/kernel").exists());
}

#[test]
fn the_largest_owner_there_is() {
    // Input 79: 2^32 - 1 means "nobody in particular" to the system, one less is an owner.
    if !is_root() {
        return skip("only root gives owners");
    }
    let place = Place::default();
    place.write("f", "1");
    place.write("d/g", "1");
    for path in ["f", "d", "d/g"] {
        if chown(place.at(path), Some(u32::MAX - 1), Some(u32::MAX - 1)).is_err() {
            return skip("this owner cannot be given here");
        }
    }
    let before = place.tree();
    let id = place.create().checkpoint_id;
    fs::remove_file(place.at("f")).unwrap();
    fs::remove_dir_all(place.at("d")).unwrap();
    place.rollback(id);
    same(&place.tree(), &before);
    assert_eq!(fs::metadata(place.at("f")).unwrap().uid(), u32::MAX - 1);
    chown(place.at("f"), Some(0), Some(0)).unwrap();
    fs::set_permissions(place.at("f"), fs::Permissions::from_mode(0o600)).unwrap();
    place.rollback(id);
    same(&place.tree(), &before);
}
