//! A checkpoint that is being written: nobody sees it until it is published by one rename (P1), and it leaves nothing when it is not.

use std::path::PathBuf;

use turnback_core::CheckpointId;

use super::budget::{Budget, free_space};
use super::format::seal_short;
use super::layout::Layout;
use super::pack::PackWriter;
use super::pack_set::PackSet;
use super::record::{Marks, Record};
use super::room::Room;
use super::{files, index, manifest};
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::file_limit::write_all_at;
use crate::model::{Entry, Hash, Sink};

/// What an acknowledged checkpoint survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// A power cut: everything is synced before it is published.
    #[default]
    Power,
    /// The end of the process, however sudden; after a power cut the last checkpoints may be missing or damaged (and then say so).
    Process,
}

/// How a checkpoint ends that somebody may cancel.
#[derive(Debug, Clone, Copy)]
pub enum End<'a> {
    /// It is what the operation is for: who cancels it hears whether it came in time (C12).
    Itself(&'a Context),
    /// The operation goes on with something else, and can be cancelled until that is done.
    Before(&'a Context),
}

impl End<'_> {
    fn check(self) -> Result<()> {
        match self {
            Self::Itself(ctx) | Self::Before(ctx) => ctx.check(),
        }
    }

    fn begin(self) -> Result<()> {
        match self {
            Self::Itself(ctx) => ctx.commit(),
            Self::Before(ctx) => ctx.check(),
        }
    }

    fn is_abandoned(self) -> bool {
        matches!(self, Self::Itself(ctx) if ctx.cancel.is_abandoned())
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Itself(ctx) => ctx.committed(),
            Self::Before(ctx) => ctx.check(),
        }
    }
}

/// An unpublished checkpoint. Dropping it removes what was written.
#[must_use = "an unpublished checkpoint is lost"]
pub struct Draft<'a> {
    layout: &'a Layout,
    packs: &'a PackSet,
    directory: PathBuf,
    writer: Option<PackWriter<'a>>,
    durability: Durability,
    published: bool,
}

/// Room for what a checkpoint takes beside its pack and index: a directory, a record and marks with their blocks, names in other
/// directories, the head of a stat cache.
const BESIDE: u64 = 40 << 10;

impl<'a> Draft<'a> {
    /// Starts a checkpoint. The store's lock must be held, so that no object goes away that the new checkpoint counts on.
    ///
    /// # Errors
    /// `STORE_FULL`, `DISK_FULL`, or the system's error.
    pub fn begin(
        layout: &'a Layout,
        packs: &'a PackSet,
        budget: &'a Budget,
        durability: Durability,
    ) -> Result<Self> {
        let name = files::random_name()?;
        let directory = layout.tmp().join(&name);
        let room = budget.room(name);
        room.need(BESIDE)?;
        files::make_directory(&directory)?;
        let writer = PackWriter::new(directory.join("objects.pack"), durability == Durability::Power, room);
        Ok(Self { layout, packs, directory, writer: Some(writer), durability, published: false })
    }

    /// Writes contents as they are, as long as they take no more than an eighth of the room that the store has left: somebody waits for
    /// them. The rest is compressed.
    ///
    /// # Errors
    /// `BUSY`, or the system's error.
    pub fn in_haste(mut self, budget: &Budget) -> Result<Self> {
        let held = budget.held()?;
        let left = budget.cap().saturating_sub(held.settled).saturating_sub(held.taken);
        let (free, reserve) = free_space(self.layout.root())?;
        if let Some(writer) = &mut self.writer {
            writer.plain_until(left.min(free.saturating_sub(reserve)) / 8);
        }
        Ok(self)
    }

    fn writer(&self) -> Result<&PackWriter<'a>> {
        self.writer
            .as_ref()
            .ok_or_else(|| Error::new(Code::Poisoned, "the checkpoint is published", "take another one"))
    }

    /// The bytes that it takes with everything that was put into it so far and `beside` more for the caller, about: the texts of its record
    /// are known when it is published.
    ///
    /// # Errors
    /// `POISONED` when it is published.
    pub fn needs(&self, beside: u64) -> Result<u64> {
        Ok(self.writer()?.needs().saturating_add(beside).saturating_add(BESIDE))
    }

    /// Whether there was no room left, so that the rest was only counted: it has to be done again when room was made.
    ///
    /// # Errors
    /// As [`Draft::needs`].
    pub fn is_full(&self) -> Result<bool> {
        Ok(self.writer()?.is_full())
    }

    /// Leaves room for `bytes` that the same caller writes elsewhere in the store, out of what was taken for more than `needs`.
    ///
    /// # Errors
    /// `BUSY`, or the system's error.
    pub fn leave_room(&self, bytes: u64, needs: u64) -> Result<()> {
        self.writer()?.room().spare(bytes, needs)
    }

    /// Writes pack, index and record, syncs them in this order, and makes the checkpoint visible: the rename is the commit point.
    ///
    /// `record.stored_bytes` is filled in. `announce` is called when the checkpoint is there and may still be taken back: it is, if that
    /// fails. Returns the room that was taken, `beside` bytes of it for the caller.
    ///
    /// # Errors
    /// `STORE_FULL` or `DISK_FULL`, `ABORTED` or `TIMED_OUT`, or the system's error when anything cannot be written: then nothing is
    /// published, and what was for a moment is not any more.
    pub fn publish(
        mut self,
        id: CheckpointId,
        record: &mut Record,
        marks: Option<&Marks>,
        beside: u64,
        end: End<'_>,
        announce: impl FnOnce() -> Result<()>,
    ) -> Result<Room<'a>> {
        let writer = self.writer()?;
        let texts =
            seal_short(record)?.len() + marks.map_or(Ok(0), |marks| seal_short(marks).map(|m| m.len()))?;
        let needs = writer.needs() + texts as u64 + beside + BESIDE;
        if writer.is_full() {
            return Err(writer.room().refuse(needs));
        }
        writer.room().need(needs)?;
        end.check()?;
        let (mut entries, length) = writer.finish()?;
        end.check()?;
        let mut stored = length;
        if !entries.is_empty() {
            let bytes = index::encode(&mut entries);
            stored += bytes.len() as u64;
            self.file("objects.index", &bytes)?;
            end.check()?;
        }
        record.stored_bytes = stored;
        self.file("record", &seal_short(record)?)?;
        if let Some(marks) = marks {
            self.file("marks", &seal_short(marks)?)?;
        }
        end.check()?;
        if self.durability == Durability::Power {
            files::sync_directory(&self.directory)?;
        }
        let target = self.layout.checkpoint(id);
        end.begin()?;
        std::fs::rename(&self.directory, &target)
            .map_err(|e| Error::io("publishing the checkpoint", e).at(&target))?;
        let synced = match self.durability {
            // It is taken back at once.
            _ if end.is_abandoned() => Ok(()),
            Durability::Power => files::sync_directory(&self.layout.checkpoints()),
            Durability::Process => Ok(()),
        };
        // What may not survive is not acknowledged, and what is not acknowledged must not be listed (input 64); nor what nobody waits
        // for any more (C12).
        if let Err(error) = synced.and_then(|()| announce()).and_then(|()| end.finish()) {
            std::fs::rename(&target, &self.directory)
                .map_err(|e| Error::io("taking a checkpoint back", e).at(&target))?;
            return Err(error);
        }
        self.published = true;
        let writer = self.writer.take();
        writer.map(PackWriter::into_room).ok_or_else(|| {
            Error::new(Code::Poisoned, "the checkpoint was published before", "take another one")
        })
    }

    fn file(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.directory.join(name);
        let file = files::create_file(&path)?;
        write_all_at(&file, bytes, 0).map_err(|e| Error::io("writing a file of the store", e).at(&path))?;
        if self.durability == Durability::Power {
            file.sync_data().map_err(|e| Error::io("syncing a file of the store", e).at(&path))?;
        }
        Ok(())
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.published
            && let Err(error) = files::remove_tree(&self.directory)
        {
            tracing::warn!(%error, "an unfinished checkpoint stays until the next open");
        }
    }
}

impl Sink for Draft<'_> {
    fn put(&self, bytes: &[u8]) -> Result<Hash> {
        let hash = Hash::of(bytes);
        let writer = self.writer()?;
        if writer.claim(hash) && !self.packs.contains(&hash) {
            writer.append(hash, bytes)?;
        }
        Ok(hash)
    }

    fn put_directory(&self, entries: &[Entry]) -> Result<Hash> {
        manifest::write(entries, &|bytes| self.put(bytes))
    }
}

/// A sink that keeps manifests in memory and forgets contents: for comparing a workspace without storing anything.
#[derive(Debug)]
pub struct Preview<'a> {
    packs: &'a PackSet,
    manifests: std::sync::Mutex<std::collections::HashMap<Hash, Vec<u8>>>,
}

impl<'a> Preview<'a> {
    /// A preview beside the packs of a store.
    #[must_use]
    pub fn new(packs: &'a PackSet) -> Self {
        Self { packs, manifests: std::sync::Mutex::default() }
    }
}

impl Sink for Preview<'_> {
    fn put(&self, bytes: &[u8]) -> Result<Hash> {
        Ok(Hash::of(bytes))
    }

    fn put_directory(&self, entries: &[Entry]) -> Result<Hash> {
        manifest::write(entries, &|bytes| {
            let hash = Hash::of(bytes);
            let mut manifests = self.manifests.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            manifests.insert(hash, bytes.to_vec());
            Ok(hash)
        })
    }
}

impl crate::model::Objects for Preview<'_> {
    fn read(&self, hash: Hash, limit: u64) -> Result<Vec<u8>> {
        let manifests = self.manifests.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(bytes) = manifests.get(&hash) {
            return Ok(bytes.clone());
        }
        drop(manifests);
        self.packs.read(hash, limit)
    }

    fn directory(&self, manifest: Hash) -> Result<Vec<Entry>> {
        manifest::read(self, manifest)
    }
}
