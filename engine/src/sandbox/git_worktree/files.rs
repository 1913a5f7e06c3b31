//! Small files of a git directory: read and written beneath a held descriptor, no link followed, nothing waited for.

use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::restore::Dir;

/// The longest file of git's own that is read whole, in bytes; `packed-refs` of large repositories are tens of megabytes.
pub(super) const MAX_FILE: u64 = 512 << 20;

/// The bytes of a regular file; `None` when there is none.
pub(super) fn read(dir: &Dir, name: &str) -> Result<Option<Vec<u8>>> {
    match read_raw(dir, name.as_bytes(), MAX_FILE) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(Error::io(format!("reading `{name}` of the git repository"), errno)),
    }
}

/// As [`read`], for any name; a file that is longer than `limit` is refused.
pub(in crate::sandbox) fn read_raw(dir: &Dir, name: &[u8], limit: u64) -> Result<Vec<u8>, Errno> {
    let fd = dir.open_existing(name)?;
    let stat = rustix::fs::fstat(&fd)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    if u64::try_from(stat.st_size).unwrap_or(u64::MAX) > limit {
        return Err(Errno::FBIG);
    }
    read_all(fd, limit)
}

fn read_all(fd: OwnedFd, limit: u64) -> Result<Vec<u8>, Errno> {
    let mut bytes = Vec::new();
    std::fs::File::from(fd)
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
    Ok(bytes)
}

/// Makes a new file with these bytes; `EXIST` when there is one.
pub(super) fn create(dir: &Dir, name: &[u8], mode: u16, bytes: &[u8], sync: bool) -> Result<(), Errno> {
    let fd = dir.create(name, mode)?;
    let failed = |e: std::io::Error| Errno::from_io_error(&e).unwrap_or(Errno::IO);
    let mut file = std::fs::File::from(fd);
    file.write_all(bytes).map_err(failed)?;
    if sync {
        file.sync_all().map_err(failed)?;
    }
    Ok(())
}

/// Writes a directory's names to disk.
pub(super) fn sync_dir(dir: &Dir) -> Result<(), Errno> {
    rustix::fs::fsync(dir.readable()?.as_fd())
}

/// Removes a file of ours that nobody needs; it may be gone.
pub(super) fn discard(dir: &Dir, name: &[u8]) {
    if let Err(errno) = dir.unlink(name)
        && errno != Errno::NOENT
    {
        tracing::warn!(%errno, name = %crate::model::escape(name), "a temporary file stays in the git repository");
    }
}

/// Makes the directories of a path that are missing, and gives the last one.
pub(super) fn make_dirs(top: &Dir, path: &[u8]) -> Result<Dir, Errno> {
    let mut at = top.clone();
    for name in path.split(|&b| b == b'/').filter(|name| !name.is_empty()) {
        match at.mkdir(name, 0o777) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        at = at.dir(name)?;
    }
    Ok(at)
}

/// The directory at a path; `None` when there is none.
pub(super) fn dir_at(top: &Dir, path: &[u8]) -> Result<Option<Dir>, Errno> {
    let mut at = top.clone();
    for name in path.split(|&b| b == b'/').filter(|name| !name.is_empty()) {
        at = match at.dir(name) {
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            other => other?,
        };
    }
    Ok(Some(at))
}
