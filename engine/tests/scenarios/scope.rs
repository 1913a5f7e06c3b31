//! Which directories are checkpointed at all (C4, C16, F6, F18, F26, F38, input 81).

use std::fs;
use std::path::Path;

use turnback_engine::{Code, Context};

use crate::common::place::{Place, code, open, request};
use crate::common::process::{child, run, task};

#[test]
fn the_store_and_the_workspace_in_one_another() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = directory.path().join("w");
    fs::create_dir_all(workspace.join("sub")).unwrap();
    let inside = open(&workspace.join("s")).unwrap();
    assert_eq!(code(inside.create(&workspace, request(), &Context::default())), Code::StoreNested);
    let store = inside.store_path().to_owned();
    assert_eq!(code(inside.create(&store, request(), &Context::default())), Code::StoreNested);
    assert_eq!(code(inside.create(&store.join("tmp"), request(), &Context::default())), Code::StoreNested);
    // Next to one another is fine, also where one name is the beginning of the other.
    fs::create_dir(workspace.join("s-next")).unwrap();
    inside.create(&workspace.join("s-next"), request(), &Context::default()).unwrap();
    let mut allowed = request();
    allowed.allow_broad = true;
    assert_eq!(code(inside.create(&workspace, allowed, &Context::default())), Code::StoreNested);
}

#[test]
fn too_broad_workspaces() {
    let place = Place::default();
    for path in ["/", "/tmp", "/var/tmp"] {
        let refused = place.manager.create(Path::new(path), request(), &Context::default());
        let error = refused.unwrap_err();
        assert_eq!(error.code(), Code::TooBroad, "{path}");
        assert!(error.advice().contains("`turnback checkpoint --allow-broad`"), "{error}");
    }
    run(child("scope::home", place.dir.path()));
    assert_eq!(place.ids(), []);
    place.tmp_is_empty();
}

#[test]
#[ignore = "run by its parent: the environment is the process's"]
fn home() {
    let Some(directory) = task() else { return };
    let own = tempfile::tempdir_in(directory).unwrap();
    let home = own.path().join("homes/me");
    fs::create_dir_all(home.join("project")).unwrap();
    let mut command = child("scope::inside_home", own.path());
    command.env("HOME", &home).env("TMPDIR", own.path().join("homes/me/project"));
    run(command);
}

#[test]
#[ignore = "run by its parent: the environment is the process's"]
fn inside_home() {
    let Some(directory) = task() else { return };
    let manager = open(&directory.join("store")).unwrap();
    let create = |path: &Path| manager.create(path, request(), &Context::default());
    assert_eq!(code(create(&directory.join("homes/me"))), Code::TooBroad);
    assert_eq!(code(create(&directory.join("homes"))), Code::TooBroad, "it holds a home directory");
    assert_eq!(code(create(&directory.join("homes/me/project"))), Code::TooBroad, "$TMPDIR");
    fs::create_dir(directory.join("homes/me/other")).unwrap();
    create(&directory.join("homes/me/other")).unwrap();
    let mut allowed = request();
    allowed.allow_broad = true;
    manager.create(&directory.join("homes/me"), allowed, &Context::default()).unwrap();
}

#[test]
fn directories_that_are_none() {
    let place = Place::default();
    place.write("file", "x");
    let create = |path: &Path| place.manager.create(path, request(), &Context::default());
    assert_eq!(code(create(&place.at("missing"))), Code::NotFound);
    assert_eq!(code(create(&place.at("file"))), Code::NotADirectory);
    assert_eq!(code(create(&place.at("file/beneath"))), Code::NotADirectory);
    assert_eq!(code(create(Path::new(""))), Code::InvalidArgument);
    assert_eq!(code(create(Path::new("a\0b"))), Code::InvalidArgument);
    // A link is resolved once; both names are one workspace.
    std::os::unix::fs::symlink(place.root(), place.dir.path().join("link")).unwrap();
    let by_link = create(&place.dir.path().join("link")).unwrap();
    let direct = create(&place.root()).unwrap();
    assert_eq!(by_link.sandbox_id, direct.sandbox_id);
    assert_eq!(by_link.workspace, fs::canonicalize(place.root()).unwrap());
}

#[test]
fn a_part_of_a_repository_is_its_own_scope() {
    // F18, F26: a subfolder of a repository, and no git needed.
    let place = Place::default();
    place.write(".git/HEAD", "ref: refs/heads/main\n");
    place.write("frontend/x", "1");
    place.write("backend/x", "1");
    let front = place.manager.create(&place.at("frontend"), request(), &Context::default()).unwrap();
    place.write("frontend/x", "2");
    place.write("backend/x", "2");
    place.rollback(front.checkpoint_id);
    assert_eq!(fs::read(place.at("frontend/x")).unwrap(), b"1");
    assert_eq!(fs::read(place.at("backend/x")).unwrap(), b"2");
}
