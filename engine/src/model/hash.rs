//! The BLAKE3 content address.

use std::fmt;

/// The BLAKE3-256 hash of an object's bytes: its address in the store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// Hashes bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The hash as lower-case hexadecimal digits.
    #[must_use]
    pub fn to_hex(self) -> HashHex {
        HashHex(blake3::Hash::from_bytes(self.0).to_hex().to_string())
    }

    /// Reads 64 lower-case hexadecimal digits; `None` for anything else.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        if text.len() != 64 || text.bytes().any(|b| b.is_ascii_uppercase()) {
            return None;
        }
        blake3::Hash::from_hex(text).ok().map(|h| Self(*h.as_bytes()))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex().0[..16])
    }
}

/// Hexadecimal digits of a [`struct@Hash`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashHex(pub String);

impl fmt::Display for HashHex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
