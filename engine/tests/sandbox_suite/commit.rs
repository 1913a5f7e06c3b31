//! Commits of copies (S3, S6): three-way, by default all or nothing, undoable.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::sync::Arc;

use turnback_core::Phase;
use turnback_core::SandboxStatus::{Active, Committed, RolledBack};
use turnback_engine::sandbox::{CommitOptions, CommitReport, MergeMode, OnCommitConflict};
use turnback_engine::{Code, Sandbox};

use crate::common::everything::{build, damage};
use crate::common::picture::{Tree, same};
use crate::common::place::code;
use crate::place::{Place, changes, ctx, shown};

pub fn commit(sandbox: &Arc<dyn Sandbox>) -> CommitReport {
    sandbox.commit(&CommitOptions::default(), &ctx()).unwrap()
}

pub fn on(on_conflict: OnCommitConflict) -> CommitOptions {
    CommitOptions { on_conflict, ..CommitOptions::default() }
}

pub fn put(sandbox: &Arc<dyn Sandbox>, path: &str, bytes: impl AsRef<[u8]>) {
    let full = sandbox.handle().path().join(path);
    fs::create_dir_all(full.parent().unwrap()).unwrap();
    fs::write(full, bytes).unwrap();
}

pub fn text(place: &Place, path: &str) -> String {
    String::from_utf8(fs::read(place.resource().join(path)).unwrap()).unwrap()
}

pub fn held(report: &CommitReport) -> Vec<(String, &'static str)> {
    report.held_back.iter().map(|held| (held.path.to_string(), held.reason.as_str())).collect()
}

pub fn conflicts(report: &CommitReport) -> Vec<String> {
    report.conflicts.iter().map(|conflict| conflict.path.to_string()).collect()
}

/// F32, S6: every kind of file, ignored or not, binary or not, and nothing else.
#[test]
fn carries_everything_and_only_that() {
    let place = Place::here();
    place.write(".gitignore", "*.log\nbuild/\n.env\n");
    place.write("same", "1");
    place.write("gone/f", "1");
    place.write("mine", "1");
    let sandbox = place.create();
    let path = sandbox.handle().path();
    put(&sandbox, "logo.png", b"\x89PNG\0\xff");
    put(&sandbox, "a.log", "log");
    put(&sandbox, "build/x", "x");
    put(&sandbox, ".env", "SECRET=1");
    put(&sandbox, "mine", "sandbox");
    fs::remove_dir_all(path.join("gone")).unwrap();
    symlink("mine", path.join("link")).unwrap();
    fs::hard_link(path.join("mine"), path.join("second")).unwrap();
    fs::create_dir(path.join("empty")).unwrap();
    // The resource moves on elsewhere.
    place.write("later", "host");
    let report = commit(&sandbox);
    assert!(report.committed, "{report:?}");
    assert_eq!((conflicts(&report), held(&report)), (vec![], vec![]));
    assert_eq!(sandbox.handle().status().unwrap(), Committed);
    let mut expected = Tree::of(path);
    let tree = place.tree();
    let later = tree.0.get(b"later".as_slice()).cloned().unwrap();
    expected.0.insert(b"later".to_vec(), later);
    let root = tree.0[b"".as_slice()].mtime;
    expected.0.get_mut(b"".as_slice()).unwrap().mtime = root;
    same(&tree, &expected);
    let listed = shown(&report.changes);
    for (path, kind) in [("a.log", "added"), ("gone/f", "deleted"), ("link", "added"), ("logo.png", "added")]
    {
        assert!(listed.contains(&(path.to_owned(), kind)), "{path}: {listed:?}");
    }
    assert!(!listed.iter().any(|(path, _)| path == "same" || path == "later"));
    assert_eq!(changes(&sandbox), []);
    // C14: the state before is a checkpoint of the resource.
    let before = report.pre_apply_checkpoint_id.unwrap();
    let listed = place.manager.get(before).unwrap().unwrap();
    assert_eq!((listed.phase, listed.workspace), (Phase::PreApply, place.resource()));
    sandbox.cleanup(false, &ctx()).unwrap();
    place.is_clean(1);
}

/// A tree of every kind, changed in every way: the resource becomes what the sandbox is.
#[test]
fn equals_the_sandbox_when_the_resource_stood_still() {
    let place = Place::here();
    let outside = place.dir().join("outside");
    fs::create_dir(&outside).unwrap();
    build(&place.resource(), &outside);
    let sandbox = place.create();
    damage(sandbox.handle().path());
    let options = CommitOptions { allow_git: true, allow_trusted: true, ..CommitOptions::default() };
    let report = sandbox.commit(&options, &ctx()).unwrap();
    assert!(report.committed, "{report:?}");
    let (tree, theirs) = (place.tree(), Tree::of(sandbox.handle().path()));
    let bytes =
        |tree: &Tree| tree.0.iter().map(|(path, item)| (path.clone(), item.what.clone())).collect::<Vec<_>>();
    assert_eq!(bytes(&tree), bytes(&theirs));
}

/// Input 105: by default a conflict keeps everything from being written.
#[test]
fn a_conflict_keeps_everything_out() {
    let place = Place::here();
    for path in ["both", "free", "deleted"] {
        place.write(path, "base");
    }
    let sandbox = place.create();
    put(&sandbox, "both", "sandbox");
    put(&sandbox, "free", "sandbox");
    put(&sandbox, "deleted", "sandbox");
    place.write("both", "the host's");
    fs::remove_file(place.resource().join("deleted")).unwrap();
    let (before, inside) = (place.tree(), Tree::of(sandbox.handle().path()));
    let report = commit(&sandbox);
    assert!(!report.committed);
    assert_eq!(conflicts(&report), ["both", "deleted"]);
    assert_eq!(
        (&*report.conflicts[0].ours, &*report.conflicts[0].theirs),
        ("a file of 7 bytes", "a file of 10 bytes")
    );
    assert_eq!((&*report.conflicts[1].ours, &*report.conflicts[1].theirs), ("a file of 7 bytes", "nothing"));
    assert_eq!(report.changes, []);
    same(&place.tree(), &before);
    same(&Tree::of(sandbox.handle().path()), &inside);
    assert_eq!(sandbox.handle().status().unwrap(), Active);
    assert_eq!(place.manager.list(None).unwrap().checkpoints.len(), 1, "only the baseline");

    let report = sandbox.commit(&on(OnCommitConflict::Theirs), &ctx()).unwrap();
    assert!(report.committed);
    assert_eq!(conflicts(&report), ["both", "deleted"]);
    assert_eq!((text(&place, "both"), text(&place, "free")), ("the host's".into(), "sandbox".into()));
    assert!(!place.resource().join("deleted").exists());
}

#[test]
fn ours_are_the_sandboxs() {
    let place = Place::here();
    place.write("both", "base");
    let sandbox = place.create();
    put(&sandbox, "both", "sandbox");
    place.write("both", "the host's");
    let report = sandbox.commit(&on(OnCommitConflict::Ours), &ctx()).unwrap();
    assert!(report.committed);
    assert_eq!(text(&place, "both"), "sandbox");
    // And it can be taken back.
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    assert_eq!(text(&place, "both"), "the host's");
}

/// F13: edits of different lines of one file meet; of the same line they do not.
#[test]
fn texts_are_merged_on_request() {
    let place = Place::here();
    let lines = |two: &str, five: &str| format!("1\n{two}\n3\n4\n{five}\n6\n");
    place.write("f", lines("2", "5"));
    let sandbox = place.create();
    put(&sandbox, "f", lines("2", "FIVE"));
    place.write("f", lines("TWO", "5"));
    assert_eq!(conflicts(&commit(&sandbox)), ["f"], "only on request");
    let options = CommitOptions { text_merge: Some(true), ..CommitOptions::default() };
    let report = sandbox.commit(&options, &ctx()).unwrap();
    assert!(report.committed, "{report:?}");
    assert_eq!(text(&place, "f"), lines("TWO", "FIVE"));
    assert_eq!(conflicts(&report), Vec::<String>::new());
    // Again, now that the two differ.
    put(&sandbox, "f", lines("2", "V"));
    place.write("f", lines("II", "FIVE"));
    let report = sandbox.commit(&options, &ctx()).unwrap();
    assert!(report.committed, "{report:?}");
    assert_eq!(text(&place, "f"), lines("II", "V"));
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    assert_eq!(text(&place, "f"), lines("II", "FIVE"));
    assert_eq!(place.manager.verify(None, &ctx()).unwrap().damaged, []);

    let sandbox = place.create();
    put(&sandbox, "f", lines("sandbox", "5"));
    place.write("f", lines("host", "5"));
    let before = place.tree();
    let report = sandbox.commit(&options, &ctx()).unwrap();
    assert_eq!((report.committed, conflicts(&report)), (false, vec!["f".to_owned()]));
    same(&place.tree(), &before);
}

/// S3: the result of a commit is the next baseline.
#[test]
fn a_second_commit_carries_what_came_since() {
    let place = Place::here();
    place.write("a", "1");
    place.write("b", "1");
    let sandbox = place.create();
    put(&sandbox, "a", "2");
    assert!(commit(&sandbox).committed);
    // The host goes on with what was committed: no conflict with what the sandbox does elsewhere.
    place.write("a", "host");
    put(&sandbox, "b", "2");
    assert_eq!(changes(&sandbox), [("b".to_owned(), "modified")]);
    let report = commit(&sandbox);
    assert_eq!(shown(&report.changes), [("b".to_owned(), "modified")]);
    assert_eq!((text(&place, "a"), text(&place, "b")), ("host".into(), "2".into()));
    // Nothing since: committed as well, and nothing is written.
    let before = place.tree();
    let report = commit(&sandbox);
    assert_eq!((report.committed, report.changes.len(), report.pre_apply_checkpoint_id), (true, 0, None));
    same(&place.tree(), &before);
    // S12: a rollback goes to the newest baseline.
    put(&sandbox, "b", "3");
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
    assert_eq!(fs::read(sandbox.handle().path().join("b")).unwrap(), b"2");
    assert_eq!(place.manager.verify(None, &ctx()).unwrap().damaged, []);
    sandbox.cleanup(false, &ctx()).unwrap();
    // Before each commit, and before the rollback.
    place.is_clean(3);
}

/// S3: COMMITTED → ROLLED_BACK, three-way, with later edits elsewhere kept.
#[test]
fn a_commit_is_undone() {
    let place = Place::here();
    place.write("a", "1");
    place.write("d/gone", "1");
    let sandbox = place.create();
    assert_eq!(code(sandbox.undo_commit(&ctx())), Code::NotUndoable);
    put(&sandbox, "a", "2");
    put(&sandbox, "new", "2");
    fs::remove_file(sandbox.handle().path().join("d/gone")).unwrap();
    let before = place.tree();
    assert!(commit(&sandbox).committed);
    place.write("elsewhere", "host");
    let report = sandbox.undo_commit(&ctx()).unwrap();
    assert!(report.restored, "{report:?}");
    assert_eq!(sandbox.handle().status().unwrap(), RolledBack);
    assert_eq!(text(&place, "elsewhere"), "host");
    fs::remove_file(place.resource().join("elsewhere")).unwrap();
    let (mut tree, mut then) = (place.tree(), before);
    for tree in [&mut tree, &mut then] {
        tree.0.get_mut(b"".as_slice()).unwrap().mtime = (0, 0);
    }
    same(&tree, &then);
    // The sandbox's work is there, uncommitted, and can be committed again.
    assert_eq!(code(sandbox.cleanup(false, &ctx())), Code::UnsavedWork);
    assert_eq!(code(sandbox.undo_commit(&ctx())), Code::NotUndoable);
    assert!(commit(&sandbox).committed);
    assert_eq!((text(&place, "a"), text(&place, "new")), ("2".into(), "2".into()));

    // A later edit of a committed path is never overwritten.
    place.write("a", "host");
    let before = place.tree();
    let report = sandbox.undo_commit(&ctx()).unwrap();
    assert_eq!((report.restored, report.conflicts.len()), (false, 1));
    same(&place.tree(), &before);
    assert_eq!(sandbox.handle().status().unwrap(), Committed);
}

/// Issue 5: two at once give one commit and one typed error.
#[test]
fn two_at_once() {
    let place = Place::here();
    for i in 0..300 {
        place.write(&format!("f{i}"), "1");
    }
    let sandbox = place.create();
    let other = place.sandboxes.attach(sandbox.handle().id(), &ctx()).unwrap();
    let mut lost = 0;
    for round in 0..8 {
        put(&sandbox, "a", format!("round {round}"));
        let barrier = std::sync::Barrier::new(2);
        let run = |sandbox: &Arc<dyn Sandbox>| {
            barrier.wait();
            sandbox.commit(&CommitOptions::default(), &ctx())
        };
        let answers: Vec<_> = std::thread::scope(|scope| {
            let (one, two) = (scope.spawn(|| run(&sandbox)), scope.spawn(|| run(&other)));
            vec![one.join().unwrap(), two.join().unwrap()]
        });
        for answer in &answers {
            match answer {
                Ok(report) => assert!(report.committed),
                Err(error) => {
                    assert_eq!(error.code(), Code::Busy, "{error}");
                    lost += 1;
                }
            }
        }
        assert!(answers.iter().any(Result::is_ok));
        assert_eq!(text(&place, "a"), format!("round {round}"));
    }
    assert!(lost > 0, "they never met");
}

#[test]
fn options_of_other_strategies_are_refused() {
    let place = Place::here();
    let sandbox = place.create();
    let branch = CommitOptions { merge: MergeMode::Branch, ..CommitOptions::default() };
    let message = CommitOptions { message: Some("m".to_owned()), ..CommitOptions::default() };
    for options in [branch, message] {
        assert_eq!(code(sandbox.commit(&options, &ctx())), Code::InvalidArgument);
    }
}

/// A directory that is gone is nobody's deletion.
#[test]
fn a_lost_directory_is_no_deletion() {
    let place = Place::here();
    place.write("f", "1");
    let before = place.tree();
    let sandbox = place.create();
    fs::remove_dir_all(sandbox.handle().path()).unwrap();
    assert_eq!(code(sandbox.commit(&CommitOptions::default(), &ctx())), Code::NotFound);
    same(&place.tree(), &before);
}

/// S6: an owner that the copy could not have is nobody's change.
#[test]
fn refused_owners_are_no_changes() {
    if !crate::common::place::is_root() {
        return crate::common::process::skip("only root becomes another user");
    }
    let place = Place::here();
    place.write("theirs", "1");
    place.write("untouched", "1");
    std::os::unix::fs::chown(place.resource(), Some(65534), Some(65534)).unwrap();
    crate::common::process::run(crate::common::process::as_nobody(
        "commit::commits_files_of_others",
        place.dir(),
    ));
    assert_eq!(text(&place, "theirs"), "2");
    assert_eq!(fs::metadata(place.resource().join("untouched")).unwrap().uid(), 0);
}

#[test]
#[ignore = "run by its parent as another user"]
fn commits_files_of_others() {
    let Some(directory) = crate::common::process::task() else { return };
    let manager = crate::common::place::open(&directory.join("own-store")).unwrap();
    let sandboxes = turnback_engine::Sandboxes::new(&manager);
    let options = turnback_engine::SandboxOptions::new(directory.join("work"));
    let sandbox = sandboxes.create(&options, &ctx()).unwrap();
    put(&sandbox, "theirs", "2");
    let report = commit(&sandbox);
    assert!(report.committed, "{report:?}");
    assert_eq!(changes(&sandbox), []);
}
