//! The contract that every strategy and every mechanism keeps.

use std::fs;
use std::sync::Arc;

use turnback_core::SandboxStatus;
use turnback_engine::sandbox::{CommitOptions, MechanismChoice, Owner, StrategyName};
use turnback_engine::{Code, Sandbox};

use crate::common::everything::{build, damage};
use crate::common::picture::{Tree, same};
use crate::common::place::code;
use crate::ground::Kind;
use crate::place::{Place, changes, ctx};

/// What is tried.
#[derive(Clone, Copy)]
struct Subject {
    kind: Kind,
    strategy: StrategyName,
    asked: MechanismChoice,
    /// The mechanism that the sandbox has to say it has; `None`: it cannot be had there.
    says: Option<&'static str>,
}

const fn copies(kind: Kind, asked: MechanismChoice, says: Option<&'static str>) -> Subject {
    Subject { kind, strategy: StrategyName::CopyOnWrite, asked, says }
}

type Clause = fn(&Place, Subject);

/// The clauses for what isolates.
const ISOLATED: [(&str, Clause); 10] = [
    ("S5: says how it was made", says_how_it_was_made),
    ("C6: equals the resource", equals_the_resource),
    ("S4: edits never touch the resource", edits_stay_inside),
    ("S5: the baseline is frozen", the_baseline_is_frozen),
    ("S12: rollback is exact", rollback_is_exact),
    ("P5: a change right after is seen", a_change_right_after_is_seen),
    ("S10: cleanup loses nothing", cleanup_loses_nothing),
    ("S9: names never collide", names_never_collide),
    ("S9: lies outside its workspace", lies_outside),
    ("S6: a commit brings all of it home, and can be undone", a_commit_brings_it_home),
];

/// The clauses for `none`.
const IN_PLACE: [(&str, Clause); 2] =
    [("S1: writes go straight through", writes_go_through), ("S12: no baseline", no_baseline)];

fn run(subject: Subject) {
    let clauses: &[(&str, Clause)] =
        if subject.strategy == StrategyName::None { &IN_PLACE } else { &ISOLATED };
    for (name, clause) in clauses {
        let Some(place) = Place::on(subject.kind) else { return };
        if subject.says.is_none() && subject.strategy != StrategyName::None {
            return is_refused(&place, subject);
        }
        clause(&place, subject);
        eprintln!("{:?} {} {}: {name}: kept", subject.kind, subject.strategy, subject.asked);
    }
}

fn create(place: &Place, subject: Subject) -> Arc<dyn Sandbox> {
    place.sandboxes.create(&place.with(subject.strategy, subject.asked), &ctx()).unwrap()
}

/// A resource with every kind of path, and a sandbox of it.
fn full(place: &Place, subject: Subject) -> Arc<dyn Sandbox> {
    let outside = place.dir().join("outside");
    fs::create_dir_all(&outside).unwrap();
    build(&place.resource(), &outside);
    create(place, subject)
}

fn says_how_it_was_made(place: &Place, subject: Subject) {
    place.write("large", crate::common::place::noise(1, 1 << 20));
    place.write("small", "x");
    crate::common::place::let_clock_pass(place.dir());
    let sandbox = create(place, subject);
    let mechanism = sandbox.handle().mechanism().map(|m| m.as_str());
    assert_eq!(mechanism, subject.says);
    assert_eq!(sandbox.handle().strategy(), subject.strategy);
    let copied = sandbox.handle().copied();
    let shared = u64::from(subject.says == Some("reflink"));
    assert_eq!((copied.shared_files, copied.copied_files, copied.refused_files), (shared, 2 - shared, 0));
    let listed = place.sandboxes.list(&ctx()).unwrap();
    let about = listed[0].about.clone().unwrap();
    assert_eq!(about.mechanism.map(|m| m.as_str()), subject.says);
}

fn equals_the_resource(place: &Place, subject: Subject) {
    let sandbox = full(place, subject);
    same(&Tree::of(sandbox.handle().path()), &place.tree());
    assert_eq!(changes(&sandbox), []);
}

fn edits_stay_inside(place: &Place, subject: Subject) {
    let sandbox = full(place, subject);
    let before = place.tree();
    let outside = Tree::of(&place.dir().join("outside"));
    damage(&sandbox.enter(&ctx()).unwrap());
    same(&place.tree(), &before);
    same(&Tree::of(&place.dir().join("outside")), &outside);
    sandbox.cleanup(true, &ctx()).unwrap();
    same(&place.tree(), &before);
}

fn the_baseline_is_frozen(place: &Place, subject: Subject) {
    let sandbox = full(place, subject);
    let before = Tree::of(sandbox.handle().path());
    damage(&place.resource());
    same(&Tree::of(sandbox.handle().path()), &before);
    assert_eq!(changes(&sandbox), []);
    fs::remove_dir_all(place.resource()).unwrap();
    damage(sandbox.handle().path());
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
    same(&Tree::of(sandbox.handle().path()), &before);
}

fn rollback_is_exact(place: &Place, subject: Subject) {
    let sandbox = full(place, subject);
    let before = place.tree();
    for round in 0..3 {
        let path = sandbox.enter(&ctx()).unwrap();
        damage(&path);
        let changed = changes(&sandbox);
        assert!(changed.contains(&("a.txt".to_owned(), "modified")), "round {round}: {changed:?}");
        let report = sandbox.rollback(&ctx()).unwrap();
        assert!(report.restored, "{:?}", report.not_restorable);
        assert_eq!(sandbox.handle().status().unwrap(), SandboxStatus::RolledBack);
        same(&Tree::of(&path), &before);
        assert_eq!(changes(&sandbox), []);
    }
    // C5: also when the whole root is gone, or is another one.
    fs::remove_dir_all(sandbox.handle().path()).unwrap();
    let report = sandbox.rollback(&ctx()).unwrap();
    assert!(report.restored && report.root_recreated);
    same(&Tree::of(sandbox.handle().path()), &before);
    fs::remove_dir_all(sandbox.handle().path()).unwrap();
    fs::create_dir(sandbox.handle().path()).unwrap();
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
    same(&Tree::of(sandbox.handle().path()), &before);
    fs::remove_dir_all(sandbox.handle().path()).unwrap();
    std::os::unix::fs::symlink(place.dir().join("outside"), sandbox.handle().path()).unwrap();
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
    same(&Tree::of(sandbox.handle().path()), &before);
}

/// The cache that the copy leaves is trusted at once: a write in the very next moment must still show, whatever its mtime says.
fn a_change_right_after_is_seen(place: &Place, subject: Subject) {
    for i in 0..20 {
        place.write(&format!("d/f{i}"), format!("content {i:4}"));
    }
    for round in 0..10 {
        let sandbox = create(place, subject);
        let file = sandbox.handle().path().join(format!("d/f{round}"));
        let stat = fs::metadata(&file).unwrap();
        let times = fs::FileTimes::new().set_modified(stat.modified().unwrap());
        let handle = fs::OpenOptions::new().write(true).open(&file).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&handle, b"CONTENT", 0).unwrap();
        handle.set_times(times).unwrap();
        assert_eq!(changes(&sandbox), [(format!("d/f{round}"), "modified")], "round {round}");
        sandbox.cleanup(true, &ctx()).unwrap();
    }
}

fn cleanup_loses_nothing(place: &Place, subject: Subject) {
    place.write("kept", "1");
    place.write("dir/other", "2");
    // Clean: nothing is in the way, and nothing is left.
    let sandbox = create(place, subject);
    assert_eq!(sandbox.cleanup(false, &ctx()).unwrap().saved_checkpoint_id, None);
    place.is_clean(0);

    // F2: a new untracked file alone is work.
    let sandbox = create(place, subject);
    fs::write(sandbox.enter(&ctx()).unwrap().join("new"), "work").unwrap();
    let refused = sandbox.cleanup(false, &ctx()).unwrap_err();
    assert_eq!(refused.code(), Code::UnsavedWork);
    assert!(refused.details().contains(&("paths", "new".to_owned())), "{refused:?}");
    assert_eq!(sandbox.handle().status().unwrap(), SandboxStatus::Active);
    let worked = Tree::of(sandbox.handle().path());
    let saved = sandbox.cleanup(true, &ctx()).unwrap().saved_checkpoint_id.unwrap();
    assert_eq!(sandbox.handle().status().unwrap(), SandboxStatus::CleanedUp);
    place.is_clean(1);
    let listed = place.manager.list(None).unwrap().checkpoints;
    assert!(listed[0].pinned && listed[0].checkpoint.checkpoint_id == saved);
    place.manager.verify(Some(saved), &ctx()).unwrap();
    let back = place.dir().join("back");
    place.manager.export(saved, &back, &ctx()).unwrap();
    same(&Tree::of(&back), &worked);
}

fn names_never_collide(place: &Place, subject: Subject) {
    place.write("f", "x");
    let all: Vec<_> = (0..5).map(|_| create(place, subject)).collect();
    let paths: std::collections::BTreeSet<_> = all.iter().map(|s| s.handle().path().to_owned()).collect();
    let ids: std::collections::BTreeSet<_> = all.iter().map(|s| s.handle().id().clone()).collect();
    assert_eq!((paths.len(), ids.len()), (5, 5));
    fs::write(all[0].handle().path().join("f"), "y").unwrap();
    assert_eq!(changes(&all[1]), []);
    let listed = place.sandboxes.list(&ctx()).unwrap();
    assert!(listed.iter().all(|info| info.owner == Owner::ThisProcess));
    assert_eq!(listed.iter().filter(|info| info.unsaved == Some(true)).count(), 1);
}

fn lies_outside(place: &Place, subject: Subject) {
    use std::os::unix::fs::MetadataExt;
    place.write("f", "x");
    let sandbox = create(place, subject);
    let path = sandbox.handle().path();
    assert!(!path.starts_with(place.resource()));
    assert!(!sandbox.contains(&place.resource().join("f")));
    assert!(sandbox.contains(&path.join("f")));
    assert_eq!(path.file_name(), place.resource().file_name());
    assert_eq!(sandbox.writable_paths(), [path]);
    for above in [path.parent().unwrap(), &place.base()] {
        assert_eq!(fs::metadata(above).unwrap().mode() & 0o7777, 0o700, "{above:?}");
    }
    let checkpoint = place.manager.list(Some(&sandbox.handle().checkpoints_id().unwrap())).unwrap();
    assert_eq!(checkpoint.checkpoints[0].label.as_deref(), Some("baseline"));
    assert!(checkpoint.checkpoints[0].pinned);
}

fn a_commit_brings_it_home(place: &Place, subject: Subject) {
    let sandbox = full(place, subject);
    let before = place.tree();
    let path = sandbox.enter(&ctx()).unwrap();
    damage(&path);
    let options = CommitOptions { allow_git: true, allow_trusted: true, ..CommitOptions::default() };
    let report = sandbox.commit(&options, &ctx()).unwrap();
    assert!(report.committed, "{report:?}");
    let what = |tree: &Tree| -> Vec<_> { tree.0.iter().map(|(p, i)| (p.clone(), i.what.clone())).collect() };
    assert_eq!(what(&place.tree()), what(&Tree::of(&path)));
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    assert_eq!(what(&place.tree()), what(&before));
    assert_eq!(sandbox.handle().status().unwrap(), SandboxStatus::RolledBack);
}

/// F19: never another mechanism than the one that was asked for.
fn is_refused(place: &Place, subject: Subject) {
    place.write("f", crate::common::place::noise(1, 1 << 20));
    let error = place.sandboxes.create(&place.with(subject.strategy, subject.asked), &ctx()).unwrap_err();
    assert_eq!(error.code(), Code::UnsupportedFilesystem);
    assert!(error.to_string().contains(subject.asked.as_str()), "{error}");
    place.is_clean(0);
    eprintln!("{:?} {} {}: S5: refused: {error}", subject.kind, subject.strategy, subject.asked);
}

fn writes_go_through(place: &Place, subject: Subject) {
    place.write("f", "1");
    let sandbox = create(place, subject);
    assert_eq!(sandbox.enter(&ctx()).unwrap(), place.resource());
    fs::write(sandbox.handle().path().join("f"), "2").unwrap();
    assert_eq!(fs::read(place.resource().join("f")).unwrap(), b"2");
    let checkpoints = sandbox.handle().checkpoints_id().unwrap();
    assert_eq!(checkpoints, place.manager.sandbox_id_of(&place.resource()).unwrap(), "C1");
    sandbox.cleanup(false, &ctx()).unwrap();
    assert_eq!(fs::read(place.resource().join("f")).unwrap(), b"2");
    place.is_clean(0);
}

fn no_baseline(place: &Place, subject: Subject) {
    place.write("f", "1");
    let sandbox = create(place, subject);
    let checkpoint =
        place.manager.create(&place.resource(), crate::common::place::request(), &ctx()).unwrap();
    place.write("f", "2");
    let error = sandbox.rollback(&ctx()).unwrap_err();
    assert_eq!(error.code(), Code::NotUndoable);
    assert!(error.to_string().contains("checkpoint"), "{error}");
    assert_eq!(sandbox.handle().status().unwrap(), SandboxStatus::Created, "nothing happened");
    assert_eq!(code(sandbox.changes(&ctx())), Code::NotUndoable);
    // Rolling back to a checkpoint works for it too.
    place.manager.rollback(checkpoint.checkpoint_id, crate::common::place::exact(), &ctx()).unwrap();
    assert_eq!(fs::read(place.resource().join("f")).unwrap(), b"1");
}

use MechanismChoice::{Auto, Btrfs, Copy, Reflink};

#[test]
fn none_in_place() {
    run(Subject { kind: Kind::Here, strategy: StrategyName::None, asked: Auto, says: None });
}

#[test]
fn copy_here() {
    run(copies(Kind::Here, Copy, Some("copy")));
}

#[test]
fn auto_on_tmpfs_copies() {
    run(copies(Kind::Tmpfs, Auto, Some("copy")));
}

#[test]
fn auto_on_ext4_copies() {
    run(copies(Kind::Ext4, Auto, Some("copy")));
}

#[test]
fn reflink_on_tmpfs_is_refused() {
    run(copies(Kind::Tmpfs, Reflink, None));
}

#[test]
fn reflink_on_ext4_is_refused() {
    run(copies(Kind::Ext4, Reflink, None));
}

#[test]
fn reflink_on_xfs() {
    run(copies(Kind::Xfs, Reflink, Some("reflink")));
}

#[test]
fn auto_on_xfs_shares() {
    run(copies(Kind::Xfs, Auto, Some("reflink")));
}

#[test]
fn copy_on_xfs() {
    run(copies(Kind::Xfs, Copy, Some("copy")));
}

#[test]
fn reflink_on_btrfs() {
    run(copies(Kind::Btrfs, Reflink, Some("reflink")));
}

#[test]
fn copy_on_btrfs() {
    run(copies(Kind::Btrfs, Copy, Some("copy")));
}

#[test]
fn btrfs_snapshots_are_refused() {
    run(copies(Kind::Btrfs, Btrfs, None));
}
