//! A directory as another file system shows it: read-only, with the same bytes and metadata, but every read gives a part of what was
//! asked for, down to a byte, as the standard allows. The kernel hands that on, because the files are opened past its page cache.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use fuser::{
    BackgroundSession, FileAttr, FileType, Filesystem, MountOption, ReplyAttr, ReplyData, ReplyDirectory,
    ReplyEntry, ReplyLseek, ReplyOpen, ReplyXattr, Request,
};
use rustix::io::Errno;

/// How many reads there were, and how many of them came short although there was more.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    pub(crate) all: AtomicU64,
    pub(crate) short: AtomicU64,
}

/// A mounted mirror that goes with this value.
pub(crate) struct Mirror {
    pub(crate) reads: Arc<Reads>,
    _session: BackgroundSession,
}

impl Mirror {
    /// Shows `of` at `at`.
    pub(crate) fn new(of: &Path, at: &Path) -> Result<Self> {
        let reads = Arc::new(Reads::default());
        let files = Files {
            paths: HashMap::from([(ROOT, of.to_owned())]),
            numbers: HashMap::new(),
            random: 0x2545_f491_4f6c_dd1d,
            reads: reads.clone(),
        };
        let options = [MountOption::FSName("soak-mirror".to_owned()), MountOption::RO];
        let session = fuser::spawn_mount2(files, at, &options).context("mounting a FUSE file system")?;
        Ok(Self { reads, _session: session })
    }
}

const ROOT: u64 = 1;
/// Past the page cache: what a read gives is what the program gets.
const DIRECT: u32 = 1;
/// Nothing is remembered: the directory may change.
const NOT_AT_ALL: Duration = Duration::ZERO;

struct Files {
    paths: HashMap<u64, PathBuf>,
    /// The number that each inode has here: names of one inode are names of one inode here as well.
    numbers: HashMap<(u64, u64), u64>,
    random: u64,
    reads: Arc<Reads>,
}

/// The system's number of an error.
fn number(error: &std::io::Error) -> i32 {
    error.raw_os_error().unwrap_or(Errno::IO.raw_os_error())
}

fn time(seconds: i64, nanoseconds: i64) -> SystemTime {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let at = if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
    at.unwrap_or(UNIX_EPOCH) + Duration::from_nanos(nanoseconds.unsigned_abs())
}

fn kind(of: fs::FileType) -> FileType {
    if of.is_dir() {
        FileType::Directory
    } else if of.is_symlink() {
        FileType::Symlink
    } else if of.is_fifo() {
        FileType::NamedPipe
    } else if of.is_socket() {
        FileType::Socket
    } else {
        FileType::RegularFile
    }
}

impl Files {
    fn at(&self, inode: u64) -> std::io::Result<PathBuf> {
        self.paths.get(&inode).cloned().ok_or_else(|| Errno::STALE.into())
    }

    /// The attributes of a path, which its number leads to from now on.
    fn attributes(&mut self, path: PathBuf) -> std::io::Result<FileAttr> {
        let stat = fs::symlink_metadata(&path)?;
        let next = self.numbers.len() as u64 + ROOT + 1;
        let is_root = self.paths.get(&ROOT) == Some(&path);
        let inode = match is_root {
            true => ROOT,
            false => *self.numbers.entry((stat.dev(), stat.ino())).or_insert(next),
        };
        self.paths.insert(inode, path);
        Ok(FileAttr {
            ino: inode,
            size: stat.len(),
            blocks: stat.blocks(),
            atime: time(stat.atime(), stat.atime_nsec()),
            mtime: time(stat.mtime(), stat.mtime_nsec()),
            ctime: time(stat.ctime(), stat.ctime_nsec()),
            crtime: UNIX_EPOCH,
            kind: kind(stat.file_type()),
            perm: (stat.mode() & 0o7777) as u16,
            nlink: stat.nlink() as u32,
            uid: stat.uid(),
            gid: stat.gid(),
            rdev: stat.rdev() as u32,
            blksize: 4096,
            flags: 0,
        })
    }

    /// A part of what is there at an offset.
    fn part(&mut self, inode: u64, offset: u64, size: usize) -> std::io::Result<Vec<u8>> {
        let file = File::open(self.at(inode)?)?;
        let mut bytes = vec![0; size];
        let mut length = 0;
        while length < size {
            match file.read_at(&mut bytes[length..], offset + length as u64)? {
                0 => break,
                more => length += more,
            }
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        // A byte now and then, mostly about half; the end of the file only where it is.
        let part = match self.random % 4 {
            0 => 1,
            1 => length,
            _ => (self.random >> 8) as usize % length.max(1) + 1,
        };
        bytes.truncate(part.min(length));
        self.reads.all.fetch_add(1, Ordering::Relaxed);
        self.reads.short.fetch_add(u64::from(bytes.len() < length), Ordering::Relaxed);
        Ok(bytes)
    }

    fn names(&mut self, inode: u64) -> std::io::Result<Vec<(u64, FileType, std::ffi::OsString)>> {
        let directory = self.at(inode)?;
        let mut all =
            vec![(inode, FileType::Directory, ".".into()), (inode, FileType::Directory, "..".into())];
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            let attributes = self.attributes(entry.path())?;
            all.push((attributes.ino, attributes.kind, entry.file_name()));
        }
        Ok(all)
    }
}

/// What a call about attributes gives: how long it is, or the bytes when there is room for them.
fn give(result: Result<Vec<u8>, Errno>, size: u32, reply: ReplyXattr) {
    match result {
        Ok(bytes) if size == 0 => reply.size(bytes.len() as u32),
        Ok(bytes) if bytes.len() <= size as usize => reply.data(&bytes),
        Ok(_) => reply.error(Errno::RANGE.raw_os_error()),
        Err(errno) => reply.error(errno.raw_os_error()),
    }
}

impl Filesystem for Files {
    fn lookup(&mut self, _: &Request<'_>, parent: u64, name: &OsStr, reply: ReplyEntry) {
        match self.at(parent).and_then(|parent| self.attributes(parent.join(name))) {
            Ok(attributes) => reply.entry(&NOT_AT_ALL, &attributes, 0),
            Err(error) => reply.error(number(&error)),
        }
    }

    fn getattr(&mut self, _: &Request<'_>, inode: u64, _: Option<u64>, reply: ReplyAttr) {
        match self.at(inode).and_then(|path| self.attributes(path)) {
            Ok(attributes) => reply.attr(&NOT_AT_ALL, &attributes),
            Err(error) => reply.error(number(&error)),
        }
    }

    fn readlink(&mut self, _: &Request<'_>, inode: u64, reply: ReplyData) {
        match self.at(inode).and_then(fs::read_link) {
            Ok(target) => reply.data(target.as_os_str().as_bytes()),
            Err(error) => reply.error(number(&error)),
        }
    }

    fn open(&mut self, _: &Request<'_>, _: u64, _: i32, reply: ReplyOpen) {
        reply.opened(0, DIRECT);
    }

    #[allow(clippy::too_many_arguments, reason = "the trait's signature")]
    fn read(
        &mut self,
        _: &Request<'_>,
        inode: u64,
        _: u64,
        offset: i64,
        size: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyData,
    ) {
        match self.part(inode, offset.max(0) as u64, size as usize) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(number(&error)),
        }
    }

    fn readdir(&mut self, _: &Request<'_>, inode: u64, _: u64, offset: i64, mut reply: ReplyDirectory) {
        match self.names(inode) {
            Ok(names) => {
                for (at, (inode, kind, name)) in names.into_iter().enumerate().skip(offset.max(0) as usize) {
                    if reply.add(inode, at as i64 + 1, kind, name) {
                        break;
                    }
                }
                reply.ok();
            }
            Err(error) => reply.error(number(&error)),
        }
    }

    fn getxattr(&mut self, _: &Request<'_>, inode: u64, name: &OsStr, size: u32, reply: ReplyXattr) {
        let mut value = vec![0; 64 << 10];
        let result = self.at(inode).map_err(|_| Errno::STALE).and_then(|path| {
            let length = rustix::fs::lgetxattr(path, name, &mut value[..])?;
            value.truncate(length);
            Ok(value)
        });
        give(result, size, reply);
    }

    fn listxattr(&mut self, _: &Request<'_>, inode: u64, size: u32, reply: ReplyXattr) {
        let mut names = vec![0; 64 << 10];
        let result = self.at(inode).map_err(|_| Errno::STALE).and_then(|path| {
            let length = rustix::fs::llistxattr(path, &mut names[..])?;
            names.truncate(length);
            Ok(names)
        });
        give(result, size, reply);
    }

    fn lseek(&mut self, _: &Request<'_>, inode: u64, _: u64, offset: i64, whence: i32, reply: ReplyLseek) {
        use rustix::fs::SeekFrom;
        const SEEK_DATA: i32 = 3;
        let offset = offset.max(0) as u64;
        let to = if whence == SEEK_DATA { SeekFrom::Data(offset) } else { SeekFrom::Hole(offset) };
        let file = self.at(inode).and_then(File::open);
        match file.and_then(|file| Ok(rustix::fs::seek(file, to)?)) {
            Ok(at) => reply.offset(at as i64),
            Err(error) => reply.error(number(&error)),
        }
    }
}
