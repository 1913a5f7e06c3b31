//! What a rollback of each batch would throw away, for all batches of a sandbox in one pass over its time.

use super::lane::Lane;
use super::order::{Placed, sorted};
use super::record::{AttemptEnd, AttemptRecord, LaneRecords};
use crate::time::MillisSpan;

/// A destructive batch that ran.
#[derive(Clone, Copy, Debug)]
struct Work {
    start: u64,
    end: u64,
    turn: u32,
    /// Its place in the lane.
    place: usize,
}

/// When a checkpoint began, and how long all works together had run by then, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Began {
    at: u64,
    ran: u128,
}

/// Writes down of every destructive batch that ran where its rollback goes and what that costs.
pub(super) fn account(lane: &Lane, records: &mut LaneRecords) {
    let LaneRecords { batches, attempts } = records;
    let mut works: Vec<Work> = Vec::with_capacity(batches.len());
    for (place, (batch, record)) in lane.batches.iter().zip(batches.iter()).enumerate() {
        if record.ran && !batch.read_only {
            let start = record.answered();
            let end = start.saturating_add(batch.duration);
            works.push(Work { start: start.as_u64(), end: end.as_u64(), turn: batch.turn, place });
        }
    }
    let mut sweep = Sweep::new(&works);
    let mut at_risk = AtRisk::new(lane.turns);
    let mut checkpoints = Checkpoints::new(attempts);
    let mut by_start = sweep.starts.clone().into_iter().map(|(_, work)| work as usize).peekable();
    let mut together: Vec<&Work> = Vec::new();
    while let Some(work) = by_start.next().and_then(|work| works.get(work)) {
        together.push(work);
        let next = by_start.peek().and_then(|&next| works.get(next));
        if next.is_some_and(|next| next.start == work.start) {
            continue;
        }
        let start = work.start;
        checkpoints.advance(start, &mut sweep);
        let ran = sweep.until(start);
        if let Some((attempt, then)) = checkpoints.newest {
            at_risk.forget(&sweep.ends, &works, start, then.at);
            for work in &together {
                let Some(record) = batches.get_mut(work.place) else { continue };
                let lost = u64::try_from(ran.saturating_sub(then.ran)).unwrap_or(u64::MAX);
                record.returns_to = Some(attempt);
                record.lost = MillisSpan::from_millis(lost);
                // Between a checkpoint's beginning and the same instant nothing has run, whatever was running.
                if then.at < start {
                    record.lost_batches = at_risk.works;
                    record.lost_turns = at_risk.others(work.turn);
                }
            }
        }
        let then = checkpoints.newest.map(|(_, then)| then.at);
        for work in together.drain(..) {
            // One without running time may be over with the checkpoint's beginning.
            if then.is_none_or(|then| work.end > then) {
                at_risk.add(work);
            }
        }
    }
}

/// Passes over a sandbox's time, forwards only.
#[derive(Debug)]
struct Sweep {
    starts: Vec<Placed>,
    ends: Vec<Placed>,
    begun: usize,
    ended: usize,
    at: u64,
    ran: u128,
}

impl Sweep {
    fn new(works: &[Work]) -> Self {
        Self {
            starts: sorted(works.len(), &|at| works.get(at).map_or(0, |work| work.start)),
            ends: sorted(works.len(), &|at| works.get(at).map_or(0, |work| work.end)),
            begun: 0,
            ended: 0,
            at: 0,
            ran: 0,
        }
    }

    /// Goes on to an instant that is not before the last one: how long all works together have run by then.
    fn until(&mut self, at: u64) -> u128 {
        loop {
            let start = time_of(&self.starts, self.begun).filter(|&start| start < at);
            let end = time_of(&self.ends, self.ended).filter(|&end| end < at);
            // Of both at one instant the beginning first, so that none ends that has not begun.
            match (start, end) {
                (Some(start), end) if end.is_none_or(|end| start <= end) => {
                    self.run(start);
                    self.begun += 1;
                }
                (_, Some(end)) => {
                    self.run(end);
                    self.ended += 1;
                }
                (_, None) => break,
            }
        }
        self.run(at);
        self.ran
    }

    /// All that are running run until `at`.
    fn run(&mut self, at: u64) {
        let running = self.begun.saturating_sub(self.ended) as u128;
        self.ran += running * u128::from(at.saturating_sub(self.at));
        self.at = at;
    }
}

fn time_of(times: &[Placed], at: usize) -> Option<u64> {
    times.get(at).map(|&(time, _)| time)
}

/// A sandbox's checkpoints: attempts come one after the other, so that the one that began last is complete last.
#[derive(Debug)]
struct Checkpoints<'a> {
    attempts: &'a [AttemptRecord],
    /// The place of the next one that begins.
    next: usize,
    /// The one that began last, if it may not be complete yet.
    under_way: Option<(u32, Began)>,
    /// The newest one that is complete.
    newest: Option<(u32, Began)>,
}

impl<'a> Checkpoints<'a> {
    fn new(attempts: &'a [AttemptRecord]) -> Self {
        Self { attempts, next: 0, under_way: None, newest: None }
    }

    /// Goes on to an instant, and lets the sweep stop where a checkpoint began.
    fn advance(&mut self, at: u64, sweep: &mut Sweep) {
        while let Some(attempt) = self.attempts.get(self.next).filter(|attempt| attempt.at.as_u64() <= at) {
            if attempt.end == AttemptEnd::Succeeded {
                let number = u32::try_from(self.next).unwrap_or(u32::MAX);
                self.newest = self.under_way.take().or(self.newest);
                let at = attempt.at.as_u64();
                self.under_way = Some((number, Began { at, ran: sweep.until(at) }));
            }
            self.next += 1;
        }
        let complete = |&mut (attempt, _): &mut (u32, Began)| {
            self.attempts.get(attempt as usize).is_some_and(|attempt| attempt.ended.as_u64() <= at)
        };
        self.newest = self.under_way.take_if(complete).or(self.newest);
    }
}

/// The works that the newest checkpoint does not have, of those that began before an instant.
#[derive(Debug)]
struct AtRisk {
    /// How many there are.
    works: u32,
    /// When the last one of each turn is over, and of how many turns there are some.
    over: Vec<Option<u64>>,
    turns: u32,
    /// How many of the works that ended first were looked at.
    forgotten: usize,
}

impl AtRisk {
    fn new(turns: u32) -> Self {
        Self { works: 0, over: vec![None; turns as usize], turns: 0, forgotten: 0 }
    }

    fn add(&mut self, work: &Work) {
        let Some(over) = self.over.get_mut(work.turn as usize) else { return };
        self.works += 1;
        if over.is_none() {
            self.turns += 1;
        }
        *over = Some(work.end).max(*over);
    }

    /// A checkpoint that began `then` has all that was over. Only those that began before `now` are here.
    fn forget(&mut self, ends: &[Placed], works: &[Work], now: u64, then: u64) {
        while let Some(&(end, work)) = ends.get(self.forgotten).filter(|&&(end, _)| end <= then) {
            self.forgotten += 1;
            let Some(work) = works.get(work as usize).filter(|work| work.start < now) else { continue };
            let Some(over) = self.over.get_mut(work.turn as usize) else { continue };
            self.works = self.works.saturating_sub(1);
            if *over == Some(end) {
                *over = None;
                self.turns = self.turns.saturating_sub(1);
            }
        }
    }

    /// Of how many turns there are some, but for this one.
    fn others(&self, turn: u32) -> u32 {
        let own = self.over.get(turn as usize).is_some_and(Option::is_some);
        self.turns.saturating_sub(u32::from(own))
    }
}
