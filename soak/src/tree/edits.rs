//! Random edits of a workspace, for sequences. One that makes no sense in the present tree does nothing.

use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;

use super::build::{attribute, chmod, fifo, set_mtime};

/// The names that edits choose from; one is awkward.
const PATHS: [&str; 14] =
    ["a", "b", "c", "d", "d/a", "d/b", "d/e", "d/e/a", "d/e/b", "f", "f/a", "f/b", "f/\u{e4} \n", "g"];

/// One change; paths are indices into the list of names.
#[derive(Debug, Clone)]
pub enum Edit {
    /// Writes a file of one byte value and a length.
    Write(usize, u8, u16),
    /// Adds to the end.
    Append(usize),
    /// Changes the first byte in place.
    Overwrite(usize, u8),
    /// Makes it long and full of holes.
    Sparse(usize),
    /// Makes a directory.
    Directory(usize),
    /// Removes what is there.
    Remove(usize),
    /// Makes a symbolic link to a name.
    Link(usize, usize),
    /// Gives a file a second name.
    HardLink(usize, usize),
    /// Renames.
    Rename(usize, usize),
    /// Makes a pipe.
    Fifo(usize),
    /// Sets the permission bits.
    Mode(usize, u16),
    /// Sets the modification time.
    Time(usize, i32),
    /// Sets an extended attribute.
    Attribute(usize, u8),
}

impl Edit {
    /// How many names there are.
    pub const NAMES: usize = PATHS.len();

    /// The name of an index.
    #[must_use]
    pub fn name(index: usize) -> &'static str {
        PATHS[index % PATHS.len()]
    }
}

/// Performs an edit; tells whether it changed anything.
pub fn apply(root: &Path, edit: &Edit) -> bool {
    attempt(root, edit).is_some()
}

fn attempt(root: &Path, edit: &Edit) -> Option<()> {
    let at = |p: &usize| root.join(Edit::name(*p));
    let is_file = |p: &Path| fs::symlink_metadata(p).is_ok_and(|s| s.is_file());
    let open = |p: &usize| fs::OpenOptions::new().write(true).open(at(p)).ok();
    // Nobody makes another root in place of a lost one: that would be another workspace (C5).
    fs::symlink_metadata(root).ok()?;
    match edit {
        Edit::Write(p, byte, length) => {
            fs::create_dir_all(at(p).parent()?).ok()?;
            if fs::symlink_metadata(at(p)).is_ok_and(|s| !s.is_file()) {
                return None;
            }
            fs::write(at(p), vec![*byte; usize::from(*length)]).ok()
        }
        Edit::Append(p) if is_file(&at(p)) => {
            let file = open(p)?;
            file.write_all_at(b"more", file.metadata().ok()?.len()).ok()
        }
        Edit::Overwrite(p, byte) if is_file(&at(p)) => {
            let file = open(p)?;
            (file.metadata().ok()?.len() > 0).then(|| file.write_all_at(&[*byte], 0).ok())?
        }
        Edit::Sparse(p) if is_file(&at(p)) => {
            let file = open(p)?;
            file.set_len(200_000).ok()?;
            file.write_all_at(b"far", 150_000).ok()
        }
        Edit::Directory(p) => fs::create_dir(at(p)).ok(),
        Edit::Remove(p) => {
            if fs::symlink_metadata(at(p)).ok()?.is_dir() {
                fs::remove_dir_all(at(p)).ok()
            } else {
                fs::remove_file(at(p)).ok()
            }
        }
        Edit::Link(to, p) => symlink(Edit::name(*to), at(p)).ok(),
        Edit::HardLink(from, p) => fs::hard_link(at(from), at(p)).ok(),
        Edit::Rename(from, p) => fs::rename(at(from), at(p)).ok(),
        Edit::Fifo(p) if at(p).parent()?.is_dir() && fs::symlink_metadata(at(p)).is_err() => {
            fifo(&at(p)).ok()
        }
        Edit::Mode(p, mode) if fs::symlink_metadata(at(p)).is_ok_and(|s| !s.is_symlink()) => {
            chmod(&at(p), u32::from(*mode)).ok()
        }
        Edit::Time(p, sec) => set_mtime(&at(p), i64::from(*sec), 3).ok(),
        Edit::Attribute(p, value) if is_file(&at(p)) || at(p).is_dir() => {
            attribute(&at(p), "user.v", &[*value]).ok()
        }
        _ => None,
    }
}
