use std::fmt;
use std::str::FromStr;

use crate::excerpt::excerpt;
use crate::ids::{CheckpointId, MAX_NAME_BYTES};

/// How many bytes a remembered id has room for.
pub(super) const PACKED_BYTES: usize = 16;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// The hyphens of a UUID's text stand at these places.
const UUID_HYPHENS: [usize; 4] = [8, 13, 18, 23];
const UUID_BYTES: usize = 36;

/// What a driver calls a checkpoint: 1 to 200 bytes without control characters, kept as they came.
///
/// ULIDs (the local engine's), lower-case UUIDs and texts of up to 16 bytes (Fly's `v7`) take 16 bytes and no allocation;
/// the gate remembers these for as long as it remembers the turn. Longer ones it passes on, and recognises by a digest.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct DriverCheckpointId(Form);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Form {
    Packed(PackedId),
    Long(Box<str>),
}

/// An id in 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PackedId {
    Ulid([u8; PACKED_BYTES]),
    Uuid([u8; PACKED_BYTES]),
    /// The first `length` bytes are the text; it was valid UTF-8 when it was packed.
    Short {
        length: u8,
        bytes: [u8; PACKED_BYTES],
    },
}

impl DriverCheckpointId {
    /// Checks `text` and makes it an id.
    ///
    /// # Errors
    /// [`InvalidDriverCheckpointId`] when it is empty, over 200 bytes, or holds a control character.
    pub fn new(text: &str) -> Result<Self, InvalidDriverCheckpointId> {
        if text.is_empty() || text.len() > MAX_NAME_BYTES || text.chars().any(char::is_control) {
            return Err(InvalidDriverCheckpointId { bytes: text.len(), given: excerpt(text) });
        }
        Ok(Self(PackedId::of(text).map_or_else(|| Form::Long(text.into()), Form::Packed)))
    }

    pub(super) const fn of_packed(packed: PackedId) -> Self {
        Self(Form::Packed(packed))
    }

    pub(super) const fn packed(&self) -> Option<PackedId> {
        match self.0 {
            Form::Packed(packed) => Some(packed),
            Form::Long(_) => None,
        }
    }
}

impl PackedId {
    fn of(text: &str) -> Option<Self> {
        if let Ok(ulid) = text.parse::<CheckpointId>() {
            return Some(Self::Ulid(ulid.to_bytes()));
        }
        if let Some(uuid) = uuid_bytes(text) {
            return Some(Self::Uuid(uuid));
        }
        let mut bytes = [0; PACKED_BYTES];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(Self::Short { length: u8::try_from(text.len()).ok()?, bytes })
    }
}

/// The 16 bytes of a UUID whose text is exactly what [`write_uuid`] writes.
fn uuid_bytes(text: &str) -> Option<[u8; PACKED_BYTES]> {
    if text.len() != UUID_BYTES {
        return None;
    }
    let mut bits: u128 = 0;
    for (at, character) in text.bytes().enumerate() {
        if UUID_HYPHENS.contains(&at) {
            if character != b'-' {
                return None;
            }
            continue;
        }
        let digit = HEX.iter().position(|&hex| hex == character)?;
        bits = bits << 4 | u128::try_from(digit).ok()?;
    }
    Some(bits.to_be_bytes())
}

fn write_uuid(f: &mut fmt::Formatter<'_>, bytes: [u8; PACKED_BYTES]) -> fmt::Result {
    for (at, byte) in bytes.iter().enumerate() {
        let hyphen = if matches!(at, 4 | 6 | 8 | 10) { "-" } else { "" };
        write!(f, "{hyphen}{byte:02x}")?;
    }
    Ok(())
}

impl fmt::Display for DriverCheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Packed(PackedId::Ulid(bytes)) => write!(f, "{}", CheckpointId::from_bytes(*bytes)),
            Form::Packed(PackedId::Uuid(bytes)) => write_uuid(f, *bytes),
            Form::Packed(PackedId::Short { length, bytes }) => {
                let text = bytes.get(..usize::from(*length)).and_then(|text| std::str::from_utf8(text).ok());
                f.write_str(text.ok_or(fmt::Error)?)
            }
            Form::Long(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for DriverCheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DriverCheckpointId({self})")
    }
}

impl FromStr for DriverCheckpointId {
    type Err = InvalidDriverCheckpointId;

    fn from_str(text: &str) -> Result<Self, InvalidDriverCheckpointId> {
        Self::new(text)
    }
}

impl TryFrom<String> for DriverCheckpointId {
    type Error = InvalidDriverCheckpointId;

    fn try_from(text: String) -> Result<Self, InvalidDriverCheckpointId> {
        Self::new(&text)
    }
}

impl From<DriverCheckpointId> for String {
    fn from(id: DriverCheckpointId) -> Self {
        id.to_string()
    }
}

/// Something that no driver may call a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{given} ({bytes} bytes) cannot be the id of a driver's checkpoint: it has 1 to 200 bytes and no control characters; mend the driver"
)]
pub struct InvalidDriverCheckpointId {
    /// The length of what was given, in bytes.
    pub bytes: usize,
    /// The start of what was given, quoted and escaped.
    pub given: String,
}

impl InvalidDriverCheckpointId {
    /// The stable code of this error.
    pub const fn code(&self) -> &'static str {
        "INVALID_ARGUMENT"
    }
}
