//! One held directory, and everything that can be done to a name in it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, ResolveFlags, Stat, StatxFlags, Timestamps, Uid};
use rustix::io::Errno;

use super::root::Resolver;
use crate::model::check_name;
pub(crate) use crate::tree::sys::retry;

/// Whether a rename may take the place of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overwrite {
    /// Whatever is there goes.
    Yes,
    /// `EXIST` when something is there.
    No,
}

/// A directory's descriptor (`O_PATH`) with the way in which names beneath it are resolved.
#[derive(Debug, Clone)]
pub(crate) struct Dir {
    fd: Arc<OwnedFd>,
    resolver: Resolver,
    /// The root's mount; needed only where `openat2` is missing.
    mount: u64,
}

const PATH: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// How often a lookup that raced with a rename is repeated; each repetition means that somebody renamed just then.
const RACES: u32 = 64;

fn checked(name: &[u8]) -> Result<&[u8], Errno> {
    check_name(name).map(|()| name).map_err(|_| Errno::INVAL)
}

impl Dir {
    /// Takes a directory's descriptor as the place beneath which everything stays.
    pub(super) fn top(fd: OwnedFd, resolver: Resolver) -> Result<Self, Errno> {
        let mount = match resolver {
            Resolver::Openat2 => 0,
            Resolver::PerComponent => mount_id(fd.as_fd())?,
        };
        Ok(Self { fd: Arc::new(fd), resolver, mount })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Opens what lies at `path` (names joined by `/`, short enough for one call) beneath this directory.
    fn open(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        match self.resolver {
            Resolver::Openat2 => {
                let resolve = ResolveFlags::BENEATH
                    | ResolveFlags::NO_SYMLINKS
                    | ResolveFlags::NO_XDEV
                    | ResolveFlags::NO_MAGICLINKS;
                let mut races = 0;
                loop {
                    match rustix::fs::openat2(self.fd(), path, flags, Mode::empty(), resolve) {
                        Err(Errno::INTR) => {}
                        Err(Errno::AGAIN | Errno::XDEV) if races < RACES => races += 1,
                        other => return other,
                    }
                }
            }
            Resolver::PerComponent => {
                let mut held: Option<OwnedFd> = None;
                let mut names = path.split(|&b| b == b'/').peekable();
                while let Some(name) = names.next() {
                    let at = held.as_ref().map_or(self.fd(), AsFd::as_fd);
                    let flags = if names.peek().is_some() { PATH | OFlags::DIRECTORY } else { flags };
                    let next = retry(|| rustix::fs::openat(at, name, flags, Mode::empty()))?;
                    if mount_id(next.as_fd())? != self.mount {
                        return Err(Errno::XDEV);
                    }
                    held = Some(next);
                }
                held.ok_or(Errno::INVAL)
            }
        }
    }

    /// A directory some checked names further down; the joined names must fit in one call.
    pub(super) fn descend(&self, path: &[u8]) -> Result<Self, Errno> {
        let fd = self.open(path, PATH | OFlags::DIRECTORY)?;
        Ok(Self { fd: Arc::new(fd), resolver: self.resolver, mount: self.mount })
    }

    /// A directory in this one.
    pub(crate) fn dir(&self, name: &[u8]) -> Result<Self, Errno> {
        self.descend(checked(name)?)
    }

    /// `lstat` of a name.
    pub(crate) fn lstat(&self, name: &[u8]) -> Result<Stat, Errno> {
        rustix::fs::statat(self.fd(), checked(name)?, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// `lstat` of a name, `None` when there is nothing.
    pub(crate) fn lstat_opt(&self, name: &[u8]) -> Result<Option<Stat>, Errno> {
        match self.lstat(name) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// This directory's own state.
    pub(crate) fn stat(&self) -> Result<Stat, Errno> {
        rustix::fs::fstat(self.fd())
    }

    /// A descriptor of this directory for reading it and setting its metadata.
    pub(crate) fn readable(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        retry(|| rustix::fs::openat(self.fd(), c".", flags, Mode::empty()))
    }

    /// A descriptor of a file or fifo in this directory, for its metadata; never blocks.
    pub(crate) fn open_existing(&self, name: &[u8]) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC
            | OFlags::NOCTTY
            | OFlags::NOATIME;
        match self.open(checked(name)?, flags) {
            Err(Errno::PERM) => self.open(name, flags - OFlags::NOATIME),
            other => other,
        }
    }

    /// Makes a new file and opens it for writing; `EXIST` when there is anything of that name.
    pub(crate) fn create(&self, name: &[u8], mode: u16) -> Result<OwnedFd, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let name = checked(name)?;
        retry(|| rustix::fs::openat(self.fd(), name, flags, Mode::from_raw_mode(u32::from(mode))))
    }

    pub(crate) fn mkdir(&self, name: &[u8], mode: u16) -> Result<(), Errno> {
        rustix::fs::mkdirat(self.fd(), checked(name)?, Mode::from_raw_mode(u32::from(mode)))
    }

    pub(crate) fn symlink(&self, target: &[u8], name: &[u8]) -> Result<(), Errno> {
        rustix::fs::symlinkat(target, self.fd(), checked(name)?)
    }

    pub(crate) fn fifo(&self, name: &[u8]) -> Result<(), Errno> {
        let mode = Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(self.fd(), checked(name)?, rustix::fs::FileType::Fifo, mode, 0)
    }

    /// A second name for a file, symlink or fifo of this directory; links are not followed (input 12).
    pub(crate) fn link(&self, name: &[u8], to: &Self, to_name: &[u8]) -> Result<(), Errno> {
        rustix::fs::linkat(self.fd(), checked(name)?, to.fd(), checked(to_name)?, AtFlags::empty())
    }

    pub(crate) fn unlink(&self, name: &[u8]) -> Result<(), Errno> {
        rustix::fs::unlinkat(self.fd(), checked(name)?, AtFlags::empty())
    }

    pub(crate) fn rmdir(&self, name: &[u8]) -> Result<(), Errno> {
        rustix::fs::unlinkat(self.fd(), checked(name)?, AtFlags::REMOVEDIR)
    }

    /// Moves a name to another directory.
    pub(crate) fn rename(
        &self,
        name: &[u8],
        to: &Self,
        to_name: &[u8],
        overwrite: Overwrite,
    ) -> Result<(), Errno> {
        let (name, to_name) = (checked(name)?, checked(to_name)?);
        if overwrite == Overwrite::Yes {
            return rustix::fs::renameat(self.fd(), name, to.fd(), to_name);
        }
        match rustix::fs::renameat_with(self.fd(), name, to.fd(), to_name, RenameFlags::NOREPLACE) {
            // Some file systems lack the flag: looking first is the best that can be had there.
            Err(Errno::INVAL | Errno::NOSYS) => match to.lstat_opt(to_name)? {
                Some(_) => Err(Errno::EXIST),
                None => rustix::fs::renameat(self.fd(), name, to.fd(), to_name),
            },
            other => other,
        }
    }

    /// Swaps two names in one step; `INVAL` or `NOSYS` where the file system cannot.
    pub(crate) fn exchange(&self, name: &[u8], with: &Self, with_name: &[u8]) -> Result<(), Errno> {
        let (name, with_name) = (checked(name)?, checked(with_name)?);
        rustix::fs::renameat_with(self.fd(), name, with.fd(), with_name, RenameFlags::EXCHANGE)
    }

    /// Owner of a name that cannot be opened (a symlink).
    pub(super) fn chown(&self, name: &[u8], uid: Option<u32>, gid: Option<u32>) -> Result<(), Errno> {
        let (uid, gid) = (uid.map(Uid::from_raw), gid.map(Gid::from_raw));
        rustix::fs::chownat(self.fd(), checked(name)?, uid, gid, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Times of a name that cannot be opened (a symlink).
    pub(super) fn set_times(&self, name: &[u8], times: &Timestamps) -> Result<(), Errno> {
        rustix::fs::utimensat(self.fd(), checked(name)?, times, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Adds permission bits to something of ours that its mode shuts us out of, and returns its state before; nothing is changed
    /// when the bits are there. Works without read permission: through the magic link of a descriptor that was opened without
    /// following any.
    pub(crate) fn unlock(&self, name: &[u8], bits: u32) -> Result<Stat, Errno> {
        let fd = self.open(checked(name)?, PATH)?;
        add_bits(fd.as_fd(), bits)
    }

    /// [`Dir::unlock`] of this directory itself.
    pub(crate) fn unlock_self(&self, bits: u32) -> Result<Stat, Errno> {
        add_bits(self.fd(), bits)
    }

    /// Puts this directory's mode and mtime back to those of an earlier [`Dir::stat`].
    pub(crate) fn put_back(&self, before: &Stat) -> Result<(), Errno> {
        let fd = self.readable()?;
        let mode = before.st_mode & 0o7777;
        if self.stat()?.st_mode & 0o7777 != mode {
            rustix::fs::fchmod(&fd, Mode::from_raw_mode(mode))?;
        }
        super::settle::set_mtime(fd.as_fd(), super::mtime_of(before))
    }

    /// Makes a new directory of ours what it would be in an empty world: access lists and the set-group-id bit that it inherited
    /// from its parent would be inherited by what is made in it.
    pub(crate) fn become_private(&self) -> Result<(), Errno> {
        let fd = self.readable()?;
        for name in [c"system.posix_acl_default", c"system.posix_acl_access"] {
            match rustix::fs::fremovexattr(&fd, name) {
                Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
                Err(errno) => return Err(errno),
            }
        }
        rustix::fs::fchmod(&fd, Mode::from_raw_mode(0o700))
    }

    /// The names in this directory.
    pub(crate) fn names(&self) -> Result<Vec<Box<[u8]>>, Errno> {
        let fd = self.readable()?;
        let mut names = Vec::new();
        let mut buffer = Vec::with_capacity(32 << 10);
        let mut entries = rustix::fs::RawDir::new(fd, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(name.into());
            }
        }
        Ok(names)
    }
}

fn add_bits(fd: BorrowedFd<'_>, bits: u32) -> Result<Stat, Errno> {
    use std::os::fd::AsRawFd as _;
    let stat = rustix::fs::fstat(fd)?;
    let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
    if !matches!(kind, rustix::fs::FileType::RegularFile | rustix::fs::FileType::Directory) {
        return Err(Errno::INVAL);
    }
    let mode = stat.st_mode & 0o7777;
    if mode & bits != bits {
        // `fchmod` refuses O_PATH descriptors; their magic link names the very inode and follows nothing else.
        let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
        rustix::fs::chmod(link, Mode::from_raw_mode(mode | bits))?;
    }
    Ok(stat)
}

/// The id of the mount that a descriptor lies on: equal device numbers do not rule out a bind mount.
fn mount_id(fd: BorrowedFd<'_>) -> Result<u64, Errno> {
    let sx = rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?;
    Ok(sx.stx_mnt_id)
}
