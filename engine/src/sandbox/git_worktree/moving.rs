//! The steps of a move of what is checked out, in their order, and the way back from each (S8).

use super::aim::Aim;
use super::finish::Finishing;
use super::identity;
use super::lock::{clear_index, lock_index};
use super::mover::Mover;
use super::pending::{Pending, Work};
use super::registration::Registered;
use super::repository::Repository;
use crate::checkpoint::edit::Edited;
use crate::checkpoint::{Manager, RevertRequest};
use crate::context::Context;
use crate::error::Result;
use crate::model::{Reason, Uncovered};
use crate::report::Conflict;
use crate::restore::OnConflict;
use crate::sandbox::commit::OnCommitConflict;
use crate::sandbox::handle::Locked;
use crate::sandbox::removal::plan_of;
use crate::store::Durability;

/// What every step needs.
pub(super) struct Scene<'a> {
    pub(super) manager: &'a Manager,
    pub(super) repository: Repository,
    pub(super) registered: Registered,
    pub(super) author: Vec<u8>,
    /// Written to disk before it counts.
    pub(super) sync: bool,
    pub(super) ctx: &'a Context,
}

impl<'a> Scene<'a> {
    pub(super) fn of(at: &Locked<'a>, ctx: &'a Context) -> Result<Self> {
        let record = at.record()?;
        let manager = at.handle().manager();
        if let Some(then) = record.resource_root {
            manager.check_resource_root(&record.resource, then, &record.path)?;
        }
        let registered = Registered::of(record)?;
        let repository = registered.repository(&record.resource)?;
        // What a killed commit to the branch left.
        repository.clear_ref_lock(&registered.branch, &registered.name);
        let author = identity::author(&repository.config);
        let sync = manager.durability()? == Durability::Power;
        Ok(Self { manager, repository, registered, author, sync, ctx })
    }
}

/// What came of moving what is checked out.
pub(super) enum Moved {
    Done(Box<(Work, Edited, Vec<Conflict>)>),
    Conflicts(Vec<Conflict>),
    Nothing,
}

/// Moves what is checked out, with its files and index entries.
pub(super) fn move_head(
    at: &mut Locked<'_>,
    scene: &Scene<'_>,
    aim: Aim<'_>,
    on_conflict: OnCommitConflict,
) -> Result<Moved> {
    let token = scene.registered.name.clone();
    let record = at.record()?.clone();
    let plan_id = plan_of(record.plan_id.as_ref())?;
    let mut mover = Mover {
        at,
        manager: scene.manager,
        repository: &scene.repository,
        registered: &scene.registered,
        aim,
        on_conflict,
        author: &scene.author,
        sync: scene.sync,
        ctx: scene.ctx,
        token: token.clone(),
        conflicts: Vec::new(),
        work: None,
        branch: None,
    };
    // In the record before it is in the repository.
    mover.note(None)?;
    let lock = match lock_index(&scene.repository, &token) {
        Ok(lock) => lock,
        Err(error) => {
            clear(mover.at, scene, &token)?;
            return Err(error);
        }
    };
    let edited = scene.manager.edit(&record.resource, &plan_id, &mut mover, scene.ctx);
    let edited = match edited {
        Ok(edited) => edited,
        Err(error) if error.is_pending() => return Err(error),
        Err(error) => {
            drop_checkpoints(scene, mover.work.as_ref());
            mover.move_back()?;
            clear(mover.at, scene, &token)?;
            return Err(error);
        }
    };
    let (Some(edited), Some(work)) = (edited, mover.work.take()) else {
        let conflicts = std::mem::take(&mut mover.conflicts);
        clear(mover.at, scene, &token)?;
        return Ok(if conflicts.is_empty() { Moved::Nothing } else { Moved::Conflicts(conflicts) });
    };
    // Metadata that the system refuses keeps no commit from being taken back; the report lists it.
    let hinders = |one: &Uncovered| !work.then.is_undo || one.reason != Reason::MetadataRefused;
    if edited.applied.not_restorable.iter().any(hinders) {
        let conflicts = take_back(scene, &work, &edited)?;
        mover.move_back()?;
        clear(mover.at, scene, &token)?;
        return Ok(Moved::Conflicts(conflicts));
    }
    let finishing = Finishing {
        manager: scene.manager,
        place: mover.at.handle().place(),
        repository: &scene.repository,
        ctx: scene.ctx,
    };
    let pending = Pending { token: token.clone(), work: Some(work.clone()) };
    match finishing.run(mover.at.record()?, &pending, &work) {
        Ok(done) => mover.at.renew(done),
        Err(error) => {
            if has_moved(scene, &work)? {
                // What is left is done by the next call.
                return Err(error.with_detail("pending", "true".to_owned()));
            }
            // Somebody was quicker, with a command that does not take the lock of the index: the files go back.
            take_back(scene, &work, &edited)?;
            mover.move_back()?;
            clear(mover.at, scene, &token)?;
            return Err(error);
        }
    }
    drop(lock);
    Ok(Moved::Done(Box::new((work, edited, mover.conflicts))))
}

fn has_moved(scene: &Scene<'_>, work: &Work) -> Result<bool> {
    let (from, to) = (work.from()?, work.to()?);
    Ok(from != to && scene.repository.tip(&scene.repository.head()?)? == to)
}

fn clear(at: &mut Locked<'_>, scene: &Scene<'_>, token: &str) -> Result<()> {
    // The record names the lock until it is gone.
    clear_index(&scene.repository, token);
    let mut put = Ok(());
    at.note(|record| put = Pending::put(record, None))?;
    put
}

fn drop_checkpoints(scene: &Scene<'_>, work: Option<&Work>) {
    let Some(Ok(Some((before, after)))) = work.map(Work::checkpoints) else { return };
    let dropped = scene.manager.set_pinned(before, false).and_then(|_lost| scene.manager.delete(after));
    if let Err(error) = dropped {
        tracing::warn!(%error, "the checkpoint of a commit that was not made stays");
    }
}

/// Somebody wrote to the files in the very moment: what was written goes back, what he wrote stays.
fn take_back(scene: &Scene<'_>, work: &Work, edited: &Edited) -> Result<Vec<Conflict>> {
    if let Some((before, after)) = edited.checkpoints {
        let request = RevertRequest { on_conflict: OnConflict::Ours, ..RevertRequest::default() };
        scene.manager.revert(before, after, request, scene.ctx)?;
    }
    drop_checkpoints(scene, Some(work));
    let conflict = |listed: &Uncovered| Conflict {
        path: listed.path.clone(),
        ours: "changed".to_owned(),
        theirs: listed.detail.clone().unwrap_or_else(|| listed.reason.as_str().to_owned()),
    };
    Ok(edited.applied.not_restorable.iter().map(conflict).collect())
}
