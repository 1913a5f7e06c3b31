//! Checks that must hold before anything is written: space, inodes, and the process's own limit on file sizes (inputs 61, 62, 68).

use std::collections::HashSet;

use super::leaf::Source;
use crate::error::{Code, Error, Result};
use crate::model::{Content, Node, Segment};
use crate::restore::beneath::Dir;
use crate::restore::plan::{Act, Plan, Role};

/// Blocks are this large at least on the file systems that matter; each file takes whole ones.
const BLOCK: u64 = 4_096;

/// Refuses work for which there is no room.
pub(crate) fn check_space(plan: &Plan, source: &Source<'_>, place: &Dir) -> Result<()> {
    let mut bytes = 0u64;
    let mut largest = 0u64;
    let mut inodes = 0u64;
    let mut linked = HashSet::new();
    for item in &plan.items {
        let Some(after) = &item.after else { continue };
        let in_place = item.act == Act::Metadata && !item.fresh;
        if in_place || item.link.is_some_and(|link| !linked.insert(link)) {
            continue;
        }
        inodes += 1;
        if let Node::File { size, content, .. } = &after.node {
            largest = largest.max(*size);
            bytes = bytes.saturating_add(match content {
                Content::Blob(_) => size.div_ceil(BLOCK) * BLOCK,
                Content::Segments(hash) => match source.segments(*hash, *size) {
                    Ok(segments) => segments.iter().map(data_bytes).sum(),
                    // It will be listed as not restorable.
                    Err(error) if error.code() == Code::Corrupt => 0,
                    Err(error) => return Err(error),
                },
            });
        }
    }
    inodes += plan.dirs.iter().filter(|dir| matches!(dir.role, Role::Create { .. })).count() as u64;
    if inodes == 0 {
        return Ok(());
    }
    if let Some(limit) = rustix::process::getrlimit(rustix::process::Resource::Fsize).current
        && largest > limit
    {
        return Err(Error::new(
            Code::Io,
            format!("a file of {largest} bytes is to be restored and this process may only write {limit}"),
            "raise the limit of file sizes (ulimit -f)",
        ));
    }
    let Ok(stat) = rustix::fs::fstatvfs(place.fd()) else {
        // A file system that cannot tell is found out while staging, where nothing is lost either.
        return Ok(());
    };
    // The share that is reserved for root is not for others.
    let blocks = if rustix::process::geteuid().is_root() { stat.f_bfree } else { stat.f_bavail };
    let free = blocks.saturating_mul(stat.f_frsize);
    if bytes > free {
        return Err(full(format!("restoring needs {bytes} bytes and {free} are free")));
    }
    if stat.f_files > 0 && inodes > stat.f_ffree {
        return Err(full(format!("restoring needs {inodes} inodes and {} are free", stat.f_ffree)));
    }
    Ok(())
}

fn full(found: String) -> Error {
    Error::new(Code::DiskFull, found, "free some space, or delete checkpoints; the workspace was not touched")
}

const fn data_bytes(segment: &Segment) -> u64 {
    match segment {
        Segment::Hole { .. } => 0,
        Segment::Data { length, .. } => *length,
    }
}
