//! One sandbox under one policy, from event to event.

use super::arrivals::Arrivals;
use super::driver::DriverModel;
use super::lane::{Lane, LaneBatch};
use super::memory::{Asked, Current, Memory, Told};
use super::policy::{LONGEST_TIMEOUT, ModelPolicy, PolicyKind};
use super::record::{AttemptEnd, AttemptRecord, BatchRecord, LaneRecords};
use super::timeline::Timeline;
use super::why::Why;
use crate::gate::{
    AttemptId, Batch, BatchId, Gate, GateOptions, Input, Outcome, Output, Reason, Start, Verdict,
};
use crate::ids::{SandboxId, TurnId};
use crate::time::{Millis, MillisSpan};

/// The attempt under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    id: AttemptId,
    current: Current,
    /// When the driver answers, and whether there is a checkpoint then.
    answer: Option<(Millis, bool)>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    place: usize,
    name: u32,
}

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Event {
    Limit,
    Answer,
    Arrival,
}

pub(super) struct LaneReplay<'a> {
    lane: &'a Lane,
    timeline: &'a Timeline,
    driver: &'a DriverModel,
    policy: &'a ModelPolicy,
    arrivals: Arrivals<'a>,
    memory: Memory,
    gate: Gate,
    sandbox_id: SandboxId,
    /// The name under which the gate was asked last, as a number and as an id: an id takes time to write, and many batches ask under one.
    named: (u32, TurnId),
    /// When the gate has to be asked again, as long as somebody waits.
    limit: Option<Millis>,
    under_way: Option<UnderWay>,
    /// The attempt whose end the gate is telling of.
    ended: Option<Current>,
    /// In the order of arrival.
    waiting: Vec<Waiting>,
    /// Those that were refused and of which the gate does not know it yet.
    refused: Vec<usize>,
    now: Millis,
    records: LaneRecords,
}

impl<'a> LaneReplay<'a> {
    pub(super) fn new(
        lane: &'a Lane,
        timeline: &'a Timeline,
        driver: &'a DriverModel,
        policy: &'a ModelPolicy,
    ) -> Self {
        Self {
            lane,
            timeline,
            driver,
            policy,
            arrivals: Arrivals::new(lane),
            memory: Memory::new(lane, policy),
            gate: Gate::new(GateOptions {
                timeout: policy.timeout.min(LONGEST_TIMEOUT),
                ..GateOptions::default()
            }),
            sandbox_id: SandboxId::of_number(0),
            named: (0, TurnId::of_number(0)),
            limit: None,
            under_way: None,
            ended: None,
            waiting: Vec::new(),
            refused: Vec::new(),
            now: Millis::EPOCH,
            records: LaneRecords { batches: Vec::with_capacity(lane.batches.len()), attempts: Vec::new() },
        }
    }

    pub(super) fn run(mut self) -> LaneRecords {
        while let Some((at, event)) = self.next_event() {
            self.now = at;
            match event {
                Event::Limit => self.tell(&Input::Tick),
                Event::Answer => self.answer(),
                Event::Arrival => self.arrive(),
            }
        }
        self.records
    }

    /// Of several at one instant the limit comes first, then the driver's answer.
    fn next_event(&mut self) -> Option<(Millis, Event)> {
        let mut next = self.limit.map(|at| (at, Event::Limit));
        let answer = self.under_way.and_then(|attempt| attempt.answer).map(|(at, _)| (at, Event::Answer));
        let arrival = self.arrivals.next_at().map(|at| (at, Event::Arrival));
        for one in [answer, arrival] {
            if let Some((at, _)) = one
                && next.is_none_or(|(first, _)| at < first)
            {
                next = one;
            }
        }
        next
    }

    fn arrive(&mut self) {
        let place = self.arrivals.take();
        let Some(&batch) = self.lane.batches.get(place) else { return };
        self.records.batches.push(BatchRecord {
            batch: batch.batch,
            at: self.now,
            waited: MillisSpan::ZERO,
            ran: true,
            why: Why::Never,
            protected: false,
            late: false,
            attempt: None,
            returns_to: None,
            lost: MillisSpan::ZERO,
            lost_batches: 0,
            lost_turns: 0,
        });
        let current = self.under_way.map(|attempt| attempt.current);
        match self.memory.ask(&batch, self.now, current) {
            Asked::Told(told) => self.settle(place, &batch, told),
            Asked::Gate(name) => self.ask_gate(place, &batch, name),
        }
    }

    fn ask_gate(&mut self, place: usize, batch: &LaneBatch, name: u32) {
        let is_gate = self.policy.kind == PolicyKind::PerTurn;
        let read_only = is_gate && batch.read_only && self.policy.unless_read_only;
        if self.named.0 != name {
            self.named = (name, TurnId::of_number(name));
        }
        let turn_id = self.named.1.clone();
        if is_gate
            && !read_only
            && self.memory.is_covered(batch.turn)
            && let Some(cover) = self.gate.pass_covered(&self.sandbox_id, &turn_id, self.now)
        {
            let told = self.memory.answered(batch, Reason::SameTurn, Some(cover.late), None);
            self.settle(place, batch, told);
            return;
        }
        self.waiting.push(Waiting { place, name });
        self.tell(&Input::Batch(Batch {
            batch: BatchId::new(place as u64),
            sandbox_id: self.sandbox_id.clone(),
            turn_id: (batch.turn_known || !is_gate).then_some(turn_id),
            flag_enabled: true,
            paused: false,
            has_driver: true,
            read_only,
        }));
    }

    fn answer(&mut self) {
        let Some(UnderWay { id, current, answer }) = self.under_way.take() else { return };
        let Some((_, succeeded)) = answer else { return };
        let end = if succeeded { AttemptEnd::Succeeded } else { AttemptEnd::Failed };
        self.end_attempt(current, end);
        self.ended = Some(current);
        if succeeded {
            let began = self.records.attempts.get(current.attempt).map_or(self.now, |attempt| attempt.at);
            self.memory.created(began, current.turn);
            self.tell(&Input::Created { attempt: id, checkpoint_id: None, partial: false });
        } else {
            self.tell(&Input::Failed { attempt: id });
        }
        self.ended = None;
    }

    fn tell(&mut self, input: &Input) {
        self.gate.take_in(input, self.now);
        self.perform();
        while let Some(place) = self.refused.pop() {
            self.release(place);
        }
    }

    /// Does what the gate says, until it waits for news.
    fn perform(&mut self) {
        self.limit = loop {
            match self.gate.poll_output() {
                Output::Start(start) => self.start(&start),
                Output::Verdict(verdict) => self.verdict(&verdict),
                Output::Abort { .. } => {
                    if let Some(UnderWay { current, .. }) = self.under_way.take() {
                        self.end_attempt(current, AttemptEnd::TimedOut);
                    }
                }
                // It is never told what comes of an attempt that was aborted: nothing does.
                Output::DeleteLate { .. } => {}
                Output::Timeout { at, .. } => break (self.gate.waiting_batches() > 0).then_some(at),
                Output::Idle => break None,
            }
        };
    }

    fn start(&mut self, start: &Start) {
        let name = start.turn_id.as_str().parse::<u32>().ok();
        let leader = self.waiting.iter().find(|one| Some(one.name) == name);
        let Some(batch) = leader.and_then(|leader| self.lane.batches.get(leader.place)) else { return };
        let recorded = self.timeline.batches().get(batch.batch as usize).and_then(|batch| batch.recorded);
        let answer = self.driver.answer(batch.batch, recorded);
        let answered = answer.map(|answer| self.now.saturating_add(answer.after));
        let is_gate = self.policy.kind == PolicyKind::PerTurn;
        let late = if is_gate { start.late } else { self.memory.is_late(batch.turn) };
        let current = Current { attempt: self.records.attempts.len(), turn: batch.turn };
        self.records.attempts.push(AttemptRecord {
            leader: batch.batch,
            at: self.now,
            ended: self.now,
            answered,
            end: AttemptEnd::TimedOut,
            late,
            kept: false,
        });
        let answer = answered.zip(answer.map(|answer| answer.succeeded));
        self.under_way = Some(UnderWay { id: start.attempt, current, answer });
    }

    fn end_attempt(&mut self, current: Current, end: AttemptEnd) {
        if let Some(attempt) = self.records.attempts.get_mut(current.attempt) {
            (attempt.ended, attempt.end) = (self.now, end);
        }
    }

    fn verdict(&mut self, verdict: &Verdict) {
        let number = verdict.batch.as_u64();
        let Some(at) = self.waiting.iter().position(|one| one.place as u64 == number) else { return };
        let place = self.waiting.remove(at).place;
        let Some(&batch) = self.lane.batches.get(place) else { return };
        let current = self.ended.or(self.under_way.map(|attempt| attempt.current));
        let cover = verdict.cover.as_ref().map(|cover| cover.late);
        let told = self.memory.answered(&batch, verdict.reason, cover, current);
        if told.why.outcome() == Outcome::Created
            && let Some(attempt) = told.attempt.and_then(|attempt| self.records.attempts.get_mut(attempt))
        {
            attempt.late = told.late;
        }
        self.settle(place, &batch, told);
    }

    /// A batch has its answer, and runs or is refused.
    fn settle(&mut self, place: usize, batch: &LaneBatch, told: Told) {
        let Some(record) = self.records.batches.get_mut(place) else { return };
        let failed = !told.protected && matches!(told.why.outcome(), Outcome::Failed | Outcome::TimedOut);
        record.waited = self.now.since(record.at);
        record.ran = !(failed && self.policy.block);
        record.why = told.why;
        record.protected = told.protected;
        record.late = told.late;
        record.attempt = told.attempt.map(|attempt| u32::try_from(attempt).unwrap_or(u32::MAX));
        // By how much it is answered later than it would have begun to run, or than it would have ended if it does not run.
        let due = if record.ran { batch.start } else { batch.end() };
        let ran = record.ran;
        self.arrivals.settle(place, self.now.since(due));
        if !ran {
            self.refused.push(place);
        } else if !told.protected && told.why != Why::Gate(Reason::ReadOnly) {
            self.memory.ran_bare(batch.turn);
        }
    }

    /// The gate hears that a batch was refused: its slot is free again (G8). The other policies never come back to theirs.
    fn release(&mut self, place: usize) {
        let Some(batch) = self.lane.batches.get(place) else { return };
        if self.policy.kind != PolicyKind::PerTurn {
            return;
        }
        let released = Input::Released {
            sandbox_id: self.sandbox_id.clone(),
            turn_id: TurnId::of_number(batch.turn),
            batch: Some(BatchId::new(place as u64)),
        };
        self.gate.take_in(&released, self.now);
        self.perform();
    }
}
