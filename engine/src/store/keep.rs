//! Packs of deleted checkpoints that others still need, and what else lies beside them.

use turnback_core::CheckpointId;

use super::layout::Layout;
use super::{files, grave};
use crate::error::{Code, Error, Result};

/// The extension of empty files that say which checkpoints left the catalog while nobody looked what they alone needed.
const REMOVED: &str = "removed";

/// Gives a checkpoint's pack and its index second names outside the checkpoint, which is about to go. The store must be held alone, and
/// the directory of kept packs be synced before the checkpoint goes.
///
/// # Errors
/// The system's error.
pub(super) fn keep(layout: &Layout, id: CheckpointId) -> Result<()> {
    let from = layout.checkpoint(id).join("objects");
    let to = layout.packs().join(id.to_string());
    for extension in ["index", "pack"] {
        let (from, to) = (from.with_extension(extension), to.with_extension(extension));
        match std::fs::hard_link(&from, &to) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            // A checkpoint that added nothing has no pack, and an index may have been lost.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => {
                let error = Error::io("keeping a pack that others need", e).at(&from);
                // Some file systems count names as inodes: without a free one the pack moves, which leaves it readable as well.
                if error.code() != Code::DiskFull {
                    return Err(error);
                }
                std::fs::rename(&from, &to)
                    .map_err(|e| Error::io("keeping a pack that others need", e).at(&from))?;
            }
        }
    }
    Ok(())
}

/// The names of kept packs and their indexes whose checkpoint is still there, with a pack of its own.
///
/// # Errors
/// The system's error when the store cannot be listed.
pub(super) fn second_names(layout: &Layout) -> Result<Vec<std::path::PathBuf>> {
    let directory = layout.packs();
    let mut second = Vec::new();
    for name in files::names(&directory)? {
        let Some(id) = name.split('.').next().and_then(|id| id.parse().ok()) else { continue };
        if files::exists(&layout.checkpoint(id).join("objects.pack"))? {
            second.push(directory.join(name));
        }
    }
    Ok(second)
}

/// Notes that a checkpoint is about to leave the catalog, and that what it alone needed is not looked for yet.
///
/// # Errors
/// The system's error.
pub(super) fn note_removed(layout: &Layout, id: CheckpointId) -> Result<()> {
    let path = layout.packs().join(id.to_string()).with_extension(REMOVED);
    if files::exists(&path)? { Ok(()) } else { files::create_file(&path).map(drop) }
}

/// How many checkpoints left the catalog since it was last looked what nobody needs.
///
/// # Errors
/// The system's error when the store cannot be listed.
pub fn removed_since(layout: &Layout) -> Result<usize> {
    let suffix = format!(".{REMOVED}");
    Ok(files::names(&layout.packs())?.iter().filter(|name| name.ends_with(&suffix)).count())
}

/// It was looked what nobody needs.
///
/// # Errors
/// The system's error.
pub(super) fn forget_removed(layout: &Layout) -> Result<()> {
    let suffix = format!(".{REMOVED}");
    for name in files::names(&layout.packs())?.iter().filter(|name| name.ends_with(&suffix)) {
        grave::bury(&layout.packs().join(name))?;
    }
    Ok(())
}

/// Removes what has lost its pack: an index that names what is not there, or an old index.
///
/// # Errors
/// The system's error.
pub(super) fn remove_orphans(layout: &Layout) -> Result<()> {
    let directory = layout.packs();
    for name in files::names(&directory)? {
        let path = directory.join(&name);
        let is_index = path.extension().is_some_and(|e| e == "index" || e == "dead");
        if is_index && !files::exists(&path.with_extension("pack"))? {
            grave::bury(&path)?;
        }
    }
    Ok(())
}
