//! The format's version, and text files that carry their own checksum.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Code, Error, Result};
use crate::model::Hash;

/// The longest record and the longest marks that are written and read back, in bytes.
pub(super) const MAX_SEALED: u64 = 16 << 20;

/// The version that this program writes.
pub const FORMAT_VERSION: u32 = 1;

/// A value as one line of JSON and one line with the BLAKE3 hash of the first, so that any flipped byte shows (P7).
///
/// # Errors
/// `INVALID_ARGUMENT` when the value has no JSON form.
pub fn seal<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(value).map_err(|e| {
        Error::new(Code::InvalidArgument, "the value cannot be written as JSON", "check the metadata")
            .because(e)
    })?;
    let hash = Hash::of(&bytes).to_hex();
    bytes.push(b'\n');
    bytes.extend_from_slice(hash.0.as_bytes());
    bytes.push(b'\n');
    Ok(bytes)
}

/// As [`seal`], for what callers put their own metadata and labels into.
///
/// # Errors
/// `INVALID_ARGUMENT` when it would be too long to be read back.
pub(super) fn seal_short<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    let bytes = seal(value)?;
    if bytes.len() as u64 > MAX_SEALED {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("metadata or label take {} bytes, the limit is {MAX_SEALED}", bytes.len()),
            "shorten the metadata or the label",
        ));
    }
    Ok(bytes)
}

/// Reads a value back.
///
/// # Errors
/// `CORRUPT` when anything differs from what [`seal`] wrote; `STORE_FORMAT` for a file of a newer version.
pub fn unseal<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let line =
        bytes.iter().position(|&b| b == b'\n').ok_or_else(|| Error::corrupt("a file has no checksum"))?;
    let (json, rest) = bytes.split_at(line);
    let expected = format!("\n{}\n", Hash::of(json).to_hex());
    if rest != expected.as_bytes() {
        return Err(Error::corrupt("a file does not match its checksum"));
    }
    #[derive(serde::Deserialize)]
    struct Version {
        format: u32,
    }
    let version: Version = serde_json::from_slice(json).map_err(malformed)?;
    if version.format > FORMAT_VERSION {
        return Err(Error::new(
            Code::StoreFormat,
            format!("the file has format {}, this version knows {FORMAT_VERSION}", version.format),
            "use a newer version of turnback",
        ));
    }
    serde_json::from_slice(json).map_err(malformed)
}

fn malformed(cause: serde_json::Error) -> Error {
    Error::corrupt("a file breaks the format's rules").because(cause)
}
