use super::digest::{SandboxKey, TurnKey};
use super::ledger::KEPT_UNUSED;
use crate::time::Millis;

/// The turns whose batches were let through and that were forgotten since, because their sandbox was restored or other turns took their places: if one comes back, a
/// release that names no batch may be for one from before (G8), and must not make the turn one of which nothing ran.
///
/// Two Bloom filters of 16,384 bits, for at least 24 hours and at most 48. It never says no for a turn that was put in. It says yes
/// for another by chance: 1 in 100 after 1,300 such turns in a day, 1 in 5 after 5,000. A nameless release then leaves that one's last
/// batch in place, which costs nothing but the slot that was to be given back.
#[derive(Debug)]
pub(super) struct Outlived {
    young: Filter,
    old: Filter,
    since: Millis,
}

impl Default for Outlived {
    fn default() -> Self {
        Self { young: Filter::default(), old: Filter::default(), since: Millis::EPOCH }
    }
}

impl Outlived {
    pub(super) fn insert(&mut self, sandbox: SandboxKey, turn: TurnKey, now: Millis) {
        self.age(now);
        self.young.insert(mixed(sandbox, turn));
    }

    pub(super) fn may_have(&mut self, sandbox: SandboxKey, turn: TurnKey, now: Millis) -> bool {
        self.age(now);
        let key = mixed(sandbox, turn);
        self.young.may_have(key) || self.old.may_have(key)
    }

    fn age(&mut self, now: Millis) {
        for _ in 0..2 {
            let end = self.since.saturating_add(KEPT_UNUSED);
            if now < end {
                return;
            }
            self.old = std::mem::take(&mut self.young);
            self.since = end;
        }
        // Both are empty now, however long nobody looked.
        self.since = self.since.max(now);
    }
}

/// Takes up memory when it is first used.
#[derive(Debug, Default)]
struct Filter(Vec<u64>);

impl Filter {
    const WORDS: usize = 256;

    fn insert(&mut self, key: u64) {
        self.0.resize(Self::WORDS, 0);
        for (word, bit) in places(key) {
            if let Some(word) = self.0.get_mut(word) {
                *word |= bit;
            }
        }
    }

    fn may_have(&self, key: u64) -> bool {
        places(key).all(|(word, bit)| self.0.get(word).is_some_and(|word| word & bit != 0))
    }
}

/// Both are evenly spread; turned, so that a sandbox and a turn of one name are not all alike.
fn mixed(SandboxKey(sandbox, _): SandboxKey, TurnKey(turn): TurnKey) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = turn;
    sandbox.rotate_left(23) ^ u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// The key's three bits.
fn places(key: u64) -> impl Iterator<Item = (usize, u64)> {
    let [a, b, c, d, e, f, ..] = key.to_le_bytes();
    [(a, b), (c, d), (e, f)].into_iter().map(|(word, bit)| (usize::from(word), 1 << (bit & 63)))
}
