//! What `lstat` tells of a path, in the form that the stat cache compares.

use rustix::fs::FileType;

use crate::model::{FileKind, Meta, Timestamp};

/// What `lstat` tells of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stat {
    /// Inode number.
    pub ino: u64,
    /// Device number; counts only within one boot and mount (C5).
    pub dev: u64,
    /// Length in bytes.
    pub size: u64,
    /// Allocated bytes.
    pub allocated: u64,
    /// Last change of content.
    pub mtime: Timestamp,
    /// Last change of the inode.
    pub ctime: Timestamp,
    /// Type and permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Number of hard links.
    pub nlink: u32,
}

impl From<rustix::fs::Stat> for Stat {
    #[allow(clippy::unnecessary_cast, clippy::cast_possible_truncation)]
    fn from(st: rustix::fs::Stat) -> Self {
        Self {
            ino: st.st_ino as u64,
            dev: st.st_dev as u64,
            size: st.st_size as u64,
            allocated: (st.st_blocks as u64).saturating_mul(512),
            mtime: Timestamp { sec: st.st_mtime as i64, nsec: st.st_mtime_nsec as u32 },
            ctime: Timestamp { sec: st.st_ctime as i64, nsec: st.st_ctime_nsec as u32 },
            mode: st.st_mode as u32,
            uid: st.st_uid,
            gid: st.st_gid,
            nlink: u32::try_from(st.st_nlink).unwrap_or(u32::MAX),
        }
    }
}

impl Stat {
    /// The type of the path.
    #[must_use]
    pub fn kind(&self) -> FileKind {
        match FileType::from_raw_mode(self.mode) {
            FileType::RegularFile => FileKind::File,
            FileType::Directory => FileKind::Directory,
            FileType::Symlink => FileKind::Symlink,
            FileType::Fifo => FileKind::Fifo,
            FileType::Socket => FileKind::Socket,
            FileType::CharacterDevice | FileType::BlockDevice => FileKind::Device,
            FileType::Unknown => FileKind::Unknown,
        }
    }

    /// The metadata that a checkpoint keeps, without extended attributes.
    #[must_use]
    pub fn meta(&self) -> Meta {
        Meta {
            mode: (self.mode & 0o7777) as u16,
            uid: self.uid,
            gid: self.gid,
            mtime: self.mtime,
            xattrs: None,
        }
    }

    /// Whether the content may have holes: fewer bytes are allocated than it is long.
    #[must_use]
    pub const fn may_have_holes(&self) -> bool {
        self.allocated < self.size
    }

    /// Whether nothing happened to the inode between two looks at it (device numbers and access times apart).
    #[must_use]
    pub fn same_inode_state(&self, other: &Self) -> bool {
        self.ino == other.ino
            && self.size == other.size
            && self.mtime == other.mtime
            && self.ctime == other.ctime
            && self.mode == other.mode
            && self.uid == other.uid
            && self.gid == other.gid
            && self.nlink == other.nlink
    }
}
