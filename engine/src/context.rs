//! What every long operation carries: a cancel flag, a deadline and a progress listener.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use crate::checkpoint::Checkpoint;
use crate::error::{Code, Error, Result};
use crate::reached::Reached;

/// A shared flag that ends an operation at its next system call (C12).
///
/// Who gives an operation up and the operation itself agree on what became of it: either it is cancelled, or it has begun the step that
/// cannot be cancelled any more ([`Cancel::commit`]) and its success is on the way. One flag may go through several operations: once
/// they are asked to stop, all that follow stop as well.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicU8>);

/// Somebody asked to stop. The other bits say how far the last step is.
const ASKED: u8 = 0b100;
const STEP: u8 = 0b011;
const COMMITTING: u8 = 1;
const ABANDONED: u8 = 2;
const COMMITTED: u8 = 3;

impl Cancel {
    /// Asks the operation to stop. Cannot be taken back. Returns `false` when it is too late: it is about to succeed, or has.
    pub fn cancel(&self) -> bool {
        self.0.fetch_or(ASKED, Ordering::AcqRel) & STEP == 0
    }

    /// Whether a stop was asked for.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire) & ASKED != 0
    }

    /// Nobody waits any more for an operation that is about to succeed: what it did is to be taken back. Returns `false` when it is
    /// too late for that as well.
    pub fn abandon(&self) -> bool {
        let before = self.change(|state| match state & STEP {
            COMMITTING => Some(ASKED | ABANDONED),
            _ => Some(state | ASKED),
        });
        before.is_none_or(|state| state & STEP != COMMITTED)
    }

    /// Whether nobody waits any more for an operation in its last step.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.0.load(Ordering::Acquire) & STEP == ABANDONED
    }

    /// Whether the last step is done and stays.
    #[must_use]
    pub fn is_committed(&self) -> bool {
        self.0.load(Ordering::Acquire) & STEP == COMMITTED
    }

    /// The operation begins its last step, after which only [`Cancel::abandon`] can undo it. Returns `false` when it was cancelled.
    #[must_use]
    pub fn commit(&self) -> bool {
        self.change(|state| (state & ASKED == 0).then_some(COMMITTING)).is_some()
    }

    /// The last step is done. Returns `false` when it has to be taken back.
    #[must_use]
    pub fn committed(&self) -> bool {
        self.change(|state| (state & STEP == COMMITTING).then_some(state & ASKED | COMMITTED)).is_some()
    }

    /// The state before, if there was a change.
    fn change(&self, next: impl FnMut(u8) -> Option<u8>) -> Option<u8> {
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).ok()
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

/// Hears of a checkpoint in its last step: it is listed, and may still be taken back, as long as [`Cancel::is_committed`] is not true.
/// Must not block.
pub type OnCreated = Arc<dyn Fn(&Checkpoint) + Send + Sync>;

/// Carried through a long operation.
#[derive(Clone, Default)]
pub struct Context {
    /// Ends the operation from outside.
    pub cancel: Cancel,
    /// Ends the operation by itself with `TIMED_OUT`.
    pub deadline: Option<Instant>,
    /// Hears of progress.
    pub on_progress: Option<OnProgress>,
    /// Hears of the checkpoint that the operation is for, before its caller does: what is cheap to do again, the stat cache and the
    /// retention, follows.
    pub on_created: Option<OnCreated>,
    /// How far a restore has come, for who stops waiting for it.
    pub reached: Reached,
}

impl Context {
    /// Fails with `ABORTED` or `TIMED_OUT` when the operation has to end.
    ///
    /// # Errors
    /// `ABORTED` after [`Cancel::cancel`], `TIMED_OUT` after the deadline.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(aborted());
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

    /// As [`Context::check`], for the last time before a workspace is written to.
    ///
    /// # Errors
    /// As [`Context::check`].
    pub(crate) fn begin(&self) -> Result<()> {
        self.check()?;
        self.reached.begin()
    }

    /// As [`Context::check`], for the last time before what the operation is for becomes visible.
    ///
    /// # Errors
    /// As [`Context::check`].
    pub fn commit(&self) -> Result<()> {
        self.check()?;
        if self.cancel.commit() { Ok(()) } else { Err(aborted()) }
    }

    /// Fails when nobody waits for what has just become visible: then it has to be taken back.
    ///
    /// # Errors
    /// `ABORTED`.
    pub fn committed(&self) -> Result<()> {
        if self.cancel.committed() { Ok(()) } else { Err(aborted()) }
    }

    /// Tells the listener, if there is one.
    pub fn report(&self, progress: Progress) {
        if let Some(listener) = &self.on_progress {
            listener(progress);
        }
    }
}

fn aborted() -> Error {
    Error::new(Code::Aborted, "the operation was cancelled", "nothing was left behind")
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("cancel", &self.cancel).field("deadline", &self.deadline).finish()
    }
}
