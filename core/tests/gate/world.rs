//! Owns the clock, the hosts and the driver; steps from one event or deadline to the next and never sleeps.

use std::collections::BTreeMap;

use turnback_core::{
    AttemptId, Batch, BatchId, DriverCheckpointId, Gate, GateOptions, Input, Millis, MillisSpan, Output,
    Reason, SandboxId, TimeoutReason, TurnId,
};

use super::judge::{Judge, Truth};
use super::plan::{Act, Answer, BatchPlan, DAY, Fate, Kind, LIMIT, Name, Plan};

#[derive(Clone, Debug)]
enum Event {
    Act(Act),
    Answer { attempt: AttemptId, answer: Answer },
    Release { batch: u64 },
    Cancel { batch: u64 },
}

/// Far more than the limits and sweeps that a world can have.
const MOST_WAKES: usize = 10_000;

pub(crate) struct World {
    gate: Gate,
    /// Gets the same events, but no tick of its own before an event: what is due has to happen all the same.
    untold: Gate,
    now: u64,
    events: BTreeMap<(u64, u64), Event>,
    scheduled: u64,
    batches: Vec<BatchPlan>,
    plan: Plan,
    wakes: usize,
    judge: Judge,
    /// What the gate said to the last event, and to a tick before it.
    told: Vec<Output>,
}

pub(crate) fn sandbox_id(sandbox: usize) -> SandboxId {
    SandboxId::new(format!("sandbox-{sandbox}")).unwrap()
}

pub(crate) fn turn_id(turn: usize) -> TurnId {
    TurnId::new(format!("turn-{turn}")).unwrap()
}

pub(crate) fn checkpoint_id(attempt: AttemptId, name: Name) -> Option<DriverCheckpointId> {
    let text = match name {
        Name::None => return None,
        Name::Own => format!("v{}", attempt.as_u64()),
        Name::Shared { long: false } => "same".to_owned(),
        Name::Shared { long: true } => "same".repeat(20),
    };
    Some(DriverCheckpointId::new(&text).unwrap())
}

impl World {
    pub(crate) fn new(plan: Plan) -> Self {
        let options = GateOptions { timeout: MillisSpan::from_millis(LIMIT), ..GateOptions::default() };
        let mut world = Self {
            gate: Gate::new(options.clone()),
            untold: Gate::new(options),
            now: 0,
            events: BTreeMap::new(),
            scheduled: 0,
            batches: Vec::new(),
            plan,
            wakes: 0,
            judge: Judge::default(),
            told: Vec::new(),
        };
        let mut at = 1_000;
        for step in world.plan.steps.clone() {
            at += step.after;
            world.schedule(at, Event::Act(step.act));
        }
        world
    }

    /// Lets everything happen, then a day and an hour pass, after which nothing may be left.
    pub(crate) fn run(mut self) {
        loop {
            let event = self.events.keys().next().map(|&(at, _)| at);
            let timeout = self.timeout();
            match (event, timeout) {
                (None, None) => break,
                (None, Some((_, TimeoutReason::Sweep))) if self.gate.waiting_batches() == 0 => break,
                (Some(at), timeout) if timeout.is_none_or(|(due, _)| at <= due) => {
                    let ((at, _), event) = self.events.pop_first().unwrap();
                    // A host that overslept sees what happened meanwhile only now.
                    self.now = self.now.max(at);
                    self.happen(event);
                }
                (_, Some((due, _))) => {
                    let late = self.plan.oversleep[self.wakes % self.plan.oversleep.len()];
                    self.wakes += 1;
                    assert!(self.wakes < MOST_WAKES, "the gate asks for the same time again and again");
                    self.now = self.now.max(due + late);
                    self.feed(Truth::Tick, &Input::Tick);
                }
                (Some(_), None) => unreachable!("the second arm takes these"),
            }
        }
        self.judge.finish();
        assert_eq!(self.gate.waiting_batches(), 0, "somebody still waits at the end");
        self.now += DAY + 60 * 60 * 1000;
        self.feed(Truth::Tick, &Input::Tick);
        assert_eq!(self.gate.remembered_sandboxes(), 0, "G8: a sandbox outlives 24 hours without use");
        assert_eq!(self.gate.poll_output(), Output::Idle);
    }

    fn timeout(&mut self) -> Option<(u64, TimeoutReason)> {
        match self.gate.poll_output() {
            Output::Timeout { at, reason } => Some((at.as_u64(), reason)),
            Output::Idle => None,
            other => panic!("left over: {other:?}"),
        }
    }

    fn schedule(&mut self, at: u64, event: Event) {
        self.scheduled += 1;
        self.events.insert((at, self.scheduled), event);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Act(Act::Batch(batch)) => self.arrive(batch),
            Event::Act(Act::Restore { sandbox }) => {
                let input = Input::Forgotten { sandbox_id: sandbox_id(sandbox) };
                self.feed(Truth::Restored { sandbox }, &input);
            }
            Event::Act(Act::Delete { sandbox, turn }) => {
                let Some(id) = self.judge.standing_id(sandbox, turn) else { return };
                let input = Input::Deleted {
                    sandbox_id: sandbox_id(sandbox),
                    checkpoint_id: id.clone(),
                    turn_id: None,
                };
                self.feed(Truth::Deleted { sandbox, id }, &input);
            }
            Event::Answer { attempt, answer } => self.driver_answers(attempt, answer),
            Event::Act(Act::Uncover { sandbox }) => {
                self.feed(
                    Truth::Uncovered { sandbox },
                    &Input::Uncovered { sandbox_id: sandbox.map(sandbox_id) },
                );
            }
            Event::Release { batch } => {
                let (sandbox, turn) = self.place(batch);
                let named = self.judge.has_number(batch);
                let input = Input::Released {
                    sandbox_id: sandbox_id(sandbox),
                    turn_id: turn_id(turn),
                    batch: named.then(|| BatchId::new(batch)),
                };
                self.feed(Truth::Released { batch, named }, &input);
            }
            Event::Cancel { batch } => {
                self.feed(Truth::Cancelled { batch }, &Input::Cancelled { batch: BatchId::new(batch) });
            }
        }
    }

    fn place(&self, batch: u64) -> (usize, usize) {
        let plan = &self.batches[usize::try_from(batch).unwrap()];
        (plan.sandbox, plan.turn)
    }

    fn arrive(&mut self, plan: BatchPlan) {
        let batch = u64::try_from(self.batches.len()).unwrap();
        let input = Input::Batch(Batch {
            batch: BatchId::new(batch),
            sandbox_id: sandbox_id(plan.sandbox),
            turn_id: (plan.kind != Kind::NoTurn).then(|| turn_id(plan.turn)),
            flag_enabled: plan.kind != Kind::FlagOff,
            paused: plan.kind == Kind::Paused,
            has_driver: plan.kind != Kind::NoDriver,
            read_only: plan.kind == Kind::ReadOnly,
        });
        if let Some(after) = plan.cancel_after {
            self.schedule(self.now + after, Event::Cancel { batch });
        }
        if let Fate::DeniedAfterArrival(after) = plan.fate
            && counted(plan.kind)
        {
            self.schedule(self.now + after, Event::Release { batch });
        }
        self.batches.push(plan.clone());
        self.feed(Truth::Arrived { batch, plan }, &input);
    }

    fn driver_answers(&mut self, attempt: AttemptId, answer: Answer) {
        let input = if answer.success {
            let checkpoint_id = checkpoint_id(attempt, answer.name);
            Input::Created { attempt, checkpoint_id, partial: answer.partial }
        } else if answer.paused() {
            Input::Paused { attempt }
        } else {
            Input::Failed { attempt }
        };
        self.feed(Truth::Answered { attempt, answer }, &input);
    }

    /// Gives the gate an input, does everything that it says, and has it judged.
    fn feed(&mut self, truth: Truth, input: &Input) {
        let due = self.timeout().is_some_and(|(due, _)| due <= self.now);
        if due && *input != Input::Tick {
            self.feed_one(Truth::Tick, &Input::Tick);
        }
        self.feed_one(truth, input);
        if self.short_cut(input) {
            self.told.clear();
            return;
        }
        self.untold.handle(input, Millis::since_epoch(self.now)).unwrap();
        let mut outputs = Vec::new();
        loop {
            outputs.push(self.untold.poll_output());
            if matches!(outputs.last(), Some(Output::Timeout { .. } | Output::Idle)) {
                break;
            }
        }
        assert_eq!(outputs, self.told, "what is due happens before the event, told or not");
        self.told.clear();
    }

    /// The second gate takes the short cut for covered batches wherever it can.
    fn short_cut(&mut self, input: &Input) -> bool {
        let Input::Batch(batch) = input else { return false };
        let Some(turn_id) = &batch.turn_id else { return false };
        if !batch.flag_enabled || batch.paused || !batch.has_driver || batch.read_only {
            return false;
        }
        let now = Millis::since_epoch(self.now);
        let Some(cover) = self.untold.pass_covered(&batch.sandbox_id, turn_id, now) else { return false };
        let [Output::Verdict(verdict), _] = self.told.as_slice() else {
            panic!("covered by the short cut, but not so: {:?}", self.told);
        };
        assert_eq!((verdict.reason, verdict.cover.as_ref()), (Reason::SameTurn, Some(&cover)));
        true
    }

    fn feed_one(&mut self, truth: Truth, input: &Input) {
        self.gate.handle(input, Millis::since_epoch(self.now)).unwrap();
        self.judge.input(self.now, truth);
        self.told.retain(|output| !matches!(output, Output::Timeout { .. } | Output::Idle));
        loop {
            let output = self.gate.poll_output();
            self.told.push(output.clone());
            match &output {
                Output::Timeout { .. } | Output::Idle => break,
                Output::Start(start) => {
                    let turns = self.plan.answers.len();
                    let number = usize::try_from(start.attempt.as_u64()).unwrap();
                    let answer = self.plan.answers[number % turns];
                    if !answer.never {
                        let event = Event::Answer { attempt: start.attempt, answer };
                        self.schedule(self.now + answer.latency, event.clone());
                        if answer.twice {
                            self.schedule(self.now + answer.latency + 5, event);
                        }
                    }
                }
                Output::Abort { attempt } => {
                    let heeds = |event: &Event| matches!(event, Event::Answer { attempt: one, answer } if one == attempt && answer.heeds_abort);
                    self.events.retain(|_, event| !heeds(event));
                }
                Output::Verdict(verdict) => {
                    let batch = verdict.batch.as_u64();
                    let plan = &self.batches[usize::try_from(batch).unwrap()];
                    if let Fate::DeniedAfterVerdict(after) = plan.fate
                        && counted(plan.kind)
                    {
                        self.schedule(self.now + after, Event::Release { batch });
                    }
                }
                Output::DeleteLate { .. } => {}
            }
            self.judge.output(&output);
        }
        self.judge.settled();
    }
}

/// Whether a release can be for a batch of this kind: it names a turn. One that only reads is not counted, and may be released all the same.
fn counted(kind: Kind) -> bool {
    kind != Kind::NoTurn
}
