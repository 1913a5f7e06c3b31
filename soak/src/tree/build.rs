//! Two states of one small tree that has every kind of path: what is checkpointed, and what an agent made of it.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::Path;

use anyhow::{Context as _, Result};
use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps, UTIME_OMIT, XattrFlags};

use super::Picture;

/// Bytes that no compression shortens; different for every seed.
#[must_use]
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

pub(super) fn put(root: &Path, path: &str, bytes: impl AsRef<[u8]>) -> Result<()> {
    let full = root.join(path);
    if let Some(parent) = full.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(&full, bytes).with_context(|| full.display().to_string())
}

pub(super) fn chmod(path: &Path, mode: u32) -> Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).with_context(|| path.display().to_string())
}

pub(super) fn set_mtime(path: &Path, sec: i64, nsec: i64) -> Result<()> {
    let times = Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: sec, tv_nsec: nsec },
    };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)
        .with_context(|| path.display().to_string())
}

pub(super) fn fifo(path: &Path) -> Result<()> {
    rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
        .with_context(|| path.display().to_string())
}

/// A file system without extended attributes (old tmpfs, ramfs) gets none.
pub(super) fn attribute(path: &Path, name: &str, value: &[u8]) -> Result<()> {
    match rustix::fs::lsetxattr(path, name, value, XattrFlags::empty()) {
        Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
        Err(errno) => Err(errno).with_context(|| path.display().to_string()),
    }
}

/// Removes what is in a directory, not the directory.
///
/// # Errors
/// When something cannot be removed.
pub fn empty(root: &Path) -> Result<()> {
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// A plain user cannot empty a directory that is read-only.
fn open_up(directory: &Path) -> Result<()> {
    chmod(directory, 0o755)?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

/// Makes an empty directory the tree that is checkpointed. The same every time, timestamps too.
///
/// # Errors
/// When the file system refuses something.
pub fn build(root: &Path) -> Result<()> {
    put(root, "a.txt", "hello")?;
    put(root, "empty", "")?;
    put(root, "src/lib.rs", noise(1, 3000))?;
    put(root, "src/deep/er/mod.rs", noise(2, 200))?;
    put(root, "src/gone.rs", noise(3, 900))?;
    put(root, "same", "untouched")?;
    put(root, "big", noise(4, (1 << 20) + 4097))?;
    let sparse = fs::File::create(root.join("sparse"))?;
    sparse.set_len(1 << 20)?;
    sparse.write_all_at(b"island", 512 << 10)?;
    put(root, ".git/HEAD", "ref: refs/heads/main\n")?;
    put(root, ".git/index", noise(5, 300))?;
    symlink("a.txt", root.join("link"))?;
    symlink("nowhere", root.join("dangling"))?;
    put(root, "h1", "linked")?;
    fs::hard_link(root.join("h1"), root.join("src/h2"))?;
    fifo(&root.join("pipe"))?;
    fs::create_dir(root.join("void"))?;
    put(root, "locked/file", "read-only")?;
    attribute(&root.join("a.txt"), "user.colour", b"red")?;
    chmod(&root.join("locked/file"), 0o444)?;
    chmod(&root.join("src/lib.rs"), 0o640)?;
    chmod(&root.join("locked"), 0o555)?;
    age(root, 1_700_000_000)
}

/// What an agent made of [`build`]'s tree: new, changed and lost paths, other types, other metadata. `salt` makes the content differ.
///
/// # Errors
/// When the file system refuses something.
pub fn edit(root: &Path, salt: u64) -> Result<()> {
    put(root, "a.txt", format!("HELLO {salt}"))?;
    put(root, "src/lib.rs", noise(100 + salt, 3500))?;
    fs::remove_file(root.join("src/gone.rs"))?;
    fs::remove_dir_all(root.join("src/deep"))?;
    put(root, "src/deep", "a file where a directory was")?;
    put(root, "new/one/file", noise(200 + salt, 700))?;
    put(root, "new/two", "2")?;
    symlink("/", root.join("new/up"))?;
    fs::remove_file(root.join("link"))?;
    put(root, "link/child", "a directory where a link was")?;
    fs::remove_file(root.join("src/h2"))?;
    fs::remove_file(root.join("pipe"))?;
    fs::remove_dir(root.join("void"))?;
    put(root, "sparse", "dense")?;
    put(root, "big", noise(300 + salt, 5000))?;
    put(root, ".git/HEAD", "ref: refs/heads/other\n")?;
    chmod(&root.join("locked"), 0o755)?;
    put(root, "locked/more", "m")?;
    chmod(&root.join("same"), 0o600)?;
    attribute(&root.join("a.txt"), "user.colour", b"blue")?;
    age(root, 1_710_000_000)
}

/// Whether an edit shows at all: a guard against comparing a tree with itself.
///
/// # Errors
/// When a picture cannot be taken.
pub fn edited_differs(root: &Path, before: &Picture) -> Result<bool> {
    Ok(Picture::of(root)? != *before)
}

/// Gives every path a timestamp of its own, deepest first.
fn age(root: &Path, base: i64) -> Result<()> {
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            age(&entry.path(), base)?;
        }
        let sum: i64 = entry.file_name().as_bytes().iter().map(|b| i64::from(*b)).sum();
        set_mtime(&entry.path(), base + sum, sum)?;
    }
    set_mtime(root, base, 1)
}
