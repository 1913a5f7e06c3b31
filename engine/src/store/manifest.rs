//! Manifests: the entries of one directory as objects. A very wide directory is split where the hash of a name says so, so that a
//! change rewrites one part and not the whole.

use crate::error::{Error, Result};
use crate::model::{DecodeError, Decoder, Encoder, Entry, Hash, Objects, decode_entry, encode_entry};

const LEAF: u8 = 0;
const BRANCH: u8 = 1;
/// Directories up to this many entries are one object.
const WHOLE: usize = 2048;
/// Parts have at least and at most so many entries.
const PART: std::ops::Range<usize> = 256..8192;
/// One name in so many ends a part.
const ONE_IN: u32 = 1024;
/// The longest manifest object that is read back.
const MAX_BYTES: u64 = 64 << 20;

/// Encodes a directory; `put` stores an object and returns its address.
///
/// # Errors
/// Those of `put`.
pub(super) fn write(entries: &[Entry], put: &dyn Fn(&[u8]) -> Result<Hash>) -> Result<Hash> {
    if entries.len() <= WHOLE {
        return put(&leaf(entries));
    }
    let mut parts = Vec::new();
    let mut rest = entries;
    while !rest.is_empty() {
        let (part, others) = rest.split_at(end_of_part(rest));
        rest = others;
        parts.push(put(&leaf(part))?);
    }
    let mut e = Encoder::default();
    e.byte(BRANCH);
    e.varint(parts.len() as u64);
    for part in &parts {
        e.raw(&part.0);
    }
    put(e.as_bytes())
}

fn end_of_part(entries: &[Entry]) -> usize {
    let longest = entries.len().min(PART.end);
    let ends = |entry: &Entry| crc32fast::hash(&entry.name).is_multiple_of(ONE_IN);
    (PART.start.min(longest)..longest).find(|&at| ends(&entries[at])).map_or(longest, |at| at + 1)
}

fn leaf(entries: &[Entry]) -> Vec<u8> {
    let mut e = Encoder::default();
    e.byte(LEAF);
    e.varint(entries.len() as u64);
    for entry in entries {
        encode_entry(&mut e, entry);
    }
    e.into_bytes()
}

/// Reads a directory back.
///
/// # Errors
/// `CORRUPT` when an object is missing or damaged, or when names are not sorted and unique (inputs 9, 34).
pub(super) fn read(objects: &dyn Objects, manifest: Hash) -> Result<Vec<Entry>> {
    let bytes = objects.read(manifest, MAX_BYTES)?;
    let malformed = |e: DecodeError| Error::corrupt("a manifest breaks the format's rules").because(e);
    let mut entries = Vec::new();
    match bytes.split_first() {
        Some((&LEAF, body)) => decode_leaf(body, &mut entries).map_err(malformed)?,
        Some((&BRANCH, body)) => {
            for part in decode_branch(body).map_err(malformed)? {
                let bytes = objects.read(part, MAX_BYTES)?;
                match bytes.split_first() {
                    Some((&LEAF, body)) => decode_leaf(body, &mut entries).map_err(malformed)?,
                    _ => return Err(malformed(DecodeError::Invalid)),
                }
            }
        }
        _ => return Err(malformed(DecodeError::Truncated)),
    }
    if entries.is_sorted_by(|a, b| a.name < b.name) {
        Ok(entries)
    } else {
        Err(malformed(DecodeError::Invalid))
    }
}

/// The parts of a split directory; none for a directory that is one object.
///
/// # Errors
/// `CORRUPT` as [`read`].
pub(super) fn parts(objects: &dyn Objects, manifest: Hash) -> Result<Vec<Hash>> {
    let bytes = objects.read(manifest, MAX_BYTES)?;
    match bytes.split_first() {
        Some((&BRANCH, body)) => {
            decode_branch(body).map_err(|e| Error::corrupt("a manifest breaks the format's rules").because(e))
        }
        _ => Ok(Vec::new()),
    }
}

fn decode_leaf(body: &[u8], entries: &mut Vec<Entry>) -> std::result::Result<(), DecodeError> {
    let mut d = Decoder::new(body);
    let count = d.count()?;
    for _ in 0..count {
        entries.push(decode_entry(&mut d)?);
    }
    d.end()
}

fn decode_branch(body: &[u8]) -> std::result::Result<Vec<Hash>, DecodeError> {
    let mut d = Decoder::new(body);
    let count = d.count()?;
    let mut parts = Vec::new();
    for _ in 0..count {
        parts.push(d.hash()?);
    }
    d.end()?;
    Ok(parts)
}
