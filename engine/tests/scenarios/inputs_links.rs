//! Bad inputs: links, and attributes that mean something to the machine (inputs 1, 6, 8, 17, 19, 20, 22 of docs/inputs.md).

use std::ffi::OsString;
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use rustix::fs::inotify;
use turnback_engine::{Context, DiffTo, RollbackRequest};

use crate::common::everything::set_xattr;
use crate::common::picture::same;
use crate::common::place::{Place, exact, is_root, noise, rel, request};
use crate::common::process::skip;

/// Sees who opens, reads or changes anything directly in a directory, and the directory itself.
struct Watch(std::os::fd::OwnedFd);

impl Watch {
    fn of(directory: &Path) -> Self {
        let fd = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).unwrap();
        let all = inotify::WatchFlags::ALL_EVENTS;
        inotify::add_watch(&fd, directory, all).unwrap();
        Self(fd)
    }

    fn seen(&self) -> Vec<OsString> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.0, &mut buffer);
        let mut seen = Vec::new();
        while let Ok(event) = events.next() {
            let name = event.file_name().map(|n| n.to_bytes().to_vec()).unwrap_or_default();
            seen.push(OsString::from_vec(name));
        }
        seen
    }
}

#[test]
fn where_links_lead_is_never_opened() {
    // Inputs 1, 2, 22: by no operation, neither with the engine's own eyes nor by way of a magic link.
    let place = Place::default();
    let outside = place.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), noise(1, 3000)).unwrap();
    let held = fs::File::open(outside.join("secret")).unwrap();
    let make = || {
        symlink(outside.join("secret"), place.at("file")).unwrap();
        symlink(&outside, place.at("directory")).unwrap();
        symlink(outside.join("secret"), place.at(".gitignore")).unwrap();
        symlink(format!("/proc/self/fd/{}", held.as_raw_fd()), place.at("magic")).unwrap();
        symlink(format!("/proc/{}/fd/{}", std::process::id(), held.as_raw_fd()), place.at("magic-too"))
            .unwrap();
        symlink("/etc/passwd", place.at("passwd")).unwrap();
    };
    make();
    place.write("plain", "1");
    let before = place.tree();
    let watch = Watch::of(&outside);
    let ctx = Context::default();
    let mut asked = request();
    asked.exclude_ignored = true;
    let id = place.try_create(asked).unwrap().checkpoint_id;
    let names = ["file", "directory", ".gitignore", "magic", "magic-too", "passwd"];
    for name in names {
        assert!(place.manager.read_file(id, &rel(name)).is_err(), "{name} is a link");
        fs::remove_file(place.at(name)).unwrap();
    }
    // In the other direction too: what is there now is a link, and something else is to take its place.
    for name in ["file", "directory"] {
        fs::create_dir(place.at(name)).unwrap();
    }
    let second = place.create().checkpoint_id;
    for name in ["file", "directory"] {
        fs::remove_dir(place.at(name)).unwrap();
    }
    make();
    place.manager.diff(second, DiffTo::Now, &ctx).unwrap();
    let dry = RollbackRequest { dry_run: true, ..exact() };
    place.manager.rollback(second, dry, &ctx).unwrap();
    place.rollback(second);
    assert!(place.at("file").is_dir() && place.at("directory").is_dir());
    place.rollback(id);
    same(&place.tree(), &before);
    place.manager.export(id, &place.dir.path().join("copy"), &ctx).unwrap();
    place.verify_is_clean();
    assert_eq!(watch.seen(), Vec::<OsString>::new());
    assert_eq!(fs::read(outside.join("secret")).unwrap(), noise(1, 3000));
    assert!(!watch.seen().is_empty(), "the watch sees who opens");
}

#[test]
fn a_root_that_is_a_link_is_resolved_once() {
    // Input 6: what the link leads to later is another directory, and none of a rollback's business.
    let place = Place::default();
    place.write("a", "1");
    let link = place.dir.path().join("link");
    symlink(place.root(), &link).unwrap();
    let by_link = place.manager.create(&link, request(), &Context::default()).unwrap();
    let other = place.dir.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("a"), "precious").unwrap();
    fs::remove_file(&link).unwrap();
    symlink(&other, &link).unwrap();
    place.write("a", "2");
    place.rollback(by_link.checkpoint_id);
    assert_eq!(fs::read(place.at("a")).unwrap(), b"1");
    assert_eq!(fs::read(other.join("a")).unwrap(), b"precious");
    // The root's own name led elsewhere: refused.
    fs::rename(place.root(), place.dir.path().join("old")).unwrap();
    symlink(&other, place.root()).unwrap();
    let refused = place.manager.rollback(by_link.checkpoint_id, exact(), &Context::default());
    assert!(refused.is_err());
    assert_eq!(fs::read(other.join("a")).unwrap(), b"precious");
}

#[test]
fn a_link_where_a_file_comes_back() {
    // Input 8: the link goes, a new inode comes, and what the link led to is as it was.
    let place = Place::default();
    let outside = place.dir.path().join("outside");
    fs::write(&outside, "precious").unwrap();
    place.write("f", "inside");
    place.write("only-mode", "precious");
    let before = place.tree();
    let id = place.create().checkpoint_id;
    for name in ["f", "only-mode"] {
        fs::remove_file(place.at(name)).unwrap();
        symlink(&outside, place.at(name)).unwrap();
    }
    let stamp = |path: &Path| {
        let s = fs::symlink_metadata(path).unwrap();
        (s.ino(), s.mode(), s.mtime_nsec(), s.ctime(), s.ctime_nsec(), s.nlink())
    };
    let untouched = stamp(&outside);
    place.rollback(id);
    same(&place.tree(), &before);
    assert_eq!(stamp(&outside), untouched);
    assert_eq!(fs::read(&outside).unwrap(), b"precious");
    assert_ne!(fs::metadata(place.at("f")).unwrap().ino(), untouched.0);
}

fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = [0u8; 256];
    let length = rustix::fs::lgetxattr(path, name, &mut value[..]).ok()?;
    Some(value[..length].to_vec())
}

#[test]
fn attributes_of_the_machine_are_neither_kept_nor_touched() {
    // Inputs 17 and 20: `trusted.overlay.opaque` in a plain tree never hides what lies beneath.
    if !is_root() {
        return skip("only root sets attributes of the machine");
    }
    let place = Place::default();
    place.write("opaque/child", "1");
    place.write("opaque/gone", "1");
    place.write("lost/child", "1");
    const OPAQUE: &str = "trusted.overlay.opaque";
    for path in ["opaque", "lost"] {
        if !set_xattr(&place.at(path), OPAQUE, b"y") || !set_xattr(&place.at(path), "user.mine", b"1") {
            return skip("no such attributes on this file system");
        }
    }
    let has_security = set_xattr(&place.at("opaque"), "security.turnback", b"1");
    let made = place.create();
    assert!(made.coverage.complete, "{:?}", made.coverage);
    assert_eq!(place.read(made.checkpoint_id, "opaque/child"), b"1");
    place.write("opaque/child", "2");
    fs::remove_file(place.at("opaque/gone")).unwrap();
    set_xattr(&place.at("opaque"), OPAQUE, b"x");
    set_xattr(&place.at("opaque"), "user.mine", b"2");
    fs::remove_dir_all(place.at("lost")).unwrap();
    place.rollback(made.checkpoint_id);
    assert_eq!(fs::read(place.at("opaque/child")).unwrap(), b"1");
    assert_eq!(fs::read(place.at("opaque/gone")).unwrap(), b"1");
    assert_eq!(fs::read(place.at("lost/child")).unwrap(), b"1");
    assert_eq!(attribute(&place.at("opaque"), OPAQUE).as_deref(), Some(&b"x"[..]), "not touched");
    assert_eq!(attribute(&place.at("opaque"), "security.turnback").is_some(), has_security);
    assert_eq!(attribute(&place.at("lost"), OPAQUE), None, "not kept");
    for path in ["opaque", "lost"] {
        assert_eq!(attribute(&place.at(path), "user.mine").as_deref(), Some(&b"1"[..]));
    }
}

#[test]
fn capabilities_come_back_only_where_they_were() {
    // Input 19. Revision 2: CAP_NET_BIND_SERVICE permitted and effective.
    if !is_root() {
        return skip("only root gives capabilities");
    }
    const NAME: &str = "security.capability";
    let mut value = 0x0200_0001u32.to_le_bytes().to_vec();
    for word in [1u32 << 10, 0, 0, 0] {
        value.extend_from_slice(&word.to_le_bytes());
    }
    let place = Place::default();
    for name in ["had", "got"] {
        place.write(name, "a program");
    }
    if !set_xattr(&place.at("had"), NAME, &value) {
        return skip("no capabilities of files here");
    }
    let id = place.create().checkpoint_id;
    place.write("had", "another program");
    assert_eq!(attribute(&place.at("had"), NAME), None, "a write takes them away");
    set_xattr(&place.at("got"), NAME, &value);
    place.rollback(id);
    assert_eq!(attribute(&place.at("had"), NAME), Some(value));
    assert_eq!(attribute(&place.at("got"), NAME), None);
    assert_eq!(fs::read(place.at("had")).unwrap(), b"a program");
}
