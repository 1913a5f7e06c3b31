//! The reference that the goals are ratios of: list every directory and `fstatat` every name, on two threads, and nothing else.
//!
//! Directories are opened by name in their parent's descriptor, names are read with `getdents64` into a 32 KiB buffer, and every path
//! is examined exactly once: child directories by `fstat` of the descriptor that lists them.

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use rayon::Scope;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir};
use rustix::io::Errno;

/// What a walk saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// Paths of every kind, the root among them.
    pub paths: u64,
    /// Directories, the root among them.
    pub directories: u64,
    /// Lengths of the regular files, added up over all names.
    pub bytes: u64,
}

/// A walker with its threads, so that starting them is not measured.
#[derive(Debug)]
pub struct StatWalk {
    pool: rayon::ThreadPool,
}

/// As many as `performance.md`'s limit was measured with.
const THREADS: usize = 2;
const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

#[derive(Default)]
struct Shared {
    paths: AtomicU64,
    directories: AtomicU64,
    bytes: AtomicU64,
    error: Mutex<Option<Errno>>,
}

impl StatWalk {
    /// Starts the threads.
    ///
    /// # Errors
    /// When the system has none left.
    pub fn new() -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(THREADS)
            .build()
            .context("starting the threads of the reference walk")?;
        Ok(Self { pool })
    }

    /// Walks a directory.
    ///
    /// # Errors
    /// The first error of the system: a reference that skips paths would be too fast.
    pub fn run(&self, root: &Path) -> Result<Seen> {
        let fd = rustix::fs::open(root, DIRECTORY, Mode::empty())
            .with_context(|| format!("opening {}", root.display()))?;
        let shared = Shared::default();
        self.pool.in_place_scope(|scope| {
            let shared = &shared;
            scope.spawn(move |scope| shared.note(list(shared, scope, fd)));
        });
        if let Some(errno) = shared.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(errno).context("walking");
        }
        Ok(Seen {
            paths: shared.paths.into_inner(),
            directories: shared.directories.into_inner(),
            bytes: shared.bytes.into_inner(),
        })
    }
}

impl Shared {
    fn note(&self, result: Result<(), Errno>) {
        if let Err(errno) = result {
            self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(errno);
        }
    }
}

fn enter<'s>(shared: &'s Shared, scope: &Scope<'s>, parent: &OwnedFd, name: &CStr) -> Result<(), Errno> {
    list(shared, scope, rustix::fs::openat(parent, name, DIRECTORY, Mode::empty())?)
}

fn list<'s>(shared: &'s Shared, scope: &Scope<'s>, fd: OwnedFd) -> Result<(), Errno> {
    let mut seen = Seen { paths: 1, directories: 1, bytes: 0 };
    rustix::fs::fstat(&fd)?;
    let mut children: Vec<CString> = Vec::new();
    let mut buffer = [MaybeUninit::<u8>::uninit(); 32 << 10];
    let mut entries = RawDir::new(fd.as_fd(), &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        if entry.file_type() == FileType::Directory {
            children.push(name.to_owned());
            continue;
        }
        let stat = rustix::fs::statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW)?;
        seen.paths += 1;
        if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
            seen.bytes += u64::try_from(stat.st_size).unwrap_or_default();
        }
    }
    shared.paths.fetch_add(seen.paths, Ordering::Relaxed);
    shared.directories.fetch_add(seen.directories, Ordering::Relaxed);
    shared.bytes.fetch_add(seen.bytes, Ordering::Relaxed);
    if !children.is_empty() {
        let fd = Arc::new(fd);
        for name in children {
            let fd = fd.clone();
            scope.spawn(move |scope| shared.note(enter(shared, scope, &fd, &name)));
        }
    }
    Ok(())
}
