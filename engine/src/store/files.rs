//! The store's own files: 0700 and 0600 whatever the umask (C9), synced before they count.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::Mode;
use rustix::io::Errno;

use super::draft::Durability;
use super::format::seal;
use crate::error::{Code, Error, Result};
use crate::file_limit::write_all_at;

/// Makes a directory that only we can enter; one that is there already is fine.
pub(crate) fn make_directory(path: &Path) -> Result<()> {
    match std::os::unix::fs::DirBuilderExt::mode(&mut std::fs::DirBuilder::new(), 0o700).create(path) {
        Ok(()) => rustix::fs::chmod(path, Mode::RWXU)
            .map_err(|e| Error::io("setting a directory's mode", e).at(path)),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(Error::io("making a directory of the store", e).at(path)),
    }
}

/// Makes a new file that only we can read; an existing one is an error.
pub(crate) fn create_file(path: &Path) -> Result<File> {
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32)
        .open(path)
        .map_err(|e| Error::io("making a file of the store", e).at(path))?;
    rustix::fs::fchmod(&file, Mode::RUSR | Mode::WUSR)
        .map_err(|e| Error::io("setting a file's mode", e).at(path))?;
    Ok(file)
}

/// Opens a file of the store: never through a link, never anything but a regular file (input 99).
pub(crate) fn open_file(path: &Path) -> Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file =
        std::fs::OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path).map_err(|e| {
            if e.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
                Error::corrupt("a file of the store was replaced by a link").at(path)
            } else {
                Error::io("opening a file of the store", e).at(path)
            }
        })?;
    let metadata = file.metadata().map_err(|e| Error::io("examining a file of the store", e).at(path))?;
    if !metadata.is_file() {
        return Err(Error::corrupt("a file of the store is no regular file").at(path));
    }
    Ok(file)
}

/// Reads a small file of the store whole.
pub(crate) fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let file = open_file(path)?;
    let mut bytes = Vec::new();
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| Error::io("reading a file of the store", e).at(path))?;
    if bytes.len() as u64 > limit {
        return Err(Error::corrupt("a file of the store is too long").at(path));
    }
    Ok(bytes)
}

/// Whether a path of the store is there.
///
/// # Errors
/// The system's error when nobody can tell: what cannot be looked at must never count as gone.
pub(super) fn exists(path: &Path) -> Result<bool> {
    match rustix::fs::lstat(path) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
        Err(errno) => Err(Error::io("looking for a path of the store", errno).at(path)),
    }
}

/// What a path of the store is; `None` when it is not there.
///
/// # Errors
/// As [`exists`].
pub(super) fn stat(path: &Path) -> Result<Option<std::fs::Metadata>> {
    match std::fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(Error::io("looking for a path of the store", e).at(path)),
    }
}

/// Makes what was renamed into a directory survive a power cut.
///
/// # Errors
/// The system's error: then the rename must not be acknowledged (input 64).
pub fn sync_directory(path: &Path) -> Result<()> {
    let directory =
        File::open(path).map_err(|e| Error::io("opening a directory of the store", e).at(path))?;
    directory.sync_all().map_err(|e| Error::io("syncing a directory of the store", e).at(path))
}

/// Replaces a small sealed file: new file, sync, rename, sync of the directory.
///
/// # Errors
/// When any step fails; the old file is then still there.
pub fn write_sealed<T: serde::Serialize>(
    path: &Path,
    tmp: &Path,
    value: &T,
    durability: Durability,
) -> Result<()> {
    let bytes = seal(value)?;
    let write = || -> Result<()> {
        let file = create_file(tmp)?;
        write_all_at(&file, &bytes, 0).map_err(|e| Error::io("writing a file of the store", e).at(tmp))?;
        if durability == Durability::Power {
            file.sync_all().map_err(|e| Error::io("syncing a file of the store", e).at(tmp))?;
        }
        std::fs::rename(tmp, path).map_err(|e| no_file(path, e, "publishing a file of the store"))?;
        match path.parent() {
            Some(parent) if durability == Durability::Power => sync_directory(parent),
            _ => Ok(()),
        }
    };
    write().inspect_err(|_| remove_leftover(tmp))
}

/// The error of who wanted to replace or remove a file: a directory in its place is damage, and nothing that is known to be ours is in it.
pub(super) fn no_file(path: &Path, cause: std::io::Error, doing: &'static str) -> Error {
    if std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
        return Error::corrupt("a directory lies where a file of the store belongs")
            .advised("move the directory out of the store: what the file said is lost")
            .because(Error::io(doing, cause))
            .at(path);
    }
    Error::io(doing, cause).at(path)
}

/// Removes a temporary file after a failure; if that fails as well, the next open sweeps it.
pub(super) fn remove_leftover(path: &Path) {
    if let Err(error) = std::fs::remove_file(path)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::debug!(%error, "a temporary file stays until the next open");
    }
}

/// Removes a directory of the store with everything in it; one that is not there is fine.
///
/// # Errors
/// The system's error.
pub fn remove_tree(path: &Path) -> Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("removing a directory of the store", e).at(path))
        }
        _ => Ok(()),
    }
}

/// Removes a file of the store; one that is not there is fine.
pub(crate) fn remove_file(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("removing a file of the store", e).at(path))
        }
        _ => Ok(()),
    }
}

/// The names in a directory of the store.
pub(crate) fn names(path: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let reading = |e| Error::io("listing a directory of the store", e).at(path);
    for entry in std::fs::read_dir(path).map_err(reading)? {
        match entry.map_err(reading)?.file_name().into_string() {
            Ok(name) => names.push(name),
            Err(name) => tracing::warn!(?name, "the store holds a name that is not ours"),
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// A name for a temporary file that nobody can guess (input 80).
///
/// # Errors
/// When the system has no random bytes.
pub fn random_name() -> Result<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|e| Error::new(Code::Io, format!("no random bytes from the system: {e}"), "try again"))?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}
