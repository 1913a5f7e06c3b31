//! Labels and pins of checkpoints that are there already: they lie beside the record, which never changes (C1, input 36).

use turnback_core::CheckpointId;

use super::manager::Manager;
use super::workspace::Workspace;
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::store::{Marks, random_name};

/// The longest label, in bytes of UTF-8.
pub const MAX_LABEL_BYTES: usize = 200;

/// What was lost when label and pin of a checkpoint could not be read and one of them was set: they lie in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostMark {
    /// Its label, if it had one: it has none now.
    Label,
    /// Whether it was pinned: it is now.
    Pin,
}

/// What new marks take on the disk at most, beside the old ones.
const ROOM: u64 = 8 << 10;

impl Manager {
    /// Gives a checkpoint a name for people, or takes it away. A label is data: nothing in it means anything. Automatic retention leaves
    /// labelled checkpoints alone. Damaged marks are written anew; the answer then says what was lost.
    ///
    /// # Errors
    /// `NOT_FOUND`, `INVALID_ARGUMENT` for a label over [`MAX_LABEL_BYTES`], `STORE_FULL`, `DISK_FULL`, `CORRUPT` for a damaged
    /// record, `BUSY`, `IO`.
    pub fn set_label(&self, id: CheckpointId, label: Option<&str>) -> Result<Option<LostMark>> {
        check_label(label)?;
        self.change_marks(id, LostMark::Pin, |marks| marks.label = label.map(str::to_owned))
    }

    /// Pins a checkpoint, so that no retention and no [`Manager::prune`] takes it, or unpins it. [`Manager::delete`] takes it still.
    /// Damaged marks are written anew; the answer then says what was lost.
    ///
    /// # Errors
    /// `NOT_FOUND`, `STORE_FULL`, `DISK_FULL`, `CORRUPT`, `BUSY`, `IO`.
    pub fn set_pinned(&self, id: CheckpointId, pinned: bool) -> Result<Option<LostMark>> {
        self.change_marks(id, LostMark::Label, |marks| marks.pinned = pinned)
    }

    /// `other` is the mark that does not change.
    fn change_marks(
        &self,
        id: CheckpointId,
        other: LostMark,
        change: impl FnOnce(&mut Marks),
    ) -> Result<Option<LostMark>> {
        let inner = self.open_inner()?;
        inner.store.require_writable()?;
        let ctx = Context::default();
        let published = inner.catalog.require(id)?;
        let workspace = Workspace::at(published.parsed.workspace.clone())?;
        // Two who change the marks of one checkpoint must not lose one another's change.
        let _workspace = inner.lock_workspace(&workspace, &ctx)?;
        let _store = inner.share_store(&ctx)?;
        let (mut marks, unreadable) = inner.catalog.marks_or_pinned(id);
        let lost = match unreadable {
            None => None,
            Some(error) if error.code() == Code::Corrupt => Some(other),
            Some(error) => return Err(error),
        };
        let before = marks.clone();
        change(&mut marks);
        if marks == before && lost.is_none() {
            return Ok(None);
        }
        let room = inner.budget.room(random_name()?);
        if marks.pinned || marks.label.is_some() {
            room.need(ROOM)?;
        }
        inner.catalog.set_marks(id, &marks, inner.durability)?;
        Ok(lost)
    }
}

/// # Errors
/// `INVALID_ARGUMENT` for a label that is too long.
pub(super) fn check_label(label: Option<&str>) -> Result<()> {
    match label {
        Some(label) if label.len() > MAX_LABEL_BYTES => Err(Error::new(
            Code::InvalidArgument,
            format!("the label takes {} bytes, the limit is {MAX_LABEL_BYTES}", label.len()),
            "shorten the label; metadata may be longer",
        )),
        _ => Ok(()),
    }
}
