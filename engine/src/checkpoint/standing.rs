//! What stands at a path that a record has: whoever works in a sandbox can put a link in its root's place, and such a link leads to
//! what nobody isolated (S4, C5).

use std::path::Path;

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::error::{Code, Error, Result};

/// What stands at a recorded path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The directory, or another one in its place.
    Directory,
    /// Nothing.
    Missing,
    /// A symbolic link, in its own place or in that of the directory around it.
    Link,
    /// A file of another kind.
    Other,
}

/// Looks at a recorded path and at the directory around it, and follows no link in either place.
///
/// # Errors
/// The system's error: then it cannot be told.
pub(crate) fn standing(path: &Path) -> Result<Standing> {
    for part in path.parent().into_iter().chain([path]) {
        let kind = rustix::fs::lstat(part).map(|stat| FileType::from_raw_mode(stat.st_mode));
        match kind {
            Ok(FileType::Directory) => {}
            Ok(FileType::Symlink) | Err(Errno::LOOP) => return Ok(Standing::Link),
            Ok(_) | Err(Errno::NOTDIR) => return Ok(Standing::Other),
            Err(Errno::NOENT) => return Ok(Standing::Missing),
            Err(errno) => return Err(Error::io("looking at the directory", errno).at(path)),
        }
    }
    Ok(Standing::Directory)
}

/// The refusal of a link in a recorded place.
pub(crate) fn led_elsewhere(path: &Path) -> Error {
    Error::new(
        Code::WorkspaceReplaced,
        "a symbolic link stands in the place of the directory or of the one around it; it is not followed",
        "remove the link and put the directory back; a rollback makes one that is missing anew",
    )
    .at(path)
}

/// Refuses a recorded path in whose place a link stands.
///
/// # Errors
/// `WORKSPACE_REPLACED`; the system's error when it cannot be told.
pub(crate) fn refuse_link(path: &Path) -> Result<()> {
    match standing(path)? {
        Standing::Link => Err(led_elsewhere(path)),
        Standing::Directory | Standing::Missing | Standing::Other => Ok(()),
    }
}
