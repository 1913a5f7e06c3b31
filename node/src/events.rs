//! The engine's `tracing` events for JavaScript's loggers (X4): in batches, at the level that was chosen, and never in the engine's way.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::Status;
use napi::bindgen_prelude::Function;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Dispatch, Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use turnback_engine::{Code, Error, Result};

/// So many events may wait for JavaScript; the ones after that are dropped, and counted.
const MOST: usize = 1000;

/// One event of the engine.
#[napi(object, object_from_js = false)]
pub struct NativeEvent {
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub level: &'static str,
    /// The module that it comes from.
    pub target: &'static str,
    /// What happened.
    pub message: String,
    /// Names and values, in the order in which they were given.
    pub fields: Vec<EventField>,
}

/// A field of an event.
#[napi(object, object_from_js = false)]
pub struct EventField {
    /// Its name.
    pub name: &'static str,
    /// Its value as text.
    pub value: String,
}

/// The events that waited.
#[napi(object, object_from_js = false)]
pub struct NativeEvents {
    /// In the order in which they happened, as far as threads have one.
    pub events: Vec<NativeEvent>,
    /// How many more there were.
    pub dropped: u32,
}

/// A queue of events, and whoever is told when it is no longer empty.
#[napi]
pub struct EventQueue {
    queue: Arc<Mutex<Queue>>,
    subscriber: Dispatch,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<NativeEvent>,
    dropped: u32,
    /// JavaScript has been told, and has not come yet.
    told: bool,
}

type Wake = ThreadsafeFunction<(), (), (), Status, false, true, 1>;

#[napi]
impl EventQueue {
    /// A queue for events of a level and the more important ones. `wake` is called once for each batch, never keeps the process alive, and
    /// is to take what there is.
    ///
    /// # Errors
    /// A napi error when `wake` is no function, or the level is unknown.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        level: String,
        #[napi(ts_arg_type = "() => void")] wake: Function<'_, (), ()>,
    ) -> napi::Result<Self> {
        let level = level_of(&level).map_err(|error| napi::Error::from_reason(error.to_string()))?;
        let wake: Wake = wake
            .build_threadsafe_function::<()>()
            .callee_handled::<false>()
            .weak::<true>()
            .max_queue_size::<1>()
            .build()?;
        let queue = Arc::new(Mutex::new(Queue::default()));
        let collector = Collector { queue: Arc::clone(&queue), wake }.with_filter(level);
        Ok(Self { queue, subscriber: Dispatch::new(tracing_subscriber::registry().with(collector)) })
    }

    /// The events since the last time.
    #[napi(catch_unwind)]
    pub fn take(&self) -> NativeEvents {
        let mut queue = locked(&self.queue);
        queue.told = false;
        NativeEvents { events: queue.events.drain(..).collect(), dropped: std::mem::take(&mut queue.dropped) }
    }
}

impl EventQueue {
    /// Whoever is to hear of a manager's events.
    pub(crate) fn subscriber(&self) -> Dispatch {
        self.subscriber.clone()
    }
}

struct Collector {
    queue: Arc<Mutex<Queue>>,
    wake: Wake,
}

impl<S: Subscriber> Layer<S> for Collector {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let mut found = Fields::default();
        event.record(&mut found);
        let event = NativeEvent {
            level: name_of(*metadata.level()),
            target: metadata.target(),
            message: found.message,
            fields: found.fields,
        };
        let mut queue = locked(&self.queue);
        if queue.events.len() < MOST {
            queue.events.push_back(event);
        } else {
            queue.dropped = queue.dropped.saturating_add(1);
        }
        if !std::mem::replace(&mut queue.told, true) {
            drop(queue);
            // It fails when JavaScript is gone, or is told already: nobody is left to hear, or it comes anyway.
            let _: Status = self.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }
}

#[derive(Default)]
struct Fields {
    message: String,
    fields: Vec<EventField>,
}

impl Fields {
    fn add(&mut self, field: &Field, value: String) {
        if field.name() == "message" {
            self.message = value;
        } else {
            self.fields.push(EventField { name: field.name(), value });
        }
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.add(field, format!("{value:?}"));
    }
}

fn level_of(name: &str) -> Result<LevelFilter> {
    match name {
        "error" => Ok(LevelFilter::ERROR),
        "warn" => Ok(LevelFilter::WARN),
        "info" => Ok(LevelFilter::INFO),
        "debug" => Ok(LevelFilter::DEBUG),
        "trace" => Ok(LevelFilter::TRACE),
        other => Err(Error::new(
            Code::InvalidArgument,
            format!("there is no level {other:?}"),
            "pass 'error', 'warn', 'info', 'debug' or 'trace'",
        )),
    }
}

fn name_of(level: tracing::Level) -> &'static str {
    match level {
        tracing::Level::ERROR => "error",
        tracing::Level::WARN => "warn",
        tracing::Level::INFO => "info",
        tracing::Level::DEBUG => "debug",
        tracing::Level::TRACE => "trace",
    }
}

/// A queue is whole at every moment: a panic of another thread does not change that.
fn locked(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}
