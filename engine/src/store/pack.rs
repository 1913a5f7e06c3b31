//! Packs: the objects of one checkpoint, one frame after another.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::budget::OnFull;
use super::files;
use super::index::{self, IndexEntry};
use super::room::Room;
use crate::error::{Code, Error, Result, Told};
use crate::file_limit::write_all_at;
use crate::model::Hash;

const MAGIC: &[u8; 8] = b"TBPACK\0\x01";
/// Stored length, raw length, hash, checksum of the payload as stored.
pub(super) const FRAME: usize = 44;
/// Frames are gathered up to this many bytes before they are written.
const BUFFER: usize = 1 << 20;
/// Syncing in pieces keeps each wait short, so that a cancel is seen soon.
const SYNC_PIECE: u64 = 8 << 20;
const SHARDS: usize = 16;

/// Writes one pack from several threads; the file appears with the first object.
///
/// Room is taken before each piece is written. When there is none any more and older checkpoints may make some, nothing more is written,
/// only counted, so that it is known how much has to go.
pub(super) struct PackWriter<'a> {
    path: PathBuf,
    room: Room<'a>,
    sync: bool,
    /// What lies before this offset is written as it is, not compressed.
    plain_until: u64,
    seen: [Mutex<HashSet<Hash>>; SHARDS],
    state: Mutex<State>,
    written: AtomicU64,
    synced: AtomicU64,
    /// What went wrong first: the writes after it are refused for the same reason.
    failed: OnceLock<Told>,
    full: AtomicBool,
}

#[derive(Default)]
struct State {
    file: Option<std::sync::Arc<File>>,
    buffer: Vec<u8>,
    /// Where the buffer's first byte goes.
    base: u64,
    entries: Vec<IndexEntry>,
}

impl<'a> PackWriter<'a> {
    pub(super) fn new(path: PathBuf, sync: bool, room: Room<'a>) -> Self {
        Self {
            path,
            room,
            sync,
            plain_until: 0,
            seen: std::array::from_fn(|_| Mutex::new(HashSet::new())),
            state: Mutex::new(State::default()),
            written: AtomicU64::new(0),
            synced: AtomicU64::new(0),
            failed: OnceLock::new(),
            full: AtomicBool::new(false),
        }
    }

    /// Compresses nothing of the first `bytes`: half of the time that a pack takes goes into that.
    pub(super) const fn plain_until(&mut self, bytes: u64) {
        self.plain_until = bytes;
    }

    /// The room that was taken, for what is written beside the pack.
    pub(super) const fn room(&self) -> &Room<'a> {
        &self.room
    }

    /// Gives the room away, for what has to be written after the pack is published.
    pub(super) fn into_room(self) -> Room<'a> {
        self.room
    }

    /// Whether there was no room left, so that the rest was only counted.
    pub(super) fn is_full(&self) -> bool {
        self.full.load(Ordering::Acquire)
    }

    /// The bytes that pack and index take with everything that was appended so far.
    pub(super) fn needs(&self) -> u64 {
        self.lock().needs()
    }

    /// Notes that an object is taken care of; `false` when it was before.
    pub(super) fn claim(&self, hash: Hash) -> bool {
        let shard = &self.seen[usize::from(hash.0[31]) % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner).insert(hash)
    }

    /// Appends an object, compressed when that pays.
    pub(super) fn append(&self, hash: Hash, bytes: &[u8]) -> Result<()> {
        self.check()?;
        // Whoever was slower says what went wrong first, too: not what followed from it.
        self.append_frame(hash, bytes).map_err(|error| match self.failed.set(error.told()) {
            Ok(()) => error,
            Err(_) => self.check().err().unwrap_or(error),
        })
    }

    /// Nothing more is written after a write has failed.
    fn check(&self) -> Result<()> {
        self.failed.get().map_or(Ok(()), |told| Err(told.again()))
    }

    fn append_frame(&self, hash: Hash, bytes: &[u8]) -> Result<()> {
        let too_long =
            || Error::new(Code::InvalidArgument, "an object is longer than 4 GiB", "please report this");
        let raw = u32::try_from(bytes.len()).map_err(|_| too_long())?;
        let is_plain = self.written.load(Ordering::Relaxed) < self.plain_until;
        let compressed = if is_plain { None } else { compress(bytes) };
        let payload = compressed.as_deref().unwrap_or(bytes);
        let crc = crc32fast::hash(payload);
        let mut state = self.lock();
        if state.file.is_none() {
            state.file = Some(std::sync::Arc::new(files::create_file(&self.path)?));
            state.buffer.extend_from_slice(MAGIC);
        }
        let offset = state.base + (state.buffer.len() + FRAME) as u64;
        let stored = payload.len() as u32;
        state.buffer.extend_from_slice(&stored.to_le_bytes());
        state.buffer.extend_from_slice(&raw.to_le_bytes());
        state.buffer.extend_from_slice(&hash.0);
        state.buffer.extend_from_slice(&crc.to_le_bytes());
        state.buffer.extend_from_slice(payload);
        state.entries.push(IndexEntry { hash, offset, stored, raw });
        if state.buffer.len() < BUFFER {
            return Ok(());
        }
        let needs = state.needs();
        let (file, base, buffer) = take_buffer(&mut state);
        drop(state);
        if self.take_room(needs)? {
            self.write(file.as_deref(), base, &buffer)?;
        }
        Ok(())
    }

    /// Takes room; `false` when there is none and the rest is only counted.
    fn take_room(&self, bytes: u64) -> Result<bool> {
        if !self.is_full() {
            match self.room.need(bytes) {
                Ok(()) => return Ok(true),
                Err(error) if error.code() == Code::StoreFull && self.room.on_full() == OnFull::Prune => {
                    self.full.store(true, Ordering::Release);
                }
                Err(error) => return Err(error),
            }
        }
        // What is larger than the whole store never fits.
        if self.room.can_ever_hold(bytes) { Ok(false) } else { Err(self.room.refuse(bytes)) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, file: Option<&File>, base: u64, buffer: &[u8]) -> Result<()> {
        let Some(file) = file else { return Ok(()) };
        write_all_at(file, buffer, base).map_err(|e| Error::io("writing a pack", e))?;
        let written = self.written.fetch_add(buffer.len() as u64, Ordering::AcqRel) + buffer.len() as u64;
        let synced = self.synced.load(Ordering::Acquire);
        if self.sync
            && written.saturating_sub(synced) >= SYNC_PIECE
            && self.synced.compare_exchange(synced, written, Ordering::AcqRel, Ordering::Acquire).is_ok()
        {
            file.sync_data().map_err(|e| Error::io("syncing a pack", e))?;
        }
        Ok(())
    }

    /// Writes what is left and syncs. Returns the entries and the pack's length; no entries, no file.
    pub(super) fn finish(&self) -> Result<(Vec<IndexEntry>, u64)> {
        self.check()?;
        let mut state = self.lock();
        let needs = state.needs();
        if !self.take_room(needs)? {
            return Err(self.room.refuse(needs));
        }
        let (file, base, buffer) = take_buffer(&mut state);
        self.write(file.as_deref(), base, &buffer)?;
        if let (Some(file), true) = (&file, self.sync) {
            file.sync_data().map_err(|e| Error::io("syncing a pack", e))?;
        }
        Ok((std::mem::take(&mut state.entries), base + buffer.len() as u64))
    }
}

impl State {
    fn needs(&self) -> u64 {
        self.base + self.buffer.len() as u64 + index::encoded_length(self.entries.len())
    }
}

fn take_buffer(state: &mut State) -> (Option<std::sync::Arc<File>>, u64, Vec<u8>) {
    let base = state.base;
    let next = Vec::with_capacity(BUFFER + (64 << 10));
    let buffer = if state.file.is_some() { std::mem::replace(&mut state.buffer, next) } else { Vec::new() };
    state.base += buffer.len() as u64;
    (state.file.clone(), base, buffer)
}

/// Compressed bytes, when they are at least a sixteenth shorter.
fn compress(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.len() < 64 {
        return None;
    }
    let compressed = lz4_flex::block::compress(bytes);
    (compressed.len() + bytes.len() / 16 < bytes.len()).then_some(compressed)
}

/// Checks that lengths can be true before memory is taken for them: a frame or an index may say anything (P15, input 42).
///
/// # Errors
/// `CORRUPT` when they cannot, or the system's error.
fn check_lengths(file: &File, entry: &IndexEntry) -> Result<()> {
    // A byte of an LZ4 block gives 255 at most.
    let has_source = entry.raw == entry.stored || u64::from(entry.raw) <= 255 * u64::from(entry.stored);
    // Objects are shorter than this, but for a long list of names or segments.
    let is_ordinary = entry.stored <= 1 << 20;
    let end = entry.offset.checked_add(u64::from(entry.stored));
    let is_there = || match file.metadata() {
        Ok(pack) => Ok(end.is_some_and(|end| end <= pack.len())),
        Err(e) => Err(Error::io("examining a pack", e)),
    };
    match has_source && (is_ordinary || is_there()?) {
        true => Ok(()),
        false => {
            Err(Error::corrupt(format!("object {:?} says that it is longer than it can be", entry.hash)))
        }
    }
}

/// Reads one object from a pack and checks it against its address.
///
/// # Errors
/// `CORRUPT` when the bytes are not what was stored.
pub(super) fn read_object(file: &File, entry: &IndexEntry) -> Result<Vec<u8>> {
    let damaged = || Error::corrupt(format!("object {:?} is damaged", entry.hash));
    check_lengths(file, entry)?;
    let mut stored = vec![0; entry.stored as usize];
    file.read_exact_at(&mut stored, entry.offset).map_err(|e| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => damaged(),
        _ => Error::io("reading a pack", e),
    })?;
    let bytes = if entry.stored == entry.raw {
        stored
    } else {
        lz4_flex::block::decompress(&stored, entry.raw as usize).map_err(|e| damaged().because(e))?
    };
    if Hash::of(&bytes) == entry.hash { Ok(bytes) } else { Err(damaged()) }
}

/// Checks the first bytes of a pack.
///
/// # Errors
/// `CORRUPT` when they are not a pack's.
pub(super) fn check_magic(file: &File) -> Result<()> {
    let mut magic = [0; 8];
    file.read_exact_at(&mut magic, 0).map_err(|_| Error::corrupt("a pack is cut off"))?;
    if &magic == MAGIC { Ok(()) } else { Err(Error::corrupt("a file is no pack")) }
}

/// Checks the frame header in front of a payload, and the payload as it is stored.
///
/// # Errors
/// `CORRUPT` when it differs from the index.
pub(super) fn check_frame(file: &File, entry: &IndexEntry) -> Result<()> {
    let mut frame = [0; FRAME];
    let at = entry.offset.checked_sub(FRAME as u64).ok_or_else(|| Error::corrupt("an index is damaged"))?;
    file.read_exact_at(&mut frame, at).map_err(|_| Error::corrupt("a pack is cut off"))?;
    let same = frame[..4] == entry.stored.to_le_bytes()
        && frame[4..8] == entry.raw.to_le_bytes()
        && frame[8..40] == entry.hash.0;
    // The hash alone would not show every flipped bit: different LZ4 blocks can give the same bytes.
    check_lengths(file, entry)?;
    let mut payload = vec![0; entry.stored as usize];
    file.read_exact_at(&mut payload, entry.offset).map_err(|_| Error::corrupt("a pack is cut off"))?;
    let crc = crc32fast::hash(&payload).to_le_bytes();
    if same && frame[40..] == crc { Ok(()) } else { Err(Error::corrupt("a frame of a pack is damaged")) }
}

/// Finds the objects of a pack without its index: every frame whose bytes match their address.
///
/// # Errors
/// `CORRUPT` when it is no pack, or the system's error.
pub(super) fn scan(path: &Path) -> Result<Vec<IndexEntry>> {
    let file = files::open_file(path)?;
    check_magic(&file)?;
    let length = file.metadata().map_err(|e| Error::io("examining a pack", e).at(path))?.len();
    let mut entries = Vec::new();
    let mut at = MAGIC.len() as u64;
    let mut frame = [0; FRAME];
    while at + FRAME as u64 <= length {
        file.read_exact_at(&mut frame, at).map_err(|e| Error::io("reading a pack", e).at(path))?;
        let word = |i: usize| u32::from_le_bytes([frame[i], frame[i + 1], frame[i + 2], frame[i + 3]]);
        let mut hash = [0; 32];
        hash.copy_from_slice(&frame[8..40]);
        let entry = IndexEntry { hash: Hash(hash), offset: at + FRAME as u64, stored: word(0), raw: word(4) };
        at = entry.offset + u64::from(entry.stored);
        // A frame that does not match was deleted (its bytes are zeros) or is damaged; either way it is not there.
        if at <= length && entry.raw <= 1 << 30 && read_object(&file, &entry).is_ok() {
            entries.push(entry);
        }
    }
    Ok(entries)
}
