#[allow(
    clippy::disallowed_types,
    reason = "its hasher has no random seed, and no answer depends on its order"
)]
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::digest::{AsIs, SandboxKey, TurnKey};
use super::ghosts::Ghosts;
use super::ids::BatchId;
use super::mark::Mark;
use super::outlived::Outlived;
use super::passed::Passed;
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
pub(super) struct Ledger {
    #[allow(
        clippy::disallowed_types,
        reason = "its hasher has no random seed, and no answer depends on its order"
    )]
    sandboxes: HashMap<SandboxKey, Box<Remembered>, BuildHasherDefault<AsIs>>,
    pub(super) passed: Passed,
    pub(super) outlived: Outlived,
}

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

    /// Puts a turn in that has no place yet, as the one used last. Gives what falls out: what is unused longest.
    fn put(&mut self, record: TurnRecord) -> Option<TurnRecord> {
        self.turns.rotate_right(1);
        let displaced = std::mem::replace(self.turns.first_mut()?, record);
        if displaced.ran_unprotected() {
            self.ghosts.insert(displaced.key);
        }
        Some(displaced)
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
        self.sandboxes.len()
    }

    fn sandbox(&mut self, sandbox: SandboxKey, now: Millis) -> Option<&mut Remembered> {
        self.sandboxes.get_mut(&sandbox).map(Box::as_mut).filter(|remembered| now < remembered.expires())
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
    pub(super) fn pass(
        &mut self,
        batch: BatchId,
        sandbox: SandboxKey,
        turn: TurnKey,
        now: Millis,
    ) -> Option<Cover> {
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
        self.passed.insert(batch, sandbox, turn, cover.is_some());
        cover
    }

    /// Gives out what is known of a turn that is about to be under way; until it comes back by [`Ledger::put`], nothing is
    /// known of it here. Its sandbox is in use as of now, so that its other turns are not forgotten meanwhile.
    pub(super) fn take(&mut self, sandbox: SandboxKey, turn: TurnKey, now: Millis) -> Tally {
        if self.sandbox(sandbox, now).is_none() {
            self.expire(sandbox);
        }
        let Some(remembered) = self.sandbox(sandbox, now) else { return Tally::default() };
        remembered.last_used = now;
        let unknown = remembered.tally_of_unknown(turn);
        remembered.take(turn).map_or(unknown, |record| record.tally)
    }

    /// Remembers a turn that has no record yet, as the one used last; its sandbox is in use as of now.
    pub(super) fn put(&mut self, sandbox: SandboxKey, record: TurnRecord, now: Millis) {
        let known = self.sandbox(sandbox, now).is_some();
        if !known {
            self.expire(sandbox);
            if record.is_free() {
                return;
            }
            self.sandboxes.insert(sandbox, Box::new(Remembered::new(now)));
        }
        let Some(remembered) = self.sandboxes.get_mut(&sandbox) else { return };
        remembered.last_used = now;
        let displaced = if record.is_free() { None } else { remembered.put(record) };
        if remembered.is_empty() {
            self.remove(sandbox);
        }
        if let Some(displaced) = displaced.filter(TurnRecord::ran) {
            self.outlived.insert(sandbox, displaced.key, now);
            self.passed.forget_turn(sandbox, displaced.key);
        }
    }

    /// A batch of the turn did not run after all, nobody says which.
    pub(super) fn release(&mut self, sandbox: SandboxKey, turn: TurnKey, outlived: bool, now: Millis) {
        self.change(sandbox, turn, now, &|record| record.release(outlived));
    }

    /// A batch of the turn did not run after all, one that was let through under its checkpoint or without one.
    pub(super) fn release_known(&mut self, sandbox: SandboxKey, turn: TurnKey, covered: bool, now: Millis) {
        self.change(sandbox, turn, now, &|record| record.release_known(covered));
    }

    fn change(&mut self, sandbox: SandboxKey, turn: TurnKey, now: Millis, how: &dyn Fn(&mut TurnRecord)) {
        let Some(remembered) = self.sandbox(sandbox, now) else { return };
        let Some(mut record) = remembered.take(turn) else { return };
        how(&mut record);
        if record.cover().is_none() {
            self.passed.forget_covered(sandbox, turn);
        }
        self.put(sandbox, record, now);
    }

    /// A checkpoint of the sandbox is gone.
    pub(super) fn uncover(&mut self, sandbox: SandboxKey, mark: Mark, now: Millis) {
        let Some(remembered) = self.sandboxes.get_mut(&sandbox).filter(|one| now < one.expires()) else {
            return;
        };
        for record in remembered.turns.iter_mut().filter(|record| record.counts_on(mark)) {
            record.uncover();
            self.passed.uncover(sandbox, record.key);
        }
    }

    /// All checkpoints are gone, or the sandbox's; and what failed does not count.
    pub(super) fn uncover_all(&mut self, sandbox: Option<SandboxKey>, now: Millis) {
        let all = self.sandboxes.iter_mut().filter(|&(&key, _)| sandbox.is_none_or(|one| one == key));
        for (&key, remembered) in all.filter(|(_, remembered)| now < remembered.expires()) {
            for record in &mut remembered.turns {
                record.uncover();
                record.tally.failures = 0;
                self.passed.uncover(key, record.key);
            }
        }
    }

    /// The turn ran under a checkpoint that is gone. If it fell out of the ledger, that is all that is left of it.
    pub(super) fn ran_under_what_is_gone(&mut self, sandbox: SandboxKey, turn: TurnKey, now: Millis) {
        if self.sandbox(sandbox, now).is_none() {
            self.expire(sandbox);
            self.sandboxes.insert(sandbox, Box::new(Remembered::new(now)));
        }
        let unknown = self.sandbox(sandbox, now).filter(|remembered| remembered.find(turn).is_none());
        if let Some(remembered) = unknown {
            remembered.ghosts.insert(turn);
        }
    }

    /// Whether any turn counts on this checkpoint. A sandbox whose time is over does not, though it was not swept yet.
    pub(super) fn counts_on(&self, mark: Mark, now: Millis) -> bool {
        let known = self.sandboxes.values().filter(|remembered| now < remembered.expires());
        known.flat_map(|remembered| &remembered.turns).any(|record| record.counts_on(mark))
    }

    /// Nothing of a sandbox holds any longer, but that batches of its turns were let through.
    pub(super) fn forget(&mut self, sandbox: SandboxKey, now: Millis) {
        for record in self.remove(sandbox).iter().flat_map(|remembered| &remembered.turns) {
            if record.ran() {
                self.outlived.insert(sandbox, record.key, now);
            }
        }
        self.passed.forget_sandbox(sandbox);
    }

    /// A sandbox that is not known is forgotten, if it has been unused for too long.
    fn expire(&mut self, sandbox: SandboxKey) {
        if self.remove(sandbox).is_some() {
            self.passed.forget_sandbox(sandbox);
        }
    }

    fn remove(&mut self, sandbox: SandboxKey) -> Option<Box<Remembered>> {
        let removed = self.sandboxes.remove(&sandbox);
        self.give_back();
        removed
    }

    /// A map keeps the room that it once needed: gives it back when three quarters of it are idle.
    fn give_back(&mut self) {
        if self.sandboxes.len() < self.sandboxes.capacity() / 4 {
            self.sandboxes.shrink_to_fit();
        }
    }

    /// When the first look at unused sandboxes is due after one was remembered at `now`.
    pub(super) fn first_sweep(now: Millis) -> Millis {
        now.saturating_add(KEPT_UNUSED)
    }

    /// Frees the memory of the sandboxes that have been unused for 24 hours, and says when to look again.
    pub(super) fn sweep(&mut self, now: Millis) -> Option<Millis> {
        self.sandboxes.retain(|_, remembered| now < remembered.expires());
        // Whoever comes back is another: no batch from before may be taken for one of its own.
        self.passed.forget(&|one| !self.sandboxes.contains_key(&one.sandbox));
        self.give_back();
        let next = self.sandboxes.values().map(|remembered| remembered.expires()).min()?;
        Some(next.max(now.saturating_add(BETWEEN_SWEEPS)))
    }
}
