//! The verdict as it crosses into JavaScript: flat, as `Verdict` in TypeScript.

use super::driver_checkpoint::DriverCheckpointId;
use super::ids::BatchId;
use super::verdict::Verdict;
use crate::time::MillisSpan;

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FlatVerdict {
    batch: BatchId,
    outcome: &'static str,
    protected: bool,
    late: bool,
    partial: bool,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint_id: Option<DriverCheckpointId>,
    duration_ms: MillisSpan,
}

impl From<Verdict> for FlatVerdict {
    fn from(verdict: Verdict) -> Self {
        Self {
            batch: verdict.batch,
            outcome: verdict.outcome().as_str(),
            protected: verdict.protected(),
            late: verdict.cover.as_ref().is_some_and(|cover| cover.late),
            partial: verdict.cover.as_ref().is_some_and(|cover| cover.partial),
            reason: verdict.reason.as_str(),
            checkpoint_id: verdict.cover.and_then(|cover| cover.checkpoint_id),
            duration_ms: verdict.duration,
        }
    }
}
