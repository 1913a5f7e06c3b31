use crate::retention::AutomaticRule;
use crate::time::MillisSpan;

/// When a policy asks for a checkpoint.
///
/// All of them share the gate's single attempts, its queue and its limits, so that they differ in nothing but what they are named
/// for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyKind {
    /// Once a turn: the gate as it is.
    PerTurn,
    /// Before each batch, without remembering anything.
    EveryBatch,
    /// A mistake: after a checkpoint began, no other one for so long, whatever turn it was made for.
    Interval(MillisSpan),
    /// A mistake: only the last turn that got a checkpoint is remembered.
    LastTurnOnly,
    /// A mistake: a batch of another turn joins the attempt under way and counts as covered by it.
    SharedAcrossTurns,
    /// Not at all.
    Never,
}

impl PolicyKind {
    /// Whether it is one of the mistakes that others made.
    pub const fn is_mistake(self) -> bool {
        matches!(self, Self::Interval(_) | Self::LastTurnOnly | Self::SharedAcrossTurns)
    }
}

/// The longest time limit that a guard takes: what a timer of JavaScript can wait, 24 days.
pub(super) const LONGEST_TIMEOUT: MillisSpan = MillisSpan::from_millis((1 << 31) - 1);

/// A policy to replay a timeline under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelPolicy {
    /// When it asks for a checkpoint.
    pub kind: PolicyKind,
    /// Whether batches that are proven to change nothing need none (G14).
    pub unless_read_only: bool,
    /// How long a batch waits at most, queueing included (G5). What is longer than 2^31 - 1 ms, which is the longest that a guard takes, counts as that.
    pub timeout: MillisSpan,
    /// Whether a batch whose checkpoint failed or ran out of time is refused.
    pub block: bool,
    /// Which checkpoints are still there at the end.
    pub retention: AutomaticRule,
}
