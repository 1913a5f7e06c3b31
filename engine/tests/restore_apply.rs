//! Exact rollback of real trees (C6, C7).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers fail as tests do: by a panic

mod restore_support;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use restore_support::*;
use turnback_engine::ChangeKind;
use turnback_engine::restore::{GitMode, PlanOptions};

fn chmod(path: &std::path::Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn changes(outcome: &Outcome) -> Vec<(String, ChangeKind)> {
    outcome.changes.iter().map(|c| (c.path.to_string(), c.kind)).collect()
}

/// A tree with one of everything.
fn sample(place: &Place) {
    place.write("a.txt", "a");
    place.write("dir/b.txt", "bb");
    place.write("dir/deep/er/c.txt", "ccc");
    place.write("empty-file", "");
    place.mkdir("empty-dir");
    symlink("a.txt", place.at("link")).unwrap();
    symlink("/nowhere/at/all", place.at("dangling")).unwrap();
    fs::hard_link(place.at("a.txt"), place.at("dir/a-too")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.at("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o640),
        0,
    )
    .unwrap();
    fs::write(place.at("").join(os(b"caf\xff\xfe\n")), "odd").unwrap();
    fs::write(place.at("").join("n".repeat(255)), "long").unwrap();
    fs::write(place.at(" lead"), "space").unwrap();
    chmod(&place.at("dir/b.txt"), 0o4751);
    chmod(&place.at("dir/deep"), 0o2770);
    set_mtime(&place.at("dir/b.txt"), -5, 123_456_789);
    set_mtime(&place.at("link"), 1_000, 7);
    set_mtime(&place.at("dir/deep"), 2_000, 1);
    set_mtime(&place.at("dir"), 3_000, 999_999_999);
    set_mtime(&place.root(), 4_000, 42);
}

#[test]
fn nothing_changed_writes_nothing() {
    let place = Place::default();
    sample(&place);
    let then = place.picture();
    let plan = place.plan(Some(&place.picture()), &then, &PlanOptions::default());
    assert!(plan.is_empty());
    let ctime = fs::metadata(place.root()).unwrap().ctime_nsec();
    place.apply(&plan);
    assert_eq!(fs::metadata(place.root()).unwrap().ctime_nsec(), ctime);
}

#[test]
fn half_of_a_tree_comes_back_with_its_times_and_modes() {
    let place = Place::default();
    sample(&place);
    let (then, want) = (place.picture(), tree(&place.root()));
    let root_inode = fs::metadata(place.root()).unwrap().ino();
    fs::remove_dir_all(place.at("dir")).unwrap();
    fs::remove_file(place.at("pipe")).unwrap();
    fs::remove_file(place.at("").join(os(b"caf\xff\xfe\n"))).unwrap();
    fs::remove_file(place.at("").join("n".repeat(255))).unwrap();
    place.write("new/x/y", "new");
    place.write("empty-file", "not empty");
    place.exact(&then, &want);
    assert_eq!(fs::metadata(place.root()).unwrap().ino(), root_inode, "the root's inode stays (C7)");
}

#[test]
fn a_missing_root_is_made_again() {
    let place = Place::default();
    sample(&place);
    let (then, want) = (place.picture(), tree(&place.root()));
    fs::remove_dir_all(place.root()).unwrap();
    let outcome = place.exact(&then, &want);
    assert!(outcome.applied.root_recreated);
}

#[test]
fn a_missing_parent_of_the_root_is_not_found_with_advice() {
    let place = Place::default();
    sample(&place);
    let then = place.picture();
    fs::remove_dir_all(place.root()).unwrap();
    let plan = place.plan(None, &then, &PlanOptions::default());
    let options = turnback_engine::restore::ApplyOptions {
        pool: &place.pool,
        stage_in: None,
        stage_name: STAGE,
        leftovers: &[],
        sync: false,
        root_made: None,
    };
    let missing = place.outside("gone/w");
    let target = turnback_engine::restore::Target::Missing(&missing);
    let error = turnback_engine::restore::apply(target, &plan, &place.memory, &options, &Default::default())
        .unwrap_err();
    assert_eq!(error.code().as_str(), "NOT_FOUND");
    assert!(error.error.advice().contains("create the parent"));
}

#[test]
fn an_empty_directory_elsewhere_takes_the_whole_tree() {
    let place = Place::default();
    sample(&place);
    let (then, want) = (place.picture(), tree(&place.root()));
    fs::rename(place.root(), place.outside("old")).unwrap();
    fs::create_dir(place.root()).unwrap();
    let plan = place.plan(None, &then, &PlanOptions::default());
    place.apply(&plan);
    same(&tree(&place.root()), &want);
}

#[test]
fn an_empty_checkpoint_gives_an_empty_directory_its_metadata() {
    let place = Place::default();
    set_mtime(&place.root(), 77, 8);
    chmod(&place.root(), 0o711);
    let (then, want) = (place.picture(), tree(&place.root()));
    fs::remove_dir(place.root()).unwrap();
    place.exact(&then, &want);
}

#[test]
fn added_goes_deleted_comes_back_deleted_then_stays_deleted() {
    // F25
    let place = Place::default();
    place.write("y", "y");
    place.write("z", "z");
    fs::remove_file(place.at("z")).unwrap();
    let (then, want) = (place.picture(), tree(&place.root()));
    place.write("x", "x");
    fs::remove_file(place.at("y")).unwrap();
    let outcome = place.exact(&then, &want);
    assert_eq!(changes(&outcome), [("x".into(), ChangeKind::Added), ("y".into(), ChangeKind::Deleted)]);
    assert!(!place.at("z").exists());
}

#[test]
fn types_change_back_each_way() {
    let place = Place::default();
    for name in ["file-dir", "file-link", "file-fifo"] {
        place.write(name, name);
    }
    place.write("dir-file/inner/x", "x");
    place.write("dir-link/y", "y");
    symlink("file-dir", place.at("link-file")).unwrap();
    symlink("dir-file", place.at("link-dir")).unwrap();
    let (then, want) = (place.picture(), tree(&place.root()));
    for name in ["file-dir", "file-link", "file-fifo", "link-file", "link-dir"] {
        fs::remove_file(place.at(name)).unwrap();
    }
    for name in ["dir-file", "dir-link"] {
        fs::remove_dir_all(place.at(name)).unwrap();
    }
    place.write("file-dir/sub/z", "z");
    symlink("x", place.at("file-link")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.at("file-fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    place.write("dir-file", "now a file");
    symlink("/etc", place.at("dir-link")).unwrap();
    place.write("link-file", "f");
    place.write("link-dir/q", "q");
    let outcome = place.exact(&then, &want);
    assert!(outcome.changes.iter().filter(|c| c.kind == ChangeKind::TypeChanged).count() >= 7);
}

#[test]
fn metadata_alone_is_put_back_without_a_new_inode() {
    let place = Place::default();
    sample(&place);
    chmod(&place.at("dir/b.txt"), 0o640);
    let (then, want) = (place.picture(), tree(&place.root()));
    let inode = fs::metadata(place.at("dir/b.txt")).unwrap().ino();
    chmod(&place.at("dir/b.txt"), 0o600);
    set_mtime(&place.at("dir/b.txt"), 1, 1);
    chmod(&place.at("dir"), 0o700);
    set_mtime(&place.root(), 9, 9);
    let outcome = place.exact(&then, &want);
    assert_eq!(
        changes(&outcome),
        [("dir".into(), ChangeKind::Metadata), ("dir/b.txt".into(), ChangeKind::Metadata)]
    );
    assert_eq!(fs::metadata(place.at("dir/b.txt")).unwrap().ino(), inode);
}

/// Input 18: somebody may still hold the inode open or mapped for writing.
#[test]
fn rights_are_never_given_to_an_inode_that_is_there() {
    let set_id = |place: &Place| chmod(&place.at("tool"), 0o4755);
    let attribute = |place: &Place| {
        rustix::fs::setxattr(place.at("tool"), "user.a", b"1", rustix::fs::XattrFlags::empty()).unwrap();
    };
    let owner = |place: &Place| std::os::unix::fs::chown(place.at("tool"), Some(1234), Some(1234)).unwrap();
    let root = rustix::process::geteuid().is_root();
    type Way<'a> = (&'a str, bool, &'a dyn Fn(&Place));
    let ways: [Way<'_>; 3] =
        [("set-id", true, &set_id), ("attribute", true, &attribute), ("owner", root, &owner)];
    for (what, possible, give) in ways {
        if !possible {
            eprintln!("skipped: {what}: only root can do this");
            continue;
        }
        let place = Place::default();
        place.write("tool", "#!/bin/sh\n");
        chmod(&place.at("tool"), 0o755);
        give(&place);
        set_mtime(&place.at("tool"), 7, 7);
        let (then, want) = (place.picture(), tree(&place.root()));
        fs::remove_file(place.at("tool")).unwrap();
        place.write("tool", "#!/bin/sh\n");
        chmod(&place.at("tool"), 0o755);
        set_mtime(&place.at("tool"), 7, 7);
        let mut held = fs::OpenOptions::new().append(true).open(place.at("tool")).unwrap();
        place.exact(&then, &want);
        std::io::Write::write_all(&mut held, b"ours now\n").unwrap();
        same(&tree(&place.root()), &want);
    }
}

#[test]
fn a_directory_mtime_is_restored_and_not_listed() {
    let place = Place::default();
    sample(&place);
    let (then, want) = (place.picture(), tree(&place.root()));
    set_mtime(&place.at("dir/deep"), 1, 1);
    let outcome = place.exact(&then, &want);
    assert_eq!(outcome.changes, []);
}

#[test]
fn read_only_directories_are_filled_and_read_only_again() {
    let place = Place::default();
    place.write("ro/sub/a", "a");
    place.write("ro/b", "b");
    chmod(&place.at("ro/b"), 0o444);
    chmod(&place.at("ro/sub"), 0o555);
    chmod(&place.at("ro"), 0o555);
    let (then, want) = (place.picture(), tree(&place.root()));
    chmod(&place.at("ro"), 0o755);
    chmod(&place.at("ro/sub"), 0o755);
    fs::remove_dir_all(place.at("ro/sub")).unwrap();
    fs::remove_file(place.at("ro/b")).unwrap();
    place.write("ro/extra/e", "e");
    chmod(&place.at("ro/extra"), 0o555);
    chmod(&place.at("ro"), 0o555);
    place.exact(&then, &want);
}

#[test]
fn extended_attributes_come_back_and_others_go() {
    let place = Place::default();
    let set = |path: &str, name: &str, value: &[u8]| {
        rustix::fs::setxattr(place.at(path), name, value, rustix::fs::XattrFlags::empty()).unwrap();
    };
    place.write("f", "f");
    place.write("g", "g");
    place.mkdir("d");
    set("f", "user.one", b"1");
    set("d", "user.dir", b"d");
    set("g", "user.big", &[7; 900]);
    chmod(&place.at("f"), 0o444);
    let (then, want) = (place.picture(), tree(&place.root()));
    rustix::fs::removexattr(place.at("d"), "user.dir").unwrap();
    set("d", "user.other", b"o");
    fs::remove_file(place.at("f")).unwrap();
    place.write("f", "else");
    set("g", "user.big", b"small");
    set("g", "user.more", b"more");
    place.exact(&then, &want);
}

#[test]
fn holes_stay_holes() {
    let place = Place::default();
    let file = fs::File::create(place.at("sparse")).unwrap();
    file.set_len(8 << 20).unwrap();
    std::os::unix::fs::FileExt::write_at(&file, b"middle", 4 << 20).unwrap();
    drop(file);
    let (then, want) = (place.picture(), tree(&place.root()));
    assert!(want.values().any(|line| line.contains("sparse=true")));
    fs::remove_file(place.at("sparse")).unwrap();
    place.exact(&then, &want);
}

#[test]
fn a_dry_run_announces_exactly_what_the_run_does() {
    // F59
    let place = Place::default();
    sample(&place);
    let then = place.picture();
    fs::remove_dir_all(place.at("dir")).unwrap();
    place.write("a.txt", "other");
    place.write("more", "m");
    let before = tree(&place.root());
    let now = place.picture();
    let dry = place.plan(Some(&now), &then, &PlanOptions::default()).changes();
    same(&tree(&place.root()), &before);
    let outcome = place.rollback(&then);
    assert_eq!(dry, outcome.changes);
    assert!(dry.is_sorted_by(|a, b| a.path < b.path), "each path once, sorted");
    let undo = place.rollback(&now);
    // Rolling back to the safety picture undoes it (F16).
    same(&tree(&place.root()), &before);
    assert!(undo.applied.not_restorable.is_empty());
}

#[test]
fn staging_inside_the_root_leaves_no_trace() {
    let place = Place::default();
    sample(&place);
    let (then, want) = (place.picture(), tree(&place.root()));
    fs::remove_dir_all(place.at("dir")).unwrap();
    let plan = place.plan(Some(&place.picture()), &then, &PlanOptions::default());
    let options = turnback_engine::restore::ApplyOptions {
        pool: &place.pool,
        stage_in: None,
        stage_name: STAGE,
        leftovers: &[],
        sync: true,
        root_made: None,
    };
    let root = turnback_engine::restore::Root::open(&place.root()).unwrap();
    let target = turnback_engine::restore::Target::Existing(&root);
    turnback_engine::restore::apply(target, &plan, &place.memory, &options, &Default::default()).unwrap();
    same(&tree(&place.root()), &want);
}

#[test]
fn a_store_on_another_file_system_is_no_place_to_stage() {
    let place = Place::default();
    let shm = std::path::Path::new("/dev/shm");
    let device = |path: &std::path::Path| fs::metadata(path).map(|m| m.dev()).ok();
    if device(shm).is_none() || device(shm) == device(&place.root()) {
        return; // one file system only: nothing to try here
    }
    sample(&place);
    let (then, want) = (place.picture(), tree(&place.root()));
    fs::remove_dir_all(place.at("dir")).unwrap();
    let plan = place.plan(Some(&place.picture()), &then, &PlanOptions::default());
    let store = tempfile::tempdir_in(shm).unwrap();
    let options = turnback_engine::restore::ApplyOptions {
        pool: &place.pool,
        stage_in: Some(store.path()),
        stage_name: STAGE,
        leftovers: &[],
        sync: false,
        root_made: None,
    };
    let root = turnback_engine::restore::Root::open(&place.root()).unwrap();
    let target = turnback_engine::restore::Target::Existing(&root);
    turnback_engine::restore::apply(target, &plan, &place.memory, &options, &Default::default()).unwrap();
    same(&tree(&place.root()), &want);
    assert_eq!(fs::read_dir(store.path()).unwrap().count(), 0);
}

#[test]
fn the_way_without_openat2_restores_the_same() {
    let place = Place::default();
    sample(&place);
    let (then, want) = (place.picture(), tree(&place.root()));
    fs::remove_dir_all(place.at("dir")).unwrap();
    place.write("dir/deep", "a file now");
    let plan = place.plan(Some(&place.picture()), &then, &PlanOptions::default());
    let fd = fs::File::open(place.root()).unwrap().into();
    let resolver = turnback_engine::restore::Resolver::PerComponent;
    let root = turnback_engine::restore::Root::with_resolver(fd, &place.root(), resolver).unwrap();
    let options = turnback_engine::restore::ApplyOptions {
        pool: &place.pool,
        stage_in: None,
        stage_name: STAGE,
        leftovers: &[],
        sync: false,
        root_made: None,
    };
    let target = turnback_engine::restore::Target::Existing(&root);
    turnback_engine::restore::apply(target, &plan, &place.memory, &options, &Default::default()).unwrap();
    same(&tree(&place.root()), &want);
}

#[test]
fn some_paths_only() {
    let place = Place::default();
    sample(&place);
    let (then, want) = (place.picture(), tree(&place.root()));
    fs::remove_dir_all(place.at("dir")).unwrap();
    place.write("a.txt", "mine");
    place.write("extra/keep", "k");
    place.write("extra/go", "g");
    let options = PlanOptions {
        git: GitMode::Exact,
        paths: Some(vec![rel("dir/deep"), rel("extra/go"), rel("dir/b.txt")]),
    };
    let outcome = place.rollback_with(&then, &options, &plain);
    let now = tree(&place.root());
    for path in ["/dir", "/dir/deep", "/dir/deep/er", "/dir/deep/er/c.txt", "/dir/b.txt"] {
        assert_eq!(now.get(path), want.get(path), "{path}");
    }
    assert!(!place.at("dir/a-too").exists(), "not asked for");
    assert_eq!(fs::read(place.at("a.txt")).unwrap(), b"mine");
    assert!(place.at("extra/keep").exists() && !place.at("extra/go").exists());
    assert_eq!(list(&outcome.applied.not_restorable), []);
}
