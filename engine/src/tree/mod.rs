//! Reading a workspace: the walk, its stat cache, and the comparison of two pictures. Never writes to the workspace.

mod collect;
mod content;
mod diff;
mod dir_task;
mod exclude;
mod list;
pub mod mirror;
mod mirrored;
mod source;
mod stat;
mod stat_cache;
pub mod sys;
mod walk;
pub(crate) mod xattr;

pub use collect::Totals;
pub use diff::{Difference, change, changes, differences, lookup};
pub use exclude::Rules;
pub use stat::Stat;
pub use stat_cache::{CacheReader, CacheRef, CacheWriter, compact};
pub(crate) use walk::LOCAL_SLACK_NS;
pub use walk::{Limits, Notices, SourceCache, Walk, Walked, is_local};
