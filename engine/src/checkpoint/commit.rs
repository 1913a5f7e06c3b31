//! Bringing a sandbox's changes into its resource (S6): both trees are walked, somebody decides, three checkpoints are published (the
//! sandbox's new baseline, the resource before, the resource after), and a journal carries the difference out.
//!
//! Whether a commit took place is told by one bit: the checkpoint of the state after is pinned when everything is written, and before
//! its journal goes. A crash leaves either the journal, which the next writing call on the resource finishes, or the answer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use turnback_core::{CheckpointId, Phase, PlanId};

use super::baseline::BASELINE_LABEL;
use super::carry_out::{Carried, Job, Share};
use super::committed::{AFTER_LABEL, COMMIT_OF};
use super::create::{Both, Purpose, Taken};
use super::failed::told;
use super::manager::{Inner, Manager};
use super::rollback::duplicate;
use super::workspace::{Broad, Workspace};
use crate::change::Change;
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::{Picture, Reason, RelPath, Uncovered};
use crate::recovery::RestoreKind;
use crate::restore::{Applied, GitMode, Manifests, Plan, PlanOptions, Root, plan};
use crate::store::{Draft, End, Identity, Marks, Preview, RulesRecord, random_name};
use crate::tree::{Limits, Notices, Rules, Walked, changes, differences, lookup};

/// What the pins of a commit's checkpoints take on the disk at most, each beside the marks that it replaces.
const PINS: u64 = 3 * (8 << 10);

/// What a commit is decided on.
pub(crate) struct Look<'a> {
    /// The sandbox's baseline.
    pub(crate) base: &'a Picture,
    /// The sandbox now.
    pub(crate) sandbox: &'a Picture,
    /// The resource now.
    pub(crate) resource: &'a Picture,
    /// Paths whose metadata the sandbox's file system did not take when it was made.
    pub(crate) refused: Vec<RelPath>,
    /// Takes what the sandbox's next baseline needs.
    pub(crate) baselines: &'a dyn Manifests,
    /// Takes what the resource is to get.
    pub(crate) manifests: &'a dyn Manifests,
    /// What was wanted to be heard of in the sandbox.
    pub(crate) noticed_in_sandbox: &'a [RelPath],
    /// The same in the resource.
    pub(crate) noticed_in_resource: &'a [RelPath],
    /// The sandbox's directory.
    pub(crate) sandbox_root: &'a Root,
    /// The resource's directory.
    pub(crate) resource_root: &'a Root,
    pub(crate) ctx: &'a Context,
}

/// What is to be.
pub(crate) struct Decided {
    /// The sandbox's next baseline.
    pub(crate) baseline: Picture,
    /// What the resource is to become.
    pub(crate) merged: Picture,
}

/// The checkpoints of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Made {
    /// The sandbox's next baseline.
    pub(crate) baseline: CheckpointId,
    /// The resource before and after; `None` when nothing is to be written to it.
    pub(crate) resource: Option<(CheckpointId, CheckpointId)>,
}

/// Decides on a commit.
pub(crate) trait Decide {
    /// `None` when nothing may be written. May be asked again, when the store had no room.
    ///
    /// # Errors
    /// Anything: nothing has been written then.
    fn decide(&mut self, look: &Look<'_>) -> Result<Option<Decided>>;

    /// Hears of the checkpoints before the first write, and remembers them.
    ///
    /// # Errors
    /// Anything: nothing has been written then.
    fn published(&mut self, made: &Made) -> Result<()>;
}

/// What came of a commit.
pub(crate) struct Carry {
    /// `None` when nobody changed anything since the baseline.
    pub(crate) made: Option<Made>,
    /// What was written, as differences of the resource.
    pub(crate) changes: Vec<Change>,
    /// Paths that could not be written.
    pub(crate) not_written: Vec<Uncovered>,
}

/// What is committed where.
pub(crate) struct CommitRequest<'a> {
    /// The resource's canonical path.
    pub(crate) resource: &'a Path,
    /// The root that the sandbox was made of; `None` in records that do not say.
    pub(crate) resource_root: Option<Identity>,
    /// The sandbox's canonical path.
    pub(crate) sandbox: &'a Path,
    /// The sandbox's baseline.
    pub(crate) baseline: CheckpointId,
    /// The plan that the checkpoints belong to.
    pub(crate) plan_id: &'a PlanId,
    /// Which paths the decision wants to hear of.
    pub(crate) notices: Notices,
}

/// The two directories, locked.
struct Pair<'a> {
    resource: &'a Workspace,
    sandbox: &'a Workspace,
    request: &'a CommitRequest<'a>,
}

impl Manager {
    /// Commits; `None` when the decision is that nothing may be written.
    ///
    /// # Errors
    /// `NOT_FOUND` when one of the two directories is gone, and those of a rollback. An error without the detail `pending` means that
    /// nothing was written.
    pub(crate) fn commit_back(
        &self,
        request: &CommitRequest<'_>,
        decide: &mut dyn Decide,
        ctx: &Context,
    ) -> Result<Option<Carry>> {
        let inner = self.open_inner()?;
        inner.store.require_writable()?;
        let resource = Workspace::at(request.resource.to_owned())?;
        let sandbox = Workspace::at(request.sandbox.to_owned())?;
        resource.check_scope(inner.layout(), Broad::Allowed)?;
        resource.check_ancestors()?;
        let _resource = inner.lock_workspace(&resource, ctx)?;
        let _sandbox = inner.lock_workspace(&sandbox, ctx)?;
        let protected = BTreeSet::from([request.baseline]);
        inner.recover_first(&sandbox, &protected, ctx)?;
        inner.recover_first(&resource, &protected, ctx)?;
        let all = Pair { resource: &resource, sandbox: &sandbox, request };
        let mut made: Vec<CheckpointId> = Vec::new();
        let done = inner.with_room(&protected, ctx, || {
            // What was made before there was no room for the rest.
            self.discard(&std::mem::take(&mut made));
            let _store = inner.share_store(ctx)?;
            inner.commit(&all, decide, &mut made, ctx)
        });
        match done {
            Ok(carry) => Ok(carry),
            Err(error) => {
                if !error.is_pending() {
                    self.discard(&made);
                }
                Err(told(error, ctx))
            }
        }
    }

    /// Publishes a baseline that has some paths as an older one has them: what turned out not to be committed. The sandbox's
    /// workspace must not be locked.
    pub(crate) fn rebase(
        &self,
        baseline: CheckpointId,
        older: CheckpointId,
        with: impl Fn(&Picture, &Picture, &dyn Manifests) -> Result<Picture>,
        plan_id: &PlanId,
        ctx: &Context,
    ) -> Result<CheckpointId> {
        let inner = self.open_inner()?;
        let workspace = Workspace::at(inner.catalog.require(baseline)?.parsed.workspace.clone())?;
        let _workspace = inner.lock_workspace(&workspace, ctx)?;
        inner.with_room(&BTreeSet::from([baseline, older]), ctx, || {
            let _store = inner.share_store(ctx)?;
            let older = inner.catalog.require(older)?.parsed.picture(&inner.packs)?;
            let from = inner.catalog.require(baseline)?;
            let preview = Preview::new(&inner.packs);
            let draft = Draft::begin(inner.layout(), &inner.packs, &inner.budget, inner.durability)?;
            let both = Both { draft: &draft, manifests: &preview };
            let picture = with(&from.parsed.picture(&inner.packs)?, &older, &both)?;
            let (root, rules) = (workspace.open()?, from.record.rules.clone());
            let walked = inner
                .take(&workspace, root, rules, Limits::default(), None, None, ctx)
                .map_err(|error| inner.with_others(&[&draft], error))?;
            let uncovered = inner.all_uncovered(&from)?;
            let taken = inner.imagined(&workspace, &walked, picture, uncovered, draft)?;
            drop(walked);
            inner.publish_baseline(&workspace, taken, plan_id, ctx)
        })
    }
}

impl Inner {
    fn commit(
        &self,
        all: &Pair<'_>,
        decide: &mut dyn Decide,
        made: &mut Vec<CheckpointId>,
        ctx: &Context,
    ) -> Result<Option<Carry>> {
        let base = self.catalog.require(all.request.baseline)?;
        let base_picture = base.parsed.picture(&self.packs)?;
        let open = |workspace: &Workspace, what: &str| {
            workspace.open_if_there()?.ok_or_else(|| {
                let advice = "roll the sandbox back, or make the directory anew";
                Error::new(Code::NotFound, format!("the {what}'s directory is gone"), advice)
                    .at(&workspace.path)
            })
        };
        let (resource_root, sandbox_root) = (open(all.resource, "resource")?, open(all.sandbox, "sandbox")?);
        if let Some(then) = all.request.resource_root {
            self.check_resource_root(all.resource, &resource_root, then, &all.sandbox.path)?;
        }
        self.check_sandbox_root(all.sandbox, &sandbox_root, base.record.identity)?;
        let preview = Preview::new(&self.packs);
        let limits = Limits::default();
        let rules = base.record.rules.clone();
        let notices = Some(all.request.notices);
        let walk = |workspace, root, rules| {
            self.take_noticing(workspace, duplicate(root)?, rules, limits, None, Some(&preview), notices, ctx)
        };
        let mut theirs = walk(all.sandbox, &sandbox_root, rules)?;
        let rules = RulesRecord::default();
        // Each takes no more of the room than it needs, so that the others find some.
        theirs.draft.leave_room(u64::MAX, theirs.share()?.needs)?;
        let ours = walk(all.resource, &resource_root, rules)
            .map_err(|error| self.with_others(&[&theirs.draft], error))?;
        ours.draft.leave_room(u64::MAX, ours.share()?.needs)?;
        let now = ours.walked.picture.clone();
        let then = theirs.walked.picture.clone();

        let draft = Draft::begin(self.layout(), &self.packs, &self.budget, self.durability)
            .map_err(|error| self.with_others(&[&theirs.draft, &ours.draft], error))?;
        let uncovered = self.all_uncovered(&base)?;
        let refused: Vec<Uncovered> =
            uncovered.into_iter().filter(|u| u.reason == Reason::MetadataRefused).collect();
        let decided = decide.decide(&Look {
            base: &base_picture,
            sandbox: &then,
            resource: &now,
            refused: refused.iter().map(|u| u.path.clone()).collect(),
            baselines: &Both { draft: &theirs.draft, manifests: &preview },
            manifests: &Both { draft: &draft, manifests: &preview },
            noticed_in_sandbox: &theirs.walked.noticed,
            noticed_in_resource: &ours.walked.noticed,
            sandbox_root: &all.sandbox.root(&sandbox_root)?,
            resource_root: &all.resource.root(&resource_root)?,
            ctx,
        })?;
        let Some(Decided { baseline, merged }) = decided else { return Ok(None) };

        let options = PlanOptions { git: GitMode::Exact, paths: None };
        let plan = plan(Some(&now), &merged, &preview, &options, ctx)?;
        let nothing = Carry { made: None, changes: Vec::new(), not_written: Vec::new() };
        if plan.is_empty() && baseline == base_picture {
            return Ok(Some(nothing));
        }
        let what = changes(&differences(&now, &merged, &preview, ctx)?);
        self.precheck(all.resource, Some(&resource_root), &plan, ctx)?;
        let shares = [theirs.share()?, ours.share()?, Share::of(&draft, PINS)?];
        let counted = shares.each_ref().map(|share| share.needs);
        let journal = self.prepare_journal(&plan, false, &shares)?;
        let pins = self.budget.room(random_name()?);
        journal.beside(PINS, || pins.need(PINS))?;

        if baseline != then {
            // The stat cache speaks of the tree as it was walked.
            theirs.walked.cache = None;
        }
        for one in refused {
            if lookup(&baseline, &one.path, &preview)?.is_some() || one.path.is_root() {
                theirs.walked.uncovered.push(one);
            }
        }
        theirs.walked.uncovered.sort();
        theirs.walked.uncovered.dedup_by(|a, b| a.path == b.path && a.reason == b.reason);
        theirs.walked.picture = baseline;
        let after = self.imagined(all.resource, &ours, merged, ours.walked.uncovered.clone(), draft)?;

        let plan_id = all.request.plan_id;
        let [of_theirs, of_ours, of_after] = counted;
        let publish = || self.publish_baseline(all.sandbox, theirs, plan_id, ctx);
        let baseline = journal.beside(of_theirs, publish)?;
        made.push(baseline);
        if plan.is_empty() {
            let done = Made { baseline, resource: None };
            decide.published(&done)?;
            return Ok(Some(Carry { made: Some(done), ..nothing }));
        }
        let purpose_before = purpose(plan_id, all.sandbox, Phase::PreApply, None);
        let publish = || self.publish(all.resource, ours, purpose_before, End::Before(ctx));
        let before = journal.beside(of_ours, publish)?;
        made.push(before.parsed.id);
        let purpose_after = purpose(plan_id, all.sandbox, Phase::Manual, Some(AFTER_LABEL));
        let publish = || self.publish(all.resource, after, purpose_after, End::Before(ctx));
        let after = journal.beside(of_after, publish)?;
        made.push(after.parsed.id);
        let (before, after) = (before.parsed.id, after.parsed.id);
        self.pin(before)?;
        let done = Made { baseline, resource: Some((before, after)) };
        decide.published(&done)?;
        let applied = self.write_commit(all, &resource_root, &plan, done, &preview, journal, ctx)?;
        let Applied { not_restorable, .. } = applied;
        Ok(Some(Carry {
            made: Some(done),
            changes: what,
            not_written: not_restorable.into_iter().filter(|u| u.reason != Reason::MetadataRefused).collect(),
        }))
    }

    #[allow(clippy::too_many_arguments, reason = "the last step needs the results of all others")]
    fn write_commit(
        &self,
        all: &Pair<'_>,
        root: &std::os::fd::OwnedFd,
        plan: &Plan,
        made: Made,
        preview: &Preview<'_>,
        journal: super::carry_out::Prepared<'_>,
        ctx: &Context,
    ) -> Result<Applied> {
        let job = Job {
            kind: RestoreKind::Commit,
            workspace: all.resource,
            root: Some(root),
            plan,
            targets: made.resource.iter().map(|(_, after)| *after).collect(),
            undo: made.resource.map(|(before, _)| before),
            git: GitMode::Exact,
            paths: None,
            in_place_of: None,
            journal,
        };
        let Carried { applied, .. } = self.carry_out(&job, preview, ctx)?;
        Ok(applied)
    }

    fn publish_baseline(
        &self,
        sandbox: &Workspace,
        taken: Taken<'_>,
        plan_id: &PlanId,
        ctx: &Context,
    ) -> Result<CheckpointId> {
        let purpose = purpose(plan_id, sandbox, Phase::Manual, Some(BASELINE_LABEL));
        let id = self.publish(sandbox, taken, purpose, End::Before(ctx))?.parsed.id;
        self.pin(id)?;
        Ok(id)
    }

    /// A checkpoint of a state that nobody has walked.
    fn imagined<'a>(
        &'a self,
        workspace: &Workspace,
        of: &Taken<'_>,
        picture: Picture,
        uncovered: Vec<Uncovered>,
        draft: Draft<'a>,
    ) -> Result<Taken<'a>> {
        let rules = Rules::new(&of.rules.exclude, of.rules.exclude_ignored, of.rules.max_file_bytes)?;
        let cache = self.cache(workspace, &rules, of.identity);
        let appender = cache.appender();
        let (totals, root_stat) = (of.walked.totals, of.walked.root_stat);
        let walked = Walked {
            picture,
            totals,
            uncovered,
            noticed: Vec::new(),
            cache: None,
            source_cache: None,
            root_stat,
        };
        let (identity, rules) = (of.identity, of.rules.clone());
        Ok(Taken { walked, identity, draft, cache, appender, rules, of_source: None })
    }

    /// The workspace's lock must be held.
    fn pin(&self, id: CheckpointId) -> Result<()> {
        let marks = Marks { pinned: true, ..self.catalog.marks_or_pinned(id).0 };
        self.catalog.set_marks(id, &marks, self.durability)
    }

    /// Notes that all of a commit is written, before its journal goes.
    pub(super) fn mark_done(&self, kind: RestoreKind, targets: &[CheckpointId]) -> Result<()> {
        match (kind, targets.last()) {
            (RestoreKind::Commit, Some(after)) => self.pin(*after),
            _ => Ok(()),
        }
    }
}

fn purpose<'a>(plan_id: &'a PlanId, sandbox: &Workspace, phase: Phase, label: Option<&str>) -> Purpose<'a> {
    let metadata = BTreeMap::from([(COMMIT_OF.to_owned(), sandbox.id.to_string())]);
    Purpose { plan_id, phase, metadata, label: label.map(str::to_owned), rollback_of: None }
}
