//! One sandbox for JavaScript. Every call that waits or touches files runs on a thread of the manager's own.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use napi::Env;
use napi::bindgen_prelude::{Object, ToNapiValue, Undefined};
use napi_derive::napi;
use turnback_core::SandboxStatus;
use turnback_engine::{Context, Result, Sandbox};

use crate::convert::{NativeRollbackReport, changes};
use crate::job::{Control, Ticket, refuse, run};
use crate::manager::checked;
use crate::number::{date_to_js, from_js};
use crate::path::{PathText, path_buf};
use crate::sandbox_report::{
    NativeCleanupReport, NativeCommitReport, NativeCopied, NativeGitInfo, copied, git_info,
};
use crate::sandbox_request::NativeCommitRequest;

/// A sandbox with the status that the last call found: reading it must not touch a file system that may hang.
struct Held {
    sandbox: Arc<dyn Sandbox>,
    seen: Mutex<SandboxStatus>,
}

impl Held {
    /// Looks at the status anew. Where the record cannot be read the last status stays: each call says itself what is wrong.
    fn look(&self) {
        if let Ok(status) = self.sandbox.handle().status() {
            *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = status;
        }
    }
}

/// One sandbox, held by this process as long as this object lives.
#[napi]
pub struct NativeSandbox {
    held: Arc<Held>,
    checkpoints_id: String,
}

impl NativeSandbox {
    /// A sandbox of the engine.
    ///
    /// # Errors
    /// `CORRUPT` when its record cannot be read, and when its path cannot be made an id.
    pub(crate) fn of(sandbox: Arc<dyn Sandbox>) -> Result<Self> {
        let handle = sandbox.handle();
        let checkpoints_id = handle.checkpoints_id()?.to_string();
        let seen = Mutex::new(handle.status()?);
        Ok(Self { held: Arc::new(Held { sandbox, seen }), checkpoints_id })
    }

    fn sandbox(&self) -> &dyn Sandbox {
        &*self.held.sandbox
    }

    /// Runs `work`, and looks at the status afterwards, also when it failed.
    fn run<'env, T, W>(&self, env: &'env Env, work: W) -> napi::Result<Object<'env>>
    where
        T: ToNapiValue + Send + 'static,
        W: FnOnce(&dyn Sandbox) -> Result<T> + Send + 'static,
    {
        let held = Arc::clone(&self.held);
        run(env, self.sandbox().handle().manager(), move |_| {
            let answer = work(&*held.sandbox);
            held.look();
            answer
        })
    }
}

#[napi]
impl NativeSandbox {
    /// Its id.
    #[napi(getter, catch_unwind)]
    pub fn id(&self) -> String {
        self.sandbox().handle().id().to_string()
    }

    /// The id under which its checkpoints stand.
    #[napi(getter, catch_unwind)]
    pub fn checkpoints_id(&self) -> String {
        self.checkpoints_id.clone()
    }

    /// What it isolates.
    #[napi(getter, catch_unwind)]
    pub fn resource(&self) -> PathText {
        PathText::from_path(self.sandbox().handle().resource())
    }

    /// Where to work.
    #[napi(getter, catch_unwind)]
    pub fn path(&self) -> PathText {
        PathText::from_path(self.sandbox().handle().path())
    }

    /// How it isolates.
    #[napi(getter, catch_unwind)]
    pub fn strategy(&self) -> String {
        self.sandbox().handle().strategy().to_string()
    }

    /// How a copy was made; nothing where none was.
    #[napi(getter, catch_unwind)]
    pub fn mechanism(&self) -> Option<String> {
        self.sandbox().handle().mechanism().map(|mechanism| mechanism.to_string())
    }

    /// Its plan.
    #[napi(getter, catch_unwind)]
    pub fn plan_id(&self) -> Option<String> {
        self.sandbox().handle().plan_id().map(ToString::to_string)
    }

    /// Its status, as the last call on this object found it.
    #[napi(getter, catch_unwind)]
    pub fn status(&self) -> String {
        self.held.seen.lock().unwrap_or_else(PoisonError::into_inner).as_str().to_owned()
    }

    /// What must be writable to work in it.
    #[napi(getter, catch_unwind)]
    pub fn writable_paths(&self) -> Vec<PathText> {
        self.sandbox().writable_paths().iter().map(|path| PathText::from_path(path)).collect()
    }

    /// The first absolute links that lead back into the resource.
    #[napi(getter, catch_unwind)]
    pub fn absolute_links(&self) -> Vec<PathText> {
        let links = self.sandbox().handle().absolute_links();
        links.iter().map(|path| PathText::from_bytes(path.as_bytes())).collect()
    }

    /// How its files came about.
    ///
    /// # Errors
    /// A napi error for a count that no directory has.
    #[napi(getter, catch_unwind)]
    pub fn copied(&self) -> napi::Result<NativeCopied> {
        copied(self.sandbox().handle().copied()).map_err(|error| napi::Error::from_reason(error.to_string()))
    }

    /// What there is to know of its repository.
    ///
    /// # Errors
    /// A napi error for a count that no repository has.
    #[napi(getter, catch_unwind)]
    pub fn git(&self) -> napi::Result<Option<NativeGitInfo>> {
        let info = self.sandbox().git().map(git_info).transpose();
        info.map_err(|error| napi::Error::from_reason(error.to_string()))
    }

    /// Whether a path is inside, with every link followed.
    #[napi(catch_unwind)]
    pub fn contains(&self, path: &[u8]) -> bool {
        self.sandbox().contains(&path_buf(path))
    }

    /// Looks at the status anew.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Failure>")]
    pub fn refresh<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        self.run::<Undefined, _>(env, |_| Ok(()))
    }

    /// The id of the checkpoint that it is compared with, or `null`.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null | Failure>")]
    pub fn baseline<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        self.run(env, |sandbox| Ok(sandbox.handle().baseline()?.map(|id| id.to_string())))
    }

    /// Makes it active, if it is not.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Failure>")]
    pub fn enter<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        self.run::<Undefined, _>(env, |sandbox| sandbox.enter(&Context::default()).map(|_entered| ()))
    }

    /// Keeps it for so many milliseconds from now on, whoever lives, and gives the end of that time in milliseconds since 1970.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<number | Failure>")]
    pub fn keep_for<'env>(
        &self,
        env: &'env Env,
        ms: f64,
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        match checked(ticket, &control, from_js("ms", ms))? {
            Err(error) => refuse(env, error),
            Ok((ms, ctx)) => self
                .run(env, move |sandbox| Ok(date_to_js(sandbox.keep_for(Duration::from_millis(ms), &ctx)?))),
        }
    }

    /// What differs from the baseline.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<NativeChange> | Failure>")]
    pub fn changes<'env>(
        &self,
        env: &'env Env,
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        match checked(ticket, &control, Ok(()))? {
            Err(error) => refuse(env, error),
            Ok(((), ctx)) => self.run(env, move |sandbox| changes(&sandbox.changes(&ctx)?)),
        }
    }

    /// Brings the changes into the resource.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeCommitReport | Failure>")]
    pub fn commit<'env>(
        &self,
        env: &'env Env,
        request: NativeCommitRequest,
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        match checked(ticket, &control, request.parse())? {
            Err(error) => refuse(env, error),
            Ok((options, ctx)) => {
                self.run(env, move |sandbox| NativeCommitReport::try_from(&sandbox.commit(&options, &ctx)?))
            }
        }
    }

    /// Takes the last commit back.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeRollbackReport | Failure>")]
    pub fn undo_commit<'env>(
        &self,
        env: &'env Env,
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        match checked(ticket, &control, Ok(()))? {
            Err(error) => refuse(env, error),
            Ok(((), ctx)) => {
                self.run(env, move |sandbox| NativeRollbackReport::try_from(&sandbox.undo_commit(&ctx)?))
            }
        }
    }

    /// Puts it back to its baseline.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeRollbackReport | Failure>")]
    pub fn rollback<'env>(
        &self,
        env: &'env Env,
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        match checked(ticket, &control, Ok(()))? {
            Err(error) => refuse(env, error),
            Ok(((), ctx)) => {
                self.run(env, move |sandbox| NativeRollbackReport::try_from(&sandbox.rollback(&ctx)?))
            }
        }
    }

    /// Removes it: which checkpoint holds what was unsaved, and what was left.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeCleanupReport | Failure>")]
    pub fn cleanup<'env>(
        &self,
        env: &'env Env,
        force: bool,
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        match checked(ticket, &control, Ok(()))? {
            Err(error) => refuse(env, error),
            Ok(((), ctx)) => {
                self.run(env, move |sandbox| Ok(NativeCleanupReport::from(&sandbox.cleanup(force, &ctx)?)))
            }
        }
    }
}
