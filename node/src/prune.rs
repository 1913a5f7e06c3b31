//! Pruning: its rules as JavaScript gives them, and what it did.

use napi_derive::napi;
use turnback_core::MillisSpan;
use turnback_engine::{PruneReport, PruneRequest, Result};

use crate::number::{from_js, to_js};

/// By which rules checkpoints go.
#[napi(object, object_to_js = false)]
pub struct NativePruneRequest {
    /// The last ones of each workspace stay.
    pub keep_last: Option<f64>,
    /// What is not older than so many milliseconds stays.
    pub keep_within_ms: Option<f64>,
    /// The store may hold so many bytes.
    pub max_bytes: Option<f64>,
    /// The rules may take every checkpoint that is not pinned.
    pub all: bool,
    /// Only say what would go.
    pub dry_run: bool,
}

impl NativePruneRequest {
    /// The engine's request.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for what is no whole number.
    pub(crate) fn parse(&self) -> Result<PruneRequest> {
        let number = |name, given: Option<f64>| given.map(|value| from_js(name, value)).transpose();
        Ok(PruneRequest {
            // More than there can be is all of them.
            keep_last: number("keepLast", self.keep_last)?.map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
            keep_within: number("keepWithinMs", self.keep_within_ms)?.map(MillisSpan::from_millis),
            max_bytes: number("maxBytes", self.max_bytes)?,
            all: self.all,
            dry_run: self.dry_run,
        })
    }
}

/// A checkpoint that stays.
#[napi(object, object_from_js = false)]
pub struct NativeKept {
    /// The name of the checkpoint's directory.
    pub checkpoint_id: String,
    /// Why, in lower snake case.
    pub reason: String,
}

/// What a prune did, or would do.
#[napi(object, object_from_js = false)]
pub struct NativePruneReport {
    /// What went, in the order in which it went.
    pub deleted: Vec<String>,
    /// What stays, oldest first.
    pub kept: Vec<NativeKept>,
    /// Bytes that the disk got back.
    pub freed_bytes: i64,
    /// Bytes that the store holds now, or would hold.
    pub store_bytes: i64,
    /// Whether that is no more than was asked for.
    pub target_reached: bool,
    /// Whether the rules take every checkpoint that is not pinned.
    pub takes_all: bool,
}

impl TryFrom<&PruneReport> for NativePruneReport {
    type Error = turnback_engine::Error;

    fn try_from(from: &PruneReport) -> Result<Self> {
        let kept = from
            .kept
            .iter()
            .map(|(id, reason)| NativeKept { checkpoint_id: id.clone(), reason: reason.as_str().to_owned() });
        Ok(Self {
            deleted: from.deleted.iter().map(ToString::to_string).collect(),
            kept: kept.collect(),
            freed_bytes: to_js(from.freed_bytes)?,
            store_bytes: to_js(from.store_bytes)?,
            target_reached: from.target_reached,
            takes_all: from.takes_all,
        })
    }
}
