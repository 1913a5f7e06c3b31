//! What every long operation carries: a cancel flag, a deadline and a progress listener.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::error::{Code, Error, Result};

/// A shared flag that ends an operation at its next system call (C12).
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks the operation to stop. Cannot be taken back.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether a stop was asked for.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// How far an operation has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The step: `scan`, `stage`, `apply`, `sync`, `verify` or `export`.
    pub phase: &'static str,
    /// Paths handled in this step.
    pub done: u64,
    /// Paths to handle, where known.
    pub total: Option<u64>,
    /// Bytes read or written in this step.
    pub bytes: u64,
}

/// A progress listener; it is called at most every 1,024 paths and must not block.
pub type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// Carried through a long operation.
#[derive(Clone, Default)]
pub struct Context {
    /// Ends the operation from outside.
    pub cancel: Cancel,
    /// Ends the operation by itself with `TIMED_OUT`.
    pub deadline: Option<Instant>,
    /// Hears of progress.
    pub on_progress: Option<OnProgress>,
}

impl Context {
    /// Fails with `ABORTED` or `TIMED_OUT` when the operation has to end.
    ///
    /// # Errors
    /// `ABORTED` after [`Cancel::cancel`], `TIMED_OUT` after the deadline.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(Error::new(Code::Aborted, "the operation was cancelled", "nothing was left behind"));
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Error::new(
                Code::TimedOut,
                "the operation passed its deadline",
                "give it more time, or exclude large directories",
            ));
        }
        Ok(())
    }

    /// Tells the listener, if there is one.
    pub fn report(&self, progress: Progress) {
        if let Some(listener) = &self.on_progress {
            listener(progress);
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("cancel", &self.cancel).field("deadline", &self.deadline).finish()
    }
}
