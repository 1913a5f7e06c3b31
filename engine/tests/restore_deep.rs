//! A tree far deeper than a path may be long, with 64 descriptors (inputs 25, 37, 66).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers fail as tests do: by a panic

mod restore_support;

use std::fs;
use std::os::fd::OwnedFd;

use restore_support::*;
use rustix::fs::{Mode, OFlags, openat};
use turnback_engine::model::{Content, Entry, Hash, LinkGroups, Meta, Node, Picture, Timestamp};
use turnback_engine::restore::{GitMode, PlanOptions};

const DEPTH: usize = 3_000;
const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn meta(mode: u16, sec: i64) -> Meta {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    Meta { mode, uid, gid, mtime: Timestamp { sec, nsec: 7 }, xattrs: None }
}

fn deep_picture(place: &Place, depth: usize) -> Picture {
    let file = |text: &[u8]| Entry {
        name: b"file".as_slice().into(),
        meta: meta(0o640, 11),
        node: Node::File {
            size: text.len() as u64,
            content: Content::Blob(place.memory.put(text)),
            changing: false,
        },
    };
    let mut manifest: Hash = place.memory.put_directory(vec![file(b"bottom")]);
    for level in (0..depth).rev() {
        let node = Node::Directory { manifest };
        let dir = Entry { name: b"directory".as_slice().into(), meta: meta(0o750, level as i64), node };
        manifest = place.memory.put_directory(vec![dir, file(level.to_string().as_bytes())]);
    }
    Picture { root: meta(0o700, 99), manifest, links: LinkGroups::default() }
}

/// How deep the tree is; every level is checked on the way.
fn measure(place: &Place) -> usize {
    let mut at: OwnedFd = fs::File::open(place.root()).unwrap().into();
    let mut depth = 0;
    loop {
        let stat = rustix::fs::statat(&at, "file", rustix::fs::AtFlags::SYMLINK_NOFOLLOW).unwrap();
        assert_eq!(
            (stat.st_mode & 0o7777, stat.st_mtime, stat.st_mtime_nsec),
            (0o640, 11, 7),
            "level {depth}"
        );
        let Ok(next) = openat(&at, "directory", FLAGS, Mode::empty()) else { return depth };
        let stat = rustix::fs::fstat(&next).unwrap();
        assert_eq!((stat.st_mode & 0o7777, stat.st_mtime, stat.st_mtime_nsec), (0o750, depth as i64, 7));
        at = next;
        depth += 1;
    }
}

#[test]
fn three_thousand_levels_with_sixty_four_descriptors() {
    let place = Place::in_memory();
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let few = rustix::process::Rlimit { current: Some(64), maximum: limit.maximum };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, few).unwrap();
    let exact = PlanOptions { git: GitMode::Exact, paths: None };
    let deep = deep_picture(&place, DEPTH);
    let shallow = deep_picture(&place, 2);

    let made = place.apply(&place.plan(None, &deep, &exact));
    assert_eq!(made.not_restorable, []);
    assert_eq!(made.written, 2 * DEPTH as u64 + 1);
    assert_eq!(measure(&place), DEPTH);

    // Something in the middle and at the bottom is deleted and comes back.
    let middle = place.plan(Some(&deep_picture(&place, DEPTH / 2)), &deep, &exact);
    let undone = place.apply(&place.plan(Some(&deep), &deep_picture(&place, DEPTH / 2), &exact));
    assert_eq!(undone.not_restorable, []);
    assert_eq!(measure(&place), DEPTH / 2);
    assert_eq!(place.apply(&middle).not_restorable, []);
    assert_eq!(measure(&place), DEPTH);

    let removed = place.apply(&place.plan(Some(&deep), &shallow, &exact));
    assert_eq!((removed.kept, removed.not_restorable), (vec![], vec![]));
    assert_eq!(measure(&place), 2);

    // A failure leaves no deep litter behind: the bottom cannot be staged because its object has gone.
    place.memory.damage(Hash::of(b"bottom"));
    let cancel = turnback_engine::Cancel::default();
    let inner = cancel.clone();
    let on_progress = move |progress: turnback_engine::Progress| {
        if progress.phase == "stage" {
            inner.cancel();
        }
    };
    let ctx = turnback_engine::Context {
        cancel,
        on_progress: Some(std::sync::Arc::new(on_progress)),
        ..turnback_engine::Context::default()
    };
    let plan = place.plan(Some(&shallow), &deep, &exact);
    let error = place.try_apply(&plan, &ctx).unwrap_err();
    assert_eq!(error.code(), turnback_engine::Code::Aborted);
    place.no_leftovers();
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
}
