//! The native engine of Turnback: walks a workspace, keeps checkpoints in a content-addressed store, and turns a workspace back to
//! one exactly. `docs/format.md` draws the store, `ARCHITECTURE.md` the parts.
//!
//! Works on Linux. Every public operation blocks; run it on a thread of your own ([`Manager::spawn`]).

mod change;
mod checkpoint;
mod context;
mod error;
mod file_limit;
pub mod model;
pub mod probe;
mod reached;
mod recovery;
mod report;
pub mod restore;
pub mod sandbox;
pub mod store;
mod text_diff;
pub mod tree;

pub use change::{Change, ChangeKind};
pub use checkpoint::{
    Checkpoint, Coverage, CreateRequest, DiffTo, Listed, Listing, LostMark, MAX_LABEL_BYTES, Manager,
    OpenOptions, PruneReport, PruneRequest, RevertRequest, RollbackRequest, RootPath, UsageReport,
};
pub use context::{Cancel, Context, OnCreated, OnProgress, Progress};
pub use error::{Code, Error, Result};
pub use model::{Reason, RelPath, Uncovered, escape};
pub use reached::{Far, Reached, Step};
pub use recovery::{Begun, Pending, RecoveryOutcome, RecoveryReport, RestoreKind};
pub use report::{Conflict, RollbackReport};
pub use restore::{GitMode, OnConflict};
pub use sandbox::{Sandbox, SandboxManager, SandboxOptions, Sandboxes};
pub use store::{Damaged, Durability, OnFull, Removals, StoreLocation, VerifyReport};
pub use text_diff::text_diff;
