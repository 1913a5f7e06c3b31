//! Makes a sandbox's tree while the resource is walked: every file is read once, for the picture and for the copy (S5, W6).
//!
//! All writes go through the module that cannot leave its root. What lies here is private until the sandbox is shown to anybody.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;

use super::git_worktree::{check_file, check_link, may_lead};
use super::names::Mechanism;
use super::record::CopiedRecord;
use crate::error::{Code, Error};
use crate::file_limit::check_length;
use crate::model::{Meta, RelPath, Xattrs};
use crate::restore::{Dir, Refused, Root, remove_beneath, settle_directory, settle_link, settle_new};
use crate::tree::mirror::{Groups, Made, Mirror, MirrorDirectory, MirrorError, MirrorFile};
use crate::tree::{LOCAL_SLACK_NS, Stat, is_local, sys, xattr};

/// Shorter files are written: to share their blocks takes longer, and saves little.
const SHARE_FROM: u64 = 32 << 10;

/// How many absolute links are remembered one by one.
const LISTED_LINKS: usize = 100;

/// Makes the second tree beneath one directory.
pub(super) struct Copier {
    root: Root,
    share: bool,
    /// The resource's canonical path, as links would name it.
    resource: Vec<u8>,
    groups: Groups,
    trusted: bool,
    shared: AtomicU64,
    copied: AtomicU64,
    refused: AtomicU64,
    links: Mutex<(u64, Vec<RelPath>)>,
}

fn classify(errno: Errno) -> MirrorError {
    match errno {
        Errno::NOSPC
        | Errno::DQUOT
        | Errno::MFILE
        | Errno::NFILE
        | Errno::NOMEM
        | Errno::ROFS
        | Errno::IO => MirrorError::Fatal(Error::io("copying into the sandbox", errno)),
        // The tree is ours alone: either the file system there takes two names for one (input 30), or we are not alone after all.
        Errno::EXIST => MirrorError::Fatal(
            Error::new(
                Code::Conflict,
                "a name is there already in the unfinished sandbox",
                "give a location whose file system tells all names apart (`location`, --location)",
            )
            .because(std::io::Error::from(errno)),
        ),
        _ => MirrorError::Refused(errno),
    }
}

impl From<Errno> for MirrorError {
    fn from(errno: Errno) -> Self {
        classify(errno)
    }
}

impl Copier {
    /// `fd` is the sandbox's empty root.
    pub(super) fn new(root: Root, fd: &OwnedFd, mechanism: Mechanism, resource: &[u8]) -> Self {
        Self {
            root,
            share: mechanism == Mechanism::Reflink,
            resource: resource.to_vec(),
            groups: Groups::default(),
            trusted: is_local(fd),
            shared: AtomicU64::new(0),
            copied: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            links: Mutex::default(),
        }
    }

    /// Lets the file clock move on, so that no later write can have a timestamp that something has already.
    pub(super) fn let_clock_move(&self) {
        if !self.trusted {
            return;
        }
        let ns = || {
            let now = sys::file_clock();
            i128::from(now.sec) * 1_000_000_000 + i128::from(now.nsec)
        };
        let last = ns();
        while ns() - last <= i128::from(LOCAL_SLACK_NS) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// What was made how, and the first of the absolute links that lead back into the resource.
    pub(super) fn finish(self) -> (CopiedRecord, Vec<RelPath>) {
        let (absolute_links, mut links) = self.links.into_inner().unwrap_or_else(PoisonError::into_inner);
        links.sort();
        let record = CopiedRecord {
            shared_files: self.shared.into_inner(),
            copied_files: self.copied.into_inner(),
            refused_files: self.refused.into_inner(),
            absolute_links,
        };
        (record, links)
    }

    fn leads_back(&self, target: &[u8]) -> bool {
        target.strip_prefix(self.resource.as_slice()).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    }
}

fn made(fd: BorrowedFd<'_>, want: &Meta, refused: Refused) -> Result<Made, MirrorError> {
    let stat = rustix::fs::fstat(fd)?;
    let refused = refused.and(Refused::compare(&stat, want, false));
    let xattrs = if refused.xattrs { Some(xattr::read(fd)?) } else { None };
    Ok(Made { stat: Stat::from(stat), xattrs, refused: refused.words() })
}

fn wanted(xattrs: &Xattrs) -> Option<&Xattrs> {
    (!xattrs.0.is_empty()).then_some(xattrs)
}

impl Mirror for Copier {
    fn directory(&self, path: &RelPath) -> Result<Box<dyn MirrorDirectory + '_>, MirrorError> {
        if !path.is_root() {
            let (parent, name) = self.root.parent(path)?;
            parent.mkdir(name, 0o700)?;
        }
        let dir = self.root.dir(path)?;
        Ok(Box::new(CopyDirectory { copier: self, path: path.clone(), dir }))
    }

    fn settle(&self, path: &RelPath, want: &Meta, xattrs: &Xattrs) -> Result<Made, MirrorError> {
        let dir = self.root.dir(path)?;
        let refused = settle_directory(&dir, want, wanted(xattrs), false)?;
        let xattrs = if refused.xattrs { Some(xattr::read(dir.readable()?.as_fd())?) } else { None };
        Ok(Made { stat: Stat::from(dir.stat()?), xattrs, refused: refused.words() })
    }

    fn discard(&self, path: &RelPath) -> Result<(), MirrorError> {
        let dir = self.root.dir(path)?;
        for name in dir.names()? {
            dir.unlink(&name)?;
        }
        self.root.forget(path);
        let (parent, name) = self.root.parent(path)?;
        Ok(parent.rmdir(name)?)
    }

    fn start_over(&self) -> Result<(), Error> {
        self.root.forget(&RelPath::root());
        // The root may have got its own metadata already.
        let cleared = self.root.top().unlock_self(0o700).and_then(|_| remove_beneath(&self.root));
        cleared.map_err(|errno| Error::io("emptying an unfinished sandbox", errno).at(self.root.path()))?;
        self.groups.clear();
        for counter in [&self.shared, &self.copied, &self.refused] {
            counter.store(0, Ordering::Relaxed);
        }
        *self.links.lock().unwrap_or_else(PoisonError::into_inner) = (0, Vec::new());
        Ok(())
    }

    fn is_trusted(&self) -> bool {
        self.trusted
    }

    fn groups(&self) -> &Groups {
        &self.groups
    }
}

struct CopyDirectory<'a> {
    copier: &'a Copier,
    path: RelPath,
    dir: Dir,
}

impl MirrorDirectory for CopyDirectory<'_> {
    fn file(&self, name: &CStr, want: &Meta) -> Result<Box<dyn MirrorFile + '_>, MirrorError> {
        let name = name.to_bytes();
        let fd = self.dir.create(name, want.mode & 0o777)?;
        Ok(Box::new(CopyFile {
            copier: self.copier,
            dir: &self.dir,
            leads: may_lead(&self.path, name).then(|| self.path.clone()),
            name: name.into(),
            fd,
            end: AtomicU64::new(0),
            shares: AtomicBool::new(false),
            refused: AtomicBool::new(false),
            begun: AtomicBool::new(false),
            finished: AtomicBool::new(false),
        }))
    }

    fn symlink(&self, name: &CStr, target: &[u8], want: &Meta) -> Result<Made, MirrorError> {
        let name = name.to_bytes();
        check_link(&self.path, name, target).map_err(MirrorError::Fatal)?;
        self.dir.symlink(target, name)?;
        let refused = settle_link(&self.dir, name, want)?;
        if self.copier.leads_back(target) {
            let mut links = self.copier.links.lock().unwrap_or_else(PoisonError::into_inner);
            links.0 += 1;
            if links.1.len() < LISTED_LINKS {
                links.1.push(self.path.join(name));
            }
        }
        Ok(Made { stat: Stat::from(self.dir.lstat(name)?), xattrs: None, refused: refused.words() })
    }

    fn fifo(&self, name: &CStr, want: &Meta) -> Result<Made, MirrorError> {
        let name = name.to_bytes();
        self.dir.fifo(name)?;
        let fd = self.dir.open_existing(name)?;
        made(fd.as_fd(), want, settle_new(fd.as_fd(), want, None)?)
    }

    fn link(&self, first: &RelPath, name: &CStr) -> Result<Option<Stat>, MirrorError> {
        let (dir, first) = self.copier.root.parent(first)?;
        match dir.link(first, &self.dir, name.to_bytes()) {
            Ok(()) => Ok(Some(Stat::from(self.dir.lstat(name.to_bytes())?))),
            Err(Errno::MLINK | Errno::PERM | Errno::OPNOTSUPP | Errno::XDEV) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }
}

struct CopyFile<'a> {
    copier: &'a Copier,
    dir: &'a Dir,
    name: Box<[u8]>,
    /// The directory of a file that may lead git elsewhere.
    leads: Option<RelPath>,
    fd: OwnedFd,
    /// Where the written bytes end.
    end: AtomicU64,
    /// It has the source's blocks.
    shares: AtomicBool,
    /// It was to share them and could not.
    refused: AtomicBool,
    begun: AtomicBool,
    finished: AtomicBool,
}

impl MirrorFile for CopyFile<'_> {
    fn begin(&self, source: BorrowedFd<'_>, size: u64, may_share: bool) -> Result<(), MirrorError> {
        check_length(size)?;
        if self.begun.swap(true, Ordering::Relaxed) {
            sys::retry(|| rustix::fs::ftruncate(&self.fd, 0))?;
            self.end.store(0, Ordering::Relaxed);
        }
        let share = self.copier.share && may_share && size >= SHARE_FROM;
        let shares = share
            && match sys::retry(|| rustix::fs::ioctl_ficlone(&self.fd, source)) {
                Ok(()) => true,
                // Not every file can share (btrfs: those without checksums): it is written, and counted.
                Err(Errno::OPNOTSUPP | Errno::XDEV | Errno::INVAL | Errno::TXTBSY | Errno::PERM) => {
                    self.refused.store(true, Ordering::Relaxed);
                    false
                }
                Err(errno) => return Err(errno.into()),
            };
        self.shares.store(shares, Ordering::Relaxed);
        if shares {
            self.end.store(size, Ordering::Relaxed);
        }
        Ok(())
    }

    fn write(&self, bytes: &[u8], offset: u64) -> Result<(), MirrorError> {
        if self.shares.load(Ordering::Relaxed) {
            return Ok(());
        }
        check_length(offset.saturating_add(bytes.len() as u64))?;
        let mut at = offset;
        let mut rest = bytes;
        while !rest.is_empty() {
            let written = sys::retry(|| rustix::io::pwrite(&self.fd, rest, at))?;
            if written == 0 {
                return Err(Errno::IO.into());
            }
            rest = rest.get(written..).unwrap_or_default();
            at += written as u64;
        }
        self.end.fetch_max(at, Ordering::Relaxed);
        Ok(())
    }

    fn finish(&self, size: u64, want: &Meta, xattrs: &Xattrs) -> Result<Made, MirrorError> {
        if self.end.load(Ordering::Relaxed) != size {
            // It ends with a hole, or was cut off while it was read.
            check_length(size)?;
            sys::retry(|| rustix::fs::ftruncate(&self.fd, size))?;
        }
        if let Some(directory) = &self.leads {
            check_file(&self.copier.root, directory, &self.name).map_err(MirrorError::Fatal)?;
        }
        let refused = settle_new(self.fd.as_fd(), want, wanted(xattrs))?;
        let made = made(self.fd.as_fd(), want, refused)?;
        let counter =
            if self.shares.load(Ordering::Relaxed) { &self.copier.shared } else { &self.copier.copied };
        counter.fetch_add(1, Ordering::Relaxed);
        if self.refused.load(Ordering::Relaxed) {
            self.copier.refused.fetch_add(1, Ordering::Relaxed);
        }
        self.finished.store(true, Ordering::Relaxed);
        Ok(made)
    }
}

impl Drop for CopyFile<'_> {
    fn drop(&mut self) {
        if !self.finished.load(Ordering::Relaxed)
            && let Err(error) = self.dir.unlink(&self.name)
        {
            tracing::warn!(%error, "a file that could not be copied is left in the sandbox");
        }
    }
}
