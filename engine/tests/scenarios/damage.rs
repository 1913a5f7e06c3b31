//! Damage in the store is found, named, and stays where it is (P7, F30, inputs 98, 99).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use turnback_core::CheckpointId;
use turnback_engine::{Code, Context, Manager, RollbackRequest};

use crate::common::everything::fifo;
use crate::common::picture::{Tree, same};
use crate::common::place::{Place, code, copy_store, exact, files_beneath, noise, open};

/// Two checkpoints that share nothing, and their trees.
struct Pair {
    place: Place,
    ids: [CheckpointId; 2],
    trees: [Tree; 2],
}

fn pair() -> Pair {
    let place = Place::in_memory();
    place.write("d/a", noise(1, 900));
    place.write("d/b", "text text text text text text text text text text text text text text text text");
    fs::hard_link(place.at("d/a"), place.at("d/c")).unwrap();
    let trees = [place.tree(), {
        place.create();
        fs::remove_dir_all(place.at("d")).unwrap();
        place.write("e/other", noise(2, 300));
        place.tree()
    }];
    place.create();
    let ids = place.ids();
    for id in &ids {
        place.manager.set_label(*id, Some("named")).unwrap();
    }
    Pair { ids: [ids[0], ids[1]], trees, place }
}

impl Pair {
    fn file(&self, name: &str) -> PathBuf {
        self.place.store().join("checkpoints").join(self.ids[0].to_string()).join(name)
    }

    /// A manager that has read nothing yet.
    fn fresh(&self) -> Manager {
        open(&self.place.store()).unwrap()
    }

    /// The checkpoints that a verification finds fault with.
    fn damaged(&self) -> BTreeSet<String> {
        let report = self.fresh().verify(None, &Context::default()).unwrap();
        report.damaged.into_iter().map(|d| d.checkpoint_id).collect()
    }

    fn first_is_named(&self, what: &str) {
        assert_eq!(self.damaged(), BTreeSet::from([self.ids[0].to_string()]), "{what}");
    }

    /// The second checkpoint still lists, reads and restores.
    fn second_restores(&self, what: &str) {
        let manager = self.fresh();
        assert_eq!(manager.verify(Some(self.ids[1]), &Context::default()).unwrap().damaged, [], "{what}");
        let listing = manager.list(None).unwrap();
        assert!(listing.checkpoints.iter().any(|c| c.checkpoint.checkpoint_id == self.ids[1]), "{what}");
        self.place.write("scratch", what);
        // Without a safety checkpoint: it would share objects with the damaged one, or not, by chance.
        let request = RollbackRequest { safety: false, ..exact() };
        manager.rollback(self.ids[1], request, &Context::default()).unwrap();
        same(&self.place.tree(), &self.trees[1]);
    }
}

#[test]
fn each_flipped_byte_is_found() {
    let pair = pair();
    assert_eq!(pair.damaged(), BTreeSet::new());
    for name in ["record", "marks", "objects.index", "objects.pack"] {
        let path = pair.file(name);
        let bytes = fs::read(&path).unwrap();
        if name == "objects.pack" {
            assert!(bytes.len() > 1000, "enough of a pack: {}", bytes.len());
        }
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            fs::write(&path, &flipped).unwrap();
            pair.first_is_named(&format!("{name} byte {at}"));
            if at % 97 == 0 {
                pair.second_restores(&format!("{name} byte {at}"));
            }
        }
        fs::write(&path, &bytes).unwrap();
        assert_eq!(pair.damaged(), BTreeSet::new(), "{name} as it was");
    }
}

type Attempt<'a> = &'a dyn Fn(&Path);

#[test]
fn cut_off_missing_replaced() {
    for name in ["record", "objects.index", "objects.pack"] {
        let attempts: [(&str, Attempt<'_>); 7] = [
            ("empty", &|p| fs::write(p, "").unwrap()),
            ("zeros", &|p| {
                let length = fs::metadata(p).unwrap().len();
                fs::write(p, vec![0; length as usize]).unwrap();
            }),
            ("cut off", &|p| {
                let bytes = fs::read(p).unwrap();
                fs::write(p, &bytes[..bytes.len() - 1]).unwrap();
            }),
            ("missing", &|p| fs::remove_file(p).unwrap()),
            ("a link to the true file", &|p| {
                fs::rename(p, p.with_extension("true")).unwrap();
                std::os::unix::fs::symlink(p.with_extension("true"), p).unwrap();
            }),
            ("a pipe", &|p| {
                fs::remove_file(p).unwrap();
                fifo(p);
            }),
            ("a directory", &|p| {
                fs::remove_file(p).unwrap();
                fs::create_dir(p).unwrap();
            }),
        ];
        for (what, attempt) in attempts {
            let what = format!("{name}: {what}");
            let pair = pair();
            attempt(&pair.file(name));
            pair.first_is_named(&what);
            pair.second_restores(&what);
            // Damage is never taken for an empty tree: either all of it comes back (a lost index is rebuilt), or nothing is done.
            let before = pair.place.tree();
            match pair.fresh().rollback(pair.ids[0], exact(), &Context::default()) {
                Ok(report) if report.restored => {
                    same(&pair.place.tree(), &pair.trees[0]);
                    pair.second_restores(&what);
                }
                Ok(report) => panic!("{what}: {report:?}"),
                Err(error) => {
                    assert_eq!(error.code(), Code::Corrupt, "{what}: {error}");
                    same(&pair.place.tree(), &before);
                }
            }
            // The workspace as it is now can be captured whatever the old data is like, and that checkpoint is sound.
            let manager = pair.fresh();
            let now = manager
                .create(&pair.place.root(), crate::common::place::request(), &Context::default())
                .unwrap();
            assert_eq!(
                manager.verify(Some(now.checkpoint_id), &Context::default()).unwrap().damaged,
                [],
                "{what}"
            );
        }
    }
}

#[test]
fn a_lost_pack_is_stored_again() {
    // P12: a new checkpoint never counts on data that is not there, even of files that did not change.
    for name in ["objects.pack", "objects.index"] {
        let place = Place::in_memory();
        place.write("d/f", noise(1, 5000));
        let before = place.tree();
        crate::common::place::let_timestamps_age(&place);
        let first = place.create();
        fs::remove_file(first.snapshot_path.join(name)).unwrap();
        for manager in [place.manager.clone(), open(&place.store()).unwrap()] {
            let second =
                manager.create(&place.root(), crate::common::place::request(), &Context::default()).unwrap();
            let report = manager.verify(Some(second.checkpoint_id), &Context::default()).unwrap();
            assert_eq!(report.damaged, [], "{name}");
            fs::write(place.at("d/f"), "gone").unwrap();
            manager.rollback(second.checkpoint_id, exact(), &Context::default()).unwrap();
            same(&place.tree(), &before);
        }
    }
}

#[test]
fn damage_is_named_and_does_not_block_its_own_removal() {
    let pair = pair();
    fs::write(pair.file("record"), "{}").unwrap();
    let manager = pair.fresh();
    let listing = manager.list(None).unwrap();
    assert_eq!(listing.checkpoints.len(), 1);
    assert_eq!(listing.damaged.len(), 1);
    assert_eq!(listing.damaged[0].checkpoint_id, pair.ids[0].to_string());
    for result in [
        manager.get(pair.ids[0]).map(|_| ()),
        manager.read_file(pair.ids[0], &crate::common::place::rel("d/a")).map(|_| ()),
        manager.rollback(pair.ids[0], exact(), &Context::default()).map(|_| ()),
        manager.export(pair.ids[0], &pair.place.dir.path().join("x"), &Context::default()),
    ] {
        let error = result.unwrap_err();
        assert_eq!(error.code(), Code::Corrupt);
        assert!(error.to_string().contains(&pair.ids[0].to_string()), "{error}");
    }
    // Its removal is possible, and harms nobody else.
    assert!(manager.delete(pair.ids[0]).unwrap());
    pair.second_restores("after the removal of the damaged one");
    assert_eq!(pair.damaged(), BTreeSet::new());
    assert!(pair.fresh().delete(pair.ids[1]).unwrap());
}

#[test]
fn nothing_is_erased_that_a_damaged_checkpoint_may_need() {
    // P8, C9: while a record or a manifest cannot be read nobody knows what it needs. A sound checkpoint is not deleted then, because
    // its bytes would have to stay.
    let zero = |bytes: &[u8]| [&bytes[..8], &vec![0; bytes.len() - 8]].concat();
    for name in ["record", "objects.pack"] {
        let pair = pair();
        let bytes = fs::read(pair.file(name)).unwrap();
        fs::write(pair.file(name), zero(&bytes)).unwrap();
        let lost = noise(77, 3000);
        pair.place.write("third", &lost);
        let third = pair.place.create().checkpoint_id;
        assert_eq!(code(pair.fresh().delete(third)), Code::Corrupt, "{name}");
        assert!(pair.place.ids().contains(&third));
        pair.second_restores("beside a damaged one");
        // Whole again: it is as it was.
        fs::write(pair.file(name), &bytes).unwrap();
        assert_eq!(pair.damaged(), BTreeSet::new(), "{name}");
        pair.fresh().rollback(pair.ids[0], exact(), &Context::default()).unwrap();
        same(&pair.place.tree(), &pair.trees[0]);
        // And with the damage gone deletions take everything with them.
        for id in pair.place.ids() {
            assert!(pair.fresh().delete(id).unwrap());
        }
        let left = crate::common::place::files_beneath(&pair.place.store().join("packs"));
        assert_eq!(left, Vec::<PathBuf>::new());
    }
}

#[test]
fn packs_of_deleted_checkpoints_are_verified_too() {
    // P7: a pack that lives on because others need it, and its index.
    for (extension, at) in [("index", 30), ("pack", 60)] {
        let place = Place::in_memory();
        place.write("a", noise(1, 3000));
        let first = place.create().checkpoint_id;
        place.write("b", noise(2, 3000));
        place.create();
        assert!(place.manager.delete(first).unwrap());
        place.verify_is_clean();
        let path = place.store().join("packs").join(format!("{first}.{extension}"));
        let mut bytes = fs::read(&path).unwrap();
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let report = open(&place.store()).unwrap().verify(None, &Context::default()).unwrap();
        assert!(
            report.damaged.iter().any(|d| d.checkpoint_id == first.to_string()),
            "{extension}: {report:?}"
        );
    }
}

#[test]
fn a_deletion_keeps_what_others_need_though_its_index_is_damaged() {
    // P8: byte 30 is in the index's header, so that none of it can be used.
    let place = Place::in_memory();
    place.write("a", noise(1, 3000));
    let first = place.create();
    place.write("b", noise(2, 3000));
    let (second, tree) = (place.create().checkpoint_id, place.tree());
    let path = first.snapshot_path.join("objects.index");
    let mut bytes = fs::read(&path).unwrap();
    bytes[30] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let manager = open(&place.store()).unwrap();
    assert!(manager.delete(first.checkpoint_id).unwrap());
    fs::remove_file(place.at("a")).unwrap();
    let request = RollbackRequest { safety: false, ..exact() };
    assert!(manager.rollback(second, request, &Context::default()).unwrap().restored);
    same(&place.tree(), &tree);
}

#[test]
fn a_store_can_be_copied_and_lost_in_part() {
    // F30: each file of the store in turn is emptied in a copy; the second checkpoint is there in all of them but its own.
    let pair = pair();
    let own = pair.place.store().join("checkpoints").join(pair.ids[1].to_string());
    for path in crate::common::place::files_beneath(&pair.place.store()) {
        if path.is_dir() || path.starts_with(&own) || path.ends_with("format") {
            continue;
        }
        let copy = pair.place.dir.path().join("copied");
        copy_store(&pair.place.store(), &copy);
        let relative = path.strip_prefix(pair.place.store()).unwrap();
        fs::write(copy.join(relative), "").unwrap();
        let manager = open(&copy).unwrap();
        let report = manager.verify(Some(pair.ids[1]), &Context::default()).unwrap();
        assert_eq!(report.damaged, [], "{}", relative.display());
        pair.place.write("scratch", "x");
        manager.rollback(pair.ids[1], exact(), &Context::default()).unwrap();
        same(&pair.place.tree(), &pair.trees[1]);
        fs::remove_dir_all(copy).unwrap();
    }
    let copy = pair.place.dir.path().join("copied");
    copy_store(&pair.place.store(), &copy);
    fs::write(copy.join("format"), "").unwrap();
    assert_eq!(code(open(&copy)), Code::StoreFormat);
}

/// P7, P12: a whole directory that cannot be read was known to the plan, and is missing from the export all the same.
#[test]
fn an_export_without_a_damaged_directory_fails() {
    let place = Place::default();
    place.write("d/b", "b");
    place.write("a", "a");
    let first = place.create().checkpoint_id;
    place.write("a", "another");
    let second = place.create().checkpoint_id;
    // What both have lies in the first one's pack, which is kept under a name of its own.
    place.manager.delete(first).unwrap();
    for file in files_beneath(&place.store().join("packs")) {
        if file.extension().is_some_and(|e| e == "pack") {
            fs::File::options().write(true).open(&file).unwrap().set_len(0).unwrap();
        }
    }
    let manager = open(&place.store()).unwrap();
    let into = place.dir.path().join("out");
    let error = manager.export(second, &into, &Context::default()).unwrap_err();
    assert_eq!(error.code(), Code::Corrupt, "{error}");
    assert!(error.to_string().contains("`d`"), "{error}");
    assert_eq!(fs::read_to_string(into.join("a")).unwrap(), "another");
}
