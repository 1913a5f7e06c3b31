//! A directory or a mount that stands where a sandbox's own root was is not the sandbox's work (S4, S6, C5).

use std::fs;
use std::sync::Arc;

use turnback_engine::sandbox::CommitOptions;
use turnback_engine::{Code, RollbackRequest, Sandbox};

use super::subject::Subject;
use crate::common::picture::{Tree, same};
use crate::common::place::{code, is_root};
use crate::common::process::Mount;
use crate::place::{Place, ctx};

#[track_caller]
fn nothing_is_taken_from_it(place: &Place, subject: Subject, sandbox: &Arc<dyn Sandbox>) {
    let before = subject.untouched(place);
    let refused = Code::WorkspaceReplaced;
    assert_eq!(code(sandbox.enter(&ctx())), refused);
    assert_eq!(code(sandbox.changes(&ctx())), refused);
    assert_eq!(code(sandbox.foresee(&CommitOptions::default(), &ctx())), refused);
    assert_eq!(code(sandbox.commit(&CommitOptions::default(), &ctx())), refused);
    same(&subject.untouched(place), &before);
}

pub fn another_directory(place: &Place, subject: Subject) {
    let sandbox = subject.small(place, &[("f", "1"), ("g", "1")]);
    let root = sandbox.enter(&ctx()).unwrap();
    // The baseline of a snapshot is pictured now.
    assert_eq!(subject.changes(&sandbox), []);
    let away = root.with_file_name("away");
    fs::rename(&root, &away).unwrap();
    fs::create_dir(&root).unwrap();
    fs::write(root.join("other"), "somebody's").unwrap();
    if subject.is_git() {
        fs::copy(away.join(".git"), root.join(".git")).unwrap();
    }
    nothing_is_taken_from_it(place, subject, &sandbox);
    assert_eq!(place.sandboxes.list(&ctx()).unwrap()[0].unsaved, Some(true));
    // Back again it goes on.
    let other = root.with_file_name("other");
    fs::rename(&root, &other).unwrap();
    fs::rename(&away, &root).unwrap();
    fs::write(sandbox.enter(&ctx()).unwrap().join("f"), "2").unwrap();
    assert!(sandbox.commit(&CommitOptions::default(), &ctx()).unwrap().committed);
    assert_eq!(fs::read(place.resource().join("f")).unwrap(), b"2");
    // Or what stands there is taken for the sandbox's by a rollback, which stores it first.
    fs::rename(&root, &away).unwrap();
    fs::rename(&other, &root).unwrap();
    nothing_is_taken_from_it(place, subject, &sandbox);
    let report = sandbox.rollback(&ctx()).unwrap();
    assert!(report.restored && !root.join("other").exists(), "{report:?}");
    sandbox.enter(&ctx()).unwrap();
    place.manager.rollback(report.undo_checkpoint_id.unwrap(), RollbackRequest::default(), &ctx()).unwrap();
    assert_eq!(fs::read(root.join("other")).unwrap(), b"somebody's");
    assert!(sandbox.commit(&CommitOptions::default(), &ctx()).unwrap().committed);
    assert_eq!(fs::read(place.resource().join("other")).unwrap(), b"somebody's");
}

pub fn a_mount_over_it(place: &Place, subject: Subject) {
    if !is_root() {
        return;
    }
    let sandbox = subject.small(place, &[("f", "1")]);
    let root = sandbox.enter(&ctx()).unwrap();
    assert_eq!(subject.changes(&sandbox), []);
    let theirs = place.dir().join("theirs");
    fs::create_dir(&theirs).unwrap();
    fs::write(theirs.join("precious"), "x").unwrap();
    if subject.is_git() {
        fs::copy(root.join(".git"), theirs.join(".git")).unwrap();
    }
    let before = Tree::of(&theirs);
    // `None` where mounting is not permitted.
    let Some(mount) = Mount::new(&["--bind", theirs.to_str().unwrap()], &root) else { return };
    nothing_is_taken_from_it(place, subject, &sandbox);
    let error = sandbox.rollback(&ctx()).unwrap_err();
    assert_eq!(error.code(), Code::WorkspaceReplaced);
    assert!(error.to_string().contains("unmount"), "{error}");
    assert_eq!(code(sandbox.cleanup(false, &ctx())), Code::UnsavedWork);
    same(&Tree::of(&theirs), &before);
    drop(mount);
    // Its own root mounted there is its own root, as in a container.
    let Some(_mount) = Mount::new(&["--bind", root.to_str().unwrap()], &root) else { return };
    fs::write(sandbox.enter(&ctx()).unwrap().join("f"), "2").unwrap();
    assert!(sandbox.commit(&CommitOptions::default(), &ctx()).unwrap().committed);
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
}

/// Nobody works where nothing is, or no directory.
pub fn no_directory(place: &Place, subject: Subject) {
    let sandbox = subject.small(place, &[("f", "1")]);
    let root = sandbox.handle().path().to_owned();
    fs::remove_dir_all(&root).unwrap();
    assert_eq!(code(sandbox.enter(&ctx())), Code::NotFound);
    fs::write(&root, "a file").unwrap();
    assert_eq!(code(sandbox.enter(&ctx())), Code::NotADirectory);
    fs::remove_file(&root).unwrap();
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
    assert_eq!(fs::read(sandbox.enter(&ctx()).unwrap().join("f")).unwrap(), b"1");
}
