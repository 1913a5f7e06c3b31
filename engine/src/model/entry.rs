//! One path's state, as a checkpoint keeps it (C6).

use super::hash::Hash;
use super::uncovered::Reason;

/// A point in time as the file system stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp {
    /// Seconds since the epoch; may be negative.
    pub sec: i64,
    /// Nanoseconds, 0 to 999,999,999.
    pub nsec: u32,
}

/// What every kind of path has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Meta {
    /// The twelve permission bits (`07777`).
    pub mode: u16,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Time of the last change of content.
    pub mtime: Timestamp,
    /// The object that lists the extended attributes; `None` when there are none.
    pub xattrs: Option<Hash>,
}

/// The type of a path, as `lstat` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character or block device (overlay whiteouts are character devices 0:0).
    Device,
    /// Not known: it vanished or could not be examined.
    Unknown,
}

/// Where a file's bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Content {
    /// One object holds all the bytes.
    Blob(Hash),
    /// An object that lists [`Segment`]s: large or sparse files.
    Segments(Hash),
}

impl Content {
    /// The address of the first object to read.
    #[must_use]
    pub const fn hash(&self) -> Hash {
        match self {
            Self::Blob(hash) | Self::Segments(hash) => *hash,
        }
    }
}

/// A stretch of a large or sparse file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment {
    /// `length` bytes that are not allocated on disk and read as zeros.
    Hole {
        /// Length in bytes, at least 1.
        length: u64,
    },
    /// `length` bytes held by an object.
    Data {
        /// Length in bytes, at least 1 and at most [`Segment::MAX_DATA`].
        length: u64,
        /// The object.
        hash: Hash,
    },
}

impl Segment {
    /// The largest data segment in bytes; fixed chunks re-hash quickly and store only what changed.
    pub const MAX_DATA: u64 = 1 << 20;
}

/// What kind of path it is, with what only that kind has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A regular file.
    File {
        /// Length in bytes.
        size: u64,
        /// The bytes.
        content: Content,
        /// It changed while it was read: these are the bytes of the last attempt (C6).
        changing: bool,
    },
    /// A directory.
    Directory {
        /// The object that lists its entries.
        manifest: Hash,
    },
    /// A symbolic link, never followed.
    Symlink {
        /// Its target, as bytes.
        target: Box<[u8]>,
    },
    /// A named pipe.
    Fifo,
    /// Something that is there and not kept. A rollback neither deletes nor writes it.
    Uncovered {
        /// Why.
        reason: Reason,
        /// What it is.
        kind: FileKind,
    },
}

impl Node {
    /// The type of the path.
    #[must_use]
    pub const fn kind(&self) -> FileKind {
        match self {
            Self::File { .. } => FileKind::File,
            Self::Directory { .. } => FileKind::Directory,
            Self::Symlink { .. } => FileKind::Symlink,
            Self::Fifo => FileKind::Fifo,
            Self::Uncovered { kind, .. } => *kind,
        }
    }
}

/// One name of a directory with its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name as bytes; checked with [`super::check_name`].
    pub name: Box<[u8]>,
    /// What every kind has.
    pub meta: Meta,
    /// What only this kind has.
    pub node: Node,
}
