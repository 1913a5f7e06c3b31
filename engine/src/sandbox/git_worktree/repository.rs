//! A git repository, found and examined by us: libgit2 only ever sees its objects and copies of its index, never its configuration.
//!
//! What leads elsewhere is refused (inputs 86–90, 97): a `.git` that is a link or names a directory that does not name this one back,
//! objects of other repositories, a promisor remote, another owner. `core.worktree` does not count: the files lie where the user said.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::Oid;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::config::{Config, is_true};
use super::files;
use super::objects::Objects;
use super::refusal::unsupported;
use crate::error::{Code, Error, Result};
use crate::restore::{Dir, Root};
use crate::store::unsafe_ancestor;
use crate::tree::sys;

/// An examined repository.
pub(super) struct Repository {
    /// What belongs to the resource's own worktree: HEAD and index.
    pub(super) own: Root,
    /// What all worktrees share: objects, refs, configuration.
    pub(super) common: Root,
    pub(super) config: Config,
    pub(super) objects: Objects,
    /// Commits whose parents are not there.
    pub(super) shallow: HashSet<Oid>,
}

/// The longest `.git` file, in bytes.
const MAX_LINK: u64 = 8 << 10;

impl Repository {
    /// Finds and examines the repository whose files lie in `top`, a canonical path.
    ///
    /// # Errors
    /// `GIT_UNSUPPORTED`, with the reason; `PERMISSION_DENIED` for one of another user; `CORRUPT`, `IO`.
    pub(super) fn open(top: &Path) -> Result<Self> {
        let (own, common) = find(top)?;
        for root in [&own, &common] {
            is_ours(root.top(), "the repository")?;
            if let Some(ancestor) = unsafe_ancestor(root.path())? {
                return Err(foreign("other users can replace the repository").at(ancestor));
            }
        }
        let text = files::read(common.top(), "config")?.unwrap_or_default();
        let config = Config::parse(&text)?;
        check_format(&config)?;
        let objects = open_objects(&common)?;
        let shallow = shallow(&common)?;
        Ok(Self { own, common, config, objects, shallow })
    }

    /// Tells this repository from any other that may come to lie in its place.
    pub(super) fn identity(&self) -> Result<String> {
        identity_of(self.common.top())
    }
}

/// Inode and birth time of a directory.
pub(super) fn identity_of(dir: &Dir) -> Result<String> {
    let (ino, born) = sys::birth(dir.fd()).map_err(|e| Error::io("examining the repository", e))?;
    let born = born.map_or_else(String::new, |t| format!("{}.{:09}", t.sec, t.nsec));
    Ok(format!("{ino}:{born}"))
}

fn foreign(what: impl Into<String>) -> Error {
    Error::new(
        Code::PermissionDenied,
        what,
        "use a repository of your own, or the strategy `copy_on_write`, which does not work with git",
    )
}

/// Input 97: a repository of another user is not worked with.
fn is_ours(dir: &Dir, what: &str) -> Result<()> {
    let stat = dir.stat().map_err(|e| Error::io("examining the repository", e))?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(foreign(format!("{what} belongs to another user (uid {})", stat.st_uid)));
    }
    Ok(())
}

/// The git directory of the worktree, and the one that all share.
fn find(top: &Path) -> Result<(Root, Root)> {
    let root = Root::open(top)?;
    is_ours(root.top(), "the resource")?;
    let stat = root.top().lstat_opt(b".git").map_err(|e| Error::io("looking for `.git`", e).at(top))?;
    let Some(stat) = stat else {
        let above = top.ancestors().skip(1).any(|a| std::fs::symlink_metadata(a.join(".git")).is_ok());
        let more = if above { "; it lies inside one: give that one's top directory" } else { "" };
        return Err(unsupported(format!("the resource is not one{more}")).at(top));
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => {
            let dir = root.top().dir(b".git").map_err(|errno| match errno {
                Errno::XDEV | Errno::LOOP => unsupported("its `.git` is a mount"),
                errno => Error::io("opening `.git`", errno).at(top),
            })?;
            let path = top.join(".git");
            if dir.lstat_opt(b"commondir").map_err(|e| Error::io("examining `.git`", e))?.is_some() {
                return Err(unsupported("its `.git` directory says that it belongs to another one"));
            }
            Ok((Root::from_dir(dir.clone(), path.clone()), Root::from_dir(dir, path)))
        }
        FileType::RegularFile => linked(top, root.top()),
        _ => Err(unsupported("its `.git` is a link or something else that leads elsewhere")),
    }
}

/// A `.git` file: that of a worktree or of a submodule. The directory that it names has to name it back (input 86).
fn linked(top: &Path, dir: &Dir) -> Result<(Root, Root)> {
    let text = files::read_raw(dir, b".git", MAX_LINK).map_err(|e| Error::io("reading `.git`", e).at(top))?;
    let named = text.strip_prefix(b"gitdir: ").map(<[u8]>::trim_ascii_end);
    let named = named.ok_or_else(|| unsupported("its `.git` file is malformed"))?;
    let own_path = resolve(top, named)?;
    let own = Root::open(&own_path)?;
    let elsewhere = || unsupported("its `.git` file names a git directory that belongs to other files");
    let common_path = match files::read(own.top(), "commondir")? {
        Some(text) => {
            let back = files::read(own.top(), "gitdir")?.ok_or_else(elsewhere)?;
            let back = own_path.join(OsStr::from_bytes(back.trim_ascii_end()));
            let holder = back.parent().and_then(|p| std::fs::canonicalize(p).ok()).ok_or_else(elsewhere)?;
            if holder != top || back.file_name() != Some(OsStr::new(".git")) {
                return Err(elsewhere());
            }
            let common = resolve(&own_path, text.trim_ascii_end())?;
            if own_path.parent() != Some(common.join("worktrees").as_path()) {
                return Err(elsewhere());
            }
            common
        }
        None => {
            let text = files::read(own.top(), "config")?.unwrap_or_default();
            let config = Config::parse(&text)?;
            let back = config.get("core", None, "worktree").ok_or_else(elsewhere)?;
            if resolve(&own_path, back)? != top {
                return Err(elsewhere());
            }
            own_path
        }
    };
    Ok((own, Root::open(&common_path)?))
}

fn resolve(from: &Path, named: &[u8]) -> Result<PathBuf> {
    let path = from.join(OsStr::from_bytes(named));
    std::fs::canonicalize(&path)
        .map_err(|e| unsupported("it names a directory that cannot be found").because(e).at(path))
}

/// What libgit2 reads rightly, and what this strategy knows (S8).
fn check_format(config: &Config) -> Result<()> {
    let version = config.get("core", None, "repositoryformatversion").unwrap_or(b"0");
    if !matches!(version, b"0" | b"1") {
        return Err(unsupported("its format version is unknown"));
    }
    for (name, value) in config.section("extensions") {
        let known = match name {
            // It tells git how to write its own files; ours name places in full.
            "noop" | "worktreeconfig" | "preciousobjects" | "relativeworktrees" => true,
            "objectformat" => value.eq_ignore_ascii_case(b"sha1"),
            "refstorage" => value.eq_ignore_ascii_case(b"files"),
            _ => false,
        };
        if !known {
            let value = crate::model::escape(value);
            return Err(unsupported(format!("it uses the extension {name} ({value})")));
        }
    }
    let promises = config
        .section("remote")
        .any(|(name, value)| (name == "promisor" && is_true(value)) || name == "partialclonefilter");
    if promises {
        // Input 90: what is missing would have to be fetched, by whatever command the configuration names.
        return Err(unsupported("it is a partial clone: some of its objects are on a remote"));
    }
    Ok(())
}

fn open_objects(common: &Root) -> Result<Objects> {
    let elsewhere = |what: &str| unsupported(format!("its `{what}` is a link or a mount"));
    let open = |dir: &Dir, name: &str| match dir.dir(name.as_bytes()) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::LOOP | Errno::XDEV | Errno::NOTDIR) => Err(elsewhere(name)),
        Err(errno) => Err(Error::io(format!("opening `{name}` of the repository"), errno)),
    };
    let not_one = || unsupported("its `.git` is not a git directory");
    let objects = open(common.top(), "objects")?.ok_or_else(not_one)?;
    is_ours(&objects, "the repository's object store")?;
    is_ours(&open(common.top(), "refs")?.ok_or_else(not_one)?, "the repository's refs")?;
    if open(common.top(), "reftable")?.is_some() {
        return Err(unsupported("it keeps its refs in reftables"));
    }
    open(&objects, "pack")?;
    if let Some(info) = open(&objects, "info")? {
        let alternates = files::read(&info, "alternates")?.unwrap_or_default();
        if !alternates.trim_ascii().is_empty() {
            // Input 88: whoever can write this file could show us any repository's objects.
            return Err(unsupported(
                "it borrows objects from another repository (`objects/info/alternates`)",
            ));
        }
    }
    Objects::open(objects)
}

fn shallow(common: &Root) -> Result<HashSet<Oid>> {
    let text = files::read(common.top(), "shallow")?.unwrap_or_default();
    let lines = text.split(|&b| b == b'\n').filter(|line| !line.is_empty());
    Ok(lines.filter_map(|line| std::str::from_utf8(line).ok()?.parse().ok()).collect())
}
