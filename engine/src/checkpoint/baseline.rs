//! What sandboxes need of the manager: the picture of a resource that is taken while it is copied, and what goes with a sandbox.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use turnback_core::{CheckpointId, Millis, Phase, PlanId, SandboxId};

use super::committed::COMMIT_OF;
use super::create::{Learned, Purpose, Taken, now};
use super::manager::{Inner, Manager, STORE_PATIENCE};
use super::stage_names;
use super::types::Checkpoint;
use super::workspace::{Broad, Workspace, identity, make_private};
use crate::context::Context;
use crate::error::Result;
use crate::model::{Node, RelPath, Timestamp};
use crate::store::{Draft, Durability, End, FileLock, LockKind, Patience, Preview, RulesRecord, remove_tree};
use crate::tree::mirror::Mirror;
use crate::tree::{Difference, Limits, Rules, SourceCache, change, differences};

/// How a baseline is called among a sandbox's checkpoints.
pub(crate) const BASELINE_LABEL: &str = "baseline";

/// The metadata that names the directory that a baseline was read from: its stat cache may mirror the baseline.
pub(super) const BASELINE_OF: &str = "baselineOf";

/// A frozen tree that a baseline is pictured from.
pub(crate) struct Frozen<'a> {
    /// Where it is, by its canonical path.
    pub(crate) path: &'a Path,
    /// The directory that it was taken of.
    pub(crate) resource: &'a Path,
    /// The sandbox that was made of it: the checkpoint's workspace.
    pub(crate) sandbox: &'a Path,
    /// The file clock right before it was taken, where that is known.
    pub(crate) at: Option<Timestamp>,
}

/// What a baseline is taken of.
pub(crate) struct BaselineRequest<'a> {
    /// The directory that is read, by its canonical path.
    pub(crate) resource: &'a Path,
    /// The second tree, by its canonical path: the checkpoint's workspace.
    pub(crate) sandbox: &'a Path,
    /// The second tree's root.
    pub(crate) root: &'a OwnedFd,
    /// Makes the second tree.
    pub(crate) mirror: &'a dyn Mirror,
    /// The plan that the sandbox belongs to.
    pub(crate) plan_id: &'a PlanId,
    /// More paths than this fail with `TOO_BROAD`.
    pub(crate) max_files: Option<u64>,
}

impl Manager {
    /// The canonical path of a directory that may be isolated.
    pub(crate) fn check_resource(&self, directory: &Path) -> Result<PathBuf> {
        let inner = self.open_inner()?;
        inner.store.require_writable()?;
        let workspace = Workspace::resolve(directory)?;
        workspace.check_scope(inner.layout(), Broad::NoResource)?;
        workspace.check_ancestors()?;
        Ok(workspace.path)
    }

    /// The id under which the checkpoints of a directory stand.
    pub(crate) fn id_at(&self, canonical: &Path) -> Result<SandboxId> {
        Workspace::at(canonical.to_owned()).map(|w| w.id)
    }

    /// Reads a resource once: `mirror` makes the second tree, and the picture of that tree becomes a checkpoint of it (S5).
    pub(crate) fn take_baseline(&self, request: &BaselineRequest<'_>, ctx: &Context) -> Result<Checkpoint> {
        let inner = self.open_inner()?;
        let resource = Workspace::at(request.resource.to_owned())?;
        let sandbox = Workspace::at(request.sandbox.to_owned())?;
        let purpose = Purpose {
            plan_id: request.plan_id,
            phase: Phase::Manual,
            metadata: BTreeMap::from([(BASELINE_OF.to_owned(), resource.id.to_string())]),
            label: Some(BASELINE_LABEL.to_owned()),
            rollback_of: None,
        };
        // Nobody rolls the resource back while it is read.
        let held = inner.lock_workspace(&resource, ctx)?;
        let mut again = false;
        let published = inner.with_room(&BTreeSet::new(), ctx, || {
            if std::mem::replace(&mut again, true) {
                // The store had no room for all of it; what was made meanwhile may be out of date.
                request.mirror.start_over()?;
            }
            let _store = inner.share_store(ctx)?;
            let taken = inner.take_mirrored(&resource, &sandbox, request, ctx)?;
            inner.publish(&sandbox, taken, purpose.clone(), End::Before(ctx))
        })?;
        drop(held);
        self.set_pinned(published.parsed.id, true)?;
        Ok(Checkpoint::of(&published, inner.layout()))
    }

    /// Holds a directory, so that nobody rolls it back meanwhile.
    pub(crate) fn hold_workspace(&self, canonical: &Path, ctx: &Context) -> Result<FileLock> {
        let inner = self.open_inner()?;
        inner.lock_workspace(&Workspace::at(canonical.to_owned())?, ctx)
    }

    /// The baseline of a sandbox, pictured from a frozen tree that is equal to what the sandbox was made as, inode for inode.
    pub(crate) fn take_frozen(
        &self,
        frozen: &Frozen<'_>,
        plan_id: &PlanId,
        ctx: &Context,
    ) -> Result<CheckpointId> {
        let inner = self.open_inner()?;
        let resource = Workspace::at(frozen.resource.to_owned())?;
        let sandbox = Workspace::at(frozen.sandbox.to_owned())?;
        // By its metadata one that a killed process made and did not write down is found again.
        let metadata = BTreeMap::from([
            (COMMIT_OF.to_owned(), sandbox.id.to_string()),
            (BASELINE_OF.to_owned(), resource.id.to_string()),
        ]);
        let label = Some(BASELINE_LABEL.to_owned());
        let purpose = Purpose { plan_id, phase: Phase::Manual, metadata, label, rollback_of: None };
        // What is learned of the resource is noted only if nobody works there: it saves time, and nothing else.
        let free = inner.try_workspace(&resource, ctx)?;
        let frozen = &Frozen { at: frozen.at.filter(|_| free.is_some()), ..*frozen };
        let held = inner.lock_workspace(&sandbox, ctx)?;
        let published = inner.with_room(&BTreeSet::new(), ctx, || {
            let _store = inner.share_store(ctx)?;
            let taken = inner.take_of(frozen, &resource, &sandbox, ctx)?;
            inner.publish(&sandbox, taken, purpose.clone(), End::Before(ctx))
        })?;
        drop((free, held));
        self.set_pinned(published.parsed.id, true)?;
        Ok(published.parsed.id)
    }

    /// Whether a checkpoint's workspace holds anything that the checkpoint does not: also what no checkpoint can keep, save sockets
    /// and devices.
    pub(crate) fn differs(&self, from: CheckpointId, ctx: &Context) -> Result<bool> {
        let found = self.differences_since(from, ctx)?;
        Ok(found.iter().any(|difference| is_unread(difference) || change(difference).is_some()))
    }

    /// What no checkpoint can keep of what a checkpoint's workspace holds and the checkpoint does not, save sockets and devices.
    pub(crate) fn unread(&self, from: CheckpointId, ctx: &Context) -> Result<Vec<RelPath>> {
        let found = self.differences_since(from, ctx)?;
        Ok(found.into_iter().filter(is_unread).map(|difference| difference.path).collect())
    }

    fn differences_since(&self, from: CheckpointId, ctx: &Context) -> Result<Vec<Difference>> {
        let inner = self.open_inner()?;
        let _store = inner.share_store(ctx)?;
        let from = inner.catalog.require(from)?;
        let before = from.parsed.picture(&inner.packs)?;
        let preview = Preview::new(&inner.packs);
        let after = inner.picture_now(&from, &before, &preview, ctx)?;
        differences(&before, &after, &preview, ctx)
    }

    /// Deletes the checkpoints of a sandbox that nobody ever worked in.
    pub(crate) fn delete_all_of(&self, sandbox: &SandboxId) -> Result<()> {
        for listed in self.list(Some(sandbox))?.checkpoints {
            self.delete(listed.checkpoint.checkpoint_id)?;
        }
        Ok(())
    }

    /// Forgets what is remembered of a workspace that is gone for good: stat cache and locks.
    pub(crate) fn forget_workspace(&self, sandbox: &SandboxId, ctx: &Context) -> Result<()> {
        let inner = self.open_inner()?;
        let path = inner.layout().workspace_lock(sandbox.as_str());
        let _workspace = FileLock::acquire(&path, LockKind::Exclusive, Patience::Wait(STORE_PATIENCE), ctx)?;
        remove_tree(&inner.layout().workspace(sandbox.as_str()))?;
        crate::store::remove_file(&path)
    }

    /// Holds the store as one who adds to it, so that nobody sweeps what is being written.
    pub(crate) fn share(&self, ctx: &Context) -> Result<FileLock> {
        self.open_inner()?.share_store(ctx)
    }

    /// What an acknowledged change survives.
    pub(crate) fn durability(&self) -> Result<Durability> {
        Ok(self.open_inner()?.durability)
    }

    /// Whether the store goes with the manager.
    pub(crate) fn is_ephemeral(&self) -> Result<bool> {
        Ok(self.open_inner()?.store.ephemeral)
    }

    /// Where temporary files of the store go.
    pub(crate) fn tmp(&self) -> Result<PathBuf> {
        Ok(self.open_inner()?.layout().tmp())
    }

    /// A new id: no other call gives the same one.
    pub(crate) fn fresh_id(&self) -> Result<CheckpointId> {
        self.open_inner()?.next_id()
    }
}

impl Inner {
    /// A picture of one directory as the checkpoint of another one.
    fn take_of(
        &self,
        frozen: &Frozen<'_>,
        resource: &Workspace,
        sandbox: &Workspace,
        ctx: &Context,
    ) -> Result<Taken<'_>> {
        let root = Workspace::at(frozen.path.to_owned())?.open()?;
        // A snapshot's root has that of what it was taken of, and what somebody put in the sandbox's place is not what it was made as.
        let identity = identity(&root)?;
        let rules = Rules::new(&[], false, None)?;
        let mut cache = self.cache(sandbox, &rules, identity);
        cache.forget();
        let appender = cache.appender();
        let source = match frozen.at {
            Some(_) => self.to_learn(resource, &rules)?,
            None => None,
        };
        let draft = Draft::begin(self.layout(), &self.packs, &self.budget, self.durability)?;
        let limits = Limits::default();
        let mut walk =
            self.walk(root, &cache, Some(&appender), &draft, &self.packs, &rules, limits, &[], ctx);
        walk.source_cache =
            source.as_ref().map(|source| SourceCache { writer: &source.appender, clock: frozen.at });
        let walked = walk.run(self.pool()?)?;
        let rules = RulesRecord::default();
        Ok(Taken { walked, identity, draft, cache, appender, rules, of_source: source })
    }

    fn take_mirrored(
        &self,
        resource: &Workspace,
        sandbox: &Workspace,
        request: &BaselineRequest<'_>,
        ctx: &Context,
    ) -> Result<Taken<'_>> {
        let identity = identity(request.root)?;
        let rules = Rules::new(&[], false, None)?;
        // A cache of the sandbox, which has none yet: the walk leaves it what it made.
        let mut cache = self.cache(sandbox, &rules, identity);
        cache.forget();
        let appender = cache.appender();
        let ours = stage_names::remembered(self.layout(), resource)?;
        let source = self.to_learn(resource, &rules)?;
        let draft = Draft::begin(self.layout(), &self.packs, &self.budget, self.durability)?;
        let draft = draft.in_haste(&self.budget)?;
        let limits = Limits { max_files: request.max_files };
        let root = resource.open()?;
        let mut walk =
            self.walk(root, &cache, Some(&appender), &draft, &self.packs, &rules, limits, &ours, ctx);
        walk.source_cache =
            source.as_ref().map(|source| SourceCache { writer: &source.appender, clock: None });
        let walked = walk.run_mirrored(self.pool()?, request.mirror)?;
        let rules = RulesRecord::default();
        Ok(Taken { walked, identity, draft, cache, appender, rules, of_source: source })
    }

    /// A stat cache to be filled for a resource; `None` when there is one, or the resource is gone.
    fn to_learn(&self, resource: &Workspace, rules: &Rules) -> Result<Option<Learned>> {
        let Some(root) = resource.open_if_there()? else { return Ok(None) };
        let identity = identity(&root)?;
        let cache = self.cache(resource, rules, identity);
        if cache.source().is_some() {
            return Ok(None);
        }
        let appender = cache.appender();
        Ok(Some(Learned { cache, appender, identity }))
    }
}

/// Whether something is there that no checkpoint can keep, but a socket or a device, of which there is nothing to keep.
fn is_unread(difference: &Difference) -> bool {
    use crate::model::FileKind::{Device, Socket};
    matches!(&difference.after, Some(entry)
        if matches!(&entry.node, Node::Uncovered { kind, .. } if !matches!(kind, Socket | Device)))
}

/// Makes a directory with its parents, for us alone whatever the umask (C9).
pub(crate) fn make_private_directory(path: &Path) -> Result<()> {
    make_private(path)
}

/// Milliseconds since the epoch, by the machine's clock.
pub(crate) fn wall_clock() -> Millis {
    now()
}
