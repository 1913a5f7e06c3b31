//! A link that stands where a sandbox's root or the directory around it was is never followed: what it leads to is not the sandbox's (S4,
//! S10, C5).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use turnback_core::{CheckpointId, Phase};
use turnback_engine::sandbox::CommitOptions;
use turnback_engine::{Code, CreateRequest, RollbackRequest, RootPath, Sandbox};

use super::subject::Subject;
use crate::common::picture::{Tree, same};
use crate::common::place::code;
use crate::place::{Place, ctx};

/// Somebody's directory that nobody gave to a sandbox; beneath it one that is called as a sandbox's root is.
fn canary(place: &Place) -> PathBuf {
    let canary = place.dir().join("canary");
    fs::create_dir_all(canary.join("work/d")).unwrap();
    for file in ["mine", "f", "work/f", "work/d/mine"] {
        fs::write(canary.join(file), "precious").unwrap();
    }
    canary
}

fn recorded() -> CreateRequest {
    let request = CreateRequest::new("p".parse().unwrap(), Phase::PreExecute);
    CreateRequest { root: RootPath::Recorded, allow_broad: true, ..request }
}

fn checkpoint(place: &Place, sandbox: &Arc<dyn Sandbox>) -> CheckpointId {
    // The baseline of a snapshot is pictured now and not while it is counted what is stored.
    sandbox.changes(&ctx()).ok();
    place.manager.create(sandbox.handle().path(), recorded(), &ctx()).unwrap().checkpoint_id
}

/// Everything that could read or write through the link.
#[track_caller]
fn refuses_all(place: &Place, sandbox: &Arc<dyn Sandbox>, before: CheckpointId) {
    let stored = place.manager.list(None).unwrap().checkpoints.len();
    let refused = Code::WorkspaceReplaced;
    assert_eq!(code(sandbox.enter(&ctx())), refused);
    assert_eq!(code(sandbox.changes(&ctx())), refused);
    assert_eq!(code(sandbox.foresee(&CommitOptions::default(), &ctx())), refused);
    assert_eq!(code(sandbox.commit(&CommitOptions::default(), &ctx())), refused);
    assert_eq!(code(place.manager.create(sandbox.handle().path(), recorded(), &ctx())), refused);
    assert_eq!(code(place.manager.rollback(before, RollbackRequest::default(), &ctx())), refused);
    assert_eq!(place.sandboxes.list(&ctx()).unwrap()[0].unsaved, Some(true));
    assert_eq!(code(sandbox.cleanup(false, &ctx())), Code::UnsavedWork);
    assert_eq!(place.manager.list(None).unwrap().checkpoints.len(), stored, "something was stored");
}

/// The sandbox goes, and what stands there stays.
#[track_caller]
fn goes_and_leaves(place: &Place, sandbox: &Arc<dyn Sandbox>, link: &Path) {
    let to = fs::read_link(link).unwrap();
    let report = sandbox.cleanup(true, &ctx()).unwrap();
    assert_eq!((report.saved_checkpoint_id, report.remains.paths), (None, vec![link.to_owned()]));
    assert_eq!(fs::read_link(link).unwrap(), to);
    assert_eq!(place.sandboxes.list(&ctx()).unwrap(), []);
}

pub fn a_link_for_the_root(place: &Place, subject: Subject) {
    let canary = canary(place);
    let kept = Tree::of(&canary);
    place.write("f", "1");
    subject.settle(place);
    let resource = subject.untouched(place);
    let targets = [canary.clone(), "/".into(), place.dir().join("store"), place.resource(), "work".into()];
    for to in targets {
        let sandbox = subject.create(place);
        // A snapshot's baseline is pictured when it is first needed: also where the root is a link by then.
        let root = sandbox.handle().path().to_owned();
        fs::remove_dir_all(&root).unwrap();
        symlink(&to, &root).unwrap();
        goes_and_leaves(place, &sandbox, &root);

        let sandbox = subject.create(place);
        let root = sandbox.enter(&ctx()).unwrap();
        let before = checkpoint(place, &sandbox);
        fs::remove_dir_all(&root).unwrap();
        symlink(&to, &root).unwrap();
        refuses_all(place, &sandbox, before);
        let forced = RollbackRequest { allow_replaced_root: true, ..RollbackRequest::default() };
        assert_eq!(code(place.manager.rollback(before, forced, &ctx())), Code::WorkspaceReplaced);
        goes_and_leaves(place, &sandbox, &root);

        let sandbox = subject.create(place);
        let root = sandbox.enter(&ctx()).unwrap();
        fs::write(root.join("f"), "work").unwrap();
        fs::remove_dir_all(&root).unwrap();
        symlink(&to, &root).unwrap();
        assert!(sandbox.rollback(&ctx()).unwrap().restored);
        assert_eq!(fs::read(root.join("f")).unwrap(), b"1");
        sandbox.cleanup(false, &ctx()).unwrap();
        same(&Tree::of(&canary), &kept);
        same(&subject.untouched(place), &resource);
    }
}

pub fn a_link_around_the_root(place: &Place, subject: Subject) {
    let canary = canary(place);
    let kept = Tree::of(&canary);
    place.write("f", "1");
    subject.settle(place);
    let resource = subject.untouched(place);
    let sandbox = subject.create(place);
    let root = sandbox.enter(&ctx()).unwrap();
    let before = checkpoint(place, &sandbox);
    let holder = root.parent().unwrap().to_owned();
    fs::rename(&holder, place.dir().join("away")).unwrap();
    symlink(&canary, &holder).unwrap();
    refuses_all(place, &sandbox, before);
    assert_eq!(code(sandbox.rollback(&ctx())), Code::WorkspaceReplaced);
    goes_and_leaves(place, &sandbox, &holder);
    same(&Tree::of(&canary), &kept);
    same(&subject.untouched(place), &resource);
}

/// A path that somebody gives may be a link, and is resolved; a sandbox's own may not.
pub fn no_checkpoint_through_a_link(place: &Place, subject: Subject) {
    let canary = canary(place);
    let kept = Tree::of(&canary);
    let sandbox = subject.small(place, &[("f", "1")]);
    let root = sandbox.enter(&ctx()).unwrap();
    checkpoint(place, &sandbox);
    fs::rename(&root, place.dir().join("away")).unwrap();
    symlink(&canary, &root).unwrap();
    let refused = place.manager.create(&root, recorded(), &ctx()).unwrap_err();
    assert_eq!(refused.code(), Code::WorkspaceReplaced);
    assert!(refused.to_string().contains(root.to_str().unwrap()), "{refused}");
    let given = CreateRequest { root: RootPath::Given, ..recorded() };
    let taken = place.manager.create(&root, given, &ctx()).unwrap();
    assert_eq!(taken.sandbox_id, place.manager.sandbox_id_of(&canary).unwrap());
    assert_eq!(code(sandbox.enter(&ctx())), Code::WorkspaceReplaced);
    same(&Tree::of(&canary), &kept);
}
