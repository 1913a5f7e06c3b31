//! The repository's objects. libgit2 reads them, packed or not, by the object directory's descriptor: it sees no configuration and no
//! alternates. New ones are written loose, as git writes them.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, OwnedFd};

use git2::{ObjectType, Odb, Oid};
use rustix::io::Errno;

use super::files;
use super::refusal::{damaged, git, unsupported};
use crate::error::{Code, Error, Result};
use crate::model::{RelPath, escape};
use crate::restore::{Dir, Overwrite, is_git_name};

/// The longest object that is read or written, in bytes: libgit2 has it in memory whole.
pub(super) const MAX_OBJECT: u64 = 2 << 30;
/// Deeper trees are refused.
pub(super) const MAX_DEPTH: usize = 2_048;

/// What a tree says of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) kind: Kind,
    pub(super) oid: Oid,
}

/// The kinds of paths that git knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Executable,
    Link,
    /// A submodule's commit.
    Submodule,
}

impl Kind {
    pub(super) const fn mode(self) -> u32 {
        match self {
            Self::File => 0o100_644,
            Self::Executable => 0o100_755,
            Self::Link => 0o120_000,
            Self::Submodule => 0o160_000,
        }
    }

    /// Old versions of git wrote other permissions.
    pub(super) fn of(mode: u32) -> Option<Self> {
        Some(match mode {
            0o120_000 => Self::Link,
            0o160_000 => Self::Submodule,
            m if m & 0o170_000 == 0o100_000 && m & 0o100 != 0 => Self::Executable,
            m if m & 0o170_000 == 0o100_000 => Self::File,
            _ => return None,
        })
    }
}

/// All paths of a tree.
pub(super) type Tree = BTreeMap<RelPath, Item>;

/// A commit, as far as it counts here.
#[derive(Debug, Clone)]
pub(super) struct Commit {
    pub(super) tree: Oid,
    pub(super) parents: Vec<Oid>,
    /// Seconds since the epoch.
    pub(super) time: i64,
}

/// The objects of one repository.
pub(super) struct Objects {
    /// Before the descriptor that it reads through.
    odb: Odb<'static>,
    dir: Dir,
    _fd: OwnedFd,
}

impl Objects {
    /// Opens an object directory.
    pub(super) fn open(dir: Dir) -> Result<Self> {
        let fd = dir.readable().map_err(|e| Error::io("opening the repository's objects", e))?;
        let odb = Odb::new().map_err(|e| git("opening the repository's objects", e))?;
        // The link of our own descriptor: whatever comes to lie at the path, it is this directory that is read.
        odb.add_disk_alternate(&format!("/proc/self/fd/{}", fd.as_raw_fd()))
            .map_err(|e| git("opening the repository's objects", e))?;
        Ok(Self { odb, dir, _fd: fd })
    }

    fn read(&self, oid: Oid, kind: ObjectType) -> Result<git2::OdbObject<'_>> {
        let missing =
            |e: git2::Error| damaged(format_args!("the {} {oid} cannot be read", kind.str())).because(e);
        let (size, found) = self.odb.read_header(oid).map_err(missing)?;
        if found != kind {
            return Err(damaged(format_args!("{oid} is not a {}", kind.str())));
        }
        if size as u64 > MAX_OBJECT {
            return Err(unsupported(format_args!("the object {oid} is longer than 2 GiB")));
        }
        self.odb.read(oid).map_err(missing)
    }

    /// Whether there is such an object.
    pub(super) fn has(&self, oid: Oid) -> bool {
        self.odb.exists(oid)
    }

    /// The bytes of a file or the target of a link.
    pub(super) fn blob(&self, oid: Oid) -> Result<Vec<u8>> {
        Ok(self.read(oid, ObjectType::Blob)?.data().to_vec())
    }

    pub(super) fn commit(&self, oid: Oid) -> Result<Commit> {
        let object = self.read(oid, ObjectType::Commit)?;
        parse_commit(object.data()).ok_or_else(|| damaged(format_args!("the commit {oid} is malformed")))
    }

    /// All paths of a tree; `None` is the empty one.
    pub(super) fn tree(&self, tree: Option<Oid>) -> Result<Tree> {
        let mut found = Tree::new();
        let mut todo: Vec<(RelPath, Oid, usize)> =
            tree.map(|oid| (RelPath::root(), oid, 0)).into_iter().collect();
        while let Some((path, oid, depth)) = todo.pop() {
            let object = self.read(oid, ObjectType::Tree)?;
            let entries = parse_tree(object.data())
                .ok_or_else(|| damaged(format_args!("the tree {oid} is malformed")))?;
            for (mode, name, oid) in entries {
                // Input 32: a tree that would write into a git directory.
                if is_git_name(name) || crate::model::check_name(name).is_err() || depth > MAX_DEPTH {
                    return Err(unsupported(format_args!(
                        "it has a path that no file may have (`{}`)",
                        escape(name)
                    )));
                }
                let path = path.join(name);
                match Kind::of(mode) {
                    Some(kind) => {
                        if found.insert(path, Item { kind, oid }).is_some() {
                            return Err(damaged("a tree names a path twice"));
                        }
                    }
                    None if mode == 0o040_000 => todo.push((path, oid, depth + 1)),
                    None => return Err(damaged(format_args!("a tree has a path of mode {mode:o}"))),
                }
            }
        }
        Ok(found)
    }

    /// What one tree names, without what lies beneath: mode, name and object.
    pub(super) fn entries(&self, tree: Oid) -> Result<Vec<(u32, Vec<u8>, Oid)>> {
        let object = self.read(tree, ObjectType::Tree)?;
        let entries =
            parse_tree(object.data()).ok_or_else(|| damaged(format_args!("the tree {tree} is malformed")))?;
        Ok(entries.into_iter().map(|(mode, name, oid)| (mode, name.to_vec(), oid)).collect())
    }

    /// Writes the trees of these paths, and gives the topmost one.
    pub(super) fn write_tree(&self, tree: &Tree) -> Result<Oid> {
        // Each open directory with its entries so far, the root first.
        let mut open: Vec<(Vec<u8>, Vec<TreeEntry>)> = vec![(Vec::new(), Vec::new())];
        for (path, item) in in_git_order(tree) {
            let (parent, name) = path.split().ok_or_else(|| damaged("a tree has a path without a name"))?;
            let parents: Vec<&[u8]> = parent.names().collect();
            let common = open.iter().skip(1).zip(&parents).take_while(|((a, _), b)| a == *b).count();
            while open.len() > common + 1 {
                self.close(&mut open)?;
            }
            for name in parents.iter().skip(open.len() - 1) {
                open.push((name.to_vec(), Vec::new()));
            }
            if let Some((_, entries)) = open.last_mut() {
                entries.push(TreeEntry { mode: item.kind.mode(), name: name.to_vec(), oid: item.oid });
            }
        }
        while open.len() > 1 {
            self.close(&mut open)?;
        }
        let (_, entries) = open.pop().unwrap_or_default();
        self.write(ObjectType::Tree, &encode_tree(entries))
    }

    fn close(&self, open: &mut Vec<(Vec<u8>, Vec<TreeEntry>)>) -> Result<()> {
        let Some((name, entries)) = open.pop() else { return Ok(()) };
        let oid = self.write(ObjectType::Tree, &encode_tree(entries))?;
        if let Some((_, parent)) = open.last_mut() {
            parent.push(TreeEntry { mode: 0o040_000, name, oid });
        }
        Ok(())
    }

    /// Writes an object that is not there yet.
    pub(super) fn write(&self, kind: ObjectType, bytes: &[u8]) -> Result<Oid> {
        let oid = Oid::hash_object(kind, bytes).map_err(|e| git("hashing an object", e))?;
        if self.odb.exists(oid) {
            return Ok(oid);
        }
        self.write_loose(oid, kind, bytes)
            .map_err(|errno| Error::io("writing an object of the repository", errno))?;
        Ok(oid)
    }

    fn write_loose(&self, oid: Oid, kind: ObjectType, bytes: &[u8]) -> Result<(), Errno> {
        let hex = oid.to_string();
        let (first, rest) = hex.split_at(2);
        let dir = files::make_dirs(&self.dir, first.as_bytes())?;
        let temporary = format!("tmp_obj_{}", crate::store::random_name().map_err(|_| Errno::IO)?);
        let failed = |e: std::io::Error| Errno::from_io_error(&e).unwrap_or(Errno::IO);
        let write = || -> Result<(), Errno> {
            let file = std::fs::File::from(dir.create(temporary.as_bytes(), 0o444)?);
            let mut packed = flate2::write::ZlibEncoder::new(file, flate2::Compression::fast());
            packed.write_all(format!("{} {}\0", kind.str(), bytes.len()).as_bytes()).map_err(failed)?;
            packed.write_all(bytes).map_err(failed)?;
            packed.finish().map_err(failed)?;
            dir.rename(temporary.as_bytes(), &dir, rest.as_bytes(), Overwrite::Yes)
        };
        write().inspect_err(|_| files::discard(&dir, temporary.as_bytes()))
    }

    /// Writes everything that was written to disk, before a ref names it: git itself loses commits in a power cut.
    pub(super) fn sync(&self) -> Result<()> {
        let fd = self.dir.readable().map_err(|e| Error::io("opening the repository's objects", e))?;
        rustix::fs::syncfs(fd).map_err(|e| Error::io("writing the repository's objects to disk", e))
    }
}

struct TreeEntry {
    mode: u32,
    name: Vec<u8>,
    oid: Oid,
}

impl TreeEntry {
    /// Git sorts directories as if their names ended with a slash.
    fn key(&self) -> Vec<u8> {
        let mut key = self.name.clone();
        if self.mode == 0o040_000 {
            key.push(b'/');
        }
        key
    }
}

/// Paths component by component, so that a directory's paths stand together.
fn in_git_order(tree: &Tree) -> Vec<(&RelPath, &Item)> {
    let mut all: Vec<_> = tree.iter().collect();
    all.sort_by(|(a, _), (b, _)| a.names().cmp(b.names()));
    all
}

fn encode_tree(mut entries: Vec<TreeEntry>) -> Vec<u8> {
    entries.sort_by_cached_key(TreeEntry::key);
    let mut bytes = Vec::new();
    for entry in entries {
        bytes.extend_from_slice(format!("{:o} ", entry.mode).as_bytes());
        bytes.extend_from_slice(&entry.name);
        bytes.push(0);
        bytes.extend_from_slice(entry.oid.as_bytes());
    }
    bytes
}

fn parse_tree(mut bytes: &[u8]) -> Option<Vec<(u32, &[u8], Oid)>> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let space = bytes.iter().position(|&b| b == b' ')?;
        let mode = u32::from_str_radix(std::str::from_utf8(bytes.get(..space)?).ok()?, 8).ok()?;
        let rest = bytes.get(space + 1..)?;
        let nul = rest.iter().position(|&b| b == 0)?;
        let oid = Oid::from_bytes(rest.get(nul + 1..nul + 21)?).ok()?;
        entries.push((mode, rest.get(..nul)?, oid));
        bytes = rest.get(nul + 21..)?;
    }
    Some(entries)
}

fn parse_commit(bytes: &[u8]) -> Option<Commit> {
    let mut tree = None;
    let mut parents = Vec::new();
    let mut time = None;
    for line in bytes.split(|&b| b == b'\n').take_while(|line| !line.is_empty()) {
        let oid = |hex: &[u8]| std::str::from_utf8(hex).ok()?.parse::<Oid>().ok();
        if let Some(hex) = line.strip_prefix(b"tree ") {
            tree = oid(hex);
        } else if let Some(hex) = line.strip_prefix(b"parent ") {
            parents.push(oid(hex)?);
        } else if line.starts_with(b"committer ") {
            let mut words = line.rsplit(|&b| b == b' ');
            time = words.nth(1).and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
        }
    }
    Some(Commit { tree: tree?, parents, time: time.unwrap_or(0) })
}

/// A commit's bytes.
pub(super) fn encode_commit(tree: Oid, parents: &[Oid], author: &[u8], message: &str) -> Result<Vec<u8>> {
    if message.contains('\0') {
        return Err(Error::new(
            Code::InvalidArgument,
            "the commit's message has a NUL in it",
            "give a message of plain text",
        ));
    }
    let mut bytes = format!("tree {tree}\n").into_bytes();
    for parent in parents {
        bytes.extend_from_slice(format!("parent {parent}\n").as_bytes());
    }
    for role in ["author", "committer"] {
        bytes.extend_from_slice(role.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(author);
        bytes.push(b'\n');
    }
    bytes.push(b'\n');
    bytes.extend_from_slice(message.as_bytes());
    if !message.ends_with('\n') {
        bytes.push(b'\n');
    }
    Ok(bytes)
}
