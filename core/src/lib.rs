//! The pure rules of Turnback: ids, time, the sandbox lifecycle, and the policy that decides whether a checkpoint is due.
//!
//! Nothing here reads a clock, a file, the environment or a random source, and nothing here starts a thread
//! (`clippy.toml` forbids it, with reasons): the host passes everything in. That is what makes the same inputs give the
//! same answers in Rust, in Node and in the browser (P1, P5).

mod excerpt;
mod ids;
mod phase;
mod strategy;
mod time;

pub use excerpt::excerpt;
pub use ids::{CheckpointId, IdError, IdKind, MAX_NAME_BYTES, PlanId, SandboxId, TurnId};
pub use phase::{Phase, UnknownPhase};
pub use strategy::{Strategy, UnknownStrategy};
pub use time::{Millis, MillisSpan};
