//! What is to be written when a commit is taken back (S3, S7): the paths that it wrote become exactly what they were before it, bytes and
//! metadata, as in every other strategy. Where it wrote nothing, nothing is touched, whatever the trees say.

use std::collections::BTreeMap;

use super::aim::{Aim, Goal, UndoAim};
use super::kept_index::coming_back;
use super::local_changes::{Finding, Resource};
use super::merge::conflict;
use super::mover::{Mover, changed};
use super::objects::{Item, Kind};
use super::pending;
use crate::checkpoint::edit::Look;
use crate::checkpoint::edited::Seen;
use crate::error::Result;
use crate::model::{Picture, RelPath, Uncovered};
use crate::report::Conflict;
use turnback_core::CheckpointId;

/// The files of a commit that is taken back.
#[derive(Default)]
pub(super) struct Back {
    /// The resource as it was before, later edits kept.
    pub(super) picture: Option<Picture>,
    /// Paths that later commits changed as well, which become what the trees say; with what was seen there.
    pub(super) writes: BTreeMap<RelPath, Option<Seen>>,
}

impl Mover<'_, '_> {
    /// Looks what there is to write. What was changed since, and in no commit, is a conflict.
    pub(super) fn compare_back(
        &self,
        look: &Look<'_>,
        resource: &Resource<'_>,
        goal: &mut Goal,
    ) -> Result<Back> {
        let Aim::Undo(UndoAim { undo, before, .. }) = &self.aim else { return Ok(Back::default()) };
        let committed = self.repository.tree_of(pending::oid(undo.to.as_ref())?)?;
        let made = pending::ids(undo.checkpoints.as_ref())?;
        let kept = coming_back(undo, &committed, before, &goal.from, &goal.tree)?;
        let mut all: BTreeMap<RelPath, (Option<Item>, Option<Item>)> =
            changed(&goal.from, &goal.tree).map(|(path, from, to)| (path.clone(), (from, to))).collect();
        for path in kept.keys() {
            let of = (goal.from.get(path).copied(), goal.tree.get(path).copied());
            all.entry(path.clone()).or_insert(of);
        }
        let mut back = Back::default();
        for (path, (from, to)) in all {
            self.ctx.check()?;
            if [from, to].iter().flatten().any(|item| item.kind == Kind::Submodule) {
                continue;
            }
            let is_later = committed.get(&path).copied() != from || before.get(&path).copied() != to;
            let is_free = if is_later && self.wrote(made, &path)? {
                match resource.look(&path, from, to)? {
                    Finding::Write(seen) => {
                        back.writes.insert(path.clone(), seen);
                        true
                    }
                    Finding::IndexOnly => true,
                    Finding::Changed(_) => false,
                }
            } else {
                resource.is_staged(&path, from)
                    || resource.is_staged(&path, to)
                    || kept.get(&path).is_some_and(|kept| kept.is_in(&resource.index.index, &path))
            };
            if !is_free {
                let theirs = "changed and not committed".to_owned();
                let found = Conflict { theirs, ..conflict(&path, from, from, to) };
                goal.conflicts.insert(path, found);
            }
        }
        if let Some((before, after)) = made {
            let merged = look.taken_back(before, after)?;
            let unknown = |one: Uncovered| Conflict {
                path: one.path,
                ours: "a change".to_owned(),
                theirs: format!("something that cannot be captured ({})", one.reason.as_str()),
            };
            let met = merged.conflicts.into_iter().chain(merged.not_restorable.into_iter().map(unknown));
            for one in met.filter(|one| !back.writes.contains_key(&one.path)) {
                goal.conflicts.entry(one.path.clone()).or_insert(one);
            }
            back.picture = Some(merged.picture);
        }
        Ok(back)
    }

    /// Whether the commit wrote a path.
    fn wrote(&self, made: Option<(CheckpointId, CheckpointId)>, path: &RelPath) -> Result<bool> {
        let Some((before, after)) = made else { return Ok(false) };
        Ok(self.manager.look(before, path)? != self.manager.look(after, path)?)
    }
}
