//! The two small objects behind an entry: extended attributes, and the segments of a large or sparse file.

use super::codec::{DecodeError, Decoder, Encoder};
use super::entry::Segment;

/// Extended attributes, sorted by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Xattrs(pub Vec<Xattr>);

/// Name and value of one extended attribute.
pub type Xattr = (Box<[u8]>, Box<[u8]>);

impl Xattrs {
    /// The largest object of this kind that is read back, in bytes.
    pub const MAX_BYTES: u64 = 16 << 20;

    /// The file capabilities, which only the right owner gets back.
    pub const CAPABILITY: &'static [u8] = b"security.capability";

    /// Whether an attribute belongs to the tree: users' own, POSIX ACLs and file capabilities. `trusted.*` and other `security.*`
    /// belong to the machine and are neither kept nor touched (input 20).
    #[must_use]
    pub fn keeps(name: &[u8]) -> bool {
        name.starts_with(b"user.")
            || name == b"system.posix_acl_access"
            || name == b"system.posix_acl_default"
            || name == Self::CAPABILITY
    }

    /// The bytes as stored.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::default();
        e.varint(self.0.len() as u64);
        for (name, value) in &self.0 {
            e.bytes(name);
            e.bytes(value);
        }
        e.into_bytes()
    }

    /// Reads stored bytes.
    ///
    /// # Errors
    /// [`DecodeError`] when they were not written by [`Xattrs::encode`].
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::new(bytes);
        let count = d.count()?;
        let mut all: Vec<Xattr> = Vec::new();
        for _ in 0..count {
            let name: Box<[u8]> = d.bytes()?.into();
            let ascending = all.last().is_none_or(|(last, _)| *last < name);
            if name.is_empty() || name.contains(&0) || !ascending {
                return Err(DecodeError::Invalid);
            }
            all.push((name, d.bytes()?.into()));
        }
        d.end()?;
        Ok(Self(all))
    }
}

/// The bytes of a segment list as stored.
#[must_use]
pub fn encode_segments(segments: &[Segment]) -> Vec<u8> {
    let mut e = Encoder::default();
    e.varint(segments.len() as u64);
    for segment in segments {
        match segment {
            Segment::Hole { length } => {
                e.byte(0);
                e.varint(*length);
            }
            Segment::Data { length, hash } => {
                e.byte(1);
                e.varint(*length);
                e.raw(&hash.0);
            }
        }
    }
    e.into_bytes()
}

/// Reads a stored segment list whose lengths must add up to `size`.
///
/// # Errors
/// [`DecodeError`] when it was not written by [`encode_segments`] or describes another size.
pub fn decode_segments(bytes: &[u8], size: u64) -> Result<Vec<Segment>, DecodeError> {
    let mut d = Decoder::new(bytes);
    let count = d.count()?;
    let mut segments = Vec::new();
    let mut total = 0u64;
    for _ in 0..count {
        let tag = d.byte()?;
        let length = d.varint()?;
        total = total.checked_add(length).ok_or(DecodeError::Invalid)?;
        segments.push(match tag {
            _ if length == 0 => return Err(DecodeError::Invalid),
            0 => Segment::Hole { length },
            1 if length <= Segment::MAX_DATA => Segment::Data { length, hash: d.hash()? },
            _ => return Err(DecodeError::Invalid),
        });
    }
    d.end()?;
    if total == size { Ok(segments) } else { Err(DecodeError::Invalid) }
}
