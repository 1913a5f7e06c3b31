//! What a revert leaves alone: git's own files, what a side does not cover, what was not asked for (C7, C15; F3, F31, F56).

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;

use turnback_engine::{CreateRequest, GitMode, Reason, RevertRequest};

use super::revert_support::{conflicts, exact, list, ours, revert, theirs, try_revert};
use crate::common::everything::{chmod, set_mtime};
use crate::common::picture::same;
use crate::common::place::{Place, is_root, rel, request};

fn keep() -> RevertRequest {
    RevertRequest { git: GitMode::Keep, ..exact() }
}

fn repository(place: &Place) {
    place.write(".git/HEAD", "ref: refs/heads/main\n");
    place.write(".git/refs/heads/main", "1\n");
    place.write(".git/objects/01", "object 1");
    place.write(".git/config", "config");
    place.write("a", "1");
}

#[test]
fn commits_are_not_taken_back_and_are_no_conflict() {
    // F31: the turn committed, and so did the user since.
    let place = Place::default();
    repository(&place);
    let from = place.create().checkpoint_id;
    place.write("a", "2");
    place.write(".git/refs/heads/main", "2\n");
    place.write(".git/objects/02", "object 2");
    fs::remove_file(place.at(".git/config")).unwrap();
    let to = place.create().checkpoint_id;
    place.write(".git/refs/heads/main", "3\n");
    place.write(".git/objects/03", "object 3");
    let now = place.tree();
    let report = revert(&place, from, to, keep());
    assert_eq!(conflicts(&report), Vec::<String>::new());
    assert_eq!(fs::read(place.at("a")).unwrap(), b"1");
    // What is missing comes back; everything else is as it is now.
    assert_eq!(fs::read(place.at(".git/config")).unwrap(), b"config");
    same(&place.tree().without(&["a", ".git/config"]), &now.without(&["a"]));
    let kept = list(&report.kept);
    for path in [".git/refs/heads/main", ".git/objects/02"] {
        assert!(kept.contains(&(path.to_owned(), Reason::GitMetadata)), "{path}: {kept:?}");
    }
    assert!(!report.head_moved);
}

#[test]
fn a_head_that_moved_is_said() {
    for since in ["ref: refs/heads/turn\n", "ref: refs/heads/user\n"] {
        let place = Place::default();
        repository(&place);
        let from = place.create().checkpoint_id;
        place.write("a", "2");
        place.write(".git/HEAD", "ref: refs/heads/turn\n");
        let to = place.create().checkpoint_id;
        place.write(".git/HEAD", since);
        let report = revert(&place, from, to, keep());
        assert!(report.head_moved, "{since}");
        assert_eq!(fs::read(place.at(".git/HEAD")).unwrap(), since.as_bytes());
        assert_eq!(fs::read(place.at("a")).unwrap(), b"1");
    }
}

#[test]
fn git_exact_is_as_everything_else() {
    let place = Place::default();
    repository(&place);
    let from = place.create().checkpoint_id;
    place.write(".git/refs/heads/main", "2\n");
    place.write(".git/objects/02", "object 2");
    let to = place.create().checkpoint_id;
    place.write(".git/objects/03", "object 3");
    revert(&place, from, to, exact());
    assert_eq!(fs::read(place.at(".git/refs/heads/main")).unwrap(), b"1\n");
    assert!(!place.at(".git/objects/02").exists() && place.at(".git/objects/03").exists());
    place.write(".git/refs/heads/main", "3\n");
    let report = try_revert(&place, from, to, exact()).unwrap();
    assert_eq!((conflicts(&report), report.restored), (vec![".git/refs/heads/main".to_owned()], false));
}

#[test]
fn a_repository_that_the_turn_made() {
    let place = Place::default();
    place.write("a", "1");
    let (before, from) = (place.tree(), place.create().checkpoint_id);
    place.write("lib/.git/HEAD", "ref: refs/heads/main\n");
    place.write("lib/x", "turn");
    let to = place.create().checkpoint_id;
    let report = try_revert(&place, from, to, keep()).unwrap();
    assert!(place.at("lib/.git/HEAD").exists() && !place.at("lib/x").exists());
    assert!(list(&report.kept).contains(&("lib/.git".to_owned(), Reason::GitMetadata)));
    revert(&place, from, to, exact());
    same(&place.tree().without(&[""]), &before.without(&[""]));
}

fn excluding(patterns: &[&str]) -> CreateRequest {
    CreateRequest { exclude: patterns.iter().map(|p| (*p).to_owned()).collect(), ..request() }
}

#[test]
fn what_neither_covers_is_left_alone() {
    // F3, F56.
    let place = Place::default();
    place.write("a", "1");
    place.write("out/data", "1");
    let from = place.try_create(excluding(&["out"])).unwrap().checkpoint_id;
    place.write("a", "2");
    place.write("out/data", "2");
    place.write("out/more", "2");
    let to = place.try_create(excluding(&["out"])).unwrap().checkpoint_id;
    place.write("out/data", "3");
    let now = place.tree();
    for request in [exact(), theirs()] {
        let report = revert(&place, from, to, request);
        assert_eq!(conflicts(&report), Vec::<String>::new());
        assert_eq!(fs::read(place.at("a")).unwrap(), b"1");
        same(&place.tree().without(&["a"]), &now.without(&["a"]));
        place.undo(report.undo_checkpoint_id.unwrap());
        same(&place.tree(), &now);
    }
}

#[test]
fn what_only_one_of_the_two_covers_is_unknown() {
    for (first, second) in [(&["out"][..], &[][..]), (&[], &["out"])] {
        let place = Place::default();
        place.write("a", "1");
        place.write("out/data", "1");
        let from = place.try_create(excluding(first)).unwrap().checkpoint_id;
        place.write("a", "2");
        place.write("out/data", "2");
        place.write("out/new", "2");
        let to = place.try_create(excluding(second)).unwrap().checkpoint_id;
        let now = place.tree();
        for request in [exact(), theirs()] {
            let report = revert(&place, from, to, request);
            assert_eq!(conflicts(&report), Vec::<String>::new());
            assert_eq!(list(&report.kept), [("out".to_owned(), Reason::Excluded)], "{first:?} {second:?}");
            same(&place.tree().without(&["a"]), &now.without(&["a"]));
            assert_eq!(fs::read(place.at("a")).unwrap(), b"1");
            place.undo(report.undo_checkpoint_id.unwrap());
            same(&place.tree(), &now);
        }
    }
}

#[test]
fn the_links_of_what_only_one_of_the_two_covers_are_left_alone() {
    let place = Place::default();
    place.write("p", "1");
    fs::hard_link(place.at("p"), place.at("q")).unwrap();
    place.write("a", "1");
    let from = place.create().checkpoint_id;
    place.write("a", "2");
    let to = place.try_create(excluding(&["p"])).unwrap().checkpoint_id;
    // Parted since, with the same bytes and the same time.
    let stat = fs::metadata(place.at("p")).unwrap();
    fs::copy(place.at("p"), place.at("tmp")).unwrap();
    set_mtime(&place.at("tmp"), stat.mtime(), stat.mtime_nsec());
    fs::rename(place.at("tmp"), place.at("p")).unwrap();
    let now = place.tree();
    let report = revert(&place, from, to, exact());
    assert_eq!(fs::read(place.at("a")).unwrap(), b"1");
    same(&place.tree().without(&["a"]), &now.without(&["a"]));
    assert_eq!(report.written, 1);
}

#[test]
fn an_excluded_file_keeps_the_directory_that_the_turn_made() {
    let place = Place::default();
    place.write("a", "1");
    let rules = || excluding(&["*.log"]);
    let from = place.try_create(rules()).unwrap().checkpoint_id;
    place.write("d/x", "turn");
    place.write("d/y.log", "turn");
    let to = place.try_create(rules()).unwrap().checkpoint_id;
    let report = revert(&place, from, to, exact());
    assert!(!place.at("d/x").exists());
    assert_eq!(fs::read(place.at("d/y.log")).unwrap(), b"turn");
    let kept = list(&report.kept);
    assert!(kept.contains(&("d/y.log".to_owned(), Reason::Excluded)), "{kept:?}");
    assert!(kept.contains(&("d".to_owned(), Reason::NotEmpty)), "{kept:?}");
}

#[test]
fn a_file_that_was_too_large_to_be_kept() {
    let limit = || CreateRequest { max_file_bytes: Some(10), ..request() };
    let place = Place::default();
    place.write("grown", "small");
    place.write("shrunk", "much too large");
    place.write("a", "1");
    let from = place.try_create(limit()).unwrap().checkpoint_id;
    place.write("grown", "much too large");
    place.write("shrunk", "small");
    place.write("a", "2");
    let to = place.try_create(limit()).unwrap().checkpoint_id;
    let now = place.tree();
    let report = try_revert(&place, from, to, exact()).unwrap();
    assert_eq!(conflicts(&report), Vec::<String>::new());
    assert!(!report.restored, "what cannot come back is said");
    let cannot = [("grown".to_owned(), Reason::NotCaptured), ("shrunk".to_owned(), Reason::TooLarge)];
    assert_eq!(list(&report.not_restorable), cannot);
    assert_eq!(fs::read(place.at("a")).unwrap(), b"1");
    same(&place.tree().without(&["a"]), &now.without(&["a"]));
    // What the turn left is not known, so that nobody can tell whether this came later.
    place.write("grown", "tiny");
    let report = try_revert(&place, to, from, ours()).unwrap();
    assert_eq!(fs::read(place.at("grown")).unwrap(), b"tiny");
    assert!(!report.restored);
    let report = try_revert(&place, from, to, exact()).unwrap();
    assert_eq!(conflicts(&report), ["grown"]);
    assert_eq!(fs::read(place.at("grown")).unwrap(), b"tiny");
}

#[test]
fn sockets_are_neither_made_nor_deleted() {
    let place = Place::default();
    place.write("a", "1");
    let old = UnixListener::bind(place.at("old")).unwrap();
    let from = place.create().checkpoint_id;
    drop(old);
    fs::remove_file(place.at("old")).unwrap();
    place.write("a", "2");
    fs::create_dir(place.at("d")).unwrap();
    let _new = UnixListener::bind(place.at("d/new")).unwrap();
    let to = place.create().checkpoint_id;
    let report = try_revert(&place, from, to, exact()).unwrap();
    assert!(!report.restored);
    assert_eq!(list(&report.not_restorable), [("old".to_owned(), Reason::Socket)]);
    assert!(list(&report.kept).contains(&("d/new".to_owned(), Reason::NotCaptured)));
    assert_eq!(fs::read(place.at("a")).unwrap(), b"1");
    assert!(fs::symlink_metadata(place.at("d/new")).is_ok());
}

#[test]
fn paths_limit_a_revert() {
    let place = Place::default();
    for path in ["d/a", "d/b", "e/c", "f"] {
        place.write(path, "1");
    }
    chmod(&place.at("d"), 0o700);
    let from = place.create().checkpoint_id;
    for path in ["d/a", "d/b", "e/c", "f", "d/new/x", "g/y"] {
        place.write(path, "22");
    }
    chmod(&place.at("d"), 0o755);
    let to = place.create().checkpoint_id;
    place.write("d/b", "mine");
    place.write("e/c", "mine");
    let now = place.tree();
    let asked = |paths: &[&str]| RevertRequest { paths: Some(paths.iter().map(rel).collect()), ..exact() };
    // Conflicts elsewhere are nobody's business; parents keep their metadata.
    let report = revert(&place, from, to, asked(&["d/a", "d/new"]));
    assert!(!place.at("d/new").exists());
    assert_eq!(fs::read(place.at("d/a")).unwrap(), b"1");
    same(&place.tree().without(&["d/a", "d/new"]), &now.without(&["d/a", "d/new"]));
    place.undo(report.undo_checkpoint_id.unwrap());
    same(&place.tree(), &now);
    assert_eq!(conflicts(&try_revert(&place, from, to, asked(&["d", "f"])).unwrap()), ["d/b"]);
    assert_eq!(conflicts(&try_revert(&place, from, to, asked(&[""])).unwrap()), ["d/b", "e/c"]);
    // The parent is something else now.
    fs::remove_dir_all(place.at("d")).unwrap();
    symlink("e", place.at("d")).unwrap();
    let report = try_revert(&place, from, to, asked(&["d/a"])).unwrap();
    assert_eq!(list(&report.not_restorable), [("d/a".to_owned(), Reason::WriteFailed)]);
    assert!(!report.restored && fs::symlink_metadata(place.at("d")).unwrap().is_symlink());
    // The parent is gone: what the turn edited in it was deleted since.
    fs::remove_file(place.at("d")).unwrap();
    assert_eq!(conflicts(&try_revert(&place, from, to, asked(&["d/a"])).unwrap()), ["d/a"]);
    let report = revert(&place, from, to, RevertRequest { paths: Some(vec![rel("d/a")]), ..theirs() });
    assert_eq!(
        (conflicts(&report), fs::read(place.at("d/a")).unwrap()),
        (vec!["d/a".to_owned()], b"1".to_vec())
    );
    assert!(!place.at("d/b").exists());
}

#[test]
fn a_mode_that_shuts_us_out_is_taken_back() {
    // Input 73, as an ordinary user; root reads everything.
    if is_root() {
        return crate::common::process::skip("root can read every file");
    }
    let place = Place::default();
    place.write("a", "1");
    let (before, from) = (place.tree(), place.create().checkpoint_id);
    chmod(&place.at("a"), 0);
    let to = place.create().checkpoint_id;
    assert!(try_revert(&place, from, to, exact()).unwrap().restored);
    same(&place.tree(), &before);
}
