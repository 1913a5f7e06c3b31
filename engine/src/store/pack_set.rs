//! All packs of a store: finds and reads objects.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use super::files;
use super::index::{Index, IndexEntry};
use super::layout::Layout;
use super::manifest;
use super::pack;
use super::suspects;
use crate::error::{Code, Error, Result};
use crate::model::{Entry, Hash, Objects};

/// Packs whose files are kept open.
const OPEN_PACKS: usize = 32;

/// All packs of a store, as they were at the last refresh. Objects stay where they are while the store's lock is held.
#[derive(Debug)]
pub struct PackSet {
    layout: Layout,
    packs: RwLock<BTreeMap<PathBuf, Arc<Pack>>>,
    open: Mutex<Vec<Arc<Pack>>>,
    /// Objects that were found damaged: they are stored again when a checkpoint needs them.
    suspects: RwLock<HashSet<Hash>>,
    /// A pack is gone that an index speaks of.
    lost: AtomicBool,
}

type Stamp = [(u64, i64, i64); 2];

#[derive(Debug)]
pub(super) struct Pack {
    pub(super) path: PathBuf,
    /// Inodes and change times of the pack and its index: a rewritten file is another pack.
    stamp: Stamp,
    index: Index,
    /// Built from the pack itself when the index file turns out to be damaged.
    rebuilt: OnceLock<Index>,
    file: Mutex<Option<Arc<File>>>,
}

impl Pack {
    /// Finds an object; a damaged index is replaced by one that is rebuilt from the pack.
    fn get(&self, hash: &Hash) -> Option<IndexEntry> {
        if let Some(rebuilt) = self.rebuilt.get() {
            return rebuilt.get(hash).ok().flatten();
        }
        match self.index.get(hash) {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(%error, "an index is damaged; it is rebuilt from its pack");
                self.rebuild().get(hash).ok().flatten()
            }
        }
    }

    fn rebuild(&self) -> &Index {
        self.rebuilt.get_or_init(|| {
            let entries = pack::scan(&self.path).unwrap_or_else(|error| {
                tracing::warn!(%error, "a pack cannot be read; its objects count as missing");
                Vec::new()
            });
            Index::in_memory(&self.path.with_extension("index"), entries)
        })
    }

    /// All objects, by the index or, where that is damaged, by the pack itself.
    pub(super) fn all(&self) -> Vec<IndexEntry> {
        let index = self.rebuilt.get().unwrap_or(&self.index);
        index.all().or_else(|_| self.rebuild().all()).unwrap_or_default()
    }
}

impl PackSet {
    /// The packs of a store; none are known before the first [`PackSet::refresh`].
    #[must_use]
    pub fn new(layout: Layout) -> Self {
        Self {
            layout,
            packs: RwLock::new(BTreeMap::new()),
            open: Mutex::new(Vec::new()),
            suspects: RwLock::new(HashSet::new()),
            lost: AtomicBool::new(false),
        }
    }

    /// Looks which packs there are now.
    ///
    /// # Errors
    /// The system's error when the store cannot be listed. A damaged index is rebuilt from its pack; a pack that cannot be read at
    /// all is left out, and its objects count as missing.
    pub fn refresh(&self) -> Result<()> {
        let mut found = BTreeMap::new();
        let mut lost = false;
        let known = self.packs.read().unwrap_or_else(PoisonError::into_inner).clone();
        for base in self.bases()? {
            let path = base.with_extension("pack");
            // Without its pack an index names what is not there; a pack without its index can be read frame by frame.
            let index = files::stat(&base.with_extension("index"))?;
            let pack = match files::stat(&path)? {
                Some(pack) if pack.is_file() => pack,
                other => {
                    lost |= other.is_some() || index.is_some();
                    continue;
                }
            };
            let stamp =
                [&pack, index.as_ref().unwrap_or(&pack)].map(|s| (s.ino(), s.ctime(), s.ctime_nsec()));
            let pack = match known.get(&path) {
                Some(pack) if pack.stamp == stamp => pack.clone(),
                _ => Arc::new(load(&path, stamp)),
            };
            found.insert(path, pack);
        }
        self.close_all_but(&found);
        *self.packs.write().unwrap_or_else(PoisonError::into_inner) = found;
        self.lost.store(lost, Ordering::Release);
        let known = suspects::read(&self.layout);
        self.suspects.write().unwrap_or_else(PoisonError::into_inner).extend(known);
        Ok(())
    }

    /// Closes the files of packs that are gone or replaced: an open file keeps its blocks (F40).
    fn close_all_but(&self, found: &BTreeMap<PathBuf, Arc<Pack>>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|pack| {
            let stays = found.get(&pack.path).is_some_and(|now| Arc::ptr_eq(now, pack));
            if !stays {
                *pack.file.lock().unwrap_or_else(PoisonError::into_inner) = None;
            }
            stays
        });
    }

    /// Where packs may be, without the extension.
    fn bases(&self) -> Result<Vec<PathBuf>> {
        let checkpoints = self.layout.checkpoints();
        let mut bases: Vec<_> =
            files::names(&checkpoints)?.iter().map(|id| checkpoints.join(id).join("objects")).collect();
        let packs = self.layout.packs();
        for name in files::names(&packs)? {
            if let Some(stem) = name.strip_suffix(".pack") {
                bases.push(packs.join(stem));
            }
        }
        Ok(bases)
    }

    pub(super) fn all(&self) -> Vec<Arc<Pack>> {
        self.packs.read().unwrap_or_else(PoisonError::into_inner).values().rev().cloned().collect()
    }

    /// Whether an object is stored. A damaged index says no: then the object is stored again.
    #[must_use]
    pub fn contains(&self, hash: &Hash) -> bool {
        if self.suspects.read().unwrap_or_else(PoisonError::into_inner).contains(hash) {
            return false;
        }
        let packs = self.packs.read().unwrap_or_else(PoisonError::into_inner);
        packs.values().rev().any(|pack| pack.get(hash).is_some())
    }

    /// Whether a pack is gone: then nothing may be taken for stored because an earlier checkpoint had it (P12).
    #[must_use]
    pub fn has_lost_packs(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// Whether an object can be read from another pack than this one.
    pub(super) fn is_readable_elsewhere(&self, hash: &Hash, path: &Path) -> bool {
        self.places(hash)
            .into_iter()
            .filter(|(pack, _)| pack.path != path)
            .any(|(pack, entry)| self.file(&pack).and_then(|file| pack::read_object(&file, &entry)).is_ok())
    }

    /// Remembers for all who use the store what was found damaged; `true` when there is anything.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn remember_suspects(&self) -> Result<bool> {
        let suspects = self.suspects.read().unwrap_or_else(PoisonError::into_inner).clone();
        if suspects.is_empty() {
            return Ok(false);
        }
        suspects::write(&self.layout, &suspects).map(|()| true)
    }

    /// The stored length of an object, its frame header included; 0 when it is not there.
    #[must_use]
    pub fn stored_length(&self, hash: &Hash) -> u64 {
        let packs = self.packs.read().unwrap_or_else(PoisonError::into_inner);
        packs.values().find_map(|pack| pack.get(hash)).map_or(0, |e| u64::from(e.stored) + pack::FRAME as u64)
    }

    fn places(&self, hash: &Hash) -> Vec<(Arc<Pack>, IndexEntry)> {
        let packs = self.packs.read().unwrap_or_else(PoisonError::into_inner);
        let entry = |pack: &Arc<Pack>| pack.get(hash).map(|e| (pack.clone(), e));
        packs.values().rev().filter_map(entry).collect()
    }

    fn file(&self, pack: &Arc<Pack>) -> Result<Arc<File>> {
        let mut slot = pack.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &*slot {
            return Ok(file.clone());
        }
        let file = Arc::new(files::open_file(&pack.path)?);
        pack::check_magic(&file)?;
        *slot = Some(file.clone());
        drop(slot);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.push(pack.clone());
        if open.len() > OPEN_PACKS {
            let oldest = open.remove(0);
            drop(open);
            *oldest.file.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        Ok(file)
    }
}

fn load(path: &std::path::Path, stamp: Stamp) -> Pack {
    let index_path = path.with_extension("index");
    let rebuilt = OnceLock::new();
    let index = Index::open(&index_path).unwrap_or_else(|error| {
        tracing::warn!(%error, "an index is damaged; it is rebuilt from its pack");
        Index::in_memory(&index_path, Vec::new())
    });
    let pack = Pack { path: path.to_owned(), stamp, index, rebuilt, file: Mutex::new(None) };
    if pack.index.len() == 0 {
        pack.rebuild();
    }
    pack
}

impl Objects for PackSet {
    fn read(&self, hash: Hash, limit: u64) -> Result<Vec<u8>> {
        let mut last = Error::corrupt(format!("object {hash:?} is missing"));
        for (pack, entry) in self.places(&hash) {
            if u64::from(entry.raw) > limit {
                last = Error::corrupt(format!("object {hash:?} is longer than it may be"));
                continue;
            }
            match self.file(&pack).and_then(|file| pack::read_object(&file, &entry)) {
                Ok(bytes) => return Ok(bytes),
                Err(error) => last = error,
            }
        }
        if last.code() == Code::Corrupt {
            self.suspects.write().unwrap_or_else(PoisonError::into_inner).insert(hash);
        }
        Err(last)
    }

    fn directory(&self, manifest: Hash) -> Result<Vec<Entry>> {
        manifest::read(self, manifest)
    }
}
