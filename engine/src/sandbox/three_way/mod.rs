//! What a commit does, decided on three pictures before anything is written (S6): what is held back, what counts as changed by whom,
//! texts, conflicts.

mod hold;
mod patch;
mod put_back;
mod read;
mod refused;
mod text;

use std::collections::BTreeSet;

pub(super) use self::put_back::without;
use super::commit::{CommitOptions, HeldBack, HoldReason, OnCommitConflict};
use crate::checkpoint::commit::{Decided, Look};
use crate::error::Result;
use crate::model::{Node, Picture, Reason, RelPath, Uncovered};
use crate::report::Conflict;
use crate::restore::{GitMode, MergeOptions, Merged, OnConflict, Sides, merge};
use crate::tree::lookup;

/// A decision, with what the report says of it.
pub(super) struct Decision {
    /// `None` when conflicts keep everything from being written.
    pub(super) decided: Option<Decided>,
    /// Paths that both sides changed: `ours` is the sandbox.
    pub(super) conflicts: Vec<Conflict>,
    /// Sorted.
    pub(super) held: Vec<HeldBack>,
}

/// Decides on a commit.
pub(super) fn decide(look: &Look<'_>, options: &CommitOptions) -> Result<Decision> {
    let fails = options.on_conflict == OnCommitConflict::Fail;
    let first = attempt(look, options, &BTreeSet::new())?;
    if fails || first.merged.not_restorable.is_empty() {
        return first.decision(look, options.on_conflict);
    }
    // What the resource has there is not known, so that it can neither win nor give way: the sandbox's change is held back.
    let unknown = first.merged.not_restorable.iter().map(|one| one.path.clone()).collect();
    attempt(look, options, &unknown)?.decision(look, options.on_conflict)
}

struct Attempt {
    baseline: Picture,
    held: Vec<HeldBack>,
    merged: Merged,
}

fn attempt(look: &Look<'_>, options: &CommitOptions, not_captured: &BTreeSet<RelPath>) -> Result<Attempt> {
    let allowed = hold::hold_back(look, options, not_captured)?;
    let (base, sandbox) = refused::with_refused(look, &allowed.picture)?;
    let merge_with = |base: &Picture, sandbox: &Picture| {
        let sides = Sides { base, ours: look.resource, theirs: sandbox };
        let on_conflict = match options.on_conflict {
            OnCommitConflict::Fail => OnConflict::Fail,
            // The merge calls ours what is there.
            OnCommitConflict::Ours => OnConflict::Theirs,
            OnCommitConflict::Theirs => OnConflict::Ours,
        };
        let options = MergeOptions { on_conflict, git: GitMode::Exact, paths: None };
        merge(sides, look.manifests, &options, look.ctx)
    };
    let mut merged = merge_with(&base, &sandbox)?;
    if options.text_merge.unwrap_or(false)
        && !merged.conflicts.is_empty()
        && let Some((base, sandbox)) = text::with_texts(look, &base, &sandbox, &merged.conflicts)?
    {
        merged = merge_with(&base, &sandbox)?;
    }
    Ok(Attempt { baseline: allowed.picture, held: allowed.held, merged })
}

impl Attempt {
    fn decision(self, look: &Look<'_>, on_conflict: OnCommitConflict) -> Result<Decision> {
        let Self { baseline, mut held, merged } = self;
        let fails = on_conflict == OnCommitConflict::Fail;
        let swapped = |Conflict { path, ours, theirs }| Conflict { path, ours: theirs, theirs: ours };
        let mut conflicts: Vec<Conflict> = merged.conflicts.into_iter().map(swapped).collect();
        if fails {
            let unknown = |one: Uncovered| Conflict {
                path: one.path,
                ours: "a change".to_owned(),
                theirs: format!("something that cannot be captured ({})", one.reason.as_str()),
            };
            conflicts.extend(merged.not_restorable.into_iter().map(unknown));
            conflicts.sort();
        }
        let mut lost: Vec<RelPath> = Vec::new();
        if on_conflict == OnCommitConflict::Theirs {
            lost.extend(conflicts.iter().map(|conflict| conflict.path.clone()));
        }
        for one in merged.kept {
            if let Some(reason) = stays(look, &one)? {
                lost.push(one.path.clone());
                held.push(HeldBack { path: one.path, reason });
            }
        }
        held.sort();
        held.dedup();
        if fails && !conflicts.is_empty() {
            return Ok(Decision { decided: None, conflicts, held });
        }
        let baseline = match lost.as_slice() {
            [] => baseline,
            lost => put_back::without_lost(look, &baseline, &merged.picture, lost)?,
        };
        Ok(Decision { decided: Some(Decided { baseline, merged: merged.picture }), conflicts, held })
    }
}

/// Why something stays in the resource that the sandbox deleted; `None` when it deleted nothing.
fn stays(look: &Look<'_>, one: &Uncovered) -> Result<Option<HoldReason>> {
    if one.reason == Reason::NotEmpty {
        return Ok(Some(HoldReason::NotEmpty));
    }
    // What the sandbox never had is not its deletion.
    let was = lookup(look.base, &one.path, look.manifests)?;
    let is = lookup(look.sandbox, &one.path, look.manifests)?;
    let was_there = was.is_some_and(|entry| !matches!(entry.node, Node::Uncovered { .. }));
    let is_capture = matches!(one.reason, Reason::NotCaptured | Reason::Mount);
    Ok((was_there && is.is_none() && is_capture).then_some(HoldReason::NotCaptured))
}
