//! What ties a worktree to its repository: git's own registration and the sandbox's branch. What is made is in the sandbox's record
//! before it is made, so that it can always be taken back (S9).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use git2::Oid;
use rustix::io::Errno;

use super::files;
use super::refs::Reflog;
use super::refusal::unsupported;
use super::repository::{Repository, identity_of};
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::RelPath;
use crate::restore::{Root, remove_beneath};
use crate::sandbox::record::Record;
use crate::sandbox::remains::Remains;

/// What the record of a sandbox says of its repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Registered {
    /// The repository's shared directory, by its canonical path.
    pub(super) common: PathBuf,
    /// Tells it from any other.
    pub(super) identity: String,
    /// The registration's name, which nothing else in the repository has.
    pub(super) name: String,
    /// The branch's full name.
    pub(super) branch: String,
    /// The commit that the files were taken from; after a commit, that one. `None` before the repository's first.
    pub(super) base: Option<Oid>,
    /// What was carried in and never goes back.
    pub(super) seeds: Vec<RelPath>,
    /// The files began as the resource's, not as the commit's.
    pub(super) carried: bool,
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect())
}

/// Paths as they stand in a record.
pub(super) fn listed(paths: &[RelPath]) -> String {
    paths.iter().map(|path| hex(path.as_bytes())).collect::<Vec<_>>().join(" ")
}

/// Reads them back.
pub(super) fn unlisted(text: &str) -> Option<Vec<RelPath>> {
    let words = text.split(' ').filter(|word| !word.is_empty());
    words.map(|word| RelPath::parse(&unhex(word)?).ok()).collect()
}

impl Registered {
    /// Writes it into a record's own part.
    pub(super) fn put(&self, extra: &mut BTreeMap<String, String>) {
        let mut put = |name: &str, value: String| drop(extra.insert(name.to_owned(), value));
        put("git_common", hex(self.common.as_os_str().as_bytes()));
        put("git_identity", self.identity.clone());
        put("git_name", self.name.clone());
        put("git_branch", self.branch.clone());
        put("git_base", self.base.map_or_else(String::new, |oid| oid.to_string()));
        put("git_seeds", listed(&self.seeds));
        put("git_carried", self.carried.to_string());
    }

    /// Reads it back.
    ///
    /// # Errors
    /// `CORRUPT`.
    pub(super) fn of(record: &Record) -> Result<Self> {
        Self::read(&record.extra)
            .ok_or_else(|| Error::corrupt(format!("the record of sandbox {} is malformed", record.id)))
    }

    fn read(extra: &BTreeMap<String, String>) -> Option<Self> {
        let get = |name: &str| extra.get(name).map(String::as_str);
        let base = match get("git_base")? {
            "" => None,
            hex => Some(hex.parse().ok()?),
        };
        Some(Self {
            common: PathBuf::from(OsString::from_vec(unhex(get("git_common")?)?)),
            identity: get("git_identity")?.to_owned(),
            name: get("git_name")?.to_owned(),
            branch: get("git_branch")?.to_owned(),
            base,
            seeds: unlisted(get("git_seeds")?)?,
            carried: get("git_carried")?.parse().ok()?,
        })
    }

    /// The directory of the registration.
    pub(super) fn directory(&self) -> PathBuf {
        self.common.join("worktrees").join(&self.name)
    }

    /// The repository, which must be the one that the sandbox was made of (inputs 86, 87).
    pub(super) fn repository(&self, resource: &Path) -> Result<Repository> {
        let repository = Repository::open(resource)?;
        if repository.common.path() != self.common || repository.identity()? != self.identity {
            return Err(Error::new(
                Code::WorkspaceReplaced,
                "the resource's `.git` is another repository than the one that the sandbox was made of",
                "put it back, or keep the sandbox's work by hand: its files are untouched",
            )
            .at(resource));
        }
        Ok(repository)
    }

    /// What the worktree's `.git` file says.
    pub(super) fn link(&self) -> Vec<u8> {
        [b"gitdir: ", self.directory().as_os_str().as_bytes(), b"\n"].concat()
    }

    /// The files of a registration, but for the index.
    pub(super) fn texts(&self, worktree: &Path) -> [(&'static str, Vec<u8>); 3] {
        let place = worktree.join(".git");
        [
            ("gitdir", [place.as_os_str().as_bytes(), b"\n"].concat()),
            ("commondir", b"../..\n".to_vec()),
            ("HEAD", format!("ref: {}\n", self.branch).into_bytes()),
        ]
    }

    /// Registers the worktree and makes its branch.
    pub(super) fn make(&self, repository: &Repository, worktree: &Path, sync: bool) -> Result<()> {
        if [worktree, &self.common].iter().any(|path| path.as_os_str().as_bytes().contains(&b'\n')) {
            return Err(unsupported("there is a line end in its path or the sandbox's"));
        }
        let failed = |errno| Error::io("registering the worktree", errno).at(self.directory());
        let worktrees = files::make_dirs(repository.common.top(), b"worktrees").map_err(failed)?;
        worktrees.mkdir(self.name.as_bytes(), 0o777).map_err(failed)?;
        let dir = worktrees.dir(self.name.as_bytes()).map_err(failed)?;
        let write = |name: &str, bytes: &[u8]| {
            files::create(&dir, name.as_bytes(), 0o666, bytes, sync).map_err(failed)
        };
        for (name, text) in self.texts(worktree) {
            write(name, &text)?;
        }
        match self.base {
            None => Ok(()),
            Some(base) => {
                let why = Reflog { author: super::identity::NEUTRAL, message: "", sync, owner: &self.name };
                repository.move_branch(&self.branch, None, Some(base), &why)
            }
        }
    }

    /// Takes registration and branch back. What leads to commits that are nowhere else stays, and is named (input 96). May be called
    /// again.
    pub(super) fn unmake(&self, resource: &Path, worktree: &Path, ctx: &Context) -> Result<Remains> {
        // Nothing is taken away of which it cannot be told whether it is elsewhere.
        let elsewhere = || Remains { repositories: vec![self.common.clone()], ..Remains::default() };
        let common = match Root::open(&self.common) {
            Err(error) if matches!(error.code(), Code::NotFound | Code::NotADirectory) => {
                return Ok(elsewhere());
            }
            other => other?,
        };
        if identity_of(common.top())? != self.identity {
            tracing::info!("another repository lies where the sandbox's was; nothing in it is touched");
            return Ok(elsewhere());
        }
        let repository = match Repository::open(resource) {
            Ok(repository) if repository.common.path() == self.common => repository,
            Ok(_) => return Ok(elsewhere()),
            Err(error) => {
                tracing::warn!(%error, branch = self.branch, "the sandbox's branch stays: the repository cannot be read");
                return Ok(elsewhere());
            }
        };
        let mut refs = self.save(&repository, worktree, ctx)?;
        self.remove_registration(&common)?;
        if !self.remove_branch(&repository, ctx)? {
            refs.push(self.branch.clone());
        }
        Ok(Remains { refs, ..Remains::default() })
    }

    fn remove_registration(&self, common: &Root) -> Result<()> {
        let failed = |errno| Error::io("removing the worktree's registration", errno).at(self.directory());
        let Some(worktrees) = files::dir_at(common.top(), b"worktrees").map_err(failed)? else {
            return Ok(());
        };
        match worktrees.dir(self.name.as_bytes()) {
            Ok(dir) => {
                remove_beneath(&Root::from_dir(dir, self.directory())).map_err(failed)?;
                worktrees.rmdir(self.name.as_bytes()).map_err(failed)?;
            }
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(failed(errno)),
        }
        // Git too removes it with the last one.
        match common.top().rmdir(b"worktrees") {
            Ok(()) | Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT) => Ok(()),
            Err(errno) => Err(failed(errno)),
        }
    }

    /// Whether the branch is gone: it stays when its commits are nowhere else.
    fn remove_branch(&self, repository: &Repository, ctx: &Context) -> Result<bool> {
        let (parent, last) = self.branch.rsplit_once('/').unwrap_or(("refs/heads", &self.branch));
        repository.clear_ref_lock(&self.branch, &self.name);
        let Some(tip) = repository.resolve(&self.branch)? else {
            repository.prune_dirs("", &self.branch);
            return Ok(true);
        };
        if !self.is_elsewhere(repository, tip, ctx)? {
            tracing::info!(branch = self.branch, "the sandbox's branch stays: its commits are nowhere else");
            return Ok(false);
        }
        let why = Reflog { author: super::identity::NEUTRAL, message: "", sync: true, owner: &self.name };
        repository.move_branch(&self.branch, Some(tip), None, &why)?;
        if let Ok(Some(dir)) = files::dir_at(repository.common.top(), format!("logs/{parent}").as_bytes()) {
            files::discard(&dir, last.as_bytes());
        }
        repository.prune_dirs("", &self.branch);
        repository.prune_dirs("logs/", &self.branch);
        Ok(true)
    }

    /// Whether another ref leads to a commit. What cannot be told counts as no.
    pub(super) fn is_elsewhere(&self, repository: &Repository, tip: Oid, ctx: &Context) -> Result<bool> {
        let others = repository.other_tips(&self.branch)?;
        if others.contains(&tip) {
            return Ok(true);
        }
        for other in others {
            match repository.comes_from(other, tip, ctx) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(error) if matches!(error.code(), Code::Aborted | Code::TimedOut) => return Err(error),
                Err(error) => tracing::debug!(%error, "a ref that leads to no commit"),
            }
        }
        Ok(false)
    }
}

/// A branch name that no sandbox has, beside a branch that is called as our directory would be.
pub(super) fn branch_name(repository: &Repository, name: &str) -> Result<String> {
    Ok(match repository.resolve("refs/heads/turnback")? {
        None => format!("refs/heads/turnback/{name}"),
        Some(_) => format!("refs/heads/turnback-{name}"),
    })
}
