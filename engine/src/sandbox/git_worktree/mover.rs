//! Moves what is checked out in the resource to another commit, with its files and index entries: for a commit, and for one that is taken
//! back. Everything is decided before anything is written, under git's own lock of the index.

use std::collections::BTreeMap;

use git2::Oid;
use turnback_core::CheckpointId;

use super::aim::{Aim, Goal};
use super::index::PrivateIndex;
use super::kept_index::kept;
use super::local_changes::{Finding, Resource};
use super::merge::{conflict, set};
use super::objects::{Item, Kind, Tree};
use super::obstacles::{self, Obstacle};
use super::pending::{Pending, Work};
use super::refs::{Head, Reflog};
use super::registration::{Registered, listed};
use super::repository::Repository;
use super::taking_back::Back;
use crate::checkpoint::Manager;
use crate::checkpoint::edit::{Decide, Look, Wanted};
use crate::checkpoint::edited::{Edit, Seen, Value};
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::RelPath;
use crate::report::Conflict;
use crate::restore::Root;
use crate::sandbox::commit::OnCommitConflict;
use crate::sandbox::handle::Locked;

/// What git has while it is in the middle of something.
const UNDER_WAY: [(&str, &str); 5] = [
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase or `git am`"),
];

/// Decides on a move.
pub(super) struct Mover<'a, 'l> {
    pub(super) at: &'a mut Locked<'l>,
    pub(super) manager: &'a Manager,
    pub(super) repository: &'a Repository,
    pub(super) registered: &'a Registered,
    pub(super) aim: Aim<'a>,
    pub(super) on_conflict: OnCommitConflict,
    pub(super) author: &'a [u8],
    /// Written to disk before it counts.
    pub(super) sync: bool,
    pub(super) ctx: &'a Context,
    /// What the lock of the index says.
    pub(super) token: String,
    /// What came of it: conflicts, or the work to finish.
    pub(super) conflicts: Vec<Conflict>,
    pub(super) work: Option<Work>,
    /// The sandbox's branch: where it was and where it goes.
    pub(super) branch: Option<(Option<Oid>, Oid)>,
}

impl Decide for Mover<'_, '_> {
    fn decide(&mut self, look: &Look<'_>) -> Result<Option<Wanted>> {
        self.conflicts.clear();
        self.refuse_under_way()?;
        let head = self.repository.head()?;
        let tip = self.repository.tip(&head)?;
        let goal = self.aim.goal(self.repository, self.registered, self.on_conflict, &head, tip, self.ctx)?;
        let Some(mut goal) = goal else { return Ok(None) };
        let holder = self.at.record()?.holder.clone().unwrap_or_default();
        let index = PrivateIndex::read(self.repository, &holder)?;
        let skipped = index.skipped();
        let carried = match &self.aim {
            Aim::Commit(aim) => Some(&aim.changed.carried),
            Aim::Undo(_) => None,
        };
        let resource = Resource { root: look.root, index: &index, skipped: &skipped, carried };
        let Back { picture, mut writes } = match &self.aim {
            Aim::Commit(_) => {
                let mut writes = self.compare(&resource, &mut goal)?;
                if !self.make_room(look.root, &mut goal, &mut writes)? {
                    self.conflicts = goal.conflicts.into_values().collect();
                    return Ok(None);
                }
                Back { picture: None, writes }
            }
            Aim::Undo(_) => self.compare_back(look, &resource, &mut goal)?,
        };
        if !goal.conflicts.is_empty() && self.on_conflict == OnCommitConflict::Fail {
            self.conflicts = goal.conflicts.into_values().collect();
            return Ok(None);
        }
        self.conflicts = goal.conflicts.values().cloned().collect();
        self.repository.refuse_locked(&head)?;
        if matches!(&self.aim, Aim::Commit(aim) if aim.only_looks) {
            return Ok(None);
        }
        let reached = self.aim.reach(self.repository, &goal, tip, self.author)?;
        let not_there: Vec<RelPath> = changed(&goal.from, &goal.tree)
            .map(|(path, ..)| path.clone())
            .filter(|p| skipped.contains(p))
            .collect();
        writes.retain(|path, _| !not_there.contains(path));
        let name = match head {
            Head::Branch(name) => Some(name),
            Head::Detached(_) => None,
        };
        let mut then = self.aim.then(self.registered, name.clone(), tip, reached);
        let moved = self.moved(&goal);
        if let Some(undo) = then.undo.as_mut().filter(|_| !moved.is_empty()) {
            undo.index = kept(&index.index, &moved);
        }
        let mut work = Work::new(name, tip, reached, listed(&not_there), then);
        work.writes = picture.is_some() || !writes.is_empty();
        let is_same = |(path, (from, to)): (RelPath, (_, _))| (from == to).then_some(path);
        work.same = listed(&moved.into_iter().filter_map(is_same).collect::<Vec<_>>());
        self.branch = self.aim.branch();
        let mut edits = Vec::new();
        for (path, seen) in writes {
            self.ctx.check()?;
            let then = self.value(&goal, &path)?;
            edits.push(Edit { path, seen, then });
        }
        self.note(Some(work.clone()))?;
        self.work = Some(work);
        if edits.is_empty() {
            self.move_own_branch()?;
        }
        Ok(Some(Wanted { picture, edits }))
    }

    fn published(&mut self, before: CheckpointId, after: CheckpointId) -> Result<()> {
        if let Some(work) = &mut self.work {
            work.set_checkpoints(before, after);
        }
        self.note(self.work.clone())?;
        self.move_own_branch()
    }
}

impl Mover<'_, '_> {
    /// A move in the middle of something would mix the two.
    fn refuse_under_way(&self) -> Result<()> {
        for (name, what) in UNDER_WAY {
            let found = self.repository.own.top().lstat_opt(name.as_bytes());
            if found.map_err(|e| Error::io("examining the repository", e))?.is_some() {
                return Err(Error::new(
                    Code::Busy,
                    format!("{what} is under way in the resource"),
                    "finish or abort it, and commit again; with `merge: 'branch'` only the sandbox's branch is written",
                ));
            }
        }
        Ok(())
    }

    pub(super) fn note(&mut self, work: Option<Work>) -> Result<()> {
        let pending = Pending { token: self.token.clone(), work };
        let mut put = Ok(());
        self.at.note(|record| put = Pending::put(record, Some(&pending)))?;
        put
    }

    /// What changes from one commit to the other, and what was carried in and became what both have: then only files and index change.
    fn moved(&self, goal: &Goal) -> BTreeMap<RelPath, (Option<Item>, Option<Item>)> {
        let mut all: BTreeMap<RelPath, (Option<Item>, Option<Item>)> =
            changed(&goal.from, &goal.tree).map(|(path, from, to)| (path.clone(), (from, to))).collect();
        if let Aim::Commit(aim) = &self.aim {
            for (path, carried) in &aim.changed.carried {
                let (from, to) = (goal.from.get(path).copied(), goal.tree.get(path).copied());
                // Where the resource won there is nothing to bring.
                let is_won = self.on_conflict == OnCommitConflict::Ours
                    || !goal.conflicts.keys().any(|conflict| path.starts_with(conflict));
                if from == to && to == carried.now && is_won {
                    all.insert(path.clone(), (from, to));
                }
            }
        }
        all
    }

    /// The paths to write, with what was seen there. Changes of the resource's own are conflicts.
    fn compare(&self, resource: &Resource<'_>, goal: &mut Goal) -> Result<BTreeMap<RelPath, Option<Seen>>> {
        let mut writes = BTreeMap::new();
        for (path, (from, to)) in self.moved(goal) {
            self.ctx.check()?;
            if [from, to].iter().flatten().any(|item| item.kind == Kind::Submodule) {
                continue;
            }
            match resource.look(&path, from, to)? {
                Finding::Write(seen) => drop(writes.insert(path, seen)),
                Finding::IndexOnly => {}
                Finding::Changed(seen) => {
                    let found = Conflict {
                        theirs: "changed and not committed".to_owned(),
                        ..conflict(&path, from, from, to)
                    };
                    goal.conflicts.insert(path.clone(), found);
                    match self.on_conflict {
                        OnCommitConflict::Fail => {}
                        OnCommitConflict::Ours => drop(writes.insert(path, seen)),
                        OnCommitConflict::Theirs => set(&mut goal.tree, &path, from),
                    }
                }
            }
        }
        Ok(writes)
    }

    /// Deals with what lies in the way of the paths to write. `false` when nothing may be written, because something stays there whatever
    /// was asked for.
    fn make_room(
        &self,
        root: &Root,
        goal: &mut Goal,
        writes: &mut BTreeMap<RelPath, Option<Seen>>,
    ) -> Result<bool> {
        let mut is_free = true;
        let paths: Vec<RelPath> =
            writes.keys().filter(|path| goal.tree.contains_key(*path)).cloned().collect();
        for path in paths {
            self.ctx.check()?;
            if !writes.contains_key(&path) {
                continue;
            }
            let goes = |path: &RelPath| writes.contains_key(path) && !goal.tree.contains_key(path);
            let (at, what, is_hard) = match obstacles::find(root, &path, &goes)? {
                None => continue,
                Some(Obstacle::Empty) => {
                    writes.insert(path, Some(Seen::Any));
                    continue;
                }
                Some(Obstacle::Soft(at, what)) => (at, what, false),
                Some(Obstacle::Hard(at, what)) => (at, what, true),
            };
            let ours = if at == path { "a file or a link" } else { "a directory" };
            let (ours, theirs) = (ours.to_owned(), what.to_owned());
            let found = Conflict { path: at.clone(), ours, theirs };
            goal.conflicts.entry(at.clone()).or_insert(found);
            match self.on_conflict {
                OnCommitConflict::Fail => {}
                OnCommitConflict::Ours => {
                    is_free &= !is_hard;
                    writes.insert(at, Some(Seen::Any));
                }
                OnCommitConflict::Theirs => {
                    // What is there stays whole.
                    writes.retain(|path, _| !path.starts_with(&at));
                    let lost: Vec<(RelPath, Option<Item>)> = changed(&goal.from, &goal.tree)
                        .filter(|(path, ..)| path.starts_with(&at))
                        .map(|(path, from, _)| (path.clone(), from))
                        .collect();
                    for (path, from) in lost {
                        set(&mut goal.tree, &path, from);
                    }
                }
            }
        }
        Ok(is_free)
    }

    /// What a path is to become.
    fn value(&self, goal: &Goal, path: &RelPath) -> Result<Option<Value>> {
        let Some(item) = goal.tree.get(path) else { return Ok(None) };
        let bytes = self.repository.objects.blob(item.oid)?;
        Ok(match item.kind {
            Kind::Link => Some(Value::Link(bytes)),
            Kind::File | Kind::Executable => {
                Some(Value::File { bytes, executable: item.kind == Kind::Executable })
            }
            Kind::Submodule => None,
        })
    }

    /// The objects are on disk before a ref names them.
    fn move_own_branch(&mut self) -> Result<()> {
        if self.sync {
            self.repository.objects.sync()?;
        }
        let Some((from, to)) = self.branch else { return Ok(()) };
        if self.repository.resolve(&self.registered.branch)? == Some(to) {
            return Ok(());
        }
        if let Some(left) = self.aim.left() {
            self.registered.keep(self.repository, left, self.ctx)?;
        }
        let why = Reflog {
            author: self.author,
            message: "commit: turnback sandbox",
            sync: self.sync,
            owner: &self.registered.name,
        };
        self.repository.move_branch(&self.registered.branch, from, Some(to), &why)
    }

    /// Nothing came of it: the branch goes back where it was.
    pub(super) fn move_back(&self) -> Result<()> {
        let Some((from, to)) = self.branch else { return Ok(()) };
        if from == Some(to) || self.repository.resolve(&self.registered.branch)? != Some(to) {
            return Ok(());
        }
        let why = Reflog {
            author: self.author,
            message: "reset: turnback sandbox",
            sync: self.sync,
            owner: &self.registered.name,
        };
        self.repository.move_branch(&self.registered.branch, Some(to), from, &why)
    }
}

/// The paths that differ between two trees, with what they are in both.
pub(super) fn changed<'a>(
    from: &'a Tree,
    to: &'a Tree,
) -> impl Iterator<Item = (&'a RelPath, Option<Item>, Option<Item>)> {
    let gone = from.keys().filter(|path| !to.contains_key(*path));
    let all: std::collections::BTreeSet<&RelPath> = gone.chain(to.keys()).collect();
    all.into_iter().filter_map(|path| {
        let (a, b) = (from.get(path).copied(), to.get(path).copied());
        (a != b).then_some((path, a, b))
    })
}
