//! The resource's index: read and written by libgit2 as a private copy, so that it looks at no file of the repository, and put in its
//! place under git's own lock.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use git2::Index;
use rustix::fs::Timespec;

use super::files;
use super::refusal::{git, unsupported};
use super::repository::Repository;
use crate::error::{Error, Result};
use crate::model::RelPath;
use crate::restore::Root;

/// The bit of an index entry for a file that need not be in the worktree.
const SKIP_WORKTREE: u16 = 1 << 14;

/// A copy of an index.
pub(super) struct PrivateIndex {
    pub(super) index: Index,
    path: PathBuf,
    /// When the resource's was written; `None` when there is none.
    pub(super) written: Option<Timespec>,
}

impl PrivateIndex {
    /// Copies the resource's index to a private directory and reads it there.
    ///
    /// # Errors
    /// `GIT_UNSUPPORTED` for an index that libgit2 does not read: split, sparse or newer.
    pub(super) fn read(repository: &Repository, private: &Path) -> Result<Self> {
        let failed = |errno| Error::io("examining the index", errno).at(repository.own.path());
        let stat = repository.own.top().lstat_opt(b"index").map_err(failed)?;
        let written = stat.map(|stat| Timespec { tv_sec: stat.st_mtime, tv_nsec: stat.st_mtime_nsec as _ });
        let bytes = files::read(repository.own.top(), "index")?;
        let name = format!("index-{}", crate::store::random_name()?);
        let path = private.join(&name);
        if let Some(bytes) = &bytes {
            let dir = Root::open(private)?;
            files::create(dir.top(), name.as_bytes(), 0o600, bytes, false)
                .map_err(|e| Error::io("copying the index", e).at(&path))?;
        }
        let opened = Index::open(&path);
        let mut this = match opened {
            Ok(index) => Self { index, path, written },
            Err(error) => {
                let removed = std::fs::remove_file(&path);
                tracing::trace!(?removed, "the copy of an index that cannot be read");
                return Err(unsupported(
                    "its index has a form that is not supported (split, sparse or newer)",
                )
                .because(error));
            }
        };
        this.check(bytes.is_some())?;
        Ok(this)
    }

    fn check(&mut self, is_there: bool) -> Result<()> {
        // Read now, so that what is wrong with it shows here.
        if is_there {
            self.index.read(true).map_err(|e| {
                unsupported("its index has a form that is not supported (split, sparse or newer)").because(e)
            })?;
        }
        Ok(())
    }

    /// Paths that the index says need not be in the worktree.
    pub(super) fn skipped(&self) -> HashSet<RelPath> {
        let skipped = self.index.iter().filter(|entry| entry.flags_extended & SKIP_WORKTREE != 0);
        skipped.filter_map(|entry| RelPath::parse(&entry.path).ok()).collect()
    }

    /// Whether a file of this time was surely not written after the index.
    pub(super) fn is_older(&self, time: &git2::IndexTime) -> bool {
        let at = (i64::from(time.seconds()), i64::from(time.nanoseconds()));
        self.written.is_some_and(|written| at < (written.tv_sec, written.tv_nsec))
    }

    /// The bytes of the index as it is now.
    pub(super) fn bytes(&mut self) -> Result<Vec<u8>> {
        self.index.write().map_err(|e| git("writing the index", e))?;
        std::fs::read(&self.path).map_err(|e| Error::io("reading the new index", e).at(&self.path))
    }
}

impl Drop for PrivateIndex {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "the copy of an index stays in the sandbox's directory");
        }
    }
}
