//! P9: every schedule of a small world, not a sample of them. Three batches of two turns in one sandbox come, their attempts
//! succeed, fail, are given up and answer all the same, one batch is denied or cancelled, and limits end, in every order there is.
//! The gate is a state machine without threads, so that the orders of its inputs are all the schedules that it can meet.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::BTreeMap;

use turnback_core::{
    AttemptId, Batch, BatchId, DriverCheckpointId, Gate, GateOptions, Input, Millis, MillisSpan, Outcome,
    Output, SandboxId, Start, TimeoutReason, TurnId, Verdict,
};

const BATCHES: usize = 3;
const LIMIT: u64 = 1000;

/// Something that can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// The next batch comes.
    Arrive,
    Succeed(AttemptId),
    Fail(AttemptId),
    /// The next limit ends.
    Limit,
    Release(usize),
    Cancel(usize),
    /// Its caller gives up while it waits, and says that it has not run.
    Withdraw(usize),
}

/// A turn, by what was seen of it.
#[derive(Clone, Debug, Default)]
struct Turn {
    /// Its checkpoint, and whether it was called late.
    standing: Option<(AttemptId, bool)>,
    /// Batches that were let through without one, and not released.
    unprotected: usize,
    /// Batches that were let through under it.
    under: usize,
    failures: usize,
    /// Everybody who was let through under its checkpoint has not run.
    given_back: bool,
    /// A release that names no batch came while batches of it waited, or for one from before its checkpoint: which batch it was for
    /// the gate cannot know. It may then call a checkpoint late
    /// that is not, and take the turn for one of which nobody ran; never the other way round.
    in_doubt: bool,
}

impl Turn {
    fn check_late(&self, late: bool) {
        assert!(late || self.unprotected == 0, "G6: late, and not called so");
        assert!(!late || self.unprotected > 0 || self.in_doubt, "G6: called late for nothing");
    }
}

struct World {
    gate: Gate,
    /// Whether releases name their batches, where those have numbers.
    named: bool,
    now: u64,
    turn_of: [usize; BATCHES],
    arrived: usize,
    verdicts: BTreeMap<usize, Verdict>,
    /// Once in each schedule a batch is denied or cancelled: more of it shows nothing new.
    spent: bool,
    under_way: Option<(AttemptId, usize)>,
    /// Given up, and not answered.
    aborted: Vec<AttemptId>,
    settling: Option<(AttemptId, usize, bool)>,
    turns: [Turn; 2],
    limit: bool,
}

fn sandbox() -> SandboxId {
    SandboxId::new("s").unwrap()
}

fn turn_id(turn: usize) -> TurnId {
    TurnId::new(format!("t{turn}")).unwrap()
}

fn checkpoint(attempt: AttemptId) -> DriverCheckpointId {
    DriverCheckpointId::new(&format!("v{}", attempt.as_u64())).unwrap()
}

impl World {
    fn new(turn_of: [usize; BATCHES], named: bool) -> Self {
        let options = GateOptions { timeout: MillisSpan::from_millis(LIMIT), ..GateOptions::default() };
        Self {
            gate: Gate::new(options),
            named,
            now: 0,
            turn_of,
            arrived: 0,
            verdicts: BTreeMap::new(),
            spent: false,
            under_way: None,
            aborted: Vec::new(),
            settling: None,
            turns: Default::default(),
            limit: false,
        }
    }

    fn possible(&self) -> Vec<Event> {
        let mut events = Vec::new();
        if self.arrived < BATCHES {
            events.push(Event::Arrive);
        }
        if let Some((attempt, _)) = self.under_way {
            events.extend([Event::Succeed(attempt), Event::Fail(attempt)]);
        }
        events.extend(self.aborted.iter().map(|&attempt| Event::Succeed(attempt)));
        if self.limit {
            events.push(Event::Limit);
        }
        for batch in (0..self.arrived).filter(|_| !self.spent) {
            let passed = self.verdicts.contains_key(&batch);
            if passed {
                events.push(Event::Release(batch));
            } else {
                events.extend([Event::Cancel(batch), Event::Withdraw(batch)]);
            }
        }
        events
    }

    fn happen(&mut self, event: Event) {
        self.settling = None;
        let input = match event {
            Event::Arrive => {
                // Each batch has a limit of its own; nothing else takes time.
                self.now += 10;
                let turn = self.turn_of[self.arrived];
                self.arrived += 1;
                Input::Batch(Batch {
                    batch: BatchId::new(u64::try_from(self.arrived - 1).unwrap()),
                    sandbox_id: sandbox(),
                    turn_id: Some(turn_id(turn)),
                    flag_enabled: true,
                    paused: false,
                    has_driver: true,
                    read_only: false,
                })
            }
            Event::Succeed(attempt) => {
                self.answered(attempt, true);
                Input::Created { attempt, checkpoint_id: Some(checkpoint(attempt)), partial: false }
            }
            Event::Fail(attempt) => {
                self.answered(attempt, false);
                Input::Failed { attempt }
            }
            Event::Limit => {
                let Output::Timeout { at, .. } = self.gate.poll_output() else { panic!("no limit") };
                self.now = self.now.max(at.as_u64());
                Input::Tick
            }
            Event::Release(batch) => {
                self.spent = true;
                self.release(batch)
            }
            Event::Withdraw(batch) => {
                self.happen(Event::Cancel(batch));
                self.release(batch)
            }
            Event::Cancel(batch) => {
                self.spent = true;
                Input::Cancelled { batch: BatchId::new(u64::try_from(batch).unwrap()) }
            }
        };
        self.gate.handle(&input, Millis::since_epoch(self.now)).unwrap();
        loop {
            match self.gate.poll_output() {
                Output::Start(start) => self.start(&start),
                Output::Verdict(verdict) => self.verdict(verdict),
                Output::Abort { attempt } => {
                    assert_eq!(
                        self.under_way.take().map(|(one, _)| one),
                        Some(attempt),
                        "aborted though over"
                    );
                    self.aborted.push(attempt);
                }
                Output::DeleteLate { checkpoint_id, .. } => {
                    let standing = self.turns.iter().filter_map(|turn| turn.standing);
                    let counts =
                        standing.map(|(attempt, _)| checkpoint(attempt)).any(|id| id == checkpoint_id);
                    assert!(!counts, "G10: a turn counts on it");
                }
                Output::Timeout { reason, .. } => {
                    self.limit = reason != TimeoutReason::Sweep;
                    break;
                }
                Output::Idle => {
                    self.limit = false;
                    break;
                }
            }
        }
    }

    fn answered(&mut self, attempt: AttemptId, success: bool) {
        self.aborted.retain(|&one| one != attempt);
        if let Some((_, turn)) = self.under_way.take_if(|(one, _)| *one == attempt) {
            self.settling = Some((attempt, turn, success));
            self.turns[turn].failures += usize::from(!success);
        }
    }

    fn release(&mut self, batch: usize) -> Input {
        let turn_of = self.turn_of[batch];
        let waits = |one| !self.verdicts.contains_key(&one) && self.turn_of[one] == turn_of;
        let verdict = &self.verdicts[&batch];
        let named = self.named && verdict.outcome() != Outcome::AlreadyCovered;
        let mixed = self.turns[turn_of].standing.is_some() && !verdict.protected();
        self.turns[turn_of].in_doubt |= !named && (mixed || (0..self.arrived).any(waits));
        let turn = &mut self.turns[turn_of];
        if verdict.protected() {
            turn.under = turn.under.saturating_sub(1);
            turn.standing = turn.standing.filter(|_| turn.under > 0);
            turn.given_back |= turn.standing.is_none();
        } else {
            turn.unprotected -= 1;
        }
        let number = BatchId::new(u64::try_from(batch).unwrap());
        Input::Released { sandbox_id: sandbox(), turn_id: turn_id(turn_of), batch: named.then_some(number) }
    }

    fn start(&mut self, start: &Start) {
        assert!(self.under_way.is_none(), "G4: two attempts at once");
        let turn = (0..2).find(|&turn| turn_id(turn) == start.turn_id).unwrap();
        let one = &mut self.turns[turn];
        if one.in_doubt && one.standing.take().is_some() {
            one.under = 0;
        }
        assert!(one.standing.is_none(), "P9, G1: a second checkpoint of one turn");
        one.check_late(start.late);
        self.under_way = Some((start.attempt, turn));
    }

    fn verdict(&mut self, verdict: Verdict) {
        let batch = usize::try_from(verdict.batch.as_u64()).unwrap();
        let place = self.turn_of[batch];
        let turn = &mut self.turns[place];
        if let Some(cover) = &verdict.cover {
            if verdict.outcome() == Outcome::Created {
                let (attempt, settled, success) = self.settling.unwrap();
                assert!(success && settled == place, "G4: another turn's checkpoint");
                assert!(turn.standing.is_none(), "P9, G1: a second checkpoint of one turn");
                turn.check_late(cover.late);
                turn.standing = Some((attempt, cover.late));
            }
            let (attempt, late) = turn.standing.unwrap();
            assert_eq!((cover.late, cover.checkpoint_id.clone()), (late, Some(checkpoint(attempt))), "G9");
            turn.under += 1;
        } else {
            assert!(turn.standing.is_none(), "G9: protected, and not called so");
            turn.unprotected += 1;
        }
        assert!(self.verdicts.insert(batch, verdict).is_none(), "G9: a second verdict");
    }

    /// Nothing is under way any more, and all batches came.
    fn finished(&self) {
        assert_eq!(self.gate.waiting_batches(), 0, "a batch without a verdict");
        for (place, turn) in self.turns.iter().enumerate() {
            let verdicts = (0..BATCHES).filter(|&batch| self.turn_of[batch] == place);
            let outcomes: Vec<Outcome> = verdicts.map(|batch| self.verdicts[&batch].outcome()).collect();
            let created = outcomes.iter().filter(|&&outcome| outcome == Outcome::Created).count();
            let failed =
                outcomes.iter().any(|outcome| matches!(outcome, Outcome::Failed | Outcome::TimedOut));
            if !failed && turn.failures == 0 {
                let least = usize::from(outcomes.iter().any(|&outcome| outcome != Outcome::Skipped));
                let most = if turn.given_back || turn.in_doubt { 2 } else { 1 };
                assert!((least..=most).contains(&created), "P9: {created} checkpoints of one turn");
            }
        }
    }
}

/// Says which schedule it was when one breaks a promise.
struct Shown([usize; BATCHES], bool, Vec<Event>);

impl Drop for Shown {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("turns {:?}, releases by number {}: {:?}", self.0, self.1, self.2);
        }
    }
}

/// Goes through every schedule that begins with `path`; gives how many there are.
fn explore(turn_of: [usize; BATCHES], named: bool, path: &mut Vec<Event>) -> usize {
    let _shown = Shown(turn_of, named, path.clone());
    let mut world = World::new(turn_of, named);
    for &event in &*path {
        world.happen(event);
    }
    let possible = world.possible();
    let over = world.arrived == BATCHES && world.under_way.is_none() && !world.limit;
    if over {
        world.finished();
    }
    if possible.is_empty() {
        return 1;
    }
    let mut schedules = 0;
    for event in possible {
        path.push(event);
        schedules += explore(turn_of, named, path);
        path.pop();
    }
    schedules
}

#[test]
fn p9_every_schedule_of_three_batches_and_two_turns_gives_each_turn_one_checkpoint() {
    let mut schedules = 0;
    for turn_of in [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1]] {
        for named in [false, true] {
            schedules += explore(turn_of, named, &mut Vec::new());
        }
    }
    println!("{schedules} schedules");
    assert!(schedules > 10_000, "{schedules} schedules are not all of them");
}
