//! Whether a tree is as it was: one digest over type, mode, owner, mtime, size, bytes, link target and hard-link group of every path.
//! Shares no code with the engine.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// The digest of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(blake3::Hash);

impl Fingerprint {
    /// Reads a whole tree.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn of(root: &Path) -> Result<Self> {
        let mut hasher = blake3::Hasher::new();
        let mut first_names: HashMap<u64, PathBuf> = HashMap::new();
        let mut left = vec![PathBuf::new()];
        while let Some(path) = left.pop() {
            let full = root.join(&path);
            let about = || format!("reading {}", full.display());
            let meta = std::fs::symlink_metadata(&full).with_context(about)?;
            field(&mut hasher, path.as_os_str().as_bytes());
            for word in [
                u64::from(meta.mode()),
                u64::from(meta.uid()),
                u64::from(meta.gid()),
                meta.mtime().cast_unsigned(),
                meta.mtime_nsec().cast_unsigned(),
            ] {
                hasher.update(&word.to_le_bytes());
            }
            if meta.is_dir() {
                let mut names = Vec::new();
                for entry in std::fs::read_dir(&full).with_context(about)? {
                    names.push(path.join(entry.with_context(about)?.file_name()));
                }
                names.sort_unstable();
                left.extend(names);
            } else if meta.is_symlink() {
                let target = std::fs::read_link(&full).with_context(about)?;
                field(&mut hasher, target.as_os_str().as_bytes());
            } else if meta.is_file() {
                let first = first_names.entry(meta.ino()).or_insert_with(|| path.clone());
                field(&mut hasher, first.as_os_str().as_bytes());
                if *first == path {
                    field(&mut hasher, &std::fs::read(&full).with_context(about)?);
                }
            }
        }
        Ok(Self(hasher.finalize()))
    }
}

fn field(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}
