//! The snapshot store: content-addressed objects in packs, one pack and one record for each checkpoint. `docs/format.md` draws it.

mod budget;
mod catalog;
mod draft;
mod ephemeral;
mod files;
mod format;
mod freed;
mod gc;
mod grave;
mod index;
mod keep;
mod layout;
mod lock;
mod manifest;
mod mark;
mod open;
mod pack;
mod pack_set;
mod reach;
mod record;
mod removals;
mod room;
mod shrink;
mod suspects;
mod usage;
mod verify;

pub(crate) use budget::STAGE;
pub use budget::{Budget, Held, MAX_DEFAULT_CAP, MIN_CAP, OnFull, needed_bytes};
pub use catalog::{Catalog, Damaged, Published, unknown};
pub use draft::{Draft, Durability, End, Preview};
pub(crate) use files::{create_file, make_directory, names, open_file, read_file, remove_file};
pub use files::{random_name, remove_tree, sync_directory, write_sealed};
pub use format::{FORMAT_VERSION, seal, unseal};
pub use gc::{Collector, Hooks, Removed};
pub use keep::removed_since;
pub use layout::Layout;
pub use lock::{FileLock, LockKind, Patience, StoreAlone, own_store, share_store};
pub use mark::Marked;
pub use open::{OpenedStore, StoreLocation, open_store, unsafe_ancestor};
pub use pack_set::PackSet;
pub use record::{
    CoverageRecord, Identity, LossyPath, Marks, Parsed, Record, RollbackOf, RootRecord, RulesRecord,
    UncoveredRecord,
};
pub use removals::Removals;
pub use room::Room;
pub use usage::{disk_usage, freed_by_delete};
pub use verify::{VerifyReport, verify, verify_kept_packs};
