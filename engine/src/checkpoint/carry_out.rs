//! Carries a plan out under a journal: whatever writes to a workspace goes through here (C8).

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use turnback_core::CheckpointId;

use super::create::{Taken, now};
use super::failed::{interrupted, journal_stays, left_in_part};
use super::manager::Inner;
use super::workspace::{Workspace, identity, identity_of, make_private};
use super::{journal_file, stage_names};
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::{Objects, RelPath, Timestamp};
use crate::reached::Step;
use crate::recovery::RestoreKind;
use crate::restore::journal::{Head, RootThen, encode, encode_plan};
use crate::restore::{
    Applied, ApplyOptions, GitMode, Plan, Root, RootMade, Stopped, Target, apply, needs_area, precheck,
    sync_before,
};
use crate::store::{Draft, Durability, Identity, Room, needed_bytes, remove_tree};

/// A plan with all that its journal says. The locks of the workspace and of the store must be held.
pub(super) struct Job<'a> {
    /// What kind of work it is.
    pub(super) kind: RestoreKind,
    pub(super) workspace: &'a Workspace,
    /// The root, whose identity was checked; `None` when it is missing.
    pub(super) root: Option<&'a OwnedFd>,
    pub(super) plan: &'a Plan,
    /// The checkpoints whose content the plan needs.
    pub(super) targets: Vec<CheckpointId>,
    /// The checkpoint that brings back the state before.
    pub(super) undo: Option<CheckpointId>,
    pub(super) git: GitMode,
    pub(super) paths: Option<Vec<RelPath>>,
    /// For a missing root: the one in whose place it is made.
    pub(super) in_place_of: Option<Identity>,
    /// What [`Inner::prepare_journal`] gave.
    pub(super) journal: Prepared<'a>,
}

/// A journal for which there is room.
pub(super) struct Prepared<'a> {
    /// The plan's bytes; `None` when there is no room and the caller goes on without.
    plan: Option<Vec<u8>>,
    /// What its file is called before it is in its place.
    name: String,
    /// Go on when the disk turns out to be full.
    optional: bool,
    room: Room<'a>,
    /// The bytes that it takes with all that is written beside it, at most.
    together: u64,
}

impl Prepared<'_> {
    /// Writes a part of what lies beside the journal, for which `counted` bytes of the room were taken. When that finds the store full,
    /// all the rest is needed as well: whoever makes room has to know of everything.
    ///
    /// # Errors
    /// Those of `write`.
    pub(super) fn beside<T>(&self, counted: u64, write: impl FnOnce() -> Result<T>) -> Result<T> {
        write().map_err(|error| match needed_bytes(&error) {
            Some(needed) => self.room.refuse(self.together.saturating_sub(counted).saturating_add(needed)),
            None => error,
        })
    }
}

/// What a checkpoint that is not published yet takes of the store's room.
pub(super) struct Share<'a> {
    draft: &'a Draft<'a>,
    /// In bytes.
    pub(super) needs: u64,
}

impl<'a> Share<'a> {
    /// That of a draft, with `beside` bytes for what its owner writes with it.
    ///
    /// # Errors
    /// `POISONED` when it is published.
    pub(super) fn of(draft: &'a Draft<'a>, beside: u64) -> Result<Self> {
        Ok(Self { draft, needs: draft.needs(beside)? })
    }
}

impl Taken<'_> {
    /// What it takes of the store's room.
    ///
    /// # Errors
    /// As [`Share::of`].
    pub(super) fn share(&self) -> Result<Share<'_>> {
        Share::of(&self.draft, self.cache.adds(&self.appender))
    }
}

/// Who hears of what while a plan is carried out.
pub(super) struct Hears<'a> {
    /// Of a root that was missing, before anything is put in it.
    pub(super) root_made: RootMade<'a>,
    /// Of the end: everything is in its place, and only what was staged is to be cleared away.
    pub(super) done: &'a dyn Fn(&Applied) -> Result<()>,
}

/// What came of it.
pub(super) struct Carried {
    pub(super) applied: Applied,
    /// Whether there was a journal.
    pub(super) journaled: bool,
}

impl Inner {
    /// Refuses a plan that the system would refuse in part, before anything is written or a checkpoint is taken for it.
    ///
    /// # Errors
    /// As [`precheck`].
    pub(super) fn precheck(
        &self,
        workspace: &Workspace,
        root: Option<&OwnedFd>,
        plan: &Plan,
        ctx: &Context,
    ) -> Result<()> {
        match root {
            None => Ok(()),
            Some(root) => precheck(&workspace.root(root)?, plan, self.pool()?, ctx),
        }
    }

    /// What failed for want of room while others of the same operation have taken some, which they give back before it is run again.
    pub(super) fn with_others(&self, others: &[&Draft<'_>], error: Error) -> Error {
        let Some(needed) = needed_bytes(&error) else { return error };
        let held = others.iter().filter_map(|draft| draft.needs(0).ok()).fold(0, u64::saturating_add);
        self.budget.room(String::new()).refuse(needed.saturating_add(held))
    }

    /// Takes room in the store for a plan's journal, before anything else is written for it: beside the checkpoints that are being taken,
    /// if there are any. An `optional` one is left out when there is no room: for those who asked for no safety.
    ///
    /// # Errors
    /// `STORE_FULL` with what the journal and the checkpoints need together, `DISK_FULL`, `BUSY`, `IO`.
    pub(super) fn prepare_journal(
        &self,
        plan: &Plan,
        optional: bool,
        shares: &[Share<'_>],
    ) -> Result<Prepared<'_>> {
        let name = format!("journal-{}", crate::store::random_name()?);
        let bytes = encode_plan(plan);
        let room = self.budget.room(name.clone());
        let length = bytes.len() as u64 + HEAD;
        let together = shares.iter().map(|share| share.needs).fold(length, u64::saturating_add);
        for Share { draft, needs } in shares {
            if draft.is_full()? {
                return Err(room.refuse(together));
            }
            draft.leave_room(together.saturating_sub(*needs), *needs)?;
        }
        let plan = match room.need(length) {
            Ok(()) => Some(bytes),
            Err(error) if optional && matches!(error.code(), Code::StoreFull | Code::DiskFull) => {
                no_journal(&error);
                None
            }
            Err(error) if error.code() == Code::StoreFull => return Err(room.refuse(together)),
            Err(error) => return Err(error),
        };
        Ok(Prepared { plan, name, optional, room, together })
    }

    /// Writes the journal, carries the plan out, removes the journal.
    ///
    /// # Errors
    /// Before the first write, with nothing changed and no journal left: as [`apply`]. After it: the same codes with the detail `begun`,
    /// and `pending` when the journal stays, so that the next writing call on the workspace finishes the work.
    pub(super) fn carry_out(&self, job: &Job<'_>, objects: &dyn Objects, ctx: &Context) -> Result<Carried> {
        if job.plan.is_empty() && job.root.is_some() {
            let (kept, not_restorable) = (job.plan.kept().to_vec(), job.plan.not_restorable().to_vec());
            let applied = Applied { kept, not_restorable, ..Applied::default() };
            return Ok(Carried { applied, journaled: false });
        }
        ctx.reached.undone_by(job.undo);
        self.carry_out_all(job, objects, ctx).map_err(|error| match job.undo {
            Some(id) => error.with_detail("undoCheckpointId", id.to_string()),
            None => error,
        })
    }

    fn carry_out_all(&self, job: &Job<'_>, objects: &dyn Objects, ctx: &Context) -> Result<Carried> {
        ctx.check()?;
        if let (Durability::Power, Some(root)) = (self.durability, job.root) {
            sync_before(&job.workspace.root(root)?, job.plan, self.pool()?, ctx)?;
        }
        let stage = self.stage_name(job)?;
        let head = self.head(job, &stage)?;
        let rewrite = |head: &Head| self.write_journal(job.workspace, head, &job.journal);
        if job.journal.plan.is_some() {
            ctx.reached.go_on(Step::Journal)?;
        }
        let journaled = match rewrite(&head) {
            Ok(written) => written,
            Err(error) if job.journal.optional && error.code() == Code::DiskFull => {
                no_journal(&error);
                ctx.reached.is_at(Step::Nothing);
                false
            }
            Err(error) => return Err(self.without_a_trace(job, error, ctx)),
        };
        let root_made = |fd: BorrowedFd<'_>| match journaled {
            true => rewrite(&Head { root: root_then(identity_of(fd)?), ..head.clone() }).map(drop),
            false => Ok(()),
        };
        let done = |applied: &Applied| {
            if let (true, Some(old)) = (applied.root_recreated, job.in_place_of) {
                job.workspace.adopt(self.layout(), old, identity(&job.workspace.open()?)?)?;
            }
            // Who was told that it waits has to find it waiting; who asks from here on, that it is done: what follows may hang.
            if journaled {
                ctx.reached.go_on(Step::Done)?;
            } else {
                ctx.reached.is_at(Step::Done);
            }
            Ok(())
        };
        let hears = Hears { root_made: &root_made, done: &done };
        let outcome = self.apply_to(job.workspace, job.root, job.plan, &stage, &hears, objects, ctx);
        match outcome {
            Ok(applied) => {
                if journaled {
                    self.mark_done(job.kind, &job.targets).map_err(|e| interrupted(job.kind, e))?;
                    self.close_journal(job.workspace);
                }
                Ok(Carried { applied, journaled })
            }
            Err(stopped) if !stopped.begun => Err(self.without_a_trace(job, *stopped.error, ctx)),
            Err(stopped) if !journaled => Err(left_in_part(job.kind, *stopped.error).at(&job.workspace.path)),
            Err(stopped) => Err(interrupted(job.kind, *stopped.error).at(&job.workspace.path)),
        }
    }

    /// The error of a restore that wrote nothing to the workspace: its journal goes.
    fn without_a_trace(&self, job: &Job<'_>, error: Error, ctx: &Context) -> Error {
        match journal_file::remove(self.layout(), job.workspace.id.as_str(), self.durability) {
            Ok(()) => {
                ctx.reached.is_at(Step::Nothing);
                error
            }
            Err(stays) => journal_stays(job.kind, &error, stays).at(&job.workspace.path),
        }
    }

    /// The name under which a staging directory may lie in the root, remembered before it is made.
    fn stage_name(&self, job: &Job<'_>) -> Result<Vec<u8>> {
        let id = self.next_id()?;
        match stage_names::remember(self.layout(), job.workspace, id, self.durability) {
            Err(error) if error.code() == Code::DiskFull && job.journal.optional && !needs_area(job.plan) => {
                Ok(stage_names::name(id))
            }
            other => other,
        }
    }

    fn head(&self, job: &Job<'_>, stage: &[u8]) -> Result<Head> {
        Ok(Head {
            kind: job.kind,
            targets: job.targets.clone(),
            undo: job.undo,
            started_at: now(),
            workspace: job.workspace.path.as_os_str().as_bytes().to_vec(),
            root: match job.root {
                None => RootThen::Missing,
                Some(root) => root_then(identity(root)?),
            },
            in_place_of: job
                .in_place_of
                .filter(|_| job.root.is_none())
                .map(|identity| (identity.ino, born(identity))),
            git: job.git,
            paths: job.paths.clone(),
            stage: stage.to_vec(),
        })
    }

    /// `false` when there is to be none.
    pub(super) fn write_journal(
        &self,
        workspace: &Workspace,
        head: &Head,
        journal: &Prepared<'_>,
    ) -> Result<bool> {
        let Some(plan) = &journal.plan else { return Ok(false) };
        let bytes = encode(head, plan);
        journal_file::write(self.layout(), workspace.id.as_str(), &journal.name, &bytes, self.durability)?;
        Ok(true)
    }

    /// The work is done: a journal that stays is found to be done by the next one.
    pub(super) fn close_journal(&self, workspace: &Workspace) {
        if let Err(error) = journal_file::remove(self.layout(), workspace.id.as_str(), self.durability) {
            tracing::warn!(%error, "the journal of a finished restore stays");
        }
    }

    /// Applies a plan, staging in the store where a rename from there works and there is room under the cap.
    #[allow(clippy::too_many_arguments, reason = "the last step needs the results of all others")]
    pub(super) fn apply_to(
        &self,
        workspace: &Workspace,
        root: Option<&OwnedFd>,
        plan: &Plan,
        stage_name: &[u8],
        hears: &Hears<'_>,
        objects: &dyn Objects,
        ctx: &Context,
    ) -> Result<Applied, Stopped> {
        let before = Stopped::before_the_first_write;
        let root = root.map(|fd| workspace.root(fd)).transpose().map_err(before)?;
        let target = match &root {
            Some(root) => Target::Existing(root),
            None => Target::Missing(&workspace.path),
        };
        let leftovers = stage_names::remembered(self.layout(), workspace).map_err(before)?;
        let stage = if needs_area(plan) { self.stage_directory(plan).map_err(before)? } else { None };
        let options = ApplyOptions {
            pool: self.pool().map_err(before)?,
            stage_in: stage.as_ref().map(|(stage, _)| stage.as_path()),
            stage_name,
            leftovers: &leftovers,
            sync: self.durability == Durability::Power,
            root_made: Some(hears.root_made),
        };
        let applied = apply(target, plan, objects, &options, ctx).and_then(|applied| {
            (hears.done)(&applied).map_err(|error| Stopped { error: Box::new(error), begun: true })?;
            Ok(applied)
        });
        if let Some((stage, _room)) = &stage
            && let Err(error) = remove_tree(stage)
        {
            tracing::warn!(%error, "a staging directory stays until the next open");
        }
        if let Err(error) = stage_names::forget_gone(self.layout(), workspace, &workspace.path) {
            tracing::warn!(%error, "a staging directory stays remembered");
        }
        applied
    }

    /// A private directory of the store to stage in; `None` when it does not fit under the cap or the disk is full: then it is done in
    /// the workspace, which may lie on another one.
    fn stage_directory(&self, plan: &Plan) -> Result<Option<(PathBuf, Room<'_>)>> {
        let name = format!("{}{}", crate::store::STAGE, crate::store::random_name()?);
        let stage = self.layout().tmp().join(&name);
        let room = self.budget.room(name);
        match room.need(plan.staged_bytes()).and_then(|()| make_private(&stage)) {
            Ok(()) => Ok(Some((stage, room))),
            Err(error) => {
                tracing::debug!(%error, "staging in the workspace");
                Ok(None)
            }
        }
    }
}

/// Room for a journal's head, but for the paths of a partial restore.
const HEAD: u64 = 64 << 10;

fn no_journal(error: &Error) {
    tracing::warn!(%error, "no room for a journal: an interruption now could not be taken up again");
}

fn born(identity: Identity) -> Option<Timestamp> {
    identity.born.map(|(sec, nsec)| Timestamp { sec, nsec })
}

/// The journal's form of an identity.
pub(super) fn root_then(identity: Identity) -> RootThen {
    RootThen::There { ino: identity.ino, born: born(identity) }
}

impl Workspace {
    /// A descriptor of the root as the place beneath which everything stays.
    pub(super) fn root(&self, fd: &OwnedFd) -> Result<Root> {
        let fd = fd
            .as_fd()
            .try_clone_to_owned()
            .map_err(|e| Error::io("duplicating the root's descriptor", e).at(&self.path))?;
        Root::from_fd(fd, &self.path)
    }
}
