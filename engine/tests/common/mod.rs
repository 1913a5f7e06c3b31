//! What all scenarios share: places with a workspace and a store, trees with every kind of path, a picture of a tree that uses no
//! engine code, and processes of their own.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers panic as tests do, and each test binary uses a part of them"
)]

pub mod everything;
pub mod picture;
pub mod place;
pub mod process;
