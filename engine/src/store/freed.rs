//! What a deletion gives back, counted as the store's size is: in the blocks of every file and directory that goes or shrinks (C9, C16).

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use turnback_core::CheckpointId;

use super::budget::on_disk;
use super::files;
use super::index::encoded_length;
use super::keep;
use super::layout::Layout;
use super::pack_set::{Pack, PackSet};
use crate::error::{Code, Error, Result};
use crate::model::Hash;

/// A checkpoint's pack and its index, in its directory.
const PACK: &str = "objects.pack";
const INDEX: &str = "objects.index";

/// When an object goes, where it is asked for several deletions one after another, or with which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Goes {
    /// Nobody needs it any more: any deletion takes it.
    Anyway,
    /// With the checkpoint at this place.
    With(usize),
}

/// What goes of the packs, and with what.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Freed {
    /// Bytes that any deletion gives back: nobody needs them.
    pub(super) garbage: u64,
    /// Bytes that each one gives back, by its place.
    pub(super) by_place: Vec<u64>,
}

/// Whether what goes at the places goes one after another, or each is asked for as if it alone went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    OneAfterAnother,
    EachAlone,
}

/// What a pack and its index take, as objects go from it.
struct Shrinking {
    objects: usize,
    pack: u64,
    index: u64,
    block: u64,
}

/// Some of the objects of one pack.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    objects: usize,
    /// Blocks that nothing else has bytes in.
    whole_blocks: u64,
}

impl Part {
    const fn and(self, other: Self) -> Self {
        Self {
            objects: self.objects + other.objects,
            whole_blocks: self.whole_blocks.saturating_add(other.whole_blocks),
        }
    }
}

impl Shrinking {
    /// The allocated bytes of the pack and its index without what is dead. The last objects take both files with them.
    fn without(&self, dead: Part) -> u64 {
        match dead.objects {
            0 => self.pack.saturating_add(self.index),
            all if all >= self.objects => 0,
            some => {
                let index = encoded_length(self.objects - some).next_multiple_of(self.block);
                self.pack.saturating_sub(dead.whole_blocks).saturating_add(index.min(self.index))
            }
        }
    }
}

/// Counts what goes of all packs. `goes` tells for each object with what; `None` for what stays.
///
/// # Errors
/// The system's error.
pub(super) fn of_packs(
    layout: &Layout,
    packs: &PackSet,
    places: usize,
    way: Way,
    goes: impl Fn(&Hash) -> Option<Goes>,
) -> Result<Freed> {
    let mut freed = Freed { garbage: 0, by_place: vec![0; places] };
    let second_names = keep::second_names(layout)?;
    for pack in packs.all() {
        // A second name that a killed removal left goes first, and is no pack of its own.
        if second_names.contains(&pack.path) {
            continue;
        }
        let Some((shrinking, parts)) = taken_apart(&pack, &goes)? else { continue };
        let at_first = parts.get(&Goes::Anyway).copied().unwrap_or_default();
        let mut left = shrinking.without(at_first);
        freed.garbage = freed.garbage.saturating_add(shrinking.without(Part::default()).saturating_sub(left));
        let mut dead = at_first;
        for (goes, part) in parts {
            let Goes::With(place) = goes else { continue };
            let now = shrinking.without(dead.and(part));
            if let Some(of_place) = freed.by_place.get_mut(place) {
                *of_place = of_place.saturating_add(left.saturating_sub(now));
            }
            if way == Way::OneAfterAnother {
                dead = dead.and(part);
                left = now;
            }
        }
    }
    Ok(freed)
}

/// What goes of a pack, by what it goes with; `None` when the pack is gone.
fn taken_apart(
    pack: &Pack,
    goes: &impl Fn(&Hash) -> Option<Goes>,
) -> Result<Option<(Shrinking, BTreeMap<Goes, Part>)>> {
    let Some((bytes, block)) = allocated(&pack.path)? else { return Ok(None) };
    let (index, _) = allocated(&pack.path.with_extension("index"))?.unwrap_or((0, block));
    let all = pack.all();
    let mut parts: BTreeMap<Goes, Part> = BTreeMap::new();
    for entry in &all {
        if let Some(goes) = goes(&entry.hash) {
            let end = entry.offset.saturating_add(u64::from(entry.stored)) / block * block;
            let whole_blocks = end.saturating_sub(entry.offset.next_multiple_of(block));
            let part = parts.entry(goes).or_default();
            *part = part.and(Part { objects: 1, whole_blocks });
        }
    }
    Ok(Some((Shrinking { objects: all.len(), pack: bytes, index, block }, parts)))
}

/// The allocated bytes of a file, and in what pieces they are given back.
fn allocated(path: &Path) -> Result<Option<(u64, u64)>> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some((metadata.blocks().saturating_mul(512), metadata.blksize().max(512)))),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io("examining a file of the store", e).at(path)),
    }
}

/// The allocated bytes of a checkpoint's directory and what lies in it, without its pack, which may stay.
///
/// # Errors
/// The system's error; what vanishes meanwhile counts nothing.
pub(super) fn of_directory(layout: &Layout, id: CheckpointId) -> Result<u64> {
    let directory = layout.checkpoint(id);
    let Some((mut bytes, _)) = allocated(&directory)? else { return Ok(0) };
    let names = match files::names(&directory) {
        Err(error) if error.code() == Code::NotFound => return Ok(0),
        other => other?,
    };
    let has_pack = names.iter().any(|name| name == PACK);
    for name in names {
        // An index without its pack is none of those that are counted with the packs.
        if !has_pack || (name != PACK && name != INDEX) {
            bytes = bytes.saturating_add(on_disk(&directory.join(name))?);
        }
    }
    Ok(bytes)
}
