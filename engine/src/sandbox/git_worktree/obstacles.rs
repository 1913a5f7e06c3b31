//! What lies in the way of a path that a commit writes, although git tracks nothing there: a directory, or something else in the place of
//! one above it (S6).

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::model::{RelPath, escape};
use crate::restore::{Root, is_git_name};

/// Something in the way.
pub(super) enum Obstacle {
    /// Directories with nothing in them, which git takes away without asking.
    Empty,
    /// Something at this path that may give way, in words.
    Soft(RelPath, &'static str),
    /// Something at this path that nothing takes away, in words.
    Hard(RelPath, &'static str),
}

/// Looks what is in the way of a file or link at a path; `goes` tells what is deleted as well.
///
/// # Errors
/// When something cannot be examined.
pub(super) fn find(root: &Root, path: &RelPath, goes: &dyn Fn(&RelPath) -> bool) -> Result<Option<Obstacle>> {
    find_raw(root, path, goes)
        .map_err(|errno| Error::io(format!("examining `{}`", escape(path.as_bytes())), errno).at(root.path()))
}

fn find_raw(root: &Root, path: &RelPath, goes: &dyn Fn(&RelPath) -> bool) -> Result<Option<Obstacle>, Errno> {
    let mut above = Vec::new();
    let mut parent = path.split().map(|(parent, _)| parent);
    while let Some(at) = parent.filter(|at| !at.is_root()) {
        parent = at.split().map(|(parent, _)| parent);
        above.push(at);
    }
    for at in above.into_iter().rev() {
        match kind(root, &at)? {
            None => return Ok(None),
            Some(FileType::Directory) => {}
            Some(_) if goes(&at) => return Ok(None),
            Some(kind) => return Ok(Some(alone(at, kind))),
        }
    }
    Ok(match kind(root, path)? {
        // Files and links are compared with what git has.
        None | Some(FileType::RegularFile | FileType::Symlink) => None,
        Some(FileType::Directory) => Some(within(root, path, goes)?),
        Some(kind) => Some(alone(path.clone(), kind)),
    })
}

fn kind(root: &Root, path: &RelPath) -> Result<Option<FileType>, Errno> {
    let (dir, name) = match root.parent(path) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
        other => other?,
    };
    Ok(dir.lstat_opt(name)?.map(|stat| FileType::from_raw_mode(stat.st_mode)))
}

fn alone(path: RelPath, kind: FileType) -> Obstacle {
    match kind {
        FileType::RegularFile => Obstacle::Soft(path, "a file that is in no commit"),
        FileType::Symlink => Obstacle::Soft(path, "a link that is in no commit"),
        FileType::Fifo => Obstacle::Soft(path, "a named pipe"),
        _ => Obstacle::Hard(path, "a socket or a device"),
    }
}

/// What a directory has in it.
fn within(root: &Root, path: &RelPath, goes: &dyn Fn(&RelPath) -> bool) -> Result<Obstacle, Errno> {
    let hard = |what| Ok(Obstacle::Hard(path.clone(), what));
    let mut is_empty = true;
    let mut todo = vec![path.clone()];
    while let Some(at) = todo.pop() {
        let names = match root.dir(&at).and_then(|dir| dir.names()) {
            Err(Errno::XDEV) => return hard("a directory with something mounted in it"),
            other => other?,
        };
        for name in names {
            let here = at.join(&name);
            match kind(root, &here)? {
                _ if is_git_name(&name) => return hard("a repository of its own"),
                Some(FileType::Directory) => todo.push(here),
                Some(FileType::RegularFile | FileType::Symlink | FileType::Fifo) => is_empty &= goes(&here),
                Some(_) => return hard("a directory with a socket or a device in it"),
                None => {}
            }
        }
    }
    Ok(match is_empty {
        true => Obstacle::Empty,
        false => Obstacle::Soft(path.clone(), "a directory with files that are in no commit"),
    })
}
