//! What the store remembers of a sandbox: written before anything is made, so that nothing exists that nobody lists (S9).

use std::collections::BTreeMap;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use turnback_core::{CheckpointId, Millis, PlanId, SandboxId, SandboxStatus};

use super::names::{Mechanism, StrategyName};
use crate::error::{Error, Result};
use crate::model::RelPath;
use crate::store::{FORMAT_VERSION, Identity, LossyPath};

/// A record as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stored {
    format: u32,
    id: String,
    strategy: String,
    mechanism: Option<String>,
    plan_id: Option<String>,
    resource: LossyPath,
    #[serde(default)]
    resource_root: Option<Identity>,
    path: LossyPath,
    holder: Option<LossyPath>,
    own_base: bool,
    status: String,
    baseline: Option<String>,
    detached_until_ms: Option<u64>,
    created_at_ms: u64,
    absolute_links: Vec<LossyPath>,
    copied: CopiedRecord,
    /// What a strategy of its own has to remember.
    #[serde(default)]
    extra: BTreeMap<String, String>,
}

/// How the files of a sandbox came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CopiedRecord {
    /// Files that share their blocks with the resource's.
    pub shared_files: u64,
    /// Files whose bytes were copied; with `reflink` the small ones, for which that is cheaper.
    pub copied_files: u64,
    /// Of those, the ones that were to share their blocks and that the file system refused.
    pub refused_files: u64,
    /// Absolute links that lead back into the resource (F47).
    pub absolute_links: u64,
}

/// A record with its types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) id: SandboxId,
    pub(crate) strategy: StrategyName,
    pub(crate) mechanism: Option<Mechanism>,
    pub(crate) plan_id: Option<PlanId>,
    /// The resource's canonical path.
    pub(crate) resource: PathBuf,
    /// What identifies the resource's root (C5); `None` where nothing is ever written to it, and in older records.
    pub(crate) resource_root: Option<Identity>,
    /// Where to work.
    pub(crate) path: PathBuf,
    /// The private directory around `path`, which goes with the sandbox; none where nothing was made.
    pub(crate) holder: Option<PathBuf>,
    /// The directory around the holder is one of ours, and goes when it is empty.
    pub(crate) own_base: bool,
    pub(crate) status: SandboxStatus,
    pub(crate) baseline: Option<CheckpointId>,
    pub(crate) detached_until: Option<Millis>,
    pub(crate) created_at: Millis,
    /// The first of the absolute links that lead back into the resource.
    pub(crate) absolute_links: Vec<RelPath>,
    pub(crate) copied: CopiedRecord,
    pub(crate) extra: BTreeMap<String, String>,
}

fn stored_path(path: &Path) -> LossyPath {
    LossyPath::new(path.as_os_str().as_bytes())
}

fn absolute(path: &LossyPath) -> Option<PathBuf> {
    let path = PathBuf::from(std::ffi::OsString::from_vec(path.bytes()?));
    path.is_absolute().then_some(path)
}

impl Record {
    pub(super) fn stored(&self) -> Stored {
        Stored {
            format: FORMAT_VERSION,
            id: self.id.to_string(),
            strategy: self.strategy.to_string(),
            mechanism: self.mechanism.map(|m| m.to_string()),
            plan_id: self.plan_id.as_ref().map(ToString::to_string),
            resource: stored_path(&self.resource),
            resource_root: self.resource_root,
            path: stored_path(&self.path),
            holder: self.holder.as_deref().map(stored_path),
            own_base: self.own_base,
            status: self.status.to_string(),
            baseline: self.baseline.map(|id| id.to_string()),
            detached_until_ms: self.detached_until.map(Millis::as_u64),
            created_at_ms: self.created_at.as_u64(),
            absolute_links: self.absolute_links.iter().map(|p| LossyPath::new(p.as_bytes())).collect(),
            copied: self.copied,
            extra: self.extra.clone(),
        }
    }
}

impl Stored {
    pub(super) fn parse(self) -> Result<Record> {
        let id = self.id.clone();
        self.try_parse().ok_or_else(|| Error::corrupt(format!("the record of sandbox {id} is malformed")))
    }

    fn try_parse(self) -> Option<Record> {
        let links = self.absolute_links.iter().map(|p| RelPath::parse(&p.bytes()?).ok());
        Some(Record {
            id: self.id.parse().ok()?,
            strategy: self.strategy.parse().ok()?,
            mechanism: self.mechanism.map(|m| m.parse()).transpose().ok()?,
            plan_id: self.plan_id.map(|p| p.parse()).transpose().ok()?,
            resource: absolute(&self.resource)?,
            resource_root: self.resource_root,
            path: absolute(&self.path)?,
            holder: match &self.holder {
                Some(holder) => Some(absolute(holder)?),
                None => None,
            },
            own_base: self.own_base,
            status: self.status.parse().ok()?,
            baseline: self.baseline.map(|id| id.parse()).transpose().ok()?,
            detached_until: self.detached_until_ms.map(Millis::since_epoch),
            created_at: Millis::since_epoch(self.created_at_ms),
            absolute_links: links.collect::<Option<_>>()?,
            copied: self.copied,
            extra: self.extra,
        })
    }
}
