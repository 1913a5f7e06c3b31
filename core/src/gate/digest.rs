use std::fmt;

use siphasher::sip128::SipHasher24;

use crate::ids::{SandboxId, TurnId};

/// What stands for a sandbox's id where it has to be small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SandboxKey(u128);

/// What stands for a turn's id where it has to be small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TurnKey(pub(super) [u8; 16]);

/// The secret that keeps digests of ids unpredictable: 16 bytes, best random ones from the host.
///
/// The gate remembers ids as 128-bit SipHash-2-4 digests under this key. Two ids that share a digest would be taken for
/// one, and a turn for covered that is not. By accident that takes about 2^64 ids; on purpose it takes the key. No answer
/// depends on the key otherwise.
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
pub(super) struct Digests(SipHasher24);

impl Digests {
    pub(super) fn new(key: DigestKey) -> Self {
        Self(SipHasher24::new_with_key(&key.0))
    }

    pub(super) fn sandbox(&self, id: &SandboxId) -> SandboxKey {
        SandboxKey(self.0.hash(id.as_str().as_bytes()).as_u128())
    }

    pub(super) fn turn(&self, id: &TurnId) -> TurnKey {
        TurnKey(self.0.hash(id.as_str().as_bytes()).as_u128().to_ne_bytes())
    }
}
