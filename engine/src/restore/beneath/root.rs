//! The root of a workspace (or of a staging area), and the way from it to any directory beneath.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::dir::{Dir, retry};
use crate::error::{Error, Result};
use crate::model::RelPath;

/// How directories beneath a root are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolver {
    /// By `openat2` with `RESOLVE_BENEATH`, `NO_SYMLINKS`, `NO_XDEV` and `NO_MAGICLINKS`.
    Openat2,
    /// Name by name with `O_NOFOLLOW` and a comparison of mount ids, where a container profile lacks `openat2`.
    PerComponent,
}

impl Resolver {
    /// Tries `openat2` once on a descriptor.
    fn probe(fd: BorrowedFd<'_>) -> Self {
        let resolve = rustix::fs::ResolveFlags::BENEATH;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        match retry(|| rustix::fs::openat2(fd, c".", flags, Mode::empty(), resolve)) {
            Err(Errno::NOSYS | Errno::PERM) => Self::PerComponent,
            _ => Self::Openat2,
        }
    }
}

/// Recently used directories that are kept open; with the descriptors of staging and two threads this stays far below 64.
const HELD: usize = 12;
/// The most names in one lookup: every so many levels of a deep tree a directory is remembered, so that the way back up is short.
const NAMES_A_LOOKUP: usize = 48;
/// The most bytes in one lookup, below `PATH_MAX` (input 37).
const BYTES_A_LOOKUP: usize = 3_000;

/// A workspace's root directory by its descriptor: whatever happens to its path, work stays beneath this very directory.
///
/// *Making one:* [`Root::open`], [`Root::from_fd`], [`Root::with_resolver`]. *Looking at it:* [`Root::fd`], [`Root::path`].
/// Everything that writes is private to the engine.
#[derive(Debug)]
pub struct Root {
    top: Dir,
    path: PathBuf,
    /// Least recently used first.
    held: Mutex<Vec<(RelPath, Dir)>>,
}

impl Root {
    /// Opens a directory by its canonical path.
    ///
    /// # Errors
    /// `NOT_FOUND`; `NOT_A_DIRECTORY`, also for a symlink in the last place; `PERMISSION_DENIED`.
    pub fn open(path: &Path) -> Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = retry(|| rustix::fs::open(path, flags, Mode::empty()))
            .map_err(|errno| Error::io("opening the workspace", errno).at(path))?;
        Self::from_fd(fd, path)
    }

    /// Takes the descriptor of a directory that the caller has examined (`O_PATH` is enough); `path` is for messages.
    ///
    /// # Errors
    /// `IO` when the descriptor cannot be examined.
    pub fn from_fd(fd: OwnedFd, path: &Path) -> Result<Self> {
        use std::os::fd::AsFd as _;
        let resolver = Resolver::probe(fd.as_fd());
        Self::with_resolver(fd, path, resolver)
    }

    /// As [`Root::from_fd`], with a given way of opening directories.
    ///
    /// # Errors
    /// As [`Root::from_fd`].
    pub fn with_resolver(fd: OwnedFd, path: &Path, resolver: Resolver) -> Result<Self> {
        let top =
            Dir::top(fd, resolver).map_err(|errno| Error::io("examining the workspace", errno).at(path))?;
        Ok(Self { top, path: path.to_path_buf(), held: Mutex::default() })
    }

    pub(crate) fn from_dir(top: Dir, path: PathBuf) -> Self {
        Self { top, path, held: Mutex::default() }
    }

    /// The root's descriptor.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.top.fd()
    }

    /// The path under which the root was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn top(&self) -> &Dir {
        &self.top
    }

    /// The directory at a path. Starts at the nearest ancestor that is still open.
    pub(crate) fn dir(&self, path: &RelPath) -> Result<Dir, Errno> {
        if path.is_root() {
            return Ok(self.top.clone());
        }
        let (mut at, mut done) = match self.nearest(path) {
            Some((known, dir)) if known == *path => return Ok(dir),
            Some((known, dir)) => (dir, known.as_bytes().len() + 1),
            None => (self.top.clone(), 0),
        };
        let bytes = path.as_bytes();
        while let Some(rest) = bytes.get(done..) {
            let length = one_lookup(rest);
            at = at.descend(rest.get(..length).unwrap_or(rest))?;
            done += length;
            if let Some(known) = bytes.get(..done).and_then(|b| RelPath::parse(b).ok()) {
                self.hold(known, at.clone());
            }
            if done >= bytes.len() {
                break;
            }
            done += 1;
        }
        Ok(at)
    }

    /// The directory that holds a path, and the path's name in it.
    pub(crate) fn parent<'p>(&self, path: &'p RelPath) -> Result<(Dir, &'p [u8]), Errno> {
        let (parent, name) = path.split().ok_or(Errno::INVAL)?;
        Ok((self.dir(&parent)?, name))
    }

    /// Closes what is held at and beneath a path, because the names there mean something else from now on.
    pub(crate) fn forget(&self, path: &RelPath) {
        self.lock().retain(|(known, _)| !known.starts_with(path));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(RelPath, Dir)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn nearest(&self, path: &RelPath) -> Option<(RelPath, Dir)> {
        let mut held = self.lock();
        let best = (0..held.len())
            .filter(|&i| held.get(i).is_some_and(|(known, _)| path.starts_with(known)))
            .max_by_key(|&i| held.get(i).map_or(0, |(known, _)| known.as_bytes().len()))?;
        let found = held.remove(best);
        held.push(found.clone());
        Some(found)
    }

    fn hold(&self, path: RelPath, dir: Dir) {
        let mut held = self.lock();
        held.retain(|(known, _)| *known != path);
        if held.len() >= HELD {
            held.remove(0);
        }
        held.push((path, dir));
    }
}

/// How many bytes of a path to hand to one lookup.
fn one_lookup(rest: &[u8]) -> usize {
    let mut end = 0;
    for (count, name) in rest.split(|&b| b == b'/').enumerate() {
        let next = if count == 0 { name.len() } else { end + 1 + name.len() };
        if count > 0 && (count >= NAMES_A_LOOKUP || next > BYTES_A_LOOKUP) {
            break;
        }
        end = next;
    }
    end
}
