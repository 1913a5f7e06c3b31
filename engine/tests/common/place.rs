//! A temporary directory with a workspace and a store.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use turnback_core::{CheckpointId, Phase};
use turnback_engine::{
    Checkpoint, Code, Context, CreateRequest, Durability, GitMode, Manager, OpenOptions, RelPath, Result,
    RollbackReport, RollbackRequest, StoreLocation,
};

use super::picture::Tree;

pub struct Place {
    pub dir: TempDir,
    pub manager: Manager,
}

impl Default for Place {
    fn default() -> Self {
        Self::in_directory(tempfile::tempdir().unwrap())
    }
}

impl Place {
    pub fn in_directory(dir: TempDir) -> Self {
        let workspace = dir.path().join("w");
        if !workspace.exists() {
            fs::create_dir(&workspace).unwrap();
        }
        let manager = open(&dir.path().join("s")).unwrap();
        Self { dir, manager }
    }

    /// In memory where the system has a place for that: for tests with thousands of syncs.
    pub fn in_memory() -> Self {
        let memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self::in_directory(memory.unwrap())
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().join("w")
    }

    pub fn store(&self) -> PathBuf {
        self.dir.path().join("s")
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let full = self.at(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, bytes).unwrap();
    }

    pub fn tree(&self) -> Tree {
        Tree::of(&self.root())
    }

    pub fn create(&self) -> Checkpoint {
        self.manager.create(&self.root(), request(), &Context::default()).unwrap()
    }

    pub fn try_create(&self, request: CreateRequest) -> Result<Checkpoint> {
        self.manager.create(&self.root(), request, &Context::default())
    }

    /// Rolls back with `git: 'exact'`.
    pub fn rollback(&self, id: CheckpointId) -> RollbackReport {
        self.manager.rollback(id, exact(), &Context::default()).unwrap()
    }

    pub fn undo(&self, id: CheckpointId) -> RollbackReport {
        self.manager.undo(id, &Context::default()).unwrap()
    }

    pub fn ids(&self) -> Vec<CheckpointId> {
        let listing = self.manager.list(None).unwrap();
        assert_eq!(listing.damaged, []);
        listing.checkpoints.iter().map(|c| c.checkpoint.checkpoint_id).collect()
    }

    pub fn verify_is_clean(&self) {
        let report = self.manager.verify(None, &Context::default()).unwrap();
        assert_eq!(report.damaged, []);
        assert_eq!(report.checked, self.ids().len() as u64);
    }

    pub fn read(&self, id: CheckpointId, path: &str) -> Vec<u8> {
        self.manager.read_file(id, &rel(path)).unwrap()
    }

    /// Everything the store holds, with what would betray a write.
    pub fn store_files(&self) -> BTreeSet<(PathBuf, u64, u64)> {
        files_beneath(&self.store())
            .into_iter()
            .map(|path| {
                let stat = fs::symlink_metadata(&path).unwrap();
                (path, stat.len(), stat.ino())
            })
            .collect()
    }

    pub fn tmp_is_empty(&self) {
        let left: Vec<_> =
            fs::read_dir(self.store().join("tmp")).unwrap().map(|e| e.unwrap().path()).collect();
        assert_eq!(left, Vec::<PathBuf>::new(), "left in the store's tmp");
    }
}

pub fn open(store: &Path) -> Result<Manager> {
    Manager::open(OpenOptions {
        store: StoreLocation::Path(store.to_owned()),
        durability: Some(Durability::Process),
        // Most of them are on small disks of their own, of which the default is a fifth.
        max_bytes: Some(1 << 40),
        ..OpenOptions::default()
    })
}

pub fn request() -> CreateRequest {
    CreateRequest::new("plan".parse().unwrap(), Phase::Manual)
}

pub fn exact() -> RollbackRequest {
    RollbackRequest { git: GitMode::Exact, ..RollbackRequest::default() }
}

pub fn rel(path: impl AsRef<[u8]>) -> RelPath {
    RelPath::parse(path.as_ref()).unwrap()
}

/// The error's code; a success is a failure of the test.
pub fn code<T: std::fmt::Debug>(result: Result<T>) -> Code {
    result.unwrap_err().code()
}

/// Every path beneath a directory, directories too.
pub fn files_beneath(directory: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut todo = vec![directory.to_owned()];
    while let Some(next) = todo.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if fs::symlink_metadata(&path).unwrap().is_dir() {
                todo.push(path.clone());
            }
            all.push(path);
        }
    }
    all.sort();
    all
}

/// A copy of a directory of plain files, with their modes.
pub fn copy_store(from: &Path, to: &Path) {
    fs::DirBuilder::new().mode(0o700).create(to).unwrap();
    for path in files_beneath(from) {
        let target = to.join(path.strip_prefix(from).unwrap());
        if path.is_dir() {
            fs::DirBuilder::new().mode(0o700).create(&target).unwrap();
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// Waits until the clock that stamps files has moved far enough for timestamps from before to count as old.
pub fn let_timestamps_age(place: &Place) {
    let_clock_pass(place.dir.path());
}

/// As [`let_timestamps_age`], for any directory.
pub fn let_clock_pass(dir: &Path) {
    let probe = dir.join("clock-probe");
    let stamp = || {
        fs::write(&probe, "x").unwrap();
        let stat = fs::metadata(&probe).unwrap();
        i128::from(stat.ctime()) * 1_000_000_000 + i128::from(stat.ctime_nsec())
    };
    let first = stamp();
    while stamp() - first < 50_000_000 {}
    fs::remove_file(&probe).unwrap();
}

/// Bytes that no compression shortens; different for every seed.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
