//! The engine as its users meet it: one scenario per module, each with the requirements that it shows.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests panic")]

#[path = "../common/mod.rs"]
mod common;

mod cache_damage;
mod calls_after_cancel;
mod cancel;
mod cap;
mod churn;
mod crafted;
mod damage;
mod deep;
mod delete;
mod excludes;
mod frozen;
mod full_disk;
mod hard_cases;
mod interrupted;
mod journal;
mod killed;
mod limits;
mod marks;
mod modes;
mod mounts;
mod opening;
mod order;
mod processes;
mod prune;
mod racy;
mod random;
mod reading;
mod refused;
mod retention;
mod revert;
mod revert_conflicts;
mod revert_kinds;
mod revert_scope;
mod revert_support;
mod rollback_scope;
mod root_lost;
mod round_trip;
mod scope;
mod small_changes;
mod special;
mod syncs;
mod torn;
mod unchanged;
mod unreadable;
mod untouched;
mod wide;
