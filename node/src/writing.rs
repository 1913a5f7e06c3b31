//! The calls of the engine's manager that restore a workspace or remove checkpoints by rules.

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use turnback_engine::Result;

use crate::convert::NativeRollbackReport;
use crate::job::{Control, Ticket, refuse, run};
use crate::manager::{NativeManager, checked};
use crate::path::path_buf;
use crate::prune::{NativePruneReport, NativePruneRequest};
use crate::recovery::{NativePending, NativeRecoveryReport};
use crate::request::{NativeRollbackRequest, checkpoint_id, git_mode};
use crate::revert::NativeRevertRequest;

#[napi]
impl NativeManager {
    /// Restores a checkpoint.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeRollbackReport | Failure>")]
    pub fn rollback<'env>(
        &self,
        env: &'env Env,
        id: String,
        request: NativeRollbackRequest,
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        let exact = request.git_exact;
        let request = request.parse().and_then(|request| Ok((checkpoint_id(&id)?, request)));
        match checked(ticket, &control, request)? {
            Err(error) => refuse(env, error),
            Ok(((id, mut request), ctx)) => run(env, &self.manager, move |manager| {
                request.git = git_mode(manager, exact, id)?;
                NativeRollbackReport::try_from(&manager.rollback(id, request, &ctx)?)
            }),
        }
    }

    /// Takes a rollback back.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeRollbackReport | Failure>")]
    pub fn undo<'env>(
        &self,
        env: &'env Env,
        id: String,
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        match checked(ticket, &control, checkpoint_id(&id))? {
            Err(error) => refuse(env, error),
            Ok((id, ctx)) => run(env, &self.manager, move |manager| {
                NativeRollbackReport::try_from(&manager.undo(id, &ctx)?)
            }),
        }
    }

    /// Takes back what changed from one checkpoint to another, and keeps later edits.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeRollbackReport | Failure>")]
    pub fn revert<'env>(
        &self,
        env: &'env Env,
        from: String,
        to: String,
        request: NativeRevertRequest,
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        let exact = request.git_exact;
        let request =
            request.parse().and_then(|request| Ok((checkpoint_id(&from)?, checkpoint_id(&to)?, request)));
        match checked(ticket, &control, request)? {
            Err(error) => refuse(env, error),
            Ok(((from, to, mut request), ctx)) => run(env, &self.manager, move |manager| {
                request.git = git_mode(manager, exact, from)?;
                NativeRollbackReport::try_from(&manager.revert(from, to, request, &ctx)?)
            }),
        }
    }

    /// Finishes what was interrupted in a directory; `null` when nothing was.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeRecoveryReport | null | Failure>")]
    pub fn recover<'env>(
        &self,
        env: &'env Env,
        directory: &[u8],
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        let directory = path_buf(directory);
        match checked(ticket, &control, Ok(directory))? {
            Err(error) => refuse(env, error),
            Ok((directory, ctx)) => run(env, &self.manager, move |manager| {
                let report = manager.recover(&directory, &ctx)?;
                report.as_ref().map(NativeRecoveryReport::try_from).transpose()
            }),
        }
    }

    /// Gives up what was interrupted in a directory; `null` when nothing was.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeRecoveryReport | null | Failure>")]
    pub fn abandon<'env>(
        &self,
        env: &'env Env,
        directory: &[u8],
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        let directory = path_buf(directory);
        match checked(ticket, &control, Ok(directory))? {
            Err(error) => refuse(env, error),
            Ok((directory, ctx)) => run(env, &self.manager, move |manager| {
                let report = manager.abandon(&directory, &ctx)?;
                report.as_ref().map(NativeRecoveryReport::try_from).transpose()
            }),
        }
    }

    /// What was interrupted and waits, in every workspace.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<NativePending> | Failure>")]
    pub fn pending<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        run(env, &self.manager, |manager| {
            manager.pending()?.iter().map(NativePending::try_from).collect::<Result<Vec<_>>>()
        })
    }

    /// Removes checkpoints by rules.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<NativePruneReport | Failure>")]
    pub fn prune<'env>(
        &self,
        env: &'env Env,
        request: NativePruneRequest,
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        match checked(ticket, &control, request.parse())? {
            Err(error) => refuse(env, error),
            Ok((request, ctx)) => run(env, &self.manager, move |manager| {
                NativePruneReport::try_from(&manager.prune(request, &ctx)?)
            }),
        }
    }
}
