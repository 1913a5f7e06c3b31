//! The stat cache: what the last checkpoint saw, so that what did not change is not read again.
//!
//! It is a cache: a record that is missing or damaged is built anew. One record for each directory, appended when the directory
//! changed, with a reference to each child directory's record, so that an unchanged subtree keeps its records. `docs/format.md`
//! draws it.

use std::ffi::CStr;

use super::stat::Stat;
use crate::error::Result;
use crate::model::{Hash, Reason, Timestamp};

/// Where a record lies: offset and length in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheRef {
    /// Offset in the cache file.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
}

/// Reads records of the last checkpoint.
pub trait CacheReader: Sync {
    /// The bytes of a record; `None` when they cannot be had, for whatever reason.
    fn read(&self, at: CacheRef) -> Option<Vec<u8>>;
}

/// Takes the records of the checkpoint that is being made.
pub trait CacheWriter: Sync {
    /// Appends a record.
    ///
    /// # Errors
    /// When it cannot be written.
    fn append(&self, record: &[u8]) -> Result<CacheRef>;
}

const HEADER: usize = 88;
const FIXED: usize = 72;

const TRUSTED: u8 = 1;
const UNCOVERED: u8 = 2;

/// What the cache knows of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Known {
    pub(super) stat: Stat,
    /// The record of a child directory.
    pub(super) child: CacheRef,
    /// Its timestamps were old enough when it was read: equal timestamps mean equal content.
    pub(super) trusted: bool,
    /// It is not covered.
    pub(super) uncovered: Option<Reason>,
}

/// What the cache knows of a directory itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) ino: u64,
    pub(super) mtime: Timestamp,
    pub(super) ctime: Timestamp,
    /// Equal timestamps mean equal names.
    pub(super) trusted: bool,
    /// The ignore files that decided what is left out.
    pub(super) ignore_fingerprint: u64,
    pub(super) manifest: Hash,
}

/// A record that was read back and checked.
pub(super) struct Record {
    bytes: Vec<u8>,
    count: usize,
    pub(super) listing: Listing,
    name_ends: Vec<u32>,
}

impl Record {
    /// Checks a record's bytes; `None` for damaged ones.
    pub(super) fn parse(bytes: Vec<u8>) -> Option<Self> {
        if bytes.len() < HEADER || crc32fast::hash(&bytes[4..]) != u32_at(&bytes, 0) {
            return None;
        }
        let count = u32_at(&bytes, 4) as usize;
        let names = u32_at(&bytes, 8) as usize;
        if bytes.len() != HEADER.checked_add(count.checked_mul(FIXED)?)?.checked_add(names)? {
            return None;
        }
        let mut manifest = [0; 32];
        manifest.copy_from_slice(&bytes[24..56]);
        let listing = Listing {
            ino: u64_at(&bytes, 56),
            mtime: Timestamp { sec: u64_at(&bytes, 64) as i64, nsec: u32_at(&bytes, 80) },
            ctime: Timestamp { sec: u64_at(&bytes, 72) as i64, nsec: u32_at(&bytes, 84) },
            trusted: u32_at(&bytes, 12) & 1 != 0,
            ignore_fingerprint: u64_at(&bytes, 16),
            manifest: Hash(manifest),
        };
        let mut name_ends = Vec::with_capacity(count);
        let mut end = 0u32;
        for i in 0..count {
            end += u32::from(bytes[HEADER + i * FIXED + 68]) + 1;
            name_ends.push(end);
        }
        let base = HEADER + count * FIXED;
        let ends_well = |&end: &u32| bytes[base + end as usize - 1] == 0;
        if end as usize != names || !name_ends.iter().all(ends_well) {
            return None;
        }
        Some(Self { bytes, count, listing, name_ends })
    }

    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// The i-th name, as the system wants it.
    pub(super) fn name(&self, i: usize) -> &CStr {
        let base = HEADER + self.count * FIXED;
        let start = if i == 0 { 0 } else { self.name_ends[i - 1] as usize };
        let end = self.name_ends[i] as usize;
        CStr::from_bytes_with_nul(&self.bytes[base + start..base + end]).unwrap_or_default()
    }

    pub(super) fn known(&self, i: usize) -> Known {
        let b = &self.bytes[HEADER + i * FIXED..HEADER + (i + 1) * FIXED];
        let flags = b[69];
        Known {
            stat: Stat {
                ino: u64_at(b, 0),
                dev: 0,
                size: u64_at(b, 8),
                allocated: 0,
                mtime: Timestamp { sec: u64_at(b, 16) as i64, nsec: u32_at(b, 40) },
                ctime: Timestamp { sec: u64_at(b, 24) as i64, nsec: u32_at(b, 44) },
                mode: u32_at(b, 48),
                uid: u32_at(b, 52),
                gid: u32_at(b, 56),
                nlink: u32_at(b, 60),
            },
            child: CacheRef { offset: u64_at(b, 32), length: u32_at(b, 64) },
            trusted: flags & TRUSTED != 0,
            uncovered: if flags & UNCOVERED != 0 { Reason::from_byte(b[70]) } else { None },
        }
    }
}

/// The bytes of a record.
pub(super) fn encode<'n>(
    listing: &Listing,
    entries: impl ExactSizeIterator<Item = (&'n [u8], Known)>,
) -> Vec<u8> {
    let count = entries.len();
    let mut bytes = vec![0; HEADER];
    bytes.reserve(count * (FIXED + 20));
    let mut names = Vec::with_capacity(count * 20);
    for (name, known) in entries {
        let st = &known.stat;
        for word in [st.ino, st.size, st.mtime.sec as u64, st.ctime.sec as u64, known.child.offset] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        let words = [st.mtime.nsec, st.ctime.nsec, st.mode, st.uid, st.gid, st.nlink, known.child.length];
        for word in words {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        let mut flags = if known.trusted { TRUSTED } else { 0 };
        if known.uncovered.is_some() {
            flags |= UNCOVERED;
        }
        bytes.extend_from_slice(&[name.len() as u8, flags, known.uncovered.map_or(0, Reason::to_byte), 0]);
        names.extend_from_slice(name);
        names.push(0);
    }
    bytes[4..8].copy_from_slice(&(count as u32).to_le_bytes());
    bytes[8..12].copy_from_slice(&(names.len() as u32).to_le_bytes());
    bytes[12..16].copy_from_slice(&u32::from(listing.trusted).to_le_bytes());
    bytes[16..24].copy_from_slice(&listing.ignore_fingerprint.to_le_bytes());
    bytes[24..56].copy_from_slice(&listing.manifest.0);
    bytes[56..64].copy_from_slice(&listing.ino.to_le_bytes());
    bytes[64..72].copy_from_slice(&listing.mtime.sec.to_le_bytes());
    bytes[72..80].copy_from_slice(&listing.ctime.sec.to_le_bytes());
    bytes[80..84].copy_from_slice(&listing.mtime.nsec.to_le_bytes());
    bytes[84..88].copy_from_slice(&listing.ctime.nsec.to_le_bytes());
    bytes.extend_from_slice(&names);
    let crc = crc32fast::hash(&bytes[4..]);
    bytes[0..4].copy_from_slice(&crc.to_le_bytes());
    bytes
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Copies the records that are reachable from `root` into a new file, without the ones that later checkpoints replaced.
///
/// `None` when a record is damaged: then the cache is built anew.
///
/// # Errors
/// Those of the writer.
pub fn compact(
    reader: &dyn CacheReader,
    root: CacheRef,
    writer: &dyn CacheWriter,
) -> Result<Option<CacheRef>> {
    struct Frame {
        record: Record,
        next: usize,
        children: Vec<CacheRef>,
    }
    let load = |at| reader.read(at).and_then(Record::parse);
    let Some(record) = load(root) else { return Ok(None) };
    let mut stack = vec![Frame { record, next: 0, children: Vec::new() }];
    // A stack of our own: trees may be deeper than the thread's.
    loop {
        let Some(top) = stack.last_mut() else { return Ok(None) };
        if top.next < top.record.len() {
            let child = top.record.known(top.next).child;
            top.next += 1;
            top.children.push(CacheRef::default());
            if child.length > 0 {
                let Some(record) = load(child) else { return Ok(None) };
                stack.push(Frame { record, next: 0, children: Vec::new() });
            }
            continue;
        }
        let Some(done) = stack.pop() else { return Ok(None) };
        let entries = (0..done.record.len()).map(|i| {
            let known = Known { child: done.children[i], ..done.record.known(i) };
            (done.record.name(i).to_bytes(), known)
        });
        let at = writer.append(&encode(&done.record.listing, entries))?;
        match stack.last_mut() {
            None => return Ok(Some(at)),
            Some(parent) => {
                if let Some(slot) = parent.children.last_mut() {
                    *slot = at;
                }
            }
        }
    }
}
