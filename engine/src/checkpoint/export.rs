//! Exporting: a plain copy of a checkpoint in a new directory (C9).

use std::path::Path;

use turnback_core::CheckpointId;

use super::manager::Manager;
use super::workspace::{Broad, Workspace};
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::{Reason, Uncovered};
use crate::restore::{ApplyOptions, GitMode, PlanOptions, Root, Target, apply, plan};
use crate::store::Durability;

impl Manager {
    /// Makes a plain copy of a checkpoint; the directory must be missing or empty.
    ///
    /// # Errors
    /// `NOT_FOUND`, `CONFLICT` when the directory is not empty, `CORRUPT` when something cannot be restored, `STORE_NESTED`,
    /// `DISK_FULL`, `PERMISSION_DENIED`, `ABORTED`, `TIMED_OUT`, `IO`.
    pub fn export(&self, id: CheckpointId, directory: &Path, ctx: &Context) -> Result<()> {
        let inner = self.open_inner()?;
        let published = inner.catalog.require(id)?;
        let target = Workspace::resolve_missing(directory)?;
        target.check_scope(inner.layout(), Broad::Allowed)?;
        let _store = inner.share_store(ctx)?;
        let picture = published.parsed.picture(&inner.packs)?;
        let root = target.open_if_there()?;
        if root.is_some() {
            let mut entries = std::fs::read_dir(&target.path)
                .map_err(|e| Error::io("listing the target directory", e).at(&target.path))?;
            if entries.next().is_some() {
                return Err(Error::new(
                    Code::Conflict,
                    "the target directory is not empty",
                    "give a new or an empty directory",
                )
                .at(&target.path));
            }
        }
        let options = PlanOptions { git: GitMode::Exact, paths: None };
        let plan = plan(None, &picture, &inner.packs, &options, ctx)?;
        let root = root.map(|fd| Root::from_fd(fd, &target.path)).transpose()?;
        let place = match &root {
            Some(root) => Target::Existing(root),
            None => Target::Missing(&target.path),
        };
        // Staged in the new directory itself, so that a store that can only be read can be exported from.
        let stage_name = format!(".turnback-stage-{}", inner.next_id()?);
        let options = ApplyOptions {
            pool: inner.pool()?,
            stage_in: None,
            stage_name: stage_name.as_bytes(),
            leftovers: &[],
            sync: inner.durability == Durability::Power,
            root_made: None,
        };
        let applied = apply(place, &plan, &inner.packs, &options, ctx)?;
        // What the checkpoint says itself that it does not have is no failure; a directory that cannot be read is, although the plan
        // knows of it already.
        let is_lost = |u: &&Uncovered| u.reason == Reason::Damaged || !plan.not_restorable().contains(u);
        let lost: Vec<_> = applied.not_restorable.iter().filter(is_lost).collect();
        let Some(first) = lost.first() else { return Ok(()) };
        let (count, noun) = (lost.len(), if lost.len() == 1 { "path" } else { "paths" });
        Err(Error::new(
            Code::Corrupt,
            format!(
                "{count} {noun} could not be exported, the first one is `{}` ({})",
                first.path,
                first.reason.as_str()
            ),
            "the others are there; run `turnback verify`",
        )
        .at(&target.path))
    }
}
