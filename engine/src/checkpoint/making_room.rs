//! Making room in a store that is full: the oldest automatic checkpoints go (C16).

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use turnback_core::{CheckpointId, RetentionRules, plan_retention};

use super::create::now;
use super::manager::{Inner, STORE_PATIENCE};
use super::prune::{Chosen, Facts};
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::store::{OnFull, Patience, needed_bytes, removed_since};

/// How long is waited for others who are writing when the store is full.
const OTHERS_PATIENCE: Duration = Duration::from_secs(5);
/// So often a checkpoint is tried again after room was made.
const ATTEMPTS: usize = 8;

impl Inner {
    /// Runs something that writes to the store; when that does not fit, makes room and runs it again. The store's lock must not be held.
    ///
    /// # Errors
    /// Those of `write`; `STORE_FULL` when there is nothing left that may go.
    pub(super) fn with_room<T>(
        &self,
        protected: &BTreeSet<CheckpointId>,
        ctx: &Context,
        mut write: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        let mut done = write();
        for _ in 1..ATTEMPTS {
            match done {
                Err(error) if self.budget.on_full() == OnFull::Prune && needed_bytes(&error).is_some() => {
                    self.make_room(error, protected, ctx)?;
                    done = write();
                    self.budget.forget_promise();
                }
                _ => break,
            }
        }
        done
    }

    /// Removes the oldest automatic checkpoints until what failed with `full` fits, and promises the room to this thread.
    fn make_room(&self, full: Error, protected: &BTreeSet<CheckpointId>, ctx: &Context) -> Result<()> {
        let cap = self.budget.cap();
        let needed = needed_bytes(&full).unwrap_or(u64::MAX);
        let Some(target) = cap.checked_sub(needed) else { return Err(full) };
        let collector = self.collector(Patience::Wait(STORE_PATIENCE), ctx)?;
        let started = Instant::now();
        loop {
            let held = self.budget.held()?;
            let now_held = held.settled.saturating_add(held.taken);
            if now_held <= target {
                match self.budget.promise(needed) {
                    // Somebody was faster.
                    Err(error) if error.code() == Code::StoreFull => continue,
                    other => return other,
                }
            }
            if removed_since(self.layout())? > 0 {
                // What the default retention left.
                self.remove(&collector, collector.mark(&[])?, 0, Chosen::ByName)?;
                continue;
            }
            let Facts { all, .. } = self.facts()?;
            let plan = plan_retention(&all, RetentionRules::Room { max_bytes: target }, protected, now());
            let mut marked = collector.mark(plan.order())?;
            marked.count_in(|published| self.aside(published))?;
            let least = now_held.saturating_sub(marked.frees().iter().sum());
            if least > target {
                // Others who are writing give back what they have taken.
                if least.saturating_sub(held.taken) <= target && started.elapsed() < OTHERS_PATIENCE {
                    ctx.check()?;
                    std::thread::sleep(Duration::from_millis(5));
                    continue;
                }
                return Err(full);
            }
            // A little more than is needed, so that not every checkpoint has to make room, as long as that costs nothing else.
            let ample = target.saturating_sub(cap / 64);
            let count = if least <= ample {
                let rules = RetentionRules::Room { max_bytes: ample };
                plan_retention(&all, rules, protected, now()).settle(now_held, marked.frees()).deleted.len()
            } else {
                plan.settle(now_held, marked.frees()).deleted.len()
            };
            if let Some(why) = marked.obstacle(count) {
                let why = Error::corrupt(why);
                return Err(full.because(why));
            }
            let rules = RetentionRules::Room { max_bytes: target };
            let removed = self.remove(&collector, marked, count, Chosen::By(rules))?;
            tracing::info!(?removed, "automatic checkpoints went to make room");
            if count == 0 {
                return Err(full);
            }
            // One may have been pinned since: then others go.
            ctx.check()?;
        }
    }
}
