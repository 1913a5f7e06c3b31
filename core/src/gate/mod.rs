//! The guard's rules as a state machine (G1–G10): at most one checkpoint a turn, shared, bounded, never in the way.

mod admit;
mod conclude;
mod deadline;
mod digest;
mod driver_checkpoint;
mod error;
mod ghosts;
mod ids;
mod input;
mod json;
mod lane;
mod ledger;
mod mark;
mod outlived;
mod output;
mod passed;
mod reason;
mod release;
mod sorted;
mod turn;
mod verdict;

use std::collections::VecDeque;

use deadline::{Deadline, Deadlines};
pub use digest::DigestKey;
use digest::{Digests, SandboxKey, TurnKey};
pub use driver_checkpoint::{DriverCheckpointId, InvalidDriverCheckpointId};
pub use error::GateError;
pub use ids::{AttemptId, BatchId};
pub use input::{Batch, Input};
pub use json::{GateJsonError, WrongInput};
use lane::{Aborted, Lane};
use ledger::Ledger;
use mark::{Answered, Held};
pub use output::{Output, Start, TimeoutReason};
pub use reason::{Outcome, Reason};
use sorted::Sorted;
pub use verdict::{Cover, Verdict};

use crate::comment::CommentPrefix;
use crate::ids::{SandboxId, TurnId};
use crate::policy::CHECKPOINT_TIMEOUT;
use crate::time::{Millis, MillisSpan};

/// What a host can choose about its [`Gate`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateOptions {
    /// How long a batch waits at most, and how long an attempt may take: 10 s (G5).
    pub timeout: MillisSpan,
    /// Whose checkpoints they are: the start of their comments (G2).
    pub prefix: CommentPrefix,
    /// Keeps the digests of ids unpredictable. All zeros by default, which is enough where nobody chooses ids in order to
    /// make two of them collide.
    pub digest_key: DigestKey,
}

impl Default for GateOptions {
    fn default() -> Self {
        Self {
            timeout: CHECKPOINT_TIMEOUT,
            prefix: CommentPrefix::default(),
            digest_key: DigestKey::default(),
        }
    }
}

/// Decides before each batch whether a checkpoint is due, who waits for it, and for how long.
///
/// It performs nothing. The host tells it what happened and when, and does what it says. Its methods are of three kinds:
///
/// - **an event goes in**: [`handle`](Self::handle), with the host's time; [`pass_covered`](Self::pass_covered) is a short
///   cut for the most frequent one;
/// - **what to do comes out**: [`poll_output`](Self::poll_output);
/// - **getters**, which change nothing: [`waiting_batches`](Self::waiting_batches),
///   [`remembered_sandboxes`](Self::remembered_sandboxes).
///
/// # Calling order
///
/// After each `handle`, call `poll_output` until it gives [`Output::Timeout`] or [`Output::Idle`], and do what it gave in
/// that order. Then wait for news, or for the timeout and say [`Input::Tick`]. A verdict goes to its batch at once: the
/// batches that it lets through must not start before the outputs ahead of it were taken.
///
/// Time comes in with each event and never runs backwards: an earlier time than the last counts as the last (a monotonic
/// clock is best). What is due at the time of an event happens before the event, so that a success at the very millisecond
/// of its deadline is late.
///
/// # What it promises
///
/// - One attempt at a time on each sandbox; turns that wait for theirs start in the order of their coming (G4).
/// - One checkpoint for each (sandbox, turn), unless the attempt failed, every batch that it let through was released, or
///   the checkpoint was deleted or the sandbox restored (G1, G6, G8). A turn counts as new when it is not among the six of its
///   sandbox that were used last, or the sandbox has been unused for 24 hours; only that it ran unprotected, or that the host
///   said so of its checkpoint ([`Input::Deleted`]), is remembered for 24 hours, so that its next checkpoint is called late.
/// - No batch waits longer than [`GateOptions::timeout`], queueing included (G5). The batches that wait for one attempt
///   share its end, but each leaves when its own limit is over. An attempt for which nobody waits any more is aborted.
/// - A verdict says `protected` only if a checkpoint of this (sandbox, turn) is complete, and was complete before any batch
///   of the turn was let through, or is marked late. Every verdict lets its batch through, whatever it says, until the
///   host says [`Input::Released`]: so a batch that goes on when its own limit is over makes the attempt that others still
///   wait for a late one, and so does one that was skipped while the store was paused.
/// - At most three failed attempts a turn (G6): then the turn's batches pass unprotected at once. The next turn tries anew.
///   An attempt that nobody waited for until a limit (all cancelled) did not fail.
/// - No driver is asked to delete a checkpoint whose id a turn counts on, in whatever order the answers come (G10): that is
///   known of every turn that is remembered, and of the last 1,024 successes.
/// - A restore in the middle of an attempt makes its picture worthless: it is aborted, and the batches that wait get another
///   within their limits. It counts as one of the turn's three, so that restores without end do not cost attempts without end.
/// - No release makes a turn one of which nothing ran, if a batch of it did: neither one that comes while others wait, nor one
///   for a batch from before a restore ([`Input::Released`]).
/// - At most 300 bytes for each remembered sandbox, and no allocation for a batch that is already covered (W8).
#[derive(Debug)]
pub struct Gate {
    timeout: MillisSpan,
    prefix: CommentPrefix,
    digests: Digests,
    now: Millis,
    last_attempt: AttemptId,
    ledger: Ledger,
    lanes: Sorted<SandboxKey, Lane>,
    waiting: Sorted<BatchId, (SandboxKey, TurnKey)>,
    /// The attempts under way.
    attempts: Sorted<AttemptId, SandboxKey>,
    aborted: Aborted,
    answered: Answered,
    /// Late successes, in the order of their coming.
    held: Vec<Held>,
    deadlines: Deadlines,
    next_sweep: Option<Millis>,
    outputs: VecDeque<Output>,
}

impl Gate {
    /// A gate that remembers nothing.
    pub fn new(options: GateOptions) -> Self {
        Self {
            timeout: options.timeout,
            prefix: options.prefix,
            digests: Digests::new(options.digest_key),
            now: Millis::EPOCH,
            last_attempt: AttemptId::new(0),
            ledger: Ledger::default(),
            lanes: Sorted::default(),
            waiting: Sorted::default(),
            attempts: Sorted::default(),
            aborted: Aborted::default(),
            answered: Answered::default(),
            held: Vec::new(),
            deadlines: Deadlines::default(),
            next_sweep: None,
            outputs: VecDeque::new(),
        }
    }

    /// Takes in what happened at `now`, and before it whatever was due by then.
    ///
    /// # Errors
    /// [`GateError::BatchInUse`] when a batch comes under the number of one that waits. Nothing changed then.
    pub fn handle(&mut self, input: &Input, now: Millis) -> Result<(), GateError> {
        if let Input::Batch(batch) = input
            && self.waiting.get(batch.batch).is_some()
        {
            return Err(GateError::BatchInUse { batch: batch.batch });
        }
        self.take_in(input, now);
        Ok(())
    }

    /// [`handle`](Self::handle), for those who give no number twice.
    pub(crate) fn take_in(&mut self, input: &Input, now: Millis) {
        self.now = self.now.max(now);
        self.pass_deadlines();
        match input {
            Input::Batch(batch) => self.admit(batch),
            Input::Created { attempt, checkpoint_id, partial } => {
                self.created(*attempt, checkpoint_id.as_ref(), *partial);
            }
            Input::Failed { attempt } => self.failed(*attempt),
            Input::Paused { attempt } => self.paused(*attempt),
            Input::Cancelled { batch } => self.cancelled(*batch),
            Input::Released { sandbox_id, turn_id, batch } => {
                self.released(self.digests.sandbox(sandbox_id), self.digests.turn(turn_id), *batch);
            }
            Input::Uncovered { sandbox_id } => {
                self.uncovered(sandbox_id.as_ref().map(|sandbox| self.digests.sandbox(sandbox)));
            }
            Input::Forgotten { sandbox_id } => self.forgotten(self.digests.sandbox(sandbox_id)),
            Input::Deleted { sandbox_id, checkpoint_id, turn_id } => {
                self.deleted(self.digests.sandbox(sandbox_id), checkpoint_id, turn_id.as_ref());
            }
            Input::Options { timeout, prefix } => {
                self.timeout = timeout.unwrap_or(self.timeout);
                self.prefix = prefix.clone().unwrap_or_else(|| self.prefix.clone());
            }
            Input::Tick => {}
        }
        self.delete_late();
        self.plan_sweep();
    }

    /// A batch comes whose host expects it to be covered (its flag is on, and nothing else speaks against a checkpoint): the
    /// turn's checkpoint, exactly as [`handle`](Self::handle) would tell of it under [`Reason::SameTurn`], and nothing to
    /// poll. `None` when the turn is not covered, or something is due before this; nothing changed then, and `handle` has
    /// the answer.
    pub fn pass_covered(&mut self, sandbox_id: &SandboxId, turn_id: &TurnId, now: Millis) -> Option<Cover> {
        let now = self.now.max(now);
        if !self.outputs.is_empty() || self.deadlines.next().is_some_and(|(at, _)| at <= now) {
            return None;
        }
        let (sandbox, turn) = (self.digests.sandbox(sandbox_id), self.digests.turn(turn_id));
        // A turn that batches wait for is not in the ledger.
        let cover = self.ledger.pass_covered(sandbox, turn, now)?;
        self.now = now;
        Some(cover)
    }

    /// What to do next. [`Output::Timeout`] and [`Output::Idle`] come when nothing else is left, and again if asked again.
    pub fn poll_output(&mut self) -> Output {
        self.outputs.pop_front().unwrap_or_else(|| match self.deadlines.next() {
            Some((at, reason)) => Output::Timeout { at, reason },
            None => Output::Idle,
        })
    }

    /// How many batches wait for their verdicts.
    pub fn waiting_batches(&self) -> usize {
        self.waiting.len()
    }

    /// How many sandboxes take up memory while nothing is under way for them.
    pub fn remembered_sandboxes(&self) -> usize {
        self.ledger.len()
    }

    fn pass_deadlines(&mut self) {
        // The next turns start only after all limits that are over: none of them may start for batches that are leaving.
        let mut freed = Vec::new();
        while let Some(deadline) = self.deadlines.take_due(self.now) {
            match deadline {
                Deadline::Batch(batch) => freed.extend(self.limit_over(batch)),
                Deadline::Attempt(attempt) => freed.extend(self.attempt_over(attempt)),
                Deadline::Sweep => {
                    self.next_sweep = self.ledger.sweep(self.now);
                    if let Some(at) = self.next_sweep {
                        self.deadlines.set(at, Deadline::Sweep);
                    }
                }
            }
        }
        for sandbox in freed {
            self.start_next(sandbox);
        }
        self.delete_late();
    }

    /// There is a sweep to come exactly when there is something to sweep.
    fn plan_sweep(&mut self) {
        match (self.next_sweep, self.ledger.len()) {
            (Some(at), 0) => {
                self.deadlines.clear(at, Deadline::Sweep);
                self.next_sweep = None;
            }
            (None, 1..) => {
                let at = Ledger::first_sweep(self.now);
                self.deadlines.set(at, Deadline::Sweep);
                self.next_sweep = Some(at);
            }
            _ => {}
        }
    }
}
