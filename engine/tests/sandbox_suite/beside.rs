//! What lies beside a sandbox's root is in no checkpoint of it, and is never lost (S10).

use std::fs;
use std::path::PathBuf;

use turnback_engine::sandbox::LeaseRequest;
use turnback_engine::{Code, SandboxOptions};

use crate::common::place::code;
use crate::place::{Place, ctx};

#[test]
fn plain_cleanup_refuses_and_names_it_and_force_leaves_it() {
    let place = Place::here();
    place.write("f", "x");
    let sandbox = place.create();
    let root = sandbox.handle().path().to_owned();
    let build = root.with_file_name("build");
    fs::create_dir(&build).unwrap();
    fs::write(build.join("out"), "precious").unwrap();
    assert_eq!(place.sandboxes.list(&ctx()).unwrap()[0].unsaved, Some(true));
    let refused = sandbox.cleanup(false, &ctx()).unwrap_err();
    assert_eq!(refused.code(), Code::UnsavedWork);
    let named = build.to_str().unwrap();
    assert!(refused.to_string().contains(named), "{refused}");
    assert!(refused.details().iter().any(|(name, paths)| *name == "paths" && paths == named), "{refused:?}");
    assert!(root.join("f").exists());
    let report = sandbox.cleanup(true, &ctx()).unwrap();
    assert_eq!(report.remains.paths, vec![build.clone()]);
    assert_eq!(fs::read_to_string(build.join("out")).unwrap(), "precious");
    assert!(!root.exists());
    assert!(place.sandboxes.list(&ctx()).unwrap().is_empty());
    fs::remove_dir_all(place.base()).unwrap();
}

/// The root itself was moved: the work lies beside where it was.
#[test]
fn a_root_that_was_moved() {
    let place = Place::here();
    place.write("f", "x");
    let sandbox = place.create();
    let root = sandbox.handle().path().to_owned();
    let moved = root.with_file_name("moved");
    fs::write(root.join("f"), "work").unwrap();
    fs::rename(&root, &moved).unwrap();
    let refused = sandbox.cleanup(false, &ctx()).unwrap_err();
    assert_eq!(refused.code(), Code::UnsavedWork);
    assert!(refused.to_string().contains(moved.to_str().unwrap()), "{refused}");
    let report = sandbox.cleanup(true, &ctx()).unwrap();
    assert_eq!((report.saved_checkpoint_id, report.remains.paths), (None, vec![moved.clone()]));
    assert_eq!(fs::read_to_string(moved.join("f")).unwrap(), "work");
}

/// S9: nobody keeps the sandbox any more, and its root is as it was.
#[test]
fn an_abandoned_one_is_kept() {
    let place = Place::here();
    place.write("f", "x");
    let lease = LeaseRequest::Detached(std::time::Duration::ZERO);
    let sandbox = place.sandboxes.create(&SandboxOptions { lease, ..place.options() }, &ctx()).unwrap();
    sandbox.enter(&ctx()).unwrap();
    let notes: PathBuf = sandbox.handle().path().with_file_name("notes");
    drop(sandbox);
    fs::write(&notes, "precious").unwrap();
    let report = place.sandboxes.cleanup_abandoned(&ctx()).unwrap();
    assert!(report.removed.is_empty());
    assert!(report.kept[0].reason.contains(notes.to_str().unwrap()), "{report:?}");
    assert_eq!(fs::read_to_string(&notes).unwrap(), "precious");
    fs::remove_file(&notes).unwrap();
    let report = place.sandboxes.cleanup_abandoned(&ctx()).unwrap();
    assert_eq!((report.removed.len(), report.remains.is_empty()), (1, true));
    place.is_clean(0);
}

/// A file in the place of the root is work, too: it stays, is named, and keeps nobody from cleaning up (S10).
#[test]
fn a_file_in_the_place_of_the_root() {
    let place = Place::here();
    place.write("f", "1");
    let sandbox = place.create();
    let path = sandbox.enter(&ctx()).unwrap();
    fs::remove_dir_all(&path).unwrap();
    fs::write(&path, "work").unwrap();
    assert_eq!(code(sandbox.cleanup(false, &ctx())), Code::UnsavedWork);
    let report = sandbox.cleanup(true, &ctx()).unwrap();
    assert_eq!((report.saved_checkpoint_id, report.remains.paths), (None, vec![path.clone()]));
    assert_eq!(fs::read(&path).unwrap(), b"work");
    assert_eq!(place.sandboxes.list(&ctx()).unwrap().len(), 0);
}
