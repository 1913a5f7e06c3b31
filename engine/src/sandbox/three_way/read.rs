//! Reading what a picture speaks of and no checkpoint has yet: from the tree itself, and only if it is still the same.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsFd as _;

use crate::checkpoint::commit::Look;
use crate::error::{Code, Error, Result};
use crate::model::{Hash, RelPath, Xattrs};
use crate::restore::Root;
use crate::tree::xattr;

fn changed(root: &Root, path: &RelPath) -> Error {
    Error::new(
        Code::Conflict,
        format!("`{path}` changes while it is committed"),
        "commit again when nobody writes to it",
    )
    .at(root.path())
}

fn open(root: &Root, path: &RelPath) -> Result<File> {
    let opened = root.parent(path).and_then(|(dir, name)| dir.open_existing(name));
    opened.map(File::from).map_err(|errno| Error::io("opening a file to commit it", errno).at(root.path()))
}

/// The attributes of a file of the sandbox.
pub(super) fn read_xattrs(look: &Look<'_>, path: &RelPath, hash: Hash) -> Result<Xattrs> {
    let file = open(look.sandbox_root, path)?;
    let xattrs = xattr::read(file.as_fd())
        .map_err(|errno| Error::io("reading attributes", errno).at(look.sandbox_root.path()))?;
    if Hash::of(&xattrs.encode()) != hash {
        return Err(changed(look.sandbox_root, path));
    }
    Ok(xattrs)
}

/// The bytes of a file, whose length is known.
pub(super) fn read_file(root: &Root, path: &RelPath, size: u64, hash: Hash) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(root, path)?
        .take(size + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| Error::io("reading a file to commit it", e).at(root.path()))?;
    if Hash::of(&bytes) != hash {
        return Err(changed(root, path));
    }
    Ok(bytes)
}
