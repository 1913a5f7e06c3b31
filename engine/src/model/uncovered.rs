//! What a checkpoint or a rollback does not cover, and why (C6).

use super::path::RelPath;

/// Why a path is not covered, kept or restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// A socket: it lives with its process.
    Socket,
    /// A device node, overlay whiteouts among them.
    Device,
    /// The operating system refused to read it.
    Unreadable,
    /// A mount point inside the workspace; mounts are not crossed.
    Mount,
    /// Larger than the configured limit.
    TooLarge,
    /// The caller excluded it.
    Excluded,
    /// It changed at every attempt to read it; stored as far as it was stable.
    Changing,
    /// It vanished during the walk.
    Vanished,
    /// A hard link whose other names lie outside the workspace; the file gets an inode of its own when restored.
    LinkOutside,
    /// Reading failed (for example with EIO).
    ReadError,
    /// Inside a `.git`, which `git: 'keep'` neither overwrites nor deletes.
    GitMetadata,
    /// It was there and not covered when the checkpoint was made, so it is not deleted.
    UncoveredThen,
    /// The checkpoint taken before the rollback could not capture it, so it is not deleted.
    NotCaptured,
    /// A directory that still holds something that was kept.
    NotEmpty,
    /// Somebody else changed it while the rollback ran.
    ConcurrentChange,
    /// The operating system refused to write it.
    WriteFailed,
    /// Restored, except that the file system or our rights did not take some of its metadata.
    MetadataRefused,
    /// The stored content is damaged.
    Damaged,
}

impl Reason {
    /// The reason as users see it, in lower snake case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Socket => "socket",
            Self::Device => "device",
            Self::Unreadable => "unreadable",
            Self::Mount => "mount",
            Self::TooLarge => "too_large",
            Self::Excluded => "excluded",
            Self::Changing => "changing",
            Self::Vanished => "vanished",
            Self::LinkOutside => "link_outside",
            Self::ReadError => "read_error",
            Self::GitMetadata => "git_metadata",
            Self::UncoveredThen => "uncovered_then",
            Self::NotCaptured => "not_captured",
            Self::NotEmpty => "not_empty",
            Self::ConcurrentChange => "concurrent_change",
            Self::WriteFailed => "write_failed",
            Self::MetadataRefused => "metadata_refused",
            Self::Damaged => "damaged",
        }
    }

    /// Whether a checkpoint with such a path is still complete: everything that was asked for is kept.
    #[must_use]
    pub const fn leaves_complete(self) -> bool {
        matches!(self, Self::Excluded | Self::LinkOutside)
    }

    /// The byte that stands for the reason in a manifest.
    #[must_use]
    pub const fn to_byte(self) -> u8 {
        self as u8
    }

    /// The reason of a manifest's byte; `None` for a byte that no version wrote.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<Self> {
        const ALL: [Reason; 18] = [
            Reason::Socket,
            Reason::Device,
            Reason::Unreadable,
            Reason::Mount,
            Reason::TooLarge,
            Reason::Excluded,
            Reason::Changing,
            Reason::Vanished,
            Reason::LinkOutside,
            Reason::ReadError,
            Reason::GitMetadata,
            Reason::UncoveredThen,
            Reason::NotCaptured,
            Reason::NotEmpty,
            Reason::ConcurrentChange,
            Reason::WriteFailed,
            Reason::MetadataRefused,
            Reason::Damaged,
        ];
        ALL.get(usize::from(byte)).copied()
    }
}

/// A path with the reason why it is not covered, kept or restored.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Uncovered {
    /// The path.
    pub path: RelPath,
    /// The reason.
    pub reason: Reason,
    /// More than the reason, where there is more to say (an error text, for example).
    pub detail: Option<String>,
}

impl Uncovered {
    /// A path with its reason and nothing more.
    #[must_use]
    pub const fn new(path: RelPath, reason: Reason) -> Self {
        Self { path, reason, detail: None }
    }
}
