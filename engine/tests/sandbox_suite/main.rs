//! Sandboxes as their users meet them (S1–S12): one contract for every strategy and mechanism, and a scenario per module.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    unreachable_pub,
    reason = "tests panic"
)]

#[path = "../common/mod.rs"]
mod common;

mod at_the_cap;
mod beside;
mod commit;
mod commit_all;
mod commit_all_killed;
mod commit_killed;
mod commit_model;
mod contract;
mod ends;
mod fidelity;
mod ground;
mod held_back;
mod held_back_leads;
mod inputs;
mod inside;
mod killed;
mod learned;
mod leases;
mod life;
mod missing;
mod place;
mod plans;
mod random;
mod rollback_killed;
mod snapshots;
mod speed;
mod texts;
mod unsaved;
