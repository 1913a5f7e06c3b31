//! The calls of the engine's manager that make sandboxes or find them, and the sandboxes of plans.

use std::sync::Arc;

use napi::Env;
use napi::bindgen_prelude::{Object, Undefined};
use napi_derive::napi;
use turnback_engine::{Manager, Result, SandboxManager, Sandboxes};

use crate::job::{Control, Ticket, refuse, run};
use crate::manager::{NativeManager, checked};
use crate::request::{plan_id, sandbox_id};
use crate::sandbox::NativeSandbox;
use crate::sandbox_report::{NativeAbandonedReport, NativeCommitReport, NativeSandboxInfo};
use crate::sandbox_request::{NativeCommitRequest, NativeSandboxRequest};

#[napi]
impl NativeManager {
    /// Makes a sandbox.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeSandbox | Failure>")]
    pub fn create_sandbox<'env>(
        &self,
        env: &'env Env,
        request: NativeSandboxRequest,
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        match checked(ticket, &control, request.parse())? {
            Err(error) => refuse(env, error),
            Ok((options, ctx)) => run(env, &self.manager, move |manager| {
                NativeSandbox::of(Sandboxes::new(manager).create(&options, &ctx)?)
            }),
        }
    }

    /// A sandbox that was made earlier.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeSandbox | Failure>")]
    pub fn attach_sandbox<'env>(
        &self,
        env: &'env Env,
        id: String,
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        match checked(ticket, &control, sandbox_id(&id))? {
            Err(error) => refuse(env, error),
            Ok((id, ctx)) => run(env, &self.manager, move |manager| {
                NativeSandbox::of(Sandboxes::new(manager).attach(&id, &ctx)?)
            }),
        }
    }

    /// All sandboxes of the store.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<NativeSandboxInfo> | Failure>")]
    pub fn list_sandboxes<'env>(
        &self,
        env: &'env Env,
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        match checked(ticket, &control, Ok(()))? {
            Err(error) => refuse(env, error),
            Ok(((), ctx)) => run(env, &self.manager, move |manager| {
                let all = Sandboxes::new(manager).list(&ctx)?;
                Ok(all.iter().map(NativeSandboxInfo::from).collect::<Vec<_>>())
            }),
        }
    }

    /// Removes the sandboxes that nobody keeps and that hold nothing unsaved.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeAbandonedReport | Failure>")]
    pub fn cleanup_abandoned<'env>(
        &self,
        env: &'env Env,
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        match checked(ticket, &control, Ok(()))? {
            Err(error) => refuse(env, error),
            Ok(((), ctx)) => run(env, &self.manager, move |manager| {
                Ok(NativeAbandonedReport::from(&Sandboxes::new(manager).cleanup_abandoned(&ctx)?))
            }),
        }
    }

    /// What holds the sandboxes of plans.
    #[napi(catch_unwind)]
    pub fn sandbox_manager(&self) -> NativeSandboxManager {
        let plans = Arc::new(SandboxManager::new(&self.manager));
        NativeSandboxManager { manager: self.manager.clone(), plans }
    }
}

/// The sandboxes of plans.
#[napi]
pub struct NativeSandboxManager {
    manager: Manager,
    plans: Arc<SandboxManager>,
}

#[napi]
impl NativeSandboxManager {
    /// A plan's sandbox of a resource.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeSandbox | Failure>")]
    pub fn get_or_create<'env>(
        &self,
        env: &'env Env,
        plan: String,
        request: NativeSandboxRequest,
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        let plans = Arc::clone(&self.plans);
        let request = plan_id(plan).and_then(|plan| Ok((plan, request.parse()?)));
        match checked(ticket, &control, request)? {
            Err(error) => refuse(env, error),
            Ok(((plan, options), ctx)) => run(env, &self.manager, move |_| {
                NativeSandbox::of(plans.get_or_create(&plan, &options, &ctx)?)
            }),
        }
    }

    /// The sandboxes of a plan, by resource.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<NativeSandbox> | Failure>")]
    pub fn of_plan<'env>(&self, env: &'env Env, plan: String) -> napi::Result<Object<'env>> {
        let plans = Arc::clone(&self.plans);
        match plan_id(plan) {
            Err(error) => refuse(env, error),
            Ok(plan) => run(env, &self.manager, move |_| {
                plans.of_plan(&plan).into_iter().map(NativeSandbox::of).collect::<Result<Vec<_>>>()
            }),
        }
    }

    /// Commits all sandboxes of a plan, or none.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<NativeCommitReport> | Failure>")]
    pub fn commit_all<'env>(
        &self,
        env: &'env Env,
        plan: String,
        request: NativeCommitRequest,
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        let plans = Arc::clone(&self.plans);
        let request = plan_id(plan).and_then(|plan| Ok((plan, request.parse()?)));
        match checked(ticket, &control, request)? {
            Err(error) => refuse(env, error),
            Ok(((plan, options), ctx)) => run(env, &self.manager, move |_| {
                let reports = plans.commit_all(&plan, &options, &ctx)?;
                reports.iter().map(NativeCommitReport::try_from).collect::<Result<Vec<_>>>()
            }),
        }
    }

    /// Lets go of the sandboxes of a plan that are cleaned up.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Failure>")]
    pub fn forget<'env>(&self, env: &'env Env, plan: String) -> napi::Result<Object<'env>> {
        let plans = Arc::clone(&self.plans);
        match plan_id(plan) {
            Err(error) => refuse(env, error),
            Ok(plan) => run::<Undefined, _>(env, &self.manager, move |_| {
                plans.forget_cleaned(&plan);
                Ok(())
            }),
        }
    }
}
