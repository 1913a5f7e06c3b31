//! Reading: list, get, diff, files, coverage, verify, usage; and what lies beside a record.

use turnback_core::{CheckpointId, SandboxId};

use super::create::now;
use super::manager::{Inner, Manager};
use super::rollback::duplicate;
use super::stage_names;
use super::types::{Checkpoint, Listed, Listing, UsageReport};
use super::workspace::{Workspace, identity};
use crate::change::Change;
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::{
    Content, Node, Objects, Picture, RelPath, Segment, Sink, Uncovered, decode_segments, decode_uncovered,
};
use crate::store::{
    Preview, Published, VerifyReport, disk_usage, freed_by_delete, verify, verify_kept_packs,
};
use crate::tree::{Limits, Rules, changes, differences, lookup};

/// What a checkpoint is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffTo {
    /// The workspace as it is now.
    Now,
    /// Another checkpoint of the same workspace.
    Checkpoint(CheckpointId),
}

/// The longest file that is read into memory at once.
const MAX_READ: u64 = 1 << 31;

impl Manager {
    /// The checkpoints of one sandbox or workspace, or all of them; oldest first.
    ///
    /// # Errors
    /// `IO` when the store cannot be listed. Damaged records are part of the result.
    pub fn list(&self, sandbox: Option<&SandboxId>) -> Result<Listing> {
        let inner = self.open_inner()?;
        let (all, damaged) = inner.catalog.all()?;
        let mut checkpoints = Vec::new();
        for published in all.iter().filter(|c| sandbox.is_none_or(|s| *s == c.parsed.sandbox_id)) {
            let (marks, unreadable) = inner.catalog.marks_or_pinned(published.parsed.id);
            checkpoints.push(Listed {
                checkpoint: Checkpoint::of(published, inner.layout()),
                label: marks.label,
                pinned: marks.pinned,
                marks_damaged: unreadable.map(|error| error.found()),
                bytes: published.record.stored_bytes,
            });
        }
        Ok(Listing { checkpoints, damaged })
    }

    /// One checkpoint.
    ///
    /// # Errors
    /// `CORRUPT` when its record is damaged.
    pub fn get(&self, id: CheckpointId) -> Result<Option<Checkpoint>> {
        let inner = self.open_inner()?;
        Ok(inner.catalog.get(id)?.map(|published| Checkpoint::of(&published, inner.layout())))
    }

    /// All uncovered paths of a checkpoint.
    ///
    /// # Errors
    /// `NOT_FOUND`, `CORRUPT`.
    pub fn coverage(&self, id: CheckpointId) -> Result<Vec<Uncovered>> {
        let inner = self.open_inner()?;
        let _store = inner.share_store(&Context::default())?;
        inner.all_uncovered(&*inner.catalog.require(id)?)
    }

    /// What changed from a checkpoint to another one, or to now. Reads the workspace under the checkpoint's own rules.
    ///
    /// # Errors
    /// `NOT_FOUND`, `CORRUPT`, `WORKSPACE_MISMATCH` for checkpoints of different workspaces, `ABORTED`, `TIMED_OUT`, `IO`.
    pub fn diff(&self, from: CheckpointId, to: DiffTo, ctx: &Context) -> Result<Vec<Change>> {
        let inner = self.open_inner()?;
        let _store = inner.share_store(ctx)?;
        let from = inner.catalog.require(from)?;
        let before = from.parsed.picture(&inner.packs)?;
        let preview = Preview::new(&inner.packs);
        let after = match to {
            DiffTo::Now => inner.picture_now(&from, &before, &preview, ctx)?,
            DiffTo::Checkpoint(id) => {
                let to = inner.catalog.require(id)?;
                if to.parsed.sandbox_id != from.parsed.sandbox_id {
                    return Err(Error::new(
                        Code::WorkspaceMismatch,
                        "the two checkpoints are of different workspaces",
                        "compare checkpoints of one workspace",
                    ));
                }
                to.parsed.picture(&inner.packs)?
            }
        };
        Ok(changes(&differences(&before, &after, &preview, ctx)?))
    }

    /// The bytes of a file as a checkpoint has them.
    ///
    /// # Errors
    /// `NOT_FOUND` when the checkpoint has no such path, `INVALID_ARGUMENT` when it is no file or longer than 2 GiB, `CORRUPT`.
    pub fn read_file(&self, id: CheckpointId, path: &RelPath) -> Result<Vec<u8>> {
        let inner = self.open_inner()?;
        let _store = inner.share_store(&Context::default())?;
        let published = inner.catalog.require(id)?;
        let picture = published.parsed.picture(&inner.packs)?;
        let entry = lookup(&picture, path, &inner.packs)?;
        let no_file = |what: &str| {
            Error::new(Code::InvalidArgument, format!("`{path}` is {what} in this checkpoint"), "name a file")
        };
        match entry.map(|e| e.node) {
            None if path.is_root() => Err(no_file("the root")),
            None => Err(Error::new(
                Code::NotFound,
                format!("the checkpoint has no `{path}`"),
                "paths are relative to the workspace",
            )),
            Some(Node::File { size, .. }) if size > MAX_READ => Err(no_file("too long to be read at once")),
            Some(Node::File { size, content, .. }) => contents(&inner.packs, size, content),
            Some(Node::Directory { .. }) => Err(no_file("a directory")),
            Some(Node::Symlink { .. }) => Err(no_file("a symbolic link")),
            Some(Node::Fifo) => Err(no_file("a named pipe")),
            Some(Node::Uncovered { reason, .. }) => Err(Error::new(
                Code::NotFound,
                format!("`{path}` is not covered by this checkpoint: {}", reason.as_str()),
                "see `turnback show` for what is not covered",
            )),
        }
    }

    /// Reads everything that one checkpoint or all of them need and compares it with its address. What is damaged is remembered: the
    /// next checkpoint that needs it stores it again, which heals the older ones.
    ///
    /// # Errors
    /// `NOT_FOUND`, `ABORTED`, `TIMED_OUT`, `IO`. Damage is part of the report.
    pub fn verify(&self, id: Option<CheckpointId>, ctx: &Context) -> Result<VerifyReport> {
        let inner = self.open_inner()?;
        let _store = inner.share_store(ctx)?;
        let (checkpoints, damaged) = match id {
            None => inner.catalog.all()?,
            Some(id) => match inner.catalog.get(id) {
                Ok(Some(one)) => (vec![one], Vec::new()),
                Ok(None) => (vec![inner.catalog.require(id)?], Vec::new()),
                Err(error) => {
                    let reason = error.to_string();
                    let damaged = crate::store::Damaged { checkpoint_id: id.to_string(), path: None, reason };
                    (Vec::new(), vec![damaged])
                }
            },
        };
        // After the list: what is published meanwhile brings a pack of its own.
        inner.packs.refresh()?;
        let mut report = verify(inner.layout(), &inner.packs, &inner.catalog, &checkpoints, ctx)?;
        report.checked += damaged.len() as u64;
        report.damaged.extend(damaged);
        if id.is_none() {
            report.damaged.extend(verify_kept_packs(inner.layout(), &inner.packs, &checkpoints, ctx)?);
        }
        if !report.damaged.is_empty() && inner.store.read_only.is_none() && inner.packs.remember_suspects()? {
            // The next checkpoints read everything again and store anew what was damaged.
            inner.forget_caches()?;
        }
        Ok(report)
    }

    /// How large the store is, and what deleting each checkpoint would free.
    ///
    /// # Errors
    /// `CORRUPT` when a manifest cannot be read, `IO`.
    pub fn usage(&self) -> Result<UsageReport> {
        let inner = self.open_inner()?;
        let ctx = Context::default();
        let _store = inner.share_store(&ctx)?;
        let root = inner.layout().root();
        let store_bytes = disk_usage(root)?;
        let (all, _) = inner.catalog.all()?;
        inner.packs.refresh()?;
        let mut checkpoints = freed_by_delete(inner.layout(), &inner.packs, &all, &ctx)?;
        for ((_, bytes), published) in checkpoints.iter_mut().zip(&all) {
            *bytes = bytes.saturating_add(inner.aside(published)?);
        }
        Ok(UsageReport { store_bytes, max_bytes: inner.budget.cap(), checkpoints })
    }
}

impl Inner {
    /// All paths that a checkpoint does not cover. The store's lock must be held.
    pub(super) fn all_uncovered(&self, published: &Published) -> Result<Vec<Uncovered>> {
        match published.parsed.all_uncovered {
            None => Ok(published.parsed.uncovered.clone()),
            Some(hash) => decode_uncovered(&self.packs.read(hash, u64::MAX)?)
                .map_err(|e| Error::corrupt("the list of uncovered paths is malformed").because(e)),
        }
    }

    /// Removes the heads of all stat caches.
    fn forget_caches(&self) -> Result<()> {
        let listing = |e| Error::io("listing the stat caches", e);
        for workspace in std::fs::read_dir(self.layout().workspaces()).map_err(listing)? {
            for file in std::fs::read_dir(workspace.map_err(listing)?.path()).map_err(listing)? {
                let path = file.map_err(listing)?.path();
                if path.extension().is_some_and(|e| e == "head") {
                    std::fs::remove_file(&path)
                        .map_err(|e| Error::io("forgetting a stat cache", e).at(&path))?;
                }
            }
        }
        Ok(())
    }

    /// The workspace of a checkpoint as it is now, without storing anything; empty when its root is gone.
    pub(super) fn picture_now(
        &self,
        of: &Published,
        then: &Picture,
        preview: &Preview<'_>,
        ctx: &Context,
    ) -> Result<Picture> {
        let workspace = Workspace::at(of.parsed.workspace.clone())?;
        match workspace.open_if_there()? {
            Some(root) => self.preview(&workspace, root, of, then, preview, ctx),
            None => Ok(Picture {
                root: of.parsed.root.clone(),
                manifest: preview.put_directory(&[])?,
                links: crate::model::LinkGroups::default(),
            }),
        }
    }

    /// Walks a workspace under a checkpoint's rules without storing anything.
    pub(super) fn preview(
        &self,
        workspace: &Workspace,
        root: std::os::fd::OwnedFd,
        of: &Published,
        then: &Picture,
        preview: &Preview<'_>,
        ctx: &Context,
    ) -> Result<Picture> {
        let started = now();
        let record = &of.record.rules;
        let rules = Rules::new(&record.exclude, record.exclude_ignored, record.max_file_bytes)?;
        let identity = identity(&root)?;
        let mut cache = self.cache(workspace, &rules, identity);
        let ours = stage_names::remembered(self.layout(), workspace)?;
        let covered = record.exclude_ignored.then(|| self.covered_by(then));
        if covered.is_some() {
            cache.forget();
        }
        loop {
            let root = duplicate(&root)?;
            let used_cache = cache.source().is_some();
            let mut walk =
                self.walk(root, &cache, None, preview, &self.packs, &rules, Limits::default(), &ours, ctx);
            walk.covered = covered.as_ref().map(|covered| covered as _);
            match walk.run(self.pool()?) {
                Ok(walked) => {
                    tracing::debug!(ms = now().since(started).as_u64(), "walked without storing");
                    return Ok(walked.picture);
                }
                Err(error) if error.code() == Code::Corrupt && used_cache => cache.forget(),
                Err(error) => return Err(error),
            }
        }
    }
}

/// All bytes of a file.
fn contents(objects: &dyn Objects, size: u64, content: Content) -> Result<Vec<u8>> {
    match content {
        Content::Blob(hash) => objects.read(hash, size.max(Segment::MAX_DATA)),
        Content::Segments(hash) => {
            let segments = decode_segments(&objects.read(hash, u64::MAX)?, size)
                .map_err(|e| Error::corrupt("a list of segments is malformed").because(e))?;
            let mut bytes = Vec::new();
            for segment in segments {
                match segment {
                    Segment::Hole { length } => bytes.resize(bytes.len() + length as usize, 0),
                    Segment::Data { length, hash } => bytes.extend(objects.read(hash, length)?),
                }
            }
            Ok(bytes)
        }
    }
}
