//! The errors for repositories that this strategy does not work with; each names what does.

use crate::error::{Code, Error};

/// A repository that this strategy cannot or will not work with.
pub(super) fn unsupported(why: impl std::fmt::Display) -> Error {
    Error::new(
        Code::GitUnsupported,
        format!("`git_worktree` does not work with this repository: {why}"),
        "use the strategy `copy_on_write`, which works with any directory",
    )
}

/// Something in the repository that is not as git leaves it.
pub(super) fn damaged(what: impl std::fmt::Display) -> Error {
    Error::new(
        Code::Corrupt,
        format!("the git repository is damaged: {what}"),
        "check it with `git fsck`; the strategy `copy_on_write` works with any directory",
    )
}

/// Somebody else holds one of git's locks.
pub(super) fn held(lock: &str) -> Error {
    Error::new(
        Code::Busy,
        format!("another git command holds `{lock}` in the repository"),
        "try again when it is done; if none is running, remove that file",
    )
}

/// libgit2's error.
pub(super) fn git(tried: &str, cause: git2::Error) -> Error {
    Error::new(Code::Io, format!("{tried} failed"), "check the repository with `git fsck`").because(cause)
}
