//! Brings changes of single paths, which somebody decides on when he has seen the workspace, into it: as a commit, with a `pre_apply`
//! checkpoint and under a journal (S6, S7, C8). What is to come is a checkpoint as well: its difference from the first one is what can be
//! taken back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use turnback_core::{CheckpointId, Phase, PlanId};

use super::carry_out::{Carried, Job, Share};
use super::create::{Both, Purpose, Taken};
use super::edited::{Edit, edited};
use super::failed::told;
use super::manager::{Inner, Manager};
use super::rollback::duplicate;
use super::workspace::Workspace;
use crate::context::Context;
use crate::error::Result;
use crate::model::Picture;
use crate::recovery::RestoreKind;
use crate::restore::{
    Applied, GitMode, MergeOptions, Merged, OnConflict, PlanOptions, Root, Sides, merge, plan,
};
use crate::store::{Draft, End, Preview, RulesRecord};
use crate::tree::{Limits, Rules, Walked};

/// How the checkpoint of the state after a commit is called.
pub(crate) const COMMITTED_LABEL: &str = "after a sandbox's commit";

/// What is decided on.
pub(crate) struct Look<'a> {
    /// The workspace's directory.
    pub(crate) root: &'a Root,
    /// The workspace now.
    now: &'a Picture,
    inner: &'a Inner,
    both: &'a Both<'a>,
    ctx: &'a Context,
}

impl Look<'_> {
    /// The workspace as it would be with the difference between two of its checkpoints taken back, later edits kept (C15). Where there
    /// are conflicts it is what it is now, and so is every `.git`.
    ///
    /// # Errors
    /// `NOT_FOUND` for a checkpoint; those of a merge.
    pub(crate) fn taken_back(&self, before: CheckpointId, after: CheckpointId) -> Result<Merged> {
        let picture = |id: CheckpointId| -> Result<Picture> {
            self.inner.catalog.require(id)?.parsed.picture(&self.inner.packs)
        };
        let (before, after) = (picture(before)?, picture(after)?);
        let sides = Sides { base: &after, ours: self.now, theirs: &before };
        let options = MergeOptions { on_conflict: OnConflict::Ours, git: GitMode::Keep, paths: None };
        merge(sides, self.both, &options, self.ctx)
    }
}

/// What is to be done.
pub(crate) struct Wanted {
    /// What the workspace is to be apart from the edits, as [`Look::taken_back`] gave it; as it is now when there is none.
    pub(crate) picture: Option<Picture>,
    /// Single paths.
    pub(crate) edits: Vec<Edit>,
}

/// Decides on the changes.
pub(crate) trait Decide {
    /// Looks at the workspace, whose picture has been taken; `None` when nothing is to be done. May be asked again.
    ///
    /// # Errors
    /// Anything: nothing has been written then.
    fn decide(&mut self, look: &Look<'_>) -> Result<Option<Wanted>>;

    /// Hears of the two checkpoints before the first write.
    ///
    /// # Errors
    /// Anything: nothing has been written then.
    fn published(&mut self, before: CheckpointId, after: CheckpointId) -> Result<()>;
}

/// What came of it.
pub(crate) struct Edited {
    /// The checkpoints of the state before and of the one after; none when there was nothing to write.
    pub(crate) checkpoints: Option<(CheckpointId, CheckpointId)>,
    pub(crate) applied: Applied,
}

impl Manager {
    /// Changes single paths of a directory.
    ///
    /// # Errors
    /// Those of a checkpoint and of a rollback; `CONFLICT` when a path changes meanwhile. An error means that nothing was written,
    /// unless it has the detail `pending`.
    pub(crate) fn edit(
        &self,
        directory: &Path,
        plan_id: &PlanId,
        decide: &mut dyn Decide,
        ctx: &Context,
    ) -> Result<Option<Edited>> {
        self.try_edit(directory, plan_id, decide, ctx).map_err(|error| told(error, ctx))
    }

    fn try_edit(
        &self,
        directory: &Path,
        plan_id: &PlanId,
        decide: &mut dyn Decide,
        ctx: &Context,
    ) -> Result<Option<Edited>> {
        let inner = self.open_inner()?;
        inner.store.require_writable()?;
        let workspace = Workspace::at(directory.to_owned())?;
        workspace.check_ancestors()?;
        let _workspace = inner.lock_workspace(&workspace, ctx)?;
        inner.recover_first(&workspace, &BTreeSet::new(), ctx)?;
        inner.with_room(&BTreeSet::new(), ctx, || {
            let _store = inner.share_store(ctx)?;
            inner.edit(&workspace, plan_id, decide, ctx)
        })
    }
}

impl Inner {
    fn edit(
        &self,
        workspace: &Workspace,
        plan_id: &PlanId,
        decide: &mut dyn Decide,
        ctx: &Context,
    ) -> Result<Option<Edited>> {
        let root = workspace.open()?;
        let manifests = Preview::new(&self.packs);
        let (rules, limits) = (RulesRecord::default(), Limits::default());
        let walked = duplicate(&root)?;
        let taken = self.take(workspace, walked, rules, limits, None, Some(&manifests), ctx)?;
        let now = taken.walked.picture.clone();
        taken.draft.leave_room(u64::MAX, taken.share()?.needs)?;
        let draft = Draft::begin(self.layout(), &self.packs, &self.budget, self.durability)
            .map_err(|error| self.with_others(&[&taken.draft], error))?;
        let both = Both { draft: &draft, manifests: &manifests };
        let opened = workspace.root(&root)?;
        let look = Look { root: &opened, now: &now, inner: self, both: &both, ctx };
        let Some(Wanted { picture, edits }) = decide.decide(&look)? else { return Ok(None) };
        let mut then = picture.unwrap_or_else(|| now.clone());
        if !edits.is_empty() {
            then = edited(&then, &edits, &manifests, &both)?;
        }
        if then == now {
            return Ok(Some(Edited { checkpoints: None, applied: Applied::default() }));
        }
        let options = PlanOptions { git: GitMode::Keep, paths: None };
        let plan = plan(Some(&now), &then, &manifests, &options, ctx)?;
        self.precheck(workspace, Some(&root), &plan, ctx)?;
        let shares = [taken.share()?, Share::of(&draft, 0)?];
        let [of_before, of_after] = shares.each_ref().map(|share| share.needs);
        let journal = self.prepare_journal(&plan, false, &shares)?;
        let purpose = |phase, label: Option<&str>| Purpose {
            plan_id,
            phase,
            metadata: BTreeMap::new(),
            label: label.map(ToOwned::to_owned),
            rollback_of: None,
        };
        let after = Taken {
            walked: Walked {
                picture: then,
                totals: taken.walked.totals,
                uncovered: taken.walked.uncovered.clone(),
                noticed: Vec::new(),
                cache: None,
                source_cache: None,
                root_stat: taken.walked.root_stat,
            },
            identity: taken.identity,
            draft,
            // Nobody has seen that state yet: there is nothing to remember of it.
            cache: self.cache(workspace, &Rules::new(&[], false, None)?, taken.identity),
            appender: self.cache(workspace, &Rules::new(&[], false, None)?, taken.identity).appender(),
            rules: RulesRecord::default(),
            of_source: None,
        };
        let publish = || self.publish(workspace, taken, purpose(Phase::PreApply, None), End::Before(ctx));
        let before = journal.beside(of_before, publish)?.parsed.id;
        let purpose_after = purpose(Phase::Manual, Some(COMMITTED_LABEL));
        let publish = || self.publish(workspace, after, purpose_after, End::Before(ctx));
        let after = journal.beside(of_after, publish)?.parsed.id;
        decide.published(before, after)?;
        let job = Job {
            kind: RestoreKind::Commit,
            workspace,
            root: Some(&root),
            plan: &plan,
            targets: vec![after],
            undo: Some(before),
            git: GitMode::Keep,
            paths: None,
            in_place_of: None,
            journal,
        };
        let Carried { applied, .. } = self.carry_out(&job, &manifests, ctx)?;
        Ok(Some(Edited { checkpoints: Some((before, after)), applied }))
    }
}
