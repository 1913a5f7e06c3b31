//! `git: keep` and `git: exact` (C7; F31, F55, F58; input 32, 95).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers fail as tests do: by a panic

mod restore_support;

use std::fs;

use restore_support::*;
use turnback_engine::model::Reason;
use turnback_engine::restore::{GitMode, PlanOptions};

const KEEP: PlanOptions = PlanOptions { git: GitMode::Keep, paths: None };

fn repository(place: &Place, at: &str) {
    place.write(&format!("{at}/HEAD"), "ref: refs/heads/main\n");
    place.write(&format!("{at}/index"), "index then");
    place.write(&format!("{at}/objects/aa/1"), "object");
    place.mkdir(&format!("{at}/refs/tags"));
}

fn git_lines(place: &Place) -> Vec<(String, String)> {
    tree(&place.root()).into_iter().filter(|(path, _)| path.to_ascii_lowercase().contains(".git")).collect()
}

#[test]
fn keep_neither_overwrites_nor_deletes_nor_stamps() {
    let place = Place::default();
    repository(&place, ".git");
    place.write("a", "a");
    let then = place.picture();
    place.write(".git/HEAD", "0123456789012345678901234567890123456789\n");
    place.write(".git/index", "index now");
    place.write(".git/objects/bb/2", "a commit made since");
    fs::remove_dir(place.at(".git/refs/tags")).unwrap();
    place.write(".git/refs/tags", "a file now");
    place.write("a", "changed");
    let before = git_lines(&place);
    let outcome = place.rollback_with(&then, &KEEP, &plain);
    assert_eq!(git_lines(&place), before, "byte for byte and stamp for stamp");
    assert_eq!(fs::read(place.at("a")).unwrap(), b"a");
    assert!(outcome.head_moved);
    let git = |path: &str| (path.to_owned(), Reason::GitMetadata);
    assert_eq!(
        list(&outcome.applied.kept),
        [git(".git/HEAD"), git(".git/index"), git(".git/objects/bb"), git(".git/refs/tags")]
    );
    assert_eq!(outcome.applied.not_restorable, []);
}

#[test]
fn keep_puts_back_what_is_missing() {
    let place = Place::default();
    repository(&place, ".git");
    repository(&place, "vendor/lib/.git");
    place.write("vendor/sub/.git", "gitdir: ../../.git/modules/sub\n");
    let (then, want) = (place.picture(), tree(&place.root()));
    fs::remove_file(place.at(".git/objects/aa/1")).unwrap();
    fs::remove_dir(place.at(".git/refs/tags")).unwrap();
    fs::remove_dir_all(place.at("vendor/lib/.git")).unwrap();
    fs::remove_file(place.at("vendor/sub/.git")).unwrap();
    let outcome = place.rollback_with(&then, &KEEP, &plain);
    let now = tree(&place.root());
    for (path, line) in &want {
        let have = now.get(path).unwrap_or_else(|| panic!("{path} is missing"));
        // The directories of a .git that is there are left with the times they have.
        if !(path.starts_with("/.git") && line.contains("is_dir: true")) {
            assert_eq!(have, line, "{path}");
        }
    }
    assert!(!outcome.head_moved);
    assert_eq!(outcome.applied.kept, []);
}

#[test]
fn keep_spares_a_repository_made_since_and_what_holds_it() {
    let place = Place::default();
    place.write("a", "a");
    let then = place.picture();
    repository(&place, "clone/.git");
    place.write("clone/file", "f");
    place.write(".git", "gitdir: elsewhere");
    let outcome = place.rollback_with(&then, &KEEP, &plain);
    assert!(place.at("clone/.git/HEAD").exists() && !place.at("clone/file").exists());
    assert_eq!(
        list(&outcome.applied.kept),
        [
            (".git".into(), Reason::GitMetadata),
            ("clone".into(), Reason::NotEmpty),
            ("clone/.git".into(), Reason::GitMetadata)
        ]
    );
}

#[test]
fn keep_knows_git_by_its_other_names() {
    for name in [".GIT", ".gIt", "git~1", "GIT~1", ".g\u{200c}it", "\u{feff}.git", ".git\u{200d}"] {
        let place = Place::default();
        place.write(&format!("{name}/HEAD"), "then");
        let then = place.picture();
        place.write(&format!("{name}/HEAD"), "now");
        let outcome = place.rollback_with(&then, &KEEP, &plain);
        assert_eq!(fs::read(place.at(name).join("HEAD")).unwrap(), b"now", "{name:?}");
        assert!(outcome.head_moved, "{name:?}");
    }
    for name in [".gitignore", "git", "git~2", ".git.", ".g\u{e9}it"] {
        let place = Place::default();
        place.write(&format!("{name}/HEAD"), "then");
        let then = place.picture();
        place.write(&format!("{name}/HEAD"), "now");
        let outcome = place.rollback_with(&then, &KEEP, &plain);
        assert_eq!(fs::read(place.at(name).join("HEAD")).unwrap(), b"then", "{name:?}");
        assert!(!outcome.head_moved, "{name:?}");
    }
}

#[test]
fn exact_treats_git_as_everything_else() {
    let place = Place::default();
    repository(&place, ".git");
    let (then, want) = (place.picture(), tree(&place.root()));
    place.write(".git/HEAD", "moved");
    place.write(".git/objects/bb/2", "new");
    fs::remove_dir(place.at(".git/refs/tags")).unwrap();
    let outcome = place.exact(&then, &want);
    assert!(!outcome.head_moved);
}

#[test]
fn keep_leaves_link_groups_inside_git_alone() {
    let place = Place::default();
    place.write(".git/objects/1", "o");
    fs::create_dir_all(place.at("clone/.git/objects")).unwrap();
    fs::hard_link(place.at(".git/objects/1"), place.at("clone/.git/objects/1")).unwrap();
    let then = place.picture();
    fs::remove_file(place.at("clone/.git/objects/1")).unwrap();
    let before = tree(&place.root()).get("/.git/objects/1").cloned();
    let outcome = place.rollback_with(&then, &KEEP, &plain);
    assert_eq!(tree(&place.root()).get("/.git/objects/1").cloned(), before);
    assert_eq!(fs::read(place.at("clone/.git/objects/1")).unwrap(), b"o");
    assert_eq!(list(&outcome.applied.kept), [(".git/objects/1".into(), Reason::GitMetadata)]);
}

#[test]
fn keep_parts_a_file_from_a_link_into_git_by_rewriting_the_file() {
    let place = Place::default();
    // The name sorts before `.git`, and both files are alike: only their link to each other is new.
    for path in ["+a", ".git/x"] {
        place.write(path, "alike");
        set_mtime(&place.at(path), 3, 3);
    }
    let then = place.picture();
    fs::remove_file(place.at("+a")).unwrap();
    fs::hard_link(place.at(".git/x"), place.at("+a")).unwrap();
    let inode = |path: &str| std::os::unix::fs::MetadataExt::ino(&fs::metadata(place.at(path)).unwrap());
    let before = inode(".git/x");
    let outcome = place.rollback_with(&then, &KEEP, &plain);
    assert_eq!(inode(".git/x"), before);
    assert_ne!(inode("+a"), before);
    assert_eq!(outcome.applied.kept, []);
    assert_eq!(outcome.applied.not_restorable, []);
}
