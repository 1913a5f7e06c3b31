//! Sandboxes of strategy `git_worktree` (S7, S8, P14, inputs 83–97), against real repositories made by the git of the machine.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    unreachable_pub,
    dead_code,
    reason = "tests panic; the shared helpers serve other tests as well"
)]

#[path = "../common/mod.rs"]
mod common;

mod carried;
mod commit;
mod conflicts;
mod create;
mod formats;
mod ground;
mod held_back;
mod history;
mod hostile;
mod in_the_way;
mod killed;
mod leads_out;
mod random;
mod saved;
mod settings;
mod undo;
mod undo_exact;
