//! Which checkpoints this process has removed, for those who count on one (G9).

use napi_derive::napi;
use turnback_engine::Removals;

/// Removals of checkpoints.
#[napi(object, object_from_js = false)]
pub struct NativeRemovals {
    /// How many this process has removed so far.
    pub count: u32,
    /// The last of them, the oldest first.
    pub ids: Vec<String>,
    /// Ids up to this one may have been removed as well.
    pub forgotten_up_to: Option<String>,
}

/// How many checkpoints this process has removed so far, in any thread. After 2^32 it begins anew.
#[napi(catch_unwind)]
pub fn removals() -> u32 {
    Removals::count()
}

/// Those that were removed since that was `count`.
#[napi(catch_unwind)]
pub fn removals_since(count: u32) -> NativeRemovals {
    let removals = Removals::since(count);
    NativeRemovals {
        count: removals.count,
        ids: removals.ids.iter().map(ToString::to_string).collect(),
        forgotten_up_to: removals.forgotten_up_to.map(|id| id.to_string()),
    }
}
