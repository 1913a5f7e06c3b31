//! A path of a tree of files as git would see it, bytes as they are.

use git2::{ObjectType, Oid};
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use super::files;
use super::objects::{Kind, MAX_OBJECT};
use super::refusal::git;
use crate::error::{Error, Result};
use crate::model::{RelPath, escape};
use crate::restore::Root;

/// A file or link.
pub(super) struct Local {
    pub(super) kind: Kind,
    /// The bytes, or the link's target.
    pub(super) bytes: Vec<u8>,
    pub(super) stat: Stat,
}

impl Local {
    /// The name that git would give the bytes.
    pub(super) fn oid(&self) -> Result<Oid> {
        Oid::hash_object(ObjectType::Blob, &self.bytes).map_err(|e| git("hashing a file", e))
    }
}

/// What lies at a path; `None` for nothing, and for what git does not track: directories, sockets, pipes, devices.
pub(super) fn read(root: &Root, path: &RelPath) -> Result<Option<Local>> {
    read_raw(root, path)
        .map_err(|errno| Error::io(format!("reading `{}`", escape(path.as_bytes())), errno).at(root.path()))
}

fn read_raw(root: &Root, path: &RelPath) -> Result<Option<Local>, Errno> {
    let (dir, name) = match root.parent(path) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
        other => other?,
    };
    let Some(stat) = dir.lstat_opt(name)? else { return Ok(None) };
    let (kind, bytes) = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => (Kind::Link, rustix::fs::readlinkat(dir.fd(), name, Vec::new())?.into_bytes()),
        FileType::RegularFile => {
            let kind = if stat.st_mode & 0o100 != 0 { Kind::Executable } else { Kind::File };
            (kind, files::read_raw(&dir, name, MAX_OBJECT)?)
        }
        _ => return Ok(None),
    };
    Ok(Some(Local { kind, bytes, stat }))
}
