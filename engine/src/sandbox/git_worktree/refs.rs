//! Refs as git keeps them in files: read without following links, written by compare-and-swap under git's own lock files, so that git
//! and we never undo each other's work. No hook is run.

use std::os::fd::AsFd as _;

use git2::Oid;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::files;
use super::lock::{self, Lock};
use super::refusal::{damaged, held, unsupported};
use super::repository::Repository;
use crate::error::{Code, Error, Result};
use crate::model::{RelPath, escape};
use crate::restore::Dir;

/// What HEAD names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Head {
    /// A branch, by its full name; it may not be born yet.
    Branch(String),
    /// A commit.
    Detached(Oid),
}

/// Refs that name refs are followed so many times, as git does.
const MAX_HOPS: u32 = 5;
/// The longest loose ref, in bytes.
const MAX_REF: u64 = 4 << 10;
/// Where packed refs lie.
const PACKED: &str = "packed-refs";

/// What one ref says.
enum Value {
    Commit(Oid),
    Ref(String),
}

fn parse(name: &str, bytes: &[u8]) -> Result<Value> {
    let text = std::str::from_utf8(bytes.trim_ascii_end())
        .map_err(|_| unsupported(format_args!("the ref `{name}` has a name that is not UTF-8")))?;
    match text.strip_prefix("ref: ") {
        Some(target) => Ok(Value::Ref(checked(target.trim_start())?)),
        None => text
            .parse()
            .map(Value::Commit)
            .map_err(|_| damaged(format_args!("the ref `{name}` is malformed"))),
    }
}

/// A name beneath `refs/` that leads nowhere else.
fn checked(name: &str) -> Result<String> {
    let fine = name.starts_with("refs/")
        && RelPath::parse(name.as_bytes()).is_ok()
        && !name.ends_with(".lock")
        && !name.contains("..")
        && !name.bytes().any(|b| b.is_ascii_control() || b" ~^:?*[\\".contains(&b));
    if fine {
        Ok(name.to_owned())
    } else {
        Err(damaged(format_args!("`{}` is no name of a ref", escape(name.as_bytes()))))
    }
}

fn split(name: &str) -> Result<(&str, &str)> {
    name.rsplit_once('/').ok_or_else(|| damaged(format_args!("`{name}` is no name of a ref")))
}

impl Repository {
    /// Fails when somebody is about to move what HEAD names.
    ///
    /// # Errors
    /// `BUSY`.
    pub(super) fn refuse_locked(&self, head: &Head) -> Result<()> {
        let failed = |errno| Error::io("looking for locks of the repository", errno);
        let mut places = vec![(self.own.top(), "HEAD")];
        if let Head::Branch(name) = head {
            places.push((self.common.top(), name));
        }
        for (top, name) in places {
            let (parent, last) = name.rsplit_once('/').unwrap_or(("", name));
            let Some(dir) = files::dir_at(top, parent.as_bytes()).map_err(failed)? else { continue };
            if dir.lstat_opt(format!("{last}.lock").as_bytes()).map_err(failed)?.is_some() {
                return Err(held(&format!("{name}.lock")));
            }
        }
        Ok(())
    }

    /// What is checked out in the resource.
    pub(super) fn head(&self) -> Result<Head> {
        let bytes = match files::read_raw(self.own.top(), b"HEAD", MAX_REF) {
            Err(Errno::LOOP) => return Err(unsupported("its HEAD is a link")),
            other => other.map_err(|e| Error::io("reading HEAD", e).at(self.own.path()))?,
        };
        match parse("HEAD", &bytes)? {
            Value::Commit(oid) => Ok(Head::Detached(oid)),
            Value::Ref(name) if name.starts_with("refs/heads/") => Ok(Head::Branch(self.final_name(name)?)),
            Value::Ref(name) => Err(unsupported(format_args!("HEAD names `{name}`, which is no branch"))),
        }
    }

    /// The commit that HEAD leads to; `None` before the first one.
    pub(super) fn tip(&self, head: &Head) -> Result<Option<Oid>> {
        match head {
            Head::Detached(oid) => Ok(Some(*oid)),
            Head::Branch(name) => self.resolve(name),
        }
    }

    fn loose(&self, name: &str) -> Result<Option<Value>> {
        let (parent, last) = split(name)?;
        let failed = |errno| Error::io(format!("reading the ref `{name}`"), errno);
        let Some(dir) = files::dir_at(self.common.top(), parent.as_bytes()).map_err(failed)? else {
            return Ok(None);
        };
        match files::read_raw(&dir, last.as_bytes(), MAX_REF) {
            Ok(bytes) => parse(name, &bytes).map(Some),
            // A directory of that name: the ref is at most packed.
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::INVAL) => Ok(None),
            Err(errno) => Err(failed(errno)),
        }
    }

    fn packed(&self) -> Result<Vec<(Oid, String)>> {
        let text = files::read(self.common.top(), PACKED)?.unwrap_or_default();
        let mut found = Vec::new();
        for line in text.split(|&b| b == b'\n') {
            if matches!(line.first(), None | Some(b'#' | b'^')) {
                continue;
            }
            let parsed = std::str::from_utf8(line).ok().and_then(|line| line.split_once(' '));
            // Names that are not UTF-8 are not ours; no ref of ours can be hidden behind one.
            let Some((hex, name)) = parsed else { continue };
            found.push((hex.parse().map_err(|_| damaged("`packed-refs` is malformed"))?, name.to_owned()));
        }
        Ok(found)
    }

    fn final_name(&self, mut name: String) -> Result<String> {
        for _ in 0..MAX_HOPS {
            match self.loose(&name)? {
                Some(Value::Ref(next)) => name = next,
                _ => return Ok(name),
            }
        }
        Err(damaged(format_args!("the ref `{name}` goes in a circle")))
    }

    /// Whether a ref stands for another one.
    pub(super) fn names_another(&self, name: &str) -> Result<bool> {
        Ok(self.final_name(name.to_owned())? != name)
    }

    /// The commit of a ref; `None` when there is no such ref.
    pub(super) fn resolve(&self, name: &str) -> Result<Option<Oid>> {
        let name = self.final_name(name.to_owned())?;
        match self.loose(&name)? {
            Some(Value::Commit(oid)) => Ok(Some(oid)),
            _ => Ok(self.packed()?.into_iter().find(|(_, n)| *n == name).map(|(oid, _)| oid)),
        }
    }

    /// The commits of all refs but one, HEAD's among them; what cannot be read is left out.
    pub(super) fn other_tips(&self, but: &str) -> Result<Vec<Oid>> {
        let mut tips: Vec<Oid> = self.tip(&self.head()?)?.into_iter().collect();
        let mut loose = Vec::new();
        let mut todo = vec!["refs".to_owned()];
        while let Some(path) = todo.pop() {
            let failed = |errno| Error::io("listing the repository's refs", errno);
            let Some(dir) = files::dir_at(self.common.top(), path.as_bytes()).map_err(failed)? else {
                continue;
            };
            for name in dir.names().map_err(failed)? {
                let Ok(text) = std::str::from_utf8(&name) else { continue };
                let full = format!("{path}/{text}");
                match dir.lstat_opt(&name).map_err(failed)?.map(|s| FileType::from_raw_mode(s.st_mode)) {
                    Some(FileType::Directory) => todo.push(full),
                    Some(FileType::RegularFile) if !full.ends_with(".lock") => loose.push(full),
                    _ => {}
                }
            }
        }
        for name in &loose {
            if name != but
                && let Ok(Some(Value::Commit(oid))) = self.loose(name)
            {
                tips.push(oid);
            }
        }
        let packed = self.packed()?.into_iter().filter(|(_, name)| name != but && !loose.contains(name));
        tips.extend(packed.map(|(oid, _)| oid));
        tips.sort();
        tips.dedup();
        Ok(tips)
    }

    /// Moves a branch, if it still is where it is thought to be. `None` stands for a branch that is not there.
    ///
    /// # Errors
    /// `BUSY` when it is locked, `CONFLICT` when it is elsewhere.
    pub(super) fn move_branch(
        &self,
        name: &str,
        from: Option<Oid>,
        to: Option<Oid>,
        why: &Reflog<'_>,
    ) -> Result<()> {
        let name = checked(name)?;
        let (parent, last) = split(&name)?;
        let failed = |errno| match errno {
            Errno::NOTDIR | Errno::ISDIR | Errno::LOOP => {
                unsupported(format_args!("another ref lies where `{name}` would"))
            }
            errno => Error::io(format!("writing the ref `{name}`"), errno),
        };
        let dir = files::make_dirs(self.common.top(), parent.as_bytes()).map_err(failed)?;
        let text = to.map_or_else(String::new, |oid| format!("{oid}\n"));
        let lock = Lock::take(&dir, last, why.owner, text.as_bytes(), &name, why.sync)?;
        let now = self.resolve(&name)?;
        if now != from {
            return Err(moved_meanwhile(&format!("the branch `{name}`")));
        }
        let Some(to) = to else {
            self.unpack(&name, why)?;
            return match dir.unlink(last.as_bytes()) {
                Ok(()) | Err(Errno::NOENT) => Ok(()),
                Err(errno) => Err(failed(errno)),
            };
        };
        lock.commit(why.sync).map_err(failed)?;
        self.log(&name, from, to, why);
        Ok(())
    }

    /// Clears away what a killed call of this owner left of a ref's lock.
    pub(super) fn clear_ref_lock(&self, name: &str, owner: &str) {
        if let Ok((parent, last)) = split(name)
            && let Ok(Some(dir)) = files::dir_at(self.common.top(), parent.as_bytes())
        {
            lock::clear(&dir, last, owner);
        }
        lock::clear(self.own.top(), "HEAD", owner);
        lock::clear(self.common.top(), PACKED, owner);
    }

    /// Takes a ref out of `packed-refs`; everything else stays as it is.
    fn unpack(&self, name: &str, why: &Reflog<'_>) -> Result<()> {
        if !self.packed()?.iter().any(|(_, packed)| packed == name) {
            return Ok(());
        }
        let top = self.common.top();
        let rest = |text: &[u8]| {
            let mut rest = Vec::with_capacity(text.len());
            let mut skipping = false;
            for line in text.split_inclusive(|&b| b == b'\n') {
                let is_peeled = line.first() == Some(&b'^');
                let is_it = line.trim_ascii_end().get(41..) == Some(name.as_bytes());
                skipping = is_it || (skipping && is_peeled);
                if !skipping {
                    rest.extend_from_slice(line);
                }
            }
            rest
        };
        let text = files::read(top, PACKED)?.unwrap_or_default();
        let lock = Lock::take(top, PACKED, why.owner, &rest(&text), PACKED, why.sync)?;
        // Written by somebody just before the lock was ours.
        if files::read(top, PACKED)?.unwrap_or_default() != text {
            return Err(moved_meanwhile("`packed-refs`"));
        }
        lock.commit(why.sync).map_err(|e| Error::io("writing `packed-refs`", e))
    }

    /// Notes the move where the branch, and HEAD if it names the branch, have a log. A log that cannot be written costs no commit.
    fn log(&self, name: &str, from: Option<Oid>, to: Oid, why: &Reflog<'_>) {
        log_to(self.common.top(), name, from, to, why);
        if matches!(self.head(), Ok(Head::Branch(head)) if head == name) {
            log_to(self.own.top(), "HEAD", from, to, why);
        }
    }

    /// Removes the directories of a ref that are empty now, but for git's own.
    pub(super) fn prune_dirs(&self, top: &str, name: &str) {
        let mut at = name.rsplit_once('/').map_or("", |(parent, _)| parent);
        while at.matches('/').count() > 1 {
            let (parent, last) = at.rsplit_once('/').unwrap_or(("", at));
            let path = format!("{top}{parent}");
            let removed = files::dir_at(self.common.top(), path.as_bytes())
                .map(|dir| dir.map_or(Err(Errno::NOENT), |dir| dir.rmdir(last.as_bytes())));
            if !matches!(removed, Ok(Ok(()))) {
                return;
            }
            at = parent;
        }
    }

    /// Moves HEAD itself, when it names a commit.
    pub(super) fn move_detached(&self, from: Oid, to: Oid, why: &Reflog<'_>) -> Result<()> {
        let lock =
            Lock::take(self.own.top(), "HEAD", why.owner, format!("{to}\n").as_bytes(), "HEAD", why.sync)?;
        if self.head()? != Head::Detached(from) {
            return Err(moved_meanwhile("HEAD"));
        }
        lock.commit(why.sync).map_err(|errno| Error::io("writing HEAD", errno))?;
        log_to(self.own.top(), "HEAD", Some(from), to, why);
        Ok(())
    }
}

fn moved_meanwhile(what: &str) -> Error {
    Error::new(
        Code::Conflict,
        format!("{what} was moved by somebody else meanwhile"),
        "try again: what is there now is then merged",
    )
}

/// What stands in the log of a ref.
pub(super) struct Reflog<'a> {
    /// Who, as in a commit.
    pub(super) author: &'a [u8],
    /// What, one line.
    pub(super) message: &'a str,
    /// Written to disk before it counts.
    pub(super) sync: bool,
    /// The sandbox's name, for the lock.
    pub(super) owner: &'a str,
}

/// Notes a move in one log, where there is one.
fn log_to(top: &Dir, name: &str, from: Option<Oid>, to: Oid, why: &Reflog<'_>) {
    let from = from.map_or_else(|| "0".repeat(40), |oid| oid.to_string());
    let mut line = format!("{from} {to} ").into_bytes();
    line.extend_from_slice(why.author);
    line.extend_from_slice(format!("\t{}\n", why.message).as_bytes());
    let path = format!("logs/{name}");
    let (parent, last) = path.rsplit_once('/').unwrap_or(("logs", name));
    let noted = match files::dir_at(top, parent.as_bytes()) {
        Ok(Some(dir)) => append(&dir, last.as_bytes(), &line),
        Ok(None) => Ok(()),
        Err(errno) => Err(errno),
    };
    if let Err(errno) = noted {
        tracing::warn!(%errno, name, "the move of a ref is missing in its log");
    }
}

/// Appends to a regular file that is there.
fn append(dir: &Dir, name: &[u8], bytes: &[u8]) -> Result<(), Errno> {
    use std::io::Write as _;
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = match rustix::fs::openat(dir.fd(), name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    if FileType::from_raw_mode(rustix::fs::fstat(fd.as_fd())?.st_mode) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    let written = std::fs::File::from(fd).write_all(bytes);
    written.map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))
}
