//! The names of one directory: compared with the cache, or examined one by one.

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rustix::fs::RawDir;
use rustix::io::Errno;

use super::content::{self, Failure};
use super::dir_task::store_xattrs;
use super::exclude::IgnoreChain;
use super::mirror::MirrorDirectory;
use super::mirrored::{examine_open, look_again};
use super::stat::Stat;
use super::stat_cache::{Known, Record};
use super::sys;
use super::walk::Shared;
use crate::error::{Error, Result};
use crate::model::{Entry, FileKind, Meta, Node, Reason, RelPath, Timestamp, Uncovered};

/// Directories with more names than this are examined on several threads.
const WIDE: usize = 2048;
/// Names that one thread takes at a time.
const CHUNK: usize = 512;
/// How often a name is looked at when its type changes under the reader.
const ATTEMPTS: u32 = 3;

/// One name of a directory that is being read.
pub(super) struct Slot {
    pub(super) name: CString,
    /// What the last checkpoint's cache says of it.
    pub(super) before: Option<Known>,
    /// What the next cache will say.
    pub(super) now: Known,
    /// What the stat cache of the tree that is read will say, where the picture is another one's.
    pub(super) source: Known,
    /// The entry as it goes into the manifest; for child directories the last checkpoint's until the child is done; `None` for a
    /// name that is gone.
    pub(super) entry: Option<Entry>,
    child: bool,
}

impl Slot {
    /// Whether it is a directory to walk into.
    pub(super) const fn is_child(&self) -> bool {
        self.child
    }
}

/// Why a directory could not be listed.
pub(super) enum ListError {
    /// The directory's own error: it is uncovered.
    Listing(Errno),
    /// The walk ends.
    Fatal(Error),
}

impl From<Error> for ListError {
    fn from(error: Error) -> Self {
        Self::Fatal(error)
    }
}

/// A directory that is being read.
pub(super) struct Scan<'a> {
    pub(super) shared: &'a Shared<'a>,
    pub(super) fd: BorrowedFd<'a>,
    pub(super) path: &'a RelPath,
    pub(super) ignore: &'a IgnoreChain,
    /// The file clock before anything was looked at.
    pub(super) clock: Timestamp,
    /// The same directory of a second tree.
    pub(super) into: Option<&'a dyn MirrorDirectory>,
}

/// What came of opening a name as a regular file.
pub(super) enum Opened {
    /// It is one.
    File(OwnedFd, Stat),
    /// It is not; whether the name is done with, or has to be looked at again.
    Done(bool),
}

#[derive(Default)]
struct Tally {
    files: u64,
    bytes: u64,
    uncovered: Vec<(usize, Reason)>,
    links: Vec<(usize, Stat)>,
    children: Vec<usize>,
}

impl Scan<'_> {
    /// Whether every name but child directories is as the record says; counts them and gathers the children if so.
    pub(super) fn all_unchanged(&self, record: &Record, children: &mut Vec<usize>) -> bool {
        let tally = if record.len() > WIDE {
            let chunks = record.len().div_ceil(CHUNK);
            (0..chunks)
                .into_par_iter()
                .map(|c| self.unchanged_range(record, c * CHUNK..((c + 1) * CHUNK).min(record.len())))
                .try_reduce(Tally::default, |mut a, mut b| {
                    a.files += b.files;
                    a.bytes += b.bytes;
                    a.uncovered.append(&mut b.uncovered);
                    a.links.append(&mut b.links);
                    a.children.append(&mut b.children);
                    Some(a)
                })
        } else {
            self.unchanged_range(record, 0..record.len())
        };
        let Some(tally) = tally else { return false };
        self.shared.count(tally.files, tally.bytes);
        for (i, reason) in tally.uncovered {
            self.shared.uncovered(Uncovered::new(self.path.join(record.name(i).to_bytes()), reason));
        }
        for (i, stat) in tally.links {
            self.link(&stat, record.name(i).to_bytes());
        }
        if self.shared.walk.notices.is_some() {
            for i in (0..record.len()).filter(|&i| record.known(i).uncovered.is_none()) {
                self.shared.notice(self.path, record.name(i).to_bytes(), record.known(i).stat.kind());
            }
        }
        *children = tally.children;
        true
    }

    fn unchanged_range(&self, record: &Record, range: std::ops::Range<usize>) -> Option<Tally> {
        let mut tally = Tally::default();
        for i in range {
            let known = record.known(i);
            match known.uncovered {
                None if known.stat.kind() == FileKind::Directory => {
                    tally.children.push(i);
                    continue;
                }
                Some(Reason::Excluded) => {
                    tally.uncovered.push((i, Reason::Excluded));
                    continue;
                }
                None | Some(Reason::Socket | Reason::Device | Reason::TooLarge) => {}
                Some(_) => return None,
            }
            let stopped = if i % 256 == 0 { self.shared.check() } else { self.shared.stopped() };
            if !known.trusted || stopped {
                return None;
            }
            let stat = sys::stat_at(self.fd, record.name(i)).ok()?;
            if !stat.same_inode_state(&known.stat) {
                return None;
            }
            if let Some(reason) = known.uncovered {
                tally.uncovered.push((i, reason));
                continue;
            }
            tally.files += 1;
            if stat.kind() == FileKind::File {
                tally.bytes += stat.size;
            }
            if stat.nlink > 1 {
                tally.links.push((i, stat));
            }
        }
        Some(tally)
    }

    /// Examines every name; names come from the record where the listing is known to be unchanged.
    pub(super) fn read_again(
        &self,
        record: Option<&Record>,
        same_names: bool,
    ) -> std::result::Result<Vec<Slot>, ListError> {
        let names = match record {
            Some(record) if same_names => (0..record.len()).map(|i| record.name(i).to_owned()).collect(),
            _ => self.names().map_err(ListError::Listing)?,
        };
        // The last checkpoint's entries, where record and manifest belong together.
        let before = record.and_then(|record| {
            let entries = self.shared.walk.objects.directory(record.listing.manifest).ok()?;
            (entries.len() == record.len()).then_some((record, entries))
        });
        let examine = |name: CString| {
            let known = before.as_ref().and_then(|(record, entries)| {
                let at = entries.binary_search_by(|e| (*e.name).cmp(name.to_bytes())).ok()?;
                (record.name(at) == name.as_c_str()).then(|| (record.known(at), &entries[at]))
            });
            self.examine(name, known)
        };
        if names.len() > WIDE {
            let slots: Result<Vec<Slot>> = names.into_par_iter().with_min_len(64).map(examine).collect();
            Ok(slots?)
        } else {
            Ok(names.into_iter().map(examine).collect::<Result<Vec<Slot>>>()?)
        }
    }

    /// All names, sorted as bytes.
    fn names(&self) -> std::result::Result<Vec<CString>, Errno> {
        let mut buffer = [MaybeUninit::<u8>::uninit(); 32 << 10];
        rustix::fs::seek(self.fd, rustix::fs::SeekFrom::Start(0))?;
        let mut listing = RawDir::new(self.fd, &mut buffer);
        let mut names = Vec::new();
        while let Some(entry) = listing.next() {
            let entry = match entry {
                Err(Errno::INTR) => continue,
                other => other?,
            };
            let name = entry.file_name();
            let ours = self.path.is_root() && self.shared.walk.ours.iter().any(|n| n == name.to_bytes());
            if name != c"." && name != c".." && !ours {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    fn examine(&self, name: CString, before: Option<(Known, &Entry)>) -> Result<Slot> {
        let mut slot = Slot {
            name,
            before: before.map(|b| b.0),
            now: Known::default(),
            source: Known::default(),
            entry: None,
            child: false,
        };
        if self.shared.stopped() {
            return Ok(slot);
        }
        for attempt in 1..=ATTEMPTS {
            let stat = match sys::stat_at(self.fd, &slot.name) {
                Ok(stat) => stat,
                // It is gone: what is stored is the state right after its deletion (input 50).
                Err(Errno::NOENT) => return Ok(slot),
                Err(errno) => {
                    self.leave_out(&mut slot, &Stat::default(), FileKind::Unknown, errno)?;
                    return Ok(slot);
                }
            };
            let kind = stat.kind();
            if self.is_excluded(&slot.name, kind) {
                self.set_uncovered(&mut slot, &stat, kind, Reason::Excluded, None);
                return Ok(slot);
            }
            if let Some((known, entry)) = before.filter(|(known, _)| self.may_reuse(known, &stat)) {
                slot.now = Known { stat, ..known };
                slot.entry = Some(entry.clone());
                self.account(&slot, &stat);
                return Ok(slot);
            }
            if self.examine_fresh(&mut slot, stat, kind, before, attempt == ATTEMPTS)? {
                return Ok(slot);
            }
        }
        Ok(slot)
    }

    /// Whether an unchanged inode state means unchanged content.
    fn may_reuse(&self, known: &Known, stat: &Stat) -> bool {
        known.trusted
            && known.uncovered.is_none()
            && !self.shared.walk.strict
            && stat.kind() != FileKind::Directory
            && known.stat.same_inode_state(stat)
    }

    /// Reads one name without the cache. `false` when it turned into something else meanwhile.
    fn examine_fresh(
        &self,
        slot: &mut Slot,
        stat: Stat,
        kind: FileKind,
        before: Option<(Known, &Entry)>,
        last: bool,
    ) -> Result<bool> {
        if let Some(into) = self.into
            && matches!(kind, FileKind::File | FileKind::Symlink | FileKind::Fifo)
        {
            return self.mirror_leaf(into, slot, stat, kind, last);
        }
        let node = match kind {
            FileKind::Directory => {
                slot.child = true;
                self.shared.notice(self.path, slot.name.as_bytes(), kind);
                slot.entry = before.map(|b| b.1.clone());
                // A directory that was left out before has no attributes and no record to go by.
                let is_known = |k: &Known| k.uncovered.is_none() && k.stat.kind() == FileKind::Directory;
                slot.before = before.map(|b| b.0).filter(is_known);
                return Ok(true);
            }
            FileKind::File => return self.file(slot, &stat, last),
            FileKind::Symlink => match self.target(slot, last) {
                Ok(Some(target)) => Node::Symlink { target },
                Ok(None) => return Ok(false),
                Err(errno) => {
                    self.leave_out(slot, &stat, kind, errno)?;
                    return Ok(true);
                }
            },
            FileKind::Fifo => Node::Fifo,
            FileKind::Socket => {
                self.set_uncovered(slot, &stat, kind, Reason::Socket, None);
                return Ok(true);
            }
            FileKind::Device | FileKind::Unknown => {
                self.set_uncovered(slot, &stat, kind, Reason::Device, None);
                return Ok(true);
            }
        };
        self.set(slot, stat, None, node);
        Ok(true)
    }

    /// The target of a link; `None` when it is none any more.
    pub(super) fn target(&self, slot: &Slot, last: bool) -> std::result::Result<Option<Box<[u8]>>, Errno> {
        match rustix::fs::readlinkat(self.fd, &slot.name, Vec::new()) {
            Ok(target) => Ok(Some(target.into_bytes().into())),
            Err(Errno::NOENT | Errno::INVAL) if !last => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    pub(super) fn open_as_file(&self, slot: &mut Slot, stat: &Stat, last: bool) -> Result<Opened> {
        let too_large = self.shared.walk.rules.max_file_bytes.is_some_and(|max| stat.size > max);
        if too_large {
            self.set_uncovered(slot, stat, FileKind::File, Reason::TooLarge, None);
            return Ok(Opened::Done(true));
        }
        let fd = match sys::open_file(self.fd, &slot.name) {
            Ok(fd) => fd,
            // Gone, or something else by now: look again.
            Err(errno) if look_again(errno, last) => return Ok(Opened::Done(false)),
            Err(errno) => {
                self.leave_out(slot, stat, FileKind::File, errno)?;
                return Ok(Opened::Done(true));
            }
        };
        let opened = examine_open(fd.as_fd())?;
        if opened.kind() != FileKind::File {
            if last {
                self.set_uncovered(slot, &opened, opened.kind(), Reason::Changing, None);
            }
            return Ok(Opened::Done(last));
        }
        Ok(Opened::File(fd, opened))
    }

    fn file(&self, slot: &mut Slot, stat: &Stat, last: bool) -> Result<bool> {
        let (fd, opened) = match self.open_as_file(slot, stat, last)? {
            Opened::File(fd, opened) => (fd, opened),
            Opened::Done(done) => return Ok(done),
        };
        let read = store_xattrs(self.shared, fd.as_fd()).and_then(|xattrs| {
            let source = content::Source { fd: fd.as_fd(), mirror: None, parallel: true };
            content::read(&source, opened, self.shared.walk.sink, self.shared.walk.ctx)
                .map(|read| (read, xattrs))
        });
        match read {
            Ok((read, xattrs)) => {
                let node = Node::File { size: read.size, content: read.content, changing: read.changing };
                if read.changing {
                    let path = self.path.join(slot.name.as_bytes());
                    self.shared.uncovered(Uncovered::new(path, Reason::Changing));
                }
                self.set(slot, read.stat, xattrs, node);
                slot.now.trusted &= !read.changing;
            }
            Err(Failure::File(errno) | Failure::Mirror(errno)) => {
                self.leave_out(slot, stat, FileKind::File, errno)?;
            }
            Err(Failure::Fatal(error)) => return Err(error),
        }
        Ok(true)
    }

    fn set(&self, slot: &mut Slot, stat: Stat, xattrs: Option<crate::model::Hash>, node: Node) {
        slot.now = Known { stat, trusted: self.shared.trusts(stat.ctime, self.clock), ..Known::default() };
        slot.entry =
            Some(Entry { name: slot.name.as_bytes().into(), meta: Meta { xattrs, ..stat.meta() }, node });
        self.account(slot, &stat);
    }

    pub(super) fn account(&self, slot: &Slot, stat: &Stat) {
        let is_file = stat.kind() == FileKind::File;
        self.shared.notice(self.path, slot.name.as_bytes(), stat.kind());
        self.shared.count(1, if is_file { stat.size } else { 0 });
        // Links and pipes can have several names as well (input 12).
        if stat.nlink > 1 {
            self.link(stat, slot.name.as_bytes());
        }
    }

    fn link(&self, stat: &Stat, name: &[u8]) {
        self.shared.collector.link(stat.dev, stat.ino, stat.nlink, self.path.join(name));
    }

    pub(super) fn set_uncovered(
        &self,
        slot: &mut Slot,
        stat: &Stat,
        kind: FileKind,
        reason: Reason,
        detail: Option<String>,
    ) {
        let path = self.path.join(slot.name.as_bytes());
        self.shared.uncovered(Uncovered { path, reason, detail });
        slot.now = Known {
            stat: *stat,
            trusted: self.shared.trusts(stat.ctime, self.clock),
            uncovered: Some(reason),
            ..Known::default()
        };
        // A second tree does not have it, and its picture says nothing of it.
        slot.entry = self.into.is_none().then(|| Entry {
            name: slot.name.as_bytes().into(),
            meta: stat.meta(),
            node: Node::Uncovered { reason, kind },
        });
    }

    pub(super) fn leave_out(&self, slot: &mut Slot, stat: &Stat, kind: FileKind, errno: Errno) -> Result<()> {
        let (reason, detail) = reason_of(errno)?;
        self.set_uncovered(slot, stat, kind, reason, detail);
        Ok(())
    }

    fn is_excluded(&self, name: &CStr, kind: FileKind) -> bool {
        let rules = self.shared.walk.rules;
        if rules.keeps_every_name() {
            return false;
        }
        let path = self.path.join(name.to_bytes());
        let is_directory = kind == FileKind::Directory;
        rules.excludes(&path, is_directory)
            || (rules.ignored
                && self.ignore.ignores(&path, is_directory)
                && !is_git(&path)
                && !self.shared.walk.covered.is_some_and(|covered| covered(&path)))
    }
}

/// Whether a path is a `.git` or lies in one: ignore files say nothing about those, as in git itself.
fn is_git(path: &RelPath) -> bool {
    path.names().any(|name| name == b".git")
}

/// The slots of an unchanged directory, for when one of its children changed.
pub(super) fn slots_of(shared: &Shared<'_>, record: &Record) -> Result<Vec<Slot>> {
    let entries = shared.walk.objects.directory(record.listing.manifest)?;
    let agrees = entries.len() == record.len()
        && entries.iter().enumerate().all(|(i, e)| *e.name == *record.name(i).to_bytes());
    if !agrees {
        return Err(Error::corrupt("the stat cache and the last checkpoint's manifest disagree"));
    }
    let slots = entries.into_iter().enumerate().map(|(i, entry)| {
        let known = record.known(i);
        Slot {
            name: record.name(i).to_owned(),
            before: Some(known),
            now: known,
            source: Known::default(),
            entry: Some(entry),
            child: false,
        }
    });
    Ok(slots.collect())
}

/// The chain of ignore files with the one of this directory; `None` when there is none or ignore files do not count.
pub(super) fn ignore_file(
    shared: &Shared<'_>,
    fd: BorrowedFd<'_>,
    path: &RelPath,
    chain: &IgnoreChain,
) -> Result<Option<IgnoreChain>> {
    if !shared.walk.rules.ignored {
        return Ok(None);
    }
    let file = match sys::open_file(fd, c".gitignore") {
        Ok(file) => file,
        Err(Errno::NOENT | Errno::LOOP | Errno::ISDIR) => return Ok(None),
        // Guessing what is ignored would silently change the scope (F56).
        Err(errno) => return Err(Error::io(format!("reading the ignore file of `{path}`"), errno)),
    };
    let stat = sys::stat_fd(file.as_fd()).map_err(|e| Error::io("examining an ignore file", e))?;
    if stat.kind() != FileKind::File {
        return Ok(None);
    }
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(std::fs::File::from(file), 16 << 20), &mut text)
        .map_err(|e| Error::io(format!("reading the ignore file of `{path}`"), e))?;
    Ok(Some(chain.with(path, &text)))
}

/// Why one path is uncovered; an error that concerns the process and not the path ends the walk.
pub(super) fn reason_of(errno: Errno) -> Result<(Reason, Option<String>)> {
    match errno {
        Errno::ACCESS | Errno::PERM => Ok((Reason::Unreadable, None)),
        Errno::XDEV => Ok((Reason::Mount, None)),
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => {
            Err(Error::io("opening a path of the workspace", errno))
        }
        _ => Ok((Reason::ReadError, Some(std::io::Error::from(errno).to_string()))),
    }
}
