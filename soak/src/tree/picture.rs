//! A picture of a tree by lstat, readlink, read, listxattr and SEEK_DATA: no engine code, so that it can judge the engine.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use anyhow::{Context as _, Result};

/// Everything that a rollback has to bring back, path by path; the root is the empty path. Empty when there is no root.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Picture(pub BTreeMap<Vec<u8>, Item>);

/// One path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Item {
    /// Its type and content.
    pub what: What,
    /// Permission bits with set-id and sticky; 0 for links, which have none.
    pub mode: u32,
    /// User and group.
    pub owner: (u32, u32),
    /// Modification time: seconds and nanoseconds.
    pub mtime: (i64, i64),
    /// The first path that shares the inode.
    pub group: Vec<u8>,
    /// Extended attributes, sorted.
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Type and content.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// A file with its bytes, and where its data lies when it has holes.
    File(Vec<u8>, Vec<(u64, u64)>),
    /// A directory.
    Directory,
    /// A symbolic link with its target.
    Link(Vec<u8>),
    /// A named pipe.
    Fifo,
    /// Something that no tree here has.
    Other,
}

impl std::fmt::Debug for What {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(bytes, data) => {
                let head = bytes[..bytes.len().min(24)].escape_ascii();
                write!(f, "file of {} bytes `{head}`, data in {data:?}", bytes.len())
            }
            Self::Directory => f.write_str("directory"),
            Self::Link(target) => write!(f, "link to `{}`", target.escape_ascii()),
            Self::Fifo => f.write_str("fifo"),
            Self::Other => f.write_str("something else"),
        }
    }
}

impl Picture {
    /// Takes a picture.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn of(root: &Path) -> Result<Self> {
        let mut picture = Self::default();
        if fs::symlink_metadata(root).is_ok() {
            picture.add(root, Vec::new(), &mut HashMap::new())?;
        }
        Ok(picture)
    }

    fn add(&mut self, at: &Path, path: Vec<u8>, firsts: &mut HashMap<(u64, u64), Vec<u8>>) -> Result<()> {
        let stat = fs::symlink_metadata(at).with_context(|| format!("{}", at.display()))?;
        let kind = stat.file_type();
        let what = if kind.is_dir() {
            What::Directory
        } else if kind.is_symlink() {
            What::Link(fs::read_link(at)?.into_os_string().into_vec())
        } else if kind.is_file() {
            What::File(fs::read(at).with_context(|| format!("{}", at.display()))?, data_of(at, &stat)?)
        } else if kind.is_fifo() {
            What::Fifo
        } else {
            What::Other
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
            xattrs: if kind.is_dir() || kind.is_file() { xattrs(at)? } else { Vec::new() },
            what,
        };
        let is_directory = item.what == What::Directory;
        self.0.insert(path.clone(), item);
        if !is_directory {
            return Ok(());
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(at)? {
            names.push(entry?.file_name());
        }
        names.sort();
        for name in names {
            let mut own = path.clone();
            if !own.is_empty() {
                own.push(b'/');
            }
            own.extend_from_slice(name.as_bytes());
            self.add(&at.join(&name), own, firsts)?;
        }
        Ok(())
    }

    /// The part at and beneath some paths.
    #[must_use]
    pub fn within(&self, paths: &[&str]) -> Self {
        let kept = self.0.iter().filter(|(path, _)| paths.iter().any(|of| is_beneath(path, of)));
        Self(kept.map(|(path, item)| (path.clone(), item.clone())).collect())
    }
}

fn is_beneath(path: &[u8], of: &str) -> bool {
    path == of.as_bytes() || (path.starts_with(of.as_bytes()) && path.get(of.len()) == Some(&b'/'))
}

/// Where two pictures differ first: path, what is there, what should be.
#[must_use]
pub fn difference(is: &Picture, should: &Picture) -> Option<String> {
    let paths: std::collections::BTreeSet<_> = is.0.keys().chain(should.0.keys()).collect();
    let path = paths.into_iter().find(|path| is.0.get(*path) != should.0.get(*path))?;
    Some(format!("`{}` is {:?} and should be {:?}", path.escape_ascii(), is.0.get(path), should.0.get(path)))
}

/// As [`difference`], but for what lies at or beneath some paths that were reported as not kept.
#[must_use]
pub fn difference_but(is: &Picture, should: &Picture, but: &[Vec<u8>]) -> Option<String> {
    let hidden = |path: &[u8]| {
        but.iter().any(|of| path == of || (path.starts_with(of) && path.get(of.len()) == Some(&b'/')))
    };
    // Of a group whose first path is hidden only the rest is left: its paths are then not compared as a group.
    let rest = |picture: &Picture| {
        let kept = picture.0.iter().filter(|(path, _)| !hidden(path));
        // The mtime of a directory follows from what happens, and what does not happen, to the names in it.
        let holds_hidden = |path: &[u8]| {
            but.iter()
                .any(|of| of.iter().rposition(|byte| *byte == b'/').map_or(&[][..], |at| &of[..at]) == path)
        };
        let ungrouped = |path: &[u8], item: &Item| {
            let group = if but.is_empty() { item.group.clone() } else { Vec::new() };
            let mtime = if holds_hidden(path) { Default::default() } else { item.mtime };
            Item { group, mtime, ..item.clone() }
        };
        Picture(kept.map(|(path, item)| (path.clone(), ungrouped(path, item))).collect())
    };
    difference(&rest(is), &rest(should))
}

fn data_of(path: &Path, stat: &fs::Metadata) -> Result<Vec<(u64, u64)>> {
    use rustix::fs::SeekFrom;
    if stat.blocks() * 512 >= stat.len() {
        return Ok(Vec::new());
    }
    let file = fs::File::open(path)?;
    let (mut at, mut found) = (0, Vec::new());
    while let Ok(start) = rustix::fs::seek(&file, SeekFrom::Data(at)) {
        let end = rustix::fs::seek(&file, SeekFrom::Hole(start))?;
        found.push((start, end));
        at = end;
    }
    Ok(found)
}

fn xattrs(path: &Path) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut names = vec![0; 64 << 10];
    let length = match rustix::fs::llistxattr(path, &mut names[..]) {
        Ok(length) => length,
        Err(rustix::io::Errno::OPNOTSUPP) => 0,
        Err(errno) => return Err(errno).with_context(|| format!("{}", path.display())),
    };
    let mut found = Vec::new();
    for name in names[..length].split(|b| *b == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0; 64 << 10];
        let length = rustix::fs::lgetxattr(path, name, &mut value[..])?;
        value.truncate(length);
        found.push((name.to_vec(), value));
    }
    found.sort();
    Ok(found)
}
