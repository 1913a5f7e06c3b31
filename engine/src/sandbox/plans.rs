//! The sandboxes of plans (S11): one for each resource of a plan, made when it is first asked for.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use turnback_core::{PlanId, SandboxStatus};

use super::handle::Handle;
use super::names::{Mechanism, MechanismChoice};
use super::options::SandboxOptions;
use super::sandboxes::Sandboxes;
use super::strategy::{CleanupReport, Sandbox};
use crate::checkpoint::Manager;
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::report::RollbackReport;

type Key = (PlanId, PathBuf);
/// One for each key, so that two who ask for the same at once get one, and nobody else waits.
type Cell = Arc<Mutex<Option<Arc<dyn Sandbox>>>>;

/// Holds the sandboxes of plans for this process.
#[derive(Debug)]
pub struct SandboxManager {
    pub(super) sandboxes: Sandboxes,
    cells: Mutex<BTreeMap<Key, Cell>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SandboxManager {
    /// One that holds nothing yet.
    #[must_use]
    pub fn new(manager: &Manager) -> Self {
        Self { sandboxes: Sandboxes::new(manager), cells: Mutex::default() }
    }

    /// The plan's sandbox of a resource; made when there is none, or when the last one was cleaned up. The plan id in `options` gives
    /// way to `plan_id`. One that is held is given only where it is isolated as `options` ask for (F19, S5); the other options count only
    /// when one is made.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when the plan holds one of another strategy, or of another mechanism than the one that is asked for by name;
    /// those of [`Sandboxes::create`].
    pub fn get_or_create(
        &self,
        plan_id: &PlanId,
        options: &SandboxOptions,
        ctx: &Context,
    ) -> Result<Arc<dyn Sandbox>> {
        let resource = self.sandboxes.manager.check_resource(&options.resource)?;
        let cell = Arc::clone(locked(&self.cells).entry((plan_id.clone(), resource)).or_default());
        let mut held = locked(&cell);
        if let Some(sandbox) = &*held
            && sandbox.handle().status()? != SandboxStatus::CleanedUp
        {
            refuse_other(sandbox.handle(), options)?;
            return Ok(Arc::clone(sandbox));
        }
        let options = SandboxOptions { plan_id: Some(plan_id.clone()), ..options.clone() };
        let sandbox = self.sandboxes.create(&options, ctx)?;
        *held = Some(Arc::clone(&sandbox));
        Ok(sandbox)
    }

    /// The sandboxes of a plan, by resource.
    #[must_use]
    pub fn of_plan(&self, plan_id: &PlanId) -> Vec<Arc<dyn Sandbox>> {
        let cells: Vec<Cell> = {
            let cells = locked(&self.cells);
            cells.iter().filter(|((plan, _), _)| plan == plan_id).map(|(_, cell)| Arc::clone(cell)).collect()
        };
        cells.iter().filter_map(|cell| locked(cell).clone()).collect()
    }

    /// Puts all sandboxes of a plan back to their baselines. All are tried; the answers are in the order of their resources.
    pub fn rollback_all(&self, plan_id: &PlanId, ctx: &Context) -> Vec<Result<RollbackReport>> {
        self.of_plan(plan_id).iter().map(|sandbox| sandbox.rollback(ctx)).collect()
    }

    /// Cleans up all sandboxes of a plan. All are tried; those that refuse stay with the plan.
    pub fn cleanup_all(&self, plan_id: &PlanId, force: bool, ctx: &Context) -> Vec<Result<CleanupReport>> {
        let answers: Vec<_> =
            self.of_plan(plan_id).into_iter().map(|sandbox| sandbox.cleanup(force, ctx)).collect();
        self.forget_cleaned(plan_id);
        answers
    }

    /// Lets go of the sandboxes of a plan that are cleaned up, by whomever.
    pub fn forget_cleaned(&self, plan_id: &PlanId) {
        locked(&self.cells).retain(|(plan, _), cell| {
            let gone = || {
                // Somebody who is making one holds it.
                let Ok(held) = cell.try_lock() else { return false };
                held.as_ref().is_none_or(|s| matches!(s.handle().status(), Ok(SandboxStatus::CleanedUp)))
            };
            plan != plan_id || !gone()
        });
    }
}

/// Nobody is given another isolation than the one asked for (F19).
fn refuse_other(held: &Handle, asked: &SandboxOptions) -> Result<()> {
    let made = held.mechanism().map(Mechanism::as_str);
    let (what, has, wants) = if held.strategy() != asked.strategy {
        ("strategy", held.strategy().as_str(), asked.strategy.as_str())
    } else if asked.mechanism != MechanismChoice::Auto && made != Some(asked.mechanism.as_str()) {
        ("mechanism", made.unwrap_or("none"), asked.mechanism.as_str())
    } else {
        return Ok(());
    };
    Err(Error::new(
        Code::InvalidArgument,
        format!(
            "the plan holds the sandbox {} of {what} `{has}` for this resource, and `{wants}` is asked for",
            held.id()
        ),
        format!("ask for {what} `{has}`, or clean that sandbox up first"),
    )
    .at(held.resource())
    .with_detail("sandboxId", held.id().to_string())
    .with_detail(what, has.to_owned()))
}
