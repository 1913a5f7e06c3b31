//! The catalog: which checkpoints are published. The directory is the truth; records never change, so they are read once.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use turnback_core::CheckpointId;

use super::draft::Durability;
use super::files;
use super::format::{FORMAT_VERSION, MAX_SEALED, seal_short, unseal};
use super::layout::Layout;
use super::record::{Marks, Parsed, Record};
use crate::error::{Code, Error, Result};
use crate::model::RelPath;

/// Something in the store that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damaged {
    /// The checkpoint concerned: the name of its directory.
    pub checkpoint_id: String,
    /// The path concerned, where it is one.
    pub path: Option<RelPath>,
    /// What is wrong.
    pub reason: String,
}

/// A published checkpoint.
#[derive(Debug)]
pub struct Published {
    /// As stored.
    pub record: Record,
    /// With its types.
    pub parsed: Parsed,
}

/// All published checkpoints of a store.
#[derive(Debug)]
pub struct Catalog {
    layout: Layout,
    read: Mutex<HashMap<CheckpointId, Arc<Published>>>,
}

impl Catalog {
    /// The catalog of a store.
    #[must_use]
    pub fn new(layout: Layout) -> Self {
        Self { layout, read: Mutex::new(HashMap::new()) }
    }

    /// The ids of all published checkpoints, oldest first.
    ///
    /// # Errors
    /// The system's error.
    pub fn ids(&self) -> Result<Vec<CheckpointId>> {
        let names = files::names(&self.layout.checkpoints())?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// One checkpoint; `None` when there is none of that id.
    ///
    /// # Errors
    /// `CORRUPT` when its record is damaged.
    pub fn get(&self, id: CheckpointId) -> Result<Option<Arc<Published>>> {
        let directory = self.layout.checkpoint(id);
        if !files::exists(&directory).map_err(|e| named(e, id))? {
            self.cache().remove(&id);
            return Ok(None);
        }
        if let Some(known) = self.cache().get(&id) {
            return Ok(Some(known.clone()));
        }
        let published = Arc::new(read(&directory, id).map_err(|e| named(e, id))?);
        self.cache().insert(id, published.clone());
        Ok(Some(published))
    }

    /// Takes in a checkpoint that was published a moment ago, as it was written.
    pub fn published(&self, new: Published) -> Arc<Published> {
        let new = Arc::new(new);
        self.cache().insert(new.parsed.id, new.clone());
        new
    }

    /// One checkpoint that has to be there.
    ///
    /// # Errors
    /// `NOT_FOUND`, `CORRUPT`.
    pub fn require(&self, id: CheckpointId) -> Result<Arc<Published>> {
        self.get(id)?.ok_or_else(|| unknown(id))
    }

    /// All checkpoints, oldest first, and those that cannot be read.
    ///
    /// # Errors
    /// The system's error when the store cannot be listed.
    pub fn all(&self) -> Result<(Vec<Arc<Published>>, Vec<Damaged>)> {
        let mut all = Vec::new();
        let mut damaged = Vec::new();
        for id in self.ids()? {
            match self.get(id) {
                Ok(Some(published)) => all.push(published),
                // Deleted since the listing.
                Ok(None) => {}
                Err(error) => {
                    damaged.push(Damaged { checkpoint_id: id.to_string(), path: None, reason: error.found() })
                }
            }
        }
        Ok((all, damaged))
    }

    /// Label and pin of a checkpoint.
    ///
    /// # Errors
    /// `CORRUPT` when they are damaged.
    pub fn marks(&self, id: CheckpointId) -> Result<Marks> {
        let path = self.layout.checkpoint(id).join("marks");
        if !files::exists(&path)? {
            return Ok(Marks { format: FORMAT_VERSION, ..Marks::default() });
        }
        unseal(&files::read_file(&path, MAX_SEALED)?)
    }

    /// Label and pin of a checkpoint, with why they cannot be read when they cannot: what was a pin then still keeps the checkpoint, and
    /// whatever was its label is lost.
    pub fn marks_or_pinned(&self, id: CheckpointId) -> (Marks, Option<Error>) {
        match self.marks(id) {
            Ok(marks) => (marks, None),
            Err(error) => (Marks { format: FORMAT_VERSION, pinned: true, ..Marks::default() }, Some(error)),
        }
    }

    /// Replaces label and pin.
    ///
    /// # Errors
    /// `NOT_FOUND` when the checkpoint is gone, or the system's error.
    pub fn set_marks(&self, id: CheckpointId, marks: &Marks, durability: Durability) -> Result<()> {
        self.require(id)?;
        seal_short(marks)?;
        let directory = self.layout.checkpoint(id);
        if marks.label.is_none() && !marks.pinned {
            // Taking marks away needs no room, so that a store that is full can be pruned again.
            let path = directory.join("marks");
            return match std::fs::remove_file(&path) {
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
                Err(e) => Err(files::no_file(&path, e, "removing a label or a pin")),
                Ok(()) if durability == Durability::Power => files::sync_directory(&directory),
                Ok(()) => Ok(()),
            };
        }
        let tmp = self.layout.tmp().join(files::random_name()?);
        files::write_sealed(&directory.join("marks"), &tmp, marks, durability)
    }

    /// Forgets a checkpoint that was deleted.
    pub fn forget(&self, id: CheckpointId) {
        self.cache().remove(&id);
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, HashMap<CheckpointId, Arc<Published>>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error of an id that no checkpoint has.
#[must_use]
pub fn unknown(id: CheckpointId) -> Error {
    Error::new(
        Code::NotFound,
        format!("there is no checkpoint {id} in this store"),
        "see `turnback list` for the checkpoints there are, and check which store is used",
    )
}

/// Reads a record from a checkpoint's directory.
pub(super) fn read(directory: &Path, id: CheckpointId) -> Result<Published> {
    let record: Record = unseal(&files::read_file(&directory.join("record"), MAX_SEALED)?)?;
    let parsed = record.parse()?;
    if parsed.id != id {
        return Err(Error::corrupt(format!("the directory of checkpoint {id} holds another record")));
    }
    Ok(Published { record, parsed })
}

/// A missing or damaged record is damage of that checkpoint, whatever the system said.
fn named(error: Error, id: CheckpointId) -> Error {
    match error.code() {
        Code::NotFound | Code::Corrupt => {
            Error::corrupt(format!("the record of checkpoint {id} is damaged")).because(error)
        }
        _ => error,
    }
}
