//! What a commit did not bring stays the sandbox's unsaved work (S6, S10).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use turnback_core::SandboxStatus::{Committed, RolledBack};
use turnback_engine::sandbox::{CommitOptions, OnCommitConflict};
use turnback_engine::{Code, RelPath};

use crate::commit::{commit, conflicts, held, on, put, text};
use crate::common::place::code;
use crate::place::{Place, changes, ctx};

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn pairs(all: &[(&str, &'static str)]) -> Vec<(String, &'static str)> {
    all.iter().map(|(path, what)| ((*path).to_owned(), *what)).collect()
}

/// Input 105: what lost a conflict is neither forgotten nor removed without a checkpoint, and is a conflict again.
#[test]
fn what_lost_a_conflict() {
    let place = Place::here();
    place.write("both", "base");
    place.write("free", "base");
    let sandbox = place.create();
    put(&sandbox, "both", "sandbox");
    put(&sandbox, "free", "sandbox");
    place.write("both", "host");
    let report = sandbox.commit(&on(OnCommitConflict::Theirs), &ctx()).unwrap();
    assert_eq!((report.committed, conflicts(&report)), (true, vec!["both".to_owned()]));
    assert_eq!(changes(&sandbox), pairs(&[("both", "modified")]));
    assert_eq!(code(sandbox.cleanup(false, &ctx())), Code::UnsavedWork);
    assert_eq!(place.sandboxes.list(&ctx()).unwrap()[0].unsaved, Some(true));

    let again = commit(&sandbox);
    assert_eq!((again.committed, conflicts(&again)), (false, vec!["both".to_owned()]));
    // S3: the commit can be taken back, and made again.
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    assert_eq!((text(&place, "both"), text(&place, "free")), ("host".into(), "base".into()));
    assert_eq!(changes(&sandbox), pairs(&[("both", "modified"), ("free", "modified")]));
    assert!(sandbox.commit(&on(OnCommitConflict::Theirs), &ctx()).unwrap().committed);
    let checkpoint = sandbox.cleanup(true, &ctx()).unwrap().saved_checkpoint_id.unwrap();
    assert_eq!(place.manager.read_file(checkpoint, &RelPath::parse(b"both").unwrap()).unwrap(), b"sandbox");
}

/// The same for conflicts of every shape, also where some texts meet.
#[test]
fn conflicts_of_every_shape() {
    let place = Place::here();
    for path in ["chmod/f", "file/x", "gone/x", "gone/y", "replaced/x", "linked", "deleted"] {
        place.write(path, "base");
    }
    fs::hard_link(place.resource().join("linked"), place.resource().join("other")).unwrap();
    place.write("meets", "1\n2\n3\n4\n");
    place.write("collides", "1\n2\n3\n4\n");
    let sandbox = place.create();
    let (inside, outside) = (sandbox.handle().path().to_owned(), place.resource());

    put(&sandbox, "chmod/f", "sandbox");
    chmod(&inside.join("chmod"), 0o700);
    chmod(&outside.join("chmod"), 0o711);
    chmod(&inside, 0o700);
    chmod(&outside, 0o711);
    put(&sandbox, "file/x", "sandbox");
    fs::remove_dir_all(outside.join("file")).unwrap();
    place.write("file", "host");
    fs::remove_dir_all(inside.join("gone")).unwrap();
    place.write("gone/x", "host");
    fs::remove_dir_all(inside.join("replaced")).unwrap();
    put(&sandbox, "replaced", "sandbox");
    place.write("replaced/x", "host");
    put(&sandbox, "linked", "sandbox");
    place.write("linked", "the host's");
    put(&sandbox, "deleted", "sandbox");
    fs::remove_file(outside.join("deleted")).unwrap();
    put(&sandbox, "meets", "1\n2\n3\nFOUR\n");
    place.write("meets", "ONE\n2\n3\n4\n");
    put(&sandbox, "collides", "sandbox\n2\n3\n4\n");
    place.write("collides", "host\n2\n3\n4\n");

    let options = CommitOptions { text_merge: Some(true), ..on(OnCommitConflict::Theirs) };
    let report = sandbox.commit(&options, &ctx()).unwrap();
    let all = ["", "chmod", "collides", "deleted", "file", "gone/x", "linked", "other", "replaced"];
    assert_eq!((report.committed, conflicts(&report)), (true, all.map(str::to_owned).to_vec()));
    assert_eq!(held(&report), pairs(&[("gone", "not_empty")]));
    assert_eq!(
        (text(&place, "chmod/f"), text(&place, "meets")),
        ("sandbox".into(), "ONE\n2\n3\nFOUR\n".into())
    );
    let left = pairs(&[
        ("", "metadata"),
        ("chmod", "metadata"),
        ("collides", "modified"),
        ("deleted", "modified"),
        ("file/x", "modified"),
        ("gone", "deleted"),
        ("gone/x", "deleted"),
        ("linked", "modified"),
        ("other", "modified"),
        ("replaced", "type_changed"),
        ("replaced/x", "deleted"),
    ]);
    assert_eq!(changes(&sandbox), left);

    // Every time anew, until somebody decides otherwise.
    let again = sandbox.commit(&options, &ctx()).unwrap();
    assert_eq!((conflicts(&again), held(&again)), (conflicts(&report), held(&report)));
    assert_eq!(changes(&sandbox), left);
    let fails = commit(&sandbox);
    assert_eq!((fails.committed, conflicts(&fails)), (false, conflicts(&report)));
    assert_eq!(place.manager.verify(None, &ctx()).unwrap().damaged, []);
    let ours = sandbox.commit(&on(OnCommitConflict::Ours), &ctx()).unwrap();
    assert_eq!((ours.committed, conflicts(&ours)), (true, conflicts(&report)));
    assert_eq!(changes(&sandbox), []);
    assert_eq!(
        (text(&place, "collides"), text(&place, "replaced")),
        ("sandbox\n2\n3\n4\n".into(), "sandbox".into())
    );
    assert!(!outside.join("gone").exists());
    sandbox.cleanup(false, &ctx()).unwrap();
}

/// A directory that the sandbox deleted and that stays is still its unsaved deletion; so is a file that something else is in the place of.
#[test]
fn deletions_that_could_not_be_made() {
    let place = Place::here();
    place.write("d/f", "1");
    place.write("f", "1");
    let sandbox = place.create();
    fs::remove_dir_all(sandbox.handle().path().join("d")).unwrap();
    fs::remove_file(sandbox.handle().path().join("f")).unwrap();
    place.write("d/host", "1");
    fs::remove_file(place.resource().join("f")).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(place.resource().join("f")).unwrap();
    let report = commit(&sandbox);
    assert!(report.committed, "{report:?}");
    assert_eq!(held(&report), pairs(&[("d", "not_empty"), ("f", "not_captured")]));
    assert!(!place.resource().join("d/f").exists());
    assert_eq!(changes(&sandbox), pairs(&[("d", "deleted"), ("f", "deleted")]));
    assert_eq!(code(sandbox.cleanup(false, &ctx())), Code::UnsavedWork);
    // Once nothing keeps them there, they go.
    for path in ["d/host", "f"] {
        fs::remove_file(place.resource().join(path)).unwrap();
    }
    let report = commit(&sandbox);
    assert_eq!((report.committed, held(&report)), (true, vec![]));
    assert!(!place.resource().join("d").exists());
    assert_eq!(changes(&sandbox), []);
}

/// S3: putting the sandbox back says nothing of its commit, which can still be taken back.
#[test]
fn a_commit_is_undone_after_a_rollback() {
    let place = Place::here();
    place.write("a", "1");
    let sandbox = place.create();
    put(&sandbox, "a", "2");
    assert!(commit(&sandbox).committed);
    assert_eq!(sandbox.handle().status().unwrap(), Committed);
    put(&sandbox, "a", "3");
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
    assert_eq!(sandbox.handle().status().unwrap(), RolledBack);
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    assert_eq!(text(&place, "a"), "1");
    assert_eq!(sandbox.handle().status().unwrap(), RolledBack);
    assert_eq!(changes(&sandbox), pairs(&[("a", "modified")]));
    assert_eq!(code(sandbox.undo_commit(&ctx())), Code::NotUndoable);
    assert!(commit(&sandbox).committed);
    assert_eq!(text(&place, "a"), "2");
}
