//! A tree with every kind of path, and damage of every kind to it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps, UTIME_OMIT, XattrFlags};

use super::place::{is_root, noise};

/// Names that tools mangle (F36, inputs 23, 24, 25, 28, 29).
pub const NAMES: [&[u8]; 12] = [
    b" lead",
    b"trail ",
    b"a\nb",
    b"a\tb",
    b"\xff\xfe",
    b":(top)x",
    b"*.py",
    b"-rf",
    "报告.txt".as_bytes(),
    b"\x1b[31m",
    b"--upload-pack=x",
    b"back\\slash",
];

pub fn os(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

pub fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

pub fn set_mtime(path: &Path, sec: i64, nsec: i64) {
    let times = Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: sec, tv_nsec: nsec },
    };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

pub fn fifo(path: &Path) {
    rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

/// `false` where the file system takes no such attribute.
pub fn set_xattr(path: &Path, name: &str, value: &[u8]) -> bool {
    rustix::fs::lsetxattr(path, name, value, XattrFlags::empty()).is_ok()
}

fn put(root: &Path, path: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let full = root.join(path);
    fs::create_dir_all(full.parent().unwrap()).unwrap();
    fs::write(&full, bytes).unwrap();
    full
}

/// An access list that gives one more user the right to read.
fn acl() -> Vec<u8> {
    let mut bytes = 2u32.to_le_bytes().to_vec();
    for (tag, rights, id) in
        [(1u16, 6u16, u32::MAX), (2, 4, 1234), (4, 4, u32::MAX), (16, 4, u32::MAX), (32, 4, u32::MAX)]
    {
        bytes.extend_from_slice(&tag.to_le_bytes());
        bytes.extend_from_slice(&rights.to_le_bytes());
        bytes.extend_from_slice(&id.to_le_bytes());
    }
    bytes
}

/// Fills a workspace; `outside` is a directory next to it for a hard link's other name.
pub fn build(root: &Path, outside: &Path) {
    put(root, "a.txt", "hello");
    put(root, "empty", "");
    put(root, "big.bin", noise(1, (3 << 20) + 17));
    let sparse = fs::File::create(root.join("sparse")).unwrap();
    sparse.set_len(6 << 20).unwrap();
    sparse.write_all_at(&noise(2, 70_000), 2 << 20).unwrap();
    sparse.write_all_at(b"end", (6 << 20) - 3).unwrap();
    fs::File::create(root.join("hole")).unwrap().set_len(1 << 20).unwrap();
    put(root, "zeros", vec![0; 100_000]);

    symlink("a.txt", root.join("link")).unwrap();
    // Beside the tree and not of this machine: a test that goes wrong must not harm what is outside its directory.
    symlink(root.parent().unwrap().join("outside"), root.join("absolute")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    symlink("loop2", root.join("loop1")).unwrap();
    symlink("loop1", root.join("loop2")).unwrap();
    symlink("a\nb", root.join("newline")).unwrap();
    // The longest link that there is; XFS takes no more than 1,023 bytes.
    symlink("x".repeat(4095), root.join("long"))
        .or_else(|_| symlink("x".repeat(1023), root.join("long")))
        .unwrap();
    symlink("/proc/self/fd/0", root.join("magic")).unwrap();
    set_mtime(&root.join("dangling"), 86_400, 7);
    fifo(&root.join("pipe"));

    put(root, "h1", "group");
    fs::create_dir(root.join("sub")).unwrap();
    fs::hard_link(root.join("h1"), root.join("sub/h2")).unwrap();
    fs::hard_link(root.join("h1"), root.join("h3")).unwrap();
    put(root, "h4", "another group");
    fs::hard_link(root.join("h4"), root.join("sub/h5")).unwrap();
    put(outside, "partner", "outside");
    // Not out of a btrfs subvolume.
    fs::hard_link(outside.join("partner"), root.join("reaches-out"))
        .or_else(|_| fs::copy(outside.join("partner"), root.join("reaches-out")).map(drop))
        .unwrap();
    symlink("target", root.join("s1")).unwrap();
    rustix::fs::linkat(CWD, root.join("s1"), CWD, root.join("s2"), AtFlags::empty()).unwrap();

    fs::create_dir_all(root.join("void/deeper")).unwrap();
    for (i, name) in NAMES.iter().enumerate() {
        fs::create_dir_all(root.join("names").join(os(name))).unwrap();
        fs::write(root.join("names").join(os(name)).join(os(name)), format!("{i}")).unwrap();
    }
    put(root, &format!("names/{}", "n".repeat(255)), "long name");

    put(root, "vendor/lib/.git/HEAD", "ref: refs/heads/main\n");
    put(root, "vendor/lib/.git/objects/aa/bb", noise(3, 200));
    fs::create_dir_all(root.join("vendor/lib/.git/refs/tags")).unwrap();
    put(root, "vendor/lib/code.c", "int x;\n");
    put(root, "module/.git", "gitdir: ../.git/modules/module\n");
    put(root, ".git/HEAD", "ref: refs/heads/main\n");
    put(root, ".gitattributes", "* text=auto\n*.dat filter=foo\n");
    put(root, ".gitignore", "ignored/\n");
    put(root, "ignored/keep.o", noise(4, 99));
    put(root, "crlf.txt", "a\r\nb\r\n");
    put(root, "x.dat", "clean me");

    put(root, "times/past", "p");
    put(root, "times/future", "f");
    fs::create_dir(root.join("times/dir")).unwrap();
    set_mtime(&root.join("times/past"), -12_345, 678);
    set_mtime(&root.join("times/future"), 14_000_000_000, 999_999_999);
    set_mtime(&root.join("times/dir"), 1, 1);

    let colour = put(root, "attributes/file", "x");
    if !set_xattr(&colour, "user.colour", b"red\0green") {
        eprintln!("no extended attributes here");
    }
    set_xattr(&root.join("attributes"), "user.on-directory", &noise(5, 300));
    set_xattr(root, "user.on-root", b"");
    let shared = put(root, "attributes/shared", "y");
    if !set_xattr(&shared, "system.posix_acl_access", &acl()) {
        eprintln!("no access lists here");
    }

    for (path, mode) in
        [("modes/setuid", 0o4755), ("modes/setgid", 0o2755), ("modes/none", 0o400), ("modes/all", 0o777)]
    {
        let full = put(root, path, path);
        if is_root() {
            std::os::unix::fs::chown(&full, Some(1234), Some(4321)).unwrap();
        }
        chmod(&full, mode);
    }
    if is_root() {
        std::os::unix::fs::lchown(root.join("dangling"), Some(77), Some(78)).unwrap();
        std::os::unix::fs::chown(root.join("void"), Some(77), Some(78)).unwrap();
        chmod(&put(root, "modes/zero", "nobody reads me"), 0);
    }
    for (path, mode) in [("modes/sticky", 0o1777), ("modes/group", 0o2775)] {
        fs::create_dir(root.join(path)).unwrap();
        chmod(&root.join(path), mode);
    }
    put(root, "locked/inside/file", "read-only");
    chmod(&root.join("locked/inside/file"), 0o444);
    chmod(&root.join("locked/inside"), 0o555);
    chmod(&root.join("locked"), 0o555);
    chmod(root, 0o751);
    set_mtime(root, 1_000_000_000, 5);
}

/// Removes the root; a plain user first has to open the directories that are read-only.
pub fn lose(root: &Path) {
    for path in ["locked", "locked/inside"] {
        chmod(&root.join(path), 0o755);
    }
    fs::remove_dir_all(root).unwrap();
}

/// Changes something of every kind. What is left has new files, lost ones, other types, other metadata.
pub fn damage(root: &Path) {
    chmod(&root.join("locked"), 0o755);
    chmod(&root.join("locked/inside"), 0o700);
    put(root, "a.txt", "HELLO");
    put(root, "empty", "not any more");
    let big = fs::OpenOptions::new().write(true).open(root.join("big.bin")).unwrap();
    big.write_all_at(b"!", 2 << 20).unwrap();
    put(root, "sparse", noise(9, 1000));
    put(root, "hole", vec![0; 1 << 20]);
    fs::File::create(root.join("zeros")).unwrap().set_len(100_000).unwrap();

    fs::remove_file(root.join("link")).unwrap();
    put(root, "link", "a file now");
    fs::remove_file(root.join("absolute")).unwrap();
    fs::create_dir(root.join("absolute")).unwrap();
    put(root, "absolute/child", "beneath what was a link");
    for gone in ["dangling", "loop1", "newline", "long", "pipe", "s2", "reaches-out", "times/past"] {
        fs::remove_file(root.join(gone)).unwrap();
    }
    symlink("elsewhere", root.join("dangling")).unwrap();
    put(root, "h3", "");
    fs::remove_file(root.join("h3")).unwrap();
    put(root, "h3", "group");
    fs::remove_file(root.join("h4")).unwrap();
    fs::hard_link(root.join("h1"), root.join("h4")).unwrap();
    fs::remove_dir_all(root.join("void")).unwrap();
    put(root, "void", "a file where a directory was");
    fs::remove_dir_all(root.join("names")).unwrap();
    symlink("/tmp", root.join("names")).unwrap();

    fs::remove_dir_all(root.join("vendor/lib/.git/refs")).unwrap();
    put(root, "vendor/lib/.git/HEAD", "ref: refs/heads/evil\n");
    fs::remove_file(root.join("module/.git")).unwrap();
    put(root, "module/.git/config", "[core]");
    put(root, ".git/hooks/post-checkout", "#!/bin/sh\ntouch /tmp/turnback-hook-ran\n");
    chmod(&root.join(".git/hooks/post-checkout"), 0o755);
    put(root, "ignored/new.o", "new");
    put(root, "crlf.txt", "a\nb\n");
    fs::remove_file(root.join("x.dat")).unwrap();

    set_mtime(&root.join("times/future"), 14_000_000_000, 1);
    set_mtime(&root.join("times/dir"), 2, 2);
    set_xattr(&root.join("attributes/file"), "user.colour", b"blue");
    set_xattr(&root.join("attributes/file"), "user.more", b"1");
    let _ = rustix::fs::lremovexattr(root.join("attributes"), "user.on-directory");
    let _ = rustix::fs::lremovexattr(root.join("attributes/shared"), "system.posix_acl_access");
    let _ = rustix::fs::lremovexattr(root, "user.on-root");
    for (path, mode) in [("modes/setuid", 0o755), ("modes/setgid", 0o640), ("modes/all", 0o700)] {
        if is_root() {
            std::os::unix::fs::chown(root.join(path), Some(0), Some(0)).unwrap();
        }
        chmod(&root.join(path), mode);
    }
    fs::remove_dir(root.join("modes/sticky")).unwrap();
    chmod(&root.join("modes/group"), 0o700);
    fs::remove_file(root.join("locked/inside/file")).unwrap();
    put(root, "locked/new", "in a directory that was read-only");
    put(root, "brand/new/tree/file", "new");
    symlink("..", root.join("brand/new/up")).unwrap();
    fifo(&root.join("brand/pipe"));
    chmod(root, 0o700);
}
