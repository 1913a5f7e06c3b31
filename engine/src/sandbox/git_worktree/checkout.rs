//! The files of a worktree, written from the repository's blobs as they are: no line end, no keyword and no LFS pointer is converted
//! (S8), and nothing is run.

use git2::{Index, IndexEntry, IndexTime};
use rustix::fs::Stat;
use rustix::io::Errno;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::path::Path;

use super::files;
use super::objects::{Item, Kind, Objects, Tree};
use super::refusal::{git, unsupported};
use crate::context::{Context, Progress};
use crate::error::{Error, Result};
use crate::model::{RelPath, escape};
use crate::restore::{Dir, Root};

/// What git wants to know of a file that it has written.
pub(super) struct Written {
    pub(super) path: RelPath,
    pub(super) item: Item,
    pub(super) stat: Stat,
}

/// What came of writing a tree.
#[derive(Default)]
pub(super) struct CheckedOut {
    pub(super) written: Vec<Written>,
    /// Files that are pointers to content that LFS keeps elsewhere.
    pub(super) lfs: Vec<RelPath>,
    /// Directories that are submodules; they stay empty.
    pub(super) submodules: Vec<RelPath>,
    /// Absolute links that lead back into the resource (F47).
    pub(super) absolute_links: Vec<RelPath>,
}

/// Writes all paths of a tree beneath an empty root.
pub(super) fn check_out(
    objects: &Objects,
    tree: &Tree,
    root: &Root,
    resource: &Path,
    ctx: &Context,
) -> Result<CheckedOut> {
    let mut done = CheckedOut::default();
    let mut last: Option<(RelPath, Dir)> = None;
    for (number, (path, item)) in tree.iter().enumerate() {
        ctx.check()?;
        if number % 1_024 == 0 {
            let (done, total) = (number as u64, Some(tree.len() as u64));
            ctx.report(Progress { phase: "checkout", done, total, bytes: 0 });
        }
        let Some((parent, name)) = path.split() else { continue };
        let failed = |errno| failed(path, errno);
        let dir = match &last {
            Some((known, dir)) if *known == parent => dir.clone(),
            _ => {
                let dir = files::make_dirs(root.top(), parent.as_bytes()).map_err(failed)?;
                last.insert((parent, dir)).1.clone()
            }
        };
        match item.kind {
            Kind::Submodule => {
                dir.mkdir(name, 0o777).map_err(failed)?;
                done.submodules.push(path.clone());
            }
            Kind::Link => {
                let target = objects.blob(item.oid)?;
                dir.symlink(&target, name).map_err(failed)?;
                if target.starts_with(std::os::unix::ffi::OsStrExt::as_bytes(resource.as_os_str())) {
                    done.absolute_links.push(path.clone());
                }
            }
            Kind::File | Kind::Executable => {
                let bytes = objects.blob(item.oid)?;
                write_file(&dir, name, &bytes, item.kind).map_err(failed)?;
                if is_pointer(&bytes) {
                    done.lfs.push(path.clone());
                }
            }
        }
        let stat = dir.lstat(name).map_err(failed)?;
        done.written.push(Written { path: path.clone(), item: *item, stat });
    }
    Ok(done)
}

fn failed(path: &RelPath, errno: Errno) -> Error {
    match errno {
        // Input 30: two paths that are one to this file system.
        Errno::EXIST | Errno::NOTDIR => unsupported(format_args!(
            "`{}` and another path of it are the same to this file system",
            escape(path.as_bytes())
        )),
        errno => Error::io(format!("writing `{}` of the worktree", escape(path.as_bytes())), errno),
    }
}

fn write_file(dir: &Dir, name: &[u8], bytes: &[u8], kind: Kind) -> Result<(), Errno> {
    let mode = if kind == Kind::Executable { 0o777 } else { 0o666 };
    let mut file = std::fs::File::from(dir.create(name, mode)?);
    file.write_all(bytes).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))
}

/// A text that stands for content which LFS keeps elsewhere.
fn is_pointer(bytes: &[u8]) -> bool {
    bytes.len() < 1_024 && bytes.starts_with(b"version https://git-lfs.github.com/spec/")
}

/// What git's index says of a path.
pub(super) fn index_entry(path: &RelPath, item: Item, stat: &Stat) -> IndexEntry {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "git keeps the low 32 bits")]
    IndexEntry {
        ctime: IndexTime::new(stat.st_ctime as i32, stat.st_ctime_nsec as u32),
        mtime: IndexTime::new(stat.st_mtime as i32, stat.st_mtime_nsec as u32),
        dev: stat.st_dev as u32,
        ino: stat.st_ino as u32,
        mode: item.kind.mode(),
        uid: stat.st_uid,
        gid: stat.st_gid,
        file_size: stat.st_size as u32,
        id: item.oid,
        flags: 0,
        flags_extended: 0,
        path: path.as_bytes().to_vec(),
    }
}

/// Writes the index of a worktree that nobody uses yet.
pub(super) fn write_index(at: &Path, written: &[Written]) -> Result<()> {
    let failed = |e| git("writing the worktree's index", e);
    let mut index = Index::open(at).map_err(failed)?;
    for Written { path, item, stat } in written {
        index.add(&index_entry(path, *item, stat)).map_err(failed)?;
    }
    index.write().map_err(failed)
}

/// Copies a file or link from one tree to another; other kinds are left out. `false` when there is something already, or nothing to
/// copy.
pub(super) fn copy(from: &Root, to: &Root, path: &RelPath) -> Result<bool, Errno> {
    use rustix::fs::FileType;
    let (source, name) = match from.parent(path) {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(false),
        other => other?,
    };
    let Some(stat) = source.lstat_opt(name)? else { return Ok(false) };
    let (parent, _) = path.split().ok_or(Errno::INVAL)?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if !matches!(kind, FileType::RegularFile | FileType::Symlink) {
        return Ok(false);
    }
    let target = files::make_dirs(to.top(), parent.as_bytes())?;
    if target.lstat_opt(name)?.is_some() {
        return Ok(false);
    }
    if kind == FileType::Symlink {
        let link = rustix::fs::readlinkat(source.fd(), name, Vec::new())?;
        target.symlink(link.as_bytes(), name)?;
        return Ok(true);
    }
    let mut read = std::fs::File::from(source.open_existing(name)?);
    let stat = rustix::fs::fstat(read.as_fd())?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(false);
    }
    // Set-id bits never come along.
    let mode = u16::try_from(stat.st_mode & 0o777).unwrap_or(0o600);
    let mut write = std::fs::File::from(target.create(name, mode | 0o600)?);
    let copied =
        std::io::copy(&mut read, &mut write).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO));
    if let Err(errno) = copied {
        files::discard(&target, name);
        return Err(errno);
    }
    let mtime = rustix::fs::Timespec { tv_sec: stat.st_mtime, tv_nsec: stat.st_mtime_nsec as _ };
    rustix::fs::futimens(&write, &rustix::fs::Timestamps { last_access: mtime, last_modification: mtime })?;
    Ok(true)
}
