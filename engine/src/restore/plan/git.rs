//! Which names are git's own, and what `git: keep` means (C7).

/// What a rollback does with what lies in a `.git`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GitMode {
    /// Missing paths come back; nothing that is there is overwritten, deleted or stamped: the default for workspaces in place.
    #[default]
    Keep,
    /// As every other path: the default for sandboxes that we own.
    Exact,
}

/// Whether a name is `.git` to git on some file system: any case, NTFS' short name, and with code points that HFS+ ignores
/// (input 32).
pub(crate) fn is_git_name(name: &[u8]) -> bool {
    if name.eq_ignore_ascii_case(b".git") || name.eq_ignore_ascii_case(b"git~1") {
        return true;
    }
    // Only names with bytes beyond ASCII can hold ignored code points.
    if name.is_ascii() {
        return false;
    }
    let Ok(text) = std::str::from_utf8(name) else { return false };
    let mut seen = text.chars().filter(|&c| !hfs_ignores(c)).map(|c| c.to_ascii_lowercase());
    ".git".chars().all(|c| seen.next() == Some(c)) && seen.next().is_none()
}

/// Code points that HFS+ leaves out when it compares names.
const fn hfs_ignores(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}
