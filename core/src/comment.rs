use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::excerpt::excerpt;
use crate::ids::{MAX_NAME_BYTES, TurnId};

/// What stands between the prefix and the turn id.
const SEPARATOR: &str = "-pre-agent-";

/// The separator without its last hyphen: after this, a hyphen of the turn id would end another separator.
const SEPARATOR_STEM: &str = "-pre-agent";

/// The most bytes that one byte of a turn id becomes (`%0A`).
const ENCODED_BYTES: usize = 3;

/// The prefix of a checkpoint's comment (G2): 1 to 64 visible ASCII characters, `turnback` by default.
///
/// It stands in the comment as it is and may itself hold `-pre-agent-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CommentPrefix(Arc<str>);

impl CommentPrefix {
    /// The longest prefix, in bytes.
    pub const MAX_BYTES: usize = 64;

    /// The prefix that is used when none is given.
    pub const DEFAULT: &str = "turnback";

    /// Checks `text` and makes it a prefix.
    ///
    /// # Errors
    /// [`InvalidPrefix`] when it is empty, over 64 bytes, or holds anything but visible ASCII.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidPrefix> {
        let text = text.into();
        let valid =
            (1..=Self::MAX_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if valid {
            Ok(Self(text.into()))
        } else {
            Err(InvalidPrefix { bytes: text.len(), given: excerpt(&text) })
        }
    }

    /// The prefix as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for CommentPrefix {
    fn default() -> Self {
        Self(Self::DEFAULT.into())
    }
}

impl fmt::Display for CommentPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for CommentPrefix {
    type Err = InvalidPrefix;

    fn from_str(text: &str) -> Result<Self, InvalidPrefix> {
        Self::new(text)
    }
}

/// Something that cannot be the prefix of a comment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{given} ({bytes} bytes) cannot be the prefix of a checkpoint's comment: use 1 to 64 visible ASCII characters without spaces"
)]
pub struct InvalidPrefix {
    /// The length of what was given, in bytes.
    pub bytes: usize,
    /// The start of what was given, quoted and escaped.
    pub given: String,
}

impl InvalidPrefix {
    /// The stable code of this error.
    pub const fn code(&self) -> &'static str {
        "INVALID_ARGUMENT"
    }
}

/// What a checkpoint's comment says: which turn it was made for, and by whom (G2).
///
/// Its text is `<prefix>-pre-agent-<turn id>`. The prefix stands as it is. Of the turn id's UTF-8 bytes, visible ASCII
/// stands as it is and everything else, and `%`, becomes `%XX` (upper-case hex). One more rule keeps the text
/// unambiguous: a hyphen of the turn id that would complete another `-pre-agent-` (counting the separator's own last
/// hyphen) becomes `%2D`. So the last `-pre-agent-` of a comment is always the separator, whatever prefix and turn id
/// hold, and every prefix and turn id come back as they were.
///
/// ```
/// use turnback_core::{CheckpointComment, CommentPrefix, TurnId};
///
/// let comment = CheckpointComment { prefix: CommentPrefix::default(), turn_id: TurnId::new("a b")? };
/// assert_eq!(comment.to_string(), "turnback-pre-agent-a%20b");
/// assert_eq!(CheckpointComment::parse("turnback-pre-agent-a%20b"), Some(comment));
/// assert_eq!(CheckpointComment::parse("nightly backup"), None);
/// # Ok::<(), turnback_core::IdError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CheckpointComment {
    /// Who made the checkpoint.
    pub prefix: CommentPrefix,
    /// The turn that it was made for.
    pub turn_id: TurnId,
}

impl CheckpointComment {
    /// The longest comment, in bytes.
    pub const MAX_BYTES: usize = CommentPrefix::MAX_BYTES + SEPARATOR.len() + ENCODED_BYTES * MAX_NAME_BYTES;

    /// Reads a comment; `None` when `text` is not exactly what [`CheckpointComment`]'s `Display` prints for some prefix
    /// and turn id. A comment of other origin, or one that somebody edited, is thus never taken for ours.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > Self::MAX_BYTES {
            return None;
        }
        // Not `rsplit_once`: a search for any pattern comes to 3 kB of a module that browsers download (W11).
        let last = text.len().checked_sub(SEPARATOR.len())?;
        let at =
            (0..=last).rev().find(|&at| text.get(at..).is_some_and(|rest| rest.starts_with(SEPARATOR)))?;
        let (prefix, encoded) = (text.get(..at)?, text.get(at + SEPARATOR.len()..)?);
        let comment =
            Self { prefix: CommentPrefix::new(prefix).ok()?, turn_id: TurnId::new(decode(encoded)?).ok()? };
        (comment.to_string() == text).then_some(comment)
    }
}

impl fmt::Display for CheckpointComment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&comment_text(&self.prefix, &self.turn_id))
    }
}

/// What [`CheckpointComment`]'s `Display` prints, for those who have the parts.
pub(crate) fn comment_text(prefix: &CommentPrefix, turn_id: &TurnId) -> String {
    let (prefix, turn_id) = (prefix.as_str(), turn_id.as_str());
    let mut text = String::with_capacity(prefix.len() + SEPARATOR.len() + turn_id.len());
    text.push_str(prefix);
    text.push_str(SEPARATOR);
    for byte in turn_id.bytes() {
        // The separator's last hyphen can be the first of another one.
        let plain =
            byte.is_ascii_graphic() && byte != b'%' && !(byte == b'-' && text.ends_with(SEPARATOR_STEM));
        if plain {
            text.push(char::from(byte));
        } else {
            text.push('%');
            text.extend([byte >> 4, byte & 0xF].into_iter().filter_map(hex_digit));
        }
    }
    text
}

fn hex_digit(value: u8) -> Option<char> {
    char::from_digit(value.into(), 16).map(|digit| digit.to_ascii_uppercase())
}

/// Undoes `%XX`. More lenient than [`comment_text`] is strict: the caller compares with what that would have written.
fn decode(encoded: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
