//! Names of staging directories that a rollback may have to make inside a workspace's root: the store remembers each before it is
//! made, so that what a crash leaves is told from what is the user's, whatever it is called (input 33).

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use turnback_core::CheckpointId;

use super::workspace::{Workspace, make_private};
use crate::error::{Error, Result};
use crate::store::{Durability, Layout, create_file, sync_directory};

fn directory(layout: &Layout, workspace: &Workspace) -> PathBuf {
    layout.workspace(workspace.id.as_str()).join("stages")
}

/// The names that may lie in the workspace's root.
///
/// # Errors
/// When the store cannot be read.
pub(super) fn remembered(layout: &Layout, workspace: &Workspace) -> Result<Vec<Vec<u8>>> {
    let directory = directory(layout, workspace);
    let reading = |e| Error::io("reading the names of staging directories", e);
    match std::fs::read_dir(&directory) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(reading(e).at(&directory)),
        Ok(entries) => {
            entries.map(|e| e.map(|e| e.file_name().as_bytes().to_vec()).map_err(reading)).collect()
        }
    }
}

/// Remembers a name that cannot be guessed and that nothing in the workspace has.
///
/// # Errors
/// When the store cannot be written.
pub(super) fn remember(
    layout: &Layout,
    workspace: &Workspace,
    id: CheckpointId,
    durability: Durability,
) -> Result<Vec<u8>> {
    let directory = directory(layout, workspace);
    make_private(&directory)?;
    let name = name(id);
    let path = directory.join(std::ffi::OsStr::from_bytes(&name));
    create_file(&path)?;
    if durability == Durability::Power {
        sync_directory(&directory)?;
    }
    Ok(name)
}

/// A name that nothing in a workspace has.
pub(super) fn name(id: CheckpointId) -> Vec<u8> {
    format!(".turnback-stage-{id}").into_bytes()
}

/// Forgets the names that are not in the workspace's root any more.
///
/// # Errors
/// When the store cannot be written.
pub(super) fn forget_gone(layout: &Layout, workspace: &Workspace, root: &Path) -> Result<()> {
    let directory = directory(layout, workspace);
    for name in remembered(layout, workspace)? {
        let name = std::ffi::OsStr::from_bytes(&name);
        if matches!(rustix::fs::lstat(root.join(name)), Err(rustix::io::Errno::NOENT)) {
            let path = directory.join(name);
            std::fs::remove_file(&path)
                .map_err(|e| Error::io("forgetting a staging directory", e).at(&path))?;
        }
    }
    Ok(())
}
