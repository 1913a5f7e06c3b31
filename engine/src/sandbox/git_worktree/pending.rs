//! What the sandbox's record says of a commit, or of one that is taken back, while it is under way: enough to finish it or to see that
//! nothing of it was done. And what it says of the last commit, so that it can be taken back.

use git2::Oid;
use serde::{Deserialize, Serialize};
use turnback_core::CheckpointId;

use super::kept_index::Kept;
use crate::error::{Error, Result};
use crate::sandbox::record::Record;

const PENDING: &str = "git_pending";
const UNDO: &str = "git_undo";
const WALKED: &str = "git_walked";

/// Work under way.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Pending {
    /// What the lock of the index says.
    pub(super) token: String,
    /// What is done under it; none before that is decided.
    pub(super) work: Option<Work>,
}

/// A move of HEAD with its files and index entries.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Work {
    /// The branch; none when HEAD names a commit.
    pub(super) head: Option<String>,
    from: Option<String>,
    to: Option<String>,
    /// Paths of the worktree that need not be there, and are not.
    pub(super) skipped: String,
    /// Paths whose file and index entry change, although both commits have the same there.
    #[serde(default)]
    pub(super) same: String,
    /// Whether files are to be written.
    #[serde(default)]
    pub(super) writes: bool,
    /// The checkpoints of the resource before and after; none before they are taken, and when no file is written.
    checkpoints: Option<(String, String)>,
    /// What the record says when it is done.
    pub(super) then: Then,
}

/// What the record says when the work is done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Then {
    /// The commit was taken back.
    pub(super) is_undo: bool,
    pub(super) baseline: String,
    pub(super) base: Option<String>,
    /// The checkpoint that the sandbox was read for, where that is not the baseline.
    pub(super) walked: Option<String>,
    /// What is needed to take it back.
    pub(super) undo: Option<Undo>,
}

/// The last commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Undo {
    /// The branch that was moved; none for a HEAD that names a commit, and for [`crate::sandbox::MergeMode::Branch`].
    pub(super) head: Option<String>,
    /// Only the sandbox's own branch was moved.
    pub(super) is_branch_only: bool,
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    pub(super) checkpoints: Option<(String, String)>,
    /// Where the sandbox's own branch was, and where it went.
    pub(super) own: Option<(Option<String>, String)>,
    /// The sandbox as it was before.
    pub(super) baseline: String,
    pub(super) base: Option<String>,
    /// What the index had of the paths that were moved, where that was in no commit.
    #[serde(default)]
    pub(super) index: Vec<Kept>,
}

pub(super) fn text(oid: Option<Oid>) -> Option<String> {
    oid.map(|oid| oid.to_string())
}

/// Reads a commit's name back.
pub(super) fn oid(text: Option<&String>) -> Result<Option<Oid>> {
    text.map(|text| text.parse().map_err(|_| malformed())).transpose()
}

/// The error for a record that says nothing that can be understood.
pub(super) fn malformed() -> Error {
    Error::corrupt("what a sandbox's record says of its last commit is malformed")
}

/// Reads checkpoint ids back.
pub(super) fn ids(texts: Option<&(String, String)>) -> Result<Option<(CheckpointId, CheckpointId)>> {
    let parse = |text: &String| text.parse::<CheckpointId>().map_err(|_| malformed());
    texts.map(|(before, after)| Ok((parse(before)?, parse(after)?))).transpose()
}

impl Work {
    pub(super) fn new(
        head: Option<String>,
        from: Option<Oid>,
        to: Option<Oid>,
        skipped: String,
        then: Then,
    ) -> Self {
        Self {
            head,
            from: text(from),
            to: text(to),
            skipped,
            same: String::new(),
            writes: false,
            checkpoints: None,
            then,
        }
    }

    pub(super) fn from(&self) -> Result<Option<Oid>> {
        oid(self.from.as_ref())
    }

    pub(super) fn to(&self) -> Result<Option<Oid>> {
        oid(self.to.as_ref())
    }

    pub(super) fn checkpoints(&self) -> Result<Option<(CheckpointId, CheckpointId)>> {
        ids(self.checkpoints.as_ref())
    }

    pub(super) fn set_checkpoints(&mut self, before: CheckpointId, after: CheckpointId) {
        let ids = (before.to_string(), after.to_string());
        if let Some(undo) = &mut self.then.undo {
            undo.checkpoints = Some(ids.clone());
        }
        self.checkpoints = Some(ids);
    }
}

fn get<T: for<'de> Deserialize<'de>>(record: &Record, name: &str) -> Result<Option<T>> {
    record
        .extra
        .get(name)
        .map(|text| serde_json::from_str(text).map_err(|e| malformed().because(e)))
        .transpose()
}

fn put<T: Serialize>(record: &mut Record, name: &str, value: Option<&T>) -> Result<()> {
    match value {
        None => drop(record.extra.remove(name)),
        Some(value) => {
            let text = serde_json::to_string(value).map_err(|e| malformed().because(e))?;
            record.extra.insert(name.to_owned(), text);
        }
    }
    Ok(())
}

/// The checkpoint of the sandbox as the last commit read it, where its baseline is another one.
pub(super) fn walked(record: &Record) -> Option<&String> {
    record.extra.get(WALKED)
}

pub(super) fn put_walked(record: &mut Record, walked: Option<&String>) {
    match walked {
        None => drop(record.extra.remove(WALKED)),
        Some(id) => drop(record.extra.insert(WALKED.to_owned(), id.clone())),
    }
}

impl Pending {
    pub(super) fn of(record: &Record) -> Result<Option<Self>> {
        get(record, PENDING)
    }

    pub(super) fn put(record: &mut Record, pending: Option<&Self>) -> Result<()> {
        put(record, PENDING, pending)
    }
}

impl Undo {
    pub(super) fn of(record: &Record) -> Result<Option<Self>> {
        get(record, UNDO)
    }

    pub(super) fn put(record: &mut Record, undo: Option<&Self>) -> Result<()> {
        put(record, UNDO, undo)
    }
}
