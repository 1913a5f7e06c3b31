//! JavaScript's options as the engine's checked types. The TypeScript has checked them too; here they are parsed.

use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;
use turnback_core::{CheckpointId, Phase, PlanId, SandboxId};
use turnback_engine::{
    Code, CreateRequest, DiffTo, Durability, Error, GitMode, Manager, OnFull, OpenOptions, Result,
    RollbackRequest, RootPath, Sandboxes, StoreLocation,
};

use crate::convert::NativePair;
use crate::number::from_js;
use crate::path::{path_buf, rel_paths};

/// How to open a store.
#[napi(object, object_to_js = false)]
pub struct NativeOpenOptions {
    /// The store's directory; the user's own store by default.
    pub store: Option<Uint8Array>,
    /// A store that goes with the manager.
    pub ephemeral: bool,
    /// Survive a power cut (`true`) or only the end of the process; by default what suits the store.
    pub power_durability: Option<bool>,
    /// Trust no timestamp.
    pub strict: bool,
    /// The most bytes that the store may hold; by default what suits the disk.
    pub max_bytes: Option<f64>,
    /// Fail when something does not fit (`true`), or let old automatic checkpoints go.
    pub fail_when_full: bool,
}

impl NativeOpenOptions {
    /// The engine's options.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a cap that is no whole number.
    pub(crate) fn parse(&self) -> Result<OpenOptions> {
        let store = match &self.store {
            Some(path) => StoreLocation::Path(path_buf(path)),
            None if self.ephemeral => StoreLocation::Ephemeral,
            None => StoreLocation::Default,
        };
        let durability =
            self.power_durability.map(|yes| if yes { Durability::Power } else { Durability::Process });
        Ok(OpenOptions {
            store,
            durability,
            strict: self.strict,
            max_bytes: self.max_bytes.map(|bytes| from_js("maxBytes", bytes)).transpose()?,
            on_full: if self.fail_when_full { OnFull::Fail } else { OnFull::Prune },
        })
    }
}

/// What to checkpoint and how.
#[napi(object, object_to_js = false)]
pub struct NativeCreateRequest {
    /// The directory, absolute.
    pub directory: Uint8Array,
    /// The plan's id.
    pub plan_id: String,
    /// The phase, in lower snake case.
    pub phase: String,
    /// The caller's metadata.
    pub metadata: Vec<NativePair>,
    /// A label.
    pub label: Option<String>,
    /// Paths to leave out, in gitignore syntax.
    pub exclude: Vec<String>,
    /// Leave out what git ignores.
    pub exclude_ignored: bool,
    /// Leave out files over this length, in bytes.
    pub max_file_bytes: Option<f64>,
    /// Refuse a tree of more files.
    pub max_files: Option<f64>,
    /// Take a workspace that is too broad.
    pub allow_broad: bool,
    /// The directory is a sandbox's own path: a link in its place is not followed.
    pub recorded: bool,
}

impl NativeCreateRequest {
    /// The engine's request.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for what is no id, phase or number.
    pub(crate) fn parse(self) -> Result<CreateRequest> {
        let plan_id = plan_id(self.plan_id)?;
        let phase: Phase = self.phase.parse().map_err(|cause| invalid(&cause))?;
        let mut request = CreateRequest::new(plan_id, phase);
        request.metadata = self.metadata.into_iter().map(|pair| (pair.key, pair.value)).collect();
        request.label = self.label;
        request.exclude = self.exclude;
        request.exclude_ignored = self.exclude_ignored;
        request.max_file_bytes = self.max_file_bytes.map(|n| from_js("maxFileBytes", n)).transpose()?;
        request.max_files = self.max_files.map(|n| from_js("maxFiles", n)).transpose()?;
        request.allow_broad = self.allow_broad;
        request.root = if self.recorded { RootPath::Recorded } else { RootPath::Given };
        Ok(request)
    }
}

/// How to roll back.
#[napi(object, object_to_js = false)]
pub struct NativeRollbackRequest {
    /// Only say what would be done.
    pub dry_run: bool,
    /// Only these paths, relative to the workspace.
    pub paths: Option<Vec<Uint8Array>>,
    /// Restore into this directory, absolute.
    pub into: Option<Uint8Array>,
    /// Restore `.git` exactly too, or overwrite nothing there; by default what suits the workspace.
    pub git_exact: Option<bool>,
    /// Go on when the root was replaced.
    pub allow_replaced_root: bool,
    /// Take a checkpoint first.
    pub safety: bool,
}

impl NativeRollbackRequest {
    /// The engine's request, with `git` for [`git_mode`] to fill in.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a path that could leave the workspace.
    pub(crate) fn parse(&self) -> Result<RollbackRequest> {
        Ok(RollbackRequest {
            dry_run: self.dry_run,
            paths: rel_paths(self.paths.as_deref())?,
            into: self.into.as_ref().map(|path| path_buf(path)),
            git: GitMode::Keep,
            allow_replaced_root: self.allow_replaced_root,
            safety: self.safety,
        })
    }
}

/// What happens inside `.git`: as was asked for, otherwise as suits the workspace (C7).
///
/// # Errors
/// `CORRUPT` for a damaged record of the checkpoint or of its sandbox.
pub(crate) fn git_mode(manager: &Manager, exact: Option<bool>, checkpoint: CheckpointId) -> Result<GitMode> {
    match exact {
        Some(true) => Ok(GitMode::Exact),
        Some(false) => Ok(GitMode::Keep),
        None => Sandboxes::new(manager).git_mode(checkpoint),
    }
}

/// A checkpoint's id.
///
/// # Errors
/// `INVALID_ARGUMENT` for what is none.
pub(crate) fn checkpoint_id(text: &str) -> Result<CheckpointId> {
    text.parse().map_err(|cause: turnback_core::IdError| invalid(&cause))
}

/// A sandbox's id.
///
/// # Errors
/// `INVALID_ARGUMENT` for what is none.
pub(crate) fn sandbox_id(text: &str) -> Result<SandboxId> {
    SandboxId::new(text).map_err(|cause| invalid(&cause))
}

/// A plan's id.
///
/// # Errors
/// `INVALID_ARGUMENT` for what is none.
pub(crate) fn plan_id(text: String) -> Result<PlanId> {
    PlanId::new(text).map_err(|cause| invalid(&cause))
}

/// The other side of a comparison: a checkpoint, or the workspace as it is now.
///
/// # Errors
/// `INVALID_ARGUMENT` for what is no id.
pub(crate) fn diff_to(text: Option<&str>) -> Result<DiffTo> {
    text.map_or(Ok(DiffTo::Now), |id| checkpoint_id(id).map(DiffTo::Checkpoint))
}

/// The errors of `core` say in one sentence what was given and what to do.
fn invalid(cause: &impl ToString) -> Error {
    let text = cause.to_string();
    match text.split_once(": ") {
        Some((found, advice)) => Error::new(Code::InvalidArgument, found, advice),
        None => Error::new(Code::InvalidArgument, text, "correct it and call again"),
    }
}
