//! What a copy keeps, and what it says of the rest (C6, F47).

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};

use turnback_engine::sandbox::{MechanismChoice, StrategyName};
use turnback_engine::{Reason, Sandboxes};

use crate::common::picture::{Tree, same};
use crate::common::place::{is_root, noise, open};
use crate::common::process::{as_nobody, run, skip, task};
use crate::ground::Kind;
use crate::place::{Place, changes, ctx};

fn coverage(place: &Place, sandbox: &std::sync::Arc<dyn turnback_engine::Sandbox>) -> Vec<(String, Reason)> {
    let all = place.manager.list(Some(sandbox.handle().id())).unwrap();
    let id = all.checkpoints[0].checkpoint.checkpoint_id;
    place.manager.coverage(id).unwrap().into_iter().map(|u| (u.path.to_string(), u.reason)).collect()
}

#[test]
fn what_cannot_be_copied_is_listed() {
    let place = Place::here();
    place.write("f", "x");
    let _listener = UnixListener::bind(place.resource().join("socket")).unwrap();
    let outside = place.dir().join("outside");
    fs::write(&outside, "shared").unwrap();
    fs::hard_link(&outside, place.resource().join("reaches-out")).unwrap();
    let mut expected =
        vec![("reaches-out".to_owned(), Reason::LinkOutside), ("socket".to_owned(), Reason::Socket)];
    if is_root() {
        let path = place.resource().join("device");
        let mode = rustix::fs::Mode::RUSR;
        let kind = rustix::fs::FileType::CharacterDevice;
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, rustix::fs::makedev(1, 3)).unwrap();
        expected.insert(0, ("device".to_owned(), Reason::Device));
    }
    let sandbox = place.create();
    assert_eq!(coverage(&place, &sandbox), expected);
    same(&Tree::of(sandbox.handle().path()), &place.tree().without(&["socket", "device"]));
    // Input 108: what is not there was not deleted in the sandbox.
    assert_eq!(changes(&sandbox), []);
    // The file has an inode of its own.
    fs::write(sandbox.handle().path().join("reaches-out"), "own").unwrap();
    assert_eq!(fs::read(&outside).unwrap(), b"shared");
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
}

/// F47: links are kept as they are; those that lead back into the resource are said.
#[test]
fn absolute_links_into_the_resource() {
    let place = Place::here();
    place.write("d/f", "x");
    let root = fs::canonicalize(place.resource()).unwrap();
    symlink(root.join("d/f"), root.join("back")).unwrap();
    symlink(&root, root.join("d/root")).unwrap();
    symlink("d", root.join("relative")).unwrap();
    let mut neighbour = root.clone().into_os_string();
    neighbour.push("-neighbour");
    symlink(neighbour, root.join("neighbour")).unwrap();
    let sandbox = place.create();
    let said: Vec<_> = sandbox.handle().absolute_links().iter().map(ToString::to_string).collect();
    assert_eq!(said, ["back", "d/root"]);
    assert_eq!(sandbox.handle().copied().absolute_links, 2);
    same(&Tree::of(sandbox.handle().path()), &place.tree());
    let again = place.sandboxes.attach(sandbox.handle().id(), &ctx()).unwrap();
    assert_eq!(again.handle().absolute_links(), sandbox.handle().absolute_links());
}

/// Groups of many names, read by several threads at once: one inode in the copy for each in the resource.
#[test]
fn hard_links_among_many_threads() {
    let place = Place::here();
    for d in 0..40 {
        fs::create_dir_all(place.resource().join(format!("d{d}"))).unwrap();
    }
    for group in 0..60u64 {
        let length = if group % 10 == 0 { 3 << 20 } else { 3_000 };
        place.write(&format!("d0/g{group}"), noise(group, length));
        for d in 1..40 {
            let to = place.resource().join(format!("d{d}/g{group}"));
            fs::hard_link(place.resource().join(format!("d0/g{group}")), to).unwrap();
        }
    }
    let sandbox = place.create();
    let inodes: std::collections::BTreeSet<_> = (0..40)
        .map(|d| fs::metadata(sandbox.handle().path().join(format!("d{d}/g0"))).unwrap().ino())
        .collect();
    assert_eq!(inodes.len(), 1);
    same(&Tree::of(sandbox.handle().path()), &place.tree());
    assert_eq!(changes(&sandbox), []);
}

/// Input 37: the number of open directories does not grow with the depth.
#[test]
fn deeper_than_a_path_can_be() {
    let place = Place::on(Kind::Tmpfs).unwrap_or_else(Place::here);
    let mut at = rustix::fs::open(
        place.resource(),
        rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY,
        rustix::fs::Mode::empty(),
    )
    .unwrap();
    let depth = 1_500;
    for level in 0..depth {
        rustix::fs::mkdirat(&at, "deep", rustix::fs::Mode::RWXU).unwrap();
        at = rustix::fs::openat(
            &at,
            "deep",
            rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY,
            rustix::fs::Mode::empty(),
        )
        .unwrap();
        if level == depth - 1 {
            let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY;
            rustix::fs::openat(&at, "bottom", flags, rustix::fs::Mode::RUSR).unwrap();
        }
    }
    drop(at);
    let sandbox = place.create();
    assert_eq!(changes(&sandbox), []);
    let files =
        place.manager.list(Some(sandbox.handle().id())).unwrap().checkpoints[0].checkpoint.coverage.files;
    assert_eq!(files, depth + 2);
    sandbox.cleanup(false, &ctx()).unwrap();
    place.is_clean(0);
}

#[test]
fn a_very_wide_directory() {
    let place = Place::on(Kind::Tmpfs).unwrap_or_else(Place::here);
    for i in 0..6_000 {
        place.write(&format!("wide/f{i}"), format!("{i}"));
    }
    let sandbox = place.create();
    same(&Tree::of(sandbox.handle().path()), &place.tree());
    assert_eq!(changes(&sandbox), []);
}

/// P5: whatever a writer does meanwhile, the copy is what its baseline says that it is.
#[test]
fn a_resource_that_changes_while_it_is_copied() {
    for (kind, mechanism) in [(Kind::Here, MechanismChoice::Copy), (Kind::Xfs, MechanismChoice::Reflink)] {
        let Some(place) = Place::on(kind) else { continue };
        for i in 0..30u64 {
            place.write(&format!("f{i}"), noise(i, 200_000));
        }
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0u64.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let path = place.resource().join(format!("f{}", round % 30));
                    let length = 150_000 + (round * 977 % 100_000) as usize;
                    fs::write(path, noise(round, length)).unwrap();
                }
            });
            for round in 0..8 {
                let options = place.with(StrategyName::CopyOnWrite, mechanism);
                let sandbox = place.sandboxes.create(&options, &ctx()).unwrap();
                assert_eq!(changes(&sandbox), [], "{kind:?}, round {round}");
                sandbox.cleanup(false, &ctx()).unwrap();
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}

/// An ordinary user copies what belongs to others as his own, and says so; nothing looks changed because of it.
#[test]
fn files_of_others() {
    if !is_root() {
        return skip("only root makes files of others");
    }
    let place = Place::here();
    for name in ["mine", "theirs", "hidden", "closed/inside"] {
        place.write(name, name);
    }
    for path in ["", "mine", "closed", "closed/inside"] {
        std::os::unix::fs::chown(place.resource().join(path), Some(65534), Some(65534)).unwrap();
    }
    crate::common::everything::chmod(&place.resource().join("hidden"), 0o600);
    crate::common::everything::chmod(&place.resource().join("theirs"), 0o4755);
    crate::common::everything::chmod(&place.resource().join("closed"), 0o555);
    fs::remove_dir_all(place.dir().join("store")).unwrap();
    run(as_nobody("fidelity::copies_as_an_ordinary_user", place.dir()));
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn copies_as_an_ordinary_user() {
    let Some(directory) = task() else { return };
    let manager = open(&directory.join("store")).unwrap();
    let sandboxes = Sandboxes::new(&manager);
    let options = turnback_engine::SandboxOptions::new(directory.join("work"));
    let sandbox = sandboxes.create(&options, &ctx()).unwrap();
    let id = manager.list(Some(sandbox.handle().id())).unwrap().checkpoints[0].checkpoint.checkpoint_id;
    let listed: Vec<_> =
        manager.coverage(id).unwrap().into_iter().map(|u| (u.path.to_string(), u.reason)).collect();
    assert_eq!(
        listed,
        [("hidden".to_owned(), Reason::Unreadable), ("theirs".to_owned(), Reason::MetadataRefused)]
    );
    let path = sandbox.enter(&ctx()).unwrap();
    assert!(!path.join("hidden").exists());
    let theirs = fs::metadata(path.join("theirs")).unwrap();
    assert_eq!(
        (theirs.uid(), theirs.mode() & 0o7777),
        (65534, 0o755),
        "input 18: no set-id bit of another's"
    );
    assert_eq!(fs::metadata(path.join("closed")).unwrap().mode() & 0o7777, 0o555);
    assert_eq!(changes(&sandbox), []);
    fs::write(path.join("mine"), "2").unwrap();
    assert_eq!(changes(&sandbox), [("mine".to_owned(), "modified")]);
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
    assert_eq!(changes(&sandbox), []);
    // A directory that its owner may not write goes as well.
    sandbox.cleanup(false, &ctx()).unwrap();
    assert!(!path.exists());
}

/// S10: work that no checkpoint can keep is work.
#[test]
fn unreadable_work_is_not_nothing() {
    if !is_root() {
        return skip("only root can start this as another user");
    }
    let place = Place::here();
    place.write("f", "x");
    std::os::unix::fs::chown(place.resource(), Some(65534), Some(65534)).unwrap();
    fs::remove_dir_all(place.dir().join("store")).unwrap();
    run(as_nobody("fidelity::hides_its_work", place.dir()));
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn hides_its_work() {
    let Some(directory) = task() else { return };
    let manager = open(&directory.join("store")).unwrap();
    let sandboxes = Sandboxes::new(&manager);
    let options = turnback_engine::SandboxOptions::new(directory.join("work"));
    let sandbox = sandboxes.create(&options, &ctx()).unwrap();
    let hidden = sandbox.enter(&ctx()).unwrap().join("hidden");
    fs::write(&hidden, "work").unwrap();
    crate::common::everything::chmod(&hidden, 0);
    assert_eq!(sandbox.cleanup(false, &ctx()).unwrap_err().code(), turnback_engine::Code::UnsavedWork);
    assert_eq!(sandboxes.list(&ctx()).unwrap()[0].unsaved, Some(true));
}
