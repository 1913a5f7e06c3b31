//! What a journal says of the restore as a whole: short, so that others can read it without the plan.

use turnback_core::{CheckpointId, Millis};

use crate::model::{DecodeError, Decoder, Encoder, RelPath, Timestamp};
use crate::recovery::RestoreKind;
use crate::restore::plan::GitMode;

const fn kind_of(byte: u8) -> Option<RestoreKind> {
    Some(match byte {
        0 => RestoreKind::Rollback,
        1 => RestoreKind::Undo,
        2 => RestoreKind::Revert,
        3 => RestoreKind::Commit,
        _ => return None,
    })
}

/// The root directory when the work began: inode number and birth time (C5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootThen {
    /// There was none, and it has not been made yet.
    Missing,
    /// This one; one that was missing is noted as soon as it is made.
    There {
        /// Inode number.
        ino: u64,
        /// Birth time, where the file system has one.
        born: Option<Timestamp>,
    },
}

/// What is said of the restore as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// What was begun.
    pub kind: RestoreKind,
    /// The checkpoints whose content is restored: for a revert the earlier and the later one. They must stay until the work is done.
    pub targets: Vec<CheckpointId>,
    /// The checkpoint that brings back the state before; `None` when there is none.
    pub undo: Option<CheckpointId>,
    /// When it was begun, by the clock of the machine.
    pub started_at: Millis,
    /// The workspace's canonical path, as bytes.
    pub workspace: Vec<u8>,
    /// The root when the work began.
    pub root: RootThen,
    /// The root that the checkpoint names, in whose place a missing one is made: inode number and birth time.
    pub in_place_of: Option<(u64, Option<Timestamp>)>,
    /// What happens inside `.git`.
    pub git: GitMode,
    /// The paths that the work is limited to.
    pub paths: Option<Vec<RelPath>>,
    /// What the staging directory is called.
    pub stage: Vec<u8>,
}

impl Head {
    /// All checkpoints that must not be deleted before the work is done.
    pub fn needs(&self) -> impl Iterator<Item = CheckpointId> + '_ {
        self.targets.iter().chain(&self.undo).copied()
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::default();
        e.byte(self.kind as u8);
        e.varint(self.targets.len() as u64);
        self.targets.iter().for_each(|id| e.raw(&id.to_bytes()));
        e.byte(u8::from(self.undo.is_some()));
        self.undo.iter().for_each(|id| e.raw(&id.to_bytes()));
        e.varint(self.started_at.as_u64());
        e.bytes(&self.workspace);
        match self.root {
            RootThen::Missing => encode_identity(&mut e, None),
            RootThen::There { ino, born } => encode_identity(&mut e, Some((ino, born))),
        }
        encode_identity(&mut e, self.in_place_of);
        e.byte(u8::from(self.git == GitMode::Exact));
        e.byte(u8::from(self.paths.is_some()));
        if let Some(paths) = &self.paths {
            e.varint(paths.len() as u64);
            paths.iter().for_each(|path| e.bytes(path.as_bytes()));
        }
        e.bytes(&self.stage);
        e.into_bytes()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::new(bytes);
        let kind = kind_of(d.byte()?).ok_or(DecodeError::Invalid)?;
        let count = d.count()?;
        let targets = (0..count).map(|_| id(&mut d)).collect::<Result<_, _>>()?;
        let undo = if flag(&mut d)? { Some(id(&mut d)?) } else { None };
        let started_at = Millis::since_epoch(d.varint()?);
        let workspace = d.bytes()?.to_vec();
        let root = match decode_identity(&mut d)? {
            Some((ino, born)) => RootThen::There { ino, born },
            None => RootThen::Missing,
        };
        let in_place_of = decode_identity(&mut d)?;
        let git = if flag(&mut d)? { GitMode::Exact } else { GitMode::Keep };
        let paths = if flag(&mut d)? {
            let count = d.count()?;
            let path = |d: &mut Decoder<'_>| RelPath::parse(d.bytes()?).map_err(|_| DecodeError::Invalid);
            Some((0..count).map(|_| path(&mut d)).collect::<Result<_, _>>()?)
        } else {
            None
        };
        let stage = d.bytes()?.to_vec();
        crate::model::check_name(&stage).map_err(|_| DecodeError::Invalid)?;
        d.end()?;
        Ok(Self { kind, targets, undo, started_at, workspace, root, in_place_of, git, paths, stage })
    }
}

fn encode_identity(e: &mut Encoder, identity: Option<(u64, Option<Timestamp>)>) {
    e.byte(u8::from(identity.is_some()));
    if let Some((ino, born)) = identity {
        e.varint(ino);
        e.byte(u8::from(born.is_some()));
        if let Some(born) = born {
            e.signed(born.sec);
            e.varint(u64::from(born.nsec));
        }
    }
}

fn decode_identity(d: &mut Decoder<'_>) -> Result<Option<(u64, Option<Timestamp>)>, DecodeError> {
    if !flag(d)? {
        return Ok(None);
    }
    let ino = d.varint()?;
    let born = if flag(d)? { Some(timestamp(d)?) } else { None };
    Ok(Some((ino, born)))
}

fn id(d: &mut Decoder<'_>) -> Result<CheckpointId, DecodeError> {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(d.raw(16)?);
    Ok(CheckpointId::from_bytes(bytes))
}

pub(super) fn flag(d: &mut Decoder<'_>) -> Result<bool, DecodeError> {
    match d.byte()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(DecodeError::Invalid),
    }
}

pub(super) fn timestamp(d: &mut Decoder<'_>) -> Result<Timestamp, DecodeError> {
    let sec = d.signed()?;
    let nsec = u32::try_from(d.varint()?).map_err(|_| DecodeError::Invalid)?;
    if nsec > 999_999_999 { Err(DecodeError::Invalid) } else { Ok(Timestamp { sec, nsec }) }
}
