//! What the model knows: which checkpoints there are, what each one holds, and which of them retention leaves alone. After each step
//! the tree, the list and the marks are what it says.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use turnback_core::CheckpointId;
use turnback_engine::{
    Code, Context, Durability, GitMode, Manager, OnConflict, PruneRequest, RelPath, RevertRequest,
    RollbackReport, RollbackRequest,
};

use super::merge::{Merged, merged};
use super::steps::Step;
use crate::scene::{create_request, exact, open};
use crate::tree::{Edit, Item, Picture, What, apply_edit, difference};

/// A checkpoint as the model knows it.
#[derive(Debug, Clone)]
struct Known {
    id: CheckpointId,
    tree: Picture,
    pinned: bool,
    label: Option<String>,
}

/// The workspace, the store, and what has to be in both.
pub(super) struct Model {
    root: PathBuf,
    store: PathBuf,
    manager: Manager,
    /// Oldest first.
    known: Vec<Known>,
    /// What the last rollback or revert can be undone with.
    undo: Option<CheckpointId>,
}

fn same(is: &Picture, should: &Picture, what: &str) -> Result<()> {
    match difference(is, should) {
        None => Ok(()),
        Some(differs) => bail!("{what}: {differs}"),
    }
}

/// Whether a path is another one or beneath it.
fn beneath(path: &[u8], of: &str) -> bool {
    path == of.as_bytes() || (path.starts_with(of.as_bytes()) && path.get(of.len()) == Some(&b'/'))
}

/// A picture's paths on one side of a scope. Groups may reach over its border and are then not kept: they are left out, and so are the
/// times of the directories above it.
fn side(picture: &Picture, scope: &str, within: bool) -> Picture {
    let chosen = picture.0.iter().filter(|(path, _)| beneath(path, scope) == within);
    let item = |path: &[u8], item: &Item| {
        let mut item = item.clone();
        item.group = Vec::new();
        let is_above = path.is_empty() || scope.as_bytes().starts_with(path);
        if !within && is_above {
            item.mtime = (0, 0);
        }
        item
    };
    Picture(chosen.map(|(path, i)| (path.clone(), item(path, i))).collect())
}

/// What a list of changes speaks of: the root itself has no name in it, and the mtime of a directory alone is put back without being
/// listed.
fn listed_part(picture: &Picture) -> Picture {
    let mut inner = picture.clone();
    inner.0.remove(&b""[..]);
    for item in inner.0.values_mut().filter(|item| item.what == What::Directory) {
        item.mtime = (0, 0);
    }
    inner
}

impl Model {
    /// An empty workspace and a new store in a directory.
    pub(super) fn new(directory: &Path) -> Result<Self> {
        let (root, store) = (directory.join("w"), directory.join("s"));
        std::fs::create_dir(&root)?;
        let manager = open(&store, Durability::Process)?;
        Ok(Self { root, store, manager, known: Vec::new(), undo: None })
    }

    fn tree(&self) -> Result<Picture> {
        Picture::of(&self.root)
    }

    fn chosen(&self, number: usize) -> Option<Known> {
        let count = self.known.len();
        (count > 0).then(|| self.known.get(number % count).cloned()).flatten()
    }

    fn keep(&mut self, id: CheckpointId, tree: Picture) {
        self.known.push(Known { id, tree, pinned: false, label: None });
    }

    /// One step; tells whether it was an operation of the engine.
    pub(super) fn perform(&mut self, step: &Step) -> Result<bool> {
        match step {
            Step::Edit(edit) => {
                apply_edit(&self.root, edit);
                Ok(false)
            }
            Step::LoseRoot => {
                if !self.known.is_empty() && self.root.exists() {
                    std::fs::remove_dir_all(&self.root)?;
                }
                Ok(false)
            }
            Step::Reopen => {
                self.manager = open(&self.store, Durability::Process)?;
                Ok(true)
            }
            Step::Create => self.create(),
            Step::Rollback(i) => self.with(*i, Self::rollback),
            Step::RollbackPart(i, name) => {
                let name = Edit::name(*name);
                self.with(*i, |model, known| model.part(known, name))
            }
            Step::DryRun(i) => self.with(*i, Self::dry_run),
            Step::Revert(from, to, on_conflict, dry_run) => {
                let Some(to) = self.chosen(*to) else { return Ok(false) };
                let request = RevertRequest {
                    on_conflict: *on_conflict,
                    dry_run: *dry_run,
                    git: GitMode::Exact,
                    ..RevertRequest::default()
                };
                self.with(*from, |model, from| model.revert(from, &to, request))
            }
            Step::Undo => self.undo(),
            Step::Delete(i) => self.with(*i, Self::delete),
            Step::Prune(last) => self.prune(*last),
            Step::Pin(i, pinned) => self.with(*i, |model, known| {
                model.manager.set_pinned(known.id, *pinned)?;
                model.mark(known.id, |known| known.pinned = *pinned);
                model.list_is_right()
            }),
            Step::Label(i, text) => self.with(*i, |model, known| {
                let text = text.map(|n| format!("label {n}\n"));
                model.manager.set_label(known.id, text.as_deref())?;
                model.mark(known.id, |known| known.label = text);
                model.list_is_right()
            }),
        }
    }

    fn with(&mut self, number: usize, act: impl FnOnce(&mut Self, &Known) -> Result<()>) -> Result<bool> {
        let Some(known) = self.chosen(number) else { return Ok(false) };
        act(self, &known)?;
        Ok(true)
    }

    fn mark(&mut self, id: CheckpointId, change: impl FnOnce(&mut Known)) {
        if let Some(known) = self.known.iter_mut().find(|known| known.id == id) {
            change(known);
        }
    }

    fn create(&mut self) -> Result<bool> {
        let tree = self.tree()?;
        let Some(request) = create_request().filter(|_| !tree.0.is_empty()) else { return Ok(false) };
        let made = self.manager.create(&self.root, request, &Context::default())?;
        same(&self.tree()?, &tree, "a checkpoint changed the tree")?;
        self.keep(made.checkpoint_id, tree);
        Ok(true)
    }

    /// Notes the checkpoint that undoes what was just done to `before`; there is one when something was changed and something was there.
    fn note_undo(&mut self, report: &RollbackReport, before: Picture) -> Result<()> {
        let nothing = before.0.is_empty() || self.tree()? == before;
        ensure!(report.undo_checkpoint_id.is_none() == nothing, "undo is {:?}", report.undo_checkpoint_id);
        self.undo = report.undo_checkpoint_id;
        if let Some(id) = self.undo {
            self.keep(id, before);
        }
        Ok(())
    }

    fn rollback(&mut self, known: &Known) -> Result<()> {
        let before = self.tree()?;
        let report = self.manager.rollback(known.id, exact(), &Context::default())?;
        ensure!(report.restored && report.kept.is_empty(), "{report:?}");
        same(&self.tree()?, &known.tree, "after a rollback")?;
        self.note_undo(&report, before)
    }

    fn dry_run(&mut self, known: &Known) -> Result<()> {
        let before = self.tree()?;
        let request = RollbackRequest { dry_run: true, ..exact() };
        let report = self.manager.rollback(known.id, request, &Context::default())?;
        same(&self.tree()?, &before, "a dry run wrote")?;
        let equal = listed_part(&before) == listed_part(&known.tree);
        let is_right = report.root_recreated || report.actions.is_empty() == equal;
        ensure!(is_right, "a dry run said {:?}", report.actions);
        Ok(())
    }

    /// A rollback of one name: what is beneath it comes from the checkpoint, everything else stays.
    fn part(&mut self, known: &Known, name: &str) -> Result<()> {
        let (before, then) = (self.tree()?, &known.tree);
        if before.0.is_empty() {
            return Ok(());
        }
        // What the checkpoint does not have beneath a parent that it does not have either is no scope of it.
        let scope = RelPath::parse(name.as_bytes()).ok().context("a name")?;
        let request = RollbackRequest { paths: Some(vec![scope]), ..exact() };
        let report = match self.manager.rollback(known.id, request, &Context::default()) {
            Ok(report) => report,
            Err(error) if error.code() == Code::NotFound => {
                let is_there = |tree: &Picture| tree.0.keys().any(|path| beneath(path, name));
                ensure!(!is_there(then) && !is_there(&before), "`{name}` is there, and: {error}");
                return same(&self.tree()?, &before, "a refused rollback wrote");
            }
            Err(error) => return Err(error.into()),
        };
        let now = self.tree()?;
        if report.restored {
            same(&side(&now, name, true), &side(then, name, true), "within the scope")?;
        }
        let above_is_there = name.rsplit_once('/').is_none_or(|(above, _)| {
            before.0.get(above.as_bytes()).is_some_and(|item| item.what == What::Directory)
        });
        if above_is_there {
            same(&side(&now, name, false), &side(&before, name, false), "outside of the scope")?;
        }
        if let Some(id) = report.undo_checkpoint_id {
            self.keep(id, before);
        }
        self.undo = None;
        Ok(())
    }

    fn revert(&mut self, from: &Known, to: &Known, request: RevertRequest) -> Result<()> {
        let (on_conflict, dry_run) = (request.on_conflict, request.dry_run);
        let before = self.tree()?;
        let result = self.manager.revert(from.id, to.id, request, &Context::default());
        let now = self.tree()?;
        if before.0.is_empty() {
            let code = result.as_ref().err().map(turnback_engine::Error::code);
            ensure!(code == Some(Code::NotFound), "a revert without a root: {result:?}");
            return same(&now, &before, "a refused revert wrote");
        }
        let report = result?;
        let Merged { tree, conflicts } =
            merged(&to.tree, &before, &from.tree, on_conflict == OnConflict::Theirs);
        let said: BTreeSet<Vec<u8>> = report.conflicts.iter().map(|c| c.path.as_bytes().to_vec()).collect();
        ensure!(said == conflicts, "conflicts {:?}, and should be {conflicts:?}", report.conflicts);
        ensure!(report.not_restorable.is_empty(), "{:?}", report.not_restorable);
        let stops = on_conflict == OnConflict::Fail && !conflicts.is_empty();
        if dry_run || stops {
            same(&now, &before, "a revert that only says what it would do wrote")?;
            let nothing = stops || listed_part(&tree) == listed_part(&before);
            ensure!(report.actions.is_empty() == nothing, "a dry run said {:?}", report.actions);
            ensure!(report.undo_checkpoint_id.is_none() && !report.restored, "{report:?}");
            return Ok(());
        }
        same(&now, &tree, "after a revert")?;
        ensure!(report.restored, "{report:?}");
        self.note_undo(&report, before)
    }

    fn undo(&mut self) -> Result<bool> {
        let undo = self.undo.take();
        let Some(known) = self.known.iter().find(|known| Some(known.id) == undo).cloned() else {
            return Ok(false);
        };
        let before = self.tree()?;
        let report = self.manager.undo(known.id, &Context::default())?;
        same(&self.tree()?, &known.tree, "after an undo")?;
        self.note_undo(&report, before)?;
        // An undo of an undo would bring back what was there between the two.
        self.undo = None;
        Ok(true)
    }

    fn delete(&mut self, known: &Known) -> Result<()> {
        ensure!(self.manager.delete(known.id)?, "{} was not there", known.id);
        self.known.retain(|other| other.id != known.id);
        self.list_is_right()
    }

    /// The last ones stay, and what is pinned; by the default rules nothing goes, because there are fewer than those keep.
    fn prune(&mut self, last: Option<usize>) -> Result<bool> {
        let older = last.map_or(0, |last| self.known.len().saturating_sub(last));
        let gone: Vec<CheckpointId> =
            self.known.iter().take(older).filter(|known| !known.pinned).map(|known| known.id).collect();
        let request = PruneRequest { keep_last: last, all: true, ..PruneRequest::default() };
        let dry = self.manager.prune(PruneRequest { dry_run: true, ..request }, &Context::default())?;
        ensure!(dry.deleted == gone, "a prune would remove {:?}, and should {gone:?}", dry.deleted);
        self.list_is_right()?;
        let report = self.manager.prune(request, &Context::default())?;
        ensure!(report.deleted == gone, "a prune removed {:?}, and should {gone:?}", report.deleted);
        self.known.retain(|known| !gone.contains(&known.id));
        self.list_is_right()?;
        Ok(true)
    }

    /// Exactly the known checkpoints are listed, in the order in which they were made, with their marks.
    fn list_is_right(&self) -> Result<()> {
        let listing = self.manager.list(None)?;
        ensure!(listing.damaged.is_empty(), "damaged: {:?}", listing.damaged);
        let is: Vec<_> = listing
            .checkpoints
            .iter()
            .map(|c| (c.checkpoint.checkpoint_id, c.pinned, c.label.clone()))
            .collect();
        let should: Vec<_> = self.known.iter().map(|k| (k.id, k.pinned, k.label.clone())).collect();
        ensure!(is == should, "listed are {is:?}, and should be {should:?}");
        Ok(())
    }

    /// Whatever happened in between: each checkpoint that is left is still what it was, and nothing else is there.
    pub(super) fn end(&mut self) -> Result<()> {
        self.list_is_right()?;
        for known in self.known.clone() {
            let request = RollbackRequest { safety: false, ..exact() };
            self.manager.rollback(known.id, request, &Context::default())?;
            same(&self.tree()?, &known.tree, "at the end")?;
        }
        let report = self.manager.verify(None, &Context::default())?;
        ensure!(report.damaged.is_empty(), "{:?}", report.damaged);
        let left = std::fs::read_dir(self.store.join("tmp"))?.count();
        ensure!(left == 0, "{left} things are left in tmp");
        Ok(())
    }
}
