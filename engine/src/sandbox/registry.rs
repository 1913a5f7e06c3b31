//! The registry of a store: one directory for each sandbox, with its record, its lock and its lease (S9).

use std::path::PathBuf;
use std::time::Duration;

use turnback_core::SandboxId;

use super::lease::Lease;
use super::record::{Record, Stored};
use crate::checkpoint::Manager;
use crate::checkpoint::baseline::make_private_directory;
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::store::{
    Durability, FileLock, LockKind, Patience, make_directory, names, random_name, read_file, remove_tree,
    sync_directory, unseal, write_sealed,
};

/// How long a call waits for another one on the same sandbox.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest record that is read, in bytes.
const MAX_RECORD: u64 = 1 << 20;

/// The sandboxes that a store knows.
#[derive(Debug, Clone)]
pub(crate) struct Registry {
    manager: Manager,
    directory: PathBuf,
}

/// One sandbox of a registry.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    manager: Manager,
    directory: PathBuf,
}

impl Registry {
    pub(crate) fn of(manager: &Manager) -> Self {
        Self { manager: manager.clone(), directory: manager.store_path().join("sandboxes") }
    }

    /// Registers a sandbox that is about to be made, held by this process from its first moment on.
    pub(crate) fn register(&self, record: &Record, ctx: &Context) -> Result<(Place, Lease)> {
        make_private_directory(&self.directory)?;
        let durability = self.manager.durability()?;
        // Whoever sweeps temporary files needs the store alone.
        let _store = self.manager.share(ctx)?;
        let made = self.manager.tmp()?.join(random_name()?);
        let place = self.place(&record.id);
        let register = || -> Result<Lease> {
            make_directory(&made)?;
            // The lock goes with the open file, whatever the directory is called.
            let lease = Lease::hold_new(&made, &place.directory, ctx)?;
            write_sealed(&made.join("record"), &made.join("record.new"), &record.stored(), durability)?;
            std::fs::rename(&made, &place.directory)
                .map_err(|e| Error::io("registering the sandbox", e).at(&place.directory))?;
            if durability == Durability::Power {
                sync_directory(&self.directory)?;
            }
            Ok(lease)
        };
        match register() {
            Ok(lease) => Ok((place, lease)),
            Err(error) => {
                if let Err(left) = remove_tree(&made) {
                    tracing::warn!(error = %left, "an unfinished registration stays until the next open");
                }
                Err(error)
            }
        }
    }

    /// The place of a sandbox, whether it is there or not.
    pub(crate) fn place(&self, id: &SandboxId) -> Place {
        Place { manager: self.manager.clone(), directory: self.directory.join(id.as_str()) }
    }

    /// The ids of all sandboxes, those that nobody finished removing among them; sorted.
    pub(crate) fn ids(&self) -> Result<Vec<SandboxId>> {
        match std::fs::symlink_metadata(&self.directory) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(Error::io("examining the registry of sandboxes", e).at(&self.directory)),
            Ok(_) => {}
        }
        let names = names(&self.directory)?;
        Ok(names.into_iter().filter_map(|name| SandboxId::new(name).ok()).collect())
    }
}

impl Place {
    /// Where the record, the lock and the lease lie.
    pub(crate) fn directory(&self) -> &std::path::Path {
        &self.directory
    }

    /// The record; `None` when the sandbox is gone.
    pub(crate) fn read(&self) -> Result<Option<Record>> {
        let bytes = match read_file(&self.directory.join("record"), MAX_RECORD) {
            Err(error) if error.code() == Code::NotFound => return Ok(None),
            other => other?,
        };
        unseal::<Stored>(&bytes)?.parse().map(Some)
    }

    /// Replaces the record. The sandbox's lock must be held.
    pub(crate) fn write(&self, record: &Record) -> Result<()> {
        let tmp = self.directory.join("record.new");
        // What a killed process left in the middle of this.
        crate::store::remove_file(&tmp)?;
        write_sealed(&self.directory.join("record"), &tmp, &record.stored(), self.manager.durability()?)
    }

    /// Waits until no other call works on this sandbox; `None` when it is gone.
    pub(crate) fn lock(&self, patience: Patience, ctx: &Context) -> Result<Option<FileLock>> {
        match FileLock::acquire(&self.directory.join("lock"), LockKind::Exclusive, patience, ctx) {
            Ok(lock) => Ok(Some(lock)),
            Err(error) if error.code() == Code::NotFound => Ok(None),
            Err(error) if error.code() == Code::Busy => Err(Error::new(
                Code::Busy,
                "another call works on this sandbox",
                "try again when it is done; one that died frees it at once",
            )
            .because(error)),
            Err(error) => Err(error),
        }
    }

    /// As [`Place::lock`], with the usual patience.
    pub(crate) fn lock_patiently(&self, ctx: &Context) -> Result<Option<FileLock>> {
        self.lock(Patience::Wait(PATIENCE), ctx)
    }

    /// Takes the sandbox off the registry: it is gone for good.
    pub(crate) fn remove(&self, ctx: &Context) -> Result<()> {
        let _store = self.manager.share(ctx)?;
        let grave = self.manager.tmp()?.join(random_name()?);
        match std::fs::rename(&self.directory, &grave) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(Error::io("taking the sandbox off the registry", e).at(&self.directory)),
            Ok(()) => remove_tree(&grave),
        }
    }
}
