//! The record of a checkpoint, as it is stored: small, immutable, sealed with a checksum.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use turnback_core::{CheckpointId, Phase, PlanId, SandboxId};

use crate::error::{Error, Result};
use crate::model::{Hash, Meta, Picture, Reason, RelPath, Timestamp, Uncovered};

/// Bytes that are usually text: a string where they are valid UTF-8, hexadecimal digits otherwise. Nothing is lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LossyPath {
    /// Valid UTF-8.
    Text(String),
    /// Anything else.
    Hex {
        /// Two digits a byte.
        hex: String,
    },
}

impl LossyPath {
    /// The stored form of bytes.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Hex { hex: bytes.iter().map(|b| format!("{b:02x}")).collect() },
        }
    }

    /// The bytes; `None` for digits that are none.
    #[must_use]
    pub fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text.clone().into_bytes()),
            Self::Hex { hex } => hex
                .as_bytes()
                .chunks(2)
                .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
                .collect(),
        }
    }
}

/// What identifies a root directory as long as it lives (C5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Inode number.
    pub ino: u64,
    /// Birth time: seconds and nanoseconds; `None` where the file system has none.
    pub born: Option<(i64, u32)>,
}

/// The rules under which a checkpoint was taken; a rollback to it walks under the same ones.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RulesRecord {
    /// Patterns in gitignore syntax.
    pub exclude: Vec<String>,
    /// Ignored files are left out.
    pub exclude_ignored: bool,
    /// Files over this length in bytes are left out.
    pub max_file_bytes: Option<u64>,
}

/// An uncovered path as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UncoveredRecord {
    /// The path.
    pub path: LossyPath,
    /// [`Reason::to_byte`].
    pub reason: u8,
    /// More to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// What a checkpoint covers (C6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverageRecord {
    /// Covered paths.
    pub files: u64,
    /// Bytes of the covered files.
    pub bytes: u64,
    /// Nothing is missing that was asked for.
    pub complete: bool,
    /// Files that changed while they were read.
    pub changing: u64,
    /// All uncovered paths.
    pub uncovered_count: u64,
    /// The first 100.
    pub uncovered: Vec<UncoveredRecord>,
    /// The object with all of them, where there are more.
    pub all: Option<String>,
}

/// The metadata of the root, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootRecord {
    mode: u16,
    uid: u32,
    gid: u32,
    mtime: (i64, u32),
    xattrs: Option<String>,
}

/// Which rollback a `pre_rollback` checkpoint belongs to, so that `undo` takes back just that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RollbackOf {
    /// The checkpoint that was restored.
    pub target: String,
    /// `git: 'exact'`.
    pub git_exact: bool,
    /// The paths it was limited to.
    pub paths: Option<Vec<LossyPath>>,
}

/// The record of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// [`super::FORMAT_VERSION`] of the writer.
    pub format: u32,
    /// The checkpoint's id; also the name of its directory.
    pub id: String,
    /// Whose checkpoint it is.
    pub sandbox_id: String,
    /// The plan it belongs to.
    pub plan_id: String,
    /// [`Phase::as_str`].
    pub phase: String,
    /// Milliseconds since the epoch by the clock of the machine.
    pub created_at_ms: u64,
    /// The caller's own.
    pub metadata: BTreeMap<String, String>,
    /// Canonical path of the workspace.
    pub workspace: LossyPath,
    /// The root directory that was walked.
    pub identity: Identity,
    /// The root's metadata.
    pub root: RootRecord,
    /// The root's manifest.
    pub manifest: String,
    /// The object with the hard-link groups, where there are any.
    pub links: Option<String>,
    /// What is covered.
    pub coverage: CoverageRecord,
    /// What was left out.
    pub rules: RulesRecord,
    /// For `pre_rollback` checkpoints.
    pub rollback_of: Option<RollbackOf>,
    /// Bytes that this checkpoint added to the store.
    pub stored_bytes: u64,
}

/// Label and pin, which may change: they lie beside the record (C1).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Marks {
    /// [`super::FORMAT_VERSION`] of the writer.
    pub format: u32,
    /// A name for people.
    pub label: Option<String>,
    /// Retention leaves it alone.
    pub pinned: bool,
}

impl RootRecord {
    /// The stored form.
    #[must_use]
    pub fn new(meta: &Meta) -> Self {
        Self {
            mode: meta.mode,
            uid: meta.uid,
            gid: meta.gid,
            mtime: (meta.mtime.sec, meta.mtime.nsec),
            xattrs: meta.xattrs.map(|h| h.to_hex().0),
        }
    }

    fn meta(&self) -> Option<Meta> {
        let xattrs = match &self.xattrs {
            Some(hex) => Some(Hash::from_hex(hex)?),
            None => None,
        };
        let mtime = Timestamp { sec: self.mtime.0, nsec: self.mtime.1 };
        let valid = self.mode <= 0o7777 && mtime.nsec < 1_000_000_000;
        valid.then_some(Meta { mode: self.mode, uid: self.uid, gid: self.gid, mtime, xattrs })
    }
}

impl UncoveredRecord {
    /// The stored form.
    #[must_use]
    pub fn new(item: &Uncovered) -> Self {
        Self {
            path: LossyPath::new(item.path.as_bytes()),
            reason: item.reason.to_byte(),
            detail: item.detail.clone(),
        }
    }

    fn item(&self) -> Option<Uncovered> {
        Some(Uncovered {
            path: RelPath::parse(&self.path.bytes()?).ok()?,
            reason: Reason::from_byte(self.reason)?,
            detail: self.detail.clone(),
        })
    }
}

/// The parts of a record that have a type of their own, checked once when it is read.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// The checkpoint's id.
    pub id: CheckpointId,
    /// Whose checkpoint it is.
    pub sandbox_id: SandboxId,
    /// The plan.
    pub plan_id: PlanId,
    /// The phase.
    pub phase: Phase,
    /// The workspace's canonical path.
    pub workspace: PathBuf,
    /// The root's metadata.
    pub root: Meta,
    /// The root's manifest.
    pub manifest: Hash,
    /// The object with the hard-link groups.
    pub links: Option<Hash>,
    /// The object with all uncovered paths.
    pub all_uncovered: Option<Hash>,
    /// The first uncovered paths.
    pub uncovered: Vec<Uncovered>,
}

impl Record {
    /// Checks everything that has a type of its own.
    ///
    /// # Errors
    /// `CORRUPT` for a record that this program did not write.
    pub fn parse(&self) -> Result<Parsed> {
        self.try_parse()
            .ok_or_else(|| Error::corrupt(format!("the record of checkpoint {} is malformed", self.id)))
    }

    fn try_parse(&self) -> Option<Parsed> {
        use std::os::unix::ffi::OsStringExt;
        let optional = |hex: &Option<String>| match hex {
            Some(hex) => Hash::from_hex(hex).map(Some),
            None => Some(None),
        };
        Some(Parsed {
            id: self.id.parse().ok()?,
            sandbox_id: self.sandbox_id.parse().ok()?,
            plan_id: self.plan_id.parse().ok()?,
            phase: self.phase.parse().ok()?,
            workspace: PathBuf::from(std::ffi::OsString::from_vec(self.workspace.bytes()?)),
            root: self.root.meta()?,
            manifest: Hash::from_hex(&self.manifest)?,
            links: optional(&self.links)?,
            all_uncovered: optional(&self.coverage.all)?,
            uncovered: self.coverage.uncovered.iter().map(UncoveredRecord::item).collect::<Option<_>>()?,
        })
    }
}

impl Parsed {
    /// The whole tree's state.
    ///
    /// # Errors
    /// `CORRUPT` when the hard-link groups cannot be read.
    pub fn picture(&self, objects: &dyn crate::model::Objects) -> Result<Picture> {
        let links = match self.links {
            None => crate::model::LinkGroups::default(),
            Some(hash) => crate::model::LinkGroups::decode(&objects.read(hash, 1 << 30)?)
                .map_err(|e| Error::corrupt("the hard-link groups are malformed").because(e))?,
        };
        Ok(Picture { root: self.root.clone(), manifest: self.manifest, links })
    }
}
