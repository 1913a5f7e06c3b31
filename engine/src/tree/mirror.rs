//! What a walk tells somebody who makes a second tree of what it reads, so that every file is read once (S5, W6).
//!
//! With a mirror the walk's picture is that of the second tree as it was made: what could not be made is not in it and is listed
//! as uncovered. Hard-link groups are made here, under a lock for each inode that nobody holds while he waits for other work.

use std::collections::HashMap;
use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;

use super::stat::Stat;
use super::stat_cache::Known;
use crate::error::Error;
use crate::model::{Entry, Meta, RelPath, Xattrs};

/// Makes the second tree. Every directory is entered before its names and settled after all that lies beneath it.
pub trait Mirror: Sync {
    /// Makes a directory; the root is there already.
    ///
    /// # Errors
    /// [`MirrorError`]; a refused directory is left out with all that lies beneath it.
    fn directory(&self, path: &RelPath) -> Result<Box<dyn MirrorDirectory + '_>, MirrorError>;

    /// Gives a directory its metadata, when nothing will be made in it any more.
    ///
    /// # Errors
    /// [`MirrorError`].
    fn settle(&self, path: &RelPath, want: &Meta, xattrs: &Xattrs) -> Result<Made, MirrorError>;

    /// Removes a directory that was made and turned out not to be readable.
    ///
    /// # Errors
    /// [`MirrorError`].
    fn discard(&self, path: &RelPath) -> Result<(), MirrorError>;

    /// Removes everything beneath the root and forgets what was made: all comes again.
    ///
    /// # Errors
    /// When it cannot be removed.
    fn start_over(&self) -> Result<(), Error>;

    /// Whether inodes of the second tree may be told by their timestamps later: nobody else can write there until then, and the
    /// maker lets the file clock move on before he shows it to anybody.
    fn is_trusted(&self) -> bool;

    /// What is known of inodes with several names.
    fn groups(&self) -> &Groups;
}

/// One directory of the second tree.
pub trait MirrorDirectory: Sync {
    /// Begins a new file. Dropped before it is finished, it goes again.
    ///
    /// # Errors
    /// [`MirrorError`].
    fn file(&self, name: &CStr, want: &Meta) -> Result<Box<dyn MirrorFile + '_>, MirrorError>;

    /// Makes a symbolic link.
    ///
    /// # Errors
    /// [`MirrorError`].
    fn symlink(&self, name: &CStr, target: &[u8], want: &Meta) -> Result<Made, MirrorError>;

    /// Makes a named pipe.
    ///
    /// # Errors
    /// [`MirrorError`].
    fn fifo(&self, name: &CStr, want: &Meta) -> Result<Made, MirrorError>;

    /// Gives the inode at `first` one more name; `None` where the file system takes no more.
    ///
    /// # Errors
    /// [`MirrorError`].
    fn link(&self, first: &RelPath, name: &CStr) -> Result<Option<Stat>, MirrorError>;
}

/// One file of the second tree.
pub trait MirrorFile: Sync {
    /// Begins with its content, or begins anew. With `may_share` the file may take the source's blocks as they are; then nothing
    /// more is written. Without, everything comes by [`MirrorFile::write`].
    ///
    /// # Errors
    /// [`MirrorError`].
    fn begin(&self, source: BorrowedFd<'_>, size: u64, may_share: bool) -> Result<(), MirrorError>;

    /// Takes a stretch of data; what is never written stays a hole.
    ///
    /// # Errors
    /// [`MirrorError`].
    fn write(&self, bytes: &[u8], offset: u64) -> Result<(), MirrorError>;

    /// Gives the file its length and its metadata; it stays from now on.
    ///
    /// # Errors
    /// [`MirrorError`].
    fn finish(&self, size: u64, want: &Meta, xattrs: &Xattrs) -> Result<Made, MirrorError>;
}

/// Something that was made.
#[derive(Debug)]
pub struct Made {
    /// Its state.
    pub stat: Stat,
    /// Its extended attributes, where they are not those that were wanted.
    pub xattrs: Option<Xattrs>,
    /// What of its metadata was refused, in words.
    pub refused: Option<String>,
}

/// Why something could not be made.
#[derive(Debug)]
pub enum MirrorError {
    /// This one path is refused.
    Refused(Errno),
    /// The whole work has to end.
    Fatal(Error),
}

/// The first name that was made of an inode, and what it is.
#[derive(Debug, Clone)]
pub struct First {
    /// Where it lies.
    pub path: RelPath,
    /// Its state; the name is the first one's.
    pub entry: Entry,
    /// What is known of the source's inode.
    pub(super) source: Known,
}

/// One inode of the source; held while its first name is made, so that nobody makes it twice.
pub type Group = Arc<Mutex<Option<First>>>;

/// The inodes with several names.
#[derive(Debug, Default)]
pub struct Groups(Mutex<HashMap<(u64, u64), Group>>);

impl Groups {
    /// Forgets all of them.
    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// What is known of an inode.
    pub fn of(&self, stat: &Stat) -> Group {
        let mut groups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(groups.entry((stat.dev, stat.ino)).or_default())
    }
}
