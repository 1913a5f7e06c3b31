//! What the documentation says a replay comes to, looked up batch by batch without any cleverness.

use std::collections::BTreeSet;

use turnback_core::{
    AttemptEnd, AttemptRecord, BatchRecord, Millis, ModelPolicy, Replay, Timeline, TimelineBatch,
};

/// A replay beside the timeline that it is of.
pub(crate) struct Told<'a> {
    pub(crate) batches: &'a [TimelineBatch],
    pub(crate) replay: &'a Replay,
    /// The record of each batch, by its place in the timeline.
    pub(crate) records: Vec<BatchRecord>,
}

/// What a rollback of a batch comes to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rollback {
    pub(crate) returns_to: Option<u32>,
    pub(crate) lost: u64,
    pub(crate) batches: u32,
    pub(crate) turns: u32,
}

impl<'a> Told<'a> {
    pub(crate) fn of(timeline: &'a Timeline, replay: &'a Replay) -> Self {
        let mut records = replay.batches.clone();
        records.sort_by_key(|record| record.batch);
        Self { batches: timeline.batches(), replay, records }
    }

    /// How far a batch pushes others back.
    fn push(&self, place: usize) -> u64 {
        let (batch, record) = (&self.batches[place], &self.records[place]);
        let answered = record.at.as_u64() + record.waited.as_u64();
        let start = batch.start.as_u64();
        if record.ran { answered - start } else { answered.saturating_sub(start + batch.duration.as_u64()) }
    }

    /// When a batch has to ask.
    pub(crate) fn asks_at(&self, place: usize) -> Millis {
        let own = &self.batches[place];
        let before = (0..self.batches.len()).filter(|&other| {
            let batch = &self.batches[other];
            batch.sandbox == own.sandbox
                && (batch.start, other) < (own.start, place)
                && batch.start.saturating_add(batch.duration) <= own.start
        });
        let shift = before.map(|other| self.push(other)).max().unwrap_or_default();
        Millis::since_epoch(own.start.as_u64() + shift)
    }

    fn sandbox_of(&self, attempt: &AttemptRecord) -> u32 {
        self.batches[attempt.leader as usize].sandbox
    }

    /// The attempts of a sandbox with their numbers.
    pub(crate) fn attempts(&self, sandbox: u32) -> impl Iterator<Item = (u32, &AttemptRecord)> {
        (1..).zip(&self.replay.attempts).filter(move |(_, attempt)| self.sandbox_of(attempt) == sandbox)
    }

    /// When a destructive batch began and ended, if it ran.
    fn work(&self, place: usize) -> Option<(u64, u64)> {
        let started = self.records[place].started()?.as_u64();
        let batch = &self.batches[place];
        (!batch.read_only).then_some((started, started + batch.duration.as_u64()))
    }

    pub(crate) fn rollback(&self, place: usize) -> Rollback {
        let mut rollback = Rollback { returns_to: None, lost: 0, batches: 0, turns: 0 };
        let Some((start, _)) = self.work(place) else { return rollback };
        let own = &self.batches[place];
        let complete = self
            .attempts(own.sandbox)
            .filter(|(_, attempt)| attempt.end == AttemptEnd::Succeeded && attempt.ended.as_u64() <= start);
        let Some((number, attempt)) = complete.max_by_key(|(number, attempt)| (attempt.at, *number)) else {
            return rollback;
        };
        rollback.returns_to = Some(number);
        let began = attempt.at.as_u64();
        let mut turns = BTreeSet::new();
        for other in (0..self.batches.len()).filter(|&other| self.batches[other].sandbox == own.sandbox) {
            let Some((from, to)) = self.work(other) else { continue };
            if from < start && to > began && began < start {
                rollback.lost += to.min(start).saturating_sub(from.max(began));
                rollback.batches += 1;
                // One whose turn is not known is a turn of its own.
                let turn = self.batches[other].turn;
                turns.insert((turn, if turn.is_none() { other } else { 0 }));
            }
        }
        if own.turn.is_some() {
            turns.remove(&(own.turn, 0));
        }
        rollback.turns = u32::try_from(turns.len()).unwrap();
        rollback
    }

    /// When everything is over.
    fn over(&self) -> u64 {
        let batches = (0..self.records.len()).map(|place| {
            let record = &self.records[place];
            let ran = if record.ran { self.batches[place].duration.as_u64() } else { 0 };
            record.at.as_u64() + record.waited.as_u64() + ran
        });
        let attempts = self.replay.attempts.iter().map(|attempt| attempt.ended.as_u64());
        batches.chain(attempts).max().unwrap_or_default()
    }

    /// Whether an attempt's checkpoint has to be there in the end.
    pub(crate) fn is_kept(&self, number: u32, attempt: &AttemptRecord, policy: &ModelPolicy) -> bool {
        let younger = self
            .attempts(self.sandbox_of(attempt))
            .filter(|(other, one)| one.end == AttemptEnd::Succeeded && *other > number)
            .count();
        let young = self.over() - attempt.ended.as_u64() <= policy.retention.within.as_u64();
        attempt.end == AttemptEnd::Succeeded && (younger == 0 || younger < policy.retention.last && young)
    }
}

/// The smallest of the values that `percent` of 100 are not above.
pub(crate) fn ranked(mut values: Vec<u64>, percent: usize) -> u64 {
    values.sort_unstable();
    let enough =
        |value: &u64| values.iter().filter(|one| *one <= value).count() * 100 >= percent * values.len();
    values.iter().copied().find(enough).unwrap_or_default()
}
