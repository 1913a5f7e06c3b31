//! Which directories are taken as a store, and what opening does to them (inputs 7, 80, 81, 99, 102, 103).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;

use turnback_core::CheckpointId;
use turnback_engine::{Code, Context, Manager, OpenOptions, StoreLocation};

use crate::common::everything::{chmod, fifo};
use crate::common::picture::same;
use crate::common::place::{Place, code, exact, files_beneath, is_root, open, request};
use crate::common::process::skip;

#[test]
fn a_newer_format_can_be_read_and_not_written() {
    let place = Place::default();
    place.write("a", "1");
    let id = place.create().checkpoint_id;
    place.write("a", "2");
    fs::write(place.store().join("format"), "turnback store 2\n").unwrap();
    fs::create_dir(place.store().join("tmp/of-a-newer-version")).unwrap();
    let manager = open(&place.store()).unwrap();
    let files = place.store_files();
    assert_eq!(manager.list(None).unwrap().checkpoints.len(), 1);
    assert_eq!(manager.read_file(id, &crate::common::place::rel("a")).unwrap(), b"1");
    assert_eq!(manager.verify(None, &Context::default()).unwrap().damaged, []);
    manager.export(id, &place.dir.path().join("out"), &Context::default()).unwrap();
    let before = place.tree();
    for code in [
        code(manager.create(&place.root(), request(), &Context::default())),
        code(manager.delete(id)),
        code(manager.rollback(id, exact(), &Context::default())),
        code(manager.set_label(id, Some("x"))),
        code(manager.set_pinned(id, true)),
    ] {
        assert_eq!(code, Code::StoreFormat);
    }
    same(&place.tree(), &before);
    assert_eq!(place.store_files(), files, "nothing in it was touched");
}

#[test]
fn what_is_no_store_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("documents")).unwrap();
    fs::write(at("documents/letter"), "dear").unwrap();
    assert_eq!(code(open(&at("documents"))), Code::StoreFormat);
    assert_eq!(files_beneath(&at("documents")), [at("documents/letter")]);

    fs::create_dir(at("garbage")).unwrap();
    for text in [
        "",
        "turnback store",
        "turnback store 0\n",
        "turnback store x\n",
        "other\n",
        "turnback store 1\nmore",
    ] {
        fs::write(at("garbage/format"), text).unwrap();
        assert_eq!(code(open(&at("garbage"))), Code::StoreFormat, "{text:?}");
    }
    fs::remove_file(at("garbage/format")).unwrap();
    fifo(&at("garbage/format"));
    assert_eq!(code(open(&at("garbage"))), Code::Corrupt, "and it does not block");

    fs::write(at("file"), "").unwrap();
    assert_eq!(code(open(&at("file"))), Code::NotADirectory);
    let empty = StoreLocation::Path("".into());
    assert_eq!(
        code(Manager::open(OpenOptions { store: empty, ..OpenOptions::default() })),
        Code::InvalidArgument
    );
    fs::create_dir(at("empty")).unwrap();
    open(&at("empty")).unwrap();
    open(&at("several/missing/parents")).unwrap();
}

#[test]
fn stores_that_others_could_change() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    for mode in [0o777, 0o702, 0o707] {
        fs::create_dir(at("store")).unwrap();
        chmod(&at("store"), mode);
        assert_eq!(code(open(&at("store"))), Code::StoreUnsafe, "{mode:o}");
        assert_eq!(files_beneath(&at("store")).len(), 0);
        fs::remove_dir(at("store")).unwrap();
    }
    fs::create_dir_all(at("open/store")).unwrap();
    chmod(&at("open/store"), 0o700);
    chmod(&at("open"), 0o777);
    assert_eq!(code(open(&at("open/store"))), Code::StoreUnsafe, "an ancestor without the sticky bit");
    chmod(&at("open"), 0o1777);
    open(&at("open/store")).unwrap();

    // A link to it is followed once, and what it leads to is checked.
    symlink("open/store", at("link")).unwrap();
    let manager = open(&at("link")).unwrap();
    assert_eq!(manager.store_path(), fs::canonicalize(at("open/store")).unwrap());
    chmod(&at("open"), 0o777);
    assert_eq!(code(open(&at("link"))), Code::StoreUnsafe);
}

#[test]
fn somebody_else_s_store() {
    if !is_root() {
        return skip("only root can make a directory somebody else's");
    }
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("store");
    fs::create_dir(&store).unwrap();
    chmod(&store, 0o700);
    std::os::unix::fs::chown(&store, Some(1234), None).unwrap();
    assert_eq!(code(open(&store)), Code::StoreUnsafe);
    std::os::unix::fs::chown(&store, Some(0), Some(1234)).unwrap();
    chmod(&store, 0o770);
    assert_eq!(code(open(&store)), Code::StoreUnsafe, "a group that is not ours may write");
    chmod(&store, 0o700);
    fs::create_dir(store.join("inner")).unwrap();
    chmod(&store.join("inner"), 0o700);
    std::os::unix::fs::chown(&store, Some(1234), None).unwrap();
    assert_eq!(code(open(&store.join("inner"))), Code::StoreUnsafe, "a foreign ancestor");
}

#[test]
fn leftovers_are_swept() {
    let place = Place::default();
    place.write("a", "1");
    let id = place.create().checkpoint_id;
    let tmp = place.store().join("tmp");
    fs::create_dir_all(tmp.join("half/made")).unwrap();
    fs::write(tmp.join("half/made/objects.pack"), "x").unwrap();
    fs::write(tmp.join("index"), "x").unwrap();
    symlink("/etc", tmp.join("link")).unwrap();
    fifo(&tmp.join("pipe"));
    let manager = open(&place.store()).unwrap();
    place.tmp_is_empty();
    assert!(std::path::Path::new("/etc/passwd").exists());
    assert_eq!(manager.verify(None, &Context::default()).unwrap().damaged, []);
    assert_eq!(manager.get(id).unwrap().unwrap().checkpoint_id, id);
}

#[test]
fn the_next_ephemeral_store_removes_those_of_dead_processes() {
    // C11: killed, so that nothing could remove it.
    let ephemeral =
        || Manager::open(OpenOptions { store: StoreLocation::Ephemeral, ..OpenOptions::default() });
    let alive = ephemeral().unwrap();
    let orphan = alive.store_path().with_file_name(format!("turnback-{}", "0123456789abcdef".repeat(2)));
    crate::common::place::copy_store(alive.store_path(), &orphan);
    for path in [orphan.clone(), orphan.join("locks")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
    }
    let foreign = orphan.with_file_name("turnback-0123");
    fs::create_dir_all(&foreign).unwrap();
    let next = ephemeral().unwrap();
    assert!(!orphan.exists());
    assert!(alive.store_path().exists(), "this one is in use");
    assert!(foreign.exists(), "this one is none of ours");
    fs::remove_dir(foreign).unwrap();
    next.close().unwrap();
    alive.close().unwrap();
}

#[test]
fn an_ephemeral_store_goes_with_its_manager() {
    let workspace = tempfile::tempdir().unwrap();
    fs::write(workspace.path().join("a"), "1").unwrap();
    let options = OpenOptions { store: StoreLocation::Ephemeral, ..OpenOptions::default() };
    let manager = Manager::open(options).unwrap();
    let store = manager.store_path().to_owned();
    let checkpoint = manager.create(workspace.path(), request(), &Context::default()).unwrap();
    fs::write(workspace.path().join("a"), "2").unwrap();
    manager.rollback(checkpoint.checkpoint_id, exact(), &Context::default()).unwrap();
    assert_eq!(fs::read(workspace.path().join("a")).unwrap(), b"1");
    let second = manager.clone();
    drop(manager);
    assert!(store.exists());
    second.close().unwrap();
    assert!(!store.exists());
    assert_eq!(code(second.list(None)), Code::Poisoned);
    second.close().unwrap();
}

#[test]
fn strange_names_in_a_store_are_left_alone() {
    let place = Place::default();
    place.write("a", "1");
    let id = place.create().checkpoint_id;
    fs::write(place.store().join("checkpoints/README"), "hello").unwrap();
    fs::create_dir(place.store().join("checkpoints").join(id.to_string().to_lowercase())).unwrap();
    fs::create_dir(place.store().join("checkpoints").join(CheckpointId::from_bytes([1; 16]).to_string()))
        .unwrap();
    let manager = open(&place.store()).unwrap();
    let listing = manager.list(None).unwrap();
    assert_eq!(listing.checkpoints.len(), 1);
    assert_eq!(
        listing.damaged.len(),
        1,
        "F21: a directory without a record is not offered: {:?}",
        listing.damaged
    );
    assert!(place.store().join("checkpoints/README").exists());
}
