//! Commits of several sandboxes that are one to whoever asked for them (S11): the store remembers which they are from before the first
//! one until after the last. What a process left that died in between is taken back by the next call on sandboxes, whoever makes it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use turnback_core::{CheckpointId, SandboxId};

use super::registry::Registry;
use super::sandboxes::Sandboxes;
use super::strategy::Sandbox;
use crate::checkpoint::Manager;
use crate::checkpoint::baseline::make_private_directory;
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::store::{
    Durability, FORMAT_VERSION, FileLock, LockKind, Patience, make_directory, names, random_name, read_file,
    remove_file, remove_tree, sync_directory, unseal, write_sealed,
};

/// The longest record that is read, in bytes.
const MAX_RECORD: u64 = 16 << 20;

/// What is remembered, as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    format: u32,
    members: Vec<StoredMember>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredMember {
    sandbox: String,
    baseline: Option<String>,
}

/// One of the sandboxes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    id: SandboxId,
    /// Its baseline before: as long as it has it, it has committed nothing that could be taken back.
    baseline: Option<CheckpointId>,
}

/// Commits that are under way together; the lock ends with the process.
#[derive(Debug)]
pub(super) struct Together {
    place: PathBuf,
    durability: Durability,
    _lock: FileLock,
}

/// What became of commits that were to be taken back, by the ids of their sandboxes.
#[derive(Debug, Default)]
pub(super) struct TakenBack {
    pub(super) undone: Vec<SandboxId>,
    /// Their resources were changed since, so that they stay committed.
    pub(super) stay: Vec<SandboxId>,
    /// Something failed: to be tried again.
    pub(super) failed: Vec<SandboxId>,
}

fn directory(manager: &Manager) -> PathBuf {
    manager.store_path().join("together")
}

impl Together {
    /// Remembers sandboxes before the first of them is committed.
    pub(super) fn begin(manager: &Manager, all: &[Arc<dyn Sandbox>], ctx: &Context) -> Result<Self> {
        let directory = directory(manager);
        make_private_directory(&directory)?;
        let durability = manager.durability()?;
        let mut members = Vec::new();
        for sandbox in all {
            let baseline = sandbox.handle().place().read()?.and_then(|record| record.baseline);
            let baseline = baseline.map(|id| id.to_string());
            members.push(StoredMember { sandbox: sandbox.handle().id().to_string(), baseline });
        }
        // Whoever sweeps temporary files needs the store alone.
        let _store = manager.share(ctx)?;
        let name = random_name()?;
        let (made, place) = (manager.tmp()?.join(&name), directory.join(&name));
        let begin = || -> Result<FileLock> {
            make_directory(&made)?;
            // The lock goes with the open file, whatever the directory is called.
            let lock = lock(&made)?;
            let stored = Stored { format: FORMAT_VERSION, members };
            write_sealed(&made.join("record"), &made.join("record.new"), &stored, durability)?;
            std::fs::rename(&made, &place)
                .map_err(|e| Error::io("noting commits that belong together", e).at(&place))?;
            if durability == Durability::Power {
                sync_directory(&directory)?;
            }
            Ok(lock)
        };
        match begin() {
            Ok(lock) => Ok(Self { place, durability, _lock: lock }),
            Err(error) => {
                if let Err(left) = remove_tree(&made) {
                    tracing::warn!(error = %left, "an unfinished note stays until the next open");
                }
                Err(error)
            }
        }
    }

    /// From now on they stand, or none does: nothing is to be taken back any more.
    pub(super) fn end(self) -> Result<()> {
        remove_file(&self.place.join("record"))?;
        if self.durability == Durability::Power {
            sync_directory(&self.place)?;
        }
        remove_tree(&self.place)
    }

    /// What a dead process left; `None` when it is somebody's, or gone.
    fn abandoned(place: &Path, durability: Durability) -> Result<Option<(Self, Vec<Member>)>> {
        let lock = match lock(place) {
            Ok(lock) => lock,
            Err(error) if matches!(error.code(), Code::Busy | Code::NotFound) => return Ok(None),
            Err(error) => return Err(error),
        };
        let this = Self { place: place.to_owned(), durability, _lock: lock };
        let bytes = match read_file(&place.join("record"), MAX_RECORD) {
            Ok(bytes) => bytes,
            Err(error) if error.code() == Code::NotFound => {
                // All was done but for clearing it away.
                remove_tree(place)?;
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let stored: Stored = unseal(&bytes)?;
        let members = stored.members.into_iter().map(|member| {
            let id = member.sandbox.parse().ok()?;
            let baseline = member.baseline.map(|id| id.parse()).transpose().ok()?;
            Some(Member { id, baseline })
        });
        let members = members.collect::<Option<_>>();
        let malformed = || Error::corrupt("a note of commits that belong together is malformed").at(place);
        Ok(Some((this, members.ok_or_else(malformed)?)))
    }
}

fn lock(place: &Path) -> Result<FileLock> {
    FileLock::acquire(&place.join("lock"), LockKind::Exclusive, Patience::Try, &Context::default())
}

/// Takes back the commits of sandboxes that are no longer as they were, the last one first.
pub(super) fn take_back<'a>(all: impl DoubleEndedIterator<Item = &'a Arc<dyn Sandbox>>) -> TakenBack {
    // Also after the caller cancelled, or ran out of time: this has to be done.
    let ctx = Context::default();
    let mut done = TakenBack::default();
    for sandbox in all.rev() {
        let id = sandbox.handle().id().clone();
        match sandbox.undo_commit(&ctx).map(|report| report.restored) {
            Ok(true) => done.undone.push(id),
            Ok(false) => done.stay.push(id),
            Err(error) => {
                tracing::warn!(%error, %id, "a commit cannot be taken back");
                done.failed.push(id);
            }
        }
    }
    done
}

impl Sandboxes {
    /// Takes back what processes left that died between commits that belong together.
    pub(super) fn take_up_together(&self, ctx: &Context) -> Result<TakenBack> {
        let mut all = TakenBack::default();
        let directory = directory(&self.manager);
        if !directory.exists() {
            return Ok(all);
        }
        let durability = self.manager.durability()?;
        for name in names(&directory)? {
            ctx.check()?;
            let Some((together, members)) = Together::abandoned(&directory.join(name), durability)? else {
                continue;
            };
            let mut committed = Vec::new();
            let registry = Registry::of(&self.manager);
            for member in members {
                // One that is gone was cleaned up since: nothing of it is to be taken back.
                if registry.place(&member.id).read()?.is_none() {
                    continue;
                }
                // Also finishes what was cut short in the middle of this one.
                let sandbox = self.attach_alone(&member.id, ctx)?;
                let baseline = sandbox.handle().place().read()?.and_then(|record| record.baseline);
                if baseline != member.baseline {
                    committed.push(sandbox);
                }
            }
            let done = take_back(committed.iter());
            for id in &done.stay {
                tracing::warn!(%id, "a commit that was to be one with others stays: its resource was changed since");
            }
            if done.failed.is_empty() {
                together.end()?;
            }
            all.undone.extend(done.undone);
            all.stay.extend(done.stay);
            all.failed.extend(done.failed);
        }
        Ok(all)
    }

    /// As [`Sandboxes::take_up_together`], for a call that has something else to do: what fails waits for the next one.
    pub(super) fn take_up_together_first(&self, ctx: &Context) {
        if let Err(error) = self.take_up_together(ctx) {
            tracing::warn!(%error, "commits that were cut short wait for the next call");
        }
    }
}
