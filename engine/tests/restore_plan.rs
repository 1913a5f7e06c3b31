//! The plan is pure: two pictures in, actions out; nothing here touches a disk (C6, C7, C8).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers fail as tests do: by a panic

mod restore_support;

use restore_support::{Memory, list, rel};
use turnback_engine::model::{
    Content, Entry, FileKind, LinkGroups, Meta, Node, Picture, Reason, RelPath, Timestamp,
};
use turnback_engine::restore::{GitMode, Plan, PlanOptions, plan};
use turnback_engine::{ChangeKind, Code, Context};

fn meta(mtime: i64) -> Meta {
    Meta { mode: 0o644, uid: 1, gid: 1, mtime: Timestamp { sec: mtime, nsec: 0 }, xattrs: None }
}

fn entry(name: &str, mtime: i64, node: Node) -> Entry {
    Entry { name: name.as_bytes().into(), meta: meta(mtime), node }
}

fn file(memory: &Memory, name: &str, text: &str) -> Entry {
    let content = Content::Blob(memory.put(text.as_bytes()));
    entry(name, 1, Node::File { size: text.len() as u64, content, changing: false })
}

fn changing(memory: &Memory, name: &str, text: &str) -> Entry {
    let content = Content::Blob(memory.put(text.as_bytes()));
    entry(name, 1, Node::File { size: text.len() as u64, content, changing: true })
}

fn dir(memory: &Memory, name: &str, entries: Vec<Entry>) -> Entry {
    entry(name, 1, Node::Directory { manifest: memory.put_directory(entries) })
}

fn uncovered(name: &str, mtime: i64, reason: Reason) -> Entry {
    entry(name, mtime, Node::Uncovered { reason, kind: FileKind::File })
}

fn picture(memory: &Memory, entries: Vec<Entry>) -> Picture {
    Picture { root: meta(0), manifest: memory.put_directory(entries), links: LinkGroups::default() }
}

fn exact(memory: &Memory, now: &Picture, then: &Picture) -> Plan {
    let options = PlanOptions { git: GitMode::Exact, paths: None };
    plan(Some(now), then, memory, &options, &Context::default()).unwrap()
}

fn changes(plan: &Plan) -> Vec<(String, ChangeKind, Option<u64>)> {
    plan.changes().into_iter().map(|c| (c.path.to_string(), c.kind, c.bytes)).collect()
}

#[test]
fn the_kinds_of_change_and_their_lengths() {
    let memory = Memory::default();
    let mut stamped = file(&memory, "stamped", "same");
    let then = picture(
        &memory,
        vec![
            file(&memory, "deleted", "four"),
            file(&memory, "modified", "then"),
            stamped.clone(),
            file(&memory, "typed", "t"),
            dir(&memory, "tree", vec![file(&memory, "leaf", "ab")]),
        ],
    );
    stamped.meta.mtime.sec = 2;
    let now = picture(
        &memory,
        vec![
            file(&memory, "added", "123"),
            file(&memory, "modified", "now is longer"),
            stamped,
            entry("typed", 1, Node::Symlink { target: b"x".as_slice().into() }),
        ],
    );
    assert_eq!(
        changes(&exact(&memory, &now, &then)),
        [
            ("added".into(), ChangeKind::Added, Some(3)),
            ("deleted".into(), ChangeKind::Deleted, Some(4)),
            ("modified".into(), ChangeKind::Modified, Some(13)),
            ("stamped".into(), ChangeKind::Metadata, Some(4)),
            ("tree".into(), ChangeKind::Deleted, None),
            ("tree/leaf".into(), ChangeKind::Deleted, Some(2)),
            ("typed".into(), ChangeKind::TypeChanged, None),
        ]
    );
}

#[test]
fn equal_directories_are_not_read() {
    let memory = Memory::default();
    let same = dir(&memory, "same", vec![file(&memory, "x", "x")]);
    let Node::Directory { manifest } = same.node else { panic!("a directory") };
    let then = picture(&memory, vec![same.clone(), file(&memory, "a", "1")]);
    let now = picture(&memory, vec![same, file(&memory, "a", "2")]);
    memory.damage(manifest);
    let plan = exact(&memory, &now, &then);
    assert_eq!(plan.not_restorable(), [], "a damaged object that nobody needs does no harm");
    assert_eq!(plan.changes().len(), 1);
}

/// Two-sided deletion as a table: what is in the checkpoint, what is there now, and whether it may go.
#[test]
fn deletion_takes_proof_from_both_sides() {
    let memory = Memory::default();
    #[allow(clippy::type_complexity)] // a table
    let cases: [(&str, Option<Entry>, Entry, bool, Option<Reason>); 6] = [
        ("absent then, saved now", None, file(&memory, "p", "x"), true, None),
        ("absent then, changing now", None, changing(&memory, "p", "x"), false, Some(Reason::NotCaptured)),
        (
            "absent then, not saved now",
            None,
            uncovered("p", 1, Reason::Unreadable),
            false,
            Some(Reason::NotCaptured),
        ),
        ("a mount now", None, uncovered("p", 1, Reason::Mount), false, Some(Reason::NotCaptured)),
        (
            "not covered then, saved now",
            Some(uncovered("p", 1, Reason::TooLarge)),
            file(&memory, "p", "x"),
            false,
            Some(Reason::UncoveredThen),
        ),
        (
            "excluded then, saved now",
            Some(uncovered("p", 1, Reason::Excluded)),
            file(&memory, "p", "x"),
            false,
            Some(Reason::Excluded),
        ),
    ];
    for (case, then, now, goes, kept) in cases {
        let then = picture(&memory, then.into_iter().collect());
        let now = picture(&memory, vec![now]);
        let plan = exact(&memory, &now, &then);
        assert_eq!(!plan.changes().is_empty(), goes, "{case}");
        assert_eq!(list(plan.kept()).first().map(|(_, reason)| *reason), kept, "{case}");
    }
}

#[test]
fn an_uncovered_path_that_is_as_it_was_is_not_mentioned() {
    let memory = Memory::default();
    let then = picture(&memory, vec![uncovered("socket", 1, Reason::Socket), file(&memory, "a", "1")]);
    let now = picture(&memory, vec![uncovered("socket", 1, Reason::Socket), file(&memory, "a", "2")]);
    assert_eq!(exact(&memory, &now, &then).not_restorable(), []);
    let moved = picture(&memory, vec![uncovered("socket", 2, Reason::Socket), file(&memory, "a", "1")]);
    assert_eq!(list(exact(&memory, &moved, &then).not_restorable()), [("socket".into(), Reason::Socket)]);
}

#[test]
fn a_torn_file_comes_back_with_a_warning() {
    let memory = Memory::default();
    let then = picture(&memory, vec![changing(&memory, "log", "torn")]);
    let now = picture(&memory, vec![file(&memory, "log", "other")]);
    let plan = exact(&memory, &now, &then);
    assert_eq!(list(plan.not_restorable()), [("log".into(), Reason::Changing)]);
    assert_eq!(plan.changes().len(), 1, "as far as it was stable it is restored (C6)");
}

#[test]
fn a_path_that_nobody_has_is_not_found() {
    let memory = Memory::default();
    let then =
        picture(&memory, vec![file(&memory, "both", "1"), dir(&memory, "d", vec![file(&memory, "f", "f")])]);
    let now = picture(
        &memory,
        vec![file(&memory, "both", "2"), dir(&memory, "d", vec![]), file(&memory, "n", "n")],
    );
    let ask = |paths: &[&str]| {
        let paths = paths.iter().map(rel).collect::<Vec<RelPath>>();
        let options = PlanOptions { git: GitMode::Exact, paths: Some(paths) };
        plan(Some(&now), &then, &memory, &options, &Context::default())
    };
    for missing in ["nope", "d/nope", "d/f/below-a-file", "n/below", "both/below"] {
        let error = ask(&[missing]).unwrap_err();
        assert_eq!(error.code(), Code::NotFound, "{missing}");
        assert!(error.to_string().contains(missing));
    }
    for (paths, count) in [(&["d/f"][..], 1), (&["d"], 1), (&["n"], 1), (&["d", "d/f", "n"], 2), (&[""], 3)] {
        assert_eq!(ask(paths).unwrap().changes().len(), count, "{paths:?}");
    }
}

#[test]
fn a_path_whose_parent_is_a_file_now_is_said_and_the_file_stays() {
    let memory = Memory::default();
    let then = picture(&memory, vec![dir(&memory, "d", vec![file(&memory, "f", "f")])]);
    let now = picture(&memory, vec![file(&memory, "d", "a file now")]);
    let options = PlanOptions { git: GitMode::Exact, paths: Some(vec![rel("d/f")]) };
    let plan = plan(Some(&now), &then, &memory, &options, &Context::default()).unwrap();
    assert_eq!(list(plan.not_restorable()), [("d/f".into(), Reason::WriteFailed)]);
    assert!(plan.changes().is_empty());
}

#[test]
fn a_damaged_root_manifest_is_an_error_and_a_damaged_directory_is_not() {
    let memory = Memory::default();
    let inner = dir(&memory, "d", vec![file(&memory, "f", "f")]);
    let Node::Directory { manifest } = inner.node else { panic!("a directory") };
    let then = picture(&memory, vec![inner]);
    let now = picture(&memory, vec![dir(&memory, "d", vec![file(&memory, "extra", "e")])]);
    memory.damage(manifest);
    let made = exact(&memory, &now, &then);
    assert_eq!(list(made.not_restorable()), [("d".into(), Reason::Damaged)]);
    assert!(made.changes().is_empty(), "nothing is deleted for a damaged directory");
    memory.damage(then.manifest);
    let options = PlanOptions::default();
    let error = plan(Some(&now), &then, &memory, &options, &Context::default()).unwrap_err();
    assert_eq!(error.code(), Code::Corrupt);
}

#[test]
fn a_cancelled_plan_ends() {
    let memory = Memory::default();
    let then = picture(&memory, vec![file(&memory, "a", "1")]);
    let ctx = Context::default();
    ctx.cancel.cancel();
    let error = plan(None, &then, &memory, &PlanOptions::default(), &ctx).unwrap_err();
    assert_eq!(error.code(), Code::Aborted);
}
