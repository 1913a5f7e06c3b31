//! How much a plan has to make before it can put things in place.

use super::{Act, Plan, Role, State};

/// What a path takes beside its bytes, on file systems with blocks of this size.
const BLOCK: u64 = 4096;

impl Plan {
    /// The bytes that staging takes at most: the contents of what comes back, each in whole blocks. Holes count as bytes.
    #[must_use]
    pub fn staged_bytes(&self) -> u64 {
        let whole = |bytes: u64| bytes.div_ceil(BLOCK).saturating_add(1).saturating_mul(BLOCK);
        let files = self.items.iter().filter(|item| item.act != Act::Delete).map(|item| {
            let bytes = item.after.as_ref().and_then(State::bytes).unwrap_or(0);
            whole(bytes)
        });
        let dirs =
            self.dirs.iter().map(|dir| if matches!(dir.role, Role::Create { .. }) { BLOCK } else { 0 });
        files.chain(dirs).fold(0, u64::saturating_add)
    }
}
