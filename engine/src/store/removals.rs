use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use turnback_core::CheckpointId;

/// How many removals are remembered, of all stores together.
const MOST: usize = 10_000;

static COUNT: AtomicU32 = AtomicU32::new(0);
static LAST: Mutex<Last> = Mutex::new(Last { ids: VecDeque::new(), forgotten_up_to: None });

struct Last {
    /// Oldest first.
    ids: VecDeque<CheckpointId>,
    forgotten_up_to: Option<CheckpointId>,
}

/// The checkpoints that this process takes out of stores: by name, by rules, to make room, by any manager on any thread. For those who
/// count on a checkpoint to be there (G9), and ask often: that nothing was removed since is one atomic load.
///
/// One is noted right before it goes, and stays noted when that fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removals {
    /// How many this process has removed so far; after 2^32 it begins anew.
    pub count: u32,
    /// Those since the count that was asked about, the oldest first; only the last ones, if there were more than 10,000.
    pub ids: Vec<CheckpointId>,
    /// No checkpoint with an id up to this one is known to be there: a removal among those that are no longer remembered had it.
    pub forgotten_up_to: Option<CheckpointId>,
}

impl Removals {
    /// How many checkpoints this process has removed so far; after 2^32 it begins anew.
    pub fn count() -> u32 {
        COUNT.load(Ordering::Acquire)
    }

    /// Those that were removed since the count was `count`.
    pub fn since(count: u32) -> Self {
        let last = locked();
        let now = COUNT.load(Ordering::Acquire);
        let new = usize::try_from(now.wrapping_sub(count)).unwrap_or(usize::MAX).min(last.ids.len());
        Self {
            count: now,
            ids: last.ids.range(last.ids.len() - new..).copied().collect(),
            forgotten_up_to: last.forgotten_up_to,
        }
    }
}

/// A checkpoint is about to go.
pub(super) fn note(id: CheckpointId) {
    let mut last = locked();
    last.ids.push_back(id);
    if last.ids.len() > MOST {
        last.forgotten_up_to = last.forgotten_up_to.max(last.ids.pop_front());
    }
    COUNT.fetch_add(1, Ordering::Release);
}

/// What is behind the lock is whole at every moment: a panic of another thread does not change that.
fn locked() -> MutexGuard<'static, Last> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner)
}
