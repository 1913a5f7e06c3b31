//! A disk that remembers each write and each flush: one file in a FUSE file system, used through a loop device.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use fuser::{
    BackgroundSession, FileAttr, FileType, Filesystem, MountOption, ReplyAttr, ReplyData, ReplyEmpty,
    ReplyEntry, ReplyWrite, Request,
};

use crate::machine;

/// What the disk was told to do.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// Bytes at an offset.
    Write(usize, Vec<u8>),
    /// Everything before has to last from now on.
    Flush,
}

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    log: Vec<Event>,
}

/// A mounted disk with its loop device.
pub(crate) struct LoggedDisk {
    state: Arc<Mutex<State>>,
    /// The loop device.
    pub(crate) device: PathBuf,
    session: Option<BackgroundSession>,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LoggedDisk {
    /// Makes a disk of zeros.
    pub(crate) fn new(at: &Path, length: usize) -> Result<Self> {
        let state = Arc::new(Mutex::new(State { bytes: vec![0; length], log: Vec::new() }));
        let files = Files { state: state.clone(), length: length as u64 };
        let options = [MountOption::FSName("soak-disk".to_owned())];
        let session = fuser::spawn_mount2(files, at, &options).context("mounting a FUSE file system")?;
        let made = machine::run(Command::new("losetup").args(["-f", "--show"]).arg(at.join("disk")));
        let device = PathBuf::from(made.context("making a loop device")?.trim());
        Ok(Self { state, device, session: Some(session) })
    }

    /// How many events there were.
    pub(crate) fn position(&self) -> usize {
        lock(&self.state).log.len()
    }

    /// The bytes as they are now; the log begins anew.
    pub(crate) fn begin(&self) -> Vec<u8> {
        let mut state = lock(&self.state);
        state.log.clear();
        state.bytes.clone()
    }

    /// Takes the disk away and gives what was logged. Nothing may be mounted from it.
    pub(crate) fn end(mut self) -> Result<Vec<Event>> {
        let log = std::mem::take(&mut lock(&self.state).log);
        machine::run(Command::new("losetup").arg("-d").arg(&self.device))?;
        drop(self.session.take());
        Ok(log)
    }
}

impl Drop for LoggedDisk {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            if let Err(error) = machine::run(Command::new("losetup").arg("-d").arg(&self.device)) {
                eprintln!("{error:#}");
            }
            drop(session);
        }
    }
}

/// The file system: a directory with the file `disk`.
struct Files {
    state: Arc<Mutex<State>>,
    length: u64,
}

const ROOT: u64 = 1;
const DISK: u64 = 2;
/// For ever: nobody but us changes anything.
const VALID: Duration = Duration::from_secs(1 << 30);
const NOT_FOUND: i32 = 2;

impl Files {
    fn attributes(&self, inode: u64) -> FileAttr {
        let (kind, size) =
            if inode == ROOT { (FileType::Directory, 0) } else { (FileType::RegularFile, self.length) };
        FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm: 0o700,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            flags: 0,
            blksize: 4096,
        }
    }
}

impl Filesystem for Files {
    fn lookup(&mut self, _: &Request<'_>, parent: u64, name: &OsStr, reply: ReplyEntry) {
        match parent == ROOT && name == "disk" {
            true => reply.entry(&VALID, &self.attributes(DISK), 0),
            false => reply.error(NOT_FOUND),
        }
    }

    fn getattr(&mut self, _: &Request<'_>, inode: u64, _: Option<u64>, reply: ReplyAttr) {
        reply.attr(&VALID, &self.attributes(inode));
    }

    #[allow(clippy::too_many_arguments, reason = "the trait's signature")]
    fn read(
        &mut self,
        _: &Request<'_>,
        _: u64,
        _: u64,
        offset: i64,
        size: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyData,
    ) {
        let state = lock(&self.state);
        let from = (offset.max(0) as usize).min(state.bytes.len());
        let to = (from + size as usize).min(state.bytes.len());
        reply.data(&state.bytes[from..to]);
    }

    #[allow(clippy::too_many_arguments, reason = "the trait's signature")]
    fn write(
        &mut self,
        _: &Request<'_>,
        _: u64,
        _: u64,
        offset: i64,
        data: &[u8],
        _: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyWrite,
    ) {
        let mut state = lock(&self.state);
        let from = (offset.max(0) as usize).min(state.bytes.len());
        let length = data.len().min(state.bytes.len() - from);
        state.bytes[from..from + length].copy_from_slice(&data[..length]);
        state.log.push(Event::Write(from, data[..length].to_vec()));
        reply.written(length as u32);
    }

    fn flush(&mut self, _: &Request<'_>, _: u64, _: u64, _: u64, reply: ReplyEmpty) {
        // What close(2) calls; it promises nothing.
        reply.ok();
    }

    fn fsync(&mut self, _: &Request<'_>, _: u64, _: u64, _: bool, reply: ReplyEmpty) {
        lock(&self.state).log.push(Event::Flush);
        reply.ok();
    }
}
