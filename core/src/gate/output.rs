use super::driver_checkpoint::DriverCheckpointId;
use super::ids::AttemptId;
use super::verdict::Verdict;
use crate::comment::{CommentPrefix, comment_text};
use crate::ids::{SandboxId, TurnId};
use crate::time::Millis;

/// What the host has to do. As JSON: like [`Input`](super::Input).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Ask the driver for a checkpoint, and say [`Input::Created`](super::Input::Created),
    /// [`Input::Failed`](super::Input::Failed) or [`Input::Paused`](super::Input::Paused) when it has answered.
    Start(Start),
    /// A batch's answer. Each batch gets exactly one.
    Verdict(Verdict),
    /// Tell the driver to stop: nobody waits for this attempt any more. What it says afterwards does not count.
    Abort {
        /// The attempt.
        attempt: AttemptId,
    },
    /// An attempt that was aborted succeeded all the same: ask the driver to delete the checkpoint, if it can (G10).
    DeleteLate {
        /// The attempt.
        attempt: AttemptId,
        /// What the driver calls the checkpoint.
        checkpoint_id: DriverCheckpointId,
    },
    /// Nothing more to do until `at`: come back then with [`Input::Tick`](super::Input::Tick), or earlier with news.
    Timeout {
        /// When, by the host's clock.
        at: Millis,
        /// What will be due.
        reason: TimeoutReason,
    },
    /// Nothing more to do, and nothing waits for time to pass.
    Idle,
}

/// An attempt to make a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The gate's number for it.
    pub attempt: AttemptId,
    /// What to picture.
    pub sandbox_id: SandboxId,
    /// Which turn it is for.
    pub turn_id: TurnId,
    /// Whose checkpoint it is: the gate's prefix.
    pub prefix: CommentPrefix,
    /// Whether a batch of the turn may already have run. It can still become true while the attempt is under way: the
    /// verdict has the last word.
    pub late: bool,
    /// When the gate will give it up at the latest.
    pub deadline: Millis,
}

impl Start {
    /// The checkpoint's comment (G2).
    pub fn comment(&self) -> String {
        comment_text(&self.prefix, &self.turn_id)
    }
}

/// What a [`Output::Timeout`] is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeoutReason {
    /// A batch's limit ends.
    BatchLimit,
    /// An attempt's limit ends.
    AttemptLimit,
    /// A sandbox has been unused for 24 hours (G8). Nobody waits for this one: a host may let it lie until it has other news.
    Sweep,
}

impl TimeoutReason {
    /// The reason's name in TypeScript and in logs, for instance `batch_limit`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BatchLimit => "batch_limit",
            Self::AttemptLimit => "attempt_limit",
            Self::Sweep => "sweep",
        }
    }
}
