//! The journal of a restore (C8): what is about to happen to a workspace, written before the first write and removed after the last, so
//! that whatever ends the work in between, the next one can finish it. `docs/format.md` draws it. No I/O here, but for looking at the
//! workspace when a journal is taken up again.

mod codec;
mod head;
mod resume;
mod seen;

use super::plan::Plan;
use crate::error::{Code, Error, Result};
use crate::model::Hash;

pub(crate) use codec::encode_plan;
pub use head::{Head, RootThen};
pub(crate) use resume::{Resumed, resume};
pub(crate) use seen::Contents;

/// What a journal begins with: eight bytes, the last one the version.
const MAGIC: [u8; 8] = *b"TBJRNL\0\x01";
/// Length of what stands before the head: the magic, two lengths and two hashes.
pub(crate) const PREFIX: usize = 8 + 8 + 8 + 32 + 32;
/// The longest head that is read, in bytes: paths of a partial restore take the most room.
pub(crate) const MAX_HEAD: u64 = 64 << 20;

/// The bytes of a journal with this plan, which [`encode_plan`] gave.
pub(crate) fn encode(head: &Head, plan: &[u8]) -> Vec<u8> {
    let head = head.encode();
    let mut bytes = Vec::with_capacity(PREFIX + head.len() + plan.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&(head.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&(plan.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&Hash::of(&head).0);
    bytes.extend_from_slice(&Hash::of(plan).0);
    bytes.extend_from_slice(&head);
    bytes.extend_from_slice(plan);
    bytes
}

/// What stands before the head.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prefix {
    /// Length of the head in bytes.
    pub(crate) head: u64,
    plan: u64,
    head_hash: Hash,
    plan_hash: Hash,
}

impl Prefix {
    /// Reads the first [`PREFIX`] bytes.
    ///
    /// # Errors
    /// `STORE_FORMAT` for a newer version, `CORRUPT` for anything else that this program does not write.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        Self::read(bytes).unwrap_or_else(|| Err(damaged("the journal's first bytes are damaged")))
    }

    fn read(bytes: &[u8]) -> Option<Result<Self>> {
        let magic = bytes.get(..8)?;
        if magic.get(..7)? != MAGIC.get(..7)? {
            return None;
        }
        if magic != MAGIC {
            let version = magic.last().copied().unwrap_or_default();
            return Some(Err(Error::new(
                Code::StoreFormat,
                format!("an interrupted restore has a journal of format {version}"),
                "use the version of turnback that began it",
            )));
        }
        let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let hash = |at: usize| Some(Hash(bytes.get(at..at + 32)?.try_into().ok()?));
        let prefix = Self { head: number(8)?, plan: number(16)?, head_hash: hash(24)?, plan_hash: hash(56)? };
        (prefix.head <= MAX_HEAD).then_some(Ok(prefix))
    }

    /// Checks and reads the head, whose bytes these are.
    ///
    /// # Errors
    /// `CORRUPT`.
    pub(crate) fn decode_head(&self, bytes: &[u8]) -> Result<Head> {
        if bytes.len() as u64 != self.head || Hash::of(bytes) != self.head_hash {
            return Err(damaged("the journal's head does not match its checksum"));
        }
        Head::decode(bytes).map_err(|cause| damaged("the journal's head is malformed").because(cause))
    }

    /// Checks and reads the plan, whose bytes these are.
    ///
    /// # Errors
    /// `CORRUPT`.
    pub(crate) fn decode_plan(&self, bytes: &[u8]) -> Result<Plan> {
        if bytes.len() as u64 != self.plan || Hash::of(bytes) != self.plan_hash {
            return Err(damaged("the journal's plan does not match its checksum"));
        }
        codec::decode_plan(bytes).map_err(|cause| damaged("the journal's plan is malformed").because(cause))
    }
}

fn damaged(found: &str) -> Error {
    Error::new(
        Code::Corrupt,
        found,
        "roll back to a checkpoint by hand: `turnback list` shows the one from before the interrupted restore",
    )
}

/// Reads a whole journal; for whoever has all its bytes, as fuzzers do.
///
/// # Errors
/// As [`Prefix::decode`].
#[doc(hidden)]
pub fn decode(bytes: &[u8]) -> Result<(Head, Plan)> {
    let prefix = Prefix::decode(bytes)?;
    let rest = bytes.get(PREFIX..).unwrap_or_default();
    let length = usize::try_from(prefix.head).unwrap_or(usize::MAX);
    let (head, plan) = rest.split_at_checked(length).ok_or_else(|| damaged("the journal ends too early"))?;
    Ok((prefix.decode_head(head)?, prefix.decode_plan(plan)?))
}
