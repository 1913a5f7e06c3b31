//! What a commit does, decided on three pictures before anything is written (S6): what is held back, what counts as changed by whom,
//! texts, conflicts.

mod hold;
mod patch;
mod read;
mod refused;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use self::patch::Patch;
use super::commit::{CommitOptions, HeldBack, HoldReason, OnCommitConflict};
use crate::checkpoint::commit::{Decided, Look};
use crate::error::Result;
use crate::model::{Picture, Reason, RelPath};
use crate::report::Conflict;
use crate::restore::{GitMode, Manifests, MergeOptions, Merged, OnConflict, Sides, merge};
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
        return Ok(first.decision(fails));
    }
    // What the resource has there is not known, so that it can neither win nor give way: the sandbox's change is held back.
    let unknown = first.merged.not_restorable.iter().map(|one| one.path.clone()).collect();
    Ok(attempt(look, options, &unknown)?.decision(fails))
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
    fn decision(self, fails: bool) -> Decision {
        let Self { baseline, mut held, merged } = self;
        let swapped = |Conflict { path, ours, theirs }| Conflict { path, ours: theirs, theirs: ours };
        let mut conflicts: Vec<Conflict> = merged.conflicts.into_iter().map(swapped).collect();
        if fails {
            let unknown = |one: crate::model::Uncovered| Conflict {
                path: one.path,
                ours: "a change".to_owned(),
                theirs: format!("something that cannot be captured ({})", one.reason.as_str()),
            };
            conflicts.extend(merged.not_restorable.into_iter().map(unknown));
            conflicts.sort();
        }
        let stays = merged.kept.into_iter().filter(|one| one.reason == Reason::NotEmpty);
        held.extend(stays.map(|one| HeldBack { path: one.path, reason: HoldReason::NotEmpty }));
        held.sort();
        held.dedup();
        let stops = fails && !conflicts.is_empty();
        let decided = (!stops).then_some(Decided { baseline, merged: merged.picture });
        Decision { decided, conflicts, held }
    }
}

/// A baseline in which some paths are as an older one has them: they were not committed after all.
pub(super) fn without(
    baseline: &Picture,
    older: &Picture,
    paths: &[RelPath],
    manifests: &dyn Manifests,
) -> Result<Picture> {
    let mut set = BTreeMap::new();
    for path in paths.iter().filter(|path| !paths.iter().any(|p| p != *path && path.starts_with(p))) {
        if !path.is_root() {
            set.insert(path.clone(), lookup(older, path, manifests)?);
        }
    }
    Patch { set, meta: BTreeMap::new() }.apply(baseline, older, manifests)
}
