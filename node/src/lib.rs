//! The native half of the npm package `turnback`: converts JavaScript values, delegates to the engine, converts back.
//!
//! Nothing is decided here. Every long call returns a promise that one of the manager's own threads settles: loading the
//! addon starts no thread, and libuv's pool is never used. A failure crosses as data ([`error::Failure`]); the
//! TypeScript in `node/lib` makes an error object of it. A panic becomes such a failure too and never ends the process.

pub mod convert;
mod early;
pub mod error;
pub mod events;
pub mod gate;
pub mod job;
pub mod manager;
pub mod number;
pub mod path;
pub mod policy;
pub mod probe;
pub mod prune;
pub mod read_only;
pub mod recovery;
pub mod removals;
pub mod request;
pub mod revert;
pub mod sandbox;
pub mod sandbox_report;
pub mod sandbox_request;
pub mod sandboxes;
pub mod text_diff;
pub mod writing;
