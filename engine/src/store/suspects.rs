//! Objects that were found damaged, remembered so that the next checkpoint that needs one stores it again: then the older checkpoints
//! that share it are whole again as well (F30).

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::draft::Durability;
use super::files;
use super::format::{FORMAT_VERSION, unseal};
use super::layout::Layout;
use crate::error::Result;
use crate::model::Hash;

#[derive(Serialize, Deserialize)]
struct Suspects {
    format: u32,
    objects: Vec<String>,
}

const MAX_BYTES: u64 = 256 << 20;

/// What is remembered; nothing when the list itself is damaged, because it only saves work.
pub(super) fn read(layout: &Layout) -> HashSet<Hash> {
    let path = layout.suspects();
    let list = match files::exists(&path) {
        Ok(false) => return HashSet::new(),
        Ok(true) => files::read_file(&path, MAX_BYTES).and_then(|bytes| unseal::<Suspects>(&bytes)),
        Err(error) => Err(error),
    };
    match list {
        Ok(list) => list.objects.iter().filter_map(|hex| Hash::from_hex(hex)).collect(),
        Err(error) => {
            tracing::warn!(%error, "the list of damaged objects cannot be read");
            HashSet::new()
        }
    }
}

/// Replaces what is remembered.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write(layout: &Layout, objects: &HashSet<Hash>) -> Result<()> {
    let mut objects: Vec<_> = objects.iter().map(|h| h.to_hex().0).collect();
    objects.sort_unstable();
    let tmp = layout.tmp().join(files::random_name()?);
    let list = Suspects { format: FORMAT_VERSION, objects };
    files::write_sealed(&layout.suspects(), &tmp, &list, Durability::Power)
}
