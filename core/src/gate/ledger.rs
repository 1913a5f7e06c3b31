#[allow(
    clippy::disallowed_types,
    reason = "its hasher has no random seed, and no answer depends on its order"
)]
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::digest::{AsIs, SandboxKey, TurnKey};
use super::ghosts::Ghosts;
use super::mark::Mark;
use super::turn::{Tally, TurnRecord};
use super::verdict::Cover;
use crate::time::{Millis, MillisSpan};

/// How many turns of a sandbox are remembered: the ones used last (G4). A seventh takes the place of the one unused longest, of
/// which is then only remembered whether batches of it were let through unprotected ([`Ghosts`]).
pub(super) const REMEMBERED_TURNS: usize = 6;

/// How long a sandbox is remembered that nobody uses (G8).
pub(super) const KEPT_UNUSED: MillisSpan = MillisSpan::from_millis(24 * 60 * 60 * 1000);

/// Sweeps are at least this far apart, so that sandboxes that go stale one by one do not each cost a look at all of them.
const BETWEEN_SWEEPS: MillisSpan = MillisSpan::from_millis(60 * 60 * 1000);

/// What is remembered of the sandboxes whose turns are not under way.
///
/// A sandbox that has been unused for 24 hours counts as unknown from that very millisecond; the sweep only frees its memory.
///
/// A hash map, because one look must be cheap however many sandboxes there are (W8).
#[derive(Debug, Default)]
#[allow(
    clippy::disallowed_types,
    reason = "its hasher has no random seed, and no answer depends on its order"
)]
pub(super) struct Ledger(HashMap<SandboxKey, Box<Remembered>, BuildHasherDefault<AsIs>>);

/// One sandbox: 240 bytes, beside its place in the map (29 to 58 bytes more, by how full that is).
#[derive(Debug)]
struct Remembered {
    last_used: Millis,
    /// The one used last comes first; free places are at the end.
    turns: [TurnRecord; REMEMBERED_TURNS],
    ghosts: Ghosts,
}

impl Remembered {
    fn new(now: Millis) -> Self {
        Self { last_used: now, turns: [TurnRecord::FREE; REMEMBERED_TURNS], ghosts: Ghosts::default() }
    }

    fn expires(&self) -> Millis {
        self.last_used.saturating_add(KEPT_UNUSED)
    }

    fn find(&self, turn: TurnKey) -> Option<usize> {
        self.turns.iter().position(|record| record.key == turn && !record.is_free())
    }

    fn get(&self, turn: TurnKey) -> Option<&TurnRecord> {
        self.turns.iter().find(|record| record.key == turn && !record.is_free())
    }

    /// Frees the turn's place and gives what stood there.
    fn take(&mut self, turn: TurnKey) -> Option<TurnRecord> {
        let at = self.find(turn)?;
        self.turns.get_mut(at..)?.rotate_left(1);
        self.turns.last_mut().map(|place| std::mem::replace(place, TurnRecord::FREE))
    }

    /// Puts a turn in that has no place yet, as the one used last. What is unused longest falls out.
    fn put(&mut self, record: TurnRecord) {
        self.turns.rotate_right(1);
        let Some(place) = self.turns.first_mut() else { return };
        let displaced = std::mem::replace(place, record);
        if displaced.ran_unprotected() {
            self.ghosts.insert(displaced.key);
        }
    }

    /// What a turn without a place has been through, as far as that is known.
    fn tally_of_unknown(&self, turn: TurnKey) -> Tally {
        if self.ghosts.may_have(turn) { Tally::RAN } else { Tally::default() }
    }

    fn is_empty(&self) -> bool {
        self.turns.iter().all(TurnRecord::is_free) && self.ghosts.is_empty()
    }
}

impl Ledger {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    fn sandbox(&mut self, sandbox: SandboxKey, now: Millis) -> Option<&mut Remembered> {
        self.0.get_mut(&sandbox).map(Box::as_mut).filter(|remembered| now < remembered.expires())
    }

    /// The checkpoint under which a batch of the turn runs now, if there is one; the batch is counted.
    pub(super) fn pass_covered(&mut self, sandbox: SandboxKey, turn: TurnKey, now: Millis) -> Option<Cover> {
        let remembered = self.sandbox(sandbox, now)?;
        let at = remembered.find(turn)?;
        let record = remembered.turns.get_mut(at)?;
        let cover = record.cover()?;
        record.pass();
        remembered.last_used = now;
        if at > 0 {
            remembered.turns.get_mut(..=at)?.rotate_right(1);
        }
        Some(cover)
    }

    /// The turn's checkpoint, without counting or remembering anything.
    pub(super) fn cover(&mut self, sandbox: SandboxKey, turn: TurnKey, now: Millis) -> Option<Cover> {
        self.sandbox(sandbox, now)?.get(turn)?.cover()
    }

    /// What the turn has been through.
    pub(super) fn tally(&mut self, sandbox: SandboxKey, turn: TurnKey, now: Millis) -> Tally {
        let Some(remembered) = self.sandbox(sandbox, now) else { return Tally::default() };
        remembered.get(turn).map_or_else(|| remembered.tally_of_unknown(turn), |record| record.tally)
    }

    /// A batch runs, under the turn's checkpoint or without one.
    pub(super) fn pass(&mut self, sandbox: SandboxKey, turn: TurnKey, now: Millis) -> Option<Cover> {
        let mut record = self.sandbox(sandbox, now).map_or_else(
            || TurnRecord::uncovered(turn, Tally::default()),
            |remembered| {
                let unknown = TurnRecord::uncovered(turn, remembered.tally_of_unknown(turn));
                remembered.take(turn).unwrap_or(unknown)
            },
        );
        let cover = record.cover();
        record.pass();
        self.put(sandbox, record, now);
        cover
    }

    /// Gives out what is known of a turn that is about to be under way; until it comes back by [`Ledger::put`], nothing is
    /// known of it here. Its sandbox is in use as of now, so that its other turns are not forgotten meanwhile.
    pub(super) fn take(&mut self, sandbox: SandboxKey, turn: TurnKey, now: Millis) -> Tally {
        let Some(remembered) = self.sandbox(sandbox, now) else { return Tally::default() };
        remembered.last_used = now;
        let unknown = remembered.tally_of_unknown(turn);
        remembered.take(turn).map_or(unknown, |record| record.tally)
    }

    /// Remembers a turn that has no record yet, as the one used last; its sandbox is in use as of now.
    pub(super) fn put(&mut self, sandbox: SandboxKey, record: TurnRecord, now: Millis) {
        let known = self.sandbox(sandbox, now).is_some();
        if record.is_free() {
            if !known {
                self.forget(sandbox);
                return;
            }
        } else if !known {
            self.0.insert(sandbox, Box::new(Remembered::new(now)));
        }
        if let Some(remembered) = self.0.get_mut(&sandbox) {
            remembered.last_used = now;
            if !record.is_free() {
                remembered.put(record);
            }
            if remembered.is_empty() {
                self.forget(sandbox);
            }
        }
    }

    /// A batch of the turn did not run after all.
    pub(super) fn release(&mut self, sandbox: SandboxKey, turn: TurnKey, now: Millis) {
        let Some(remembered) = self.sandbox(sandbox, now) else { return };
        let Some(mut record) = remembered.take(turn) else { return };
        record.release();
        self.put(sandbox, record, now);
    }

    /// A checkpoint of the sandbox is gone.
    pub(super) fn uncover(&mut self, sandbox: SandboxKey, mark: Mark, now: Millis) {
        let records = self.sandbox(sandbox, now).into_iter().flat_map(|remembered| &mut remembered.turns);
        records.filter(|record| record.counts_on(mark)).for_each(TurnRecord::uncover);
    }

    /// The turn ran under a checkpoint that is gone. If it fell out of the ledger, that is all that is left of it.
    pub(super) fn ran_under_what_is_gone(&mut self, sandbox: SandboxKey, turn: TurnKey, now: Millis) {
        if self.sandbox(sandbox, now).is_none() {
            self.0.insert(sandbox, Box::new(Remembered::new(now)));
        }
        let unknown = self.sandbox(sandbox, now).filter(|remembered| remembered.find(turn).is_none());
        if let Some(remembered) = unknown {
            remembered.ghosts.insert(turn);
        }
    }

    /// Whether any turn counts on this checkpoint.
    pub(super) fn counts_on(&self, mark: Mark) -> bool {
        self.0.values().flat_map(|remembered| &remembered.turns).any(|record| record.counts_on(mark))
    }

    pub(super) fn forget(&mut self, sandbox: SandboxKey) {
        self.0.remove(&sandbox);
        self.give_back();
    }

    /// A map keeps the room that it once needed: gives it back when three quarters of it are idle.
    fn give_back(&mut self) {
        if self.0.len() < self.0.capacity() / 4 {
            self.0.shrink_to_fit();
        }
    }

    /// When the first look at unused sandboxes is due after one was remembered at `now`.
    pub(super) fn first_sweep(now: Millis) -> Millis {
        now.saturating_add(KEPT_UNUSED)
    }

    /// Frees the memory of the sandboxes that have been unused for 24 hours, and says when to look again.
    pub(super) fn sweep(&mut self, now: Millis) -> Option<Millis> {
        self.0.retain(|_, remembered| now < remembered.expires());
        self.give_back();
        let next = self.0.values().map(|remembered| remembered.expires()).min()?;
        Some(next.max(now.saturating_add(BETWEEN_SWEEPS)))
    }
}
