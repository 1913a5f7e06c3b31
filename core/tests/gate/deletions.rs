//! Which late successes have to be deleted, when, and which must not be (G10).

use std::collections::BTreeSet;

use turnback_core::{AttemptId, DriverCheckpointId};

/// A success that came when nobody waited for it.
#[derive(Debug)]
struct Late {
    attempt: AttemptId,
    id: DriverCheckpointId,
    /// The attempts that may answer with the same id.
    under_way: BTreeSet<AttemptId>,
}

#[derive(Debug, Default)]
pub(crate) struct Deletions {
    /// Those that the driver was not asked to delete yet.
    late: Vec<Late>,
    /// The ids that successes were told of and nobody deleted.
    answered: BTreeSet<String>,
}

impl Deletions {
    pub(crate) fn succeeded(&mut self, id: &DriverCheckpointId) {
        self.answered.insert(id.to_string());
    }

    pub(crate) fn gone(&mut self, id: &DriverCheckpointId) {
        self.answered.remove(&id.to_string());
    }

    pub(crate) fn late(
        &mut self,
        attempt: AttemptId,
        id: DriverCheckpointId,
        under_way: BTreeSet<AttemptId>,
    ) {
        self.late.push(Late { attempt, id, under_way });
    }

    /// The driver is asked to delete one, while these attempts are under way.
    pub(crate) fn asked(
        &mut self,
        attempt: AttemptId,
        id: &DriverCheckpointId,
        under_way: &BTreeSet<AttemptId>,
    ) {
        let at = self.late.iter().position(|late| late.attempt == attempt).expect("G10: not to be deleted");
        let late = self.late.remove(at);
        assert_eq!(*id, late.id, "G10: another checkpoint's id");
        assert!(late.under_way.is_disjoint(under_way), "G10: an attempt that may answer so is under way");
        assert!(!self.answered.contains(&id.to_string()), "G10: a success was told of this id");
    }

    /// Those that the driver should have been asked for by now, unless a turn counts on their ids; they are not again.
    pub(crate) fn due(&mut self, under_way: &BTreeSet<AttemptId>) -> Vec<DriverCheckpointId> {
        let late = std::mem::take(&mut self.late);
        let (due, held): (Vec<_>, Vec<_>) =
            late.into_iter().partition(|late| late.under_way.is_disjoint(under_way));
        self.late = held;
        let ids = due.into_iter().map(|late| late.id);
        ids.filter(|id| !self.answered.contains(&id.to_string())).collect()
    }
}
