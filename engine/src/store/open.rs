//! Opening a store: where it is, whether it is ours alone, and what its format is (inputs 7, 80, 99, 102).

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::layout::Layout;
use super::lock::{FileLock, LockKind, Patience, own_store};
use super::{ephemeral, files, grave};
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::store::{Durability, FORMAT_VERSION};

/// Where a store is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum StoreLocation {
    /// `$TURNBACK_STORE`, else `$XDG_STATE_HOME/turnback`, else `~/.local/state/turnback`.
    #[default]
    Default,
    /// This directory; made when it is missing.
    Path(PathBuf),
    /// A temporary directory that goes with the manager (C11).
    Ephemeral,
}

/// A store that was checked.
#[derive(Debug)]
pub struct OpenedStore {
    /// Its paths.
    pub layout: Layout,
    /// Why it can be read and not written: it has a newer format.
    pub read_only: Option<String>,
    /// It goes with the manager.
    pub ephemeral: bool,
    /// Held as long as an ephemeral store is in use.
    _alive: Option<FileLock>,
}

const FORMAT_PREFIX: &str = "turnback store ";

/// Opens a store, making it when it is missing.
///
/// # Errors
/// `STORE_UNSAFE` when others could change it, `STORE_FORMAT` when the directory is something else, `NOT_A_DIRECTORY`, or the
/// system's error.
pub fn open_store(location: &StoreLocation) -> Result<OpenedStore> {
    let (path, ephemeral) = match location {
        StoreLocation::Path(path) => (absolute(path)?, false),
        StoreLocation::Default => (default_path()?, false),
        StoreLocation::Ephemeral => {
            let path = std::env::temp_dir().join(format!("{}{}", ephemeral::PREFIX, files::random_name()?));
            (path, true)
        }
    };
    if ephemeral {
        ephemeral::sweep();
    }
    let root = make_root(&path)?;
    check_owner(&root)?;
    let layout = Layout::new(root);
    let alive = if ephemeral { Some(ephemeral::hold(&layout)?) } else { None };
    let read_only = check_format(&layout)?;
    if read_only.is_none() {
        sweep(&layout)?;
    }
    Ok(OpenedStore { layout, read_only, ephemeral, _alive: alive })
}

fn absolute(path: &Path) -> Result<PathBuf> {
    if path.as_os_str().is_empty() {
        return Err(Error::new(Code::InvalidArgument, "the store's path is empty", "give a directory"));
    }
    std::path::absolute(path).map_err(|e| Error::io("resolving the store's path", e).at(path))
}

fn default_path() -> Result<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let Some(path) = variable("TURNBACK_STORE") {
        return absolute(&path);
    }
    if let Some(state) = variable("XDG_STATE_HOME").filter(|p| p.is_absolute()) {
        return Ok(state.join("turnback"));
    }
    let home = variable("HOME").filter(|p| p.is_absolute()).ok_or_else(|| {
        Error::new(
            Code::InvalidArgument,
            "there is no place for the store: neither TURNBACK_STORE nor HOME is set",
            "set TURNBACK_STORE, or give the store's directory",
        )
    })?;
    Ok(home.join(".local/state/turnback"))
}

/// Makes the directory where it is missing and resolves it once; links among its ancestors are resolved here and checked after.
fn make_root(path: &Path) -> Result<PathBuf> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => {
            return Err(Error::new(
                Code::NotADirectory,
                "the store's path is not a directory",
                "give a directory for the store",
            )
            .at(path));
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            if let Some(parent) = path.parent() {
                // For us alone: with a generous umask the store's parents would otherwise be open to everybody.
                let mut missing: Vec<&Path> = Vec::new();
                for ancestor in parent.ancestors() {
                    if files::exists(ancestor)? {
                        break;
                    }
                    missing.push(ancestor);
                }
                while let Some(next) = missing.pop() {
                    files::make_directory(next)?;
                }
            }
            files::make_directory(path)?;
        }
        Err(e) => return Err(Error::io("examining the store", e).at(path)),
    }
    std::fs::canonicalize(path).map_err(|e| Error::io("resolving the store's path", e).at(path))
}

fn unsafe_store(what: &str, path: &Path) -> Error {
    Error::new(
        Code::StoreUnsafe,
        what,
        "use a directory that only you can write, for example with TURNBACK_STORE or --store",
    )
    .at(path)
}

fn check_owner(root: &Path) -> Result<()> {
    let us = rustix::process::geteuid().as_raw();
    let metadata = std::fs::metadata(root).map_err(|e| Error::io("examining the store", e).at(root))?;
    if metadata.uid() != us {
        return Err(unsafe_store("the store belongs to another user", root));
    }
    if is_writable_by_others(&metadata) {
        return Err(unsafe_store("the store can be written by other users", root));
    }
    match unsafe_ancestor(root)? {
        Some(ancestor) => {
            Err(unsafe_store("a directory above the store can be changed by other users", &ancestor))
        }
        None => Ok(()),
    }
}

/// Whether somebody besides the owner and our own group may write. Many systems give every user a group of their own and new
/// directories group permission, so that our own group says nothing about others.
fn is_writable_by_others(metadata: &std::fs::Metadata) -> bool {
    let our_group = metadata.gid() == rustix::process::getegid().as_raw() || metadata.gid() == 0;
    metadata.mode() & 0o002 != 0 || (metadata.mode() & 0o020 != 0 && !our_group)
}

/// The first directory above a path that a third user could swap (input 7): owned by somebody else, or writable without the sticky
/// bit. The path must be resolved already.
///
/// # Errors
/// The system's error when a directory cannot be examined.
pub fn unsafe_ancestor(path: &Path) -> Result<Option<PathBuf>> {
    /// Root's files in a user namespace that does not map root belong to this id.
    const OVERFLOW: u32 = 65_534;
    let us = rustix::process::geteuid().as_raw();
    for ancestor in path.ancestors().skip(1) {
        let metadata = std::fs::metadata(ancestor)
            .map_err(|e| Error::io("examining a parent directory", e).at(ancestor))?;
        let foreign = ![us, 0, OVERFLOW].contains(&metadata.uid());
        let sticky = metadata.mode() & 0o1000 != 0;
        if foreign || (is_writable_by_others(&metadata) && !sticky) {
            return Ok(Some(ancestor.to_owned()));
        }
    }
    Ok(None)
}

/// Reads the format file, or makes a new store. The text says why the store can only be read.
fn check_format(layout: &Layout) -> Result<Option<String>> {
    let path = layout.format();
    if !files::exists(&path)? {
        initialise(layout)?;
    }
    let text = files::read_file(&path, 256)?;
    let version = std::str::from_utf8(&text)
        .ok()
        .and_then(|t| t.strip_prefix(FORMAT_PREFIX))
        .and_then(|t| t.strip_suffix('\n'))
        .and_then(|t| t.parse::<u32>().ok());
    match version {
        Some(version) if version <= FORMAT_VERSION && version > 0 => {
            tighten(layout.root())?;
            make_directories(layout)
        }
        Some(version) if version > FORMAT_VERSION => {
            Ok(Some(format!("the store has format {version}, this version writes {FORMAT_VERSION}")))
        }
        _ => Err(Error::new(
            Code::StoreFormat,
            "the store's format file is not readable",
            format!("if this is a turnback store, put the line `{FORMAT_PREFIX}{FORMAT_VERSION}` back"),
        )
        .at(path)),
    }
}

fn initialise(layout: &Layout) -> Result<()> {
    let ours =
        ["checkpoints", "packs", "tmp", "locks", "workspaces", "format", "suspects", "paused", "sandboxes"];
    let foreign = files::names(layout.root())?.into_iter().find(|name| !ours.contains(&name.as_str()));
    if foreign.is_some() {
        return Err(Error::new(
            Code::StoreFormat,
            "the directory is not empty and not a turnback store",
            "give an empty or a new directory for the store",
        )
        .at(layout.root()));
    }
    tighten(layout.root())?;
    make_directories(layout)?;
    // Others may be making the same store: who comes second finds it made. The lock also keeps their sweep away from our file.
    let patience = Patience::Wait(std::time::Duration::from_secs(10));
    let _lock = FileLock::acquire(&layout.store_lock(), LockKind::Exclusive, patience, &Context::default())?;
    if files::exists(&layout.format())? {
        return Ok(());
    }
    let tmp = layout.tmp().join(files::random_name()?);
    let text = format!("{FORMAT_PREFIX}{FORMAT_VERSION}\n");
    let mut file = files::create_file(&tmp)?;
    std::io::Write::write_all(&mut file, text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::rename(&tmp, layout.format()))
        .map_err(|e| Error::io("making the store", e).at(layout.root()))?;
    files::sync_directory(layout.root())
}

/// The store is for us alone, whatever mode its directory was made with (C9).
fn tighten(root: &Path) -> Result<()> {
    let metadata = std::fs::metadata(root).map_err(|e| Error::io("examining the store", e).at(root))?;
    if metadata.mode() & 0o7777 == 0o700 {
        return Ok(());
    }
    std::fs::set_permissions(root, std::fs::Permissions::from_mode(0o700))
        .map_err(|e| Error::io("setting the store's mode", e).at(root))
}

fn make_directories(layout: &Layout) -> Result<Option<String>> {
    for path in [layout.checkpoints(), layout.packs(), layout.tmp(), layout.locks(), layout.workspaces()] {
        // Looked at first: making a directory that is there waits for ever on a frozen file system (P11).
        if files::exists(&path)? {
            continue;
        }
        match files::make_directory(&path) {
            Ok(()) => {}
            // A full disk or a read-only one: what is there can still be read.
            Err(error) if files::exists(&path)? => {
                tracing::debug!(%error, "a directory of the store is there")
            }
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Removes what dead processes left in `tmp`. Whoever writes there holds the store's lock, so with the lock alone in our hands
/// nothing there is alive.
pub(super) fn sweep(layout: &Layout) -> Result<()> {
    if files::names(&layout.tmp())?.is_empty() {
        return Ok(());
    }
    let ctx = Context::default();
    // Who removes leaves things there between two steps.
    let locks = FileLock::acquire(&layout.removal_lock(), LockKind::Exclusive, Patience::Try, &ctx)
        .and_then(|removal| own_store(layout, Patience::Try, &ctx).map(|alone| (removal, alone)));
    let _locks = match locks {
        Ok(locks) => locks,
        // Somebody is at work; the next open sweeps.
        Err(error) if error.code() == Code::Busy => return Ok(()),
        Err(error) => return Err(error),
    };
    for name in files::names(&layout.tmp())? {
        if let Err(error) = grave::bury(&layout.tmp().join(name)) {
            tracing::warn!(%error, "a leftover of a dead process cannot be removed");
        }
    }
    Ok(())
}

impl OpenedStore {
    /// Fails when the store must not be written.
    ///
    /// # Errors
    /// `STORE_FORMAT`.
    pub fn require_writable(&self) -> Result<()> {
        match &self.read_only {
            None => Ok(()),
            Some(reason) => Err(Error::new(
                Code::StoreFormat,
                format!("the store can only be read: {reason}"),
                "use a newer version of turnback, or another store",
            )
            .at(self.layout.root())),
        }
    }

    /// How its files are synced by default.
    #[must_use]
    pub const fn default_durability(&self) -> Durability {
        if self.ephemeral { Durability::Process } else { Durability::Power }
    }
}
