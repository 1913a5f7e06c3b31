//! The walk: one pass over a workspace that stores what changed and says what the tree is.
//!
//! Every directory is a task of its own; the last child to finish completes its parent, so that neither the stack nor the number
//! of open descriptors grows with the depth of the tree.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;

use super::collect::{Collector, Totals};
use super::dir_task::{self, Directory};
use super::exclude::{IgnoreChain, Rules};
use super::mirror::Mirror;
use super::stat::Stat;
use super::stat_cache::{CacheReader, CacheRef, CacheWriter};
use super::sys;
use crate::context::{Context, Progress};
use crate::error::{Code, Error, Result};
use crate::model::{FileKind, Meta, Objects, Picture, RelPath, Sink, Timestamp, Uncovered};

/// What ends a walk that grows too large.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// More paths than this fail with `TOO_BROAD` (C16).
    pub max_files: Option<u64>,
}

/// Tells whether the caller wants to hear of a name in a directory.
pub type Notices = fn(&RelPath, &[u8], FileKind) -> bool;

/// A second stat cache: of the tree that is read, where the picture is another one's that is equal to it.
pub struct SourceCache<'a> {
    /// Takes its records.
    pub writer: &'a dyn CacheWriter,
    /// The file clock when the two were equal; `None` when that is while they are read.
    pub clock: Option<Timestamp>,
}

/// Everything a walk needs.
pub struct Walk<'a> {
    /// The root directory, opened by [`sys::open_root`].
    pub root: OwnedFd,
    /// The last checkpoint's stat cache and its root record.
    pub cache: Option<(&'a dyn CacheReader, CacheRef)>,
    /// Where the last checkpoint's manifests are read from.
    pub objects: &'a dyn Objects,
    /// Where the new stat cache goes; `None` when none is wanted.
    pub new_cache: Option<&'a dyn CacheWriter>,
    /// What is learned of the tree that is read, where it is not the one that is pictured.
    pub source_cache: Option<SourceCache<'a>>,
    /// Where contents and manifests go.
    pub sink: &'a dyn Sink,
    /// What is left out.
    pub rules: &'a Rules,
    /// When to give up.
    pub limits: Limits,
    /// Read every file again, whatever the timestamps say (input 49).
    pub strict: bool,
    /// Paths that are walked although an ignore file names them: those that the checkpoint has to which a workspace is compared.
    pub covered: Option<&'a (dyn Fn(&RelPath) -> bool + Sync)>,
    /// Which paths are listed in [`Walked::noticed`].
    pub notices: Option<Notices>,
    /// Names directly in the root that are ours and no part of the workspace: staging directories that the store remembers.
    pub ours: &'a [Vec<u8>],
    /// Cancel, deadline, progress.
    pub ctx: &'a Context,
}

/// What a walk found.
#[derive(Debug)]
pub struct Walked {
    /// The tree.
    pub picture: Picture,
    /// Counts.
    pub totals: Totals,
    /// All uncovered paths, sorted.
    pub uncovered: Vec<Uncovered>,
    /// The paths that the caller wanted to hear of, sorted.
    pub noticed: Vec<RelPath>,
    /// The new root record of the stat cache, where one was wanted.
    pub cache: Option<CacheRef>,
    /// The root record of the second stat cache, where one was wanted.
    pub source_cache: Option<CacheRef>,
    /// The root's inode state.
    pub root_stat: Stat,
}

/// Open directories that may be waiting for their children; beyond it, children are opened again from the root.
const OPEN_DIRECTORIES: usize = 256;

/// As many of them as the process may have open files, with most left to others (inputs 37, 66).
fn open_directories() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.and_then(|n| usize::try_from(n / 4).ok()).map_or(OPEN_DIRECTORIES, |n| n.clamp(1, OPEN_DIRECTORIES))
}

pub(super) struct Shared<'a> {
    pub(super) walk: Walk<'a>,
    /// Makes a second tree of what is read.
    pub(super) mirror: Option<&'a dyn Mirror>,
    pub(super) collector: Collector,
    /// Timestamps younger than this before "now" are not trusted, in nanoseconds.
    pub(super) slack_ns: i64,
    open: AtomicUsize,
    max_open: usize,
    failed: AtomicBool,
    error: Mutex<Option<Error>>,
    pub(super) outcome: Mutex<Option<dir_task::Finished>>,
}

impl<'a> Walk<'a> {
    /// Walks on the threads of `pool`.
    ///
    /// # Errors
    /// `ABORTED`, `TIMED_OUT`, `TOO_BROAD`, the sink's errors, and the system's errors that concern the walk as a whole. Errors that
    /// concern one path make it uncovered instead.
    pub fn run(self, pool: &rayon::ThreadPool) -> Result<Walked> {
        self.run_with(pool, None)
    }

    /// As [`Walk::run`], and makes a second tree of what is read; the picture is that of the second tree. The walk must have no cache:
    /// what is not read cannot be made.
    ///
    /// # Errors
    /// As [`Walk::run`], and those of the mirror that concern the work as a whole.
    pub fn run_mirrored(self, pool: &rayon::ThreadPool, mirror: &'a dyn Mirror) -> Result<Walked> {
        self.run_with(pool, Some(mirror))
    }

    fn run_with(self, pool: &rayon::ThreadPool, mirror: Option<&'a dyn Mirror>) -> Result<Walked> {
        let slack_ns = slack_of(&self.root);
        let cached = self.cache.map(|(_, at)| at);
        let root = self.root.try_clone().map_err(|e| Error::io("duplicating the root's descriptor", e))?;
        let shared = Shared {
            walk: self,
            mirror,
            collector: Collector::default(),
            slack_ns,
            open: AtomicUsize::new(1),
            max_open: open_directories(),
            failed: AtomicBool::new(false),
            error: Mutex::new(None),
            outcome: Mutex::new(None),
        };
        let directory = Directory::root(root, cached);
        pool.in_place_scope(|scope| {
            let shared = &shared;
            scope.spawn(move |scope| dir_task::run(shared, scope, directory, IgnoreChain::default()));
        });
        if let Some(error) = shared.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let finished = shared.outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Some(finished) = finished else {
            return Err(Error::new(Code::Io, "the walk ended without a result", "please report this"));
        };
        let totals = shared.collector.totals();
        let noticed = shared.collector.noticed();
        let (links, uncovered) = shared.collector.finish();
        let root = Meta { xattrs: finished.xattrs, ..finished.stat.meta() };
        Ok(Walked {
            picture: Picture { root, manifest: finished.manifest, links },
            totals,
            uncovered,
            noticed,
            cache: shared.walk.new_cache.map(|_| finished.cache),
            source_cache: shared.walk.source_cache.as_ref().map(|_| finished.source.child),
            root_stat: finished.stat,
        })
    }
}

impl Shared<'_> {
    /// Ends the walk with an error; the first one counts.
    pub(super) fn fail(&self, error: Error) {
        let mut slot = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        slot.get_or_insert(error);
        self.failed.store(true, Ordering::Release);
    }

    /// Whether the walk has to stop, without looking at the clock.
    pub(super) fn stopped(&self) -> bool {
        if self.walk.ctx.cancel.is_cancelled()
            && !self.failed.load(Ordering::Acquire)
            && let Err(error) = self.walk.ctx.check()
        {
            self.fail(error);
        }
        self.failed.load(Ordering::Acquire)
    }

    /// Whether the walk has to stop, with a look at the clock.
    pub(super) fn check(&self) -> bool {
        if let Err(error) = self.walk.ctx.check() {
            self.fail(error);
        }
        self.stopped()
    }

    /// Counts covered paths, tells the listener, and ends the walk when there are too many.
    pub(super) fn count(&self, files: u64, bytes: u64) {
        let now = self.collector.count(files, bytes);
        if let Some(max) = self.walk.limits.max_files.filter(|&max| now > max) {
            self.fail(Error::new(
                Code::TooBroad,
                format!("the workspace has more than {max} paths"),
                "choose a narrower directory, exclude large parts, or raise the limit",
            ));
        }
        if now / 1024 != (now - files) / 1024 {
            let bytes = self.collector.totals().bytes;
            self.walk.ctx.report(Progress { phase: "scan", done: now, total: None, bytes });
        }
    }

    /// Lists a path if the caller wants to hear of it.
    pub(super) fn notice(&self, directory: &RelPath, name: &[u8], kind: FileKind) {
        if self.walk.notices.is_some_and(|wants| wants(directory, name, kind)) {
            self.collector.notice(directory.join(name));
        }
    }

    pub(super) fn uncovered(&self, item: Uncovered) {
        self.collector.uncovered(item);
    }

    /// Whether an inode's timestamps are old enough that a later change must move them (racy timestamps).
    pub(super) fn trusts(&self, ctime: Timestamp, clock: Timestamp) -> bool {
        let age = (i128::from(clock.sec) - i128::from(ctime.sec)) * 1_000_000_000
            + (i128::from(clock.nsec) - i128::from(ctime.nsec));
        age > i128::from(self.slack_ns)
    }

    /// As [`Shared::trusts`], for the tree that is read where the picture is another one's.
    pub(super) fn trusts_source(&self, ctime: Timestamp, clock: Timestamp) -> bool {
        let equal_at = self.walk.source_cache.as_ref().and_then(|source| source.clock);
        self.trusts(ctime, equal_at.unwrap_or(clock))
    }

    /// Takes a place among the open directories; `false` when there is none.
    pub(super) fn keep_open(&self) -> bool {
        self.open.fetch_add(1, Ordering::Relaxed) < self.max_open
    }

    pub(super) fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Opens a directory from the root, name by name.
    pub(super) fn reopen(&self, path: &RelPath) -> Result<OwnedFd, Errno> {
        use std::os::fd::AsFd;
        let mut fd: Option<OwnedFd> = None;
        for name in path.names() {
            let name = std::ffi::CString::new(name).map_err(|_| Errno::INVAL)?;
            let parent = fd.as_ref().map_or(self.walk.root.as_fd(), AsFd::as_fd);
            fd = Some(sys::open_directory(parent, &name)?);
        }
        fd.map_or_else(|| rustix::io::fcntl_dupfd_cloexec(&self.walk.root, 3), Ok)
    }
}

/// How long timestamps stay doubtful: local file systems stamp with the kernel's coarse clock (at most 10 ms behind); others may
/// have a clock of their own or seconds of granularity.
fn slack_of(root: &OwnedFd) -> i64 {
    if is_local(root) { LOCAL_SLACK_NS } else { 2_100_000_000 }
}

/// How far the file clock of a local file system can stand still, in nanoseconds.
pub(crate) const LOCAL_SLACK_NS: i64 = 10_000_000;

/// Whether a directory lies on a file system that stamps with the kernel's coarse clock.
#[must_use]
pub fn is_local(root: &OwnedFd) -> bool {
    const LOCAL: [u64; 7] = [
        0xef53,      // ext2, ext3, ext4
        0x5846_5342, // XFS
        0x9123_683e, // btrfs
        0x0102_1994, // tmpfs
        0x794c_7630, // overlay
        0xf2f5_2010, // F2FS
        0x2fc1_2fc1, // ZFS
    ];
    rustix::fs::fstatfs(root).is_ok_and(|fs| LOCAL.contains(&(fs.f_type as u64)))
}
