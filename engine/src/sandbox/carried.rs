//! Commits of copies as the record knows them (S3, S6): what is being committed is written down before the first write, what was
//! committed is the next baseline, and what the last one was can be undone.

use turnback_core::{CheckpointId, PlanId, SandboxStatus};

use super::commit::{CommitOptions, CommitReport, HeldBack, HoldReason, MergeMode};
use super::handle::{Handle, Locked, illegal};
use super::leads::may_lead;
use super::names::StrategyName;
use super::record::Record;
use super::registry::Place;
use super::removal::plan_of;
use super::three_way::{self, Decision};
use crate::checkpoint::commit::{Carry, CommitRequest, Decide, Decided, Look, Made};
use crate::checkpoint::standing::refuse_link;
use crate::checkpoint::{Manager, RevertRequest};
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::RelPath;
use crate::report::{Conflict, RollbackReport};
use crate::restore::GitMode;

/// The record's note of a commit that is under way: its checkpoints.
const UNDER_WAY: &str = "commit";
/// The record's note of the last commit: the baseline before it, and the resource's checkpoints.
const LAST: &str = "committed";
/// The record's note that the last commit is being taken back.
const UNDOING: &str = "undo";
/// How many commits there were.
const COUNT: &str = "commits";

fn written(made: &Made) -> String {
    match made.resource {
        None => made.baseline.to_string(),
        Some((before, after)) => format!("{} {before} {after}", made.baseline),
    }
}

fn parsed(text: &str) -> Result<Made> {
    let ids: Option<Vec<CheckpointId>> = text.split(' ').map(|id| id.parse().ok()).collect();
    match ids.as_deref() {
        Some([baseline]) => Ok(Made { baseline: *baseline, resource: None }),
        Some([baseline, before, after]) => {
            Ok(Made { baseline: *baseline, resource: Some((*before, *after)) })
        }
        _ => Err(Error::corrupt("a sandbox's record of its commits is malformed")),
    }
}

fn noted(record: &Record, name: &str) -> Result<Option<Made>> {
    record.extra.get(name).map(|text| parsed(text)).transpose()
}

fn count(record: &Record) -> u64 {
    record.extra.get(COUNT).and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// Whether a commit was begun, or taken back, and nobody has seen the end.
pub(super) fn is_cut_short(record: &Record) -> bool {
    record.extra.contains_key(UNDER_WAY) || record.extra.contains_key(UNDOING)
}

/// The record after a commit: its result is the baseline (S3).
fn committed(record: &Record, made: &Made) -> Result<Record> {
    let mut next = record.clone();
    next.status = record.status.transition(SandboxStatus::Committed).map_err(illegal)?;
    if let Some(before) = record.baseline.filter(|before| *before != made.baseline) {
        let last = Made { baseline: before, resource: made.resource };
        next.extra.insert(LAST.to_owned(), written(&last));
    }
    next.baseline = Some(made.baseline);
    next.extra.remove(UNDER_WAY);
    next.extra.insert(COUNT.to_owned(), (count(record) + 1).to_string());
    Ok(next)
}

/// Lets go of what only undoing an earlier commit needed. The checkpoint before it stays, as any other.
fn let_go(manager: &Manager, last: &Made) {
    let mut needless = vec![last.baseline];
    if let Some((before, after)) = last.resource {
        needless.push(after);
        match manager.set_pinned(before, false) {
            Err(error) if error.code() != Code::NotFound => {
                tracing::warn!(%error, id = %before, "the checkpoint before a commit stays pinned");
            }
            _ => {}
        }
    }
    manager.discard(&needless);
}

/// Deletes what the store holds for the commits of a sandbox that goes, also what a killed process published and nobody wrote down.
pub(super) fn forget(manager: &Manager, record: &Record) -> Result<()> {
    if record.strategy != StrategyName::CopyOnWrite {
        return Ok(());
    }
    if let Some(last) = noted(record, LAST)? {
        let_go(manager, &last);
    }
    manager.let_go_of_commits(&record.id)
}

/// Finishes a commit that was cut short, or forgets one that wrote nothing: the new record, `None` when there is no such commit. The
/// sandbox's lock must be held.
///
/// # Errors
/// When what was begun cannot be finished now.
pub(super) fn taken_up(
    manager: &Manager,
    place: &Place,
    record: &Record,
    ctx: &Context,
) -> Result<Option<Record>> {
    if record.extra.contains_key(UNDOING) {
        return taken_back(manager, place, record, ctx).map(|(next, _)| Some(next));
    }
    let Some(made) = noted(record, UNDER_WAY)? else { return Ok(None) };
    let is_done = match made.resource {
        None => true,
        Some((_, after)) => {
            match manager.recover(&record.resource, ctx) {
                // Where nothing is, nothing is to be finished.
                Err(error) if error.code() == Code::NotFound => {}
                other => drop(other?),
            }
            manager.is_done(after)?
        }
    };
    if is_done {
        let next = committed(record, &made)?;
        place.write(&next)?;
        if let Some(earlier) = noted(record, LAST)? {
            let_go(manager, &earlier);
        }
        return Ok(Some(next));
    }
    let mut next = record.clone();
    next.extra.remove(UNDER_WAY);
    place.write(&next)?;
    let mut needless = vec![made.baseline];
    needless.extend(made.resource.into_iter().flat_map(|(before, after)| [before, after]));
    manager.discard(&needless);
    Ok(Some(next))
}

/// As [`taken_up`], for a sandbox that somebody works on.
pub(super) fn take_up(at: &mut Locked<'_>, ctx: &Context) -> Result<()> {
    let handle = at.handle();
    if let Ok(record) = at.record()
        && let Some(next) = taken_up(handle.manager(), handle.place(), record, ctx)?
    {
        at.renew(next);
    }
    Ok(())
}

/// Decides, and writes down what is about to happen.
struct Committer<'a, 'l> {
    at: &'a mut Locked<'l>,
    options: &'a CommitOptions,
    /// Nothing is to be written.
    only_looks: bool,
    conflicts: Vec<Conflict>,
    held: Vec<HeldBack>,
}

impl Decide for Committer<'_, '_> {
    fn decide(&mut self, look: &Look<'_>) -> Result<Option<Decided>> {
        let Decision { decided, conflicts, held } = three_way::decide(look, self.options)?;
        (self.conflicts, self.held) = (conflicts, held);
        Ok(decided.filter(|_| !self.only_looks))
    }

    fn published(&mut self, made: &Made) -> Result<()> {
        self.at.note(|record| drop(record.extra.insert(UNDER_WAY.to_owned(), written(made))))
    }
}

/// Options that only another strategy has.
fn refuse_foreign(handle: &Handle, options: &CommitOptions) -> Result<()> {
    for (is_given, option) in
        [(options.merge != MergeMode::Merge, "merge"), (options.message.is_some(), "message")]
    {
        if is_given {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("`{option}` says nothing to a sandbox of strategy `{}`", handle.strategy()),
                "leave it out",
            ));
        }
    }
    Ok(())
}

/// A sandbox that is about to be committed: what was cut short is finished, and its baseline is known.
fn opened<'l>(
    handle: &'l Handle,
    options: &CommitOptions,
    seen: Option<u64>,
    ctx: &Context,
) -> Result<(Locked<'l>, CheckpointId, PlanId)> {
    refuse_foreign(handle, options)?;
    let mut at = handle.locked(ctx)?;
    let now = count(at.record()?);
    if seen.is_some_and(|seen| seen != now) {
        return Err(Error::new(
            Code::Busy,
            "another commit of this sandbox was made at the same time",
            "look at what changed since, and commit again if there is anything",
        ));
    }
    take_up(&mut at, ctx)?;
    refuse_link(handle.path())?;
    at.use_()?;
    at.check(SandboxStatus::Committed)?;
    super::frozen::know(&mut at, ctx)?;
    let baseline = at.baseline()?;
    Ok((at, baseline, plan_of(handle.plan_id())?))
}

fn request<'a>(at: &Locked<'a>, baseline: CheckpointId, plan_id: &'a PlanId) -> Result<CommitRequest<'a>> {
    let handle = at.handle();
    Ok(CommitRequest {
        resource: handle.resource(),
        resource_root: at.record()?.resource_root,
        sandbox: handle.path(),
        baseline,
        plan_id,
        notices: may_lead,
    })
}

/// What a commit would meet: as a commit up to the decision.
pub(super) fn foresee(handle: &Handle, options: &CommitOptions, ctx: &Context) -> Result<CommitReport> {
    let (mut at, baseline, plan_id) = opened(handle, options, None, ctx)?;
    let request = request(&at, baseline, &plan_id)?;
    let mut committer =
        Committer { at: &mut at, options, only_looks: true, conflicts: Vec::new(), held: Vec::new() };
    handle.manager().commit_back(&request, &mut committer, ctx)?;
    let Committer { conflicts, held, .. } = committer;
    Ok(CommitReport { conflicts, held_back: held, ..CommitReport::default() })
}

/// Commits a copy (S6).
pub(super) fn commit(handle: &Handle, options: &CommitOptions, ctx: &Context) -> Result<CommitReport> {
    let seen = handle.place().read()?.as_ref().map(count);
    let (mut at, baseline, plan_id) = opened(handle, options, seen, ctx)?;
    let request = request(&at, baseline, &plan_id)?;
    let mut committer =
        Committer { at: &mut at, options, only_looks: false, conflicts: Vec::new(), held: Vec::new() };
    let outcome = handle.manager().commit_back(&request, &mut committer, ctx);
    let Committer { conflicts, held, .. } = committer;
    let mut report = CommitReport { conflicts, held_back: held, ..CommitReport::default() };
    match outcome {
        Ok(None) => Ok(report),
        Ok(Some(carry)) => {
            finish(&mut at, baseline, &carry, &mut report, ctx)?;
            let Carry { mut changes, not_written, .. } = carry;
            changes.retain(|one| !not_written.iter().any(|left| one.path.starts_with(&left.path)));
            report.changes = changes;
            Ok(report)
        }
        Err(error) => {
            if !error.is_pending() && at.record().is_ok_and(is_cut_short) {
                at.note(|record| drop(record.extra.remove(UNDER_WAY)))?;
            }
            Err(error)
        }
    }
}

/// Everything is written: the record follows.
fn finish(
    at: &mut Locked<'_>,
    baseline: CheckpointId,
    carry: &Carry,
    report: &mut CommitReport,
    ctx: &Context,
) -> Result<()> {
    report.committed = true;
    let handle = at.handle();
    let manager = handle.manager();
    let Some(mut made) = carry.made else {
        // Nothing was changed: what the last commit wrote can still be undone.
        return at.change(SandboxStatus::Committed, |record| {
            record.extra.insert(COUNT.to_owned(), (count(record) + 1).to_string());
        });
    };
    report.pre_apply_checkpoint_id = made.resource.map(|(before, _)| before);
    if !carry.not_written.is_empty() {
        let paths: Vec<RelPath> = carry.not_written.iter().map(|one| one.path.clone()).collect();
        let with = |new: &_, old: &_, manifests: &dyn crate::restore::Manifests| {
            three_way::without(new, old, &paths, manifests)
        };
        let whole = made.baseline;
        made.baseline = manager.rebase(whole, baseline, with, &plan_of(handle.plan_id())?, ctx)?;
        manager.discard(&[whole]);
        let held = |path: RelPath| HeldBack { path, reason: HoldReason::NotWritten };
        report.held_back.extend(paths.into_iter().map(held));
        report.held_back.sort();
    }
    let record = at.record()?.clone();
    let next = committed(&record, &made)?;
    handle.place().write(&next)?;
    at.renew(next);
    if let Some(earlier) = noted(&record, LAST)? {
        let_go(manager, &earlier);
    }
    Ok(())
}

/// Takes the last commit back (S3).
pub(super) fn undo(handle: &Handle, ctx: &Context) -> Result<RollbackReport> {
    let mut at = handle.locked(ctx)?;
    at.record()?;
    take_up(&mut at, ctx)?;
    let Some(last) = noted(at.record()?, LAST)? else {
        return Err(Error::new(
            Code::NotUndoable,
            "there is no commit of this sandbox to undo",
            "commit first; one commit can be undone once",
        ));
    };
    if at.status() == SandboxStatus::RolledBack {
        // Putting the sandbox back said nothing of its commit. Taking that one back is a use of the sandbox.
        at.use_()?;
    }
    if last.resource.is_some() {
        // A process that dies now must not leave a sandbox that believes its work to be in the resource.
        at.check(SandboxStatus::RolledBack)?;
        at.note(|record| drop(record.extra.insert(UNDOING.to_owned(), "1".to_owned())))?;
    }
    let record = at.record()?.clone();
    match taken_back(handle.manager(), handle.place(), &record, ctx) {
        Ok((next, report)) => {
            at.renew(next);
            Ok(report)
        }
        Err(error) => {
            if !error.is_pending() {
                at.note(|record| drop(record.extra.remove(UNDOING)))?;
            }
            Err(error)
        }
    }
}

/// Takes the last commit back, or the rest of it, and gives the new record, which is written.
fn taken_back(
    manager: &Manager,
    place: &Place,
    record: &Record,
    ctx: &Context,
) -> Result<(Record, RollbackReport)> {
    let last =
        noted(record, LAST)?.ok_or_else(|| Error::corrupt("a sandbox's record lost its last commit"))?;
    let report = match last.resource {
        None => RollbackReport::untouched(last.baseline),
        Some((before, after)) => {
            let request = RevertRequest { git: GitMode::Exact, ..RevertRequest::default() };
            manager.revert(before, after, request, ctx)?
        }
    };
    let mut next = record.clone();
    next.extra.remove(UNDOING);
    if report.restored {
        next.status = record.status.transition(SandboxStatus::RolledBack).map_err(illegal)?;
        next.baseline = Some(last.baseline);
        next.extra.remove(LAST);
    }
    place.write(&next)?;
    if let Some(newer) = record.baseline.filter(|_| report.restored) {
        let_go(manager, &Made { baseline: newer, resource: last.resource });
    }
    Ok((next, report))
}
