//! What every sandbox does whose work stays apart.

use std::fs;

use turnback_core::SandboxStatus;
use turnback_engine::Code;
use turnback_engine::sandbox::{CommitOptions, Owner};

use super::subject::Subject;
use crate::common::picture::{Tree, same};
use crate::place::{Place, ctx};

pub fn equals_the_resource(place: &Place, subject: Subject) {
    let sandbox = subject.full(place);
    let have = subject.kept(&Tree::of(sandbox.handle().path()));
    same(&have, &subject.kept(&place.tree()));
    assert_eq!(subject.changes(&sandbox), []);
}

pub fn edits_stay_inside(place: &Place, subject: Subject) {
    let sandbox = subject.full(place);
    let before = subject.untouched(place);
    let outside = Tree::of(&place.dir().join("outside"));
    subject.damage(&sandbox.enter(&ctx()).unwrap());
    same(&subject.untouched(place), &before);
    same(&Tree::of(&place.dir().join("outside")), &outside);
    sandbox.cleanup(true, &ctx()).unwrap();
    same(&subject.untouched(place), &before);
}

pub fn the_baseline_is_frozen(place: &Place, subject: Subject) {
    let sandbox = subject.full(place);
    let before = Tree::of(sandbox.handle().path());
    subject.damage(&place.resource());
    same(&Tree::of(sandbox.handle().path()), &before);
    assert_eq!(subject.changes(&sandbox), []);
    fs::remove_dir_all(place.resource()).unwrap();
    subject.damage(sandbox.handle().path());
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
    same(&Tree::of(sandbox.handle().path()), &before);
}

pub fn rollback_is_exact(place: &Place, subject: Subject) {
    let sandbox = subject.full(place);
    let before = Tree::of(sandbox.handle().path());
    same(&subject.kept(&before), &subject.kept(&place.tree()));
    for round in 0..3 {
        let path = sandbox.enter(&ctx()).unwrap();
        subject.damage(&path);
        let changed = subject.changes(&sandbox);
        assert!(changed.contains(&("a.txt".to_owned(), "modified")), "round {round}: {changed:?}");
        let report = sandbox.rollback(&ctx()).unwrap();
        assert!(report.restored, "{:?}", report.not_restorable);
        assert_eq!(sandbox.handle().status().unwrap(), SandboxStatus::RolledBack);
        same(&Tree::of(&path), &before);
        assert_eq!(subject.changes(&sandbox), []);
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
pub fn a_change_right_after_is_seen(place: &Place, subject: Subject) {
    for i in 0..20 {
        place.write(&format!("d/f{i}"), format!("content {i:4}"));
    }
    subject.settle(place);
    for round in 0..10 {
        let sandbox = subject.create(place);
        let file = sandbox.handle().path().join(format!("d/f{round}"));
        let stat = fs::metadata(&file).unwrap();
        let times = fs::FileTimes::new().set_modified(stat.modified().unwrap());
        let handle = fs::OpenOptions::new().write(true).open(&file).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&handle, b"CONTENT", 0).unwrap();
        handle.set_times(times).unwrap();
        assert_eq!(subject.changes(&sandbox), [(format!("d/f{round}"), "modified")], "round {round}");
        sandbox.cleanup(true, &ctx()).unwrap();
    }
}

pub fn cleanup_loses_nothing(place: &Place, subject: Subject) {
    // Clean: nothing is in the way, and nothing is left.
    let sandbox = subject.small(place, &[("kept", "1"), ("dir/other", "2")]);
    assert_eq!(sandbox.cleanup(false, &ctx()).unwrap().saved_checkpoint_id, None);
    subject.is_clean(place, 0);

    // F2: a new untracked file alone is work.
    let sandbox = subject.create(place);
    fs::write(sandbox.enter(&ctx()).unwrap().join("new"), "work").unwrap();
    let refused = sandbox.cleanup(false, &ctx()).unwrap_err();
    assert_eq!(refused.code(), Code::UnsavedWork);
    assert!(refused.details().contains(&("paths", "new".to_owned())), "{refused:?}");
    assert_eq!(sandbox.handle().status().unwrap(), SandboxStatus::Active);
    let worked = Tree::of(sandbox.handle().path());
    let saved = sandbox.cleanup(true, &ctx()).unwrap().saved_checkpoint_id.unwrap();
    assert_eq!(sandbox.handle().status().unwrap(), SandboxStatus::CleanedUp);
    subject.is_clean(place, 1);
    let listed = place.manager.list(None).unwrap().checkpoints;
    assert!(listed[0].pinned && listed[0].checkpoint.checkpoint_id == saved);
    place.manager.verify(Some(saved), &ctx()).unwrap();
    let back = place.dir().join("back");
    place.manager.export(saved, &back, &ctx()).unwrap();
    same(&Tree::of(&back), &worked);
}

pub fn names_never_collide(place: &Place, subject: Subject) {
    place.write("f", "x");
    subject.settle(place);
    let all: Vec<_> = (0..5).map(|_| subject.create(place)).collect();
    let paths: std::collections::BTreeSet<_> = all.iter().map(|s| s.handle().path().to_owned()).collect();
    let ids: std::collections::BTreeSet<_> = all.iter().map(|s| s.handle().id().clone()).collect();
    assert_eq!((paths.len(), ids.len()), (5, 5));
    fs::write(all[0].handle().path().join("f"), "y").unwrap();
    assert_eq!(subject.changes(&all[1]), []);
    let listed = place.sandboxes.list(&ctx()).unwrap();
    assert!(listed.iter().all(|info| info.owner == Owner::ThisProcess));
    assert_eq!(listed.iter().filter(|info| info.unsaved == Some(true)).count(), 1);
}

pub fn lies_outside(place: &Place, subject: Subject) {
    use std::os::unix::fs::MetadataExt;
    let sandbox = subject.small(place, &[("f", "x")]);
    let path = sandbox.handle().path();
    assert!(!path.starts_with(place.resource()));
    assert!(!sandbox.contains(&place.resource().join("f")));
    assert!(sandbox.contains(&path.join("f")));
    assert_eq!(path.file_name(), place.resource().file_name());
    assert_eq!(sandbox.writable_paths()[0], path);
    assert_eq!(sandbox.writable_paths().len(), if subject.is_git() { 2 } else { 1 }, "F61");
    for above in [path.parent().unwrap(), &place.base()] {
        assert_eq!(fs::metadata(above).unwrap().mode() & 0o7777, 0o700, "{above:?}");
    }
    // A snapshot's is taken when it is first needed.
    assert_eq!(subject.changes(&sandbox), []);
    let checkpoint = place.manager.list(Some(&sandbox.handle().checkpoints_id().unwrap())).unwrap();
    assert_eq!(checkpoint.checkpoints[0].label.as_deref(), Some("baseline"));
    assert!(checkpoint.checkpoints[0].pinned);
}

pub fn a_commit_brings_it_home(place: &Place, subject: Subject) {
    let sandbox = subject.full(place);
    let before = subject.untouched(place);
    let path = sandbox.enter(&ctx()).unwrap();
    subject.damage(&path);
    let report = sandbox.commit(&subject.everything(), &ctx()).unwrap();
    assert!(report.committed && report.conflicts.is_empty() && report.held_back.is_empty(), "{report:?}");
    assert_eq!(subject.contents(&place.tree()), subject.contents(&Tree::of(&path)));
    assert_eq!(subject.changes(&sandbox), [], "the next baseline");
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    assert_eq!(subject.contents(&place.tree()), subject.contents(&before));
    assert_eq!(sandbox.handle().status().unwrap(), SandboxStatus::RolledBack);
    assert_ne!(subject.changes(&sandbox), [], "the work is still there, and uncommitted again");
}

pub fn a_conflict_writes_nothing(place: &Place, subject: Subject) {
    let sandbox = subject.small(place, &[("f", "1"), ("g", "1")]);
    let path = sandbox.enter(&ctx()).unwrap();
    for name in ["f", "g"] {
        fs::write(path.join(name), "sandbox").unwrap();
    }
    place.write("f", "host");
    let before = subject.untouched(place);
    let report = sandbox.commit(&CommitOptions::default(), &ctx()).unwrap();
    assert!(!report.committed && report.changes.is_empty());
    assert_eq!(report.conflicts.iter().map(|c| c.path.to_string()).collect::<Vec<_>>(), ["f"]);
    same(&subject.untouched(place), &before);
    assert_eq!(sandbox.handle().status().unwrap(), SandboxStatus::Active);
    assert_eq!(fs::read(path.join("f")).unwrap(), b"sandbox", "the work stays");
    // Settled by hand it goes through.
    place.write("f", "1");
    assert!(sandbox.commit(&CommitOptions::default(), &ctx()).unwrap().committed);
    assert_eq!(fs::read(place.resource().join("g")).unwrap(), b"sandbox");
}

pub fn commits_twice(place: &Place, subject: Subject) {
    let sandbox = subject.small(place, &[("f", "1"), ("g", "1"), ("h", "1")]);
    let path = sandbox.enter(&ctx()).unwrap();
    let commit = || sandbox.commit(&CommitOptions::default(), &ctx()).unwrap();
    let named = |report: &turnback_engine::sandbox::CommitReport| -> Vec<String> {
        report.changes.iter().map(|c| c.path.to_string()).filter(|path| !path.is_empty()).collect()
    };
    fs::write(path.join("f"), "2").unwrap();
    assert_eq!(named(&commit()), ["f"]);
    // What the resource did since is nobody's conflict, as long as it is elsewhere.
    place.write("h", "host");
    fs::write(path.join("g"), "2").unwrap();
    assert_eq!(named(&commit()), ["g"]);
    assert_eq!(named(&commit()), Vec::<String>::new());
    let read = |name: &str| fs::read_to_string(place.resource().join(name)).unwrap();
    assert_eq!(["f", "g", "h"].map(read), ["2", "2", "host"]);
    // The last one is taken back, the one before it stays.
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    assert_eq!(["f", "g", "h"].map(read), ["2", "1", "host"]);
}

/// F19: never another mechanism than the one that was asked for.
pub fn is_refused(place: &Place, subject: Subject) {
    place.write("f", crate::common::place::noise(1, 1 << 20));
    subject.settle(place);
    let error = place.sandboxes.create(&place.with(subject.strategy, subject.asked), &ctx()).unwrap_err();
    let code = if subject.is_git() { Code::InvalidArgument } else { Code::UnsupportedFilesystem };
    assert_eq!(error.code(), code);
    assert!(subject.is_git() || error.to_string().contains(subject.asked.as_str()), "{error}");
    subject.is_clean(place, 0);
    println!("{subject}: S5, F19: refused: {error}");
}
