//! A simulated world around the gate, and an independent model that judges what the gate does.
#![allow(dead_code, reason = "each test file uses a part of this")]
#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used, reason = "a panic is how a test fails")]

pub(crate) mod deletions;
pub(crate) mod judge;
pub(crate) mod life;
pub(crate) mod plan;
pub(crate) mod verdicts;
pub(crate) mod world;
