//! Where a move goes: to the commit that has the sandbox's changes merged in, or back to the one before.

use std::collections::BTreeMap;

use git2::{ObjectType, Oid};
use turnback_core::CheckpointId;

use super::changed::{Changed, Sorter, applied};
use super::merge::{How, Three, merge, set};
use super::next_baseline::Next;
use super::objects::{Tree, encode_commit};
use super::pending::{self, Then, Undo, text};
use super::refs::Head;
use super::registration::Registered;
use super::repository::Repository;
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::RelPath;
use crate::report::Conflict;
use crate::sandbox::commit::OnCommitConflict;

/// Where a move goes.
pub(super) enum Aim<'a> {
    Commit(CommitAim<'a>),
    Undo(UndoAim),
}

/// The sandbox's changes are merged in.
pub(super) struct CommitAim<'a> {
    pub(super) changed: &'a Changed,
    /// Tells what is held back.
    pub(super) sorter: &'a Sorter<'a>,
    pub(super) message: &'a str,
    pub(super) author: &'a [u8],
    pub(super) texts: bool,
    /// The sandbox's new baseline, and the one so far.
    pub(super) next: Next,
    pub(super) old: CheckpointId,
    /// Found on the way.
    pub(super) own: Option<Own>,
    /// Nothing is to be written but objects that nothing names.
    pub(super) only_looks: bool,
    /// What is needed to take the commit before this one back.
    pub(super) earlier: Option<Undo>,
}

/// The commit on the sandbox's own branch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Own {
    /// Where the branch was.
    pub(super) from: Option<Oid>,
    pub(super) commit: Oid,
    /// What the branch had of the agent's that may not come along.
    pub(super) left: Option<Oid>,
    /// Where its line left the resource's.
    common: Option<Oid>,
}

/// The last commit is taken back.
pub(super) struct UndoAim {
    pub(super) undo: Undo,
    pub(super) message: String,
    /// The tree before that commit.
    pub(super) before: Tree,
}

/// What is to be.
pub(super) struct Goal {
    /// The tree that is checked out.
    pub(super) from: Tree,
    pub(super) tree: Tree,
    pub(super) conflicts: BTreeMap<RelPath, Conflict>,
    /// The commit with that very tree, where there is one.
    at: Option<(Tree, Option<Oid>)>,
    /// What a new one comes from.
    parents: Vec<Oid>,
}

impl Repository {
    /// All paths of a commit; none of none.
    pub(super) fn tree_of(&self, commit: Option<Oid>) -> Result<Tree> {
        let tree = commit.map(|commit| self.objects.commit(commit).map(|commit| commit.tree)).transpose()?;
        self.objects.tree(tree)
    }

    fn new_commit(&self, tree: &Tree, parents: &[Oid], author: &[u8], message: &str) -> Result<Oid> {
        let tree = self.objects.write_tree(tree)?;
        self.objects.write(ObjectType::Commit, &encode_commit(tree, parents, author, message)?)
    }

    /// The commit with a sandbox's changes, on its own line; `None` when there is none and nothing to commit.
    pub(super) fn own_commit(
        &self,
        registered: &Registered,
        aim: &CommitAim<'_>,
        head: Option<Oid>,
        ctx: &Context,
    ) -> Result<Option<Own>> {
        let base = registered.base;
        let tip = self.resolve(&registered.branch)?;
        let mut parents: Vec<Oid> = match (tip, base) {
            (Some(tip), Some(base)) if tip == base => vec![base],
            // What is on the branch is in the resource already, or was and was taken back: that says nothing of the files.
            (Some(tip), Some(base))
                if head.is_some_and(|h| matches!(self.comes_from(h, tip, ctx), Ok(true))) =>
            {
                vec![base]
            }
            (Some(tip), Some(base)) if self.comes_from(tip, base, ctx)? => vec![tip],
            // The agent took the branch elsewhere: both lines stay (input 96).
            (Some(tip), Some(base)) => vec![base, tip],
            (Some(tip), None) => vec![tip],
            (None, base) => base.into_iter().collect(),
        };
        let mut left = None;
        if let Some(line) = tip.filter(|tip| Some(*tip) != base && parents.contains(tip)) {
            let known: Vec<Oid> = base.into_iter().chain(head).collect();
            if !aim.sorter.lets_pass(aim.changed, line, &known, ctx)? {
                left = Some(line);
                parents = base.into_iter().collect();
            }
        }
        let common = match (head, parents.first()) {
            (Some(head), Some(line)) => self.merge_base(head, *line, ctx)?,
            _ => None,
        };
        let from = self.tree_of(base)?;
        let shared = if common.is_some() { self.tree_of(common)? } else { from.clone() };
        let tree = applied(&from, &shared, aim.changed);
        if parents.is_empty() && tree.is_empty() {
            return Ok(None);
        }
        if let [one] = parents.as_slice()
            && self.tree_of(Some(*one))? == tree
        {
            return Ok(Some(Own { from: tip, commit: *one, left, common }));
        }
        let commit = self.new_commit(&tree, &parents, aim.author, aim.message)?;
        Ok(Some(Own { from: tip, commit, left, common }))
    }
}

impl Aim<'_> {
    /// What is to be; `None` when nothing is to be done.
    pub(super) fn goal(
        &mut self,
        repository: &Repository,
        registered: &Registered,
        on_conflict: OnCommitConflict,
        head: &Head,
        tip: Option<Oid>,
        ctx: &Context,
    ) -> Result<Option<Goal>> {
        match self {
            Self::Commit(aim) => aim.goal(repository, registered, on_conflict, tip, ctx),
            Self::Undo(aim) => aim.goal(repository, head, tip, ctx).map(Some),
        }
    }

    /// The commit that is reached, which is written if there is none yet.
    pub(super) fn reach(
        &self,
        repository: &Repository,
        goal: &Goal,
        tip: Option<Oid>,
        author: &[u8],
    ) -> Result<Option<Oid>> {
        if let Some((tree, commit)) = &goal.at
            && *tree == goal.tree
        {
            return Ok(*commit);
        }
        if matches!(self, Self::Commit(_))
            && tip.is_some()
            && goal.tree == goal.from
            && !goal.conflicts.is_empty()
        {
            // The resource won everything: there is nothing to move for.
            return Ok(tip);
        }
        let message = match self {
            Self::Commit(aim) if tip.is_some() => format!("Merge: {}", aim.message),
            Self::Commit(aim) => aim.message.to_owned(),
            Self::Undo(aim) => aim.message.clone(),
        };
        repository.new_commit(&goal.tree, &goal.parents, author, &message).map(Some)
    }

    /// What the sandbox's own branch had that does not come along.
    pub(super) fn left(&self) -> Option<Oid> {
        match self {
            Self::Commit(aim) => aim.own.and_then(|own| own.left),
            Self::Undo(_) => None,
        }
    }

    /// Where the sandbox's own branch goes.
    pub(super) fn branch(&self) -> Option<(Option<Oid>, Oid)> {
        match self {
            Self::Commit(aim) => aim.own.map(|own| (own.from, own.commit)),
            Self::Undo(_) => None,
        }
    }

    /// What the sandbox's record says when it is done.
    pub(super) fn then(
        &self,
        registered: &Registered,
        head: Option<String>,
        from: Option<Oid>,
        to: Option<Oid>,
    ) -> Then {
        match self {
            Self::Commit(aim) => aim.then(registered, head, from, to, false),
            Self::Undo(UndoAim { undo, .. }) => Then {
                is_undo: true,
                baseline: undo.baseline.clone(),
                base: undo.base.clone(),
                walked: None,
                undo: None,
            },
        }
    }
}

impl CommitAim<'_> {
    /// Whether the last commit went to the sandbox's branch alone: then there is something to merge, also where nothing changed since.
    fn waits_on_branch(&self, registered: &Registered) -> bool {
        self.earlier.as_ref().is_some_and(|last| {
            last.is_branch_only && last.from != last.to && last.to == text(registered.base)
        })
    }

    pub(super) fn then(
        &self,
        registered: &Registered,
        head: Option<String>,
        from: Option<Oid>,
        to: Option<Oid>,
        is_branch_only: bool,
    ) -> Then {
        let undo = Undo {
            head,
            is_branch_only,
            from: text(from),
            to: text(to),
            checkpoints: None,
            own: self.own.map(|own| (text(own.from), own.commit.to_string())),
            baseline: self.old.to_string(),
            base: text(registered.base),
            index: Vec::new(),
        };
        let moves_nothing = self.changed.items.is_empty()
            && from == to
            && self.own.is_none_or(|own| own.from == Some(own.commit));
        let undo = match &self.earlier {
            // A commit of nothing: what the last one brought can still be taken back.
            Some(earlier) if moves_nothing && earlier.is_branch_only == is_branch_only => earlier.clone(),
            _ => undo,
        };
        Then {
            is_undo: false,
            baseline: self.next.baseline.to_string(),
            base: text(self.own.map(|own| own.commit).or(registered.base)),
            walked: self.next.walked.map(|id| id.to_string()),
            undo: Some(undo),
        }
    }

    fn goal(
        &mut self,
        repository: &Repository,
        registered: &Registered,
        on_conflict: OnCommitConflict,
        tip: Option<Oid>,
        ctx: &Context,
    ) -> Result<Option<Goal>> {
        if self.changed.is_empty() && !self.waits_on_branch(registered) {
            // What the agent did to the branch is no reason to move the resource.
            let Some(_) = tip else { return Ok(None) };
            let from = repository.tree_of(tip)?;
            return Ok(Some(Goal {
                tree: from.clone(),
                at: Some((from.clone(), tip)),
                from,
                conflicts: BTreeMap::new(),
                parents: Vec::new(),
            }));
        }
        self.own = repository.own_commit(registered, self, tip, ctx)?;
        let carried = &self.changed.carried;
        if self.own.is_none() && carried.is_empty() {
            return Ok(None);
        }
        let (line, common) = (self.own.map(|own| own.commit), self.own.and_then(|own| own.common));
        let from = repository.tree_of(tip)?;
        // What was carried in may have become what the base has, which is no change of the branch, but one of the files.
        let is_there = common == line;
        if is_there && carried.is_empty() {
            // All of it is there.
            let at = Some((from.clone(), tip));
            return Ok(Some(Goal {
                tree: from.clone(),
                from,
                conflicts: BTreeMap::new(),
                at,
                parents: Vec::new(),
            }));
        }
        let sandbox = repository.tree_of(line)?;
        let mut base = repository.tree_of(common)?;
        for (path, carried) in carried {
            // Somebody committed there since: what the sandbox was given tells whether it was just that (S6).
            if from.get(path) != base.get(path) {
                set(&mut base, path, carried.was);
            }
        }
        let three = Three { base: &base, resource: &from, sandbox: &sandbox };
        let how = How { on_conflict, texts: self.texts };
        let (tree, conflicts) = merge(&repository.objects, &three, how, ctx)?;
        let goes_on = tip.is_none() || common == tip;
        let at = if is_there { Some((from.clone(), tip)) } else { goes_on.then_some((sandbox, line)) };
        let parents = tip.into_iter().chain(line.filter(|_| !is_there)).collect();
        Ok(Some(Goal { from, tree, conflicts, at, parents }))
    }
}

impl UndoAim {
    fn goal(&self, repository: &Repository, head: &Head, tip: Option<Oid>, ctx: &Context) -> Result<Goal> {
        let same = match (head, &self.undo.head) {
            (Head::Branch(now), Some(then)) => now == then,
            (Head::Detached(_), None) => true,
            _ => false,
        };
        let (from, to) = (pending::oid(self.undo.from.as_ref())?, pending::oid(self.undo.to.as_ref())?);
        let now = repository.tree_of(tip)?;
        if same && tip == to {
            let at = Some((self.before.clone(), from));
            let (tree, parents) = (self.before.clone(), Vec::new());
            return Ok(Goal { from: now, tree, conflicts: BTreeMap::new(), at, parents });
        }
        let (Some(tip), Some(committed)) = (tip.filter(|_| same), to) else { return Err(elsewhere()) };
        if !repository.comes_from(tip, committed, ctx)? {
            return Err(elsewhere());
        }
        // Others committed since: a commit that takes this one back.
        let base = repository.tree_of(to)?;
        let three = Three { base: &base, resource: &now, sandbox: &self.before };
        let how = How { on_conflict: OnCommitConflict::Fail, texts: true };
        let (tree, conflicts) = merge(&repository.objects, &three, how, ctx)?;
        Ok(Goal { from: now, tree, conflicts, at: None, parents: vec![tip] })
    }
}

fn elsewhere() -> Error {
    Error::new(
        Code::Conflict,
        "what is checked out in the resource does not have the sandbox's commit any more",
        "check out the branch that it was made on, or take it back with git",
    )
}
