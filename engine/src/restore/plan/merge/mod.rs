//! The three-way merge of pictures (C15, and the rule that a commit shares, S6): what changed from `base` to `theirs` is brought into
//! `ours`, and what changed in `ours` since `base` stays. Three pictures in, a fourth out; no I/O save reading and putting manifests.
//!
//! | Who asks | `base` | `ours` (what is there, and is written to) | `theirs` |
//! |---|---|---|---|
//! | revert (C15) | what the turn left | the workspace now | what was before the turn |
//! | commit (S6) | the sandbox's baseline | the resource now | the sandbox |
//!
//! The merged picture is what the workspace is to become: [`super::plan`] then plans the way there as it plans a rollback, with all
//! its guards.
//!
//! # The rules for one path
//!
//! A *value* is everything but times: type, bytes or target, mode, owner, attributes.
//!
//! 1. `theirs` has the value of `base`: nobody brings a change; `ours` stays.
//! 2. `ours` has the value of `base`: nobody changed it since; `theirs` is taken, with its time. A `touch`, or a formatter that wrote
//!    the same bytes again, is no later edit.
//! 3. `ours` has the value of `theirs`: it is there already; `ours` stays, with its time.
//! 4. Otherwise it is a conflict.
//!
//! Directories are gone into wherever two of the three are directories, and their mode, owner and attributes are merged one by one;
//! the time is theirs only where `ours` still has the time of `base` and nothing in it stays changed. A directory
//! that only `base` and `ours` have goes when nothing is left in it. One that has to make place for something else must be wholly as
//! in `base`; otherwise it is one conflict, and nothing in it is touched. What one of the three does not cover is never the reason
//! to write or to delete.

mod decide;
mod descend;
mod finish;
mod links;
mod value;
mod words;

pub(crate) use value::{same_state, same_value};

use super::git::GitMode;
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::{Objects, Picture, RelPath, Sink, Uncovered};
use crate::report::Conflict;

/// What happens to paths that changed on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnConflict {
    /// Any conflict means that nothing is written at all.
    #[default]
    Fail,
    /// What is there now stays; everything else is done.
    Ours,
    /// What is there now gives way.
    Theirs,
}

impl OnConflict {
    /// The name as users see it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Ours => "ours",
            Self::Theirs => "theirs",
        }
    }
}

impl std::str::FromStr for OnConflict {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        [Self::Fail, Self::Ours, Self::Theirs].into_iter().find(|one| one.as_str() == text).ok_or_else(|| {
            let text = crate::model::escape(text.as_bytes());
            Error::new(
                Code::InvalidArgument,
                format!("`{text}` is no way to deal with conflicts"),
                "give `fail`, `ours` or `theirs`",
            )
        })
    }
}

/// How to merge.
#[derive(Debug, Clone, Default)]
pub struct MergeOptions {
    /// What happens to paths that changed on both sides.
    pub on_conflict: OnConflict,
    /// With [`GitMode::Keep`], conflicts in a `.git` are none: what is there stays and is listed.
    pub git: GitMode,
    /// Only these paths with what is beneath them; `None` for everything. `ours` stays everywhere else.
    pub paths: Option<Vec<RelPath>>,
}

/// The three pictures of a merge.
#[derive(Debug, Clone, Copy)]
pub struct Sides<'a> {
    /// Where both sides come from.
    pub base: &'a Picture,
    /// What is there, and is to be written to.
    pub ours: &'a Picture,
    /// What is to be brought in.
    pub theirs: &'a Picture,
}

/// What came of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// What the workspace is to become. Where there are conflicts it has `ours`, with [`OnConflict::Theirs`] `theirs`.
    pub picture: Picture,
    /// Paths that changed on both sides, sorted.
    pub conflicts: Vec<Conflict>,
    /// Paths that stay although only `base` and they themselves speak for it, sorted.
    pub kept: Vec<Uncovered>,
    /// Paths whose change cannot be brought in, because a side does not have them whole; sorted.
    pub not_restorable: Vec<Uncovered>,
    /// With [`GitMode::Keep`]: a HEAD changed on both sides and was left alone.
    pub head_moved: bool,
}

/// Reads manifests and takes new ones.
pub trait Manifests: Objects + Sink {}

impl<T: Objects + Sink> Manifests for T {}

/// Merges three pictures.
///
/// # Errors
/// `NOT_FOUND` for one of `options.paths` that no picture has; `CORRUPT` when a root's manifest cannot be read (a damaged directory
/// further down is listed as not restorable instead); `ABORTED` and `TIMED_OUT` from `ctx`.
pub fn merge(
    sides: Sides<'_>,
    manifests: &dyn Manifests,
    options: &MergeOptions,
    ctx: &Context,
) -> Result<Merged> {
    let found = descend::descend(sides, manifests, options, ctx)?;
    let mut merged = found.merged;
    let scope = options.paths.as_deref();
    let concerns = links::Concerns { taken: found.taken, unknown: found.unknown, scope };
    merged.picture.links = links::merge(sides, &merged.picture, &concerns, manifests, &mut merged.kept)?;
    merged.conflicts.sort();
    for list in [&mut merged.kept, &mut merged.not_restorable] {
        list.sort();
        list.dedup_by(|a, b| a.path == b.path && a.reason == b.reason);
    }
    Ok(merged)
}
