//! A workspace: the directory that is checkpointed, its id, its identity, and whether it may be checkpointed at all (C5, C16).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use turnback_core::SandboxId;

use super::standing::{Standing, led_elsewhere, standing};
use crate::error::{Code, Error, Result};
use crate::model::Hash;
use crate::store::{
    Durability, FORMAT_VERSION, Identity, Layout, make_directory, read_file, unsafe_ancestor, unseal,
    write_sealed,
};
use crate::tree::sys;

/// A directory by its canonical path; it need not exist.
#[derive(Debug, Clone)]
pub(super) struct Workspace {
    pub(super) path: PathBuf,
    pub(super) id: SandboxId,
}

/// The longest list of earlier roots that is read, in bytes.
const MAX_LINEAGE: u64 = 1 << 20;

/// Roots that we made ourselves in place of others: they count as the same workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Lineage {
    format: u32,
    same: Vec<Identity>,
}

/// What becomes of a directory that nobody means to checkpoint or to restore into (C16).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broad {
    /// Somebody allowed it.
    Allowed,
    /// A checkpoint of it is refused as long as nobody allows it.
    NotAllowed,
    /// Nothing is restored into it.
    NoTarget,
    /// No sandbox is made of it.
    NoResource,
}

impl Broad {
    /// What to do instead; `None` where it may be.
    const fn refused(self) -> Option<&'static str> {
        match self {
            Self::Allowed => None,
            Self::NotAllowed => Some(
                "choose the project's own directory, or allow it (`allowBroad`, `turnback checkpoint --allow-broad`)",
            ),
            Self::NoTarget => Some(
                "give a directory of its own to restore into, such as a new one beneath it (`into`, --into)",
            ),
            Self::NoResource => Some("make the sandbox of the project's own directory"),
        }
    }
}

impl Workspace {
    /// Resolves a path that has to be a directory; links are resolved once, here.
    pub(super) fn resolve(directory: &Path) -> Result<Self> {
        if directory.as_os_str().is_empty() {
            return Err(Error::new(
                Code::InvalidArgument,
                "the directory's path is empty",
                "give a directory",
            ));
        }
        let path = std::fs::canonicalize(directory).map_err(|e| no_directory(e, directory))?;
        let metadata =
            std::fs::metadata(&path).map_err(|e| Error::io("examining the directory", e).at(&path))?;
        if !metadata.is_dir() {
            return Err(not_a_directory(directory));
        }
        Self::at(path)
    }

    /// The workspace at the path that a sandbox's record has. That was canonical when the sandbox was made: a link in its root's place
    /// came since (S4).
    pub(super) fn recorded(directory: &Path) -> Result<Self> {
        match standing(directory)? {
            Standing::Directory => Self::at(directory.to_owned()),
            Standing::Link => Err(led_elsewhere(directory)),
            Standing::Other => Err(not_a_directory(directory)),
            Standing::Missing => {
                Err(no_directory(std::io::Error::from(std::io::ErrorKind::NotFound), directory))
            }
        }
    }

    /// Resolves a path that may be missing: its parent is resolved, its name taken as it is.
    pub(super) fn resolve_missing(directory: &Path) -> Result<Self> {
        if let Ok(found) = std::fs::canonicalize(directory) {
            return Self::at(found);
        }
        let absolute =
            std::path::absolute(directory).map_err(|e| Error::io("resolving a path", e).at(directory))?;
        let resolved = match (absolute.parent(), absolute.file_name()) {
            (Some(parent), Some(name)) => {
                std::fs::canonicalize(parent).map(|p| p.join(name)).unwrap_or_else(|_| absolute.clone())
            }
            _ => absolute,
        };
        Self::at(resolved)
    }

    /// The workspace at a canonical path.
    pub(super) fn at(path: PathBuf) -> Result<Self> {
        let hex = Hash::of(path.as_os_str().as_bytes()).to_hex().0;
        let id = format!("ws-{}", &hex[..32]);
        let id = id.parse().map_err(|e| {
            Error::new(Code::InvalidArgument, "the workspace has no id", "please report this").because(e)
        })?;
        Ok(Self { path, id })
    }

    /// Refuses what nobody means to checkpoint (C16), and a store that would lie in itself (input 81).
    pub(super) fn check_scope(&self, layout: &Layout, broad: Broad) -> Result<()> {
        if let (Some(advice), Some(what)) = (broad.refused(), self.too_broad()) {
            return Err(Error::new(Code::TooBroad, format!("the directory is {what}"), advice).at(&self.path));
        }
        let store = layout.root();
        if store.starts_with(&self.path) || self.path.starts_with(store) {
            return Err(Error::new(
                Code::StoreNested,
                format!("the store ({}) and the workspace lie in one another", store.display()),
                "put the store elsewhere, with TURNBACK_STORE or --store",
            )
            .at(&self.path));
        }
        Ok(())
    }

    /// Refuses a workspace whose path others could lead elsewhere (input 7).
    pub(super) fn check_ancestors(&self) -> Result<()> {
        match unsafe_ancestor(&self.path)? {
            None => Ok(()),
            Some(ancestor) => Err(Error::new(
                Code::PermissionDenied,
                format!("other users can replace the workspace through `{}`", ancestor.display()),
                "take write permission away from them, or move the workspace",
            )
            .at(&self.path)),
        }
    }

    fn too_broad(&self) -> Option<&'static str> {
        let is = |path: PathBuf| std::fs::canonicalize(path).is_ok_and(|p| p == self.path);
        if self.path == Path::new("/") {
            return Some("the whole file system");
        }
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|p| p.is_absolute());
        let mut homes = home.into_iter().chain(people_s_homes());
        if homes.any(|p| std::fs::canonicalize(p).is_ok_and(|home| home.starts_with(&self.path))) {
            return Some("a home directory, or holds one");
        }
        let temporary = [std::env::temp_dir(), PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
        temporary.into_iter().any(is).then_some("the directory for temporary files")
    }

    /// Opens the root.
    pub(super) fn open(&self) -> Result<OwnedFd> {
        sys::open_root(&self.path).map_err(|errno| match errno {
            Errno::NOTDIR | Errno::LOOP => match standing(&self.path) {
                Ok(Standing::Link) => led_elsewhere(&self.path),
                _ => not_a_directory(&self.path),
            },
            errno => Error::io("opening the workspace", errno).at(&self.path),
        })
    }

    /// Opens the root; `None` when there is none.
    pub(super) fn open_if_there(&self) -> Result<Option<OwnedFd>> {
        match self.open() {
            Ok(fd) => Ok(Some(fd)),
            Err(error) if error.code() == Code::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Notes that we made `new` in place of `old`.
    pub(super) fn adopt(&self, layout: &Layout, old: Identity, new: Identity) -> Result<()> {
        let mut lineage = self.lineage(layout);
        for identity in [old, new] {
            if !lineage.same.contains(&identity) {
                lineage.same.push(identity);
            }
        }
        lineage.format = FORMAT_VERSION;
        let directory = layout.workspace(self.id.as_str());
        make_private(&directory)?;
        let tmp = layout.tmp().join(format!("lineage-{}", self.id.as_str()));
        let removed = std::fs::remove_file(&tmp);
        tracing::trace!(?removed, "leftover of an earlier lineage");
        write_sealed(&directory.join("lineage"), &tmp, &lineage, Durability::Power)
    }

    /// Whether a root is the one that was checkpointed, or one that we made in its place.
    pub(super) fn is_same_root(&self, layout: &Layout, then: Identity, now: Identity) -> bool {
        then == now || {
            let lineage = self.lineage(layout);
            lineage.same.contains(&then) && lineage.same.contains(&now)
        }
    }

    fn lineage(&self, layout: &Layout) -> Lineage {
        let path = layout.workspace(self.id.as_str()).join("lineage");
        match read_file(&path, MAX_LINEAGE) {
            Ok(bytes) => unseal(&bytes).unwrap_or_else(|error: Error| {
                tracing::warn!(%error, "what is known of a workspace's earlier roots is damaged");
                Lineage::default()
            }),
            Err(_) => Lineage::default(),
        }
    }
}

/// Makes a directory of the store with its parents, for us alone whatever the umask (C9).
pub(super) fn make_private(path: &Path) -> Result<()> {
    let mut missing: Vec<&Path> =
        path.ancestors().take_while(|p| std::fs::symlink_metadata(p).is_err()).collect();
    while let Some(next) = missing.pop() {
        make_directory(next)?;
    }
    Ok(())
}

/// The home directories of root and of people, as the system's list of users has them; `HOME` may be unset or say something else.
fn people_s_homes() -> Vec<PathBuf> {
    /// Where most systems begin to count people, and the user that owns nothing.
    const PEOPLE: std::ops::Range<u32> = 1000..65_534;
    let Ok(users) = std::fs::read("/etc/passwd") else { return Vec::new() };
    let homes = users.split(|&b| b == b'\n').filter_map(|line| {
        let fields: Vec<_> = line.split(|&b| b == b':').collect();
        let uid: u32 = std::str::from_utf8(fields.get(2)?).ok()?.parse().ok()?;
        let home = Path::new(std::ffi::OsStr::from_bytes(fields.get(5)?));
        let counts = (uid == 0 || PEOPLE.contains(&uid)) && home.is_absolute() && home.parent().is_some();
        counts.then(|| home.to_owned())
    });
    homes.collect()
}

/// The identity of an open root.
pub(super) fn identity(root: &OwnedFd) -> Result<Identity> {
    identity_of(root.as_fd())
}

/// The same of a borrowed descriptor.
pub(super) fn identity_of(root: BorrowedFd<'_>) -> Result<Identity> {
    let (ino, born) = sys::birth(root).map_err(|e| Error::io("identifying the workspace's root", e))?;
    Ok(Identity { ino, born: born.map(|t| (t.sec, t.nsec)) })
}

fn not_a_directory(path: &Path) -> Error {
    Error::new(Code::NotADirectory, "the path is not a directory", "give a directory").at(path)
}

fn no_directory(cause: std::io::Error, path: &Path) -> Error {
    if cause.kind() == std::io::ErrorKind::NotFound {
        return Error::new(Code::NotFound, "there is no such directory", "check the path").at(path);
    }
    if cause.kind() == std::io::ErrorKind::InvalidInput {
        let found = "the directory's path is none that the system takes";
        return Error::new(Code::InvalidArgument, found, "give a path without NUL bytes")
            .at(path)
            .because(cause);
    }
    Error::io("resolving the directory", cause).at(path)
}
