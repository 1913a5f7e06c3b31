//! Deleting: takes a checkpoint out of the catalog, then removes what nobody reaches any more (C9). The bytes are really gone:
//! their blocks are given back and what is left of them reads as zeros.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use turnback_core::CheckpointId;

use super::catalog::{Catalog, Published};
use super::index::IndexEntry;
use super::layout::Layout;
use super::pack_set::{Pack, PackSet};
use super::reach::Reach;
use super::{files, index};
use crate::context::Context;
use crate::error::{Code, Error, Result};

/// Deletes a checkpoint (or, without one, only removes garbage). The store's lock must be held alone.
///
/// The order is: keep what others need, rename away (the commit point), remove. A crash before the rename changes nothing, one after
/// it leaves garbage that the next call removes.
///
/// # Errors
/// `CORRUPT` while another checkpoint is damaged, because nobody knows what that one needs; the system's error otherwise. A damaged
/// checkpoint can always be deleted; what it shares with another damaged one goes with the last of them.
pub fn collect(
    layout: &Layout,
    catalog: &Catalog,
    packs: &PackSet,
    delete: Option<CheckpointId>,
    ctx: &Context,
) -> Result<()> {
    packs.refresh()?;
    let (all, damaged) = catalog.all()?;
    let others: Vec<_> = all.into_iter().filter(|c| Some(c.parsed.id) != delete).collect();
    // A record that cannot be read says nothing of what it needs, and a manifest that cannot be read not all of it.
    let found = match damaged.into_iter().find(|d| delete.is_none_or(|id| d.checkpoint_id != id.to_string()))
    {
        Some(other) => Err(Error::corrupt(other.reason)),
        None => reachable(packs, &others, ctx),
    };
    let live = match found {
        Ok(live) => Some(live),
        Err(error) if error.code() == Code::Corrupt => {
            refuse_unless_damaged(catalog, packs, delete, &error.to_string(), ctx)?;
            tracing::warn!(%error, "a checkpoint is damaged; nothing is erased as long as it is there");
            None
        }
        Err(error) => return Err(error),
    };
    let is_live = |entry: &IndexEntry| live.as_ref().is_none_or(|live| live.owners.contains_key(&entry.hash));
    if let Some(id) = delete {
        let directory = layout.checkpoint(id);
        for pack in packs.all().iter().filter(|pack| pack.path.starts_with(&directory)) {
            if pack.all().iter().any(is_live) {
                // It lives on under a name of its own as long as others need it.
                keep(layout, pack, id)?;
            }
        }
        let grave = layout.tmp().join(files::random_name()?);
        std::fs::rename(&directory, &grave)
            .map_err(|e| Error::io("taking the checkpoint out of the catalog", e).at(&directory))?;
        files::sync_directory(&layout.checkpoints())?;
        catalog.forget(id);
        if !files::exists(&layout.packs().join(format!("{id}.pack"))) {
            empty(&grave.join("objects.pack"));
        }
        files::remove_tree(&grave)?;
        packs.refresh()?;
    }
    for pack in packs.all() {
        let (needed, dead): (Vec<_>, Vec<_>) = pack.all().into_iter().partition(is_live);
        shrink(layout, &pack.path, needed, &dead)?;
    }
    packs.refresh()
}

/// A sound checkpoint is not deleted beside a damaged one: its bytes would stay, and it must not be said that they are gone (C9). A
/// damaged one may go in any order.
fn refuse_unless_damaged(
    catalog: &Catalog,
    packs: &PackSet,
    delete: Option<CheckpointId>,
    why: &str,
    ctx: &Context,
) -> Result<()> {
    let Some(id) = delete else { return Ok(()) };
    let sound = match catalog.get(id) {
        Ok(Some(checkpoint)) => Reach::new(packs, ctx).add(&checkpoint, 0).is_ok(),
        _ => false,
    };
    if !sound {
        return Ok(());
    }
    Err(Error::new(
        Code::Corrupt,
        format!("another checkpoint is damaged, so that nobody knows which data it needs: {why}"),
        "delete the damaged one first; `turnback verify` names it",
    ))
}

fn reachable<'a>(packs: &'a PackSet, checkpoints: &[Arc<Published>], ctx: &'a Context) -> Result<Reach<'a>> {
    let mut reach = Reach::new(packs, ctx);
    for checkpoint in checkpoints {
        // One owner for all: it only matters that there is one.
        reach.add(checkpoint, 0)?;
    }
    Ok(reach)
}

/// Gives a pack and its index second names outside the checkpoint that is about to go.
fn keep(layout: &Layout, pack: &Pack, id: CheckpointId) -> Result<()> {
    let base = layout.packs().join(id.to_string());
    for extension in ["pack", "index"] {
        let from = pack.path.with_extension(extension);
        let to = base.with_extension(extension);
        match std::fs::hard_link(&from, &to) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(Error::io("keeping a pack that others need", e).at(&from)),
        }
    }
    files::sync_directory(&layout.packs())
}

/// Removes the dead objects of a pack: first from the index, then their bytes.
fn shrink(layout: &Layout, path: &Path, mut needed: Vec<IndexEntry>, dead: &[IndexEntry]) -> Result<()> {
    if dead.is_empty() {
        return Ok(());
    }
    let index_path = path.with_extension("index");
    if needed.is_empty() {
        empty(path);
        for path in [&index_path, path] {
            match std::fs::remove_file(path) {
                // An index may have been lost before.
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io("removing a pack", e).at(path));
                }
                _ => {}
            }
        }
        return Ok(());
    }
    let tmp = layout.tmp().join(files::random_name()?);
    let bytes = index::encode(&mut needed);
    let write = || -> Result<()> {
        let mut file = files::create_file(&tmp)?;
        file.write_all(&bytes).map_err(|e| Error::io("writing an index", e).at(&tmp))?;
        file.sync_all().map_err(|e| Error::io("syncing an index", e).at(&tmp))?;
        std::fs::rename(&tmp, &index_path).map_err(|e| Error::io("publishing an index", e).at(&index_path))
    };
    match write().inspect_err(|_| files::remove_leftover(&tmp)) {
        // No room for a second index (C16): the new one, which is shorter, goes over the old one. Should that be cut short, the
        // index is rebuilt from the pack, in which nothing was erased yet.
        Err(error) if error.code() == Code::DiskFull => overwrite(&index_path, &bytes)?,
        other => other?,
    }
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(path)
        .map_err(|e| Error::io("opening a pack", e).at(path))?;
    for (offset, length) in merge(dead) {
        erase(&file, offset, length).map_err(|e| Error::io("erasing deleted data", e).at(path))?;
    }
    file.sync_data().map_err(|e| Error::io("syncing a pack", e).at(path))
}

/// Replaces the bytes of an index in place.
fn overwrite(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || -> std::io::Result<()> {
        let file = std::fs::OpenOptions::new().write(true).open(path)?;
        file.write_all_at(bytes, 0)?;
        file.set_len(bytes.len() as u64)?;
        file.sync_all()
    };
    write().map_err(|e| Error::io("rewriting an index in place", e).at(path))
}

/// Gives the blocks of a pack back before its name goes: another process may still have it open, and would keep them (F40).
fn empty(path: &Path) {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = std::fs::OpenOptions::new().write(true).custom_flags(flags.bits().cast_signed()).open(path);
    // There may be none, or something else in its place: the removal that follows says so if it matters.
    if let Err(error) =
        file.and_then(|file| if file.metadata()?.is_file() { file.set_len(0) } else { Ok(()) })
    {
        tracing::debug!(%error, "a pack is not emptied before it is removed");
    }
}

/// Neighbouring payloads as one range; the frame headers between them stay, so that the pack can still be read frame by frame.
fn merge(dead: &[IndexEntry]) -> Vec<(u64, u64)> {
    let mut ranges: Vec<_> = dead.iter().map(|e| (e.offset, u64::from(e.stored))).collect();
    ranges.sort_unstable();
    ranges.retain(|r| r.1 > 0);
    ranges
}

/// Gives the blocks of a range back; where the file system cannot, overwrites it with zeros.
fn erase(file: &File, offset: u64, length: u64) -> std::io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    match rustix::fs::fallocate(file, flags, offset, length) {
        Ok(()) => Ok(()),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            let zeros = vec![0; 1 << 16];
            let mut at = 0;
            while at < length {
                let n = (length - at).min(zeros.len() as u64);
                file.write_all_at(&zeros[..n as usize], offset + at)?;
                at += n;
            }
            Ok(())
        }
        Err(e) => Err(e.into()),
    }
}
