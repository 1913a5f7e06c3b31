//! One directory of a walk: open, compare with the cache, read what changed, hand the result to the parent.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::Scope;
use rustix::io::Errno;

use super::content::Failure;
use super::exclude::IgnoreChain;
use super::list::{self, Slot};
use super::mirror::{Mirror, MirrorError};
use super::mirrored::{refused_directory, settled};
use super::source::{Source, source_of};
use super::stat::Stat;
use super::stat_cache::{self, CacheRef, Known, Listing, Record};
use super::walk::Shared;
use super::{sys, xattr};
use crate::error::{Error, Result};
use crate::model::{Entry, FileKind, Hash, Meta, Node, Reason, RelPath, Uncovered, Xattrs};

/// A directory on its way through the walk.
pub(super) struct Directory {
    up: Option<Up>,
    path: RelPath,
    name: CString,
    /// The record that the last checkpoint left of it.
    cached: Option<CacheRef>,
    fd: Mutex<Option<Arc<OwnedFd>>>,
    /// Children that have not opened their own descriptor yet; the last one closes ours.
    unopened: AtomicUsize,
    /// Children that are not finished, plus one for the directory itself.
    pending: AtomicUsize,
    state: Mutex<Option<State>>,
}

struct Up {
    parent: Arc<Directory>,
    slot: usize,
    /// What the parent's cached record says of this directory.
    known: Option<Known>,
}

struct State {
    stat: Stat,
    trusted: bool,
    listing_trusted: bool,
    ignore_fingerprint: u64,
    record: Option<Record>,
    /// The extended attributes, where the inode is not as the parent's record has it.
    xattrs: Option<Hash>,
    /// The same by value, for a second tree.
    wanted: Xattrs,
    same_inode: bool,
    /// The directory that was read, where the picture is another one's.
    source: Option<Source>,
    contents: Contents,
}

enum Contents {
    /// Nothing in the directory itself changed; the children that did, by their place in the record.
    Same { changed: Vec<(usize, ChildResult)> },
    /// Read anew, name by name.
    Fresh { slots: Vec<Slot> },
}

enum ChildResult {
    Finished(Finished),
    Uncovered(Entry),
    Gone,
}

/// What a directory hands to its parent.
#[derive(Debug, Clone)]
pub(super) struct Finished {
    pub(super) stat: Stat,
    pub(super) trusted: bool,
    pub(super) manifest: Hash,
    pub(super) cache: CacheRef,
    /// What the stat cache of the tree that is read will say, where the picture is another one's.
    pub(super) source: Known,
    pub(super) xattrs: Option<Hash>,
    /// Extended attributes are as the parent's record has them; `xattrs` says nothing.
    same_xattrs: bool,
    /// Manifest, record and inode are as the parent's record has them.
    unchanged: bool,
}

impl State {
    /// Settles the directory's twin in the second tree and takes over its state.
    fn become_made(&mut self, shared: &Shared<'_>, mirror: &dyn Mirror, directory: &Directory) -> Result<()> {
        let made = match mirror.settle(&directory.path, &self.stat.meta(), &self.wanted) {
            Ok(made) => made,
            Err(MirrorError::Fatal(error)) => return Err(error),
            Err(MirrorError::Refused(errno)) => {
                return Err(Error::io(format!("settling the copied directory `{}`", directory.path), errno));
            }
        };
        let (meta, stat) = settled(shared, || directory.path.clone(), made, self.xattrs)?;
        self.source = Some(Source {
            stat: self.stat,
            listing_trusted: self.listing_trusted,
            trusted: self.listing_trusted && meta == Meta { xattrs: self.xattrs, ..self.stat.meta() },
        });
        self.stat = stat;
        self.xattrs = meta.xattrs;
        self.trusted = mirror.is_trusted();
        self.listing_trusted = self.trusted;
        Ok(())
    }
}

impl Directory {
    pub(super) fn root(fd: OwnedFd, cached: Option<CacheRef>) -> Arc<Self> {
        Self::new(None, RelPath::root(), CString::default(), cached, Some(fd))
    }

    fn new(
        up: Option<Up>,
        path: RelPath,
        name: CString,
        cached: Option<CacheRef>,
        fd: Option<OwnedFd>,
    ) -> Arc<Self> {
        Arc::new(Self {
            up,
            path,
            name,
            cached,
            fd: Mutex::new(fd.map(Arc::new)),
            unopened: AtomicUsize::new(0),
            pending: AtomicUsize::new(1),
            state: Mutex::new(None),
        })
    }

    fn state(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_fd(&self) -> Option<Arc<OwnedFd>> {
        self.fd.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn held_fd(&self) -> Option<Arc<OwnedFd>> {
        self.fd.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens this directory through its parent.
    fn open(&self, shared: &Shared<'_>) -> Result<Arc<OwnedFd>, Errno> {
        let Some(up) = &self.up else {
            return self.held_fd().ok_or(Errno::BADF);
        };
        let opened = match up.parent.held_fd() {
            Some(parent) => sys::open_directory(parent.as_fd(), &self.name),
            None => shared.reopen(&self.path),
        };
        if up.parent.unopened.fetch_sub(1, Ordering::AcqRel) == 1 && up.parent.take_fd().is_some() {
            shared.closed();
        }
        opened.map(Arc::new)
    }
}

/// Handles one directory, spawns its children, and completes it when it has none.
pub(super) fn run<'s>(
    shared: &'s Shared<'_>,
    scope: &Scope<'s>,
    directory: Arc<Directory>,
    ignore: IgnoreChain,
) {
    let result = if shared.check() { Ok(None) } else { enter(shared, scope, &directory, &ignore) };
    match result {
        Ok(None) => complete(shared, directory),
        Ok(Some(replacement)) => hand_up(shared, directory, replacement),
        Err(error) => {
            shared.fail(error);
            complete(shared, directory);
        }
    }
}

/// Reads the directory itself. `Some` when there is no directory to read after all.
fn enter<'s>(
    shared: &'s Shared<'_>,
    scope: &Scope<'s>,
    directory: &Arc<Directory>,
    ignore: &IgnoreChain,
) -> Result<Option<ChildResult>> {
    let clock = sys::file_clock();
    let fd = match directory.open(shared) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return Ok(Some(ChildResult::Gone)),
        Err(errno) => return uncovered(shared, directory, errno).map(Some),
    };
    let stat = match sys::stat_fd(fd.as_fd()) {
        Ok(stat) => stat,
        Err(errno) => return uncovered(shared, directory, errno).map(Some),
    };
    let ignore = match list::ignore_file(shared, fd.as_fd(), &directory.path, ignore)? {
        Some(longer) => longer,
        None => ignore.clone(),
    };
    let record = directory
        .cached
        .and_then(|at| shared.walk.cache.and_then(|(cache, _)| cache.read(at)))
        .and_then(Record::parse);
    let same_names = record.as_ref().is_some_and(|r| {
        let l = &r.listing;
        l.trusted
            && l.ino == stat.ino
            && l.mtime == stat.mtime
            && l.ctime == stat.ctime
            && l.ignore_fingerprint == ignore.fingerprint()
    });
    let trusted = shared.trusts(stat.ctime, clock);
    let mut state = State {
        stat,
        trusted,
        listing_trusted: trusted,
        ignore_fingerprint: ignore.fingerprint(),
        record,
        xattrs: None,
        wanted: Xattrs::default(),
        same_inode: false,
        source: None,
        contents: Contents::Same { changed: Vec::new() },
    };
    let into = match shared.mirror.map(|mirror| mirror.directory(&directory.path)).transpose() {
        Ok(into) => into,
        Err(error) => {
            refused_directory(shared, &directory.path, error)?;
            return Ok(Some(ChildResult::Gone));
        }
    };
    let scan = list::Scan {
        shared,
        fd: fd.as_fd(),
        path: &directory.path,
        ignore: &ignore,
        clock,
        into: into.as_deref(),
    };
    let mut children = Vec::new();
    let unchanged = same_names && !shared.walk.strict && {
        let record = state.record.as_ref();
        record.is_some_and(|record| scan.all_unchanged(record, &mut children))
    };
    if !unchanged {
        children.clear();
        let slots = match scan.read_again(state.record.as_ref(), same_names) {
            Ok(slots) => slots,
            Err(list::ListError::Listing(errno)) => {
                if let Some(mirror) = shared.mirror
                    && let Err(error) = mirror.discard(&directory.path)
                {
                    refused_directory(shared, &directory.path, error)?;
                }
                return uncovered(shared, directory, errno).map(Some);
            }
            Err(list::ListError::Fatal(error)) => return Err(error),
        };
        children.extend(slots.iter().enumerate().filter(|(_, s)| s.is_child()).map(|(i, _)| i));
        // Names may have come and gone while they were looked at: then the later timestamps count, and the list is not trusted.
        if let Ok(after) = sys::stat_fd(fd.as_fd()) {
            let is_same = after.ctime == state.stat.ctime && after.mtime == state.stat.mtime;
            state.listing_trusted &= is_same;
            state.trusted &= is_same;
            state.stat = after;
        }
        state.contents = Contents::Fresh { slots };
    }
    let known = directory.up.as_ref().and_then(|up| up.known);
    state.same_inode = known.is_some_and(|k| k.trusted && k.stat.same_inode_state(&state.stat));
    if !state.same_inode {
        let read = xattr::read(fd.as_fd()).map_err(Failure::from);
        let stored = read.and_then(|xattrs| Ok((put_xattrs(shared, &xattrs)?, xattrs)));
        state.xattrs = match stored {
            Ok((hash, xattrs)) => {
                state.wanted = xattrs;
                hash
            }
            Err(Failure::File(errno) | Failure::Mirror(errno)) => {
                // The directory is kept all the same, and what is missing is said.
                let detail = Some(format!("extended attributes: {}", std::io::Error::from(errno)));
                let path = directory.path.clone();
                shared.uncovered(Uncovered { path, reason: Reason::MetadataRefused, detail });
                state.trusted = false;
                None
            }
            Err(Failure::Fatal(error)) => return Err(error),
        };
    }
    shared.count(1, 0);
    spawn_children(shared, scope, directory, state, children, fd, &ignore);
    Ok(None)
}

fn spawn_children<'s>(
    shared: &'s Shared<'_>,
    scope: &Scope<'s>,
    directory: &Arc<Directory>,
    state: State,
    children: Vec<usize>,
    fd: Arc<OwnedFd>,
    ignore: &IgnoreChain,
) {
    let tasks: Vec<_> = children
        .into_iter()
        .map(|slot| {
            let (name, known) = match &state.contents {
                Contents::Fresh { slots } => (slots[slot].name.clone(), slots[slot].before),
                Contents::Same { .. } => match &state.record {
                    Some(record) => (record.name(slot).to_owned(), Some(record.known(slot))),
                    None => (CString::default(), None),
                },
            };
            let path = directory.path.join(name.as_bytes());
            let cached = known.filter(|k| k.uncovered.is_none() && k.child.length > 0).map(|k| k.child);
            Directory::new(Some(Up { parent: directory.clone(), slot, known }), path, name, cached, None)
        })
        .collect();
    *directory.state() = Some(state);
    if directory.up.is_some() {
        // The root's descriptor is there already.
        let keep = !tasks.is_empty() && shared.keep_open();
        if keep {
            *directory.fd.lock().unwrap_or_else(PoisonError::into_inner) = Some(fd);
        } else if !tasks.is_empty() {
            shared.closed();
        }
    }
    directory.unopened.store(tasks.len(), Ordering::Release);
    directory.pending.fetch_add(tasks.len(), Ordering::AcqRel);
    for task in tasks {
        let ignore = ignore.clone();
        scope.spawn(move |scope| run(shared, scope, task, ignore));
    }
}

/// A directory that is there and cannot be read.
fn uncovered(shared: &Shared<'_>, directory: &Directory, errno: Errno) -> Result<ChildResult> {
    let (reason, detail) = list::reason_of(errno)?;
    let Some(up) = &directory.up else {
        return Err(Error::io("reading the workspace's root", errno));
    };
    let known = up.parent.held_fd().and_then(|fd| sys::stat_at(fd.as_fd(), &directory.name).ok());
    shared.uncovered(Uncovered { path: directory.path.clone(), reason, detail });
    if shared.mirror.is_some() {
        return Ok(ChildResult::Gone);
    }
    let kind = known.map_or(FileKind::Directory, |st| st.kind());
    Ok(ChildResult::Uncovered(Entry {
        name: directory.name.as_bytes().into(),
        meta: known.map(|st| st.meta()).unwrap_or_default(),
        node: Node::Uncovered { reason, kind },
    }))
}

/// One thing less to wait for; the last one finishes the directory and goes on with its parent.
fn complete(shared: &Shared<'_>, directory: Arc<Directory>) {
    let mut current = directory;
    while current.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
        if shared.stopped() {
            return;
        }
        let finished = match finish(shared, &current) {
            Ok(finished) => finished,
            Err(error) => return shared.fail(error),
        };
        let Some(up) = &current.up else {
            *shared.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(finished);
            return;
        };
        give(&up.parent, up.slot, ChildResult::Finished(finished));
        let parent = up.parent.clone();
        current = parent;
    }
}

fn hand_up(shared: &Shared<'_>, directory: Arc<Directory>, result: ChildResult) {
    let Some(up) = &directory.up else {
        return shared.fail(Error::io("opening the workspace's root", Errno::NOENT));
    };
    give(&up.parent, up.slot, result);
    complete(shared, up.parent.clone());
}

/// Puts a child's result into its parent's list.
fn give(parent: &Directory, slot: usize, result: ChildResult) {
    let mut guard = parent.state();
    let Some(state) = guard.as_mut() else { return };
    match &mut state.contents {
        Contents::Same { changed } => {
            if !matches!(&result, ChildResult::Finished(f) if f.unchanged) {
                changed.push((slot, result));
            }
        }
        Contents::Fresh { slots } => place(&mut slots[slot], result),
    }
}

fn place(slot: &mut Slot, result: ChildResult) {
    match result {
        ChildResult::Finished(f) => {
            let before = slot.entry.as_ref().and_then(|e| e.meta.xattrs);
            let xattrs = if f.same_xattrs { before } else { f.xattrs };
            slot.now = Known { stat: f.stat, child: f.cache, trusted: f.trusted, uncovered: None };
            slot.source = f.source;
            slot.entry = Some(Entry {
                name: slot.name.as_bytes().into(),
                meta: Meta { xattrs, ..f.stat.meta() },
                node: Node::Directory { manifest: f.manifest },
            });
        }
        ChildResult::Uncovered(entry) => {
            let reason = match &entry.node {
                Node::Uncovered { reason, .. } => *reason,
                _ => Reason::ReadError,
            };
            slot.now = Known { uncovered: Some(reason), ..Known::default() };
            slot.entry = Some(entry);
        }
        ChildResult::Gone => slot.entry = None,
    }
}

/// All children are there: makes the manifest and the cache record.
fn finish(shared: &Shared<'_>, directory: &Directory) -> Result<Finished> {
    let Some(mut state) = directory.state().take() else {
        return Err(Error::io("completing a directory", Errno::INVAL));
    };
    if let Some(mirror) = shared.mirror {
        state.become_made(shared, mirror, directory)?;
    }
    let State {
        stat,
        trusted,
        listing_trusted,
        ignore_fingerprint,
        record,
        xattrs,
        wanted: _,
        same_inode,
        source,
        contents,
    } = state;
    let mut finished = Finished {
        stat,
        trusted,
        manifest: Hash([0; 32]),
        cache: CacheRef::default(),
        source: Known::default(),
        xattrs,
        same_xattrs: same_inode,
        unchanged: false,
    };
    let slots = match (contents, &record) {
        (Contents::Same { changed }, Some(record)) if changed.is_empty() => {
            finished.manifest = record.listing.manifest;
            finished.cache = match (directory.cached, shared.walk.new_cache) {
                (Some(at), Some(_)) => at,
                _ => CacheRef::default(),
            };
            finished.unchanged = same_inode;
            return Ok(finished);
        }
        (Contents::Same { changed }, Some(record)) => {
            let mut slots = list::slots_of(shared, record)?;
            for (at, result) in changed {
                place(&mut slots[at], result);
            }
            slots
        }
        (Contents::Same { .. }, None) => Vec::new(),
        (Contents::Fresh { slots }, _) => slots,
    };
    let mut entries = Vec::with_capacity(slots.len());
    let mut known_now = Vec::with_capacity(slots.len());
    let mut known_source = Vec::new();
    let mut is_whole = true;
    for slot in slots {
        is_whole &= slot.entry.is_some();
        if shared.walk.source_cache.is_some() && slot.entry.is_some() {
            known_source.push(source_of(shared, &slot));
        }
        if let Some(entry) = slot.entry {
            entries.push(entry);
            known_now.push(slot.now);
        }
    }
    finished.manifest = shared.walk.sink.put_directory(&entries)?;
    if let Some(cache) = shared.walk.new_cache {
        let listing = Listing {
            ino: stat.ino,
            mtime: stat.mtime,
            ctime: stat.ctime,
            trusted: listing_trusted,
            ignore_fingerprint,
            manifest: finished.manifest,
        };
        let names = entries.iter().map(|e| &*e.name).zip(known_now);
        finished.cache = cache.append(&stat_cache::encode(&listing, names))?;
    }
    if let Some(cache) = &shared.walk.source_cache {
        let own = Source { stat, listing_trusted, trusted: false };
        let directory = source.unwrap_or_else(|| own.at_once(shared));
        let names = entries.iter().map(|e| &*e.name).zip(known_source);
        let rest = (ignore_fingerprint, finished.manifest);
        finished.source = directory.known(is_whole, rest, names, cache.writer)?;
    }
    Ok(finished)
}

/// Stores the extended attributes of an open path.
pub(super) fn store_xattrs(shared: &Shared<'_>, fd: BorrowedFd<'_>) -> Result<Option<Hash>, Failure> {
    Ok(put_xattrs(shared, &xattr::read(fd)?)?)
}

/// Stores extended attributes; no object where there are none.
pub(super) fn put_xattrs(shared: &Shared<'_>, xattrs: &Xattrs) -> Result<Option<Hash>> {
    if xattrs.0.is_empty() { Ok(None) } else { Ok(Some(shared.walk.sink.put(&xattrs.encode())?)) }
}
