//! Exact rollback (C5, C7, C8): a plan without side effects, content staged before the first write, and all writes through one
//! module that cannot leave the workspace.
//!
//! Calling order: [`plan`] compares two pictures; a dry run ends with [`Plan::changes`]; [`Root::open`] and a check of the
//! workspace's identity on its descriptor; [`apply`].

mod apply;
mod beneath;
pub mod journal;
mod plan;
mod stage;

pub use apply::{Applied, ApplyOptions, RootMade, Stopped, Target, apply};
pub(crate) use apply::{precheck, sync_before};
pub(crate) use beneath::{Dir, Overwrite, Refused, settle_directory, settle_link, settle_new};
pub use beneath::{Resolver, Root};
pub use plan::{GitMode, Manifests, MergeOptions, Merged, OnConflict, Plan, PlanOptions, Sides, merge, plan};
pub(crate) use plan::{is_git_name, same_state, same_value};
pub(crate) use stage::{needs_area, remove_beneath, sweep};
