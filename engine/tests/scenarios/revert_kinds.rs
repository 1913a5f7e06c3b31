//! What a turn can have done to a path, and what came after it, for every kind of path (C6, C7, C15; F25, F44).

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use super::revert_support::{conflicts, exact, list, ours, revert, with, with_meta};
use crate::common::everything::{chmod, fifo, set_mtime, set_xattr};
use crate::common::picture::same;
use crate::common::place::{Place, is_root};
use turnback_engine::Reason;

#[test]
fn a_directory_that_the_turn_made_goes_with_what_the_turn_put_in_it() {
    let place = Place::default();
    place.write("a", "1");
    let (before, from) = (place.tree(), place.create().checkpoint_id);
    place.write("d/e/x", "turn");
    place.write("d/y", "turn");
    fs::create_dir(place.at("d/empty")).unwrap();
    let to = place.create().checkpoint_id;
    let report = revert(&place, from, to, exact());
    assert_eq!(list(&report.kept), []);
    same(&place.tree(), &before);
}

#[test]
fn what_was_added_to_it_since_stays_and_keeps_it() {
    let place = Place::default();
    place.write("a", "1");
    let from = place.create().checkpoint_id;
    place.write("d/e/x", "turn");
    place.write("d/f/x", "turn");
    place.write("d/y", "turn");
    let to = place.create().checkpoint_id;
    place.write("d/e/mine", "mine");
    let now = place.tree();
    let report = revert(&place, from, to, exact());
    let kept = [("d".to_owned(), Reason::NotEmpty), ("d/e".to_owned(), Reason::NotEmpty)];
    assert_eq!(list(&report.kept), kept);
    assert_eq!(conflicts(&report), Vec::<String>::new());
    same(&place.tree().without(&[""]), &now.without(&["", "d/e/x", "d/f", "d/y"]));
    place.undo(report.undo_checkpoint_id.unwrap());
    same(&place.tree(), &now);
}

#[test]
fn a_directory_that_the_turn_deleted_comes_back_around_what_was_made_in_its_place() {
    let place = Place::default();
    for path in ["d/x", "d/same", "d/e/y"] {
        place.write(path, "before");
    }
    fs::create_dir(place.at("d/empty")).unwrap();
    let (before, from) = (place.tree(), place.create().checkpoint_id);
    fs::remove_dir_all(place.at("d")).unwrap();
    let to = place.create().checkpoint_id;
    place.write("d/mine", "mine");
    place.write("d/same", "before");
    let now = place.tree();
    let report = revert(&place, from, to, exact());
    assert_eq!(conflicts(&report), Vec::<String>::new());
    let want = with(&before, &now, &["d/mine", "d/same"]);
    same(&place.tree(), &with_meta(&want, &now, &["", "d"]));
    // The same name with other bytes is a conflict.
    place.undo(report.undo_checkpoint_id.unwrap());
    place.write("d/x", "mine");
    let report = revert(&place, from, to, ours());
    assert_eq!(conflicts(&report), ["d/x"]);
    assert_eq!(fs::read(place.at("d/x")).unwrap(), b"mine");
    assert_eq!(fs::read(place.at("d/e/y")).unwrap(), b"before");
}

#[test]
fn a_directory_that_was_deleted_since() {
    let place = Place::default();
    for path in ["d/a", "d/b", "d/c"] {
        place.write(path, "before");
    }
    let from = place.create().checkpoint_id;
    place.write("d/a", "turn");
    fs::remove_file(place.at("d/b")).unwrap();
    place.write("d/new", "turn");
    let to = place.create().checkpoint_id;
    fs::remove_dir_all(place.at("d")).unwrap();
    // What the turn deleted comes back; what it edited and somebody deleted since is a conflict; the rest stays deleted.
    let report = revert(&place, from, to, ours());
    assert_eq!(conflicts(&report), ["d/a"]);
    let names: Vec<_> = fs::read_dir(place.at("d")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["b"]);
}

#[test]
fn a_rename_is_taken_back() {
    let place = Place::default();
    for n in 0..3 {
        place.write(&format!("old/{n}"), n.to_string());
    }
    let (before, from) = (place.tree(), place.create().checkpoint_id);
    fs::rename(place.at("old"), place.at("new")).unwrap();
    let to = place.create().checkpoint_id;
    place.write("new/mine", "mine");
    let now = place.tree();
    let report = revert(&place, from, to, exact());
    assert_eq!(conflicts(&report), Vec::<String>::new());
    let want = with(&before, &now, &["new"]).without(&["new/0", "new/1", "new/2"]);
    same(&place.tree(), &with_meta(&want, &place.tree(), &[""]));
    assert_eq!(list(&report.kept), [("new".to_owned(), Reason::NotEmpty)]);
}

#[test]
fn modes_owners_attributes_targets_and_pipes() {
    let place = Place::default();
    place.write("mode", "1");
    place.write("owner", "1");
    place.write("attribute", "1");
    set_xattr(&place.at("attribute"), "user.v", b"1");
    symlink("1", place.at("link")).unwrap();
    fifo(&place.at("fifo-gone"));
    fifo(&place.at("fifo-mode"));
    symlink("nowhere", place.at("dangling")).unwrap();
    let (before, from) = (place.tree(), place.create().checkpoint_id);
    chmod(&place.at("mode"), 0o4755);
    if is_root() {
        std::os::unix::fs::chown(place.at("owner"), Some(1234), Some(1234)).unwrap();
    }
    set_xattr(&place.at("attribute"), "user.v", b"2");
    fs::remove_file(place.at("link")).unwrap();
    symlink("2", place.at("link")).unwrap();
    fs::remove_file(place.at("fifo-gone")).unwrap();
    chmod(&place.at("fifo-mode"), 0o777);
    fifo(&place.at("fifo-new"));
    let (after, to) = (place.tree(), place.create().checkpoint_id);
    place.write("mine", "mine");
    let now = place.tree();
    let report = revert(&place, from, to, exact());
    same(&place.tree(), &with_meta(&with(&before, &now, &["mine"]), &now, &[""]));
    place.undo(report.undo_checkpoint_id.unwrap());
    same(&place.tree(), &now);
    same(&place.tree().without(&["", "mine"]), &after.without(&[""]));
}

#[test]
fn types_change_both_ways() {
    // Every kind to every other kind and back.
    type Make = fn(&Place);
    let kinds: [(&str, Make); 5] = [
        ("nothing", |_| {}),
        ("file", |p| p.write("p", "1")),
        ("directory", |p| p.write("p/d/x", "1")),
        ("link", |p| symlink("p/d/x", p.at("p")).unwrap()),
        ("fifo", |p| fifo(&p.at("p"))),
    ];
    for (first, make) in kinds {
        for (second, turn) in kinds {
            if first == second {
                continue;
            }
            let place = Place::in_memory();
            make(&place);
            let (before, from) = (place.tree(), place.create().checkpoint_id);
            if place.at("p").is_dir() && !place.at("p").is_symlink() {
                fs::remove_dir_all(place.at("p")).unwrap();
            } else if fs::symlink_metadata(place.at("p")).is_ok() {
                fs::remove_file(place.at("p")).unwrap();
            }
            turn(&place);
            let (after, to) = (place.tree(), place.create().checkpoint_id);
            place.write("mine", "mine");
            // The same bytes again: a directory in the way is as the turn left it all the same.
            if second == "directory" {
                set_mtime(&place.at("p/d/x"), 5, 5);
                set_mtime(&place.at("p"), 5, 5);
            }
            let now = place.tree();
            let report = revert(&place, from, to, exact());
            assert_eq!(conflicts(&report), Vec::<String>::new(), "{first} to {second}");
            same(&place.tree().without(&[""]), &with(&before, &now, &["mine"]).without(&[""]));
            place.undo(report.undo_checkpoint_id.unwrap());
            same(&place.tree(), &now);
            // And the other way round.
            revert(&place, from, to, exact());
            revert(&place, to, from, exact());
            same(&place.tree().without(&[""]), &with(&after, &now, &["mine"]).without(&[""]));
        }
    }
}

#[test]
fn empty_directories_come_and_go() {
    let place = Place::default();
    fs::create_dir_all(place.at("was/empty")).unwrap();
    let (before, from) = (place.tree(), place.create().checkpoint_id);
    fs::remove_dir(place.at("was/empty")).unwrap();
    fs::create_dir_all(place.at("is/empty")).unwrap();
    let to = place.create().checkpoint_id;
    fs::create_dir(place.at("mine")).unwrap();
    let now = place.tree();
    revert(&place, from, to, exact());
    same(&place.tree(), &with_meta(&with(&before, &now, &["mine"]), &now, &[""]));
}

#[test]
fn the_root_itself() {
    let place = Place::default();
    place.write("a", "1");
    chmod(&place.root(), 0o700);
    let ino = fs::metadata(place.root()).unwrap().ino();
    let from = place.create().checkpoint_id;
    chmod(&place.root(), 0o755);
    let to = place.create().checkpoint_id;
    place.write("mine", "mine");
    revert(&place, from, to, exact());
    let root = fs::metadata(place.root()).unwrap();
    assert_eq!((root.mode() & 0o7777, root.ino()), (0o700, ino));
    assert_eq!(fs::read(place.at("mine")).unwrap(), b"mine");
}

#[test]
fn the_time_of_a_directory_is_of_before_only_where_nothing_in_it_stays_changed() {
    let place = Place::default();
    for path in ["c/in/x", "d/x", "e/x", "f/x"] {
        place.write(path, "1");
    }
    for path in ["c", "d", "e", "f"] {
        set_mtime(&place.at(path), 1_000, 1);
    }
    let from = place.create().checkpoint_id;
    for path in ["c/new", "d/new", "e/new", "f/new"] {
        place.write(path, "1");
    }
    let to = place.create().checkpoint_id;
    // Further down, in place, a new name, a touch.
    place.write("c/in/x", "mine");
    place.write("d/x", "mine");
    place.write("e/mine", "mine");
    set_mtime(&place.at("f"), 2_000, 2);
    let now = place.tree();
    revert(&place, from, to, exact());
    let time = |path: &str| place.tree().0[path.as_bytes()].mtime;
    assert_eq!(time("c"), (1_000, 1));
    assert_eq!(time("d"), now.0[&b"d"[..]].mtime);
    assert_eq!(time("e"), now.0[&b"e"[..]].mtime);
    assert_eq!(time("f"), (2_000, 2));
}

mod groups {
    use super::{Place, conflicts, exact, fs, ours, revert, same, with, with_meta};
    use std::os::unix::fs::MetadataExt;

    fn link(place: &Place, from: &str, to: &str) {
        fs::hard_link(place.at(from), place.at(to)).unwrap();
    }

    fn inode(place: &Place, path: &str) -> u64 {
        fs::symlink_metadata(place.at(path)).unwrap().ino()
    }

    #[test]
    fn a_group_that_the_turn_edited() {
        let place = Place::default();
        place.write("d/a", "1");
        link(&place, "d/a", "b");
        let (before, from) = (place.tree(), place.create().checkpoint_id);
        place.write("b", "2");
        let to = place.create().checkpoint_id;
        // A name that was added since keeps what it has.
        link(&place, "b", "mine");
        let now = place.tree();
        let report = revert(&place, from, to, exact());
        let want = with_meta(&with(&before, &now, &["mine"]), &now, &[""]);
        let mut have = place.tree();
        assert_ne!(inode(&place, "mine"), inode(&place, "b"));
        have.0.get_mut(&b"mine"[..]).unwrap().group = now.0[&b"mine"[..]].group.clone();
        same(&have, &want);
        place.undo(report.undo_checkpoint_id.unwrap());
        same(&place.tree(), &now);
    }

    #[test]
    fn a_group_that_the_turn_parted() {
        // An editor that writes a new file and renames it leaves the other names behind.
        let place = Place::default();
        place.write("a", "1");
        link(&place, "a", "b");
        link(&place, "a", "c");
        let (before, from) = (place.tree(), place.create().checkpoint_id);
        place.write("tmp", "2");
        fs::rename(place.at("tmp"), place.at("a")).unwrap();
        let to = place.create().checkpoint_id;
        place.write("mine", "1");
        let now = place.tree();
        revert(&place, from, to, exact());
        same(&place.tree(), &with_meta(&with(&before, &now, &["mine"]), &now, &[""]));
        assert_eq!(inode(&place, "a"), inode(&place, "c"));
        // Edited since, the other names are no names of the old file any more.
        revert(&place, to, from, exact());
        place.write("b", "edited under both names");
        let report = revert(&place, from, to, exact());
        assert_eq!(conflicts(&report), Vec::<String>::new());
        assert_eq!(fs::read(place.at("a")).unwrap(), b"1");
        assert_eq!(fs::read(place.at("c")).unwrap(), b"edited under both names");
        assert_eq!(inode(&place, "b"), inode(&place, "c"));
        assert_ne!(inode(&place, "a"), inode(&place, "b"));
    }

    #[test]
    fn a_group_that_was_parted_since_as_well() {
        let place = Place::default();
        place.write("a", "1");
        link(&place, "a", "b");
        link(&place, "a", "c");
        let from = place.create().checkpoint_id;
        let parted = |name: &str| {
            fs::copy(place.at(name), place.at("tmp")).unwrap();
            let stat = fs::metadata(place.at(name)).unwrap();
            super::set_mtime(&place.at("tmp"), stat.mtime(), stat.mtime_nsec());
            fs::rename(place.at("tmp"), place.at(name)).unwrap();
        };
        place.write("tmp", "2");
        fs::rename(place.at("tmp"), place.at("a")).unwrap();
        let to = place.create().checkpoint_id;
        parted("b");
        let inodes = ["b", "c"].map(|path| inode(&place, path));
        let report = revert(&place, from, to, exact());
        assert_eq!(conflicts(&report), Vec::<String>::new());
        assert_eq!(fs::read(place.at("a")).unwrap(), b"1");
        assert_eq!(["b", "c"].map(|path| inode(&place, path)), inodes, "parted by somebody else");
        assert_ne!(inode(&place, "a"), inodes[1]);
    }

    #[test]
    fn a_group_that_reaches_into_what_was_taken_back() {
        let place = Place::default();
        place.write("a", "1");
        place.write("d/other", "1");
        link(&place, "a", "d/e");
        let (before, from) = (place.tree(), place.create().checkpoint_id);
        let kept = inode(&place, "a");
        place.write("d/new", "turn");
        let to = place.create().checkpoint_id;
        revert(&place, from, to, exact());
        same(&place.tree(), &before);
        assert_eq!((inode(&place, "a"), inode(&place, "d/e")), (kept, kept));
    }

    #[test]
    fn a_group_that_the_turn_made() {
        let place = Place::default();
        place.write("a", "1");
        place.write("b", "1");
        place.write("c", "1");
        let (before, from) = (place.tree(), place.create().checkpoint_id);
        fs::remove_file(place.at("b")).unwrap();
        link(&place, "a", "b");
        link(&place, "a", "new");
        let to = place.create().checkpoint_id;
        place.write("c", "mine");
        let now = place.tree();
        revert(&place, from, to, exact());
        same(&place.tree(), &with_meta(&with(&before, &now, &["c"]), &now, &[""]));
        assert_ne!(inode(&place, "a"), inode(&place, "b"));
    }

    #[test]
    fn a_conflict_parts_a_group() {
        let place = Place::default();
        place.write("a", "1");
        link(&place, "a", "b");
        let from = place.create().checkpoint_id;
        place.write("a", "22");
        let to = place.create().checkpoint_id;
        place.write("tmp", "mine");
        fs::rename(place.at("tmp"), place.at("b")).unwrap();
        let report = revert(&place, from, to, ours());
        assert_eq!(conflicts(&report), ["b"]);
        assert_eq!(fs::read(place.at("a")).unwrap(), b"1");
        assert_eq!(fs::read(place.at("b")).unwrap(), b"mine");
    }

    #[test]
    fn a_group_that_stays_keeps_its_inode() {
        let place = Place::default();
        place.write("a", "1");
        link(&place, "a", "b");
        place.write("other", "1");
        let from = place.create().checkpoint_id;
        place.write("other", "2");
        let to = place.create().checkpoint_id;
        link(&place, "a", "c");
        let kept = inode(&place, "a");
        revert(&place, from, to, exact());
        for path in ["a", "b", "c"] {
            assert_eq!(inode(&place, path), kept, "{path}");
        }
    }
}
