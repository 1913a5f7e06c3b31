//! What a timeline of batches would have come to under a policy (P3): the guard's own gate, driven with a clock that only exists here.
//!
//! The gate's answers for one sandbox do not depend on what happens in others, so every sandbox is replayed by itself, with a gate
//! of its own; what it all comes to is put together afterwards.

mod arrivals;
mod driver;
mod lane;
mod lost;
mod luck;
mod memory;
mod order;
mod policy;
mod record;
mod replay;
mod summary;
mod timeline;
mod why;

pub use driver::{DriverEnd, DriverModel, Latency, Rate, Recorded};
use lane::Lanes;
pub use policy::{ModelPolicy, PolicyKind};
use record::Records;
pub use record::{AttemptEnd, AttemptRecord, BatchRecord};
use replay::LaneReplay;
pub use summary::{Lost, Summary, Waiting};
pub use timeline::{MOST_BATCHES, Timeline, TimelineBatch, TooManyBatches};
pub use why::Why;

/// What became of a timeline under one policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// One for each batch, in the order in which they asked; of those that asked at once by their place in the timeline.
    pub batches: Vec<BatchRecord>,
    /// In the order in which the driver was called. An attempt's number is its place here, from 1 on.
    pub attempts: Vec<AttemptRecord>,
    /// What it comes to.
    pub summary: Summary,
}

/// Replays a timeline. The same arguments give the same answer everywhere.
///
/// # Time
///
/// A batch asks at its start plus a shift: the largest of the batches of its sandbox that, undisturbed, would have ended by then. A
/// batch's shift is what it was shifted by itself plus what it waited. So a wait pushes back what came after it, and what ran side
/// by side stays side by side. A batch that is refused has no running time: it pushes others back only by what its waiting
/// exceeded the time that it would have run.
///
/// At one instant limits end first, then the driver answers, then batches ask, by their place in the timeline.
///
/// # Work that would be lost
///
/// A checkpoint has what the sandbox was when its attempt began. A rollback of a destructive batch goes to the newest one
/// that was complete when the batch began to run. What it throws away besides the batch is the running time, from the checkpoint's
/// beginning to the batch's, of all destructive batches of the sandbox that began before it. A late success of an attempt that
/// was given up is deleted and counts for nothing (G10).
pub fn simulate(timeline: &Timeline, driver: &DriverModel, policy: &ModelPolicy) -> Replay {
    let mut records = Records::new(timeline.batches().len());
    for lane in Lanes::of(timeline) {
        let mut replayed = LaneReplay::new(&lane, timeline, driver, policy).run();
        lost::account(&lane, &mut replayed);
        records.add(&lane, replayed);
    }
    records.finish(timeline, policy)
}
