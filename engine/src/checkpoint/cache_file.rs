//! The stat cache on disk: one file of records that only grows, and a head that says where its root is.
//!
//! The head names the checkpoint that the records mirror: as long as that one is there, every object that a record counts on is
//! there too. None of it is synced: a damaged record is read as missing, and the walk reads the files again.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use turnback_core::CheckpointId;

use super::workspace::{Workspace, make_private};
use crate::error::{Error, Result};
use crate::file_limit::write_all_at;
use crate::store::{
    Durability, FORMAT_VERSION, Identity, Layout, create_file, open_file, read_file, unseal, write_sealed,
};
use crate::tree::{CacheReader, CacheRef, CacheWriter, Rules, compact};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    format: u32,
    /// The checkpoint that the records mirror.
    base: String,
    /// The root directory that was walked.
    identity: Identity,
    /// The file with the records.
    data: String,
    /// How many of its bytes count.
    length: u64,
    /// How many counted when it was last without dead records.
    clean_length: u64,
    /// The root's record.
    root: (u64, u32),
}

/// Files up to this length are not worth compacting.
const SMALL: u64 = 1 << 20;

/// Files up to this length are read at once: at about 90 bytes a path, that is some 90,000 paths.
const WHOLE: u64 = 8 << 20;

/// The longest head that is read, in bytes.
const MAX_HEAD: u64 = 64 << 10;

/// The stat cache of one workspace under one set of rules.
pub(super) struct CacheFile {
    directory: PathBuf,
    stem: String,
    head: Option<(Head, File)>,
    whole: OnceLock<Option<Vec<u8>>>,
}

impl CacheFile {
    /// Opens the cache; without a usable one, it is as if there were none.
    pub(super) fn open(
        layout: &Layout,
        workspace: &Workspace,
        rules: &Rules,
        identity: Identity,
        is_there: impl Fn(CheckpointId) -> bool,
    ) -> Self {
        let directory = layout.workspace(workspace.id.as_str());
        let stem = rules.fingerprint().to_hex().0[..16].to_owned();
        let head = load(&directory, &stem)
            .filter(|(head, _)| head.identity == identity && head.base.parse().is_ok_and(&is_there));
        Self { directory, stem, head, whole: OnceLock::new() }
    }

    /// What the walk reads.
    pub(super) fn source(&self) -> Option<(&dyn CacheReader, CacheRef)> {
        let (head, _) = self.head.as_ref()?;
        Some((self, CacheRef { offset: head.root.0, length: head.root.1 }))
    }

    /// Forgets what was read, so that the next walk reads everything.
    pub(super) fn forget(&mut self) {
        self.head = None;
        self.whole = OnceLock::new();
    }

    /// What the walk writes to.
    pub(super) fn appender(&self) -> Appender {
        let base = self.head.as_ref().map_or(0, |(head, _)| head.length);
        Appender(Mutex::new((base, Vec::new())))
    }

    /// The bytes that [`CacheFile::commit`] adds to the store at most.
    pub(super) fn adds(&self, appender: &Appender) -> u64 {
        let new = appender.0.lock().unwrap_or_else(PoisonError::into_inner).1.len() as u64;
        let length = self.head.as_ref().map_or(0, |(head, _)| head.length) + new;
        let clean = self.head.as_ref().map_or(length, |(head, _)| head.clean_length);
        if is_worth_compacting(length, clean) { new + length } else { new }
    }

    /// Makes the new records count, as a mirror of `base`. The workspace's lock must be held.
    pub(super) fn commit(
        self,
        layout: &Layout,
        appender: Appender,
        root: CacheRef,
        base: CheckpointId,
        identity: Identity,
    ) -> Result<()> {
        make_private(&self.directory)?;
        let (offset, records) = appender.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (data, clean_length) = match &self.head {
            Some((head, _)) => (head.data.clone(), head.clean_length),
            None => (format!("{}-{base}.records", self.stem), records.len() as u64),
        };
        let path = self.directory.join(&data);
        let file = match &self.head {
            Some(_) => std::fs::OpenOptions::new()
                .write(true)
                .read(true)
                .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
                .open(&path)
                .map_err(|e| Error::io("opening the stat cache", e).at(&path))?,
            None => create_file(&path)?,
        };
        // What a killed process appended behind the counted bytes goes.
        file.set_len(offset)
            .and_then(|()| write_all_at(&file, &records, offset))
            .map_err(|e| Error::io("writing the stat cache", e))?;
        let mut head = Head {
            format: FORMAT_VERSION,
            base: base.to_string(),
            identity,
            data,
            length: offset + records.len() as u64,
            clean_length,
            root: (root.offset, root.length),
        };
        if is_worth_compacting(head.length, head.clean_length)
            && let Some(clean) = rewritten(&self.directory, &self.stem, &head, &file)?
        {
            head = clean;
        }
        let tmp = layout.tmp().join(format!("head-{base}"));
        write_sealed(&self.directory.join(format!("{}.head", self.stem)), &tmp, &head, Durability::Process)?;
        self.remove_others(&head.data)
    }

    fn remove_others(&self, keep: &str) -> Result<()> {
        let listing = |e| Error::io("listing the stat caches of a workspace", e);
        for entry in std::fs::read_dir(&self.directory).map_err(listing)? {
            let entry = entry.map_err(listing)?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(&self.stem) && name.ends_with(".records") && name != keep {
                std::fs::remove_file(entry.path()).map_err(|e| Error::io("removing an old stat cache", e))?;
            }
        }
        Ok(())
    }
}

fn is_worth_compacting(length: u64, clean_length: u64) -> bool {
    length > SMALL && length > clean_length.saturating_mul(3)
}

/// Removes the caches that mirror a deleted checkpoint: names of files that only it had stand in them (C9). Tells how many bytes that
/// freed.
///
/// # Errors
/// The system's error.
pub(super) fn forget_base(layout: &Layout, workspace: &str, base: CheckpointId) -> Result<u64> {
    let mut freed = 0;
    for path in of_base(layout, workspace, base)? {
        freed += blocks(&path);
        std::fs::remove_file(&path).map_err(|e| Error::io("forgetting a stat cache", e).at(&path))?;
    }
    Ok(freed)
}

/// The bytes that [`forget_base`] would free.
///
/// # Errors
/// The system's error.
pub(super) fn bytes_of_base(layout: &Layout, workspace: &str, base: CheckpointId) -> Result<u64> {
    Ok(of_base(layout, workspace, base)?.iter().map(|path| blocks(path)).sum())
}

fn blocks(path: &std::path::Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    std::fs::symlink_metadata(path).map_or(0, |m| m.blocks() * 512)
}

/// The files of the caches that mirror a checkpoint.
fn of_base(layout: &Layout, workspace: &str, base: CheckpointId) -> Result<Vec<std::path::PathBuf>> {
    let directory = layout.workspace(workspace);
    let mut files = Vec::new();
    let entries = match std::fs::read_dir(&directory) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(files),
        other => other.map_err(|e| Error::io("listing the stat caches of a workspace", e))?,
    };
    for entry in entries {
        let name = entry.map_err(|e| Error::io("listing the stat caches of a workspace", e))?.file_name();
        let name = name.to_string_lossy();
        let Some(stem) = name.strip_suffix(".head") else { continue };
        let Some((head, _)) = load(&directory, stem).filter(|(head, _)| head.base == base.to_string()) else {
            continue;
        };
        files.extend([&*name, &head.data].map(|name| directory.join(name)));
    }
    Ok(files)
}

/// A copy of the records that count, in a new file.
fn rewritten(directory: &std::path::Path, stem: &str, head: &Head, file: &File) -> Result<Option<Head>> {
    let appender = Appender(Mutex::new((0, Vec::new())));
    let root = CacheRef { offset: head.root.0, length: head.root.1 };
    let Some(root) = compact(&Records { file, length: head.length }, root, &appender)? else {
        return Ok(None);
    };
    let (_, records) = appender.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    let data = format!("{stem}-{}-clean.records", head.base);
    write_all_at(&create_file(&directory.join(&data))?, &records, 0)
        .map_err(|e| Error::io("writing the stat cache", e))?;
    let length = records.len() as u64;
    Ok(Some(Head { data, length, clean_length: length, root: (root.offset, root.length), ..head.clone() }))
}

fn load(directory: &std::path::Path, stem: &str) -> Option<(Head, File)> {
    let bytes = read_file(&directory.join(format!("{stem}.head")), MAX_HEAD).ok()?;
    let head: Head = unseal(&bytes).ok()?;
    if head.data.contains('/') {
        return None;
    }
    // Never through a link, never a pipe that would block (input 99).
    let file = open_file(&directory.join(&head.data)).ok()?;
    Some((head, file))
}

struct Records<'a> {
    file: &'a File,
    length: u64,
}

impl CacheReader for Records<'_> {
    fn read(&self, at: CacheRef) -> Option<Vec<u8>> {
        let end = at.offset.checked_add(u64::from(at.length))?;
        if end > self.length {
            return None;
        }
        let mut bytes = vec![0; at.length as usize];
        self.file.read_exact_at(&mut bytes, at.offset).ok()?;
        Some(bytes)
    }
}

impl CacheReader for CacheFile {
    fn read(&self, at: CacheRef) -> Option<Vec<u8>> {
        let (head, file) = self.head.as_ref()?;
        let records = Records { file, length: head.length };
        if head.length > WHOLE {
            return records.read(at);
        }
        // One read instead of one for each directory.
        let whole = self.whole.get_or_init(|| {
            let length = u32::try_from(head.length).ok()?;
            records.read(CacheRef { offset: 0, length })
        });
        let start = usize::try_from(at.offset).ok()?;
        whole.as_ref()?.get(start..start.checked_add(at.length as usize)?).map(<[u8]>::to_vec)
    }
}

/// Gathers the records of a walk: where the file ends, and what goes behind it.
pub(super) struct Appender(Mutex<(u64, Vec<u8>)>);

impl CacheWriter for Appender {
    fn append(&self, record: &[u8]) -> Result<CacheRef> {
        let length = u32::try_from(record.len())
            .map_err(|_| Error::corrupt("a directory is too wide for the stat cache"))?;
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = state.0 + state.1.len() as u64;
        state.1.extend_from_slice(record);
        Ok(CacheRef { offset, length })
    }
}
