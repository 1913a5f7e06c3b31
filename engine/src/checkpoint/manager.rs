//! The manager: one per store and process, shared by all who use it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use turnback_core::SandboxId;

use super::workspace::Workspace;
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::store::{
    Budget, Catalog, Durability, FileLock, Layout, LockKind, OnFull, OpenedStore, PackSet, Patience,
    StoreLocation, open_store, remove_tree, share_store,
};

/// How a manager works.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// Where the store is.
    pub store: StoreLocation,
    /// What an acknowledged checkpoint survives; by default a power cut, for an ephemeral store only the end of the process.
    pub durability: Option<Durability>,
    /// Read every file at every checkpoint, whatever the timestamps say (input 49).
    pub strict: bool,
    /// The most bytes that the store may ever hold; by default the smaller of 20 GiB and a fifth of its disk (C16).
    pub max_bytes: Option<u64>,
    /// What happens when a checkpoint does not fit.
    pub on_full: OnFull,
}

/// How long an operation waits for another one on the same workspace, unless its deadline comes first: `BUSY` then as well.
pub(super) const WORKSPACE_PATIENCE: Duration = Duration::from_secs(10);
/// How long an operation waits for the store: removals are short.
pub(super) const STORE_PATIENCE: Duration = Duration::from_secs(30);

/// Takes checkpoints, restores them, and looks after a store. Cheap to clone; all methods block and may be called from any thread.
///
/// Methods that take a checkpoint or change a workspace hold that workspace's lock; they wait ten seconds for it and then fail with
/// `BUSY`. Threads are started by the first operation that needs some, never by opening.
#[derive(Debug, Clone)]
pub struct Manager {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) store: OpenedStore,
    pub(super) catalog: Catalog,
    pub(super) packs: PackSet,
    pub(super) budget: Budget,
    /// So many removals are let pile up before it is looked what nobody needs any more.
    pub(super) pile: AtomicUsize,
    pub(super) durability: Durability,
    pub(super) strict: bool,
    pool: OnceLock<rayon::ThreadPool>,
    closed: AtomicBool,
    /// Hears of events in all threads of the manager (X4).
    subscriber: tracing::Dispatch,
}

impl Manager {
    /// Opens a store, making it when it is missing, and sweeps what dead processes left.
    ///
    /// The subscriber of `tracing` that is the default of the calling thread hears of what happens in the manager's own threads as well.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`, `STORE_UNSAFE`, `STORE_FORMAT`, `NOT_A_DIRECTORY`, `DISK_FULL`, `PERMISSION_DENIED`, `IO`.
    pub fn open(options: OpenOptions) -> Result<Self> {
        let store = open_store(&options.store)?;
        let layout = store.layout.clone();
        let durability = options.durability.unwrap_or_else(|| store.default_durability());
        Ok(Self {
            inner: Arc::new(Inner {
                store,
                catalog: Catalog::new(layout.clone()),
                packs: PackSet::new(layout.clone()),
                budget: Budget::new(layout, options.max_bytes, options.on_full)?,
                pile: AtomicUsize::new(super::prune::PILE),
                durability,
                strict: options.strict,
                pool: OnceLock::new(),
                closed: AtomicBool::new(false),
                subscriber: tracing::dispatcher::get_default(Clone::clone),
            }),
        })
    }

    /// The store's directory.
    #[must_use]
    pub fn store_path(&self) -> &Path {
        self.inner.layout().root()
    }

    /// The stable id of a plain directory, which need not exist any more.
    ///
    /// # Errors
    /// When the path cannot be made absolute.
    pub fn sandbox_id_of(&self, directory: &Path) -> Result<SandboxId> {
        Workspace::resolve_missing(directory).map(|w| w.id)
    }

    /// Runs a job on a thread of its own.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn spawn(&self, job: impl FnOnce() + Send + 'static) -> Result<()> {
        let subscriber = self.inner.subscriber.clone();
        std::thread::Builder::new()
            .name("turnback".to_owned())
            .spawn(move || tracing::dispatcher::with_default(&subscriber, job))
            .map(drop)
            .map_err(|e| Error::io("starting a thread", e))
    }

    /// Closes the manager; an ephemeral store is removed. Closing twice is fine.
    ///
    /// # Errors
    /// When an ephemeral store cannot be removed.
    pub fn close(&self) -> Result<()> {
        self.inner.close()
    }

    pub(super) fn open_inner(&self) -> Result<&Inner> {
        if self.inner.closed.load(Ordering::Acquire) {
            return Err(Error::new(Code::Poisoned, "the manager is closed", "open a new one"));
        }
        Ok(&self.inner)
    }
}

impl Inner {
    pub(super) const fn layout(&self) -> &Layout {
        &self.store.layout
    }

    /// The manager's own threads, started on first use: neither a host's pool nor a global one, so that one frozen disk stalls
    /// nobody else.
    pub(super) fn pool(&self) -> Result<&rayon::ThreadPool> {
        if let Some(pool) = self.pool.get() {
            return Ok(pool);
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .thread_name(|i| format!("turnback-{i}"))
            .spawn_handler(|thread| self.start(thread))
            .build()
            .map_err(|e| {
                Error::new(Code::Io, "starting threads failed", "lower the load and try again").because(e)
            })?;
        Ok(self.pool.get_or_init(|| pool))
    }

    fn start(&self, thread: rayon::ThreadBuilder) -> std::io::Result<()> {
        let subscriber = self.subscriber.clone();
        let mut builder = std::thread::Builder::new();
        if let Some(name) = thread.name() {
            builder = builder.name(name.to_owned());
        }
        builder.spawn(move || tracing::dispatcher::with_default(&subscriber, || thread.run())).map(drop)
    }

    /// Holds the store for reading or adding objects.
    pub(super) fn share_store(&self, ctx: &Context) -> Result<FileLock> {
        let lock = share_store(self.layout(), Patience::Wait(STORE_PATIENCE), ctx)?;
        self.packs.refresh()?;
        Ok(lock)
    }

    /// Holds a workspace alone.
    pub(super) fn lock_workspace(&self, workspace: &Workspace, ctx: &Context) -> Result<FileLock> {
        let path = self.layout().workspace_lock(workspace.id.as_str());
        FileLock::acquire(&path, LockKind::Exclusive, Patience::Wait(WORKSPACE_PATIENCE), ctx).map_err(
            |error| {
                // A deadline that passes here: nothing was slow but the other one, and that is what the caller has to know.
                if !matches!(error.code(), Code::Busy | Code::TimedOut) {
                    return error;
                }
                let tried = "the workspace is in use by another checkpoint or rollback";
                Error::new(Code::Busy, tried, "try again when it is done; one that died frees it at once")
                    .at(&workspace.path)
            },
        )
    }

    /// The same without waiting; `None` when somebody else is at work there.
    pub(super) fn try_workspace(&self, workspace: &Workspace, ctx: &Context) -> Result<Option<FileLock>> {
        let path = self.layout().workspace_lock(workspace.id.as_str());
        match FileLock::acquire(&path, LockKind::Exclusive, Patience::Try, ctx) {
            Ok(lock) => Ok(Some(lock)),
            Err(error) if error.code() == Code::Busy => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn close(&self) -> Result<()> {
        if !self.closed.swap(true, Ordering::AcqRel) && self.store.ephemeral {
            return remove_tree(self.layout().root());
        }
        Ok(())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::warn!(%error, "an ephemeral store cannot be removed");
        }
    }
}
