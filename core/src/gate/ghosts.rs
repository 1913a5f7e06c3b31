use super::digest::TurnKey;

/// The turns of a sandbox that fell out of its ledger after a batch of theirs had been let through unprotected, or whose
/// checkpoint was deleted after that: a Bloom filter of 128 bits. If such a turn comes back, its checkpoint has to be called late (G6, G9).
///
/// It never says no for a turn that was put in. It says yes for one that was not, by chance: 1 in 1,000 after ten such turns,
/// 1 in 20 after twenty, 2 in 5 after sixty; that one's checkpoint is then called late though it is not, which promises less
/// than there is. Sixteen bytes cannot be exact, and more would break the bound of 300 bytes a sandbox (W8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ghosts([u8; 16]);

impl Ghosts {
    pub(super) fn is_empty(self) -> bool {
        self.0 == [0; 16]
    }

    pub(super) fn insert(&mut self, turn: TurnKey) {
        for (byte, bit) in places(turn) {
            if let Some(byte) = self.0.get_mut(byte) {
                *byte |= bit;
            }
        }
    }

    pub(super) fn may_have(self, turn: TurnKey) -> bool {
        places(turn).all(|(byte, bit)| self.0.get(byte).is_some_and(|byte| byte & bit != 0))
    }
}

/// The turn's three bits. A key is evenly spread, so that any of its bytes will do.
fn places(turn: TurnKey) -> impl Iterator<Item = (usize, u8)> {
    turn.0.into_iter().take(3).map(|place| (usize::from(place >> 3 & 15), 1 << (place & 7)))
}
