//! One sandbox's part of a timeline.

use super::order::{Placed, sorted};
use super::timeline::{Timeline, TimelineBatch};
use crate::time::{Millis, MillisSpan};

/// A batch, seen from its sandbox.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneBatch {
    /// Its place in the timeline.
    pub(super) batch: u32,
    pub(super) start: Millis,
    pub(super) duration: MillisSpan,
    /// Its turn's number in this sandbox: below [`Lane::turns`]. One whose turn is not known has a turn of its own.
    pub(super) turn: u32,
    pub(super) turn_known: bool,
    pub(super) read_only: bool,
}

impl LaneBatch {
    /// When it would end if nothing ever waited.
    pub(super) fn end(&self) -> Millis {
        self.start.saturating_add(self.duration)
    }
}

/// The batches of one sandbox, by their start, then by their place in the timeline.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) batches: Vec<LaneBatch>,
    /// How many turns they are of.
    pub(super) turns: u32,
}

/// The sandboxes of a timeline, by their numbers.
pub(super) struct Lanes<'a> {
    batches: &'a [TimelineBatch],
    by_start: Vec<Placed>,
    by_sandbox: Vec<Placed>,
    next: usize,
}

impl<'a> Lanes<'a> {
    pub(super) fn of(timeline: &'a Timeline) -> Self {
        let batches = timeline.batches();
        let by_start = sorted(batches.len(), &|at| batches.get(at).map_or(0, |batch| batch.start.as_u64()));
        let by_sandbox = sorted(by_start.len(), &|at| {
            by_start
                .get(at)
                .and_then(|&(_, batch)| batches.get(batch as usize))
                .map_or(0, |batch| batch.sandbox.into())
        });
        Self { batches, by_start, by_sandbox, next: 0 }
    }
}

impl Iterator for Lanes<'_> {
    type Item = Lane;

    fn next(&mut self) -> Option<Lane> {
        let &(sandbox, _) = self.by_sandbox.get(self.next)?;
        let mut batches = Vec::new();
        while let Some(&(_, place)) = self.by_sandbox.get(self.next).filter(|&&(one, _)| one == sandbox) {
            self.next += 1;
            let Some(&(_, batch)) = self.by_start.get(place as usize) else { continue };
            let Some(one) = self.batches.get(batch as usize) else { continue };
            batches.push(LaneBatch {
                batch,
                start: one.start,
                duration: one.duration,
                turn: one.turn.unwrap_or_default(),
                turn_known: one.turn.is_some(),
                read_only: one.read_only,
            });
        }
        Some(Lane::new(batches))
    }
}

impl Lane {
    /// The lane of these batches, whose turns still have the host's numbers.
    fn new(mut batches: Vec<LaneBatch>) -> Self {
        // Known turns first, then each unknown one.
        let by_turn = sorted(batches.len(), &|at| match batches.get(at) {
            Some(batch) if batch.turn_known => batch.turn.into(),
            _ => UNKNOWN,
        });
        let mut turns = 0;
        let mut last = UNKNOWN;
        for (turn, place) in by_turn {
            if turn != last || turn == UNKNOWN {
                turns += 1;
            }
            last = turn;
            if let Some(batch) = batches.get_mut(place as usize) {
                batch.turn = turns - 1;
            }
        }
        Self { batches, turns }
    }
}

/// What stands for a turn that is not known where turns are sorted: larger than any number of one.
const UNKNOWN: u64 = u64::MAX;
