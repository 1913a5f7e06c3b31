//! Random sequences of edits, checkpoints, rollbacks whole and in part, undos and deletions, against a model that is nothing but
//! pictures of the tree (P6, F16, F20, F25): after each step the tree is what the model says.

use std::path::Path;

use anyhow::{Result, bail};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use turnback_core::CheckpointId;
use turnback_engine::{Context, Durability, Manager, RelPath, RollbackRequest};

use crate::budget::Budget;
use crate::machine;
use crate::outcome::Outcome;
use crate::scene::{create_request, exact, open};
use crate::tree::{Edit, Picture, apply_edit, difference};

#[derive(Debug, Clone)]
enum Step {
    Edit(Edit),
    Create,
    Rollback(usize),
    /// Of one name and what lies beneath it.
    RollbackPart(usize, usize),
    DryRun(usize),
    Undo,
    Delete(usize),
    Reopen,
    LoseRoot,
}

fn edits() -> impl Strategy<Value = Edit> {
    let path = || 0..Edit::NAMES;
    prop_oneof![
        4 => (path(), any::<u8>(), prop_oneof![Just(0u16), 1..300u16, Just(9000)])
            .prop_map(|(p, b, n)| Edit::Write(p, b, n)),
        1 => path().prop_map(Edit::Append),
        2 => (path(), any::<u8>()).prop_map(|(p, b)| Edit::Overwrite(p, b)),
        1 => path().prop_map(Edit::Sparse),
        2 => path().prop_map(Edit::Directory),
        3 => path().prop_map(Edit::Remove),
        1 => (path(), path()).prop_map(|(a, b)| Edit::Link(a, b)),
        2 => (path(), path()).prop_map(|(a, b)| Edit::HardLink(a, b)),
        2 => (path(), path()).prop_map(|(a, b)| Edit::Rename(a, b)),
        1 => path().prop_map(Edit::Fifo),
        1 => (path(), 0..0o1000u16).prop_map(|(p, m)| Edit::Mode(p, m | 0o700)),
        1 => (path(), any::<i32>()).prop_map(|(p, t)| Edit::Time(p, t)),
        1 => (path(), any::<u8>()).prop_map(|(p, v)| Edit::Attribute(p, v)),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        22 => edits().prop_map(Step::Edit),
        4 => Just(Step::Create),
        4 => any::<usize>().prop_map(Step::Rollback),
        3 => (any::<usize>(), 0..Edit::NAMES).prop_map(|(i, p)| Step::RollbackPart(i, p)),
        1 => any::<usize>().prop_map(Step::DryRun),
        2 => Just(Step::Undo),
        2 => any::<usize>().prop_map(Step::Delete),
        1 => Just(Step::Reopen),
        1 => Just(Step::LoseRoot),
    ];
    proptest::collection::vec(step, 4..40)
}

/// What the model knows: which checkpoints there are and what each one holds.
struct Model {
    known: Vec<(CheckpointId, Picture)>,
    /// What the last rollback can be undone to.
    undo: Option<(CheckpointId, Picture)>,
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
    let item = |path: &[u8], item: &crate::tree::Item| {
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

fn sequence(steps: &[Step], in_memory: bool) -> Result<u64> {
    let directory = if in_memory { machine::quick_directory()? } else { tempfile::tempdir()? };
    let (root, store) = (directory.path().join("w"), directory.path().join("s"));
    std::fs::create_dir(&root)?;
    let mut manager = open(&store, Durability::Process)?;
    let mut model = Model { known: Vec::new(), undo: None };
    let mut done = 0;
    for step in steps {
        done += u64::from(perform(step, &mut model, &mut manager, &root, &store)?);
    }
    // Whatever happened in between: each checkpoint that is left is still what it was.
    let listing = manager.list(None)?;
    for (id, want) in &model.known {
        if !listing.checkpoints.iter().any(|c| c.checkpoint.checkpoint_id == *id) {
            bail!("{id} is not listed");
        }
        manager.rollback(*id, exact(), &Context::default())?;
        same(&Picture::of(&root)?, want, "at the end")?;
    }
    let report = manager.verify(None, &Context::default())?;
    if !report.damaged.is_empty() {
        bail!("{:?}", report.damaged);
    }
    if std::fs::read_dir(store.join("tmp"))?.next().is_some() {
        bail!("something is left in tmp");
    }
    Ok(done)
}

/// One step; tells whether it was an operation of the engine.
fn perform(step: &Step, model: &mut Model, manager: &mut Manager, root: &Path, store: &Path) -> Result<bool> {
    let ctx = Context::default();
    let chosen = |i: &usize, model: &Model| (!model.known.is_empty()).then(|| i % model.known.len().max(1));
    match step {
        Step::Edit(edit) => {
            apply_edit(root, edit);
            return Ok(false);
        }
        Step::Create => {
            let tree = Picture::of(root)?;
            let Some(request) = create_request().filter(|_| !tree.0.is_empty()) else { return Ok(false) };
            let made = manager.create(root, request, &ctx)?;
            same(&Picture::of(root)?, &tree, "a checkpoint changed the tree")?;
            model.known.push((made.checkpoint_id, tree));
        }
        Step::Rollback(i) => {
            let Some(at) = chosen(i, model) else { return Ok(false) };
            let (id, want) = &model.known[at];
            let before = Picture::of(root)?;
            let report = manager.rollback(*id, exact(), &ctx)?;
            if !report.restored || !report.kept.is_empty() {
                bail!("{report:?}");
            }
            same(&Picture::of(root)?, want, "after a rollback")?;
            if report.undo_checkpoint_id.is_none() != (before == *want || before.0.is_empty()) {
                bail!("undo is {:?}", report.undo_checkpoint_id);
            }
            model.undo = report.undo_checkpoint_id.map(|id| (id, before));
        }
        Step::RollbackPart(i, name) => {
            let (Some(at), false) = (chosen(i, model), Picture::of(root)?.0.is_empty()) else {
                return Ok(false);
            };
            return part(&model.known[at].clone(), Edit::name(*name), model, manager, root);
        }
        Step::DryRun(i) => {
            let Some(at) = chosen(i, model) else { return Ok(false) };
            let before = Picture::of(root)?;
            let request = RollbackRequest { dry_run: true, ..exact() };
            let report = manager.rollback(model.known[at].0, request, &ctx)?;
            same(&Picture::of(root)?, &before, "a dry run wrote")?;
            // The root itself has no name in a list of changes, and the mtime of a directory alone is put back without being listed.
            let inner = |picture: &Picture| {
                let mut inner = picture.clone();
                inner.0.remove(&b""[..]);
                for item in inner.0.values_mut().filter(|item| item.what == crate::tree::What::Directory) {
                    item.mtime = (0, 0);
                }
                inner
            };
            let equal = inner(&before) == inner(&model.known[at].1);
            if !report.root_recreated && report.actions.is_empty() != equal {
                bail!("a dry run said {:?}", report.actions);
            }
        }
        Step::Undo => {
            let Some((id, want)) = model.undo.take() else { return Ok(false) };
            manager.undo(id, &ctx)?;
            same(&Picture::of(root)?, &want, "after an undo")?;
            model.known.push((id, want));
        }
        Step::Delete(i) => {
            let Some(at) = chosen(i, model) else { return Ok(false) };
            let (id, _) = model.known.swap_remove(at);
            if !manager.delete(id)? {
                bail!("{id} was not there");
            }
        }
        Step::Reopen => *manager = open(store, Durability::Process)?,
        Step::LoseRoot => {
            if !model.known.is_empty() && root.exists() {
                std::fs::remove_dir_all(root)?;
            }
            return Ok(false);
        }
    }
    Ok(true)
}

/// A rollback of one name: what is beneath it comes from the checkpoint, everything else stays.
fn part(
    known: &(CheckpointId, Picture),
    name: &str,
    model: &mut Model,
    manager: &Manager,
    root: &Path,
) -> Result<bool> {
    let (id, then) = known;
    let before = Picture::of(root)?;
    // What the checkpoint does not have beneath a parent that it does not have either is no scope of it.
    let scope = RelPath::parse(name.as_bytes()).map_err(|_| anyhow::anyhow!("a name"))?;
    let request = RollbackRequest { paths: Some(vec![scope]), ..exact() };
    let report = match manager.rollback(*id, request, &Context::default()) {
        Ok(report) => report,
        Err(error) if error.code() == turnback_engine::Code::NotFound => {
            if then.0.keys().any(|p| beneath(p, name)) || before.0.keys().any(|p| beneath(p, name)) {
                bail!("`{name}` is there, and: {error}");
            }
            return same(&Picture::of(root)?, &before, "a refused rollback wrote").map(|()| true);
        }
        Err(error) => return Err(error.into()),
    };
    let now = Picture::of(root)?;
    if report.restored {
        same(&side(&now, name, true), &side(then, name, true), "within the scope")?;
    }
    let above_is_there = name.rsplit_once('/').is_none_or(|(above, _)| {
        before.0.get(above.as_bytes()).is_some_and(|item| item.what == crate::tree::What::Directory)
    });
    if above_is_there {
        same(&side(&now, name, false), &side(&before, name, false), "outside of the scope")?;
    }
    model.undo = None;
    Ok(true)
}

/// The whole method.
///
/// # Errors
/// When the harness fails.
pub fn run(_: &Path, budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    let (mut sequences, mut operations) = (0u64, std::cell::Cell::new(0u64));
    while budget.more(sequences, 150) && !out.is_hopeless() {
        let config =
            Config { cases: 25, failure_persistence: None, max_shrink_iters: 300, ..Config::default() };
        let in_memory = !sequences.is_multiple_of(50);
        let count = &operations;
        let outcome = TestRunner::new(config).run(&steps(), |steps| {
            let done = sequence(&steps, in_memory).map_err(|e| TestCaseError::fail(format!("{e:#}")))?;
            count.set(count.get() + done);
            Ok(())
        });
        match outcome {
            Ok(()) => {}
            Err(TestError::Fail(why, steps)) => out.breach(6, format!("{why}: {steps:?}")),
            Err(TestError::Abort(why)) => bail!("{why}"),
        }
        sequences += 25;
    }
    let operations = *operations.get_mut();
    out.figure(
        6,
        "random sequences against a model of pictures",
        format!("{sequences} sequences, {operations} operations"),
    );
    out.end_group();
    Ok(out)
}
