//! The same timeline through one gate for all sandboxes, as a server has it, with a clock that jumps from event to event.

use turnback_core::{
    AttemptId, Batch, BatchId, DriverEnd, Gate, GateOptions, Input, Millis, ModelPolicy, Outcome, Output,
    Reason, SandboxId, Start, Timeline, TurnId, Verdict,
};

/// What a batch was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) at: Millis,
    pub(crate) answered: Millis,
    pub(crate) ran: bool,
    pub(crate) reason: Reason,
    pub(crate) protected: bool,
    pub(crate) late: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Limit,
    Answer { attempt: AttemptId, succeeded: bool },
    Arrival { start: Millis, place: usize },
}

pub(crate) struct OneGate<'a> {
    timeline: &'a Timeline,
    policy: &'a ModelPolicy,
    gate: Gate,
    now: Millis,
    limit: Option<Millis>,
    asked: Vec<Option<Millis>>,
    answers: Vec<Option<Answer>>,
    driver: Vec<(Millis, Event)>,
}

fn turn_id(turn: u32) -> TurnId {
    TurnId::new(format!("turn {turn}")).unwrap()
}

fn sandbox_id(sandbox: u32) -> SandboxId {
    SandboxId::new(format!("sandbox {sandbox}")).unwrap()
}

impl<'a> OneGate<'a> {
    /// The answers of a gate whose driver does what is recorded of each batch.
    pub(crate) fn run(timeline: &'a Timeline, policy: &'a ModelPolicy) -> Vec<Answer> {
        let count = timeline.batches().len();
        let mut one = Self {
            timeline,
            policy,
            gate: Gate::new(GateOptions { timeout: policy.timeout, ..GateOptions::default() }),
            now: Millis::EPOCH,
            limit: None,
            asked: vec![None; count],
            answers: vec![None; count],
            driver: Vec::new(),
        };
        while one.answers.iter().any(Option::is_none) {
            one.step();
        }
        one.answers.into_iter().map(Option::unwrap).collect()
    }

    fn step(&mut self) {
        let arrivals = (0..self.asked.len()).filter_map(|place| self.arrival(place));
        let limit = self.limit.map(|at| (at, Event::Limit));
        let (at, event) = arrivals.chain(limit).chain(self.driver.iter().copied()).min().unwrap();
        self.now = at;
        match event {
            Event::Limit => self.tell(&Input::Tick),
            Event::Answer { attempt, succeeded } => {
                self.driver.retain(|(_, one)| *one != event);
                self.tell(&match succeeded {
                    true => Input::Created { attempt, checkpoint_id: None, partial: false },
                    false => Input::Failed { attempt },
                });
            }
            Event::Arrival { place, .. } => self.ask(place),
        }
    }

    /// When a batch asks, if that is known and it has not.
    fn arrival(&self, place: usize) -> Option<(Millis, Event)> {
        if self.asked[place].is_some() {
            return None;
        }
        let batches = self.timeline.batches();
        let own = &batches[place];
        let mut shift = 0;
        for (other, batch) in batches.iter().enumerate() {
            let end = batch.start.saturating_add(batch.duration);
            if batch.sandbox == own.sandbox && (batch.start, other) < (own.start, place) && end <= own.start {
                let answer = self.answers[other].as_ref()?;
                let due = if answer.ran { batch.start } else { end };
                shift = shift.max(answer.answered.as_u64().saturating_sub(due.as_u64()));
            }
        }
        let at = Millis::since_epoch(own.start.as_u64() + shift);
        Some((at, Event::Arrival { start: own.start, place }))
    }

    fn ask(&mut self, place: usize) {
        self.asked[place] = Some(self.now);
        let batch = &self.timeline.batches()[place];
        self.tell(&Input::Batch(Batch {
            batch: BatchId::new(place as u64),
            sandbox_id: sandbox_id(batch.sandbox),
            turn_id: batch.turn.map(turn_id),
            flag_enabled: true,
            paused: false,
            has_driver: true,
            read_only: batch.read_only && self.policy.unless_read_only,
        }));
    }

    fn tell(&mut self, input: &Input) {
        self.gate.handle(input, self.now).unwrap();
        let mut refused = Vec::new();
        loop {
            match self.gate.poll_output() {
                Output::Start(start) => self.start(&start),
                Output::Verdict(verdict) => refused.extend(self.verdict(&verdict)),
                // The driver is not interrupted: its answer comes when it comes.
                Output::Abort { .. } | Output::DeleteLate { .. } => {}
                Output::Timeout { at, .. } => {
                    self.limit = Some(at);
                    break;
                }
                Output::Idle => {
                    self.limit = None;
                    break;
                }
            }
        }
        for release in refused {
            self.tell(&release);
        }
    }

    fn start(&mut self, start: &Start) {
        let batches = self.timeline.batches();
        // Who leads it: the first of those that wait.
        let of_attempt = |place: &usize| {
            let batch = &batches[*place];
            sandbox_id(batch.sandbox) == start.sandbox_id
                && batch.turn.map(turn_id).as_ref() == Some(&start.turn_id)
                && self.asked[*place].is_some()
                && self.answers[*place].is_none()
        };
        let leader = (0..batches.len())
            .filter(of_attempt)
            .min_by_key(|&place| (self.asked[place], batches[place].start, place))
            .unwrap();
        let recorded = batches[leader].recorded.unwrap();
        if recorded.end != DriverEnd::Stalled {
            let event =
                Event::Answer { attempt: start.attempt, succeeded: recorded.end == DriverEnd::Succeeded };
            self.driver.push((self.now.saturating_add(recorded.took), event));
        }
    }

    /// Writes an answer down; what the gate has to be told if the batch is refused.
    fn verdict(&mut self, verdict: &Verdict) -> Option<Input> {
        let place = usize::try_from(verdict.batch.as_u64()).unwrap();
        let failed = !verdict.protected() && matches!(verdict.outcome(), Outcome::Failed | Outcome::TimedOut);
        let ran = !(failed && self.policy.block);
        let at = self.asked[place].unwrap();
        assert_eq!(verdict.duration, self.now.since(at));
        self.answers[place] = Some(Answer {
            at,
            answered: self.now,
            ran,
            reason: verdict.reason,
            protected: verdict.protected(),
            late: verdict.cover.as_ref().is_some_and(|cover| cover.late),
        });
        let batch = &self.timeline.batches()[place];
        let (sandbox_id, turn_id) = (sandbox_id(batch.sandbox), batch.turn.map(turn_id)?);
        (!ran).then_some(Input::Released { sandbox_id, turn_id, batch: Some(verdict.batch) })
    }
}
