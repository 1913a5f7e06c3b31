//! Commits and staged content that only a worktree knows: its HEAD, its logs, what git began there, and its index. They get refs before
//! the registration goes, so that git never collects them (input 96).

use std::collections::{BinaryHeap, HashSet};
use std::path::Path;

use git2::{ObjectType, Oid};
use rustix::fs::FileType;
use rustix::io::Errno;

use super::files;
use super::objects::{Item, Kind, Tree, encode_commit};
use super::refs::Reflog;
use super::registration::Registered;
use super::repository::Repository;
use crate::checkpoint::standing::{Standing, standing};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::model::RelPath;
use crate::restore::{Dir, Root};

/// The characters of a commit's name.
const HEX: usize = 40;

/// What stops to lead to commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaves {
    /// The registration: HEAD, logs, index.
    Registration,
    /// The branch as well, which goes back to the sandbox's base.
    Branch,
}

impl Registered {
    /// Gives a ref to each commit that nothing but the worktree leads to, and names all refs that were made so. May be called again.
    pub(super) fn save(
        &self,
        repository: &Repository,
        worktree: &Path,
        ctx: &Context,
    ) -> Result<Vec<String>> {
        self.save_for(repository, worktree, Leaves::Registration, ctx)
    }

    /// As [`Registered::save`], also before the branch goes back where it was.
    pub(super) fn save_for(
        &self,
        repository: &Repository,
        worktree: &Path,
        leaves: Leaves,
        ctx: &Context,
    ) -> Result<Vec<String>> {
        let mut named = HashSet::new();
        let failed = |errno| Error::io("reading the worktree's registration", errno).at(self.directory());
        let path = format!("worktrees/{}", self.name);
        let registration = files::dir_at(repository.common.top(), path.as_bytes()).map_err(failed)?;
        if let Some(dir) = &registration {
            collect(dir, &mut named).map_err(failed)?;
        }
        let (parent, last) = self.branch.rsplit_once('/').unwrap_or(("refs/heads", &self.branch));
        if let Some(dir) =
            files::dir_at(repository.common.top(), format!("logs/{parent}").as_bytes()).map_err(failed)?
            && let Ok(text) = files::read_raw(&dir, last.as_bytes(), files::MAX_FILE)
        {
            tokens(&text, &mut named);
        }
        if let Some(dir) = &registration
            && let Some(commit) = self.staged(repository, dir, worktree)?
        {
            named.insert(commit);
        }
        let mut tips = repository.other_tips(&self.branch)?;
        let tip = repository.resolve(&self.branch)?;
        match leaves {
            Leaves::Registration => tips.extend(tip),
            Leaves::Branch => {
                named.extend(tip);
                tips.extend(self.base);
            }
        }
        let lost = repository.tops_outside(named, &tips, ctx)?;
        if !lost.is_empty() {
            repository.objects.sync()?;
        }
        self.name_saved(repository, lost)
    }

    /// Gives a commit a ref if no other than the sandbox's branch leads to it.
    pub(super) fn keep(&self, repository: &Repository, commit: Oid, ctx: &Context) -> Result<()> {
        if !self.is_elsewhere(repository, commit, ctx)? {
            repository.objects.sync()?;
            self.name_saved(repository, vec![commit])?;
        }
        Ok(())
    }

    /// Gives these commits refs, and names all that there are.
    fn name_saved(&self, repository: &Repository, lost: Vec<Oid>) -> Result<Vec<String>> {
        let why = Reflog { author: super::identity::NEUTRAL, message: "", sync: true, owner: &self.name };
        let mut refs = Vec::new();
        let mut lost = lost.into_iter();
        for number in 1_u32.. {
            let name = format!("refs/turnback/saved/{}-{number}", self.name);
            if repository.resolve(&name)?.is_none() {
                let Some(commit) = lost.next() else { break };
                repository.move_branch(&name, None, Some(commit), &why)?;
            }
            refs.push(name);
        }
        Ok(refs)
    }

    /// A commit of what is staged, if some of it is neither in a commit of the sandbox nor in its files.
    fn staged(&self, repository: &Repository, dir: &Dir, worktree: &Path) -> Result<Option<Oid>> {
        let failed = |errno| Error::io("examining the worktree's index", errno).at(self.directory());
        let kind = dir.lstat_opt(b"index").map_err(failed)?.map(|stat| FileType::from_raw_mode(stat.st_mode));
        if kind != Some(FileType::RegularFile) {
            return Ok(None);
        }
        let opened = git2::Index::open(&self.directory().join("index"));
        let index = opened.map_err(|e| super::refusal::git("reading the worktree's index", e))?;
        let head = files::read(dir, "HEAD")?.unwrap_or_default();
        let detached = std::str::from_utf8(head.trim_ascii()).ok().and_then(|text| text.parse::<Oid>().ok());
        let parent = detached.or(repository.resolve(&self.branch)?).or(self.base);
        let parent = parent.filter(|oid| repository.objects.commit(*oid).is_ok());
        let mut known = vec![repository.tree_of(parent)?];
        if let Some(base) = self.base.filter(|base| Some(*base) != parent && repository.objects.has(*base)) {
            known.push(repository.tree_of(Some(base))?);
        }
        let files = match standing(worktree) {
            Ok(Standing::Directory) => Root::open(worktree).ok(),
            _ => None,
        };
        let mut tree = Tree::new();
        let mut is_precious = false;
        for entry in index.iter() {
            let (Ok(path), Some(kind)) = (RelPath::parse(&entry.path), Kind::of(entry.mode)) else {
                continue;
            };
            let is_there = kind == Kind::Submodule || repository.objects.has(entry.id);
            if !is_there || path.names().any(crate::restore::is_git_name) {
                continue;
            }
            tree.insert(path.clone(), Item { kind, oid: entry.id });
            let is_known = kind == Kind::Submodule
                || known.iter().any(|tree| tree.get(&path).is_some_and(|item| item.oid == entry.id));
            if is_known || is_precious {
                continue;
            }
            let local = files.as_ref().and_then(|root| super::local::read(root, &path).ok().flatten());
            is_precious = local.is_none_or(|local| !local.oid().is_ok_and(|oid| oid == entry.id));
        }
        if !is_precious {
            return Ok(None);
        }
        let time =
            parent.map(|oid| repository.objects.commit(oid)).transpose()?.map_or(0, |commit| commit.time);
        let author = format!("turnback <turnback@localhost> {time} +0000");
        let message = format!("What was staged in sandbox {}", self.name);
        let parents: Vec<Oid> = parent.into_iter().collect();
        let tree = repository.objects.write_tree(&tree)?;
        let commit = encode_commit(tree, &parents, author.as_bytes(), &message)?;
        repository.objects.write(ObjectType::Commit, &commit).map(Some)
    }
}

/// Everything in a registration that may be the name of a commit.
fn collect(dir: &Dir, found: &mut HashSet<Oid>) -> Result<(), Errno> {
    let mut todo = vec![dir.clone()];
    while let Some(dir) = todo.pop() {
        for name in dir.names()? {
            let kind = dir.lstat_opt(&name)?.map(|stat| FileType::from_raw_mode(stat.st_mode));
            match kind {
                Some(FileType::Directory) => todo.push(dir.dir(&name)?),
                Some(FileType::RegularFile) if *name != *b"index" => {
                    tokens(&files::read_raw(&dir, &name, files::MAX_FILE)?, found);
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn tokens(text: &[u8], found: &mut HashSet<Oid>) {
    for word in text.split(|byte| !byte.is_ascii_hexdigit()).filter(|word| word.len() == HEX) {
        found.extend(std::str::from_utf8(word).ok().and_then(|word| word.parse::<Oid>().ok()));
    }
}

impl Repository {
    /// Of these commits, those that come from none of the others and that no tip comes from; what is no commit does not count. With a clock
    /// that was set back it may give too many.
    fn tops_outside(&self, mut named: HashSet<Oid>, tips: &[Oid], ctx: &Context) -> Result<Vec<Oid>> {
        for tip in tips {
            named.remove(tip);
        }
        let mut left: Vec<(i64, Oid)> =
            named.into_iter().filter_map(|oid| Some((self.objects.commit(oid).ok()?.time, oid))).collect();
        left.sort();
        let Some(&(since, _)) = left.first() else { return Ok(Vec::new()) };
        let mut seen = HashSet::new();
        self.see(tips, since, &mut seen, ctx)?;
        let mut tops = Vec::new();
        // The youngest first: none comes from an older one, but of two of the same second the first may come from the second.
        for (_, oid) in left.into_iter().rev() {
            if !seen.contains(&oid) {
                let mut own = HashSet::new();
                self.see(&[oid], since, &mut own, ctx)?;
                tops.retain(|top| !own.contains(top));
                tops.push(oid);
                seen.extend(own);
            }
        }
        Ok(tops)
    }

    /// Notes what these come from, as far back as `since`.
    fn see(&self, from: &[Oid], since: i64, seen: &mut HashSet<Oid>, ctx: &Context) -> Result<()> {
        let mut queue = BinaryHeap::new();
        let mut add = |oid: Oid, queue: &mut BinaryHeap<(i64, Oid)>| {
            // A tag, or a commit that is not there: nothing can be reached through it.
            if let Ok(commit) = self.objects.commit(oid)
                && commit.time >= since
                && seen.insert(oid)
            {
                queue.push((commit.time, oid));
            }
        };
        for oid in from {
            add(*oid, &mut queue);
        }
        while let Some((_, oid)) = queue.pop() {
            ctx.check()?;
            if self.shallow.contains(&oid) {
                continue;
            }
            for parent in self.objects.commit(oid)?.parents {
                add(parent, &mut queue);
            }
        }
        Ok(())
    }
}
