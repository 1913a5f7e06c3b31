//! What a policy remembers of a sandbox, and whom it lets ask the gate: here, and only here, policies differ.

use super::lane::{Lane, LaneBatch};
use super::policy::{ModelPolicy, PolicyKind};
use super::why::Why;
use crate::gate::{Outcome, Reason};
use crate::time::Millis;

/// What a batch is told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) why: Why,
    pub(super) protected: bool,
    pub(super) late: bool,
    /// The attempt that it waited for or counts on, by its place among the sandbox's.
    pub(super) attempt: Option<usize>,
}

impl Told {
    fn of(why: Why, covered: Option<Covered>) -> Self {
        Self {
            why,
            protected: covered.is_some(),
            late: covered.is_some_and(|covered| covered.late),
            attempt: covered.map(|covered| covered.attempt),
        }
    }
}

/// What a policy does about a batch that comes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked {
    /// It knows the answer.
    Told(Told),
    /// It asks the gate for a checkpoint, under the name of this turn.
    Gate(u32),
}

/// The sandbox's attempt under way, or the one that has just ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Current {
    /// Its place among the sandbox's.
    pub(super) attempt: usize,
    /// Whose batch leads it.
    pub(super) turn: u32,
}

/// A turn's checkpoint.
#[derive(Clone, Copy, Debug)]
struct Covered {
    attempt: usize,
    late: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct TurnMemory {
    /// Its last checkpoint.
    covered: Option<Covered>,
    /// A batch of it ran that no checkpoint covers.
    ran_bare: bool,
    /// Under what name the gate knows those of its batches that wait, and how many these are.
    name: u32,
    waiting: u32,
}

/// The last checkpoint of a sandbox.
#[derive(Clone, Copy, Debug)]
struct Last {
    began: Millis,
    turn: u32,
}

#[derive(Debug)]
pub(super) struct Memory {
    policy: ModelPolicy,
    turns: Vec<TurnMemory>,
    last: Option<Last>,
    names: u32,
}

impl Memory {
    pub(super) fn new(lane: &Lane, policy: &ModelPolicy) -> Self {
        let turns = vec![TurnMemory::default(); lane.turns as usize];
        Self { policy: *policy, turns, last: None, names: 0 }
    }

    pub(super) fn ask(&mut self, batch: &LaneBatch, now: Millis, current: Option<Current>) -> Asked {
        let covered = self.turn(batch.turn).covered;
        let told = |why, covered| Asked::Told(Told::of(why, covered));
        match self.policy.kind {
            PolicyKind::PerTurn => return Asked::Gate(batch.turn),
            PolicyKind::Never => return told(Why::Never, None),
            _ if batch.read_only && self.policy.unless_read_only => {
                return told(Why::Gate(Reason::ReadOnly), covered);
            }
            PolicyKind::EveryBatch => {}
            PolicyKind::Interval(interval) => {
                let within = self.last.is_some_and(|last| now < last.began.saturating_add(interval));
                if current.map_or(within, |current| current.turn != batch.turn) {
                    return told(Why::WithinInterval, covered);
                }
            }
            PolicyKind::LastTurnOnly | PolicyKind::SharedAcrossTurns if !batch.turn_known => {
                return told(Why::Gate(Reason::NoTurnId), None);
            }
            PolicyKind::LastTurnOnly => {
                if self.last.is_some_and(|last| last.turn == batch.turn) {
                    return told(Why::Gate(Reason::SameTurn), covered);
                }
            }
            PolicyKind::SharedAcrossTurns => {
                if covered.is_some() {
                    return told(Why::Gate(Reason::SameTurn), covered);
                }
            }
        }
        Asked::Gate(self.name(batch))
    }

    /// Under which name a batch asks the gate. Those that share one share attempts; nobody asks under one again when all have left.
    fn name(&mut self, batch: &LaneBatch) -> u32 {
        let fresh = self.names.saturating_add(1);
        let every = self.policy.kind == PolicyKind::EveryBatch;
        let mut name = fresh;
        self.change(self.sharing(batch.turn), |turn| {
            if turn.waiting == 0 || every {
                turn.name = fresh;
            }
            turn.waiting = turn.waiting.saturating_add(1);
            name = turn.name;
        });
        self.names = self.names.max(name);
        name
    }

    /// A batch that asked the gate has its answer: in the gate's words, and whether the checkpoint that it has is late.
    pub(super) fn answered(
        &mut self,
        batch: &LaneBatch,
        reason: Reason,
        cover: Option<bool>,
        current: Option<Current>,
    ) -> Told {
        let of_turn = self.turn(batch.turn);
        let attempt = match reason {
            Reason::Queued | Reason::AttemptsExhausted => None,
            _ if matches!(reason.outcome(), Outcome::AlreadyCovered | Outcome::Skipped) => {
                of_turn.covered.filter(|_| cover.is_some()).map(|covered| covered.attempt)
            }
            _ => current.map(|current| current.attempt),
        };
        let is_gate = self.policy.kind == PolicyKind::PerTurn;
        let late = if is_gate { cover.unwrap_or_default() } else { cover.is_some() && of_turn.ran_bare };
        if let Some(attempt) = attempt.filter(|_| cover.is_some()) {
            self.change(batch.turn, |turn| turn.covered = Some(Covered { attempt, late }));
        }
        let why = if is_gate {
            Why::Gate(reason)
        } else {
            self.change(self.sharing(batch.turn), |turn| turn.waiting = turn.waiting.saturating_sub(1));
            self.why(reason, late, current.is_some_and(|current| current.turn != batch.turn))
        };
        Told { why, protected: cover.is_some(), late, attempt }
    }

    /// What a model of another policy says where the gate gives this reason.
    fn why(&self, reason: Reason, late: bool, others: bool) -> Why {
        match (reason.outcome(), self.policy.kind) {
            (Outcome::Created, PolicyKind::EveryBatch) => Why::NewBatch,
            (Outcome::Created, PolicyKind::Interval(_)) => Why::IntervalOver,
            (Outcome::Created, _) if late => Why::Gate(Reason::EarlierBatchesRan),
            (Outcome::Created, _) => Why::Gate(Reason::NewTurn),
            (Outcome::Joined, _) if others => Why::OtherTurnsAttempt,
            _ => Why::Gate(reason),
        }
    }

    /// A batch ran that no checkpoint covers.
    pub(super) fn ran_bare(&mut self, turn: u32) {
        self.change(turn, |turn| turn.ran_bare = true);
    }

    /// Whether a checkpoint for the turn is a late one from the beginning.
    pub(super) fn is_late(&self, turn: u32) -> bool {
        self.turn(turn).ran_bare
    }

    /// Whether the turn had a checkpoint; the gate may have forgotten it.
    pub(super) fn is_covered(&self, turn: u32) -> bool {
        self.turn(turn).covered.is_some()
    }

    /// There is a checkpoint.
    pub(super) fn created(&mut self, began: Millis, turn: u32) {
        self.last = Some(Last { began, turn });
    }

    /// Whose name in the gate a turn uses.
    fn sharing(&self, turn: u32) -> u32 {
        if self.policy.kind == PolicyKind::SharedAcrossTurns { 0 } else { turn }
    }

    fn turn(&self, turn: u32) -> TurnMemory {
        self.turns.get(turn as usize).copied().unwrap_or_default()
    }

    fn change(&mut self, turn: u32, how: impl FnOnce(&mut TurnMemory)) {
        self.turns.get_mut(turn as usize).map(how);
    }
}
