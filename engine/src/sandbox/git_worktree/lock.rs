//! Git's lock files, taken so that one that a killed process left can be told from any other (F7): ours is a second name of a file that
//! is named after the sandbox. Whoever finds both names on one inode knows whose lock it is.

use std::os::fd::AsFd as _;

use rustix::io::Errno;

use super::files;
use super::refusal::held;
use super::repository::Repository;
use crate::error::{Error, Result};
use crate::restore::{Dir, Overwrite};

/// A held lock of git's, `<name>.lock`; it goes with this value.
pub(super) struct Lock {
    dir: Dir,
    name: String,
    owner: String,
}

fn lock_name(name: &str) -> String {
    format!("{name}.lock")
}

/// What git takes for a lock too, and so for nothing else.
fn own_name(name: &str, owner: &str) -> String {
    format!("{name}.turnback-{owner}.lock")
}

impl Lock {
    /// Takes the lock of a file; `text` is what the file is to become. One that was left under the same owner is cleared away first.
    ///
    /// # Errors
    /// `BUSY` when somebody else holds it; `shown` is what he is told.
    pub(super) fn take(
        dir: &Dir,
        name: &str,
        owner: &str,
        text: &[u8],
        shown: &str,
        sync: bool,
    ) -> Result<Self> {
        let failed = |errno| Error::io(format!("locking `{shown}`"), errno);
        clear(dir, name, owner);
        let own = own_name(name, owner);
        files::create(dir, own.as_bytes(), 0o666, text, sync).map_err(failed)?;
        let lock = Self { dir: dir.clone(), name: name.to_owned(), owner: owner.to_owned() };
        match dir.link(own.as_bytes(), dir, lock_name(name).as_bytes()) {
            Ok(()) => Ok(lock),
            // Dropping it leaves the other one's alone.
            Err(Errno::EXIST) => Err(held(&format!("{shown}.lock"))),
            Err(errno) => Err(failed(errno)),
        }
    }

    /// Puts the lock's text in the place of the file.
    pub(super) fn commit(self, sync: bool) -> Result<(), Errno> {
        self.dir.rename(lock_name(&self.name).as_bytes(), &self.dir, self.name.as_bytes(), Overwrite::Yes)?;
        if sync { files::sync_dir(&self.dir) } else { Ok(()) }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        clear(&self.dir, &self.name, &self.owner);
    }
}

/// Clears away what a killed call left of a lock under this owner.
pub(super) fn clear(dir: &Dir, name: &str, owner: &str) {
    let own = own_name(name, owner);
    let ino =
        |name: &str| dir.lstat_opt(name.as_bytes()).ok().flatten().map(|stat| (stat.st_dev, stat.st_ino));
    let Some(ours) = ino(&own) else { return };
    if ino(&lock_name(name)) == Some(ours) {
        files::discard(dir, lock_name(name).as_bytes());
    }
    files::discard(dir, own.as_bytes());
}

/// Takes the lock of the resource's index: while it is held no git command commits, merges, switches or stages there.
pub(super) fn lock_index(repository: &Repository, owner: &str) -> Result<Lock> {
    Lock::take(repository.own.top(), "index", owner, b"", "index", false)
}

/// Clears away what a killed call left of the index's lock and of the new index.
pub(super) fn clear_index(repository: &Repository, owner: &str) {
    let dir = repository.own.top();
    clear(dir, "index", owner);
    if let Ok(Some(_)) = dir.lstat_opt(new_index(owner).as_bytes()) {
        files::discard(dir, new_index(owner).as_bytes());
    }
}

/// Where the new index lies before it is in its place.
pub(super) fn new_index(owner: &str) -> String {
    format!("index.turnback-{owner}.new")
}

/// Sets the times of a file of the git directory.
pub(super) fn set_mtime(dir: &Dir, name: &str, mtime: rustix::fs::Timespec) -> Result<(), Errno> {
    let fd = dir.open_existing(name.as_bytes())?;
    rustix::fs::futimens(fd.as_fd(), &rustix::fs::Timestamps { last_access: mtime, last_modification: mtime })
}
