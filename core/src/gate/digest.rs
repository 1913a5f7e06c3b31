use std::fmt;
use std::hash::{Hash, Hasher};

use siphasher::sip128::{Hash128, SipHasher13};

use super::driver_checkpoint::DriverCheckpointId;
use super::mark::Mark;
use crate::ids::{SandboxId, TurnId};

/// What stands for a sandbox's id where it has to be small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SandboxKey(pub(super) u64, pub(super) u64);

impl Hash for SandboxKey {
    /// A digest is as evenly spread as a hash can be: half of it will do.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0);
    }
}

/// Hashes a [`SandboxKey`], which is a hash already. Unlike the standard hasher it has no random seed.
#[derive(Default)]
pub(super) struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, digest: u64) {
        self.0 = digest;
    }
}

/// What stands for a turn's id where it has to be small.
#[derive(Clone, Copy, Debug, Eq)]
pub(super) struct TurnKey(pub(super) [u8; 16]);

impl PartialEq for TurnKey {
    /// As numbers, which takes two comparisons in WebAssembly. As bytes it would be a call and sixteen of them.
    fn eq(&self, other: &Self) -> bool {
        u128::from_ne_bytes(self.0) == u128::from_ne_bytes(other.0)
    }
}

/// The secret that keeps digests of ids unpredictable: 16 bytes, best random ones from the host.
///
/// The gate remembers ids as 128-bit SipHash-1-3 digests under this key. Two ids that share a digest would be taken for
/// one, and a turn for covered that is not. By accident that takes about 2^64 ids; on purpose it takes the key. Otherwise the key
/// only decides which new turns are called late by chance, after turns that ran unprotected were displaced by others.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct DigestKey([u8; 16]);

impl DigestKey {
    /// The key of these bytes.
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for DigestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DigestKey(..)")
    }
}

/// Makes the digests of one gate.
#[derive(Debug)]
pub(super) struct Digests(SipHasher13);

impl Digests {
    pub(super) fn new(key: DigestKey) -> Self {
        Self(SipHasher13::new_with_key(&key.0))
    }

    pub(super) fn sandbox(&self, id: &SandboxId) -> SandboxKey {
        let Hash128 { h1, h2 } = self.0.hash(id.as_str().as_bytes());
        SandboxKey(h1, h2)
    }

    pub(super) fn mark(&self, id: &DriverCheckpointId) -> Mark {
        id.packed().map_or_else(
            || Mark::Digest(self.0.hash(id.to_string().as_bytes()).as_u128().to_ne_bytes()),
            Mark::Id,
        )
    }

    pub(super) fn turn(&self, id: &TurnId) -> TurnKey {
        TurnKey(self.0.hash(id.as_str().as_bytes()).as_u128().to_ne_bytes())
    }
}
