use super::digest::{SandboxKey, TurnKey};
use super::ids::BatchId;

/// A batch that was let through and counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct One {
    batch: BatchId,
    pub(super) sandbox: SandboxKey,
    turn: TurnKey,
    /// Under its turn's checkpoint, or without one.
    covered: bool,
}

/// How each of the last 1,024 batches was counted, so that a release that names its batch takes back what that batch added and
/// nothing else (G8). Not those that came when their turn had its checkpoint: they are many, and all alike.
///
/// A batch that is not here has been forgotten with its turn, or there were too many since: its release changes nothing.
#[derive(Debug, Default)]
pub(super) struct Passed(Vec<One>);

impl Passed {
    const MOST: usize = 1024;

    pub(super) fn insert(&mut self, batch: BatchId, sandbox: SandboxKey, turn: TurnKey, covered: bool) {
        if self.0.len() >= Self::MOST {
            self.0.remove(0);
        }
        self.0.push(One { batch, sandbox, turn, covered });
    }

    /// Whether the batch was let through under its turn's checkpoint, if that is known; it no longer is.
    pub(super) fn take(&mut self, batch: BatchId, sandbox: SandboxKey, turn: TurnKey) -> Option<bool> {
        // The newest of a number: its host may use one again.
        let at =
            self.0.iter().rposition(|one| (one.batch, one.sandbox, one.turn) == (batch, sandbox, turn))?;
        Some(self.0.remove(at).covered)
    }

    /// The turn's checkpoint is gone: whoever ran under it ran without one.
    pub(super) fn uncover(&mut self, sandbox: SandboxKey, turn: TurnKey) {
        for one in self.0.iter_mut().filter(|one| (one.sandbox, one.turn) == (sandbox, turn)) {
            one.covered = false;
        }
    }

    /// The turn's checkpoint was given back.
    pub(super) fn forget_covered(&mut self, sandbox: SandboxKey, turn: TurnKey) {
        self.forget(&|one| one.covered && (one.sandbox, one.turn) == (sandbox, turn));
    }

    pub(super) fn forget_turn(&mut self, sandbox: SandboxKey, turn: TurnKey) {
        self.forget(&|one| (one.sandbox, one.turn) == (sandbox, turn));
    }

    pub(super) fn forget_sandbox(&mut self, sandbox: SandboxKey) {
        self.forget(&|one| one.sandbox == sandbox);
    }

    /// One copy of the loop for all of them: it is code that browsers download (W11).
    #[inline(never)]
    pub(super) fn forget(&mut self, which: &dyn Fn(&One) -> bool) {
        self.0.retain(|one| !which(one));
    }
}
