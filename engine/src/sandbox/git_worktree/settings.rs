//! What makes git run something, or changes what it does, in the repository that a worktree shares with its resource: configuration, hooks,
//! attributes, also those of submodules. An agent in the worktree can write all of it, and nothing of ours obeys it (input 106); but the
//! person's own git does. So it is compared with what was there when the sandbox was made, and a difference is told (S4).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;

use super::config::Config;
use super::files;
use super::registration::{Registered, hex, unhex};
use super::repository::Repository;
use crate::error::{Error, Result};
use crate::model::Hash;
use crate::restore::{Dir, Root};
use crate::sandbox::record::Record;

/// Where a record has it.
const NAME: &str = "git_settings";
/// In every git directory, also a submodule's.
const FILES: [&[u8]; 2] = [b"config", b"config.worktree"];
/// The same for directories, with all that lies beneath.
const DIRECTORIES: [&[u8]; 2] = [b"hooks", b"info"];
/// The variables that name more of the kind.
const NAMES_OTHERS: [(&str, &str); 5] = [
    ("core", "hookspath"),
    ("core", "attributesfile"),
    ("core", "excludesfile"),
    ("include", "path"),
    ("includeif", "path"),
];
/// Longer files are told by their length and time, in bytes.
const MAX_FILE: u64 = 16 << 20;
/// No more paths are looked at.
const MAX_PATHS: usize = 10_000;

/// Each file of the kind, with what tells its content from any other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Settings(BTreeMap<PathBuf, Hash>);

impl Settings {
    /// What a repository has now.
    pub(super) fn read(repository: &Repository, resource: &Path) -> Result<Self> {
        let mut found = Self::beneath(&repository.common, resource)?;
        if repository.own.path() != repository.common.path() {
            // That of the resource's own worktree, which need not be there.
            found.one(repository.own.top(), repository.own.path(), b"config.worktree").map_err(failed)?;
            let own = repository.own.path().join("config.worktree");
            found.0.entry(own).or_insert_with(absent);
        }
        Ok(found)
    }

    fn beneath(common: &Root, resource: &Path) -> Result<Self> {
        let mut found = Self::default();
        let (top, path) = (common.top(), common.path());
        found.git_directory(top, path).map_err(failed)?;
        found.modules(top, path, b"modules").map_err(failed)?;
        let text = files::read_raw(top, b"config", MAX_FILE).unwrap_or_default();
        // What git does not read leads it nowhere.
        let config = Config::parse(&text).unwrap_or_default();
        for (section, name) in NAMES_OTHERS {
            let from = if section == "core" { resource } else { path };
            for value in config.section(section).filter(|(other, _)| *other == name).map(|(_, value)| value) {
                let other = from.join(OsStr::from_bytes(value));
                if let Some(inside) = inside(&other, path) {
                    found.at(top, path, inside).map_err(failed)?;
                }
            }
        }
        Ok(found)
    }

    fn git_directory(&mut self, dir: &Dir, path: &Path) -> Result<(), Errno> {
        for name in FILES {
            self.one(dir, path, name)?;
        }
        for name in DIRECTORIES {
            self.one(dir, path, name)?;
        }
        Ok(())
    }

    /// The git directories of submodules, however deep their names are.
    fn modules(&mut self, dir: &Dir, path: &Path, name: &[u8]) -> Result<(), Errno> {
        let mut todo = vec![(dir.clone(), path.to_owned(), name.to_vec())];
        while let Some((dir, path, name)) = todo.pop() {
            let Some(beneath) = files::dir_at(&dir, &name).or_else(leads_elsewhere)? else { continue };
            let path = path.join(OsStr::from_bytes(&name));
            let names = beneath.names()?;
            if names.iter().any(|name| **name == *b"HEAD") {
                self.git_directory(&beneath, &path)?;
                todo.push((beneath, path, b"modules".to_vec()));
            } else {
                let all = names.iter().map(|name| (beneath.clone(), path.clone(), name.to_vec()));
                todo.extend(all.take(MAX_PATHS.saturating_sub(self.0.len())));
            }
        }
        Ok(())
    }

    /// What lies at a path beneath a directory.
    fn at(&mut self, dir: &Dir, path: &Path, inside: &Path) -> Result<(), Errno> {
        let Some((parent, name)) = inside.parent().zip(inside.file_name()) else { return Ok(()) };
        match files::dir_at(dir, parent.as_os_str().as_bytes()).or_else(leads_elsewhere)? {
            Some(dir) => self.one(&dir, &path.join(parent), name.as_bytes()),
            None => Ok(()),
        }
    }

    /// A file, or a directory with all that lies beneath.
    fn one(&mut self, dir: &Dir, path: &Path, name: &[u8]) -> Result<(), Errno> {
        let mut todo = vec![(dir.clone(), path.to_owned(), name.to_vec())];
        while let Some((dir, path, name)) = todo.pop() {
            if self.0.len() >= MAX_PATHS {
                return Ok(());
            }
            let Some(stat) = dir.lstat_opt(&name)? else { continue };
            let path = path.join(OsStr::from_bytes(&name));
            let kind = FileType::from_raw_mode(stat.st_mode);
            let bytes = match kind {
                FileType::Directory => {
                    if let Some(beneath) = files::dir_at(&dir, &name).or_else(leads_elsewhere)? {
                        let mut names: Vec<_> = beneath.names()?.iter().map(|name| name.to_vec()).collect();
                        // The same ones each time.
                        names.sort_by(|a, b| b.cmp(a));
                        todo.extend(names.into_iter().map(|name| (beneath.clone(), path.clone(), name)));
                    }
                    continue;
                }
                FileType::Symlink => rustix::fs::readlinkat(dir.fd(), &*name, Vec::new())?.into_bytes(),
                FileType::RegularFile => match files::read_raw(&dir, &name, MAX_FILE) {
                    Ok(bytes) => bytes,
                    // It went, or cannot be read: its look has to do.
                    Err(_) => {
                        format!("{} {} {}", stat.st_size, stat.st_mtime, stat.st_mtime_nsec).into_bytes()
                    }
                },
                _ => Vec::new(),
            };
            let is_program = stat.st_mode & 0o111 != 0;
            let tell = [format!("{kind:?} {is_program} ").as_bytes(), &bytes].concat();
            self.0.insert(path, Hash::of(&tell));
        }
        Ok(())
    }

    /// Writes it into a record's own part.
    pub(super) fn put(&self, extra: &mut BTreeMap<String, String>) {
        let one = |(path, hash): (&PathBuf, &Hash)| {
            format!("{}:{}", hex(path.as_os_str().as_bytes()), hash.to_hex().0)
        };
        extra.insert(NAME.to_owned(), self.0.iter().map(one).collect::<Vec<_>>().join(" "));
    }

    fn parse(text: &str) -> Option<Self> {
        let one = |word: &str| {
            let (path, hash) = word.split_once(':')?;
            Some((PathBuf::from(OsString::from_vec(unhex(path)?)), Hash::from_hex(hash)?))
        };
        text.split(' ').filter(|word| !word.is_empty()).map(one).collect::<Option<_>>().map(Self)
    }
}

/// What stands for a file that is not there.
fn absent() -> Hash {
    Hash::of(b"")
}

fn failed(errno: Errno) -> Error {
    Error::io("looking at the repository's configuration and hooks", errno)
}

/// A link or a mount in the place of a directory is followed by nobody here.
fn leads_elsewhere(errno: Errno) -> Result<Option<Dir>, Errno> {
    match errno {
        Errno::LOOP | Errno::XDEV => Ok(None),
        errno => Err(errno),
    }
}

/// The way from `around` to a path that names it without detours.
fn inside<'a>(path: &'a Path, around: &Path) -> Option<&'a Path> {
    let inside = path.strip_prefix(around).ok()?;
    inside.components().all(|part| matches!(part, Component::Normal(_))).then_some(inside)
}

/// The files of the kind that are others than when a sandbox was made, came or went, sorted. None for a sandbox of an earlier version, and
/// where the repository is gone.
///
/// # Errors
/// `CORRUPT` for a malformed record, `IO`.
pub(super) fn changed(record: &Record) -> Result<Vec<PathBuf>> {
    let Some(text) = record.extra.get(NAME) else { return Ok(Vec::new()) };
    let then = Settings::parse(text)
        .ok_or_else(|| Error::corrupt(format!("the record of sandbox {} is malformed", record.id)))?;
    let registered = Registered::of(record)?;
    let common = match Root::open(&registered.common) {
        Err(error) if error.code() == crate::error::Code::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    if super::repository::identity_of(common.top())? != registered.identity {
        return Ok(Vec::new());
    }
    let mut now = Settings::beneath(&common, &record.resource)?;
    let worktrees = registered.common.join("worktrees");
    for own in then.0.keys().filter(|path| path.starts_with(&worktrees)) {
        if let Some(inside) = inside(own, &registered.common) {
            now.at(common.top(), &registered.common, inside).map_err(failed)?;
        }
        now.0.entry(own.clone()).or_insert_with(absent);
    }
    let all: std::collections::BTreeSet<&PathBuf> = then.0.keys().chain(now.0.keys()).collect();
    Ok(all.into_iter().filter(|path| then.0.get(*path) != now.0.get(*path)).cloned().collect())
}

/// Warns of what is not as it was, unless it is what was `told` last.
pub(super) fn tell(record: &Record, told: &mut Vec<PathBuf>) {
    match changed(record) {
        Ok(paths) if paths == *told => {}
        Ok(paths) => {
            if !paths.is_empty() {
                let all: Vec<_> =
                    paths.iter().map(|path| crate::model::escape(path.as_os_str().as_bytes())).collect();
                tracing::warn!(
                    paths = all.join(", "),
                    sandbox = %record.id,
                    "git's configuration or hooks in the resource's repository changed since the sandbox was made, by you or by what ran in \
                     it: look at them before you use git there"
                );
            }
            *told = paths;
        }
        Err(error) => {
            tracing::warn!(%error, sandbox = %record.id, "it cannot be told whether git's configuration or hooks changed since the sandbox was made");
        }
    }
}
