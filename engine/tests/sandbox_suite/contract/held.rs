//! What a commit held back: still the sandbox's own change, until it is committed, put back or saved (S6, S10, S12).

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;

use turnback_core::SandboxStatus;
use turnback_engine::sandbox::{CommitOptions, CommitReport, MechanismChoice, StrategyName};
use turnback_engine::{Code, Sandbox};

use super::subject::{Says, Subject};
use crate::common::everything::chmod;
use crate::common::picture::{Tree, same};
use crate::common::place::is_root;
use crate::common::process::{as_nobody, run, task};
use crate::ground::Kind;
use crate::place::{Place, ctx};

/// What is held back of [`work`], as a report and as the sandbox's changes say it.
const HELD: [&str; 4] = [".envrc", ".vscode", "gone/.bashrc", "plain"];
const CHANGES: [(&str, &str); 5] = [
    (".envrc", "modified"),
    (".vscode", "added"),
    (".vscode/tasks.json", "added"),
    ("gone/.bashrc", "deleted"),
    ("plain", "type_changed"),
];

fn begin(place: &Place, subject: Subject) -> Arc<dyn Sandbox> {
    let files = [
        ("code", "1"),
        (".envrc", "the host's"),
        ("gone/.bashrc", "the host's"),
        ("gone/other", "1"),
        ("plain/.zshrc", "the host's"),
        ("plain/code", "1"),
    ];
    subject.small(place, &files)
}

/// What an agent does that a commit brings, and what it holds back: something changed, something new, something that is gone, and a
/// file in the place of a directory in which there was something.
fn work(root: &Path) {
    fs::write(root.join("code"), "2").unwrap();
    fs::write(root.join(".envrc"), "the agent's").unwrap();
    fs::create_dir(root.join(".vscode")).unwrap();
    fs::write(root.join(".vscode/tasks.json"), "the agent's").unwrap();
    fs::remove_file(root.join("gone/.bashrc")).unwrap();
    fs::remove_dir_all(root.join("plain")).unwrap();
    fs::write(root.join("plain"), "the agent's").unwrap();
}

fn commit(sandbox: &Arc<dyn Sandbox>) -> CommitReport {
    let report = sandbox.commit(&CommitOptions::default(), &ctx()).unwrap();
    assert!(report.committed && report.conflicts.is_empty(), "{report:?}");
    report
}

fn held(report: &CommitReport) -> Vec<String> {
    report.held_back.iter().map(|one| one.path.to_string()).collect()
}

fn named(report: &CommitReport) -> Vec<String> {
    report.changes.iter().map(|one| one.path.to_string()).filter(|path| !path.is_empty()).collect()
}

/// The changes of [`CHANGES`], and no others.
fn is_changed(subject: Subject, sandbox: &Arc<dyn Sandbox>) {
    let changes = subject.changes(sandbox);
    let shown: Vec<(&str, &str)> = changes.iter().map(|(path, kind)| (path.as_str(), *kind)).collect();
    let beneath: Vec<_> = shown.iter().filter(|(path, _)| path.starts_with("plain/")).collect();
    assert_eq!(beneath, [&("plain/.zshrc", "deleted"), &("plain/code", "deleted")]);
    let others: Vec<_> = shown.iter().filter(|(path, _)| !path.starts_with("plain/")).copied().collect();
    assert_eq!(others, CHANGES);
}

fn unsaved(place: &Place) -> Option<bool> {
    place.sandboxes.list(&ctx()).unwrap()[0].unsaved
}

/// It is named where it is in the way, it is unsaved until it is put back, and it can be had again after that.
pub fn goes_with_a_rollback(place: &Place, subject: Subject) {
    let sandbox = begin(place, subject);
    let path = sandbox.enter(&ctx()).unwrap();
    let first = subject.kept(&Tree::of(&path));
    let read = |name: &str| fs::read_to_string(place.resource().join(name)).unwrap();
    work(&path);
    let worked = Tree::of(&path);
    let report = commit(&sandbox);
    assert_eq!((named(&report), held(&report)), (vec!["code".to_owned()], HELD.map(str::to_owned).to_vec()));
    assert_eq!(
        (read("code"), read(".envrc"), read("plain/code")),
        ("2".into(), "the host's".into(), "1".into())
    );
    same(&Tree::of(&path), &worked);
    is_changed(subject, &sandbox);
    assert_eq!(unsaved(place), Some(true));
    // S10: refused by its own name, and nothing was touched.
    let refused = sandbox.cleanup(false, &ctx()).unwrap_err();
    assert_eq!(refused.code(), Code::UnsavedWork);
    let (_, paths) = refused.details().iter().find(|(name, _)| *name == "paths").unwrap();
    for (path, _) in CHANGES {
        assert!(paths.split('\n').any(|named| named == path), "{path}: {refused:?}");
    }
    same(&Tree::of(&path), &worked);
    // Another commit neither brings it nor takes it for its own.
    let again = commit(&sandbox);
    assert_eq!((named(&again), held(&again)), (Vec::new(), HELD.map(str::to_owned).to_vec()));
    is_changed(subject, &sandbox);

    // S12: as the last commit left it, and what it held back as it was before the sandbox.
    let back = sandbox.rollback(&ctx()).unwrap();
    assert!(back.restored, "{:?}", back.not_restorable);
    assert_eq!(sandbox.handle().status().unwrap(), SandboxStatus::RolledBack);
    let mut expected = first.clone();
    let code = subject.kept(&worked).0[b"code".as_slice()].clone();
    expected.0.insert(b"code".to_vec(), code);
    assert_eq!(subject.contents(&Tree::of(&path)), subject.contents(&expected));
    assert_eq!((subject.changes(&sandbox), unsaved(place)), (vec![], Some(false)));
    // C5: nothing of it is lost.
    place.manager.undo(back.undo_checkpoint_id.unwrap(), &ctx()).unwrap();
    same(&Tree::of(&path), &worked);
    is_changed(subject, &sandbox);
    assert!(sandbox.rollback(&ctx()).unwrap().restored);

    // S3: there is nothing left to commit, and the last commit that brought anything can be taken back, and made again.
    let nothing = commit(&sandbox);
    assert_eq!((named(&nothing), held(&nothing)), (vec![], vec![]));
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    assert_eq!(read("code"), "1");
    assert_eq!(subject.changes(&sandbox), [("code".to_owned(), "modified")]);
    assert_eq!(named(&commit(&sandbox)), ["code"]);
    assert_eq!((read("code"), read(".envrc")), ("2".into(), "the host's".into()));
    assert_eq!(sandbox.cleanup(false, &ctx()).unwrap().saved_checkpoint_id, None);
    let left = place.manager.list(None).unwrap().checkpoints;
    assert!(left.iter().all(|one| !one.pinned && one.label.as_deref() != Some("baseline")), "{left:?}");
    subject.is_clean(place, left.len());
}

/// A commit that is taken back says nothing of it either: a rollback then is one to the very beginning.
pub fn stays_when_the_commit_is_taken_back(place: &Place, subject: Subject) {
    let sandbox = begin(place, subject);
    let path = sandbox.enter(&ctx()).unwrap();
    let (first, resource) = (Tree::of(&path), subject.untouched(place));
    work(&path);
    let worked = Tree::of(&path);
    commit(&sandbox);
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    assert_eq!(subject.contents(&subject.untouched(place)), subject.contents(&resource));
    same(&Tree::of(&path), &worked);
    let mut changes = subject.changes(&sandbox);
    assert_eq!(changes.remove(3), ("code".to_owned(), "modified"));
    assert_eq!(held(&commit(&sandbox)), HELD);
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
    same(&Tree::of(&path), &first);
    assert_eq!(subject.changes(&sandbox), []);
    sandbox.cleanup(false, &ctx()).unwrap();
}

/// What is allowed later is brought then, also after a commit that had nothing to bring; and a cleanup by force keeps what is not.
pub fn comes_when_it_is_allowed(place: &Place, subject: Subject) {
    let sandbox = begin(place, subject);
    let path = sandbox.enter(&ctx()).unwrap();
    work(&path);
    assert_eq!(held(&commit(&sandbox)), HELD);
    assert_eq!(held(&commit(&sandbox)), HELD);
    let report = sandbox.commit(&subject.everything(), &ctx()).unwrap();
    assert_eq!((report.committed, held(&report)), (true, vec![]));
    assert_eq!(subject.contents(&place.tree()), subject.contents(&Tree::of(&path)));
    assert_eq!((subject.changes(&sandbox), unsaved(place)), (vec![], Some(false)));
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    assert_eq!(fs::read_to_string(place.resource().join(".envrc")).unwrap(), "the host's");
    is_changed(subject, &sandbox);
    let worked = Tree::of(&path);
    let saved = sandbox.cleanup(true, &ctx()).unwrap().saved_checkpoint_id.unwrap();
    let back = place.dir().join("back");
    place.manager.export(saved, &back, &ctx()).unwrap();
    same(&Tree::of(&back), &worked);
}

/// What cannot be read is neither brought nor taken for a deletion.
pub fn a_socket_in_its_place(place: &Place, subject: Subject) {
    let sandbox = subject.small(place, &[("code", "1"), ("plain", "1"), ("tree/one", "1")]);
    let path = sandbox.enter(&ctx()).unwrap();
    fs::write(path.join("code"), "2").unwrap();
    fs::remove_file(path.join("plain")).unwrap();
    fs::remove_dir_all(path.join("tree")).unwrap();
    let sockets = ["new", "plain", "tree"].map(|name| UnixListener::bind(path.join(name)).unwrap());
    let report = commit(&sandbox);
    assert_eq!(
        (named(&report), held(&report)),
        (vec!["code".into()], vec!["new".into(), "plain".into(), "tree".into()])
    );
    assert!(report.held_back.iter().all(|one| one.reason.as_str() == "special"), "{report:?}");
    for (name, text) in [("code", "2"), ("plain", "1"), ("tree/one", "1")] {
        assert_eq!(fs::read_to_string(place.resource().join(name)).unwrap(), text, "{name}");
    }
    drop(sockets);
    for name in ["new", "plain", "tree"] {
        fs::remove_file(path.join(name)).unwrap();
    }
    // Still as the baseline has them.
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
    for (name, text) in [("code", "2"), ("plain", "1"), ("tree/one", "1")] {
        assert_eq!(fs::read_to_string(path.join(name)).unwrap(), text, "{name}");
    }
    sandbox.cleanup(false, &ctx()).unwrap();
}

/// The same for what an ordinary user cannot read: it is unsaved work, is named, and comes once it can be read.
#[test]
fn what_cannot_be_read() {
    if !is_root() {
        return for_an_ordinary_user();
    }
    let dir = tempfile::tempdir().unwrap();
    run(as_nobody("contract::held::cannot_be_read", dir.path()));
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn cannot_be_read() {
    if task().is_some() {
        for_an_ordinary_user();
    }
}

fn for_an_ordinary_user() {
    for strategy in [StrategyName::CopyOnWrite, StrategyName::GitWorktree] {
        let subject =
            Subject { kind: Kind::Here, strategy, asked: MechanismChoice::Auto, says: Says::Nothing };
        let place = Place::here();
        let sandbox = subject.small(&place, &[("code", "1"), ("plain", "1"), ("tree/one", "1")]);
        let path = sandbox.enter(&ctx()).unwrap();
        for (name, text) in [("code", "2"), ("plain", "2"), ("new", "2")] {
            fs::write(path.join(name), text).unwrap();
        }
        let all = ["new", "plain", "tree"];
        for name in all {
            chmod(&path.join(name), 0);
        }
        let report = commit(&sandbox);
        assert_eq!((named(&report), held(&report)), (vec!["code".into()], all.map(str::to_owned).to_vec()));
        assert!(report.held_back.iter().all(|one| one.reason.as_str() == "not_read"), "{report:?}");
        for (name, text) in [("code", "2"), ("plain", "1"), ("tree/one", "1")] {
            assert_eq!(fs::read_to_string(place.resource().join(name)).unwrap(), text, "{strategy} {name}");
        }
        assert_eq!(unsaved(&place), Some(true));
        let refused = sandbox.cleanup(false, &ctx()).unwrap_err();
        assert_eq!(refused.code(), Code::UnsavedWork);
        // Of what lies in a directory that cannot be read nobody can tell whether it is still there.
        assert!(
            refused.details().contains(&("paths", "tree/one\nnew\nplain\ntree".to_owned())),
            "{refused:?}"
        );
        for (name, mode) in [("new", 0o644), ("plain", 0o644), ("tree", 0o755)] {
            chmod(&path.join(name), mode);
        }
        let report = commit(&sandbox);
        assert_eq!((named(&report), held(&report)), (vec!["new".into(), "plain".into()], vec![]));
        assert_eq!(fs::read_to_string(place.resource().join("new")).unwrap(), "2");
        sandbox.cleanup(false, &ctx()).unwrap();
    }
}
