use super::digest::TurnKey;
use super::driver_checkpoint::{DriverCheckpointId, PACKED_BYTES, PackedId};
use super::mark::Mark;
use super::verdict::Cover;

/// How many attempts of a turn may fail before its batches no longer wait for one (G6).
pub(super) const MAX_FAILURES: u8 = 3;

/// How many batches, in a byte. One that has reached 255 stays there: nobody knows any more how many were released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count(u8);

impl Count {
    pub(super) const fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub(super) fn add(&mut self, batches: usize) {
        self.0 = u8::try_from(batches).map_or(u8::MAX, |batches| self.0.saturating_add(batches));
    }

    /// Adds another count.
    fn add_all(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }

    /// Takes one away, if there is one to take.
    pub(super) fn take(&mut self) {
        if self.0 < u8::MAX {
            self.0 = self.0.saturating_sub(1);
        }
    }

    /// Takes one away, but not the last.
    fn take_but_one(&mut self) {
        if self.0 > 1 {
            self.take();
        }
    }
}

/// What a turn has been through, apart from its checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Attempts that failed or ran out of time.
    pub(super) failures: u8,
    /// Batches that were let through without a checkpoint and not released since.
    pub(super) before: Count,
}

impl Tally {
    /// Of a turn of which only that is known: batches were let through without a checkpoint, and nobody knows how many.
    pub(super) const RAN: Self = Self { failures: 0, before: Count(u8::MAX) };

    pub(super) const fn exhausted(self) -> bool {
        self.failures >= MAX_FAILURES
    }

    /// Of a turn whose attempts were all made void so far.
    pub(super) fn voided(attempts: u8) -> Self {
        Self { failures: attempts, ..Self::default() }
    }

    pub(super) fn failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }
}

/// One turn in the ledger. All its fields have the alignment of a byte, so that six of them are 216 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnRecord {
    pub(super) key: TurnKey,
    pub(super) tally: Tally,
    /// Batches that were let through under the checkpoint and not released since. None: there is no checkpoint.
    under: Count,
    cover: PackedCover,
}

impl TurnRecord {
    /// A place that no turn has taken.
    pub(super) const FREE: Self = Self {
        key: TurnKey([0; 16]),
        tally: Tally { failures: 0, before: Count(0) },
        under: Count(0),
        cover: PackedCover::NONE,
    };

    pub(super) const fn uncovered(key: TurnKey, tally: Tally) -> Self {
        Self { key, tally, ..Self::FREE }
    }

    /// A turn whose checkpoint `under` batches were let through under: at least one.
    pub(super) fn covered(
        key: TurnKey,
        tally: Tally,
        cover: &Cover,
        mark: Option<Mark>,
        under: usize,
    ) -> Self {
        let mut count = Count::default();
        count.add(under);
        Self { key, tally, under: count, cover: PackedCover::of(cover, mark) }
    }

    /// Whether the turn counts on this checkpoint.
    pub(super) fn counts_on(&self, mark: Mark) -> bool {
        !self.under.is_zero() && self.cover.mark() == Some(mark)
    }

    /// The turn's checkpoint is gone: whoever ran under it now ran without one.
    pub(super) fn uncover(&mut self) {
        self.tally.before.add_all(self.under);
        (self.under, self.cover) = (Count(0), PackedCover::NONE);
    }

    /// Whether it says nothing that an unknown turn would not.
    pub(super) fn is_free(&self) -> bool {
        self.under.is_zero() && self.tally == Tally::default()
    }

    /// Whether batches were let through before there was a checkpoint, or without one.
    pub(super) fn ran_unprotected(&self) -> bool {
        !self.tally.before.is_zero()
    }

    /// Whether batches were let through at all.
    pub(super) fn ran(&self) -> bool {
        !self.under.is_zero() || self.ran_unprotected()
    }

    pub(super) fn cover(&self) -> Option<Cover> {
        (!self.under.is_zero()).then(|| self.cover.unpack())
    }

    /// A batch of the turn goes by: under its checkpoint if it has one.
    pub(super) fn pass(&mut self) {
        if self.under.is_zero() {
            self.tally.before.add(1);
        } else {
            self.under.add(1);
        }
    }

    /// A batch of the turn did not run after all, and it is not known which. When nobody ran under the checkpoint, the turn has none
    /// any more. If the batch may be one that was forgotten (`outlived`), somebody ran for all that is known.
    pub(super) fn release(&mut self, outlived: bool) {
        let count = if self.under.is_zero() { &mut self.tally.before } else { &mut self.under };
        if outlived { count.take_but_one() } else { count.take() }
    }

    /// A batch of the turn did not run after all, one that was let through under the checkpoint (`covered`) or without one.
    pub(super) fn release_known(&mut self, covered: bool) {
        let count = if covered { &mut self.under } else { &mut self.tally.before };
        count.take();
    }
}

/// A [`Cover`] in 17 bytes.
#[derive(Clone, Copy, Debug)]
struct PackedCover {
    tag: u8,
    id: [u8; PACKED_BYTES],
}

// The tag's low five bits say what the bytes hold: nothing, a text of 1 to 16 bytes, a ULID, a UUID, or the digest of an id
// that is too long to be remembered but has to be recognised.
const ID_BITS: u8 = 0b1_1111;
const NO_ID: u8 = 0;
const ULID: u8 = 17;
const UUID: u8 = 18;
const DIGEST: u8 = 19;
const LATE: u8 = 1 << 5;
const PARTIAL: u8 = 1 << 6;

impl PackedCover {
    const NONE: Self = Self { tag: NO_ID, id: [0; PACKED_BYTES] };

    fn of(cover: &Cover, mark: Option<Mark>) -> Self {
        let (kind, id) = match mark {
            None => (NO_ID, [0; PACKED_BYTES]),
            Some(Mark::Id(PackedId::Short { length, bytes })) => (length, bytes),
            Some(Mark::Id(PackedId::Ulid(bytes))) => (ULID, bytes),
            Some(Mark::Id(PackedId::Uuid(bytes))) => (UUID, bytes),
            Some(Mark::Digest(bytes)) => (DIGEST, bytes),
        };
        let late = if cover.late { LATE } else { 0 };
        let partial = if cover.partial { PARTIAL } else { 0 };
        Self { tag: kind | late | partial, id }
    }

    fn mark(self) -> Option<Mark> {
        match self.tag & ID_BITS {
            NO_ID => None,
            ULID => Some(Mark::Id(PackedId::Ulid(self.id))),
            UUID => Some(Mark::Id(PackedId::Uuid(self.id))),
            DIGEST => Some(Mark::Digest(self.id)),
            length => Some(Mark::Id(PackedId::Short { length, bytes: self.id })),
        }
    }

    fn unpack(self) -> Cover {
        Cover {
            late: self.tag & LATE != 0,
            partial: self.tag & PARTIAL != 0,
            checkpoint_id: match self.mark() {
                Some(Mark::Id(id)) => Some(DriverCheckpointId::of_packed(id)),
                Some(Mark::Digest(_)) | None => None,
            },
        }
    }
}
