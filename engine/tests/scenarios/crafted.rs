//! Manifests, lists and ids that nobody wrote are refused before anything is allocated or touched
//! (P15, inputs 9, 26, 27, 34, 35, 42, 46).

use std::fs;

use turnback_core::CheckpointId;
use turnback_engine::Code;
use turnback_engine::model::Sink;
use turnback_engine::model::{
    Content, DecodeError, Decoder, Encoder, Entry, Hash, LinkGroups, Meta, Node, Objects, RelPath, Segment,
    Xattrs, decode_entry, decode_segments, encode_entry,
};
use turnback_engine::store::{
    Budget, Draft, Durability, End, FileLock, Layout, LockKind, OnFull, PackSet, Patience,
};
use turnback_engine::{Context, escape};

use crate::common::place::{Place, rel};

fn file(name: &[u8]) -> Entry {
    let content = Content::Blob(Hash::of(b"x"));
    Entry {
        name: name.into(),
        meta: Meta { mode: 0o644, ..Meta::default() },
        node: Node::File { size: 1, content, changing: false },
    }
}

fn encoded(entry: &Entry) -> Vec<u8> {
    let mut e = Encoder::default();
    encode_entry(&mut e, entry);
    e.into_bytes()
}

#[test]
fn names_that_would_leave_the_directory() {
    for name in [&b""[..], b".", b"..", b"/", b"a/b", b"/etc/passwd", b"../x", b"a\0b", &[b'n'; 256]] {
        let bytes = encoded(&file(name));
        assert_eq!(decode_entry(&mut Decoder::new(&bytes)), Err(DecodeError::Invalid), "{}", escape(name));
        if !name.is_empty() && name != b"a/b" {
            assert!(RelPath::parse(name).is_err(), "{}", escape(name));
        }
    }
    for name in [&b"..."[..], b" ", b"-rf", b"\xff", &[b'n'; 255]] {
        let bytes = encoded(&file(name));
        assert_eq!(decode_entry(&mut Decoder::new(&bytes)).unwrap().name, name.into());
    }
    for path in [&b"a//b"[..], b"a/", b"a/../b", b"./a"] {
        assert!(RelPath::parse(path).is_err(), "{}", escape(path));
    }
}

#[test]
fn every_cut_and_every_flip_of_an_entry() {
    let entry = Entry {
        name: b"name"[..].into(),
        meta: Meta { mode: 0o4755, uid: 1, gid: u32::MAX, xattrs: Some(Hash::of(b"y")), ..Meta::default() },
        node: Node::Symlink { target: b"target"[..].into() },
    };
    let bytes = encoded(&entry);
    for length in 0..bytes.len() {
        assert!(decode_entry(&mut Decoder::new(&bytes[..length])).is_err(), "cut at {length}");
    }
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            // It may be another valid entry; it must not be this one, and must not panic.
            assert_ne!(decode_entry(&mut Decoder::new(&flipped)), Ok(entry.clone()));
        }
    }
}

#[test]
fn counts_that_cannot_be_true() {
    for count in [1u64 << 63, u64::MAX, 1 << 40, 2] {
        let mut e = Encoder::default();
        e.varint(count);
        let bytes = e.into_bytes();
        assert!(LinkGroups::decode(&bytes).is_err());
        assert!(Xattrs::decode(&bytes).is_err());
        assert!(decode_segments(&bytes, 1).is_err());
        assert!(turnback_engine::model::decode_uncovered(&bytes).is_err());
    }
    // Lengths that overflow, or add up to another size than the manifest's.
    let mut e = Encoder::default();
    e.varint(2);
    for _ in 0..2 {
        e.byte(0);
        e.varint(1 << 63);
    }
    assert!(decode_segments(e.as_bytes(), 0).is_err());
    let list = turnback_engine::model::encode_segments(&[Segment::Hole { length: 5 }]);
    assert!(decode_segments(&list, 5).is_ok());
    assert!(decode_segments(&list, 6).is_err());
}

/// Stores objects as a checkpoint would and reads them through the store's own door.
fn stored(objects: &[Vec<u8>]) -> (Place, PackSet, Vec<Hash>) {
    let place = Place::default();
    let layout = Layout::new(fs::canonicalize(place.store()).unwrap());
    let ctx = Context::default();
    let lock = FileLock::acquire(&layout.store_lock(), LockKind::Shared, Patience::Try, &ctx).unwrap();
    let packs = PackSet::new(layout.clone());
    let mut hashes = Vec::new();
    {
        place.write("a", "1");
        let mut record = None;
        let checkpoint = place.create();
        for line in fs::read(checkpoint.snapshot_path.join("record")).unwrap().split(|b| *b == b'\n').take(1)
        {
            record = Some(serde_json::from_slice::<turnback_engine::store::Record>(line).unwrap());
        }
        let budget = Budget::new(layout.clone(), None, OnFull::Fail).unwrap();
        let draft = Draft::begin(&layout, &packs, &budget, Durability::Process).unwrap();
        for object in objects {
            hashes.push(draft.put(object).unwrap());
        }
        let id = CheckpointId::from_bytes([7; 16]);
        let ctx = Context::default();
        draft.publish(id, &mut record.unwrap(), None, 0, End::Itself(&ctx), || Ok(())).unwrap();
    }
    packs.refresh().unwrap();
    drop(lock);
    (place, packs, hashes)
}

fn leaf(entries: &[Entry]) -> Vec<u8> {
    let mut e = Encoder::default();
    e.byte(0);
    e.varint(entries.len() as u64);
    entries.iter().for_each(|entry| encode_entry(&mut e, entry));
    e.into_bytes()
}

#[test]
fn forged_manifests() {
    let huge = {
        let mut e = Encoder::default();
        e.byte(0);
        e.varint(1 << 63);
        e.into_bytes()
    };
    let branch_of_nothing = {
        let mut e = Encoder::default();
        e.byte(1);
        e.varint(1);
        e.raw(&Hash::of(b"no such object").0);
        e.into_bytes()
    };
    // Input 9: a link, and a directory of the same name whose contents would be written through it.
    let link = Entry { node: Node::Symlink { target: b"/etc"[..].into() }, ..file(b"a") };
    let directory = Entry { node: Node::Directory { manifest: Hash::of(b"x") }, ..file(b"a") };
    let mut trailing = leaf(&[file(b"a")]);
    trailing.push(0);
    let forged = [
        leaf(&[file(b"a"), file(b"a")]),
        leaf(&[link.clone(), directory.clone()]),
        leaf(&[directory, link]),
        leaf(&[file(b"b"), file(b"a")]),
        leaf(&[file(b"..")]),
        leaf(&[file(b"/etc/passwd")]),
        huge,
        branch_of_nothing,
        trailing,
        Vec::new(),
        vec![9],
    ];
    let mut objects = forged.to_vec();
    objects.push(leaf(&[file(b"a"), file(b"b")]));
    let (_place, packs, hashes) = stored(&objects);
    for (i, hash) in hashes[..forged.len()].iter().enumerate() {
        assert_eq!(packs.directory(*hash).unwrap_err().code(), Code::Corrupt, "forged manifest {i}");
    }
    assert_eq!(packs.directory(hashes[forged.len()]).unwrap().len(), 2, "the honest one is read");
}

#[test]
fn a_bomb_is_not_unpacked() {
    // Input 42: the manifest's length limits what is unpacked.
    let (_place, packs, hashes) = stored(&[vec![0; 8 << 20]]);
    assert_eq!(packs.read(hashes[0], 1000).unwrap_err().code(), Code::Corrupt);
    assert_eq!(packs.read(hashes[0], 8 << 20).unwrap().len(), 8 << 20);
}

#[test]
fn ids_that_are_none_of_ours() {
    for text in ["", "../x", "/etc/passwd", "01J0000000000000000000000", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "\0"] {
        assert!(text.parse::<CheckpointId>().is_err(), "{text:?}");
    }
    assert!("x".repeat(1 << 20).parse::<CheckpointId>().is_err());
    let place = Place::default();
    let none = CheckpointId::from_bytes([3; 16]);
    let ctx = Context::default();
    assert_eq!(place.manager.get(none).unwrap(), None);
    assert!(!place.manager.delete(none).unwrap());
    for code in [
        place.manager.read_file(none, &rel("a")).unwrap_err().code(),
        place.manager.rollback(none, crate::common::place::exact(), &ctx).unwrap_err().code(),
        place.manager.undo(none, &ctx).unwrap_err().code(),
        place.manager.verify(Some(none), &ctx).unwrap_err().code(),
        place.manager.coverage(none).unwrap_err().code(),
        place.manager.set_label(none, Some("x")).unwrap_err().code(),
    ] {
        assert_eq!(code, Code::NotFound);
    }
}
