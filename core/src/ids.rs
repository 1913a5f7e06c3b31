use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use ulid::Ulid;

use crate::excerpt::excerpt;
use crate::time::Millis;

/// The longest sandbox, plan or turn id, in bytes of UTF-8 (G2).
pub const MAX_NAME_BYTES: usize = 200;

/// The id of a checkpoint: a ULID (C1), 128 bits of which the first 48 are the time of its making in milliseconds.
///
/// Ids sort by time, then by their random bits. The text form is the canonical one only, 26 characters of upper-case
/// Crockford base 32, so that one id has exactly one spelling and can name a directory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
pub struct CheckpointId(Ulid);

impl CheckpointId {
    /// The length of the text form, in bytes.
    pub const TEXT_BYTES: usize = ulid::ULID_LEN;

    /// The id made at `at` with 80 `random` bits of the host's.
    ///
    /// # Errors
    /// [`IdError::TimeOutOfRange`] when `at` does not fit in 48 bits (after the year 10889).
    pub fn from_parts(at: Millis, random: [u8; 10]) -> Result<Self, IdError> {
        if at.as_u64() >> Ulid::TIME_BITS != 0 {
            return Err(IdError::TimeOutOfRange { at });
        }
        let mut bits = [0; 16];
        for (to, from) in bits.iter_mut().skip(6).zip(random) {
            *to = from;
        }
        Ok(Self(Ulid::from_parts(at.as_u64(), u128::from_be_bytes(bits))))
    }

    /// The id whose 16 bytes (big-endian) are `bytes`. Every value is an id.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Ulid::from_bytes(bytes))
    }

    /// The id's 16 bytes, big-endian: they sort as the ids do.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_bytes()
    }

    /// When the id was made, by the clock of the host that made it.
    pub const fn created_at(self) -> Millis {
        Millis::since_epoch(self.0.timestamp_ms())
    }
}

impl fmt::Display for CheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.array_to_str(&mut [0; ulid::ULID_LEN]))
    }
}

impl fmt::Debug for CheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CheckpointId({self})")
    }
}

impl From<CheckpointId> for String {
    fn from(id: CheckpointId) -> Self {
        id.to_string()
    }
}

impl FromStr for CheckpointId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        if text.len() != Self::TEXT_BYTES {
            return Err(IdError::CheckpointLength { bytes: text.len(), given: excerpt(text) });
        }
        // The library also takes lower case and drops bits that a first digit over 7 would need: only what it
        // would print itself is an id.
        let id = Ulid::from_string(text)
            .map(Self)
            .map_err(|_| IdError::CheckpointText { given: excerpt(text) })?;
        if id.0.array_to_str(&mut [0; ulid::ULID_LEN]) != text {
            return Err(IdError::CheckpointText { given: excerpt(text) });
        }
        Ok(id)
    }
}

impl TryFrom<String> for CheckpointId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

/// Which named id was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdKind {
    /// A [`SandboxId`].
    Sandbox,
    /// A [`PlanId`].
    Plan,
    /// A [`TurnId`].
    Turn,
}

impl fmt::Display for IdKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sandbox => "sandbox id",
            Self::Plan => "plan id",
            Self::Turn => "turn id",
        })
    }
}

/// Why something is not an id. The input is never repeated beyond its first 40 characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// A checkpoint id of another length than 26.
    #[error(
        "{given} is not a checkpoint id: it has {bytes} bytes where an id has 26; take the id from the list of checkpoints"
    )]
    CheckpointLength {
        /// The length of what was given, in bytes.
        bytes: usize,
        /// The start of what was given, quoted and escaped.
        given: String,
    },
    /// A checkpoint id of the right length that is not canonical upper-case Crockford base 32, or is over 128 bits.
    #[error(
        "{given} is not a checkpoint id: an id is 26 of the characters 0-9 and A-Z without I, L, O and U, the first at most 7; take the id from the list of checkpoints"
    )]
    CheckpointText {
        /// What was given, quoted and escaped.
        given: String,
    },
    /// A time that does not fit into a checkpoint id.
    #[error("a checkpoint id cannot hold the time {at}: it has 48 bits for it; check the machine's clock")]
    TimeOutOfRange {
        /// The time that was given.
        at: Millis,
    },
    /// An empty id.
    #[error("a {kind} cannot be empty: give it 1 to 200 bytes")]
    Empty {
        /// Which id it was to be.
        kind: IdKind,
    },
    /// An id of over 200 bytes.
    #[error("a {kind} has at most 200 bytes of UTF-8, but {bytes} were given ({given}): shorten it")]
    TooLong {
        /// Which id it was to be.
        kind: IdKind,
        /// The length of what was given, in bytes.
        bytes: usize,
        /// The start of what was given, quoted and escaped.
        given: String,
    },
    /// A control character where none is allowed.
    #[error("a {kind} cannot hold control characters, but {given} does: remove them")]
    ControlCharacter {
        /// Which id it was to be.
        kind: IdKind,
        /// The start of what was given, quoted and escaped.
        given: String,
    },
}

impl IdError {
    /// The stable code of this error.
    pub const fn code(&self) -> &'static str {
        "INVALID_ARGUMENT"
    }
}

fn checked(kind: IdKind, text: String, controls: bool) -> Result<Arc<str>, IdError> {
    if text.is_empty() {
        return Err(IdError::Empty { kind });
    }
    if text.len() > MAX_NAME_BYTES {
        return Err(IdError::TooLong { kind, bytes: text.len(), given: excerpt(&text) });
    }
    if !controls && text.chars().any(char::is_control) {
        return Err(IdError::ControlCharacter { kind, given: excerpt(&text) });
    }
    Ok(text.into())
}

macro_rules! named_id {
    ($(#[$doc:meta])* $name:ident, $kind:expr, controls: $controls:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks `text` and makes it an id.
            ///
            /// # Errors
            /// [`IdError`] when `text` is not one; the type's own description says what is allowed.
            pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
                checked($kind, text.into(), $controls).map(Self)
            }

            /// The id as it was given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.as_str().to_owned()
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                Self::new(text)
            }
        }
    };
}

named_id! {
    /// The id of a sandbox; for a plain directory, the stable id of that workspace (C1). 1 to 200 bytes, no control characters.
    SandboxId, IdKind::Sandbox, controls: false
}
named_id! {
    /// The id of the plan that a sandbox or checkpoint belongs to. 1 to 200 bytes, no control characters.
    PlanId, IdKind::Plan, controls: false
}
named_id! {
    /// The id of a turn, one round of an agent's work. 1 to 200 bytes of any UTF-8 (G2): the comment format escapes what it must.
    TurnId, IdKind::Turn, controls: true
}

impl SandboxId {
    /// The id that is this number, in decimal digits.
    pub(crate) fn of_number(number: u32) -> Self {
        Self(number.to_string().into())
    }
}

impl TurnId {
    /// The id that is this number, in decimal digits.
    pub(crate) fn of_number(number: u32) -> Self {
        Self(number.to_string().into())
    }
}
