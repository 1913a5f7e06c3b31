//! Taking a checkpoint: walk, store, publish.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use turnback_core::{CheckpointId, Millis, Phase, PlanId};

use super::cache_file::{Appender, CacheFile};
use super::manager::{Inner, Manager};
use super::marks::check_label;
use super::rollback::duplicate;
use super::stage_names;
use super::types::{Checkpoint, CreateRequest, RootPath};
use super::workspace::{Broad, Workspace, identity};
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::{Entry, Hash, Node, Objects, Picture, RelPath, Sink, encode_uncovered};
use crate::store::{
    CoverageRecord, Draft, End, FORMAT_VERSION, Identity, LossyPath, Marks, Preview, Published, Record,
    RollbackOf, RootRecord, RulesRecord, UncoveredRecord,
};
use crate::tree::{CacheWriter, Limits, Notices, Rules, Walk, Walked, lookup};

/// How many uncovered paths stand in the record itself.
const LISTED: usize = 100;

/// What a new checkpoint is, apart from its content.
#[derive(Clone)]
pub(super) struct Purpose<'a> {
    pub(super) plan_id: &'a PlanId,
    pub(super) phase: Phase,
    pub(super) metadata: std::collections::BTreeMap<String, String>,
    pub(super) label: Option<String>,
    pub(super) rollback_of: Option<RollbackOf>,
}

/// A walked workspace whose checkpoint is not published yet.
pub(super) struct Taken<'a> {
    pub(super) walked: Walked,
    pub(super) identity: Identity,
    pub(super) draft: Draft<'a>,
    pub(super) cache: CacheFile,
    pub(super) appender: Appender,
    pub(super) rules: RulesRecord,
    /// What was learned of another tree that is equal to the one that is pictured.
    pub(super) of_source: Option<Learned>,
}

/// A stat cache of a tree that was read for the checkpoint of another one.
pub(super) struct Learned {
    pub(super) cache: CacheFile,
    pub(super) appender: Appender,
    pub(super) identity: Identity,
}

impl Manager {
    /// Takes a checkpoint of a directory (C3, C4).
    ///
    /// # Errors
    /// `NOT_FOUND`, `NOT_A_DIRECTORY`, `PERMISSION_DENIED`, `WORKSPACE_REPLACED` for the directory; `TOO_BROAD`, `STORE_NESTED`, `STORE_FORMAT`, `BUSY`,
    /// `STORE_FULL`, `DISK_FULL`, `ABORTED`, `TIMED_OUT`, `IO`. Nothing is left behind and nothing is published then.
    pub fn create(
        &self,
        directory: &std::path::Path,
        request: CreateRequest,
        ctx: &Context,
    ) -> Result<Checkpoint> {
        self.create_until(directory, request, End::Itself(ctx), ctx)
    }

    /// As [`Manager::create`], for a checkpoint that is only a part of what the caller does.
    pub(crate) fn create_before(
        &self,
        directory: &std::path::Path,
        request: CreateRequest,
        ctx: &Context,
    ) -> Result<Checkpoint> {
        self.create_until(directory, request, End::Before(ctx), ctx)
    }

    fn create_until(
        &self,
        directory: &std::path::Path,
        request: CreateRequest,
        end: End<'_>,
        ctx: &Context,
    ) -> Result<Checkpoint> {
        let inner = self.open_inner()?;
        inner.store.require_writable()?;
        let workspace = match request.root {
            RootPath::Given => Workspace::resolve(directory)?,
            RootPath::Recorded => Workspace::recorded(directory)?,
        };
        let broad = if request.allow_broad { Broad::Allowed } else { Broad::NotAllowed };
        workspace.check_scope(inner.layout(), broad)?;
        workspace.check_ancestors()?;
        let rules = RulesRecord {
            exclude: request.exclude,
            exclude_ignored: request.exclude_ignored,
            max_file_bytes: request.max_file_bytes,
        };
        check_label(request.label.as_deref())?;
        let held = inner.lock_workspace(&workspace, ctx)?;
        inner.recover_first(&workspace, &BTreeSet::new(), ctx)?;
        let limits = Limits { max_files: request.max_files };
        let purpose = Purpose {
            plan_id: &request.plan_id,
            phase: request.phase,
            metadata: request.metadata,
            label: request.label,
            rollback_of: None,
        };
        let published = inner.with_room(&BTreeSet::new(), ctx, || {
            let _store = inner.share_store(ctx)?;
            let taken = inner.take(&workspace, workspace.open()?, rules.clone(), limits, None, None, ctx)?;
            inner.publish(&workspace, taken, purpose.clone(), end)
        })?;
        drop(held);
        if matches!(published.parsed.phase, Phase::PreBatch | Phase::PreRollback) {
            inner.retain(&BTreeSet::from([published.parsed.id]), ctx);
        }
        Ok(Checkpoint::of(&published, inner.layout()))
    }
}

/// Stores, and keeps manifests at hand.
pub(super) struct Both<'a> {
    pub(super) draft: &'a Draft<'a>,
    pub(super) manifests: &'a Preview<'a>,
}

impl Objects for Both<'_> {
    fn read(&self, hash: Hash, limit: u64) -> Result<Vec<u8>> {
        self.manifests.read(hash, limit)
    }

    fn directory(&self, manifest: Hash) -> Result<Vec<Entry>> {
        self.manifests.directory(manifest)
    }
}

impl Sink for Both<'_> {
    fn put(&self, bytes: &[u8]) -> Result<Hash> {
        self.draft.put(bytes)
    }

    fn put_directory(&self, entries: &[Entry]) -> Result<Hash> {
        self.manifests.put_directory(entries)?;
        self.draft.put_directory(entries)
    }
}

impl Inner {
    /// Walks a workspace into a draft. Both locks must be held. What `target` covers is walked even where an ignore file that came or
    /// changed since names it: otherwise it could not be rolled back. What is new of its manifests is also given to `manifests`, so that
    /// it can be looked at before it is published.
    #[allow(clippy::too_many_arguments, reason = "what a walk needs, each from another owner")]
    pub(super) fn take(
        &self,
        workspace: &Workspace,
        root: OwnedFd,
        rules: RulesRecord,
        limits: Limits,
        target: Option<&Picture>,
        manifests: Option<&Preview<'_>>,
        ctx: &Context,
    ) -> Result<Taken<'_>> {
        self.take_noticing(workspace, root, rules, limits, target, manifests, None, ctx)
    }

    /// As [`Inner::take`], and lists the paths of which the caller wants to hear.
    #[allow(clippy::too_many_arguments, reason = "what a walk needs, each from another owner")]
    pub(super) fn take_noticing(
        &self,
        workspace: &Workspace,
        root: OwnedFd,
        rules: RulesRecord,
        limits: Limits,
        target: Option<&Picture>,
        manifests: Option<&Preview<'_>>,
        notices: Option<Notices>,
        ctx: &Context,
    ) -> Result<Taken<'_>> {
        let identity = identity(&root)?;
        let checked = Rules::new(&rules.exclude, rules.exclude_ignored, rules.max_file_bytes)?;
        let mut cache = self.cache(workspace, &checked, identity);
        let ours = stage_names::remembered(self.layout(), workspace)?;
        let covered = target.filter(|_| rules.exclude_ignored).map(|target| self.covered_by(target));
        if covered.is_some() {
            // The cache knows what ignore files say, not what the target covers.
            cache.forget();
        }
        loop {
            let draft = Draft::begin(self.layout(), &self.packs, &self.budget, self.durability)?;
            let appender = cache.appender();
            let root = duplicate(&root)?;
            let used_cache = cache.source().is_some();
            let new_cache: Option<&dyn CacheWriter> = if covered.is_some() { None } else { Some(&appender) };
            let both = manifests.map(|manifests| Both { draft: &draft, manifests });
            let sink: &dyn Sink = both.as_ref().map_or(&draft as &dyn Sink, |both| both);
            let mut walk =
                self.walk(root, &cache, new_cache, sink, &self.packs, &checked, limits, &ours, ctx);
            walk.notices = notices;
            walk.covered = covered.as_ref().map(|covered| covered as _);
            match walk.run(self.pool()?) {
                Ok(walked) => {
                    return Ok(Taken { walked, identity, draft, cache, appender, rules, of_source: None });
                }
                // The cache counted on a manifest that cannot be read: everything is read again.
                Err(error) if error.code() == Code::Corrupt && used_cache => {
                    tracing::warn!(%error, "the last checkpoint is damaged; the workspace is read anew");
                    cache.forget();
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Tells whether a picture covers a path.
    pub(super) fn covered_by<'a>(&'a self, target: &'a Picture) -> impl Fn(&RelPath) -> bool + Sync + 'a {
        |path| {
            let entry = lookup(target, path, &self.packs).ok().flatten();
            entry.is_some_and(|entry| !matches!(entry.node, Node::Uncovered { .. }))
        }
    }

    pub(super) fn cache(&self, workspace: &Workspace, rules: &Rules, identity: Identity) -> CacheFile {
        // Where data was lost, only reading everything tells what has to be stored again (P12).
        let is_whole = !self.packs.has_lost_packs();
        let is_there = |id: CheckpointId| is_whole && matches!(self.catalog.get(id), Ok(Some(_)));
        CacheFile::open(self.layout(), workspace, rules, identity, is_there)
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one struct, each from another owner")]
    pub(super) fn walk<'a>(
        &self,
        root: OwnedFd,
        cache: &'a CacheFile,
        new_cache: Option<&'a dyn CacheWriter>,
        sink: &'a dyn Sink,
        objects: &'a dyn Objects,
        rules: &'a Rules,
        limits: Limits,
        ours: &'a [Vec<u8>],
        ctx: &'a Context,
    ) -> Walk<'a> {
        Walk {
            root,
            cache: cache.source(),
            objects,
            new_cache,
            source_cache: None,
            sink,
            rules,
            limits,
            strict: self.strict,
            covered: None,
            notices: None,
            ours,
            ctx,
        }
    }

    /// Publishes a draft and makes its stat cache count.
    pub(super) fn publish(
        &self,
        workspace: &Workspace,
        taken: Taken<'_>,
        purpose: Purpose<'_>,
        end: End<'_>,
    ) -> Result<Arc<Published>> {
        let Taken { walked, identity, draft, cache, appender, rules, of_source } = taken;
        let id = self.next_id()?;
        let mut record = self.record(workspace, id, &walked, identity, rules, &purpose, &draft)?;
        let marks =
            purpose.label.map(|label| Marks { format: FORMAT_VERSION, label: Some(label), pinned: false });
        let parsed = record.parse()?;
        // Taken until the stat cache is written as well.
        let announce = || self.announce(id, end);
        let adds = of_source.as_ref().map_or(0, |learned| learned.cache.adds(&learned.appender));
        let adds = adds + cache.adds(&appender);
        let _room = draft.publish(id, &mut record, marks.as_ref(), adds, end, announce)?;
        // It is there from here on: what fails now is no reason to say that it failed (C4, C12).
        if let Err(error) = self.packs.refresh() {
            tracing::warn!(%error, "the new pack is found by the next operation only");
        }
        let learned = of_source.map(|one| (one.cache, one.appender, one.identity));
        let own = walked.cache.map(|root| (root, (cache, appender, identity)));
        for (root, (cache, appender, identity)) in own.into_iter().chain(walked.source_cache.zip(learned)) {
            // The checkpoint is published: a cache that cannot be written costs time, not data.
            if let Err(error) = cache.commit(self.layout(), appender, root, id, identity) {
                tracing::warn!(%error, "the stat cache cannot be written; the next checkpoint reads everything");
            }
        }
        Ok(self.catalog.published(Published { record, parsed }))
    }

    /// Whoever is asked for an answer before the operation is through can give it from here on.
    fn announce(&self, id: CheckpointId, end: End<'_>) -> Result<()> {
        if let End::Itself(ctx) = end
            && let Some(on_created) = &ctx.on_created
        {
            on_created(&Checkpoint::of(&*self.catalog.require(id)?, self.layout()));
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "everything that stands in a record")]
    fn record(
        &self,
        workspace: &Workspace,
        id: CheckpointId,
        walked: &Walked,
        identity: Identity,
        rules: RulesRecord,
        purpose: &Purpose<'_>,
        draft: &Draft<'_>,
    ) -> Result<Record> {
        use std::os::unix::ffi::OsStrExt;
        let picture = &walked.picture;
        let links = if picture.links.is_empty() { None } else { Some(draft.put(&picture.links.encode())?) };
        let all = if walked.uncovered.len() > LISTED {
            Some(draft.put(&encode_uncovered(&walked.uncovered))?)
        } else {
            None
        };
        Ok(Record {
            format: FORMAT_VERSION,
            id: id.to_string(),
            sandbox_id: workspace.id.to_string(),
            plan_id: purpose.plan_id.to_string(),
            phase: purpose.phase.as_str().to_owned(),
            created_at_ms: now().as_u64(),
            metadata: purpose.metadata.clone(),
            workspace: LossyPath::new(workspace.path.as_os_str().as_bytes()),
            identity,
            root: RootRecord::new(&picture.root),
            manifest: picture.manifest.to_hex().0,
            links: links.map(|h| h.to_hex().0),
            coverage: CoverageRecord {
                files: walked.totals.files,
                bytes: walked.totals.bytes,
                complete: walked.uncovered.iter().all(|u| u.reason.leaves_complete()),
                changing: walked.totals.changing,
                uncovered_count: walked.uncovered.len() as u64,
                uncovered: walked.uncovered.iter().take(LISTED).map(UncoveredRecord::new).collect(),
                all: all.map(|h| h.to_hex().0),
            },
            rules,
            rollback_of: purpose.rollback_of.clone(),
            stored_bytes: 0,
        })
    }

    /// An id that sorts after all others of the store, also when the clock was set back (input 58).
    pub(super) fn next_id(&self) -> Result<CheckpointId> {
        let mut random = [0u8; 10];
        getrandom::fill(&mut random).map_err(|e| {
            Error::new(Code::Io, format!("no random bytes from the system: {e}"), "try again")
        })?;
        let last = self.catalog.ids()?.into_iter().max();
        if let Some(last) = last.filter(|last| last.created_at() >= now()) {
            let mut step = [0u8; 8];
            step.copy_from_slice(&random[..8]);
            let next =
                u128::from_be_bytes(last.to_bytes()).saturating_add(1 + u128::from(u64::from_be_bytes(step)));
            return Ok(CheckpointId::from_bytes(next.to_be_bytes()));
        }
        CheckpointId::from_parts(now(), random).map_err(|e| {
            Error::new(Code::Io, "the machine's clock is out of range", "set the clock").because(e)
        })
    }
}

/// Milliseconds since the epoch.
pub(super) fn now() -> Millis {
    let elapsed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Millis::since_epoch(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
}
