//! How far a restore has come, for a caller who stops waiting for it: it may hang in a system call, and then its own answer comes late or
//! never (C8, C12).

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use turnback_core::CheckpointId;

use crate::error::{Code, Error, Result};

/// What a restore has done to its workspace so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Step {
    /// Nothing was written, and there is no journal.
    #[default]
    Nothing,
    /// A journal is being written or is there. Nothing was written to the workspace; when the operation ends by itself now, the journal
    /// goes.
    Journal,
    /// It was begun: the workspace lies between two states.
    Begun {
        /// Whether a journal is there, by which the next writing call finishes it.
        journaled: bool,
    },
    /// What an earlier operation left is being ended without carrying it out: its journal is about to go, or has gone.
    Ending,
    /// It was carried out to its end. A journal that is still there says no more than that.
    Done,
}

impl Step {
    /// The step as users see it, in lower snake case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Journal => "journal",
            Self::Begun { journaled: true } => "begun",
            Self::Begun { journaled: false } => "begun_without_journal",
            Self::Ending => "ending",
            Self::Done => "done",
        }
    }
}

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Far {
    /// What it has done.
    pub step: Step,
    /// The checkpoint that brings back the state before; `None` when there is none yet, or none at all.
    pub undo: Option<CheckpointId>,
    /// How an interrupted restore ended that was in the way. Then `undo` is its own until another one begins.
    pub recovered: Option<&'static str>,
}

#[derive(Debug, Default)]
struct State {
    far: Far,
    given_up: bool,
}

/// Shared by an operation and who waits for it: the operation notes each step before it takes it. From the moment at which somebody gives
/// it up it goes no further than they were told.
#[derive(Clone, Default)]
pub struct Reached(Arc<Mutex<State>>);

impl Reached {
    /// How far it has come: what was not begun until now never will be.
    #[must_use]
    pub fn give_up(&self) -> Far {
        let mut state = self.lock();
        state.given_up = true;
        state.far
    }

    /// The operation is about to write its journal, or to the workspace, or to let go of the journal.
    ///
    /// # Errors
    /// `ABORTED` when nobody waits for it any more: then it may not.
    pub(crate) fn go_on(&self, step: Step) -> Result<()> {
        let mut state = self.lock();
        if state.given_up {
            return Err(aborted());
        }
        state.far.step = step;
        Ok(())
    }

    /// The operation is about to write to the workspace for the first time.
    ///
    /// # Errors
    /// As [`Reached::go_on`].
    pub(crate) fn begin(&self) -> Result<()> {
        self.go_on(match self.far().step {
            Step::Nothing | Step::Done => Step::Begun { journaled: false },
            Step::Journal => Step::Begun { journaled: true },
            step @ (Step::Begun { .. } | Step::Ending) => step,
        })
    }

    /// An interrupted restore is carried out to its end: what is left is to let go of its journal.
    ///
    /// # Errors
    /// As [`Reached::go_on`]: then the journal stays, as they were told.
    pub(crate) fn ends(&self, outcome: &'static str) -> Result<()> {
        let mut state = self.lock();
        if state.given_up {
            return Err(aborted());
        }
        state.far.step = Step::Nothing;
        state.far.recovered = Some(outcome);
        Ok(())
    }

    /// This is so, whoever waits: what an earlier operation left, or that something is over.
    pub(crate) fn is_at(&self, step: Step) {
        self.lock().far.step = step;
    }

    /// A new restore begins. `recovered` says how an earlier one ended that was in its way.
    pub(crate) fn begins(&self, recovered: Option<&'static str>) {
        let mut state = self.lock();
        state.far = Far { recovered: recovered.or(state.far.recovered), ..Far::default() };
    }

    /// This checkpoint brings back the state before.
    pub(crate) fn undone_by(&self, undo: Option<CheckpointId>) {
        self.lock().far.undo = undo;
    }

    /// How far it has come, for the operation itself.
    pub(crate) fn far(&self) -> Far {
        self.lock().far
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lock().far.fmt(f)
    }
}

fn aborted() -> Error {
    Error::new(Code::Aborted, "the operation was given up", "run it again")
}
