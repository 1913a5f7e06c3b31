//! Trees, pictures of them, and a comparison that shares no code with the engine.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::type_complexity
)] // each test file uses a part; helpers panic as tests do

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use turnback_engine::model::{
    Content, Encoder, Entry, FileKind, Hash, LinkGroups, Meta, Node, Objects, Picture, Reason, RelPath,
    Segment, Timestamp, Uncovered, Xattrs, encode_entry, encode_segments,
};
use turnback_engine::restore::{
    Applied, ApplyOptions, GitMode, Plan, PlanOptions, Root, Stopped, Target, apply, plan,
};
use turnback_engine::{Change, Context, Error, Result};

/// The name of staging directories in these tests.
pub const STAGE: &[u8] = b".turnback-stage-01ARZ3NDEKTSV4RRFFQ69G5FAV";

/// Objects in memory.
#[derive(Default)]
pub struct Memory {
    objects: Mutex<HashMap<Hash, Vec<u8>>>,
    directories: Mutex<HashMap<Hash, Vec<Entry>>>,
    damaged: Mutex<HashSet<Hash>>,
}

impl Memory {
    pub fn put(&self, bytes: &[u8]) -> Hash {
        let hash = Hash::of(bytes);
        self.objects.lock().unwrap().insert(hash, bytes.to_vec());
        hash
    }

    pub fn put_directory(&self, mut entries: Vec<Entry>) -> Hash {
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let mut encoder = Encoder::default();
        entries.iter().for_each(|entry| encode_entry(&mut encoder, entry));
        let hash = Hash::of(encoder.as_bytes());
        self.directories.lock().unwrap().insert(hash, entries);
        hash
    }

    /// From now on this object cannot be read.
    pub fn damage(&self, hash: Hash) {
        self.damaged.lock().unwrap().insert(hash);
    }
}

impl Objects for Memory {
    fn read(&self, hash: Hash, limit: u64) -> Result<Vec<u8>> {
        if self.damaged.lock().unwrap().contains(&hash) {
            return Err(Error::corrupt("damaged for the test"));
        }
        let bytes =
            self.objects.lock().unwrap().get(&hash).cloned().ok_or_else(|| Error::corrupt("missing"))?;
        if bytes.len() as u64 > limit { Err(Error::corrupt("longer than its limit")) } else { Ok(bytes) }
    }

    fn directory(&self, manifest: Hash) -> Result<Vec<Entry>> {
        if self.damaged.lock().unwrap().contains(&manifest) {
            return Err(Error::corrupt("damaged for the test"));
        }
        self.directories.lock().unwrap().get(&manifest).cloned().ok_or_else(|| Error::corrupt("missing"))
    }
}

pub fn rel(path: impl AsRef<[u8]>) -> RelPath {
    RelPath::parse(path.as_ref()).unwrap()
}

/// Takes a picture of a tree; `special` says how to mark a path (by its relative path).
pub fn picture(memory: &Memory, root: &Path, special: &dyn Fn(&str) -> Option<Special>) -> Picture {
    let mut inodes: HashMap<u64, Vec<RelPath>> = HashMap::new();
    let manifest = directory(memory, root, &RelPath::root(), special, &mut inodes);
    let meta = fs::symlink_metadata(root).unwrap();
    Picture { root: meta_of(memory, root, &meta), manifest, links: LinkGroups::new(inodes.into_values()) }
}

#[derive(Clone, Copy)]
pub enum Special {
    Uncovered(Reason),
    Changing,
}

pub fn plain(_: &str) -> Option<Special> {
    None
}

fn directory(
    memory: &Memory,
    at: &Path,
    path: &RelPath,
    special: &dyn Fn(&str) -> Option<Special>,
    inodes: &mut HashMap<u64, Vec<RelPath>>,
) -> Hash {
    let mut entries = Vec::new();
    for item in fs::read_dir(at).unwrap() {
        let item = item.unwrap();
        let name: Box<[u8]> = item.file_name().into_vec().into();
        let own = path.join(&name);
        let full = item.path();
        let stat = fs::symlink_metadata(&full).unwrap();
        let kind = stat.file_type();
        let mark = special(&String::from_utf8_lossy(own.as_bytes()));
        let node = match mark {
            Some(Special::Uncovered(reason)) => {
                let kind = if kind.is_dir() { FileKind::Directory } else { FileKind::File };
                Node::Uncovered { reason, kind }
            }
            _ if kind.is_dir() => {
                Node::Directory { manifest: directory(memory, &full, &own, special, inodes) }
            }
            _ if kind.is_symlink() => {
                Node::Symlink { target: fs::read_link(&full).unwrap().into_os_string().into_vec().into() }
            }
            _ if kind.is_fifo() => Node::Fifo,
            _ if kind.is_file() => Node::File {
                size: stat.len(),
                content: content(memory, &full, &stat),
                changing: matches!(mark, Some(Special::Changing)),
            },
            _ => Node::Uncovered { reason: Reason::Socket, kind: FileKind::Socket },
        };
        if !kind.is_dir() && !matches!(node, Node::Uncovered { .. }) {
            inodes.entry(stat.ino()).or_default().push(own);
        }
        entries.push(Entry { name, meta: meta_of(memory, &full, &stat), node });
    }
    memory.put_directory(entries)
}

fn content(memory: &Memory, path: &Path, stat: &fs::Metadata) -> Content {
    let bytes = fs::read(path).unwrap();
    if stat.blocks() * 512 >= stat.len() {
        return Content::Blob(memory.put(&bytes));
    }
    let mut segments = Vec::new();
    for chunk in bytes.chunks(64 << 10) {
        let length = chunk.len() as u64;
        segments.push(if chunk.iter().all(|b| *b == 0) {
            Segment::Hole { length }
        } else {
            Segment::Data { length, hash: memory.put(chunk) }
        });
    }
    Content::Segments(memory.put(&encode_segments(&segments)))
}

fn meta_of(memory: &Memory, path: &Path, stat: &fs::Metadata) -> Meta {
    let xattrs = xattrs(path, stat);
    Meta {
        mode: (stat.mode() & 0o7777) as u16,
        uid: stat.uid(),
        gid: stat.gid(),
        mtime: Timestamp { sec: stat.mtime(), nsec: stat.mtime_nsec() as u32 },
        xattrs: (!xattrs.0.is_empty()).then(|| memory.put(&xattrs.encode())),
    }
}

fn xattrs(path: &Path, stat: &fs::Metadata) -> Xattrs {
    if stat.file_type().is_symlink() {
        return Xattrs::default();
    }
    let mut list = vec![0u8; 4096];
    let Ok(length) = rustix::fs::llistxattr(path, &mut list[..]) else { return Xattrs::default() };
    let mut all: Vec<(Box<[u8]>, Box<[u8]>)> = Vec::new();
    for name in list[..length].split(|b| *b == 0).filter(|n| !n.is_empty()) {
        let mut value = vec![0u8; 4096];
        let length = rustix::fs::lgetxattr(path, name, &mut value[..]).unwrap();
        all.push((name.into(), value[..length].into()));
    }
    all.sort();
    Xattrs(all)
}

/// Everything that is to be equal, one line a path: read anew with the standard library.
pub fn tree(root: &Path) -> BTreeMap<String, String> {
    let mut lines = BTreeMap::new();
    let mut first_of: HashMap<u64, String> = HashMap::new();
    if root.symlink_metadata().is_ok() {
        describe(root, String::new(), &mut lines, &mut first_of);
    }
    lines
}

fn describe(
    at: &Path,
    path: String,
    lines: &mut BTreeMap<String, String>,
    first_of: &mut HashMap<u64, String>,
) {
    let stat = fs::symlink_metadata(at).unwrap();
    let kind = stat.file_type();
    let what = if kind.is_symlink() {
        format!("link {:?}", fs::read_link(at).unwrap())
    } else if kind.is_file() {
        let sparse = stat.blocks() * 512 < stat.len();
        format!("file {:?} sparse={sparse}", Hash::of(&fs::read(at).unwrap()))
    } else {
        format!("{kind:?}")
    };
    let group =
        if kind.is_dir() { path.clone() } else { first_of.entry(stat.ino()).or_insert(path.clone()).clone() };
    let mode = if kind.is_symlink() { 0 } else { stat.mode() };
    let line = format!(
        "{what} {mode:o} {}:{} {}.{:09} group={group} {:?}",
        stat.uid(),
        stat.gid(),
        stat.mtime(),
        stat.mtime_nsec(),
        xattrs(at, &stat)
    );
    if kind.is_dir() {
        let mut names: Vec<_> = fs::read_dir(at).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        for name in names {
            let shown = format!("{path}/{}", name.as_bytes().escape_ascii());
            describe(&at.join(&name), shown, lines, first_of);
        }
    }
    lines.insert(path, line);
}

pub fn pool() -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap()
}

/// A temporary directory with a workspace `w`, something outside, and a store-side staging directory.
pub struct Place {
    pub dir: tempfile::TempDir,
    pub memory: Memory,
    pub pool: rayon::ThreadPool,
}

impl Default for Place {
    fn default() -> Self {
        Self::within(tempfile::tempdir().unwrap())
    }
}

impl Place {
    /// A place in memory where there is one: for many files, which some disks are slow to make.
    pub fn in_memory() -> Self {
        let shared = tempfile::tempdir_in("/dev/shm");
        Self::within(shared.or_else(|_| tempfile::tempdir()).unwrap())
    }

    fn within(dir: tempfile::TempDir) -> Self {
        for name in ["w", "outside", "store"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        Self { dir, memory: Memory::default(), pool: pool() }
    }
}

impl Place {
    pub fn root(&self) -> PathBuf {
        self.dir.path().join("w")
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub fn outside(&self, path: &str) -> PathBuf {
        self.dir.path().join("outside").join(path)
    }

    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let full = self.at(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, bytes).unwrap();
    }

    pub fn mkdir(&self, path: &str) {
        fs::create_dir_all(self.at(path)).unwrap();
    }

    pub fn picture(&self) -> Picture {
        picture(&self.memory, &self.root(), &plain)
    }

    pub fn picture_with(&self, special: &dyn Fn(&str) -> Option<Special>) -> Picture {
        picture(&self.memory, &self.root(), special)
    }

    pub fn plan(&self, now: Option<&Picture>, then: &Picture, options: &PlanOptions) -> Plan {
        plan(now, then, &self.memory, options, &Context::default()).unwrap()
    }

    pub fn try_apply(&self, plan: &Plan, ctx: &Context) -> Result<Applied, Stopped> {
        let store = self.dir.path().join("store");
        let options = ApplyOptions {
            pool: &self.pool,
            stage_in: Some(&store),
            stage_name: STAGE,
            leftovers: &[],
            sync: false,
            root_made: None,
        };
        let root = self.root();
        if root.symlink_metadata().is_ok() {
            apply(Target::Existing(&Root::open(&root).unwrap()), plan, &self.memory, &options, ctx)
        } else {
            apply(Target::Missing(&root), plan, &self.memory, &options, ctx)
        }
    }

    pub fn apply(&self, plan: &Plan) -> Applied {
        let applied = self.try_apply(plan, &Context::default()).unwrap();
        self.no_leftovers();
        applied
    }

    pub fn no_leftovers(&self) {
        assert_eq!(
            fs::read_dir(self.dir.path().join("store")).unwrap().count(),
            0,
            "staging left in the store"
        );
        if self.root().exists() {
            for entry in fs::read_dir(self.root()).unwrap() {
                let name = entry.unwrap().file_name();
                assert!(!name.as_bytes().starts_with(b".turnback-stage-"), "staging left in the root");
            }
        }
    }

    /// Rolls back to `then` as the workspace is now.
    pub fn rollback(&self, then: &Picture) -> Outcome {
        self.rollback_with(then, &PlanOptions { git: GitMode::Exact, paths: None }, &plain)
    }

    pub fn rollback_with(
        &self,
        then: &Picture,
        options: &PlanOptions,
        special: &dyn Fn(&str) -> Option<Special>,
    ) -> Outcome {
        let now = self.root().exists().then(|| self.picture_with(special));
        let plan = self.plan(now.as_ref(), then, options);
        let applied = self.apply(&plan);
        Outcome { changes: plan.changes(), head_moved: plan.head_moved(), applied }
    }

    /// Rolls back, and the tree must equal `want` with nothing left out; everything that was announced was done.
    pub fn exact(&self, then: &Picture, want: &BTreeMap<String, String>) -> Outcome {
        let outcome = self.rollback(then);
        assert_eq!(outcome.applied.kept, [], "kept");
        assert_eq!(outcome.applied.not_restorable, [], "not restorable");
        same(&tree(&self.root()), want);
        assert_eq!(outcome.applied.written + outcome.applied.deleted, outcome.changes.len() as u64);
        outcome
    }
}

pub struct Outcome {
    pub changes: Vec<Change>,
    pub head_moved: bool,
    pub applied: Applied,
}

pub fn list(uncovered: &[Uncovered]) -> Vec<(String, Reason)> {
    uncovered.iter().map(|u| (u.path.to_string(), u.reason)).collect()
}

/// Two trees must be equal; only the lines that differ are shown.
pub fn same(have: &BTreeMap<String, String>, want: &BTreeMap<String, String>) {
    let missing: Vec<_> = want.iter().filter(|(path, line)| have.get(*path) != Some(line)).collect();
    let wrong: Vec<_> = have.iter().filter(|(path, line)| want.get(*path) != Some(line)).collect();
    assert!(missing.is_empty() && wrong.is_empty(), "wanted {missing:#?}\nhave {wrong:#?}");
}

pub fn set_mtime(path: &Path, sec: i64, nsec: i64) {
    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_OMIT};
    let times = Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: sec, tv_nsec: nsec },
    };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

pub fn os(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
