use super::lane::Lane;
use super::order::{Placed, sorted};
use crate::time::{Millis, MillisSpan};

/// When each batch of a sandbox asks: one after the other, because a batch is pushed back at least as far as those that start before it.
///
/// A batch can be pushed back by those that, undisturbed, would have ended when it starts and that come before it. In the order of
/// these ends they are always the first ones, so that their largest shift is a maximum that only grows.
#[derive(Debug)]
pub(super) struct Arrivals<'a> {
    lane: &'a Lane,
    /// The batches' places by their undisturbed ends.
    by_end: Vec<Placed>,
    /// How many of these have been looked at, and the largest shift of those.
    looked_at: usize,
    shift: MillisSpan,
    /// By how much each batch pushes others back, once that is known.
    pushes: Vec<Option<MillisSpan>>,
    /// The place of the batch that comes next.
    next: usize,
}

impl<'a> Arrivals<'a> {
    pub(super) fn new(lane: &'a Lane) -> Self {
        Self {
            lane,
            by_end: sorted(lane.batches.len(), &|at| {
                lane.batches.get(at).map_or(0, |batch| batch.end().as_u64())
            }),
            looked_at: 0,
            shift: MillisSpan::ZERO,
            pushes: vec![None; lane.batches.len()],
            next: 0,
        }
    }

    /// When the next batch asks; `None`: there is none, or that depends on one that still waits.
    pub(super) fn next_at(&mut self) -> Option<Millis> {
        let batch = self.lane.batches.get(self.next)?;
        while let Some(&(end, place)) = self.by_end.get(self.looked_at) {
            if end > batch.start.as_u64() || place as usize >= self.next {
                break;
            }
            let push = self.pushes.get(place as usize).copied().flatten()?;
            self.shift = self.shift.max(push);
            self.looked_at += 1;
        }
        Some(batch.start.saturating_add(self.shift))
    }

    /// The next batch has asked: its place.
    pub(super) fn take(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    /// It is known by how much a batch pushes others back.
    pub(super) fn settle(&mut self, place: usize, push: MillisSpan) {
        if let Some(known) = self.pushes.get_mut(place) {
            *known = Some(push);
        }
    }
}
