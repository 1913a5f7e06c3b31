//! What is run by the host because something else leads there (S6): a link with a name that counts, the directory that a repository's
//! configuration takes its hooks from, a file that it includes. Such a place is held back as the name that leads to it.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;

use super::commit::HoldReason;
use super::git_worktree::{Config, read_raw};
use super::held_back::by_name;
use crate::error::{Error, Result};
use crate::model::{FileKind, RelPath};
use crate::restore::{Root, is_git_name};

/// The longest file of git's that is read, in bytes; git's own are short.
const MAX_TEXT: u64 = 1 << 20;
/// How many links are followed for one name, as many as the system follows.
const MAX_HOPS: usize = 40;
/// How many files of configuration are read for one repository.
const MAX_CONFIGS: usize = 32;

/// Whether a walk is to tell of a path: a link that may lead to what the host runs, or what a repository's configuration is found by.
pub(crate) fn may_lead(directory: &RelPath, name: &[u8], kind: FileKind) -> bool {
    match kind {
        FileKind::Symlink => by_name(&directory.join(name)).is_some(),
        FileKind::Directory | FileKind::File => is_git_name(name),
        _ => false,
    }
}

/// Places that are held back.
#[derive(Debug, Default)]
pub(super) struct Leads(BTreeMap<RelPath, HoldReason>);

impl Leads {
    /// Follows what was noticed beneath each of the roots. What is no more, or leads elsewhere, says nothing.
    ///
    /// # Errors
    /// When something cannot be examined.
    pub(super) fn find<'a>(sides: impl Iterator<Item = (&'a Root, &'a [RelPath])> + Clone) -> Result<Self> {
        let mut leads = Self::default();
        let places: Vec<PathBuf> = sides.clone().map(|(root, _)| root.path().to_owned()).collect();
        for (root, noticed) in sides {
            let side = Side { root, places: &places };
            for path in noticed {
                side.follow(path, &mut leads).map_err(|errno| {
                    Error::io(format!("looking where `{path}` leads"), errno).at(root.path())
                })?;
            }
        }
        Ok(leads)
    }

    /// Adds the directory that a repository's own configuration, wherever it lies, takes its hooks from.
    ///
    /// # Errors
    /// When something cannot be examined.
    pub(super) fn add_hooks(&mut self, root: &Root, config: &Config) -> Result<()> {
        let side = Side { root, places: &[root.path().to_owned()] };
        let hooks = side.hooks(&RelPath::root(), config, self);
        hooks.map_err(|errno| Error::io("looking where a repository's hooks lie", errno).at(root.path()))
    }

    /// Why a changed path is held back, with the place that is the reason. What becomes of a directory above such a place counts where
    /// something else `replaces` it.
    pub(super) fn of(&self, path: &RelPath, replaces: bool) -> Option<(RelPath, HoldReason)> {
        let concerned = |place: &RelPath| path.starts_with(place) || (replaces && place.starts_with(path));
        let (place, reason) = self.0.iter().find(|(place, _)| concerned(place))?;
        // All of the tree: then each of its names stands for itself.
        let top = || path.names().next().map_or_else(RelPath::root, |name| RelPath::root().join(name));
        Some((if place.is_root() { top() } else { place.clone() }, *reason))
    }

    fn add(&mut self, place: RelPath, reason: HoldReason) {
        self.0.entry(place).or_insert(reason);
    }
}

/// One of the trees.
struct Side<'a> {
    root: &'a Root,
    /// What absolute paths into either tree begin with.
    places: &'a [PathBuf],
}

impl Side<'_> {
    fn follow(&self, path: &RelPath, leads: &mut Leads) -> Result<(), Errno> {
        let Some((_, reason)) = by_name(path) else { return Ok(()) };
        let Some((directory, name)) = path.split() else { return Ok(()) };
        let kind = self.kind(path)?;
        let is_git = is_git_name(name);
        let git = match kind {
            Some(FileType::Symlink) => self.resolve(&directory, name, reason, leads)?,
            Some(FileType::Directory) if is_git => Some(path.clone()),
            Some(FileType::RegularFile) if is_git => match self.text(path)? {
                Some(text) => match text.strip_prefix(b"gitdir:") {
                    Some(named) => self.resolve(&directory, named.trim_ascii(), reason, leads)?,
                    None => None,
                },
                None => None,
            },
            _ => None,
        };
        match git.filter(|_| is_git) {
            Some(git) => self.configured(&directory, &git, leads),
            None => Ok(()),
        }
    }

    /// What the configuration of a repository leads to, whose files lie in `tree` and whose own in `git`.
    fn configured(&self, tree: &RelPath, git: &RelPath, leads: &mut Leads) -> Result<(), Errno> {
        let mut files: VecDeque<RelPath> =
            [b"config".as_slice(), b"config.worktree"].map(|n| git.join(n)).into();
        let mut read = 0;
        while let Some(file) = files.pop_front().filter(|_| read < MAX_CONFIGS) {
            read += 1;
            let Some(text) = self.text(&file)? else { continue };
            // Git does nothing with text that is malformed.
            let Ok(config) = Config::parse(&text) else { continue };
            self.hooks(tree, &config, leads)?;
            let beside = file.split().map_or_else(RelPath::root, |(directory, _)| directory);
            for section in ["include", "includeif"] {
                for (name, value) in config.section(section) {
                    if name == "path"
                        && let Some(included) = self.resolve(&beside, value, HoldReason::Trusted, leads)?
                    {
                        files.push_back(included);
                    }
                }
            }
        }
        Ok(())
    }

    fn hooks(&self, tree: &RelPath, config: &Config, leads: &mut Leads) -> Result<(), Errno> {
        for (_, value) in config.section("core").filter(|(name, _)| *name == "hookspath") {
            self.resolve(tree, value, HoldReason::Trusted, leads)?;
        }
        Ok(())
    }

    /// Where a path leads that is named in a directory; every link on the way, and the end, is held back. `None` when it leaves the tree.
    fn resolve(
        &self,
        directory: &RelPath,
        named: &[u8],
        reason: HoldReason,
        leads: &mut Leads,
    ) -> Result<Option<RelPath>, Errno> {
        let mut at = directory.clone();
        let mut todo: VecDeque<Vec<u8>> = VecDeque::new();
        if !self.begin(named, &mut at, &mut todo) {
            return Ok(None);
        }
        let mut hops = 0;
        while let Some(name) = todo.pop_front() {
            if name == b".." {
                let Some((above, _)) = at.split() else { return Ok(None) };
                at = above;
                continue;
            }
            let next = at.join(&name);
            match self.kind(&next)? {
                Some(FileType::Symlink) if hops < MAX_HOPS => {
                    hops += 1;
                    // A link whose name counts is held back by it.
                    if by_name(&next).is_none() {
                        leads.add(next.clone(), reason);
                    }
                    let Some(target) = self.target(&next)? else { return Ok(None) };
                    if !self.begin(&target, &mut at, &mut todo) {
                        return Ok(None);
                    }
                }
                // What is not there yet may come.
                _ => at = next,
            }
        }
        if by_name(&at).is_none() {
            leads.add(at.clone(), reason);
        }
        Ok(Some(at))
    }

    /// Puts the names of a path before those that are to be followed; `false` when it leads out of the tree.
    fn begin(&self, named: &[u8], at: &mut RelPath, todo: &mut VecDeque<Vec<u8>>) -> bool {
        let mut path = PathBuf::from(OsString::from_vec(named.to_vec()));
        if let (Ok(rest), Some(home)) = (path.strip_prefix("~"), std::env::var_os("HOME")) {
            path = Path::new(&home).join(rest);
        }
        if path.is_absolute() {
            let Some(rest) = self.places.iter().find_map(|place| path.strip_prefix(place).ok()) else {
                return false;
            };
            *at = RelPath::root();
            path = rest.to_owned();
        }
        for part in path.components().rev() {
            match part {
                Component::Normal(name) => todo.push_front(name.as_bytes().to_vec()),
                Component::ParentDir => todo.push_front(b"..".to_vec()),
                _ => {}
            }
        }
        true
    }

    fn kind(&self, path: &RelPath) -> Result<Option<FileType>, Errno> {
        let found = self.root.parent(path).and_then(|(dir, name)| dir.lstat_opt(name));
        Ok(gone(found)?.flatten().map(|stat| FileType::from_raw_mode(stat.st_mode)))
    }

    fn target(&self, path: &RelPath) -> Result<Option<Vec<u8>>, Errno> {
        let (dir, name) = self.root.parent(path)?;
        let target = rustix::fs::readlinkat(dir.fd(), name, Vec::new());
        Ok(gone(target)?.map(std::ffi::CString::into_bytes))
    }

    /// The text of a file; `None` where git would read none.
    fn text(&self, path: &RelPath) -> Result<Option<Vec<u8>>, Errno> {
        let text = self.root.parent(path).and_then(|(dir, name)| read_raw(&dir, name, MAX_TEXT));
        gone(text)
    }
}

/// What is not there, is something else, or cannot be reached, leads nowhere.
fn gone<T>(found: Result<T, Errno>) -> Result<Option<T>, Errno> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(
            Errno::NOENT
            | Errno::NOTDIR
            | Errno::LOOP
            | Errno::INVAL
            | Errno::ISDIR
            | Errno::NAMETOOLONG
            | Errno::ACCESS
            | Errno::XDEV
            | Errno::NXIO,
        ) => Ok(None),
        Err(errno) => Err(errno),
    }
}
