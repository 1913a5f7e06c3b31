//! Taking dead objects out of a pack: a new index first, which decides what lives, then the bytes of what does not (C9).

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::budget::Budget;
use super::index::{self, Index, IndexEntry};
use super::layout::Layout;
use super::{files, grave};
use crate::error::{Code, Error, Result};
use crate::file_limit::write_all_at;
use crate::model::Hash;

/// The index of before, kept until the bytes of what it had and the new one has not are erased.
const OLD_INDEX: &str = "dead";

/// A pack with dead objects, and what is to be done about it.
#[derive(Debug)]
pub(super) struct Shrink {
    path: PathBuf,
    /// What is in the index now and must go.
    dead: Vec<IndexEntry>,
    bytes: Vec<u8>,
    /// The new index, where there was room for one.
    new_index: Option<PathBuf>,
    whole: bool,
}

/// What was taken out of the index, or renamed away, and is still on the disk.
#[derive(Debug)]
pub(super) enum Leftover {
    /// Payloads in a pack that lives on.
    Payloads {
        /// The pack.
        pack: PathBuf,
        /// Their places.
        dead: Vec<IndexEntry>,
    },
    /// A file or a directory in `tmp`.
    Grave(PathBuf),
}

impl Shrink {
    /// Prepares a pack. Changes nothing that counts. The store's lock must be held, and the lock of who removes.
    ///
    /// # Errors
    /// The system's error; no room is none.
    pub(super) fn prepare(
        layout: &Layout,
        budget: &Budget,
        path: &Path,
        mut needed: Vec<IndexEntry>,
        dead: Vec<IndexEntry>,
    ) -> Result<Self> {
        let mut shrink = Self {
            path: path.to_owned(),
            dead,
            bytes: Vec::new(),
            new_index: None,
            whole: needed.is_empty(),
        };
        if shrink.whole {
            return Ok(shrink);
        }
        shrink.bytes = index::encode(&mut needed);
        let name = files::random_name()?;
        let tmp = layout.tmp().join(&name);
        let room = budget.room(name);
        let write = || -> Result<()> {
            room.need(shrink.bytes.len() as u64 + 4096)?;
            let file = files::create_file(&tmp)?;
            write_all_at(&file, &shrink.bytes, 0).map_err(|e| Error::io("writing an index", e).at(&tmp))?;
            file.sync_all().map_err(|e| Error::io("syncing an index", e).at(&tmp))
        };
        match write() {
            Ok(()) => shrink.new_index = Some(tmp),
            // No room for a second index (C16): the new one, which is shorter, will go over the old one.
            Err(error) if matches!(error.code(), Code::DiskFull | Code::StoreFull) => {
                files::remove_leftover(&tmp);
            }
            Err(error) => {
                files::remove_leftover(&tmp);
                return Err(error);
            }
        }
        Ok(shrink)
    }

    /// Whether any of the dead objects lives after all.
    pub(super) fn revived(&self, is_live: impl Fn(&Hash) -> bool) -> bool {
        self.dead.iter().any(|entry| is_live(&entry.hash))
    }

    /// The pack.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the new index count. The store must be held alone.
    ///
    /// # Errors
    /// The system's error; the old index may still count then.
    pub(super) fn swap(mut self, layout: &Layout) -> Result<Vec<Leftover>> {
        let index_path = self.path.with_extension("index");
        if self.whole {
            let grave = grave::name(layout)?;
            let mut graves = Vec::new();
            // The index goes first: a pack without one can be read frame by frame, an index without its pack names what is not there.
            for (from, extension) in [(&index_path, "index"), (&self.path, "pack")] {
                let to = grave.with_extension(extension);
                match std::fs::rename(from, &to) {
                    Ok(()) => graves.push(Leftover::Grave(to)),
                    // An index may have been lost before.
                    Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                    Err(e) => return Err(Error::io("removing a pack", e).at(from)),
                }
            }
            return Ok(graves);
        }
        match self.new_index.take() {
            Some(new) => {
                let old = self.path.with_extension(OLD_INDEX);
                // Without a second name a crash between here and the erasing leaves dead bytes in a pack that lives.
                if let Err(error) = std::fs::hard_link(&index_path, &old) {
                    tracing::debug!(%error, "an old index is not kept while its dead objects are erased");
                }
                std::fs::rename(&new, &index_path)
                    .map_err(|e| Error::io("publishing an index", e).at(&index_path))?;
            }
            // Should this be cut short, the index is rebuilt from the pack, in which nothing was erased yet.
            None => overwrite(&index_path, &self.bytes)?,
        }
        let dead = std::mem::take(&mut self.dead);
        Ok(vec![Leftover::Payloads { pack: self.path.clone(), dead }])
    }
}

impl Drop for Shrink {
    fn drop(&mut self) {
        // Prepared and not used.
        if let Some(path) = &self.new_index {
            files::remove_leftover(path);
        }
    }
}

impl Leftover {
    /// Gives the bytes back to the disk and tells how many they are. Nobody can come to need them any more, so that the store need not
    /// be held alone.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn erase(self) -> Result<u64> {
        let (path, dead) = match self {
            Self::Grave(path) => return grave::bury(&path),
            Self::Payloads { pack, dead } => (pack, dead),
        };
        if let Some(directory) = path.parent() {
            // The new index first, so that no power cut brings the old one back without what it names.
            files::sync_directory(directory)?;
        }
        let old = path.with_extension(OLD_INDEX);
        let mut freed = blocks(&old).saturating_sub(blocks(&path.with_extension("index")));
        let before = blocks(&path);
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(&path)
            .map_err(|e| Error::io("opening a pack", e).at(&path))?;
        for entry in dead.iter().filter(|entry| entry.stored > 0) {
            // Frame headers stay, so that the pack can still be read frame by frame.
            punch(&file, entry.offset, u64::from(entry.stored))
                .map_err(|e| Error::io("erasing deleted data", e).at(&path))?;
        }
        file.sync_data().map_err(|e| Error::io("syncing a pack", e).at(&path))?;
        freed = freed.saturating_add(before.saturating_sub(blocks(&path)));
        match std::fs::remove_file(&old) {
            Ok(()) => Ok(freed),
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io("removing an old index", e).at(&old))
            }
            // Whoever measures the store looks at the directory's timestamps, and nothing was removed from it.
            Err(_) => touch(path.parent().unwrap_or(&path)).map(|()| freed),
        }
    }

    /// What a removal that was killed left of a pack: objects that its old index has and its index has not.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn of_killed(pack: &Path, index: &[IndexEntry]) -> Result<Option<Self>> {
        let old = pack.with_extension(OLD_INDEX);
        if !files::exists(&old)? {
            return Ok(None);
        }
        let dead = match Index::open(&old).and_then(|old| old.all()) {
            Ok(entries) => {
                let live: std::collections::HashSet<_> = index.iter().map(|e| e.offset).collect();
                entries.into_iter().filter(|e| !live.contains(&e.offset)).collect()
            }
            Err(error) if error.code() == Code::Corrupt => {
                tracing::warn!(%error, "an old index is damaged; what it had stays in its pack");
                Vec::new()
            }
            Err(error) => return Err(error),
        };
        Ok(Some(Self::Payloads { pack: pack.to_owned(), dead }))
    }
}

fn blocks(path: &Path) -> u64 {
    std::fs::symlink_metadata(path).map_or(0, |m| m.blocks().saturating_mul(512))
}

fn touch(directory: &Path) -> Result<()> {
    let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
    let times = rustix::fs::Timestamps { last_access: now, last_modification: now };
    rustix::fs::utimensat(rustix::fs::CWD, directory, &times, rustix::fs::AtFlags::empty())
        .map_err(|e| Error::io("stamping a directory of the store", e).at(directory))
}

/// Replaces the bytes of an index in place.
fn overwrite(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || -> std::io::Result<()> {
        let file = std::fs::OpenOptions::new().write(true).open(path)?;
        file.write_all_at(bytes, 0)?;
        file.set_len(bytes.len() as u64)?;
        file.sync_all()
    };
    write().map_err(|e| Error::io("rewriting an index in place", e).at(path))
}

/// Gives the blocks of a range back; where the file system cannot, overwrites it with zeros.
fn punch(file: &File, offset: u64, length: u64) -> std::io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    match rustix::fs::fallocate(file, flags, offset, length) {
        Ok(()) => Ok(()),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            let zeros = vec![0; 1 << 16];
            let mut at = 0;
            while at < length {
                let n = (length - at).min(zeros.len() as u64);
                file.write_all_at(&zeros[..n as usize], offset + at)?;
                at += n;
            }
            Ok(())
        }
        Err(e) => Err(e.into()),
    }
}
