//! What JavaScript asks of sandboxes, as the engine's checked types.

use std::time::Duration;

use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;
use turnback_core::PlanId;
use turnback_engine::sandbox::{CommitOptions, LeaseRequest, MergeMode, OnCommitConflict};
use turnback_engine::{Code, Error, Result, SandboxOptions};

use crate::number::from_js;
use crate::path::path_buf;
use crate::request::plan_id;

/// What a new sandbox is to be.
#[napi(object, object_to_js = false)]
pub struct NativeSandboxRequest {
    /// The directory to isolate, absolute.
    pub resource: Uint8Array,
    /// How, in lower snake case.
    pub strategy: String,
    /// Its plan's id.
    pub plan_id: Option<String>,
    /// How a copy is to be made.
    pub mechanism: String,
    /// The directory in which to make it, absolute.
    pub location: Option<Uint8Array>,
    /// What is carried into a worktree, relative to the resource.
    pub seed: Vec<Uint8Array>,
    /// Begin with the resource's uncommitted state.
    pub carry_changes: bool,
    /// Nobody has to hold it for so many milliseconds; without it, this process does.
    pub detached_for_ms: Option<f64>,
    /// Refuse a tree of more files.
    pub max_files: Option<f64>,
}

impl NativeSandboxRequest {
    /// The engine's options.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for what is no strategy, mechanism, id or number.
    pub(crate) fn parse(&self) -> Result<SandboxOptions> {
        let plan_id: Option<PlanId> = self.plan_id.clone().map(plan_id).transpose()?;
        let lease = match self.detached_for_ms {
            None => LeaseRequest::Held,
            Some(ms) => LeaseRequest::Detached(Duration::from_millis(from_js("detachedForMs", ms)?)),
        };
        Ok(SandboxOptions {
            strategy: self.strategy.parse()?,
            plan_id,
            mechanism: self.mechanism.parse()?,
            location: self.location.as_deref().map(path_buf),
            seed: self.seed.iter().map(|path| path_buf(path)).collect(),
            carry_changes: self.carry_changes,
            lease,
            max_files: self.max_files.map(|n| from_js("maxFiles", n)).transpose()?,
            ..SandboxOptions::new(path_buf(&self.resource))
        })
    }
}

/// How to commit.
#[napi(object, object_to_js = false)]
pub struct NativeCommitRequest {
    /// What happens to paths that both sides changed: `fail`, `ours` or `theirs`.
    pub on_conflict: String,
    /// For a worktree: to its own branch alone.
    pub branch_only: bool,
    /// Merge texts whose changed lines do not meet.
    pub text_merge: Option<bool>,
    /// For a worktree: the commit's message.
    pub message: Option<String>,
    /// Do not hold back what lies in a `.git`.
    pub allow_git: bool,
    /// Do not hold back what makes the host run something later.
    pub allow_trusted: bool,
}

impl NativeCommitRequest {
    /// The engine's options.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an unknown way with conflicts.
    pub(crate) fn parse(self) -> Result<CommitOptions> {
        let on_conflict = match self.on_conflict.as_str() {
            "fail" => OnCommitConflict::Fail,
            "ours" => OnCommitConflict::Ours,
            "theirs" => OnCommitConflict::Theirs,
            _ => {
                return Err(Error::new(
                    Code::InvalidArgument,
                    "onConflict is none of fail, ours, theirs",
                    "pass one of these, or leave it out",
                ));
            }
        };
        Ok(CommitOptions {
            on_conflict,
            merge: if self.branch_only { MergeMode::Branch } else { MergeMode::Merge },
            text_merge: self.text_merge,
            message: self.message,
            allow_git: self.allow_git,
            allow_trusted: self.allow_trusted,
        })
    }
}
