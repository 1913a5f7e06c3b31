//! The index of one pack: which objects it holds and where. Read in buckets, each with its checksum, never whole.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::files;
use crate::error::{Error, Result};
use crate::model::Hash;

const MAGIC: &[u8; 8] = b"TBINDX\0\x01";
const HEADER: usize = 24;
const ENTRY: usize = 48;

/// Where an object's bytes lie in a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct IndexEntry {
    pub(super) hash: Hash,
    /// Offset of the payload, behind its frame header.
    pub(super) offset: u64,
    /// Bytes in the pack. Equal to `raw` when they are stored as they are, otherwise an LZ4 block.
    pub(super) stored: u32,
    /// Bytes of the object.
    pub(super) raw: u32,
}

/// The index of one pack, read as far as it was needed.
#[derive(Debug)]
pub(super) struct Index {
    path: PathBuf,
    bits: u8,
    /// For each bucket: the number of entries up to its end, and its checksum.
    ends: Vec<(u32, u32)>,
    buckets: Box<[OnceLock<Box<[IndexEntry]>>]>,
}

/// How many bytes an index of so many entries takes.
pub(super) fn encoded_length(entries: usize) -> u64 {
    if entries == 0 { 0 } else { (HEADER + (8 << bits_for(entries)) + entries * ENTRY) as u64 }
}

fn bits_for(entries: usize) -> u8 {
    (entries / 128).checked_ilog2().map_or(0, |b| (b + 1).min(16)) as u8
}

/// The bytes of an index; sorts the entries.
pub(super) fn encode(entries: &mut [IndexEntry]) -> Vec<u8> {
    entries.sort_unstable();
    let bits = bits_for(entries.len());
    let mut body = Vec::with_capacity(entries.len() * ENTRY);
    let mut table = Vec::new();
    let mut rest = &*entries;
    let mut end = 0u32;
    for bucket in 0..1usize << bits {
        let n = rest.partition_point(|e| bucket_of(&e.hash, bits) <= bucket);
        let (these, others) = rest.split_at(n);
        rest = others;
        let start = body.len();
        for e in these {
            body.extend_from_slice(&e.hash.0);
            body.extend_from_slice(&e.offset.to_le_bytes());
            body.extend_from_slice(&e.stored.to_le_bytes());
            body.extend_from_slice(&e.raw.to_le_bytes());
        }
        end += n as u32;
        table.extend_from_slice(&end.to_le_bytes());
        table.extend_from_slice(&crc32fast::hash(&body[start..]).to_le_bytes());
    }
    let mut bytes = Vec::with_capacity(HEADER + table.len() + body.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&u32::from(bits).to_le_bytes());
    bytes.extend_from_slice(&(entries.len() as u64).to_le_bytes());
    let mut crc = crc32fast::Hasher::new();
    crc.update(&bytes);
    crc.update(&table);
    bytes.extend_from_slice(&crc.finalize().to_le_bytes());
    bytes.extend_from_slice(&table);
    bytes.extend_from_slice(&body);
    bytes
}

fn bucket_of(hash: &Hash, bits: u8) -> usize {
    let first = u32::from_be_bytes([hash.0[0], hash.0[1], hash.0[2], hash.0[3]]);
    if bits == 0 { 0 } else { (first >> (32 - u32::from(bits))) as usize }
}

impl Index {
    /// Opens an index and checks its header.
    ///
    /// # Errors
    /// `CORRUPT` when it is damaged, or the system's error.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let damaged = || Error::corrupt("an index is damaged").at(path);
        let file = files::open_file(path)?;
        let length = file.metadata().map_err(|e| Error::io("examining an index", e).at(path))?.len();
        let mut header = [0; HEADER];
        file.read_exact_at(&mut header, 0).map_err(|_| damaged())?;
        let bits = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
        let mut count = [0; 8];
        count.copy_from_slice(&header[12..20]);
        let count = u64::from_le_bytes(count);
        let table_len = if bits <= 16 { 8usize << bits } else { return Err(damaged()) };
        let whole = count
            .checked_mul(ENTRY as u64)
            .and_then(|body| body.checked_add((HEADER + table_len) as u64))
            .ok_or_else(damaged)?;
        if &header[..8] != MAGIC || whole != length {
            return Err(damaged());
        }
        let mut table = vec![0; table_len];
        file.read_exact_at(&mut table, HEADER as u64).map_err(|_| damaged())?;
        let mut crc = crc32fast::Hasher::new();
        crc.update(&header[..20]);
        crc.update(&table);
        if crc.finalize().to_le_bytes() != header[20..24] {
            return Err(damaged());
        }
        let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        let ends: Vec<_> = table.chunks_exact(8).map(|b| (word(b), word(&b[4..]))).collect();
        // Somebody who writes to the store can make the checksum right: what the table says is believed only as far as the file goes.
        if !ends.is_sorted_by_key(|e| e.0) || ends.last().map_or(0, |e| u64::from(e.0)) != count {
            return Err(damaged());
        }
        let buckets = ends.iter().map(|_| OnceLock::new()).collect();
        Ok(Self { path: path.to_owned(), bits: bits as u8, ends, buckets })
    }

    /// An index that is only in memory: rebuilt from its pack because the file is damaged.
    pub(super) fn in_memory(path: &Path, mut entries: Vec<IndexEntry>) -> Self {
        entries.sort_unstable();
        entries.dedup_by_key(|e| e.hash);
        let bucket = OnceLock::new();
        let count = entries.len() as u32;
        let _ = bucket.set(entries.into());
        Self { path: path.to_owned(), bits: 0, ends: vec![(count, 0)], buckets: Box::new([bucket]) }
    }

    /// How many objects it lists.
    pub(super) fn len(&self) -> usize {
        self.ends.last().map_or(0, |e| e.0 as usize)
    }

    /// Finds an object.
    ///
    /// # Errors
    /// `CORRUPT` when the bucket is damaged.
    pub(super) fn get(&self, hash: &Hash) -> Result<Option<IndexEntry>> {
        let bucket = self.bucket(bucket_of(hash, self.bits))?;
        Ok(bucket.binary_search_by(|e| e.hash.cmp(hash)).ok().map(|at| bucket[at]))
    }

    /// All entries.
    ///
    /// # Errors
    /// `CORRUPT` when a bucket is damaged.
    pub(super) fn all(&self) -> Result<Vec<IndexEntry>> {
        let mut all = Vec::with_capacity(self.len());
        for i in 0..self.ends.len() {
            all.extend_from_slice(self.bucket(i)?);
        }
        Ok(all)
    }

    fn bucket(&self, i: usize) -> Result<&[IndexEntry]> {
        if let Some(bucket) = self.buckets[i].get() {
            return Ok(bucket);
        }
        let loaded = self.load(i)?;
        Ok(self.buckets[i].get_or_init(|| loaded))
    }

    fn load(&self, i: usize) -> Result<Box<[IndexEntry]>> {
        let damaged = || Error::corrupt("a part of an index is damaged").at(&self.path);
        let start = if i == 0 { 0 } else { self.ends[i - 1].0 };
        let (end, crc) = self.ends[i];
        let count = end.checked_sub(start).ok_or_else(damaged)? as usize;
        let mut bytes = vec![0; count * ENTRY];
        let offset = HEADER + self.ends.len() * 8 + start as usize * ENTRY;
        files::open_file(&self.path)?.read_exact_at(&mut bytes, offset as u64).map_err(|_| damaged())?;
        if crc32fast::hash(&bytes) != crc {
            return Err(damaged());
        }
        Ok(bytes.chunks_exact(ENTRY).map(decode_entry).collect())
    }
}

fn decode_entry(b: &[u8]) -> IndexEntry {
    let mut hash = [0; 32];
    hash.copy_from_slice(&b[..32]);
    let mut offset = [0; 8];
    offset.copy_from_slice(&b[32..40]);
    let word = |at: usize| u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
    IndexEntry { hash: Hash(hash), offset: u64::from_le_bytes(offset), stored: word(40), raw: word(44) }
}
