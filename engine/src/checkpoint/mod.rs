//! Checkpoints: the manager with everything that users call, and the records it gives them.

pub(crate) mod baseline;
mod cache_file;
mod carry_out;
pub(crate) mod commit;
mod committed;
mod contents;
mod create;
pub(crate) mod edit;
pub(crate) mod edited;
mod ends;
mod export;
mod failed;
mod journal_file;
mod look;
mod making_room;
mod manager;
mod marks;
mod pause;
mod prune;
mod query;
mod recover;
mod revert;
mod rollback;
mod roots;
mod stage_names;
pub(crate) mod standing;
mod types;
mod workspace;

pub use manager::{Manager, OpenOptions};
pub use marks::{LostMark, MAX_LABEL_BYTES};
pub use prune::{PruneReport, PruneRequest};
pub use query::DiffTo;
pub use revert::RevertRequest;
pub use rollback::RollbackRequest;
pub use types::{Checkpoint, Coverage, CreateRequest, Listed, Listing, RootPath, UsageReport};
