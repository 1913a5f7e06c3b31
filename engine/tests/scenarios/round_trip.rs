//! Every kind of path comes back from every kind of damage (C6, C7, P6; F16, F25, F33, F36, F44, F51, F58).

use std::fs;
use std::os::unix::fs::MetadataExt;

use turnback_engine::{Context, GitMode, RollbackRequest};

use crate::common::everything::{build, damage};
use crate::common::picture::{Tree, same};
use crate::common::place::{Place, exact, rel};

fn filled() -> Place {
    let place = Place::default();
    let outside = place.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    build(&place.root(), &outside);
    place
}

#[test]
fn rollback_and_undo_are_exact() {
    let place = filled();
    let before = place.tree();
    let checkpoint = place.create();
    let inode = fs::metadata(place.root()).unwrap().ino();

    damage(&place.root());
    let damaged = place.tree();
    let dry = RollbackRequest { dry_run: true, ..exact() };
    let plan = place.manager.rollback(checkpoint.checkpoint_id, dry, &Context::default()).unwrap();
    same(&place.tree(), &damaged);

    let report = place.rollback(checkpoint.checkpoint_id);
    same(&place.tree(), &before);
    assert_eq!(plan.actions, report.actions, "F59: a dry run says what a run does");
    assert_eq!(report.kept, []);
    assert_eq!(fs::metadata(place.root()).unwrap().ino(), inode, "C7: the root keeps its inode");
    assert_eq!(fs::read(place.dir.path().join("outside/partner")).unwrap(), b"outside", "input 10");
    place.tmp_is_empty();

    let undone = place.undo(report.undo_checkpoint_id.unwrap());
    same(&place.tree(), &damaged);
    place.undo(undone.undo_checkpoint_id.unwrap());
    same(&place.tree(), &before);
    place.verify_is_clean();
}

#[test]
fn what_did_not_change_is_not_written() {
    let place = filled();
    let checkpoint = place.create();
    fs::write(place.at("a.txt"), "HELLO").unwrap();
    let untouched = |name: &str| {
        let stat = fs::symlink_metadata(place.at(name)).unwrap();
        (stat.ino(), stat.ctime(), stat.ctime_nsec())
    };
    let names = ["big.bin", "sparse", "link", "names", "vendor/lib/code.c", "pipe", "modes/all"];
    let before: Vec<_> = names.iter().map(|n| untouched(n)).collect();
    let report = place.rollback(checkpoint.checkpoint_id);
    assert_eq!(report.written, 1, "{:?}", report.actions);
    assert_eq!(names.iter().map(|n| untouched(n)).collect::<Vec<_>>(), before, "C7: no mtime storm");
}

#[test]
fn restored_elsewhere_and_exported() {
    let place = filled();
    let mut before = place.tree();
    let id = place.create().checkpoint_id;
    damage(&place.root());
    let damaged = place.tree();

    let into = place.dir.path().join("elsewhere");
    let request = RollbackRequest { into: Some(into.clone()), ..exact() };
    let report = place.manager.rollback(id, request, &Context::default()).unwrap();
    assert!(report.root_recreated);
    same(&Tree::of(&into), &before);
    same(&place.tree(), &damaged);

    let copy = place.dir.path().join("copy");
    place.manager.export(id, &copy, &Context::default()).unwrap();
    same(&Tree::of(&copy), &before);

    // What a part of a rollback leaves alone stays as it is.
    let paths = Some(vec![rel("a.txt"), rel("void"), rel("vendor/lib")]);
    let report =
        place.manager.rollback(id, RollbackRequest { paths, ..exact() }, &Context::default()).unwrap();
    let parts = ["a.txt", "void", "vendor/lib"];
    let now = place.tree();
    let only = |tree: &Tree| {
        let mut inside = tree.clone();
        let outside = tree.without(&parts);
        inside.0.retain(|path, _| !outside.has(path));
        inside
    };
    same(&only(&now), &only(&before));
    // The directories above what was restored had names added and removed: their mtimes are not what this is about.
    let mut rest = (now.without(&parts), damaged.without(&parts));
    for path in [&b""[..], b"vendor"] {
        rest.0.0.remove(path);
        rest.1.0.remove(path);
    }
    same(&rest.0, &rest.1);
    place.undo(report.undo_checkpoint_id.unwrap());
    before = damaged;
    let now = place.tree();
    let mut both = (now, before);
    for path in [&b""[..], b"vendor"] {
        both.0.0.remove(path);
        both.1.0.remove(path);
    }
    same(&both.0, &both.1);
}

#[test]
fn git_is_kept_when_asked() {
    // F31, F55, input 95: `keep` overwrites and deletes nothing inside `.git`, and puts back what is missing.
    let place = filled();
    let id = place.create().checkpoint_id;
    place.write(".git/HEAD", "ref: refs/heads/other\n");
    place.write(".git/new", "new");
    place.write("a.txt", "changed");
    fs::remove_dir_all(place.at("vendor/lib/.git/refs")).unwrap();
    let keep = RollbackRequest { git: GitMode::Keep, ..RollbackRequest::default() };
    let report = place.manager.rollback(id, keep, &Context::default()).unwrap();
    assert!(report.head_moved);
    assert_eq!(fs::read(place.at("a.txt")).unwrap(), b"hello");
    assert_eq!(fs::read(place.at(".git/HEAD")).unwrap(), b"ref: refs/heads/other\n");
    assert_eq!(fs::read(place.at(".git/new")).unwrap(), b"new");
    assert!(place.at("vendor/lib/.git/refs/tags").is_dir());
}
