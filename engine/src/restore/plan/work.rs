//! What a plan is made of: directories in the order parent before child, and the items in them.

use std::ops::Range;

use crate::model::{Entry, Meta, Node, RelPath};

/// A path's state without its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) meta: Meta,
    pub(crate) node: Node,
}

impl State {
    pub(super) fn of(entry: Entry) -> (Box<[u8]>, Self) {
        (entry.name, Self { meta: entry.meta, node: entry.node })
    }

    /// The length of a file.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match &self.node {
            Node::File { size, .. } => Some(*size),
            _ => None,
        }
    }

    /// Whether the same bytes, link target or pipe is meant.
    pub(crate) fn same_content(&self, other: &Self) -> bool {
        match (&self.node, &other.node) {
            (Node::File { size: a, content: x, .. }, Node::File { size: b, content: y, .. }) => {
                a == b && x == y
            }
            (a, b) => a == b,
        }
    }

    /// Whether content and metadata are the same.
    pub(super) fn same(&self, other: &Self) -> bool {
        self.meta == other.meta && self.same_content(other)
    }
}

/// What happens to a directory.
#[derive(Debug)]
pub(crate) enum Role {
    /// It stays, with `after` as its metadata; work may happen in it.
    Keep { before: Meta, after: Meta },
    /// It is made, where nothing or a file (`replaces`) is now.
    Create { after: Meta, replaces: Option<State> },
    /// It goes with all that the plan lists in it.
    Delete { before: Meta },
}

/// One directory.
#[derive(Debug)]
pub(crate) struct DirWork {
    /// Its parent's number; `None` for the root. Parents have lower numbers.
    pub(crate) parent: Option<usize>,
    pub(crate) name: Box<[u8]>,
    pub(crate) role: Role,
    /// It cannot be read now: its metadata is put back so that it can.
    pub(crate) unlock: bool,
    /// The item that takes its place after it was deleted.
    pub(crate) then: bool,
    /// Its items in [`super::Plan::items`].
    pub(crate) items: Range<usize>,
}

/// What happens to a file, symlink or fifo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// Nothing is there; it comes back.
    Create,
    /// Another file, symlink or fifo, or a directory, is there.
    Replace,
    /// It is there and was not.
    Delete,
    /// Only its metadata differs.
    Metadata,
    /// Only its hard-link group differs.
    Relink,
}

/// One file, symlink or fifo.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) dir: usize,
    pub(crate) name: Box<[u8]>,
    pub(crate) before: Option<State>,
    pub(crate) after: Option<State>,
    pub(crate) act: Act,
    /// Members with the same number become names of one new inode.
    pub(crate) link: Option<usize>,
    /// It must have an inode of its own, even when only metadata differs.
    pub(crate) fresh: bool,
    /// The directory that is in its place now and goes first.
    pub(crate) replaces_dir: Option<usize>,
    /// It cannot be read now; only its metadata is put back.
    pub(crate) unlock: bool,
}

/// The path of a directory by its number.
pub(crate) fn dir_path(dirs: &[DirWork], mut number: usize) -> RelPath {
    let mut names = Vec::new();
    while let Some(dir) = dirs.get(number) {
        let Some(parent) = dir.parent else { break };
        names.push(&*dir.name);
        number = parent;
    }
    names.reverse();
    RelPath::parse(&names.join(&b'/')).unwrap_or_default()
}
