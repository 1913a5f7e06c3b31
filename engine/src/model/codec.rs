//! The byte encoding of entries: little-endian, varints, length-prefixed bytes. `docs/format.md` draws it.

use super::entry::{Content, Entry, FileKind, Meta, Node, Timestamp};
use super::hash::Hash;
use super::path::check_name;
use super::uncovered::Reason;

/// Bytes that no version of this program wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end too early.
    #[error("the data ends too early")]
    Truncated,
    /// A value is out of its range, or a rule of the format is broken.
    #[error("the data breaks the format's rules")]
    Invalid,
}

/// Appends values to bytes.
#[derive(Debug, Default, Clone)]
pub struct Encoder(Vec<u8>);

impl Encoder {
    /// One byte.
    pub fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    /// An unsigned number, seven bits a byte, lowest first.
    pub fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value as u8) | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A signed number, zigzag.
    pub fn signed(&mut self, value: i64) {
        self.varint(((value << 1) ^ (value >> 63)) as u64);
    }

    /// Bytes with their length before them.
    pub fn bytes(&mut self, value: &[u8]) {
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    /// Bytes as they are.
    pub fn raw(&mut self, value: &[u8]) {
        self.0.extend_from_slice(value);
    }

    /// How many bytes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// The bytes so far.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Reads values from bytes; never allocates more than the bytes that are there.
#[derive(Debug, Clone)]
pub struct Decoder<'a>(&'a [u8]);

impl<'a> Decoder<'a> {
    /// Starts at the first byte.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// How many bytes are left.
    #[must_use]
    pub const fn remaining(&self) -> usize {
        self.0.len()
    }

    /// One byte.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`] at the end.
    pub fn byte(&mut self) -> Result<u8, DecodeError> {
        let (&first, rest) = self.0.split_first().ok_or(DecodeError::Truncated)?;
        self.0 = rest;
        Ok(first)
    }

    /// An unsigned number in its shortest form.
    ///
    /// # Errors
    /// [`DecodeError`] at the end, when it does not fit 64 bits or is not in its shortest form.
    pub fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(DecodeError::Invalid);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return if byte == 0 && shift > 0 { Err(DecodeError::Invalid) } else { Ok(value) };
            }
        }
        Err(DecodeError::Invalid)
    }

    /// A signed number.
    ///
    /// # Errors
    /// As [`Decoder::varint`].
    pub fn signed(&mut self) -> Result<i64, DecodeError> {
        let value = self.varint()?;
        Ok(((value >> 1) as i64) ^ -((value & 1) as i64))
    }

    /// A count of things that take at least one byte each: more than the bytes left is refused before anything is allocated.
    ///
    /// # Errors
    /// As [`Decoder::varint`], and [`DecodeError::Truncated`] for a count that cannot be true.
    pub fn count(&mut self) -> Result<usize, DecodeError> {
        let count = self.varint()?;
        if count > self.0.len() as u64 {
            return Err(DecodeError::Truncated);
        }
        Ok(count as usize)
    }

    /// As many bytes as asked for.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`] at the end.
    pub fn raw(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        if length > self.0.len() {
            return Err(DecodeError::Truncated);
        }
        let (head, rest) = self.0.split_at(length);
        self.0 = rest;
        Ok(head)
    }

    /// Bytes with their length before them.
    ///
    /// # Errors
    /// As [`Decoder::count`].
    pub fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.count()?;
        self.raw(length)
    }

    /// A hash.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`] at the end.
    pub fn hash(&mut self) -> Result<Hash, DecodeError> {
        let mut hash = [0; 32];
        hash.copy_from_slice(self.raw(32)?);
        Ok(Hash(hash))
    }

    /// Nothing may be left.
    ///
    /// # Errors
    /// [`DecodeError::Invalid`] when something is.
    pub const fn end(&self) -> Result<(), DecodeError> {
        if self.0.is_empty() { Ok(()) } else { Err(DecodeError::Invalid) }
    }
}

const TAG_BLOB: u8 = 1;
const TAG_SEGMENTS: u8 = 2;
const TAG_DIRECTORY: u8 = 3;
const TAG_SYMLINK: u8 = 4;
const TAG_FIFO: u8 = 5;
const TAG_UNCOVERED: u8 = 6;
const FLAG_XATTRS: u8 = 0x40;
const FLAG_CHANGING: u8 = 0x80;

/// Appends one entry.
pub fn encode_entry(e: &mut Encoder, entry: &Entry) {
    let mut tag = match &entry.node {
        Node::File { content: Content::Blob(_), .. } => TAG_BLOB,
        Node::File { content: Content::Segments(_), .. } => TAG_SEGMENTS,
        Node::Directory { .. } => TAG_DIRECTORY,
        Node::Symlink { .. } => TAG_SYMLINK,
        Node::Fifo => TAG_FIFO,
        Node::Uncovered { .. } => TAG_UNCOVERED,
    };
    if entry.meta.xattrs.is_some() {
        tag |= FLAG_XATTRS;
    }
    if matches!(entry.node, Node::File { changing: true, .. }) {
        tag |= FLAG_CHANGING;
    }
    e.byte(tag);
    e.bytes(&entry.name);
    e.varint(u64::from(entry.meta.mode));
    e.varint(u64::from(entry.meta.uid));
    e.varint(u64::from(entry.meta.gid));
    e.signed(entry.meta.mtime.sec);
    e.varint(u64::from(entry.meta.mtime.nsec));
    if let Some(hash) = &entry.meta.xattrs {
        e.raw(&hash.0);
    }
    match &entry.node {
        Node::File { size, content, .. } => {
            e.varint(*size);
            e.raw(&content.hash().0);
        }
        Node::Directory { manifest } => e.raw(&manifest.0),
        Node::Symlink { target } => e.bytes(target),
        Node::Fifo => {}
        Node::Uncovered { reason, kind } => {
            e.byte(reason.to_byte());
            e.byte(*kind as u8);
        }
    }
}

fn narrow<T: TryFrom<u64>>(value: u64) -> Result<T, DecodeError> {
    T::try_from(value).map_err(|_| DecodeError::Invalid)
}

/// Reads one entry and checks it.
///
/// # Errors
/// [`DecodeError`] when it ends early or breaks a rule: a bad name (inputs 26, 27), an unknown tag, a value out of range.
pub fn decode_entry(d: &mut Decoder<'_>) -> Result<Entry, DecodeError> {
    let tag = d.byte()?;
    let name = d.bytes()?;
    check_name(name).map_err(|_| DecodeError::Invalid)?;
    let mode: u16 = narrow(d.varint()?)?;
    let uid = narrow(d.varint()?)?;
    let gid = narrow(d.varint()?)?;
    let sec = d.signed()?;
    let nsec: u32 = narrow(d.varint()?)?;
    if mode > 0o7777 || nsec > 999_999_999 {
        return Err(DecodeError::Invalid);
    }
    let xattrs = if tag & FLAG_XATTRS != 0 { Some(d.hash()?) } else { None };
    let changing = tag & FLAG_CHANGING != 0;
    let node = match tag & !(FLAG_XATTRS | FLAG_CHANGING) {
        TAG_BLOB => Node::File { size: d.varint()?, content: Content::Blob(d.hash()?), changing },
        TAG_SEGMENTS => Node::File { size: d.varint()?, content: Content::Segments(d.hash()?), changing },
        _ if changing => return Err(DecodeError::Invalid),
        TAG_DIRECTORY => Node::Directory { manifest: d.hash()? },
        TAG_SYMLINK => Node::Symlink { target: d.bytes()?.into() },
        TAG_FIFO => Node::Fifo,
        TAG_UNCOVERED => {
            let reason = Reason::from_byte(d.byte()?).ok_or(DecodeError::Invalid)?;
            Node::Uncovered { reason, kind: kind_from_byte(d.byte()?)? }
        }
        _ => return Err(DecodeError::Invalid),
    };
    Ok(Entry {
        name: name.into(),
        meta: Meta { mode, uid, gid, mtime: Timestamp { sec, nsec }, xattrs },
        node,
    })
}

const fn kind_from_byte(byte: u8) -> Result<FileKind, DecodeError> {
    Ok(match byte {
        0 => FileKind::File,
        1 => FileKind::Directory,
        2 => FileKind::Symlink,
        3 => FileKind::Fifo,
        4 => FileKind::Socket,
        5 => FileKind::Device,
        6 => FileKind::Unknown,
        _ => return Err(DecodeError::Invalid),
    })
}
