//! The directory in which things are staged: where it lies, that renames from it work, and that it goes again.

use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::model::RelPath;
use crate::restore::beneath::{Dir, Overwrite, Root};

/// A staging directory; it and what is left in it go with this value.
#[derive(Debug)]
pub(crate) struct Area {
    parent: Dir,
    name: Vec<u8>,
    root: Root,
    removed: bool,
}

impl Area {
    /// Makes a staging directory called `name`: in `store` when something can be renamed from there into the workspace, otherwise in
    /// the workspace's root itself. The attacker must not be able to guess the name (input 80).
    pub(crate) fn make(workspace: &Root, store: Option<&Path>, name: &[u8]) -> Result<Self> {
        if let Some(store) = store {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let fd = rustix::fs::open(store, flags, Mode::empty())
                .map_err(|errno| Error::io("opening the store's staging directory", errno).at(store))?;
            let parent = Root::from_fd(fd, store)?;
            let area = Self::make_in(parent.top(), store, name)?;
            if area.reaches(workspace)? {
                return Ok(area);
            }
        }
        Self::make_in(workspace.top(), workspace.path(), name)
    }

    fn make_in(parent: &Dir, path: &Path, name: &[u8]) -> Result<Self> {
        let failed = |errno: Errno| Error::io("making a staging directory", errno).at(path);
        parent.mkdir(name, 0o700).map_err(failed)?;
        let dir = parent.dir(name);
        let area = dir.and_then(|dir| {
            dir.become_private()?;
            Ok(Self {
                parent: parent.clone(),
                name: name.to_vec(),
                root: Root::from_dir(dir, path.into()),
                removed: false,
            })
        });
        area.map_err(|errno| {
            if let Err(error) = parent.rmdir(name) {
                tracing::warn!(%error, "a staging directory was left behind");
            }
            failed(errno)
        })
    }

    /// Whether a rename from here to the workspace works. Equal device numbers do not prove it (bind mounts, quotas, subvolumes):
    /// it is tried, and the root's mtime put back.
    fn reaches(&self, workspace: &Root) -> Result<bool> {
        let failed =
            |errno: Errno| Error::io("trying a rename into the workspace", errno).at(workspace.path());
        let name = self.name.as_slice();
        // A first try without any effect: a source that does not exist is only looked for on one and the same mount.
        match self.top().rename(b"trial", workspace.top(), name, Overwrite::No) {
            Err(Errno::NOENT) => {}
            Err(Errno::XDEV) => return Ok(false),
            Err(errno) => return Err(failed(errno)),
            Ok(()) => return Ok(false),
        }
        let before = workspace.top().stat().map_err(failed)?;
        self.top().mkdir(b"trial", 0o700).map_err(failed)?;
        let outcome = self.top().rename(b"trial", workspace.top(), name, Overwrite::No);
        match outcome {
            Ok(()) => {
                // What cannot be removed there goes with the area, by the way that it came: nothing of ours may stay in the workspace.
                let gone = workspace
                    .top()
                    .rmdir(name)
                    .or_else(|_| workspace.top().rename(name, self.top(), b"trial", Overwrite::No));
                workspace.top().put_back(&before).and(gone).map_err(failed)?;
                Ok(true)
            }
            Err(Errno::XDEV) => Ok(false),
            Err(errno) => Err(failed(errno)),
        }
    }

    pub(crate) fn top(&self) -> &Dir {
        self.root.top()
    }

    /// A directory of the staging area.
    pub(crate) fn dir(&self, path: &RelPath) -> Result<Dir, Errno> {
        self.root.dir(path)
    }

    /// Forgets held directories: they have been moved.
    pub(crate) fn forget(&self, path: &RelPath) {
        self.root.forget(path);
    }

    /// Removes the directory with what is left in it.
    pub(crate) fn remove(&mut self) -> Result<(), Errno> {
        self.clear()?;
        self.removed = true;
        Ok(())
    }

    fn clear(&self) -> Result<(), Errno> {
        self.root.forget(&RelPath::root());
        remove_beneath(&self.root)?;
        self.parent.rmdir(&self.name)
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        if !self.removed
            && let Err(error) = self.clear()
        {
            tracing::warn!(%error, path = %self.root.path().display(), "a staging directory was left behind");
        }
    }
}

/// Removes everything beneath a root of ours, with few descriptors however deep it is.
pub(crate) fn remove_beneath(root: &Root) -> Result<(), Errno> {
    let mut open = vec![(RelPath::root(), root.top().names()?)];
    while let Some((path, names)) = open.last_mut() {
        let Some(name) = names.pop() else {
            let path = path.clone();
            open.pop();
            if !path.is_root() {
                root.forget(&path);
                let (dir, name) = root.parent(&path)?;
                dir.rmdir(name)?;
            }
            continue;
        };
        let dir = root.dir(path)?;
        match dir.unlink(&name) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::ISDIR | Errno::PERM | Errno::ACCESS) => {
                dir.unlock(&name, 0o700)?;
                let path = path.join(&name);
                let names = root.dir(&path)?.names()?;
                open.push((path, names));
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Removes staging directories that a crashed rollback left in a workspace's root: of the remembered names, only directories of
/// ours that nobody else can enter.
pub(crate) fn sweep(workspace: &Root, leftovers: &[Vec<u8>]) -> Result<(), Errno> {
    let us = rustix::process::geteuid().as_raw();
    for name in leftovers {
        let stat = match workspace.top().lstat(name) {
            Err(Errno::NOENT) => continue,
            other => other?,
        };
        let is_dir = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if is_dir && stat.st_uid == us && stat.st_mode & 0o7777 == 0o700 {
            let dir = workspace.top().dir(name)?;
            remove_beneath(&Root::from_dir(dir, workspace.path().into()))?;
            workspace.top().rmdir(name)?;
        }
    }
    Ok(())
}
