//! The journal's file in the store: one for each workspace, there from before the first write until after the last (C8).

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use turnback_core::CheckpointId;

use super::ends::Ends;
use super::workspace::make_private;
use crate::error::{Code, Error, Result};
use crate::file_limit::write_all_at;
use crate::restore::Plan;
use crate::restore::journal::{self, Head, Prefix};
use crate::store::{Catalog, Durability, Layout, create_file, open_file, random_name, sync_directory};

/// The longest plan that is read, in bytes: a hundred million paths.
const MAX_PLAN: u64 = 16 << 30;

/// Where a workspace's journal is.
pub(super) fn path(layout: &Layout, workspace: &str) -> PathBuf {
    layout.workspace(workspace).join("journal")
}

/// Writes a journal's bytes, in place of an earlier one if there is any; `name` is what its file is called until then. With [`Durability::Power`] it is on the disk when this returns.
///
/// # Errors
/// When it cannot be written: then the earlier one is still there, or none.
pub(super) fn write(
    layout: &Layout,
    workspace: &str,
    name: &str,
    bytes: &[u8],
    durability: Durability,
) -> Result<()> {
    let directory = layout.workspace(workspace);
    make_private(&directory)?;
    let tmp = layout.tmp().join(name);
    let target = path(layout, workspace);
    let write = || -> Result<()> {
        let failed = |e| Error::io("writing the journal", e).at(&tmp);
        let file = create_file(&tmp)?;
        write_all_at(&file, bytes, 0).map_err(failed)?;
        if durability == Durability::Power {
            file.sync_all().map_err(failed)?;
        }
        std::fs::rename(&tmp, &target)
            .map_err(|e| Error::io("putting the journal in its place", e).at(&target))
    };
    if let Err(error) = write() {
        match std::fs::remove_file(&tmp) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                tracing::debug!(error = %e, "an unfinished journal stays until the next open");
            }
            _ => {}
        }
        return Err(error);
    }
    if durability == Durability::Power {
        // The directory itself may be new.
        let synced = sync_directory(&directory).and_then(|()| sync_directory(&layout.workspaces()));
        if let Err(error) = synced {
            // What may not survive does not count; nothing was written to the workspace yet.
            remove(layout, workspace, Durability::Process)?;
            return Err(error);
        }
    }
    Ok(())
}

/// Removes a journal whose work is done.
///
/// # Errors
/// The system's error. Should the removal not survive a power cut, the work is found to be done already.
pub(super) fn remove(layout: &Layout, workspace: &str, durability: Durability) -> Result<()> {
    let path = path(layout, workspace);
    match std::fs::remove_file(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(|e| Error::io("removing the journal", e).at(&path))?,
    }
    if durability == Durability::Power { sync_directory(&layout.workspace(workspace)) } else { Ok(()) }
}

/// Gives a journal that cannot be read another name, so that the workspace can be used again. Returns the new path.
///
/// # Errors
/// The system's error.
pub(super) fn set_aside(layout: &Layout, workspace: &str, durability: Durability) -> Result<PathBuf> {
    let from = path(layout, workspace);
    let to = layout.workspace(workspace).join(format!("journal-damaged-{}", random_name()?));
    std::fs::rename(&from, &to).map_err(|e| Error::io("setting a damaged journal aside", e).at(&from))?;
    if durability == Durability::Power {
        sync_directory(&layout.workspace(workspace))?;
    }
    Ok(to)
}

/// The head of a workspace's journal; `None` when there is no journal.
///
/// # Errors
/// `CORRUPT`, `STORE_FORMAT` for one of a newer version, or the system's error.
pub(super) fn read_head(layout: &Layout, workspace: &str) -> Result<Option<Head>> {
    let path = path(layout, workspace);
    let Some(mut file) = open(&path)? else { return Ok(None) };
    let (_, head) = head_of(&mut file, &path)?;
    Ok(Some(head))
}

/// The whole journal of a workspace; `None` when there is none.
///
/// # Errors
/// As [`read_head`].
pub(super) fn read(layout: &Layout, workspace: &str) -> Result<Option<(Head, Plan)>> {
    let path = path(layout, workspace);
    let Some(mut file) = open(&path)? else { return Ok(None) };
    let (prefix, head) = head_of(&mut file, &path)?;
    let mut bytes = Vec::new();
    file.take(MAX_PLAN).read_to_end(&mut bytes).map_err(|e| reading(e, &path))?;
    let plan = prefix.decode_plan(&bytes).map_err(|e| e.at(&path))?;
    Ok(Some((head, plan)))
}

fn open(path: &Path) -> Result<Option<File>> {
    match open_file(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.code() == Code::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn head_of(file: &mut File, path: &Path) -> Result<(Prefix, Head)> {
    let mut first = Vec::new();
    file.take(journal::PREFIX as u64).read_to_end(&mut first).map_err(|e| reading(e, path))?;
    let prefix = Prefix::decode(&first).map_err(|e| e.at(path))?;
    let mut head = Vec::new();
    file.take(prefix.head).read_to_end(&mut head).map_err(|e| reading(e, path))?;
    let head = prefix.decode_head(&head).map_err(|e| e.at(path))?;
    Ok((prefix, head))
}

fn reading(cause: std::io::Error, path: &Path) -> Error {
    Error::io("reading the journal", cause).at(path)
}

/// The ids of the workspaces that have a journal, with its head or why it cannot be read.
///
/// # Errors
/// The system's error.
pub(super) fn all(layout: &Layout) -> Result<Vec<(String, Result<Head>)>> {
    let listing = |e| Error::io("looking for journals", e).at(layout.workspaces());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(layout.workspaces()).map_err(listing)? {
        let Ok(workspace) = entry.map_err(listing)?.file_name().into_string() else { continue };
        match read_head(layout, &workspace) {
            Ok(None) => {}
            Ok(Some(head)) => found.push((workspace, Ok(head))),
            Err(error) if matches!(error.code(), Code::Corrupt | Code::StoreFormat) => {
                found.push((workspace, Err(error)));
            }
            // Something else than a directory of ours.
            Err(error) if error.code() == Code::NotADirectory => {}
            Err(error) => return Err(error),
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// The checkpoints that interrupted restores need, each with the id of its workspace: they must not be deleted before the work is done.
/// The store's lock must be held, so that none is begun meanwhile.
///
/// # Errors
/// `STORE_FORMAT` when a newer version began one: nobody here knows what it needs.
pub(super) fn needed(layout: &Layout, catalog: &Catalog) -> Result<HashMap<CheckpointId, String>> {
    let mut needed = HashMap::new();
    for (workspace, head) in all(layout)? {
        match head {
            Ok(head) => needed.extend(head.needs().map(|id| (id, workspace.clone()))),
            Err(error) if error.code() == Code::Corrupt => {
                tracing::warn!(%error, workspace, "the journal of an interrupted restore is damaged");
                // It cannot be carried out, but the tree may be half of one and half of the other.
                if let Some(ends) = Ends::of(catalog, &workspace)? {
                    needed.extend(ends.ids().map(|id| (id, workspace.clone())));
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(needed)
}

/// Refuses to delete a checkpoint that an interrupted restore needs. The store's lock must be held.
///
/// # Errors
/// `BUSY`; otherwise as [`needed`].
pub(super) fn refuse_if_needed(layout: &Layout, catalog: &Catalog, id: CheckpointId) -> Result<()> {
    match needed(layout, catalog)?.remove(&id) {
        None => Ok(()),
        Some(workspace) => Err(Error::new(
            Code::Busy,
            format!("an interrupted restore needs checkpoint {id}"),
            "finish it first: `turnback recover`, or any checkpoint or rollback of that workspace",
        )
        .with_detail("sandboxId", workspace)),
    }
}
