//! A picture of a tree by the standard library and plain system calls: no engine code, so that it can judge the engine.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Everything that a rollback has to bring back, path by path; the root is the empty path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree(pub BTreeMap<Vec<u8>, Item>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub what: What,
    pub mode: u32,
    pub owner: (u32, u32),
    pub mtime: (i64, i64),
    /// The first path that shares the inode.
    pub group: Vec<u8>,
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
}

#[derive(Clone, PartialEq, Eq)]
pub enum What {
    File { bytes: Vec<u8>, data: Vec<(u64, u64)> },
    Directory,
    Link(Vec<u8>),
    Fifo,
    Other(&'static str),
}

impl std::fmt::Debug for What {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File { bytes, data } => {
                let head = bytes[..bytes.len().min(24)].escape_ascii();
                write!(f, "file of {} bytes `{head}`, data in {data:?}", bytes.len())
            }
            Self::Directory => f.write_str("directory"),
            Self::Link(target) => write!(f, "link to `{}`", target[..target.len().min(40)].escape_ascii()),
            Self::Fifo => f.write_str("fifo"),
            Self::Other(what) => f.write_str(what),
        }
    }
}

impl Tree {
    pub fn of(root: &Path) -> Self {
        let mut tree = Self(BTreeMap::new());
        let mut firsts = HashMap::new();
        if fs::symlink_metadata(root).is_ok() {
            tree.add(root.to_owned(), Vec::new(), &mut firsts);
        }
        tree
    }

    fn add(&mut self, at: PathBuf, path: Vec<u8>, firsts: &mut HashMap<(u64, u64), Vec<u8>>) {
        let stat = fs::symlink_metadata(&at).unwrap();
        let kind = stat.file_type();
        let what = if kind.is_dir() {
            What::Directory
        } else if kind.is_symlink() {
            What::Link(fs::read_link(&at).unwrap().into_os_string().into_vec())
        } else if kind.is_file() {
            What::File { bytes: fs::read(&at).unwrap(), data: data_of(&at, &stat) }
        } else if kind.is_fifo() {
            What::Fifo
        } else if kind.is_socket() {
            What::Other("socket")
        } else {
            What::Other("device")
        };
        let group = match kind.is_dir() {
            true => path.clone(),
            false => firsts.entry((stat.dev(), stat.ino())).or_insert_with(|| path.clone()).clone(),
        };
        let item = Item {
            mode: if kind.is_symlink() { 0 } else { stat.mode() & 0o7777 },
            owner: (stat.uid(), stat.gid()),
            mtime: (stat.mtime(), stat.mtime_nsec()),
            group,
            xattrs: if kind.is_dir() || kind.is_file() { xattrs(&at) } else { Vec::new() },
            what,
        };
        let is_directory = item.what == What::Directory;
        self.0.insert(path.clone(), item);
        if !is_directory {
            return;
        }
        let mut names: Vec<_> = fs::read_dir(&at).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        for name in names {
            let mut own = path.clone();
            if !own.is_empty() {
                own.push(b'/');
            }
            own.extend_from_slice(name.as_bytes());
            self.add(at.join(&name), own, firsts);
        }
    }

    pub fn has(&self, path: impl AsRef<[u8]>) -> bool {
        self.0.contains_key(path.as_ref())
    }

    /// The tree without some paths and what lies beneath them.
    pub fn without(&self, paths: &[&str]) -> Self {
        let beneath = |path: &[u8], of: &str| {
            path == of.as_bytes() || (path.starts_with(of.as_bytes()) && path.get(of.len()) == Some(&b'/'))
        };
        let kept = self.0.iter().filter(|(path, _)| !paths.iter().any(|of| beneath(path, of)));
        Self(kept.map(|(path, item)| (path.clone(), item.clone())).collect())
    }
}

/// Where a sparse file has data; empty for files without holes.
fn data_of(path: &Path, stat: &fs::Metadata) -> Vec<(u64, u64)> {
    use rustix::fs::SeekFrom;
    if stat.blocks() * 512 >= stat.len() {
        return Vec::new();
    }
    let file = fs::File::open(path).unwrap();
    let mut at = 0;
    let mut found = Vec::new();
    while let Ok(start) = rustix::fs::seek(&file, SeekFrom::Data(at)) {
        let end = rustix::fs::seek(&file, SeekFrom::Hole(start)).unwrap();
        found.push((start, end));
        at = end;
    }
    found
}

fn xattrs(path: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut list = vec![0u8; 64 << 10];
    let Ok(length) = rustix::fs::llistxattr(path, &mut list[..]) else { return Vec::new() };
    let mut all = Vec::new();
    for name in list[..length].split(|b| *b == 0).filter(|n| !n.is_empty()) {
        let mut value = vec![0u8; 64 << 10];
        let length = rustix::fs::lgetxattr(path, name, &mut value[..]).unwrap();
        all.push((name.to_vec(), value[..length].to_vec()));
    }
    all.sort();
    all
}

/// Two trees must be equal; only the paths that differ are shown.
#[track_caller]
pub fn same(have: &Tree, want: &Tree) {
    let differing = |a: &Tree, b: &Tree| -> Vec<String> {
        let lines = a.0.iter().filter(|(path, item)| b.0.get(*path) != Some(item));
        lines.map(|(path, item)| format!("{}: {item:?}", path.escape_ascii())).collect()
    };
    let (wrong, wanted) = (differing(have, want), differing(want, have));
    assert!(wrong.is_empty() && wanted.is_empty(), "have {wrong:#?}\nwant {wanted:#?}");
}
