//! Paths relative to a workspace's root, as bytes, and names that are safe to use in one directory.

use std::fmt;
use std::fmt::Write as _;

/// A path beneath a workspace's root: names joined by `/`, bytes as they are on disk. Empty for the root itself.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RelPath(Vec<u8>);

/// A name that cannot stand in a directory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Empty, `.` or `..`.
    #[error("a name may not be empty, `.` or `..`")]
    Special,
    /// Has a slash or a NUL byte.
    #[error("a name may not contain `/` or a NUL byte")]
    ForbiddenByte,
    /// Longer than 255 bytes.
    #[error("a name may not be longer than 255 bytes")]
    TooLong,
}

/// Checks one name of a directory (inputs 26 and 27 of the threat list).
///
/// # Errors
/// [`NameError`] for names that no directory can hold or that would leave it.
pub fn check_name(name: &[u8]) -> Result<(), NameError> {
    if name.is_empty() || name == b"." || name == b".." {
        return Err(NameError::Special);
    }
    if name.len() > 255 {
        return Err(NameError::TooLong);
    }
    if name.iter().any(|&b| b == b'/' || b == 0) {
        return Err(NameError::ForbiddenByte);
    }
    Ok(())
}

impl RelPath {
    /// The root itself.
    #[must_use]
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// Reads a relative path; `a//b`, a trailing slash, `.`, `..` and absolute paths are refused.
    ///
    /// # Errors
    /// [`NameError`] of the first bad component.
    pub fn parse(bytes: &[u8]) -> Result<Self, NameError> {
        if bytes.is_empty() {
            return Ok(Self::root());
        }
        for name in bytes.split(|&b| b == b'/') {
            check_name(name)?;
        }
        Ok(Self(bytes.to_vec()))
    }

    /// This path with one more (already checked) name.
    #[must_use]
    pub fn join(&self, name: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(self.0.len() + 1 + name.len());
        if !self.0.is_empty() {
            bytes.extend_from_slice(&self.0);
            bytes.push(b'/');
        }
        bytes.extend_from_slice(name);
        Self(bytes)
    }

    /// The bytes, without a leading slash.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether this is the root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The names from the root down.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|&b| b == b'/').filter(|name| !name.is_empty())
    }

    /// The directory that holds this path, and its name there; `None` for the root.
    #[must_use]
    pub fn split(&self) -> Option<(Self, &[u8])> {
        if self.is_root() {
            return None;
        }
        match self.0.iter().rposition(|&b| b == b'/') {
            Some(at) => Some((Self(self.0[..at].to_vec()), &self.0[at + 1..])),
            None => Some((Self::root(), &self.0)),
        }
    }

    /// Whether `self` is `ancestor` or lies beneath it.
    #[must_use]
    pub fn starts_with(&self, ancestor: &Self) -> bool {
        ancestor.is_root()
            || self.0 == ancestor.0
            || (self.0.len() > ancestor.0.len()
                && self.0[ancestor.0.len()] == b'/'
                && self.0.starts_with(&ancestor.0))
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape(&self.0))
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", escape(&self.0))
    }
}

/// Bytes as printable text: valid UTF-8 stays, control, format and bidirectional characters and bytes that are not UTF-8 become
/// `\n`, `\t`, `\xNN` or `\u{N}`, and a backslash is doubled, so that no two byte strings look alike.
#[must_use]
pub fn escape(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                c if c.is_ascii_control() => {
                    let _ = write!(out, "\\x{:02x}", c as u32);
                }
                c if c.is_control() || is_invisible(c) => {
                    let _ = write!(out, "\\u{{{:x}}}", c as u32);
                }
                c => out.push(c),
            }
        }
        for b in chunk.invalid() {
            let _ = write!(out, "\\x{b:02x}");
        }
    }
    out
}

/// Characters that change how their neighbours are shown (input 28): zero-width, line separators, bidirectional controls.
const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}
