//! How a path differs between two pictures, as users see it.

use crate::model::RelPath;

/// The kind of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// Only the second picture has the path.
    Added,
    /// Only the first picture has the path.
    Deleted,
    /// The bytes or the link target differ.
    Modified,
    /// The type differs.
    TypeChanged,
    /// Only metadata differs: mode, owner, mtime (files and links), extended attributes, hard-link group.
    Metadata,
}

impl ChangeKind {
    /// The kind as users see it, in lower snake case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Deleted => "deleted",
            Self::Modified => "modified",
            Self::TypeChanged => "type_changed",
            Self::Metadata => "metadata",
        }
    }
}

/// One path that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path; the root itself is the empty path.
    pub path: RelPath,
    /// How it differs.
    pub kind: ChangeKind,
    /// For files, the length in bytes in the second picture (in the first one for `deleted`).
    pub bytes: Option<u64>,
}
