//! What one path looks like when an interrupted restore is taken up again: as before, as after, something in between that only our own
//! steps make, or somebody else's work (C8).

use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::model::{Content, Meta, Node};
use crate::restore::apply::is_as_seen;
use crate::restore::beneath::{Dir, mtime_of};
use crate::restore::plan::{Act, Item, State};

/// Compares the bytes of files; lengths and mtimes can lie after a longer time.
pub(crate) trait Contents: Sync {
    /// Whether an open file has these bytes.
    ///
    /// # Errors
    /// `ABORTED`, `TIMED_OUT`, or when neither the file nor the store can be read.
    fn is(&self, fd: BorrowedFd<'_>, size: u64, content: Content) -> Result<bool>;
}

/// What is to be done about an item.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It is as it is to be; the inode, for hard-link groups.
    Done { ino: u64, now: Option<State> },
    /// It is still to be done, from this state on.
    Due { before: Option<State> },
    /// Somebody changed it.
    Foreign,
}

/// Where the item's directory was, in which a deleted directory may still stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InTheWay {
    /// No directory has to go first.
    Nothing,
    /// The directory that has to go first is still there.
    Directory,
    /// It has gone.
    Gone,
}

/// Judges an item in a directory that is there.
pub(super) fn judge(
    dir: &Dir,
    item: &Item,
    way: InTheWay,
    contents: &dyn Contents,
) -> Result<Verdict, Trouble> {
    if way == InTheWay::Directory {
        return Ok(Verdict::Due { before: item.before.clone() });
    }
    // What stood there was a directory, and that has gone.
    let before = if way == InTheWay::Gone { None } else { item.before.as_ref() };
    let Some(stat) = dir.lstat_opt(&item.name)? else {
        return Ok(match (before, &item.after) {
            (_, None) => Verdict::Done { ino: 0, now: None },
            (None, Some(_)) => Verdict::Due { before: None },
            (Some(_), Some(_)) => Verdict::Foreign,
        });
    };
    let is_before = before.is_some_and(|before| is_as_seen(before, &stat));
    let is_after = item.after.as_ref().is_some_and(|after| is_placed(after, &stat));
    let has = |state: &State| has_content(dir, &item.name, state, contents);
    let due = |state: &State| Verdict::Due { before: Some(with_meta(state, &stat)) };
    let done = |state: &State| Verdict::Done { ino: stat.st_ino, now: Some(with_meta(state, &stat)) };
    Ok(match (before, &item.after) {
        (None, Some(after)) if is_after => done(after),
        (Some(before), Some(after)) if is_before && is_after => {
            if before.same_content(after) {
                // Whatever cannot be told apart by looking (attributes, groups of hard links) is done again.
                if has(before)? { due(before) } else { Verdict::Foreign }
            } else if has(after)? {
                done(after)
            } else if has(before)? {
                due(before)
            } else {
                Verdict::Foreign
            }
        }
        (_, Some(after)) if is_after => done(after),
        (Some(before), _) if is_before && has(before)? => due(before),
        (Some(before), Some(after))
            if in_place(item) && is_between(before, after, &stat) && (item.unlock || has(before)?) =>
        {
            due(before)
        }
        _ => Verdict::Foreign,
    })
}

/// Judges what stands where a directory is to be made.
pub(super) fn is_still(
    dir: &Dir,
    name: &[u8],
    state: &State,
    stat: &Stat,
    contents: &dyn Contents,
) -> Result<bool, Trouble> {
    Ok(is_as_seen(state, stat) && has_content(dir, name, state, contents)?)
}

/// Whether something of ours that was done still has the bytes that we gave it.
pub(super) fn still_has(
    dir: &Dir,
    name: &[u8],
    state: &State,
    contents: &dyn Contents,
) -> Result<bool, Trouble> {
    has_content(dir, name, state, contents)
}

/// Only looking at a path failed, or the whole work has to end.
#[derive(Debug)]
pub(super) enum Trouble {
    Path(Errno),
    Whole(crate::error::Error),
}

impl From<Errno> for Trouble {
    fn from(errno: Errno) -> Self {
        match errno {
            // What somebody's change of a path looks like.
            Errno::NOENT
            | Errno::NOTDIR
            | Errno::ISDIR
            | Errno::LOOP
            | Errno::XDEV
            | Errno::ACCESS
            | Errno::PERM
            | Errno::INVAL
            | Errno::STALE
            | Errno::NXIO => Self::Path(errno),
            // A disk that fails, or too little of something, says nothing of the path: what it was to get must not be dropped.
            _ => Self::Whole(Error::io("looking at what an interrupted restore left", errno)),
        }
    }
}

fn has_content(dir: &Dir, name: &[u8], state: &State, contents: &dyn Contents) -> Result<bool, Trouble> {
    match &state.node {
        Node::File { size, content, .. } => {
            let opened = match dir.open_existing(name) {
                Err(Errno::ACCESS) => {
                    // Ours to open up, as the work itself does; the mode is put right at its end.
                    let before = dir.unlock(name, 0o400)?;
                    let opened = dir.open_existing(name)?;
                    let mode = rustix::fs::Mode::from_raw_mode(before.st_mode & 0o7777);
                    rustix::fs::fchmod(&opened, mode)?;
                    opened
                }
                other => other?,
            };
            contents.is(opened.as_fd(), *size, *content).map_err(Trouble::Whole)
        }
        Node::Symlink { target } => {
            let have = rustix::fs::readlinkat(dir.fd(), name, Vec::new())?;
            Ok(have.as_bytes() == &**target)
        }
        Node::Fifo | Node::Directory { .. } | Node::Uncovered { .. } => Ok(true),
    }
}

/// Whether its metadata may be set where it is.
fn in_place(item: &Item) -> bool {
    item.act == Act::Metadata && !item.fresh && item.replaces_dir.is_none()
}

fn with_meta(state: &State, stat: &Stat) -> State {
    State { meta: meta_of(stat, state.meta.xattrs), node: state.node.clone() }
}

/// The metadata of a `stat`; attributes are not looked at.
pub(super) fn meta_of(stat: &Stat, xattrs: Option<crate::model::Hash>) -> Meta {
    Meta {
        mode: (stat.st_mode & 0o7777) as u16,
        uid: stat.st_uid,
        gid: stat.st_gid,
        mtime: mtime_of(stat),
        xattrs,
    }
}

/// Whether this is what we put there; an owner that was not ours to give, and the set-id bits with it, may be missing.
fn is_placed(after: &State, stat: &Stat) -> bool {
    if is_as_seen(after, stat) {
        return true;
    }
    let kind = FileType::from_raw_mode(stat.st_mode);
    let (right, is_link) = match &after.node {
        Node::File { size, .. } => {
            (kind == FileType::RegularFile && u64::try_from(stat.st_size) == Ok(*size), false)
        }
        Node::Symlink { target } => {
            (kind == FileType::Symlink && u64::try_from(stat.st_size) == Ok(target.len() as u64), true)
        }
        Node::Fifo => (kind == FileType::Fifo, false),
        Node::Directory { .. } | Node::Uncovered { .. } => (false, false),
    };
    let us = rustix::process::geteuid();
    let mode = u32::from(after.meta.mode) & 0o1777;
    right
        && !us.is_root()
        && stat.st_uid == us.as_raw()
        && mtime_of(stat) == after.meta.mtime
        && (is_link || stat.st_mode & 0o7777 == mode)
}

/// Whether this is a file of which a part of the metadata was set: owner, then mode and attributes, the mtime last.
fn is_between(before: &State, after: &State, stat: &Stat) -> bool {
    let size = after.bytes();
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && size.is_some()
        && u64::try_from(stat.st_size).ok() == size
        && mixes(&before.meta, &after.meta, stat)
        && [before.meta.mtime, after.meta.mtime].contains(&mtime_of(stat))
}

/// Whether owner, group and mode are a mixture of two states, with what we add to be able to work.
pub(super) fn mixes(before: &Meta, after: &Meta, stat: &Stat) -> bool {
    let now = stat.st_mode & 0o7777;
    let (a, b) = (u32::from(before.mode), u32::from(after.mode));
    // Set-id bits go when the owner changes, and come back last; access lists move the bits of the group.
    let common = a & b & 0o1777;
    [before.uid, after.uid].contains(&stat.st_uid)
        && [before.gid, after.gid].contains(&stat.st_gid)
        && now & !(a | b | 0o700) == 0
        && common & !now == 0
}
