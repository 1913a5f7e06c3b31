//! A directory with a workspace and a store, and what every method asks of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use turnback_core::{CheckpointId, Phase, PlanId};
use turnback_engine::{
    Context, CreateRequest, Durability, GitMode, Manager, OpenOptions, RollbackRequest, StoreLocation,
};

use crate::outcome::Outcome;
use crate::tree::{self, Picture, difference};

/// A workspace `w`, a store `s` and a `scratch` directory beside each other.
#[derive(Debug)]
pub struct Scene {
    /// What they lie in.
    pub directory: PathBuf,
    /// The checkpoint of the built tree.
    pub base: CheckpointId,
    /// That tree.
    pub then: Picture,
}

/// Opens a store.
///
/// # Errors
/// As [`Manager::open`].
pub fn open(store: &Path, durability: Durability) -> turnback_engine::Result<Manager> {
    Manager::open(OpenOptions {
        store: StoreLocation::Path(store.to_owned()),
        durability: Some(durability),
        // Small disks are a method of their own: what ends the room there is the disk, not the cap.
        max_bytes: Some(1 << 40),
        ..OpenOptions::default()
    })
}

/// A request for a checkpoint of everything.
#[must_use]
pub fn create_request() -> Option<CreateRequest> {
    let plan: PlanId = "soak".parse().ok()?;
    Some(CreateRequest::new(plan, Phase::Manual))
}

/// A rollback of everything, `.git` too.
#[must_use]
pub fn exact() -> RollbackRequest {
    RollbackRequest { git: GitMode::Exact, ..RollbackRequest::default() }
}

/// Fails rather than hangs when somebody still holds a lock: ten seconds.
fn soon() -> Context {
    Context { deadline: Some(Instant::now() + Duration::from_secs(10)), ..Context::default() }
}

impl Scene {
    /// Makes the tree, the store and a checkpoint.
    ///
    /// # Errors
    /// When the file system or the engine refuses something.
    pub fn new(directory: &Path) -> Result<Self> {
        Self::with(directory, Durability::Process)
    }

    /// As [`Scene::new`], with what the first checkpoint has to survive.
    ///
    /// # Errors
    /// When the file system or the engine refuses something.
    pub fn with(directory: &Path, durability: Durability) -> Result<Self> {
        let root = directory.join("w");
        fs::create_dir(&root)?;
        fs::create_dir(directory.join("scratch"))?;
        tree::build(&root)?;
        let then = Picture::of(&root)?;
        let manager = open(&directory.join("s"), durability)?;
        let request = create_request().context("a request")?;
        let base = manager.create(&root, request, &Context::default())?.checkpoint_id;
        // A prune by a rule leaves it alone.
        manager.set_pinned(base, true)?;
        Ok(Self { directory: directory.to_owned(), base, then })
    }

    /// The workspace.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.directory.join("w")
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> PathBuf {
        self.directory.join("s")
    }

    /// A manager that has read nothing yet.
    ///
    /// # Errors
    /// As [`Manager::open`].
    pub fn open(&self) -> turnback_engine::Result<Manager> {
        open(&self.store(), Durability::Process)
    }

    /// Puts the built tree back without the engine, then an agent's edits.
    ///
    /// # Errors
    /// When the file system refuses something.
    pub fn edit(&self, salt: u64) -> Result<Picture> {
        self.rebuild()?;
        tree::edit(&self.root(), salt)?;
        Picture::of(&self.root())
    }

    /// An edit that is none of the turn's: a file `mine`. The root's time is as the turn left it.
    ///
    /// # Errors
    /// When the file system refuses something.
    pub fn edit_beside(&self) -> Result<()> {
        let time = fs::symlink_metadata(self.root())?.modified()?;
        fs::write(self.root().join("mine"), "somebody else's")?;
        fs::File::open(self.root())?.set_modified(time)?;
        Ok(())
    }

    /// Puts the built tree back without the engine.
    ///
    /// # Errors
    /// When the file system refuses something.
    pub fn rebuild(&self) -> Result<()> {
        tree::empty(&self.root())?;
        tree::build(&self.root())
    }

    /// Takes a checkpoint in this process.
    ///
    /// # Errors
    /// As [`Manager::create`].
    pub fn create(&self, manager: &Manager) -> Result<CheckpointId> {
        let request = create_request().context("a request")?;
        Ok(manager.create(&self.root(), request, &soon())?.checkpoint_id)
    }

    /// Restores the base checkpoint and compares; `None` when the tree is exactly what it was.
    ///
    /// # Errors
    /// As [`Manager::rollback`].
    pub fn restore_base(&self, manager: &Manager) -> Result<Option<String>> {
        let request = RollbackRequest { safety: false, ..exact() };
        let report = manager.rollback(self.base, request, &soon())?;
        if !report.restored {
            return Ok(Some(format!("not restored: {:?}", report.not_restorable)));
        }
        Ok(difference(&Picture::of(&self.root())?, &self.then))
    }

    /// The listed checkpoints; a damaged one is an error.
    ///
    /// # Errors
    /// When the store cannot be read, or something in it is damaged.
    pub fn ids(&self, manager: &Manager) -> Result<Vec<CheckpointId>> {
        let listing = manager.list(None)?;
        if let Some(damaged) = listing.damaged.first() {
            return Err(anyhow!("listed and not readable: {damaged:?}"));
        }
        Ok(listing.checkpoints.iter().map(|c| c.checkpoint.checkpoint_id).collect())
    }

    /// After something went wrong on purpose: the store opens, `tmp` is empty, everything in `known` is listed, all that is listed
    /// verifies (P1), the base comes back exactly, and the next checkpoint works at once (P9). Then only the base is left.
    ///
    /// # Errors
    /// Only when the harness itself fails; what the engine does wrong is a breach.
    pub fn is_whole(&self, known: &[CheckpointId], promise: u8, what: &str, out: &mut Outcome) -> Result<()> {
        let before = out.breaches.len();
        let step = |out: &mut Outcome, result: Result<()>, of: &str| {
            if let Err(error) = result {
                out.breach(promise, format!("{what}: {of}: {error:#}"));
            }
        };
        let manager = match self.open() {
            Ok(manager) => manager,
            Err(error) => {
                out.breach(promise, format!("{what}: the store does not open: {error}"));
                return Ok(());
            }
        };
        let left = fs::read_dir(self.store().join("tmp"))?.count();
        out.check(left == 0, 8, || format!("{what}: {left} leftovers in tmp after opening"));
        match self.ids(&manager) {
            Ok(ids) => {
                for id in known.iter().chain([&self.base]) {
                    out.check(ids.contains(id), promise, || {
                        format!("{what}: acknowledged checkpoint {id} is gone")
                    });
                }
            }
            Err(error) => out.breach(promise, format!("{what}: {error:#}")),
        }
        match manager.verify(None, &Context::default()) {
            Ok(report) => {
                out.check(report.damaged.is_empty(), promise, || format!("{what}: {:?}", report.damaged));
            }
            Err(error) => out.breach(promise, format!("{what}: verify: {error}")),
        }
        match self.restore_base(&manager) {
            Ok(None) => {}
            Ok(Some(differs)) => out.breach(3, format!("{what}: after a rollback {differs}")),
            Err(error) => out.breach(3, format!("{what}: rollback: {error:#}")),
        }
        let next = self.create(&manager).map(drop);
        out.check(next.is_ok(), 9, || format!("{what}: the next checkpoint: {next:?}"));
        step(out, self.only_base(&manager), "deleting the others");
        if out.breaches.len() > before {
            eprintln!("breach: {:?}", out.breaches[before]);
        }
        Ok(())
    }

    /// Deletes everything but the base.
    ///
    /// # Errors
    /// As [`Manager::delete`].
    pub fn only_base(&self, manager: &Manager) -> Result<()> {
        for id in self.ids(manager)? {
            if id != self.base {
                manager.delete(id)?;
            }
        }
        Ok(())
    }
}
