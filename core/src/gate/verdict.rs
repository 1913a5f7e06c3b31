use super::driver_checkpoint::DriverCheckpointId;
use super::ids::BatchId;
use super::reason::{Outcome, Reason};
use crate::time::MillisSpan;

/// The gate's answer to one batch (G9). The batch may run; whether it must not (`onFailure: 'block'`, a denial) is the
/// host's business, who then says [`Input::Released`](super::Input::Released).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Which batch.
    pub batch: BatchId,
    /// Why. The outcome follows from it.
    pub reason: Reason,
    /// The turn's checkpoint, if it has one that can be trusted.
    pub cover: Option<Cover>,
    /// From the batch's arrival to this answer.
    pub duration: MillisSpan,
}

impl Verdict {
    /// What became of the batch's checkpoint.
    pub const fn outcome(&self) -> Outcome {
        self.reason.outcome()
    }

    /// Whether a checkpoint of the batch's turn was complete before any batch of the turn ran, or is marked late.
    pub const fn protected(&self) -> bool {
        self.cover.is_some()
    }
}

/// The checkpoint that a turn has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    /// Whether a batch of the turn may already have run when the checkpoint was complete (G6).
    pub late: bool,
    /// Whether the checkpoint's coverage is incomplete.
    pub partial: bool,
    /// What the driver calls it. `None` when the driver gave no id, and for later batches when the id is longer than the
    /// gate remembers ([`DriverCheckpointId`] says which are not).
    pub checkpoint_id: Option<DriverCheckpointId>,
}
