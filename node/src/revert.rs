//! Taking changes back: the request as JavaScript gives it, and conflicts.

use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;
use turnback_engine::{Code, Conflict, Error, GitMode, Result, RevertRequest};

use crate::path::{PathText, rel_paths};

/// How to take changes back.
#[napi(object, object_to_js = false)]
pub struct NativeRevertRequest {
    /// What happens to paths that were changed again since: `fail`, `ours` or `theirs`.
    pub on_conflict: String,
    /// Only say what would be done.
    pub dry_run: bool,
    /// Only these paths, relative to the workspace.
    pub paths: Option<Vec<Uint8Array>>,
    /// Take changes inside `.git` back too, or overwrite nothing there; by default what suits the workspace.
    pub git_exact: Option<bool>,
    /// Go on when the root was replaced.
    pub allow_replaced_root: bool,
    /// Take a checkpoint first.
    pub safety: bool,
}

impl NativeRevertRequest {
    /// The engine's request, with `git` for [`crate::request::git_mode`] to fill in.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a path that could leave the workspace, or an unknown way with conflicts.
    pub(crate) fn parse(&self) -> Result<RevertRequest> {
        let unknown = |_| {
            Error::new(
                Code::InvalidArgument,
                "onConflict is none of fail, ours, theirs",
                "pass one of these, or leave it out",
            )
        };
        Ok(RevertRequest {
            on_conflict: self.on_conflict.parse().map_err(unknown)?,
            dry_run: self.dry_run,
            git: GitMode::Keep,
            paths: rel_paths(self.paths.as_deref())?,
            allow_replaced_root: self.allow_replaced_root,
            safety: self.safety,
        })
    }
}

/// A path that two sides changed.
#[napi(object, object_from_js = false)]
pub struct NativeConflict {
    /// The path, relative to the workspace.
    pub path: PathText,
    /// What is there now, in words.
    pub ours: String,
    /// What was to come back, in words.
    pub theirs: String,
}

impl From<&Conflict> for NativeConflict {
    fn from(from: &Conflict) -> Self {
        Self {
            path: PathText::from_bytes(from.path.as_bytes()),
            ours: from.ours.clone(),
            theirs: from.theirs.clone(),
        }
    }
}
