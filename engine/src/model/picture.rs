//! A whole tree's state, and where its parts can be read from.

use super::entry::{Entry, Meta};
use super::hash::Hash;
use super::links::LinkGroups;
use crate::error::Result;

/// A whole tree's state: the root's own metadata, its entries, and the hard-link groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Metadata of the root directory itself.
    pub root: Meta,
    /// The object that lists the root's entries.
    pub manifest: Hash,
    /// Which paths share an inode.
    pub links: LinkGroups,
}

/// Read access to stored objects; everything that comes out was checked against its address (P7).
pub trait Objects: Sync {
    /// The bytes of an object.
    ///
    /// # Errors
    /// `CORRUPT` when it is missing, damaged or longer than `limit` bytes (input 42).
    fn read(&self, hash: Hash, limit: u64) -> Result<Vec<u8>>;

    /// The entries of a directory, sorted by name as bytes, names unique and checked.
    ///
    /// # Errors
    /// `CORRUPT` as above, and for a manifest that breaks the format's rules (inputs 9, 26, 27, 34, 46).
    fn directory(&self, manifest: Hash) -> Result<Vec<Entry>>;
}

/// Takes what the walk reads.
pub trait Sink: Sync {
    /// Stores an object and returns its address; an object that is there already costs nothing.
    ///
    /// # Errors
    /// When it cannot be stored.
    fn put(&self, bytes: &[u8]) -> Result<Hash>;

    /// Stores the entries of a directory, sorted by name.
    ///
    /// # Errors
    /// When they cannot be stored.
    fn put_directory(&self, entries: &[Entry]) -> Result<Hash>;
}
