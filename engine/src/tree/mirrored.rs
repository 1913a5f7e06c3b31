//! Examining one name while a second tree is made: as without, and the path is made there as well.

use std::os::fd::AsFd;
use std::sync::PoisonError;

use rustix::io::Errno;

use super::content::{self, Failure};
use super::dir_task::put_xattrs;
use super::list::{Opened, Scan, Slot};
use super::mirror::{First, Made, MirrorDirectory, MirrorError};
use super::stat::Stat;
use super::stat_cache::Known;
use super::walk::Shared;
use super::{sys, xattr};
use crate::error::{Error, Result};
use crate::model::{Entry, FileKind, Hash, Meta, Node, Reason, RelPath, Uncovered};

impl Scan<'_> {
    /// Makes a name that is no directory. `false` when it turned into something else meanwhile.
    pub(super) fn mirror_leaf(
        &self,
        into: &dyn MirrorDirectory,
        slot: &mut Slot,
        stat: Stat,
        kind: FileKind,
        last: bool,
    ) -> Result<bool> {
        let Some(mirror) = self.shared.mirror.filter(|_| stat.nlink > 1) else {
            return self.mirror_inode(into, slot, stat, kind, last);
        };
        let group = mirror.groups().of(&stat);
        // Whoever holds this reads with his own thread alone: nobody who waits here can be the one he waits for.
        let mut first = group.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(first) = &*first {
            match into.link(&first.path, &slot.name) {
                Ok(Some(made)) => {
                    slot.now = self.made_known(made);
                    let known = first.source.trusted && first.source.stat.same_inode_state(&stat);
                    slot.source = self.source_known(&stat, known);
                    slot.entry = Some(Entry { name: slot.name.as_bytes().into(), ..first.entry.clone() });
                    self.account(slot, &stat);
                    return Ok(true);
                }
                // A copy serves this name and those that follow (input 13).
                Ok(None) => {
                    let path = self.path.join(slot.name.as_bytes());
                    let detail = Some("no further hard link is possible there: it is a copy".to_owned());
                    self.shared.uncovered(Uncovered { path, reason: Reason::MetadataRefused, detail });
                }
                Err(MirrorError::Refused(errno)) => {
                    self.refuse(slot, &stat, kind, errno);
                    return Ok(true);
                }
                Err(MirrorError::Fatal(error)) => return Err(error),
            }
        }
        let done = self.mirror_inode(into, slot, stat, kind, last)?;
        if let Some(entry) = slot.entry.clone().filter(|_| done) {
            *first = Some(First { path: self.path.join(slot.name.as_bytes()), entry, source: slot.source });
        }
        Ok(done)
    }

    fn mirror_inode(
        &self,
        into: &dyn MirrorDirectory,
        slot: &mut Slot,
        stat: Stat,
        kind: FileKind,
        last: bool,
    ) -> Result<bool> {
        let (made, node) = match kind {
            FileKind::File => return self.mirror_file(into, slot, &stat, last),
            FileKind::Symlink => match self.target(slot, last) {
                Ok(Some(target)) => {
                    let made = into.symlink(&slot.name, &target, &stat.meta());
                    (made, Node::Symlink { target })
                }
                Ok(None) => return Ok(false),
                Err(errno) => {
                    self.leave_out(slot, &stat, kind, errno)?;
                    return Ok(true);
                }
            },
            _ => (into.fifo(&slot.name, &stat.meta()), Node::Fifo),
        };
        match made {
            Ok(made) => self.set_made(slot, &stat, made, None, node)?,
            Err(MirrorError::Refused(errno)) => self.refuse(slot, &stat, kind, errno),
            Err(MirrorError::Fatal(error)) => return Err(error),
        }
        Ok(true)
    }

    fn mirror_file(
        &self,
        into: &dyn MirrorDirectory,
        slot: &mut Slot,
        stat: &Stat,
        last: bool,
    ) -> Result<bool> {
        let (fd, opened) = match self.open_as_file(slot, stat, last)? {
            Opened::File(fd, opened) => (fd, opened),
            Opened::Done(done) => return Ok(done),
        };
        let copied = || -> Result<_, Failure> {
            let xattrs = xattr::read(fd.as_fd())?;
            let file = into.file(&slot.name, &opened.meta())?;
            let source =
                content::Source { fd: fd.as_fd(), mirror: Some(&*file), parallel: opened.nlink == 1 };
            let read = content::read(&source, opened, self.shared.walk.sink, self.shared.walk.ctx)?;
            let made = file.finish(read.size, &read.stat.meta(), &xattrs)?;
            let hash = put_xattrs(self.shared, &xattrs)?;
            Ok((read, made, hash))
        };
        match copied() {
            Ok((read, made, hash)) => {
                let node = Node::File { size: read.size, content: read.content, changing: read.changing };
                if read.changing {
                    let path = self.path.join(slot.name.as_bytes());
                    self.shared.uncovered(Uncovered::new(path, Reason::Changing));
                }
                self.set_made(slot, &read.stat, made, hash, node)?;
                slot.now.trusted &= !read.changing;
                slot.source.trusted &= !read.changing;
            }
            Err(Failure::File(errno)) => self.leave_out(slot, stat, FileKind::File, errno)?,
            Err(Failure::Mirror(errno)) => self.refuse(slot, stat, FileKind::File, errno),
            Err(Failure::Fatal(error)) => return Err(error),
        }
        Ok(true)
    }

    fn set_made(
        &self,
        slot: &mut Slot,
        source: &Stat,
        made: Made,
        xattrs: Option<Hash>,
        node: Node,
    ) -> Result<()> {
        let path = || self.path.join(slot.name.as_bytes());
        let (meta, stat) = settled(self.shared, path, made, xattrs)?;
        slot.now = self.made_known(stat);
        slot.source = self.source_known(source, meta == Meta { xattrs, ..source.meta() });
        slot.entry = Some(Entry { name: slot.name.as_bytes().into(), meta, node });
        self.account(slot, source);
        Ok(())
    }

    fn made_known(&self, stat: Stat) -> Known {
        Known { stat, trusted: self.shared.mirror.is_some_and(|m| m.is_trusted()), ..Known::default() }
    }

    /// What is known of the path that was read; only where the picture says the same of it.
    fn source_known(&self, stat: &Stat, is_same: bool) -> Known {
        let trusted = is_same && self.shared.trusts_source(stat.ctime, self.clock);
        Known { stat: *stat, trusted, ..Known::default() }
    }

    /// The second tree cannot have this path.
    fn refuse(&self, slot: &mut Slot, stat: &Stat, kind: FileKind, errno: Errno) {
        let detail = Some(std::io::Error::from(errno).to_string());
        self.set_uncovered(slot, stat, kind, Reason::WriteFailed, detail);
    }
}

/// The metadata of something that was made, with a note of what was refused.
pub(super) fn settled(
    shared: &Shared<'_>,
    path: impl FnOnce() -> RelPath,
    made: Made,
    wanted: Option<Hash>,
) -> Result<(Meta, Stat)> {
    let xattrs = match &made.xattrs {
        None => wanted,
        Some(actual) => put_xattrs(shared, actual)?,
    };
    if made.refused.is_some() {
        let reason = Reason::MetadataRefused;
        shared.uncovered(Uncovered { path: path(), reason, detail: made.refused });
    }
    Ok((Meta { xattrs, ..made.stat.meta() }, made.stat))
}

/// Notes a directory that the second tree cannot have.
pub(super) fn refused_directory(shared: &Shared<'_>, path: &RelPath, error: MirrorError) -> Result<()> {
    match error {
        MirrorError::Fatal(error) => Err(error),
        MirrorError::Refused(errno) if path.is_root() => {
            Err(Error::io("making the root of the second tree", errno))
        }
        MirrorError::Refused(errno) => {
            let detail = Some(std::io::Error::from(errno).to_string());
            shared.uncovered(Uncovered { path: path.clone(), reason: Reason::WriteFailed, detail });
            Ok(())
        }
    }
}

/// What the walk of a source found at a root that is being mirrored: used where an open fails.
pub(super) fn look_again(errno: Errno, last: bool) -> bool {
    !last && matches!(errno, Errno::NOENT | Errno::LOOP | Errno::NXIO)
}

/// The state of an open file.
pub(super) fn examine_open(fd: std::os::fd::BorrowedFd<'_>) -> Result<Stat> {
    sys::stat_fd(fd).map_err(|e| Error::io("examining an open file", e))
}
