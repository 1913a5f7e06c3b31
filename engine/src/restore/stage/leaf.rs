//! One file, symlink or fifo, made anew with its content and metadata.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;

use crate::error::{Code, Error, Result};
use crate::model::{Content, Hash, Node, Objects, Segment, Xattrs, decode_segments};
use crate::restore::beneath::{Dir, Refused, retry, settle_link, settle_new};
use crate::restore::plan::State;

/// Where contents come from, with what is asked for again and again kept at hand.
pub(crate) struct Source<'a> {
    objects: &'a dyn Objects,
    xattrs: Mutex<HashMap<Hash, Arc<Xattrs>>>,
    /// Sync every file by itself.
    pub(crate) sync: bool,
}

/// Why a leaf could not be made.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Its stored content is damaged.
    Damaged(Error),
    /// The file system refused it.
    Refused(Errno),
    /// The whole work has to end.
    Fatal(Error),
}

/// Errors after which nothing else would work either.
fn classify(errno: Errno) -> Failure {
    match errno {
        Errno::NOSPC
        | Errno::DQUOT
        | Errno::MFILE
        | Errno::NFILE
        | Errno::NOMEM
        | Errno::ROFS
        | Errno::IO => Failure::Fatal(Error::io("staging a file; the workspace was not touched", errno)),
        _ => Failure::Refused(errno),
    }
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        classify(errno)
    }
}

fn from_store(error: Error) -> Failure {
    if error.code() == Code::Corrupt { Failure::Damaged(error) } else { Failure::Fatal(error) }
}

/// The largest list of segments that is read: 64 bytes for each MiB of the largest file that Linux knows would be more than memory,
/// this is enough for 8 TiB of data.
const SEGMENT_LIST_BYTES: u64 = 512 << 20;

/// What is written at once.
const PIECE: usize = 8 << 20;

impl<'a> Source<'a> {
    pub(crate) fn new(objects: &'a dyn Objects, sync: bool) -> Self {
        Self { objects, xattrs: Mutex::default(), sync }
    }

    fn xattrs(&self, hash: Option<Hash>) -> Result<Option<Arc<Xattrs>>> {
        let Some(hash) = hash else { return Ok(None) };
        let known = self.xattrs.lock().unwrap_or_else(PoisonError::into_inner).get(&hash).cloned();
        if known.is_some() {
            return Ok(known);
        }
        let bytes = self.objects.read(hash, Xattrs::MAX_BYTES)?;
        let read = Xattrs::decode(&bytes)
            .map_err(|cause| Error::corrupt("a list of extended attributes is damaged").because(cause))?;
        let read = Arc::new(read);
        self.xattrs.lock().unwrap_or_else(PoisonError::into_inner).insert(hash, Arc::clone(&read));
        Ok(Some(read))
    }

    /// The segments of a large or sparse file.
    pub(crate) fn segments(&self, hash: Hash, size: u64) -> Result<Vec<Segment>> {
        let bytes = self.objects.read(hash, SEGMENT_LIST_BYTES)?;
        decode_segments(&bytes, size)
            .map_err(|cause| Error::corrupt("the list of a large file's parts is damaged").because(cause))
    }

    /// Makes a file, symlink or fifo that does not exist yet.
    pub(crate) fn make(&self, dir: &Dir, name: &[u8], state: &State) -> Result<Refused, Failure> {
        let xattrs = self.xattrs(state.meta.xattrs).map_err(from_store)?;
        match &state.node {
            Node::File { size, content, .. } => {
                // Read first: nothing is made for a damaged object.
                let mut whole = Vec::new();
                let segments = match content {
                    Content::Blob(hash) => {
                        whole = self.objects.read(*hash, *size).map_err(from_store)?;
                        if whole.len() as u64 != *size {
                            return Err(Failure::Damaged(Error::corrupt("a stored file has another length")));
                        }
                        None
                    }
                    Content::Segments(hash) => Some(self.segments(*hash, *size).map_err(from_store)?),
                };
                // Set-id bits wait until the owner is right; the rest may be given at once, the directory being private.
                let fd = dir.create(name, state.meta.mode & 0o777)?;
                match segments {
                    None => write_at(&fd, &whole, 0)?,
                    Some(segments) => self.write_segments(&fd, *size, &segments)?,
                }
                let refused = settle_new(fd.as_fd(), &state.meta, xattrs.as_deref())?;
                if self.sync {
                    rustix::fs::fsync(&fd)?;
                }
                Ok(refused)
            }
            Node::Symlink { target } => {
                dir.symlink(target, name)?;
                Ok(settle_link(dir, name, &state.meta)?)
            }
            Node::Fifo => {
                dir.fifo(name)?;
                let fd = dir.open_existing(name)?;
                Ok(settle_new(fd.as_fd(), &state.meta, xattrs.as_deref())?)
            }
            Node::Directory { .. } | Node::Uncovered { .. } => Err(Failure::Refused(Errno::INVAL)),
        }
    }

    fn write_segments(&self, fd: &OwnedFd, size: u64, segments: &[Segment]) -> Result<(), Failure> {
        retry(|| rustix::fs::ftruncate(fd, size))?;
        let mut offset = 0;
        for segment in segments {
            match segment {
                Segment::Hole { length } => offset += length,
                Segment::Data { length, hash } => {
                    let bytes = self.objects.read(*hash, *length).map_err(from_store)?;
                    if bytes.len() as u64 != *length {
                        return Err(Failure::Damaged(Error::corrupt(
                            "a stored part of a file has another length",
                        )));
                    }
                    write_at(fd, &bytes, offset)?;
                    offset += length;
                }
            }
        }
        Ok(())
    }
}

/// The attributes that something is to have, for setting them on what exists.
pub(crate) fn wanted_xattrs(source: &Source<'_>, hash: Option<Hash>) -> Result<Arc<Xattrs>> {
    Ok(source.xattrs(hash)?.unwrap_or_default())
}

/// Writes all bytes however often the system takes only some (input 65).
fn write_at(fd: &OwnedFd, mut bytes: &[u8], mut offset: u64) -> Result<(), Errno> {
    while !bytes.is_empty() {
        let piece = bytes.get(..PIECE).unwrap_or(bytes);
        let written = retry(|| rustix::io::pwrite(fd, piece, offset))?;
        if written == 0 {
            return Err(Errno::IO);
        }
        bytes = bytes.get(written..).unwrap_or_default();
        offset += written as u64;
    }
    Ok(())
}
