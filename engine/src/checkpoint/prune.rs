//! Keeping the store within its bounds: deleting, pruning by rules, making room, and the default retention (C9, C16).

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use turnback_core::{
    AUTOMATIC_LAST, CheckpointId, KeepReason, Kept, Millis, MillisSpan, Retained, RetentionRules, SandboxId,
    plan_retention,
};

use super::baseline::BASELINE_OF;
use super::cache_file::{bytes_of_base, forget_base};
use super::create::now;
use super::journal_file::{needed, refuse_if_needed};
use super::manager::{Inner, Manager, STORE_PATIENCE};
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::store::{
    Collector, Damaged, Hooks, Marked, Marks, Patience, Published, Removed, removed_since, unknown,
};

/// By which rules checkpoints go. What `keep_last` or `keep_within` covers stays, the rest goes; with `max_bytes` the oldest of what is
/// left go as well until the store is small enough. Pinned ones always stay. With no rule at all it is the default retention of
/// automatic checkpoints that is applied, and garbage that is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PruneRequest {
    /// The last ones of each workspace stay.
    pub keep_last: Option<usize>,
    /// What is not older than this stays.
    pub keep_within: Option<MillisSpan>,
    /// The store may hold this many bytes.
    pub max_bytes: Option<u64>,
    /// The rules may take every checkpoint that is not pinned. Without it they may not: it is seldom what was meant.
    pub all: bool,
    /// Only say what would go.
    pub dry_run: bool,
}

/// What a prune did, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PruneReport {
    /// What went, in the order in which it went.
    pub deleted: Vec<CheckpointId>,
    /// What stays and why, oldest first. An id is the name of a directory, because a damaged checkpoint may have any.
    pub kept: Vec<(String, KeepReason)>,
    /// Bytes that the disk got back; in a dry run the bytes that deletion would free, about.
    pub freed_bytes: u64,
    /// Bytes that the store holds now; in a dry run about what it would hold.
    pub store_bytes: u64,
    /// Whether the store holds no more than `max_bytes`, or would; `true` when that was not asked for.
    pub target_reached: bool,
    /// Whether the rules take every checkpoint that is not pinned: a real run then needs [`PruneRequest::all`].
    pub takes_all: bool,
}

/// So many removals of the default retention pile up at least before it is looked what nobody needs any more.
pub(super) const PILE: usize = 16;
/// How long the default retention waits for others.
const RETENTION_PATIENCE: Duration = Duration::from_millis(50);
/// How long the default retention may look what nobody needs.
const RETENTION_LIMIT: Duration = Duration::from_millis(500);

/// What retention has to know.
pub(super) struct Facts {
    /// Checkpoints that can be read.
    pub(super) all: Vec<Kept>,
    damaged: Vec<Damaged>,
    /// Those of `all` of which nobody knows whether they are pinned.
    unreadable: BTreeSet<CheckpointId>,
}

/// How checkpoints that are to go were chosen.
#[derive(Debug, Clone, Copy)]
pub(super) enum Chosen {
    /// Somebody named them: pinned or not.
    ByName,
    /// By these rules, which leave some alone.
    By(RetentionRules),
}

impl Manager {
    /// Deletes a checkpoint, pinned or not; what only it held is gone from the disk. `false` when there is none of that id.
    ///
    /// # Errors
    /// `CORRUPT` when another checkpoint cannot be read (nobody knows then what it needs), `BUSY` when an interrupted
    /// rollback needs it or the store is in use all the time, `STORE_FORMAT`, `IO`.
    pub fn delete(&self, id: CheckpointId) -> Result<bool> {
        let inner = self.open_inner()?;
        inner.store.require_writable()?;
        let ctx = Context::default();
        if !inner.catalog.ids()?.contains(&id) {
            return Ok(false);
        }
        let collector = inner.collector(Patience::Wait(STORE_PATIENCE), &ctx)?;
        let removed = inner.remove(&collector, collector.mark(&[id])?, 1, Chosen::ByName)?;
        Ok(removed.deleted.contains(&id))
    }

    /// Takes checkpoints that nobody asked for out of the list. Their bytes go with the next removal: so it costs a few renames, and not a
    /// look at everything that the store has (W7).
    pub(super) fn unlist(&self, ids: &[CheckpointId]) -> Result<()> {
        let inner = self.open_inner()?;
        inner.store.require_writable()?;
        let ctx = Context::default();
        let listed = inner.catalog.ids()?;
        let ids: Vec<_> = ids.iter().copied().filter(|id| listed.contains(id)).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let collector = inner.collector(Patience::Wait(STORE_PATIENCE), &ctx)?;
        inner.with_hooks(Chosen::ByName, |hooks| collector.unlist(&ids, hooks)).map(drop)
    }

    /// Deletes several checkpoints, pinned or not: all of them, or none when one of them is not there, is needed by an interrupted
    /// restore, or cannot go because another one is damaged. Returns them in the order in which they went.
    ///
    /// # Errors
    /// `NOT_FOUND`; otherwise as [`Manager::delete`]. After the first deletion only the system fails; some are gone then.
    pub fn delete_all(&self, ids: &[CheckpointId]) -> Result<Vec<CheckpointId>> {
        let inner = self.open_inner()?;
        inner.store.require_writable()?;
        let ctx = Context::default();
        let there: BTreeSet<CheckpointId> = inner.catalog.ids()?.into_iter().collect();
        let mut order = Vec::new();
        for id in ids {
            if !there.contains(id) {
                return Err(unknown(*id));
            }
            if !order.contains(id) {
                order.push(*id);
            }
        }
        let collector = inner.collector(Patience::Wait(STORE_PATIENCE), &ctx)?;
        order.iter().try_for_each(|id| refuse_if_needed(inner.layout(), &inner.catalog, *id))?;
        let count = order.len();
        Ok(inner.remove(&collector, collector.mark(&order)?, count, Chosen::ByName)?.deleted)
    }

    /// Removes checkpoints by rules, and what nobody needs any more. Others wait for it for moments only (C10).
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when the rules would take every checkpoint that is not pinned and `all` is not set: nothing is deleted then.
    /// `CORRUPT` when something was to go and a checkpoint that stays is damaged: nobody knows what that one needs. `BUSY`, `ABORTED`,
    /// `TIMED_OUT` (some may be gone then), `STORE_FORMAT`, `IO`.
    pub fn prune(&self, request: PruneRequest, ctx: &Context) -> Result<PruneReport> {
        let inner = self.open_inner()?;
        if !request.dry_run {
            inner.store.require_writable()?;
        }
        let rules = match request {
            PruneRequest { keep_last: None, keep_within: None, max_bytes: None, .. } => {
                RetentionRules::Automatic
            }
            PruneRequest { keep_last, keep_within, max_bytes, .. } => {
                RetentionRules::Asked { last: keep_last, within: keep_within, max_bytes }
            }
        };
        let collector = inner.collector(Patience::Wait(STORE_PATIENCE), ctx)?;
        let mut report = PruneReport {
            deleted: Vec::new(),
            kept: Vec::new(),
            freed_bytes: 0,
            store_bytes: 0,
            target_reached: true,
            takes_all: false,
        };
        let reached = |bytes| request.max_bytes.is_none_or(|max| bytes <= max);
        loop {
            let Facts { all, damaged, unreadable } = inner.facts()?;
            let plan = plan_retention(&all, rules, &BTreeSet::new(), now());
            let mut marked = collector.mark(plan.order())?;
            marked.count_in(|published| inner.aside(published))?;
            // What nobody needs goes anyway.
            let held = inner.budget.held()?.settled.saturating_sub(marked.garbage());
            let mut retained = plan.settle(held, marked.frees());
            let asked = rules != RetentionRules::Automatic;
            let takes_all = asked && takes_all(&all, &retained);
            report.takes_all |= takes_all;
            if takes_all && !request.all && !request.dry_run {
                let many = retained.deleted.len();
                let Some(newest) = retained.deleted.pop().filter(|_| !report.deleted.is_empty()) else {
                    return Err(would_take_all(many));
                };
                // Only now, when others are gone, it turns out that the store still holds too much.
                retained.kept.push((newest, KeepReason::Newest));
            }
            let count = retained.deleted.len();
            let why = |id: &CheckpointId, why| match why {
                KeepReason::Pinned if unreadable.contains(id) => KeepReason::MarksDamaged,
                why => why,
            };
            report.kept =
                retained.kept.iter().map(|(id, reason)| (id.to_string(), why(id, *reason))).collect();
            report.kept.extend(damaged.into_iter().map(|d| (d.checkpoint_id, KeepReason::Damaged)));
            report.kept.sort();
            if request.dry_run {
                marked.refuse_obstacle(count)?;
                report.freed_bytes = marked.freed(count);
                report.deleted = retained.deleted;
                report.store_bytes = inner.budget.held()?.settled.saturating_sub(report.freed_bytes);
                report.target_reached = reached(report.store_bytes);
                return Ok(report);
            }
            // What a pack loses that stays is known only when it is done: then it is measured again, and the rest of the way is shorter.
            let step = request
                .max_bytes
                .map_or(count, |max| surely_needed(held.saturating_sub(max), marked.frees(), count));
            let removed = inner.remove(&collector, marked, step, Chosen::By(rules))?;
            report.deleted.extend(&removed.deleted);
            report.freed_bytes += removed.freed_bytes;
            // Somebody may have pinned one since the rules were applied: they are applied again.
            let all_went = removed.deleted.len() >= count;
            if all_went && (count == 0 || request.max_bytes.is_none()) {
                report.store_bytes = inner.budget.held()?.settled;
                report.target_reached = reached(report.store_bytes);
                return Ok(report);
            }
            ctx.check()?;
        }
    }
}

/// How many of the first `count` checkpoints are sure to be needed to free so many bytes, at least one: as many as would not do if each
/// freed a quarter more than is told. All of them where something else than the size takes them.
fn surely_needed(to_free: u64, frees: &[u64], count: usize) -> usize {
    let mut told = 0u64;
    let sums = frees.iter().take(count.saturating_sub(1)).map(|bytes| {
        told = told.saturating_add(*bytes);
        told
    });
    let sums: Vec<u64> = sums.collect();
    if sums.last().is_none_or(|all_but_one| *all_but_one >= to_free) {
        return count;
    }
    sums.partition_point(|sum| sum.saturating_mul(5) / 4 < to_free) + 1
}

/// The workspaces whose stat caches may mirror a checkpoint.
fn caches_of(checkpoint: &Published) -> impl Iterator<Item = SandboxId> {
    let of = checkpoint.record.metadata.get(BASELINE_OF).and_then(|id| id.parse().ok());
    of.into_iter().chain([checkpoint.parsed.sandbox_id.clone()])
}

/// Whether nothing would be left but what is pinned or needed.
fn takes_all(all: &[Kept], retained: &Retained) -> bool {
    let may_go = all.iter().filter(|one| !one.pinned && !one.needed).count();
    may_go > 0 && may_go == retained.deleted.len()
}

fn would_take_all(many: usize) -> Error {
    let all = if many == 1 { "the only checkpoint".to_owned() } else { format!("all {many} checkpoints") };
    Error::new(
        Code::InvalidArgument,
        format!("these rules would delete {all} that can go: only pinned ones would be left, and nothing was deleted"),
        "look with a dry run (`dryRun`, --dry-run); if that is what you want, say so (`all: true`, --yes)",
    )
    .with_detail("argument", "rules.all".to_owned())
    .with_detail("checkpoints", many.to_string())
}

impl Inner {
    pub(super) fn collector<'a>(&'a self, patience: Patience, ctx: &'a Context) -> Result<Collector<'a>> {
        Collector::begin(self.layout(), &self.catalog, &self.packs, &self.budget, patience, ctx)
    }

    pub(super) fn remove(
        &self,
        collector: &Collector<'_>,
        marked: Marked<'_>,
        count: usize,
        chosen: Chosen,
    ) -> Result<Removed> {
        self.with_hooks(chosen, |hooks| collector.remove(marked, count, hooks))
    }

    fn with_hooks<T>(&self, chosen: Chosen, remove: impl FnOnce(&Hooks<'_>) -> Result<T>) -> Result<T> {
        let layout = self.layout();
        remove(&Hooks {
            may_go: &|ids| match chosen {
                Chosen::ByName => {
                    ids.iter().try_for_each(|id| refuse_if_needed(layout, &self.catalog, *id))?;
                    Ok(ids.len())
                }
                Chosen::By(rules) => self.still_may_go(ids, rules),
            },
            // Stat caches that mirror it.
            unlisted: &|gone| {
                caches_of(gone)
                    .try_fold(0, |sum, id| Ok(sum + forget_base(layout, id.as_str(), gone.parsed.id)?))
            },
        })
    }

    /// What the deletion of a checkpoint frees beside what the store itself knows of: its stat caches, in bytes.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn aside(&self, of: &Published) -> Result<u64> {
        let layout = self.layout();
        caches_of(of).try_fold(0, |sum, id| Ok(sum + bytes_of_base(layout, id.as_str(), of.parsed.id)?))
    }

    /// How many of the first ones the rules may still take: since they were applied a rollback may have been begun and interrupted, and
    /// somebody may have pinned or labelled one. What was acknowledged to them must hold.
    fn still_may_go(&self, ids: &[CheckpointId], rules: RetentionRules) -> Result<usize> {
        let needed = needed(self.layout(), &self.catalog)?;
        let labels_count = !matches!(rules, RetentionRules::Asked { .. });
        let stays = |id: &CheckpointId| {
            let (marks, _) = self.marks_or_pinned(*id);
            needed.contains_key(id) || marks.pinned || (labels_count && marks.label.is_some())
        };
        Ok(ids.iter().take_while(|id| !stays(id)).count())
    }

    /// The marks of a checkpoint, and why they cannot be read. What cannot be read may be a pin.
    fn marks_or_pinned(&self, id: CheckpointId) -> (Marks, Option<Error>) {
        let (marks, unreadable) = self.catalog.marks_or_pinned(id);
        if let Some(error) = &unreadable {
            tracing::warn!(%error, "the marks of a checkpoint are damaged; it counts as pinned");
        }
        (marks, unreadable)
    }

    pub(super) fn facts(&self) -> Result<Facts> {
        let (all, damaged) = self.catalog.all()?;
        let needed = needed(self.layout(), &self.catalog)?;
        let mut unreadable = BTreeSet::new();
        let fact = |published: &std::sync::Arc<Published>| {
            let parsed = &published.parsed;
            let (marks, error) = self.marks_or_pinned(parsed.id);
            unreadable.extend(error.map(|_| parsed.id));
            Kept {
                id: parsed.id,
                workspace: parsed.sandbox_id.clone(),
                phase: parsed.phase,
                created_at: Millis::since_epoch(published.record.created_at_ms),
                pinned: marks.pinned,
                labelled: marks.label.is_some(),
                needed: needed.contains_key(&parsed.id),
            }
        };
        Ok(Facts { all: all.iter().map(fact).collect(), damaged, unreadable })
    }

    /// Applies the default retention of automatic checkpoints (C16). It never fails and never takes long: what cannot be done now is done
    /// after the next automatic checkpoint. The store's lock must not be held.
    pub(super) fn retain(&self, protected: &BTreeSet<CheckpointId>, ctx: &Context) {
        match self.try_retain(protected, ctx) {
            Ok(removed) if removed == Removed::default() => {}
            Ok(removed) => tracing::debug!(?removed, "the default retention"),
            Err(error) => tracing::debug!(%error, "the default retention waits until next time"),
        }
    }

    fn try_retain(&self, protected: &BTreeSet<CheckpointId>, ctx: &Context) -> Result<Removed> {
        let too_few = self.catalog.ids()?.len() <= 1;
        if too_few {
            return Ok(Removed::default());
        }
        let Facts { all, .. } = self.facts()?;
        let plan = plan_retention(&all, RetentionRules::Automatic, protected, now());
        let pile = self.pile.load(Ordering::Acquire);
        if plan.order().is_empty() && removed_since(self.layout())? < pile {
            return Ok(Removed::default());
        }
        let limit = Instant::now() + RETENTION_LIMIT;
        let deadline = Some(ctx.deadline.map_or(limit, |deadline| deadline.min(limit)));
        let ctx = Context { deadline, ..ctx.clone() };
        let collector = self.collector(Patience::Wait(RETENTION_PATIENCE), &ctx)?;
        let chosen = Chosen::By(RetentionRules::Automatic);
        let mut removed = self.with_hooks(chosen, |hooks| collector.unlist(plan.order(), hooks))?;
        if removed_since(self.layout())? >= pile {
            let collected =
                collector.mark(&[]).and_then(|marked| self.remove(&collector, marked, 0, Chosen::ByName));
            match collected {
                Ok(collected) => {
                    removed.freed_bytes += collected.freed_bytes;
                    self.pile.store(PILE, Ordering::Release);
                }
                Err(error) => {
                    // A large store: less often.
                    self.pile.store(pile.saturating_mul(2).max(AUTOMATIC_LAST), Ordering::Release);
                    return Err(error);
                }
            }
        }
        Ok(removed)
    }
}
