//! How large the store is and what a deletion would free (C9, F40).

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use turnback_core::CheckpointId;

use super::catalog::Published;
use super::freed::{Goes, Way, of_directory, of_packs};
use super::layout::Layout;
use super::pack_set::PackSet;
use super::reach::{Owner, Reach};
use crate::context::Context;
use crate::error::{Code, Error, Result};

/// Allocated bytes of everything beneath a directory of the store, the directory included.
///
/// # Errors
/// The system's error; what vanishes meanwhile counts nothing.
pub fn disk_usage(path: &Path) -> Result<u64> {
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        Err(e) => return Err(Error::io("examining a file of the store", e).at(path)),
    };
    let mut total = metadata.blocks().saturating_mul(512);
    if metadata.is_dir() {
        let names = match super::files::names(path) {
            Err(error) if error.code() == Code::NotFound => return Ok(0),
            other => other?,
        };
        for name in names {
            total += disk_usage(&path.join(name))?;
        }
    }
    Ok(total)
}

/// For each checkpoint the bytes that the disk gets back when it alone goes: the blocks of its directory and of its pack, or of what packs
/// that stay lose. What nobody needs any more counts nowhere, although a deletion takes it along.
///
/// # Errors
/// `ABORTED`, `TIMED_OUT`, or the system's error. A damaged checkpoint counts as far as it can be read.
pub fn freed_by_delete(
    layout: &Layout,
    packs: &PackSet,
    checkpoints: &[Arc<Published>],
    ctx: &Context,
) -> Result<Vec<(CheckpointId, u64)>> {
    let mut reach = Reach::new(packs, ctx);
    for (place, checkpoint) in checkpoints.iter().enumerate() {
        match reach.add(checkpoint, place) {
            // What lies behind a damaged manifest is not known and not counted.
            Err(error) if error.code() == Code::Corrupt => {
                tracing::warn!(%error, "a damaged checkpoint counts only in part");
            }
            other => other?,
        }
    }
    let freed =
        of_packs(layout, packs, checkpoints.len(), Way::EachAlone, |hash| match reach.owners.get(hash) {
            None => Some(Goes::Anyway),
            Some(Owner::One(place)) => Some(Goes::With(*place)),
            Some(Owner::Shared) => None,
        })?;
    let with_directory = |(checkpoint, of_packs): (&Arc<Published>, u64)| {
        let id = checkpoint.parsed.id;
        Ok((id, of_packs.saturating_add(of_directory(layout, id)?)))
    };
    checkpoints.iter().zip(freed.by_place).map(with_directory).collect()
}
