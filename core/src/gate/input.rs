use super::driver_checkpoint::DriverCheckpointId;
use super::ids::{AttemptId, BatchId};
use super::reason::Reason;
use crate::comment::CommentPrefix;
use crate::ids::{SandboxId, TurnId};
use crate::time::MillisSpan;

/// What happened outside the gate. As JSON: an object whose `type` is the variant's name in snake case, with the fields
/// beside it in camel case (`js-tests/vectors/README.md` has them all).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A batch is about to run and asks first.
    Batch(Batch),
    /// The driver made the checkpoint of an attempt, whole and readable.
    ///
    /// Ignored for an attempt that is over, except that a late success is answered by
    /// [`Output::DeleteLate`](super::Output::DeleteLate) once (G10), as soon as no attempt is under way that may answer with the
    /// same id, and only if no turn counts on a checkpoint of this id.
    Created {
        /// From [`Output::Start`](super::Output::Start).
        attempt: AttemptId,
        /// What the driver calls the checkpoint, if it has ids.
        checkpoint_id: Option<DriverCheckpointId>,
        /// Whether the checkpoint's coverage is incomplete.
        partial: bool,
    },
    /// The driver could not make the checkpoint of an attempt, threw, or answered nonsense. Ignored for an attempt that is over.
    Failed {
        /// From [`Output::Start`](super::Output::Start).
        attempt: AttemptId,
    },
    /// The driver made no checkpoint because the store is paused (C17): no failure. Ignored for an attempt that is over.
    Paused {
        /// From [`Output::Start`](super::Output::Start).
        attempt: AttemptId,
    },
    /// A waiting batch's caller gave up (its abort signal fired). Ignored for a batch that does not wait.
    Cancelled {
        /// From its [`Batch`].
        batch: BatchId,
    },
    /// A batch of this turn will not run after all, whatever its verdict (G8). Once for each such batch.
    Released {
        /// Its sandbox.
        sandbox_id: SandboxId,
        /// Its turn.
        turn_id: TurnId,
        /// From its [`Batch`], if the host knows it and its verdict was not [`Outcome::AlreadyCovered`](super::Outcome): those are
        /// not told apart. What that batch added is taken back then, and nothing if the gate has forgotten it. Without it the batch may be any of the
        /// turn, and whichever it was, no batch that ran is taken for one that did not: so the turn may keep a checkpoint that
        /// nobody ran under, or call one late that is not.
        batch: Option<BatchId>,
    },
    /// The sandbox was restored: what is remembered of it no longer holds (G8).
    Forgotten {
        /// The sandbox.
        sandbox_id: SandboxId,
    },
    /// Whatever checkpoints a sandbox has, or all sandboxes have, can no longer be counted on: they are another driver's, or whether the
    /// sandbox was restored is not known. As [`Deleted`](Self::Deleted) for each; and attempts under way are void, and what failed
    /// before does not count.
    Uncovered {
        /// The sandbox. `None`: all.
        sandbox_id: Option<SandboxId>,
    },
    /// A checkpoint of the sandbox is gone: it was deleted by somebody else than the gate's host. The turns that counted on it are
    /// protected no longer, and the next batch of each gets another, a late one (G9). So does the next batch of `turn_id`, if
    /// nothing is remembered of that turn any more. Otherwise ignored for a checkpoint that is not known.
    Deleted {
        /// The sandbox.
        sandbox_id: SandboxId,
        /// What the driver called the checkpoint.
        checkpoint_id: DriverCheckpointId,
        /// The turn that it was made for and that ran under it, if the host knows it.
        turn_id: Option<TurnId>,
    },
    /// The host's options are others from now on ([`GateOptions`](super::GateOptions)); what is not given stays. Batches and
    /// attempts under way keep their limits.
    Options {
        /// The time limit.
        timeout: Option<MillisSpan>,
        /// The start of the comments.
        prefix: Option<CommentPrefix>,
    },
    /// Nothing but time passed: an [`Output::Timeout`](super::Output::Timeout) is due.
    Tick,
}

/// A batch that is about to run, and what its host knows about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The host's number for it.
    pub batch: BatchId,
    /// The sandbox that it will work in.
    pub sandbox_id: SandboxId,
    /// The turn that it belongs to, if the host knows it (G7, G11).
    pub turn_id: Option<TurnId>,
    /// Whether the flag is on (G3), read now. On if JSON does not say.
    pub flag_enabled: bool,
    /// Whether the store is paused (C17), read now. Not if JSON does not say.
    /// With `read_only` it is a mere question: then the batch leaves no trace at all, whereas one that only reads makes a release of its
    /// turn that names no batch one of nobody knows which.
    pub paused: bool,
    /// Whether there is a driver (G7). There is if JSON does not say.
    pub has_driver: bool,
    /// Whether its command is proven to change nothing and the host wants no checkpoint then (G14). Not if JSON does not say.
    pub read_only: bool,
}

impl Batch {
    /// Why no checkpoint is to be made for it at all: the first of these that holds.
    pub(super) const fn skipped(&self) -> Option<Reason> {
        if !self.flag_enabled {
            Some(Reason::FlagOff)
        } else if self.paused {
            Some(Reason::Paused)
        } else if !self.has_driver {
            Some(Reason::NoDriver)
        } else if self.turn_id.is_none() {
            Some(Reason::NoTurnId)
        } else if self.read_only {
            Some(Reason::ReadOnly)
        } else {
            None
        }
    }

    /// Whether it can change its sandbox, as far as its host can prove.
    pub(super) const fn destructive(&self) -> bool {
        !self.read_only
    }
}
