//! Merging texts line by line, for commits of every strategy (F13).

use git2::{MergeFileInput, MergeFileOptions, Odb};

use crate::error::{Error, Result};

/// The most lines of a text that is merged: the library cannot be interrupted, and takes about half a second for so many (on a machine of
/// 2020), however much they differ.
const MOST_LINES: usize = 100_000;

/// The text with both sides' changes, by libgit2; `None` when changed lines meet, or when one of the texts has too many lines.
///
/// # Errors
/// When the library fails.
pub(super) fn merged(base: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Option<Vec<u8>>> {
    let is_long = |text: &&[u8]| text.iter().filter(|&&byte| byte == b'\n').nth(MOST_LINES).is_some();
    if [base, ours, theirs].iter().any(is_long) {
        return Ok(None);
    }
    let failed = |e: git2::Error| Error::io("merging a text", std::io::Error::other(e));
    // The merge alone does not ready the library; whatever is opened does.
    let _ready = Odb::new().map_err(failed)?;
    let [mut ancestor, mut left, mut right] =
        [MergeFileInput::new(), MergeFileInput::new(), MergeFileInput::new()];
    ancestor.content(base);
    left.content(ours);
    right.content(theirs);
    let mut options = MergeFileOptions::new();
    let result = git2::merge_file(&ancestor, &left, &right, Some(&mut options)).map_err(failed)?;
    Ok(result.is_automergeable().then(|| result.content().to_vec()))
}
