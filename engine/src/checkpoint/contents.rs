//! Whether a file still has the bytes that a plan saw in it: read and hashed, whatever its timestamps say.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::FileExt as _;

use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::{Content, Hash, Objects, Segment, decode_segments, encode_segments};
use crate::restore::journal::Contents;
use crate::store::PackSet;
use crate::tree::sys;

/// Reads files, and the lists of the parts of large ones from the store.
pub(super) struct StoredContents<'a> {
    pub(super) objects: &'a PackSet,
    pub(super) ctx: &'a Context,
}

impl Contents for StoredContents<'_> {
    fn is(&self, fd: BorrowedFd<'_>, size: u64, content: Content) -> Result<bool> {
        self.ctx.check()?;
        let owned = fd.try_clone_to_owned().map_err(|e| Error::io("duplicating a file's descriptor", e))?;
        let file = File::from(owned);
        let same = match content {
            Content::Blob(hash) => is_blob(&file, size, hash),
            Content::Segments(hash) => match self.list(hash, size)? {
                Some(segments) => self.has(&file, &segments),
                // Nothing was saved of it (`safety: false`): its own list of parts must have the same address.
                None => self.list_of(&file, size).map(|list| Hash::of(&list) == hash),
            },
        };
        self.ctx.check()?;
        // A file that cannot be read is not known to be what it was.
        Ok(same.unwrap_or_else(|error| {
            tracing::warn!(%error, "a file of an interrupted restore cannot be read; it is left alone");
            false
        }))
    }
}

impl StoredContents<'_> {
    fn list(&self, hash: Hash, size: u64) -> Result<Option<Vec<Segment>>> {
        match self.objects.read(hash, u64::MAX) {
            Ok(list) => Ok(decode_segments(&list, size).ok()),
            Err(error) if error.code() == Code::Corrupt => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Compares stretch by stretch; where the holes are is no part of the bytes.
    fn has(&self, file: &File, segments: &[Segment]) -> io::Result<bool> {
        let mut at = 0;
        for segment in segments {
            let (length, is_same) = match *segment {
                Segment::Data { length, hash } => (length, hash_at(file, at, length)? == Some(hash)),
                Segment::Hole { length } => (length, self.is_zero(file, at, length)?),
            };
            if !is_same || self.ctx.check().is_err() {
                return Ok(false);
            }
            at += length;
        }
        Ok(true)
    }

    fn is_zero(&self, file: &File, at: u64, length: u64) -> io::Result<bool> {
        let end = at + length;
        let mut at = at;
        while at < end && self.ctx.check().is_ok() {
            let Some((start, stop)) = sys::next_data(file.as_fd(), at, end)? else { return Ok(true) };
            let stop = stop.min(start + Segment::MAX_DATA);
            let mut bytes = vec![0; usize::try_from(stop - start).unwrap_or(0)];
            file.read_exact_at(&mut bytes, start)?;
            if bytes.iter().any(|&byte| byte != 0) {
                return Ok(false);
            }
            at = stop;
        }
        Ok(true)
    }

    /// The list of parts as a checkpoint would make it.
    fn list_of(&self, file: &File, size: u64) -> io::Result<Vec<u8>> {
        let mut segments = Vec::new();
        let mut at = 0;
        while at < size {
            let (start, stop) = sys::next_data(file.as_fd(), at, size)?.unwrap_or((size, size));
            if start > at {
                segments.push(Segment::Hole { length: start - at });
            }
            at = start;
            while at < stop && self.ctx.check().is_ok() {
                let length = (stop - at).min(Segment::MAX_DATA);
                let Some(hash) = hash_at(file, at, length)? else { return Ok(Vec::new()) };
                segments.push(Segment::Data { length, hash });
                at += length;
            }
            if self.ctx.check().is_err() {
                return Ok(Vec::new());
            }
        }
        Ok(encode_segments(&segments))
    }
}

fn is_blob(file: &File, size: u64, hash: Hash) -> io::Result<bool> {
    Ok(file.metadata()?.len() == size && hash_at(file, 0, size)? == Some(hash))
}

/// The hash of one stretch; `None` when the file ends before.
fn hash_at(file: &File, at: u64, length: u64) -> io::Result<Option<Hash>> {
    let Ok(length) = usize::try_from(length) else { return Ok(None) };
    let mut bytes = vec![0; length];
    match file.read_exact_at(&mut bytes, at) {
        Ok(()) => Ok(Some(Hash::of(&bytes))),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}
