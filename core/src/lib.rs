//! The pure rules of Turnback: ids, time, the sandbox lifecycle, and the policy that decides whether a checkpoint is due.
//!
//! Nothing here reads a clock, a file, the environment or a random source, and nothing here starts a thread
//! (`clippy.toml` forbids it, with reasons): the host passes everything in. That is what makes the same inputs give the
//! same answers in Rust, in Node and in the browser (P1, P5).

mod comment;
mod excerpt;
mod flag;
mod gate;
mod ids;
mod lifecycle;
mod phase;
mod policy;
mod retention;
mod simulate;
mod strategy;
mod time;

pub use comment::{CheckpointComment, CommentPrefix, InvalidPrefix};
pub use excerpt::excerpt;
pub use flag::{ENVIRONMENT_VARIABLE, FLAG_VARIABLE, FlagDecision, FlagReason, FlagWarning, resolve_flag};
pub use gate::{
    AttemptId, Batch, BatchId, Cover, DigestKey, DriverCheckpointId, Gate, GateError, GateJsonError,
    GateOptions, Input, InvalidDriverCheckpointId, Outcome, Output, Reason, Start, TimeoutReason, Verdict,
    WrongInput,
};
pub use ids::{CheckpointId, IdError, IdKind, MAX_NAME_BYTES, PlanId, SandboxId, TurnId};
pub use lifecycle::{IllegalTransition, SandboxStatus, TRANSITIONS, UnknownStatus};
pub use phase::{Phase, UnknownPhase};
pub use policy::{CHECKPOINT_TIMEOUT, should_checkpoint};
pub use retention::{
    AUTOMATIC_LAST, AUTOMATIC_WITHIN, AutomaticRule, KeepReason, Kept, Retained, RetentionPlan,
    RetentionRules, plan_retention,
};
pub use simulate::{
    AttemptEnd, AttemptRecord, BatchRecord, DriverEnd, DriverModel, Latency, Lost, MOST_BATCHES, ModelPolicy,
    PolicyKind, Rate, Recorded, Replay, Summary, Timeline, TimelineBatch, TooManyBatches, Waiting, Why,
    simulate,
};
pub use strategy::{Strategy, UnknownStrategy};
pub use time::{Millis, MillisSpan};
