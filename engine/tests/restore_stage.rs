//! Staging: whatever fails in it costs at most its own path, and nothing of it stays behind (C8).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers fail as tests do: by a panic

mod restore_support;

use std::fs;

use restore_support::*;
use turnback_engine::model::{Hash, Node, Objects, Picture, Reason};
use turnback_engine::restore::{ApplyOptions, GitMode, Plan, PlanOptions, Root, Target, apply, plan};
use turnback_engine::{Cancel, Code, Context, Progress};

const EXACT: PlanOptions = PlanOptions { git: GitMode::Exact, paths: None };

/// Applies a plan with staging in the root.
fn apply_in_root(
    place: &Place,
    plan: &Plan,
    ctx: &Context,
) -> turnback_engine::Result<turnback_engine::restore::Applied> {
    let options = ApplyOptions {
        pool: &place.pool,
        stage_in: None,
        stage_name: STAGE,
        leftovers: &[],
        sync: false,
        root_made: None,
    };
    Ok(apply(Target::Existing(&Root::open(&place.root())?), plan, &place.memory, &options, ctx)?)
}

fn file_hash(place: &Place, picture: &Picture, name: &str) -> Hash {
    let entries = place.memory.directory(picture.manifest).unwrap();
    let entry = entries.into_iter().find(|e| *e.name == *name.as_bytes()).unwrap();
    match entry.node {
        Node::File { content, .. } => content.hash(),
        Node::Directory { manifest } => manifest,
        _ => panic!("no object"),
    }
}

#[test]
fn damaged_content_costs_only_its_own_path() {
    // P7, input 98
    let place = Place::default();
    for (path, bytes) in
        [("good", "1"), ("bad", "22"), ("bad-over-dir", "333"), ("bad-dir/x", "4"), ("tree/bad", "55555")]
    {
        place.write(path, bytes);
    }
    place.write("tree/good", "6");
    let then = place.picture();
    place.write("good", "changed");
    place.write("bad", "changed");
    fs::remove_file(place.at("bad-over-dir")).unwrap();
    place.write("bad-over-dir/inner/y", "y");
    place.write("bad-dir/extra", "e");
    fs::remove_dir_all(place.at("tree")).unwrap();
    let plan = place.plan(Some(&place.picture()), &then, &EXACT);
    for bytes in [&b"22"[..], b"333", b"55555"] {
        place.memory.damage(Hash::of(bytes));
    }
    let applied = place.apply(&plan);
    assert_eq!(fs::read(place.at("good")).unwrap(), b"1");
    assert_eq!(fs::read(place.at("bad")).unwrap(), b"changed", "nothing is deleted for damaged content");
    assert_eq!(
        fs::read(place.at("bad-over-dir/inner/y")).unwrap(),
        b"y",
        "nothing is deleted for damaged content"
    );
    assert_eq!(fs::read(place.at("tree/good")).unwrap(), b"6");
    assert!(!place.at("tree/bad").exists());
    assert_eq!(
        list(&applied.not_restorable),
        ["bad", "bad-over-dir", "tree/bad"].map(|path| (path.to_owned(), Reason::Damaged))
    );
    // A damaged list of a directory: nothing in it is touched.
    place.memory.damage(file_hash(&place, &then, "bad-dir"));
    place.write("bad-dir/extra", "more");
    let outcome = place.rollback(&then);
    assert!(list(&outcome.applied.not_restorable).contains(&("bad-dir".into(), Reason::Damaged)));
    assert_eq!(fs::read(place.at("bad-dir/extra")).unwrap(), b"more");
}

#[test]
fn a_failure_while_staging_changes_nothing_and_leaves_nothing() {
    struct Failing<'a>(&'a Memory, Hash);
    impl Objects for Failing<'_> {
        fn read(&self, hash: Hash, limit: u64) -> turnback_engine::Result<Vec<u8>> {
            if hash == self.1 {
                return Err(turnback_engine::Error::io("reading the pack", rustix::io::Errno::IO));
            }
            self.0.read(hash, limit)
        }
        fn directory(&self, manifest: Hash) -> turnback_engine::Result<Vec<turnback_engine::model::Entry>> {
            self.0.directory(manifest)
        }
    }
    let place = Place::default();
    place.write("d/a", "a");
    place.write("d/z", "the one");
    let then = place.picture();
    fs::remove_dir_all(place.at("d")).unwrap();
    place.write("new", "n");
    set_mtime(&place.root(), 5, 6);
    let before = tree(&place.root());
    let plan = place.plan(Some(&place.picture()), &then, &EXACT);
    let failing = Failing(&place.memory, Hash::of(b"the one"));
    let store = place.dir.path().join("store");
    for stage_in in [Some(store.as_path()), None] {
        let options = ApplyOptions {
            pool: &place.pool,
            stage_in,
            stage_name: STAGE,
            leftovers: &[],
            sync: false,
            root_made: None,
        };
        let root = Root::open(&place.root()).unwrap();
        let error =
            apply(Target::Existing(&root), &plan, &failing, &options, &Context::default()).unwrap_err();
        assert_eq!(error.code(), Code::Io);
        same(&tree(&place.root()), &before);
        place.no_leftovers();
    }
    // A missing root is not left behind either.
    fs::remove_dir_all(place.root()).unwrap();
    let plan = place.plan(None, &then, &EXACT);
    let options = ApplyOptions {
        pool: &place.pool,
        stage_in: None,
        stage_name: STAGE,
        leftovers: &[],
        sync: false,
        root_made: None,
    };
    apply(Target::Missing(&place.root()), &plan, &failing, &options, &Context::default()).unwrap_err();
    assert!(!place.root().exists());
}

#[test]
fn cancelling_before_during_and_after_staging() {
    let place = Place::in_memory();
    for n in 0..3_000 {
        place.write(&format!("d{}/f{n}", n % 7), n.to_string());
    }
    let (then, want) = (place.picture(), tree(&place.root()));
    for phase in ["at once", "stage", "apply"] {
        for n in (0..7).step_by(2) {
            fs::remove_dir_all(place.at(&format!("d{n}"))).unwrap_or_default();
        }
        for n in 0..3_000 {
            place.write(&format!("d1/extra{n}"), "x");
        }
        let before = tree(&place.root());
        let cancel = Cancel::default();
        if phase == "at once" {
            cancel.cancel();
        }
        let inner = cancel.clone();
        let on_progress = move |progress: Progress| {
            if progress.phase == phase {
                inner.cancel();
            }
        };
        let ctx =
            Context { cancel, on_progress: Some(std::sync::Arc::new(on_progress)), ..Context::default() };
        let plan = plan(Some(&place.picture()), &then, &place.memory, &EXACT, &Context::default()).unwrap();
        let error = apply_in_root(&place, &plan, &ctx).unwrap_err();
        assert_eq!(error.code(), Code::Aborted, "{phase}");
        place.no_leftovers();
        if phase != "apply" {
            same(&tree(&place.root()), &before);
        }
    }
    place.exact(&then, &want);
}

#[test]
fn leftovers_of_a_crash_are_swept_and_nothing_else_is() {
    let place = Place::default();
    place.write("a", "a");
    let (then, _) = (place.picture(), ());
    let leftover = ".turnback-stage-01ARZ3NDEKTSV4RRFFQ69G5FAW";
    // The same kind of name, but nobody remembers to have made it (input 33).
    let theirs = ".turnback-stage-01ARZ3NDEKTSV4RRFFQ69G5FAX";
    place.write("a", "b");
    let now = place.picture();
    place.write(&format!("{leftover}/f0/0"), "half written");
    place.write(&format!("{theirs}/mine"), "mine");
    for name in [leftover, theirs] {
        fs::set_permissions(place.at(name), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    }
    let plan = place.plan(Some(&now), &then, &EXACT);
    let leftovers = [leftover.as_bytes().to_vec()];
    let options = ApplyOptions {
        pool: &place.pool,
        stage_in: None,
        stage_name: STAGE,
        leftovers: &leftovers,
        sync: false,
        root_made: None,
    };
    let root = Root::open(&place.root()).unwrap();
    apply(Target::Existing(&root), &plan, &place.memory, &options, &Context::default()).unwrap();
    assert!(!place.at(leftover).exists());
    assert!(place.at(theirs).join("mine").exists());
}

#[test]
fn an_acl_or_group_that_the_root_hands_down_does_not_reach_restored_files() {
    let place = Place::default();
    place.write("d/f", "f");
    let (then, want) = (place.picture(), tree(&place.root()));
    fs::remove_dir_all(place.at("d")).unwrap();
    // A default access list on the root: version 2, user::rwx group::rwx other::rwx.
    let acl: Vec<u8> = [&2u32.to_le_bytes()[..], &entry(1), &entry(4), &entry(0x20)].concat();
    let set =
        rustix::fs::setxattr(place.root(), "system.posix_acl_default", &acl, rustix::fs::XattrFlags::empty());
    if set.is_err() {
        return; // no access lists on this file system
    }
    let plan = place.plan(Some(&place.picture()), &then, &EXACT);
    apply_in_root(&place, &plan, &Context::default()).unwrap();
    same(&tree(&place.root()), &want);
}

fn entry(tag: u16) -> Vec<u8> {
    [&tag.to_le_bytes()[..], &7u16.to_le_bytes(), &u32::MAX.to_le_bytes()].concat()
}

#[test]
fn a_full_disk_is_refused_before_the_first_write() {
    // Input 61. The file claims a size that no disk has; its parts are holes save one.
    let place = Place::default();
    place.write("f", "x");
    let picture = place.picture();
    let mut file = place.memory.directory(picture.manifest).unwrap().remove(0);
    let size = 1 << 60;
    file.node =
        Node::File { size, content: turnback_engine::model::Content::Blob(Hash::of(b"x")), changing: false };
    let then = Picture { manifest: place.memory.put_directory(vec![file]), ..picture };
    let before = tree(&place.root());
    let plan = place.plan(Some(&place.picture()), &then, &EXACT);
    let error = apply_in_root(&place, &plan, &Context::default()).unwrap_err();
    assert_eq!(error.code(), Code::DiskFull);
    same(&tree(&place.root()), &before);
}
