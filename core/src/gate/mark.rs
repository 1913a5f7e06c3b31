use std::collections::VecDeque;

use super::driver_checkpoint::{PACKED_BYTES, PackedId};
use super::ids::AttemptId;
use crate::gate::DriverCheckpointId;

/// What a driver's checkpoint is recognised by: its id, or the digest of one that is too long to be remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Id(PackedId),
    Digest([u8; PACKED_BYTES]),
}

/// The checkpoints that the last 1,024 successes answered with, also of turns that are no longer remembered: a driver whose ids
/// come back (the digest of a content, the name of a turn) must not be asked to delete what protects a turn (G10).
#[derive(Debug, Default)]
pub(super) struct Answered(VecDeque<Mark>);

impl Answered {
    const MOST: usize = 1024;

    pub(super) fn insert(&mut self, mark: Mark) {
        if self.0.len() >= Self::MOST {
            self.0.pop_front();
        }
        self.0.push_back(mark);
    }

    pub(super) fn has(&self, mark: Mark) -> bool {
        self.0.contains(&mark)
    }

    pub(super) fn remove(&mut self, mark: Mark) {
        self.0.retain(|&one| one != mark);
    }
}

/// A late success that is not deleted yet: an attempt that is under way may answer with the same id.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) attempt: AttemptId,
    pub(super) checkpoint_id: DriverCheckpointId,
    /// The last attempt that had begun when it came.
    pub(super) until: AttemptId,
}
