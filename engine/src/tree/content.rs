//! Reading one file's bytes so that what is stored is what was there, or is marked as changing (P5, inputs 40, 41, 47).

use std::cell::RefCell;
use std::os::fd::{AsFd, BorrowedFd};

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rustix::io::Errno;

use super::mirror::{MirrorError, MirrorFile};
use super::stat::Stat;
use super::sys;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::model::{Content, Hash, Segment, Sink, Timestamp, encode_segments};

/// How often a file is read when it changes under the reader.
const ATTEMPTS: u32 = 3;

/// Files up to this length are one object; longer or sparse ones are lists of segments.
const BLOB_MAX: u64 = Segment::MAX_DATA;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What came of reading a file.
pub(super) struct Read {
    /// The state of the inode that belongs to the bytes.
    pub(super) stat: Stat,
    /// Where the bytes are.
    pub(super) content: Content,
    /// Length in bytes of what was stored.
    pub(super) size: u64,
    /// It changed at every attempt.
    pub(super) changing: bool,
}

/// Why a file could not be read.
pub(super) enum Failure {
    /// The file's own error.
    File(Errno),
    /// The second tree cannot have it.
    Mirror(Errno),
    /// The store's error, or the operation has to end.
    Fatal(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Fatal(error)
    }
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        Self::File(errno)
    }
}

impl From<MirrorError> for Failure {
    fn from(error: MirrorError) -> Self {
        match error {
            MirrorError::Refused(errno) => Self::Mirror(errno),
            MirrorError::Fatal(error) => Self::Fatal(error),
        }
    }
}

/// An open regular file that is read.
pub(super) struct Source<'a> {
    pub(super) fd: BorrowedFd<'a>,
    /// Its twin in a second tree, which gets the same bytes.
    pub(super) mirror: Option<&'a dyn MirrorFile>,
    /// Whether several threads may read it at once.
    pub(super) parallel: bool,
}

/// Reads an open regular file, whose state was `before` when it was opened, and stores its bytes.
pub(super) fn read(
    source: &Source<'_>,
    before: Stat,
    sink: &dyn Sink,
    ctx: &Context,
) -> Result<Read, Failure> {
    let mut attempt = 1;
    let mut before = before;
    let fd = source.fd;
    loop {
        let clock = sys::file_clock();
        let young = is_young(before.ctime, clock);
        if let Some(mirror) = source.mirror {
            // What shares its blocks is frozen at once, what is read is not: only where the timestamps prove that both are the same.
            mirror.begin(fd, before.size, !young && attempt < ATTEMPTS)?;
        }
        let (content, size) = once(source, &before, sink, ctx)?;
        let after = sys::stat_fd(fd)?;
        let mut stable = before.same_inode_state(&after) && size == after.size;
        if stable && young {
            // Two writes within one tick of the file clock share a timestamp, which then proves nothing: the bytes have to (P5).
            let (again, _) = once(&Source { mirror: None, ..*source }, &before, sink, ctx)?;
            stable = again == content && sys::stat_fd(fd)?.same_inode_state(&after);
        }
        if stable || attempt == ATTEMPTS {
            return Ok(Read { stat: after, content, size, changing: !stable });
        }
        attempt += 1;
        before = after;
    }
}

/// Whether a change may have come within the tick of the clock in which the file is looked at (at most 10 ms long).
fn is_young(ctime: Timestamp, clock: Timestamp) -> bool {
    const TICK_NS: i128 = 10_000_000;
    let ns = |t: Timestamp| i128::from(t.sec) * 1_000_000_000 + i128::from(t.nsec);
    ns(clock) - ns(ctime) <= TICK_NS
}

fn once(source: &Source<'_>, stat: &Stat, sink: &dyn Sink, ctx: &Context) -> Result<(Content, u64), Failure> {
    ctx.check()?;
    if stat.size <= BLOB_MAX && !stat.may_have_holes() {
        let (length, hash) = piece(source, 0, stat.size, sink)?;
        return Ok((Content::Blob(hash), length));
    }
    let mut segments = Vec::new();
    let mut at = 0;
    while at < stat.size {
        let (data, hole) = sys::next_data(source.fd, at, stat.size)?.unwrap_or((stat.size, stat.size));
        if data > at {
            segments.push(Segment::Hole { length: data - at });
            at = data;
        }
        // One large file must not keep a single thread busy.
        let places = 0..(hole - at).div_ceil(Segment::MAX_DATA);
        let one = |i| {
            ctx.check()?;
            let start = at + i * Segment::MAX_DATA;
            piece(source, start, (hole - start).min(Segment::MAX_DATA), sink)
        };
        let pieces: Result<Vec<_>, Failure> = if source.parallel {
            places.into_par_iter().map(one).collect()
        } else {
            places.map(one).collect()
        };
        for (length, hash) in pieces? {
            let wanted = (hole - at).min(Segment::MAX_DATA);
            if length > 0 {
                segments.push(Segment::Data { length, hash });
                at += length;
            }
            if length < wanted {
                // It was cut off meanwhile.
                return Ok((Content::Segments(sink.put(&encode_segments(&segments))?), at));
            }
        }
    }
    Ok((Content::Segments(sink.put(&encode_segments(&segments))?), at))
}

/// Reads and stores one stretch; shorter than asked for only at the end of the file.
fn piece(source: &Source<'_>, offset: u64, length: u64, sink: &dyn Sink) -> Result<(u64, Hash), Failure> {
    BUFFER.with_borrow_mut(|buffer| {
        let bytes = read_range(source.fd, offset, length, buffer)?;
        if let Some(mirror) = source.mirror {
            mirror.write(bytes, offset)?;
        }
        Ok((bytes.len() as u64, sink.put(bytes)?))
    })
}

/// Reads up to `length` bytes; fewer only at the end of the file.
fn read_range<'b>(
    fd: BorrowedFd<'_>,
    offset: u64,
    length: u64,
    buffer: &'b mut Vec<u8>,
) -> Result<&'b [u8], Errno> {
    let length = usize::try_from(length).map_err(|_| Errno::INVAL)?;
    if buffer.len() < length {
        buffer.resize(length, 0);
    }
    let mut done = 0;
    while done < length {
        let n =
            sys::retry(|| rustix::io::pread(fd.as_fd(), &mut buffer[done..length], offset + done as u64))?;
        if n == 0 {
            break;
        }
        done += n;
    }
    Ok(&buffer[..done])
}
