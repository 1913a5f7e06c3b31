//! The stored form of a list of uncovered paths.

use super::codec::{DecodeError, Decoder, Encoder};
use super::path::RelPath;
use super::uncovered::{Reason, Uncovered};

/// The bytes as stored.
#[must_use]
pub fn encode_uncovered(list: &[Uncovered]) -> Vec<u8> {
    let mut e = Encoder::default();
    e.varint(list.len() as u64);
    for item in list {
        e.byte(item.reason.to_byte());
        e.bytes(item.path.as_bytes());
        e.bytes(item.detail.as_deref().unwrap_or("").as_bytes());
    }
    e.into_bytes()
}

/// Reads stored bytes.
///
/// # Errors
/// [`DecodeError`] when they were not written by [`encode_uncovered`].
pub fn decode_uncovered(bytes: &[u8]) -> Result<Vec<Uncovered>, DecodeError> {
    let mut d = Decoder::new(bytes);
    let count = d.count()?;
    let mut list = Vec::new();
    for _ in 0..count {
        let reason = Reason::from_byte(d.byte()?).ok_or(DecodeError::Invalid)?;
        let path = RelPath::parse(d.bytes()?).map_err(|_| DecodeError::Invalid)?;
        let detail = std::str::from_utf8(d.bytes()?).map_err(|_| DecodeError::Invalid)?;
        let detail = (!detail.is_empty()).then(|| detail.to_owned());
        list.push(Uncovered { path, reason, detail });
    }
    d.end()?;
    Ok(list)
}
