//! Long calls: a promise, settled by a thread that is neither JavaScript's nor libuv's.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use napi::bindgen_prelude::{Either, Function, Object, ToNapiValue};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, JsDeferred, Status};
use napi_derive::napi;
use turnback_engine::{Cancel, Code, Context, Error, Manager, OnProgress, Progress, Reached, Result};

use crate::early::Early;
use crate::error::{Failure, of_panic};
use crate::number::{from_js, to_js};
use crate::recovery::NativeCreated;

/// How many progress events may wait for JavaScript; more are dropped, because only the latest matters.
const PROGRESS_QUEUE: usize = 64;

/// Ends one long call from JavaScript.
#[napi]
#[derive(Default)]
pub struct Ticket {
    cancel: Cancel,
    created: Early,
    reached: Reached,
}

/// How far a call that is given up has written to a workspace.
#[napi(object, object_from_js = false)]
pub struct GivenUp {
    /// `nothing`, `journal`, `begun`, `begun_without_journal`, `ending` or `done`.
    pub step: &'static str,
    /// The checkpoint that brings back the state before.
    pub undo_checkpoint_id: Option<String>,
    /// How an interrupted restore ended that was in the way.
    pub recovered: Option<&'static str>,
}

#[napi]
impl Ticket {
    /// A ticket for one call.
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the call at its next system call. Cannot be taken back. `false` when it is too late: it is about to succeed.
    #[napi(catch_unwind)]
    pub fn cancel(&self) -> bool {
        self.cancel.cancel()
    }

    /// Nobody waits any more for a call that was about to succeed: the engine takes back what it did. `false` when it is too late for
    /// that as well.
    #[napi(catch_unwind)]
    pub fn abandon(&self) -> bool {
        self.cancel.abandon()
    }

    /// How far the call has written to a workspace: it goes no further. Answers at once, whatever the call hangs in.
    #[napi(catch_unwind)]
    pub fn give_up(&self) -> GivenUp {
        let far = self.reached.give_up();
        GivenUp {
            step: far.step.as_str(),
            undo_checkpoint_id: far.undo.map(|id| id.to_string()),
            recovered: far.recovered,
        }
    }

    /// What a call that takes a checkpoint is about to answer, as soon as that stays; the call itself still has to note what makes the
    /// next one quick.
    #[napi(catch_unwind)]
    pub fn created(&self) -> Option<NativeCreated> {
        // What cannot be told as numbers of JavaScript, the answer itself says as an error.
        if self.cancel.is_committed() { self.created.get().and_then(Result::ok) } else { None }
    }
}

impl Ticket {
    /// Keeps what the call will answer with.
    pub(crate) fn hear(&self, ctx: &mut Context) -> Early {
        let early = self.created.clone();
        let theirs = early.clone();
        ctx.on_created = Some(Arc::new(move |checkpoint| theirs.checkpoint(checkpoint)));
        early
    }
}

/// How far a long call has come.
#[napi(object, object_from_js = false)]
pub struct ProgressEvent {
    /// The step.
    pub phase: String,
    /// Paths handled in this step.
    pub done: i64,
    /// Paths to handle, where known.
    pub total: Option<i64>,
    /// Bytes read or written in this step.
    pub bytes: i64,
}

/// What a long call listens to and reports to.
#[napi(object, object_to_js = false)]
pub struct Control<'env> {
    /// The longest time that the call may take, in milliseconds from now.
    pub deadline_ms: Option<f64>,
    /// Hears of progress. Never keeps the process alive.
    #[napi(ts_type = "(event: ProgressEvent) => void")]
    pub on_progress: Option<Function<'env, ProgressEvent, ()>>,
}

type Listener = ThreadsafeFunction<ProgressEvent, (), ProgressEvent, Status, false, true, PROGRESS_QUEUE>;

/// The engine's context for a call. The deadline counts from here, waiting for a thread included.
///
/// # Errors
/// `INVALID_ARGUMENT` for a deadline that is not a whole number; a napi error when the listener is no function.
pub(crate) fn context(ticket: &Ticket, control: &Control<'_>) -> napi::Result<Result<Context>> {
    let on_progress = match &control.on_progress {
        None => None,
        Some(function) => {
            let listener: Listener = function
                .build_threadsafe_function::<ProgressEvent>()
                .callee_handled::<false>()
                .weak::<true>()
                .max_queue_size::<PROGRESS_QUEUE>()
                .build()?;
            Some(listener)
        }
    };
    let deadline = match control.deadline_ms.map(|ms| from_js("deadlineMs", ms)).transpose() {
        Ok(ms) => ms.and_then(|ms| Instant::now().checked_add(Duration::from_millis(ms))),
        Err(error) => return Ok(Err(error)),
    };
    Ok(Ok(Context {
        cancel: ticket.cancel.clone(),
        deadline,
        on_progress: on_progress.map(|listener| {
            let report: OnProgress = Arc::new(move |progress| tell(&listener, &progress));
            report
        }),
        on_created: None,
        reached: ticket.reached.clone(),
    }))
}

fn tell(listener: &Listener, progress: &Progress) {
    let Ok(event) = event(progress) else { return };
    // A full queue or a closed environment drops the event: the next one says more.
    let _: Status = listener.call(event, ThreadsafeFunctionCallMode::NonBlocking);
}

fn event(progress: &Progress) -> Result<ProgressEvent> {
    Ok(ProgressEvent {
        phase: progress.phase.to_owned(),
        done: to_js(progress.done)?,
        total: progress.total.map(to_js).transpose()?,
        bytes: to_js(progress.bytes)?,
    })
}

/// The answer of a call, as its promise is resolved with it: failures are data.
type Answer<T> = Either<T, Failure>;
type Resolver<T> = Box<dyn FnOnce(Env) -> napi::Result<Answer<T>> + Send>;

/// Runs `work` on one of the manager's own threads; the promise resolves with its answer.
///
/// # Errors
/// A napi error when no promise can be made.
pub(crate) fn run<'env, T, W>(env: &'env Env, manager: &Manager, work: W) -> napi::Result<Object<'env>>
where
    T: ToNapiValue + Send + 'static,
    W: FnOnce(&Manager) -> Result<T> + Send + 'static,
{
    let own = manager.clone();
    start(env, move || work(&own), |job| manager.spawn(job))
}

/// Runs `work` on a thread of its own, for what happens before a manager is open or while it closes.
///
/// # Errors
/// A napi error when no promise can be made.
pub(crate) fn run_alone<T, W>(env: &Env, work: W) -> napi::Result<Object<'_>>
where
    T: ToNapiValue + Send + 'static,
    W: FnOnce() -> Result<T> + Send + 'static,
{
    start(env, work, |job| {
        std::thread::Builder::new()
            .name("turnback-open".to_owned())
            .spawn(job)
            .map(drop)
            .map_err(|cause| Error::io("starting a thread", cause))
    })
}

/// A promise that is already settled with a failure.
///
/// # Errors
/// A napi error when no promise can be made.
pub(crate) fn refuse(env: &Env, error: Error) -> napi::Result<Object<'_>> {
    start::<(), _>(env, || Ok(()), |_job| Err(error))
}

fn start<'env, T, W>(
    env: &'env Env,
    work: W,
    spawn: impl FnOnce(Box<dyn FnOnce() + Send>) -> Result<()>,
) -> napi::Result<Object<'env>>
where
    T: ToNapiValue + Send + 'static,
    W: FnOnce() -> Result<T> + Send + 'static,
{
    let (deferred, promise) = env.create_deferred::<Answer<T>, Resolver<T>>()?;
    let pending = Arc::new(Pending(Mutex::new(Some(deferred))));
    let theirs = Arc::clone(&pending);
    let job = Box::new(move || {
        let answer =
            catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(of_panic(panic.as_ref())));
        theirs.settle(answer);
    });
    if let Err(error) = spawn(job) {
        pending.settle(Err(error));
    }
    Ok(promise)
}

/// A promise that is settled exactly once: by its job, by the caller whose job could not start, or, when a manager that
/// closes drops a job that waited, by its drop. Otherwise the promise would hang and keep the process alive.
struct Pending<T: ToNapiValue + Send + 'static>(Mutex<Option<JsDeferred<Answer<T>, Resolver<T>>>>);

impl<T: ToNapiValue + Send + 'static> Pending<T> {
    fn settle(&self, answer: Result<T>) {
        let deferred = match self.0.lock() {
            Ok(mut held) => held.take(),
            Err(poisoned) => poisoned.into_inner().take(),
        };
        if let Some(deferred) = deferred {
            let answer = match answer {
                Ok(value) => Either::A(value),
                Err(error) => Either::B(Failure::from(error)),
            };
            deferred.resolve(Box::new(move |_env| Ok(answer)));
        }
    }
}

impl<T: ToNapiValue + Send + 'static> Drop for Pending<T> {
    fn drop(&mut self) {
        self.settle(Err(Error::new(
            Code::Poisoned,
            "the manager was closed before this call ran",
            "open a new manager",
        )));
    }
}
