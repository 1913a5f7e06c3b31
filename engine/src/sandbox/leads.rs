//! What is run by the host because something else leads there (S6): a link with a name that counts, the directory that a repository's
//! configuration takes its hooks from, a file that it includes. Such a place is held back as the name that leads to it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;

use super::commit::HoldReason;
use super::git_worktree::{Config, read_raw};
use super::held_back::{by_name, name_behind};
use super::outside::{Outside, Step};
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
        FileKind::Symlink => counts(&directory.join(name)),
        FileKind::Directory | FileKind::File => is_git_name(name),
        _ => false,
    }
}

/// Whether a link with this path may lead to what the host runs: the path counts, or would with a name behind it.
pub(super) fn counts(path: &RelPath) -> bool {
    by_name(path).is_some() || path.split().is_some_and(|(_, name)| name_behind(name).is_some())
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
        let outside = Outside::of(sides.clone().map(|(root, _)| root.path()));
        for (root, noticed) in sides {
            let side = Side { root, outside: &outside };
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
    pub(super) fn add_hooks(&mut self, sides: [&Root; 2], config: &Config) -> Result<()> {
        let outside = Outside::of(sides.into_iter().map(Root::path));
        for root in sides {
            let hooks = Side { root, outside: &outside }.hooks(&RelPath::root(), config, self);
            hooks.map_err(|errno| {
                Error::io("looking where a repository's hooks lie", errno).at(root.path())
            })?;
        }
        Ok(())
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
    outside: &'a Outside,
}

/// Where somebody is who follows a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    /// Beneath the root.
    Inside(RelPath),
    /// In a directory that lies elsewhere, by a path without links.
    Elsewhere(PathBuf),
}

/// What is left to be followed of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    at: At,
    todo: VecDeque<Vec<u8>>,
    hops: usize,
}

impl Side<'_> {
    fn follow(&self, path: &RelPath, leads: &mut Leads) -> Result<(), Errno> {
        let Some((directory, name)) = path.split() else { return Ok(()) };
        let kind = self.kind(path)?;
        let Some((_, reason)) = by_name(path) else {
            // Only with a name behind it does the path count: the link is held back together with what that leads to.
            if let (Some(FileType::Symlink), Some(behind)) = (kind, name_behind(name)) {
                self.resolve(&directory, &[name, b"/", behind].concat(), HoldReason::Trusted, leads)?;
            }
            return Ok(());
        };
        let is_git = is_git_name(name);
        let gits = match kind {
            Some(FileType::Symlink) => self.resolve(&directory, name, reason, leads)?,
            Some(FileType::Directory) if is_git => vec![path.clone()],
            Some(FileType::RegularFile) if is_git => match self.text(path)? {
                Some(text) => match text.strip_prefix(b"gitdir:") {
                    Some(named) => self.resolve(&directory, named.trim_ascii(), reason, leads)?,
                    None => Vec::new(),
                },
                None => Vec::new(),
            },
            _ => Vec::new(),
        };
        gits.iter().filter(|_| is_git).try_for_each(|git| self.configured(&directory, git, leads))
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
                    if name == "path" {
                        files.extend(self.resolve(&beside, value, HoldReason::Trusted, leads)?);
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

    /// Where a path leads that is named in a directory; every link on the way, and the end, is held back. Nothing when it ends outside of
    /// the tree. A path may leave the tree and come back, by whatever name.
    fn resolve(
        &self,
        directory: &RelPath,
        named: &[u8],
        reason: HoldReason,
        leads: &mut Leads,
    ) -> Result<Vec<RelPath>, Errno> {
        let mut first = Way { at: At::Inside(directory.clone()), todo: VecDeque::new(), hops: 0 };
        self.begin(named, &mut first);
        let mut ends = Vec::new();
        let mut known = BTreeSet::from([first.clone()]);
        let mut ways = vec![first];
        while let Some(mut way) = ways.pop() {
            let Some(name) = way.todo.pop_front() else {
                if let At::Inside(end) = way.at {
                    if by_name(&end).is_none() {
                        leads.add(end.clone(), reason);
                    }
                    ends.push(end);
                }
                continue;
            };
            for next in self.step(way, &name, reason, leads)? {
                if known.insert(next.clone()) {
                    ways.push(next);
                }
            }
        }
        Ok(ends)
    }

    /// Follows one name.
    fn step(
        &self,
        mut way: Way,
        name: &[u8],
        reason: HoldReason,
        leads: &mut Leads,
    ) -> Result<Vec<Way>, Errno> {
        match way.at {
            At::Inside(here) if name == b".." => Ok(match here.split() {
                Some((above, _)) => vec![Way { at: At::Inside(above), ..way }],
                // What is brought lies beneath the resource then, and what is there beneath either.
                None => {
                    let Way { todo, hops, .. } = way;
                    let on = |at| Way { at: At::Elsewhere(at), todo: todo.clone(), hops };
                    self.outside.above().map(on).collect()
                }
            }),
            At::Inside(here) => {
                let next = here.join(name);
                way.at = At::Inside(here);
                match self.kind(&next)? {
                    Some(FileType::Symlink) if way.hops < MAX_HOPS => {
                        way.hops += 1;
                        // A link whose name counts is held back by it.
                        if by_name(&next).is_none() {
                            leads.add(next.clone(), reason);
                        }
                        let Some(target) = self.target(&next)? else { return Ok(Vec::new()) };
                        self.begin(&target, &mut way);
                    }
                    // What is not there yet may come.
                    _ => way.at = At::Inside(next),
                }
                Ok(vec![way])
            }
            At::Elsewhere(here) => {
                let step = self.outside.step(&here, name);
                way.at = At::Elsewhere(here);
                match step {
                    Step::Into => way.at = At::Inside(RelPath::root()),
                    Step::On(path) => way.at = At::Elsewhere(path),
                    Step::Link(target) if way.hops < MAX_HOPS => {
                        way.hops += 1;
                        self.begin(&target, &mut way);
                    }
                    Step::Link(_) | Step::Nowhere => return Ok(Vec::new()),
                    Step::Unknown => {
                        way.todo.push_front(name.to_vec());
                        return Ok(self.may_be(way)?.into_iter().collect());
                    }
                }
                Ok(vec![way])
            }
        }
    }

    /// Where it cannot be told what a path outside leads to: it may end at the place in the tree that is called as it is, with as many
    /// names as fit.
    fn may_be(&self, mut way: Way) -> Result<Option<Way>, Errno> {
        while !way.todo.is_empty() {
            let is_down = !way.todo.iter().any(|name| name == b"..");
            let path = way.todo.iter().fold(RelPath::root(), |path, name| path.join(name));
            if is_down && self.kind(&path)?.is_some() {
                return Ok(Some(Way { at: At::Inside(RelPath::root()), ..way }));
            }
            way.todo.pop_front();
        }
        Ok(None)
    }

    /// Puts the names of a path before those that are to be followed.
    fn begin(&self, named: &[u8], way: &mut Way) {
        let mut path = PathBuf::from(OsString::from_vec(named.to_vec()));
        if let (Ok(rest), Some(home)) = (path.strip_prefix("~"), std::env::var_os("HOME")) {
            path = Path::new(&home).join(rest);
        }
        if path.is_absolute() {
            match self.outside.within(&path) {
                Some(rest) => {
                    way.at = At::Inside(RelPath::root());
                    path = rest.to_owned();
                }
                None => way.at = At::Elsewhere(PathBuf::from("/")),
            }
        }
        for part in path.components().rev() {
            match part {
                Component::Normal(name) => way.todo.push_front(name.as_bytes().to_vec()),
                Component::ParentDir => way.todo.push_front(b"..".to_vec()),
                _ => {}
            }
        }
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
