use super::digest::TurnKey;
use super::driver_checkpoint::{DriverCheckpointId, PACKED_BYTES, PackedId};
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

    /// Takes one away, if there is one to take.
    pub(super) fn take(&mut self) {
        if self.0 < u8::MAX {
            self.0 = self.0.saturating_sub(1);
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
    pub(super) const fn exhausted(self) -> bool {
        self.failures >= MAX_FAILURES
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
    pub(super) fn covered(key: TurnKey, tally: Tally, cover: &Cover, under: usize) -> Self {
        let mut count = Count::default();
        count.add(under);
        Self { key, tally, under: count, cover: PackedCover::of(cover) }
    }

    /// Whether it says nothing that an unknown turn would not.
    pub(super) fn is_free(&self) -> bool {
        self.under.is_zero() && self.tally == Tally::default()
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

    /// A batch of the turn did not run after all. When nobody ran under the checkpoint, the turn has none any more.
    pub(super) fn release(&mut self) {
        if self.under.is_zero() {
            self.tally.before.take();
        } else {
            self.under.take();
        }
    }
}

/// A [`Cover`] in 17 bytes.
#[derive(Clone, Copy, Debug)]
struct PackedCover {
    tag: u8,
    id: [u8; PACKED_BYTES],
}

// The tag's low five bits say what the bytes hold: nothing, a text of 1 to 16 bytes, a ULID or a UUID.
const ID_BITS: u8 = 0b1_1111;
const NO_ID: u8 = 0;
const ULID: u8 = 17;
const UUID: u8 = 18;
const LATE: u8 = 1 << 5;
const PARTIAL: u8 = 1 << 6;

impl PackedCover {
    const NONE: Self = Self { tag: NO_ID, id: [0; PACKED_BYTES] };

    fn of(cover: &Cover) -> Self {
        let packed = cover.checkpoint_id.as_ref().and_then(DriverCheckpointId::packed);
        let (kind, id) = match packed {
            None => (NO_ID, [0; PACKED_BYTES]),
            Some(PackedId::Short { length, bytes }) => (length, bytes),
            Some(PackedId::Ulid(bytes)) => (ULID, bytes),
            Some(PackedId::Uuid(bytes)) => (UUID, bytes),
        };
        let late = if cover.late { LATE } else { 0 };
        let partial = if cover.partial { PARTIAL } else { 0 };
        Self { tag: kind | late | partial, id }
    }

    fn unpack(self) -> Cover {
        let packed = match self.tag & ID_BITS {
            NO_ID => None,
            ULID => Some(PackedId::Ulid(self.id)),
            UUID => Some(PackedId::Uuid(self.id)),
            length => Some(PackedId::Short { length, bytes: self.id }),
        };
        Cover {
            late: self.tag & LATE != 0,
            partial: self.tag & PARTIAL != 0,
            checkpoint_id: packed.map(DriverCheckpointId::of_packed),
        }
    }
}
