//! Verifying: reads everything that a checkpoint needs and compares it with its address (P7).

use std::collections::HashMap;
use std::sync::Arc;

use super::catalog::{Catalog, Damaged, Published};
use super::layout::Layout;
use super::pack_set::PackSet;
use super::reach::Reach;
use super::{files, index, manifest, pack};
use crate::context::{Context, Progress};
use crate::error::{Code, Result};
use crate::model::{
    Content, Entry, Hash, LinkGroups, Node, Objects, RelPath, Segment, Xattrs, decode_segments,
};

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VerifyReport {
    /// Checkpoints that were read whole.
    pub checked: u64,
    /// What is damaged, with the checkpoint concerned.
    pub damaged: Vec<Damaged>,
}

/// Verifies one checkpoint or all of them. The store's lock must be held.
///
/// # Errors
/// `ABORTED`, `TIMED_OUT`, or the system's error when the store cannot be listed. Damage is no error but part of the report.
pub fn verify(
    layout: &Layout,
    packs: &PackSet,
    catalog: &Catalog,
    checkpoints: &[Arc<Published>],
    ctx: &Context,
) -> Result<VerifyReport> {
    let mut check = Check { packs, ctx, known: HashMap::new(), read: 0 };
    let mut report = VerifyReport::default();
    for checkpoint in checkpoints {
        let id = checkpoint.parsed.id.to_string();
        let mut found = Vec::new();
        check_files(layout, packs, catalog, checkpoint, &mut found);
        check.checkpoint(checkpoint, &mut found)?;
        report.checked += 1;
        report.damaged.extend(found.into_iter().map(|(path, reason)| Damaged {
            checkpoint_id: id.clone(),
            path,
            reason,
        }));
    }
    Ok(report)
}

/// Verifies the packs of deleted checkpoints that others still need.
///
/// # Errors
/// The system's error when the store cannot be listed.
pub fn verify_kept_packs(
    layout: &Layout,
    packs: &PackSet,
    checkpoints: &[Arc<Published>],
    ctx: &Context,
) -> Result<Vec<Damaged>> {
    let mut damaged = Vec::new();
    for name in files::names(&layout.packs())? {
        let Some(id) = name.strip_suffix(".pack") else { continue };
        // A second name of a pack whose checkpoint is still there: a deletion was interrupted. The checkpoint's own pack counts.
        if checkpoints.iter().any(|c| c.parsed.id.to_string() == id) {
            continue;
        }
        let path = layout.packs().join(&name);
        if let Err(error) = check_pack(&path, packs) {
            // A deletion that was killed leaves packs that nobody needs; the next one removes them.
            if !is_needed(&path, packs, checkpoints, ctx)? {
                continue;
            }
            let reason = format!("its pack, which others still need, is damaged: {}", error.found());
            damaged.push(Damaged { checkpoint_id: id.to_owned(), path: None, reason });
        }
    }
    Ok(damaged)
}

/// Whether any checkpoint reaches an object of a pack.
fn is_needed(
    path: &std::path::Path,
    packs: &PackSet,
    checkpoints: &[Arc<Published>],
    ctx: &Context,
) -> Result<bool> {
    let mut reach = Reach::new(packs, ctx);
    for checkpoint in checkpoints {
        match reach.add(checkpoint, 0) {
            // Its own damage is reported as such.
            Err(error) if error.code() == Code::Corrupt => tracing::debug!(%error, "a checkpoint is damaged"),
            other => other?,
        }
    }
    let entries = packs.all().into_iter().filter(|pack| pack.path == path).flat_map(|pack| pack.all());
    Ok(entries.into_iter().any(|entry| reach.owners.contains_key(&entry.hash)))
}

type Found = Vec<(Option<RelPath>, String)>;

/// The files of a checkpoint's own directory: record, marks, pack and index as files, each byte of them.
fn check_files(
    layout: &Layout,
    packs: &PackSet,
    catalog: &Catalog,
    checkpoint: &Published,
    found: &mut Found,
) {
    let id = checkpoint.parsed.id;
    let directory = layout.checkpoint(id);
    let mut note = |result: Result<()>| {
        if let Err(error) = result {
            found.push((None, error.found()));
        }
    };
    note(super::catalog::read(&directory, id).map(|_| ()));
    note(catalog.marks(id).map(|_| ()));
    let pack_path = directory.join("objects.pack");
    note(files::exists(&pack_path).and_then(|is_there| {
        if is_there || checkpoint.record.stored_bytes > 0 { check_pack(&pack_path, packs) } else { Ok(()) }
    }));
}

/// An index as a whole, and every frame that it names. A damaged object of which there is a good copy elsewhere was healed.
fn check_pack(path: &std::path::Path, packs: &PackSet) -> Result<()> {
    let entries = index::Index::open(&path.with_extension("index"))?.all()?;
    let file = files::open_file(path)?;
    pack::check_magic(&file)?;
    for entry in &entries {
        let whole = pack::check_frame(&file, entry).and_then(|()| pack::read_object(&file, entry));
        if let Err(error) = whole
            && !packs.is_readable_elsewhere(&entry.hash, path)
        {
            return Err(error);
        }
    }
    Ok(())
}

struct Check<'a> {
    packs: &'a PackSet,
    ctx: &'a Context,
    /// Objects that were read before, and what was wrong with them.
    known: HashMap<Hash, Option<String>>,
    read: u64,
}

impl Check<'_> {
    fn checkpoint(&mut self, checkpoint: &Published, found: &mut Found) -> Result<()> {
        let parsed = &checkpoint.parsed;
        if let Some(hash) = parsed.links {
            let links = self.packs.read(hash, u64::MAX).map(|b| LinkGroups::decode(&b).is_ok());
            if !matches!(links, Ok(true)) {
                found.push((None, "the hard-link groups cannot be read".to_owned()));
            }
        }
        if let Some(hash) = parsed.all_uncovered {
            let list = self.packs.read(hash, u64::MAX).map(|b| crate::model::decode_uncovered(&b).is_ok());
            if !matches!(list, Ok(true)) {
                found.push((None, "the list of uncovered paths cannot be read".to_owned()));
            }
        }
        self.xattrs(parsed.root.xattrs, &RelPath::root(), found);
        let mut todo = vec![(RelPath::root(), parsed.manifest)];
        while let Some((path, hash)) = todo.pop() {
            self.ctx.check()?;
            let entries = match self.packs.directory(hash) {
                Ok(entries) => entries,
                Err(error) => {
                    found.push((Some(path), error.found()));
                    continue;
                }
            };
            // Damage in one of several copies is damage, even where another copy can be read.
            match manifest::parts(self.packs, hash) {
                Ok(parts) => parts.into_iter().for_each(|part| self.object(part, &path, found)),
                Err(error) => found.push((Some(path.clone()), error.found())),
            }
            for entry in entries {
                self.entry(&path.join(&entry.name), &entry, &mut todo, found)?;
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        path: &RelPath,
        entry: &Entry,
        todo: &mut Vec<(RelPath, Hash)>,
        found: &mut Found,
    ) -> Result<()> {
        self.ctx.check()?;
        self.xattrs(entry.meta.xattrs, path, found);
        match &entry.node {
            Node::Directory { manifest } => todo.push((path.clone(), *manifest)),
            Node::File { content: Content::Blob(hash), .. } => self.object(*hash, path, found),
            Node::File { content: Content::Segments(hash), size, .. } => {
                let segments =
                    self.packs.read(*hash, u64::MAX).ok().and_then(|b| decode_segments(&b, *size).ok());
                match segments {
                    None => {
                        found.push((Some(path.clone()), "its list of segments cannot be read".to_owned()))
                    }
                    Some(segments) => {
                        for segment in segments {
                            if let Segment::Data { hash, .. } = segment {
                                self.object(hash, path, found);
                            }
                        }
                    }
                }
            }
            Node::Symlink { .. } | Node::Fifo | Node::Uncovered { .. } => {}
        }
        Ok(())
    }

    fn xattrs(&mut self, hash: Option<Hash>, path: &RelPath, found: &mut Found) {
        if let Some(hash) = hash {
            let readable = self.packs.read(hash, Xattrs::MAX_BYTES).map(|b| Xattrs::decode(&b).is_ok());
            if !matches!(readable, Ok(true)) {
                found.push((Some(path.clone()), "its extended attributes cannot be read".to_owned()));
            }
        }
    }

    fn object(&mut self, hash: Hash, path: &RelPath, found: &mut Found) {
        self.read += 1;
        if self.read.is_multiple_of(1024) {
            self.ctx.report(Progress { phase: "verify", done: self.read, total: None, bytes: 0 });
        }
        let packs = self.packs;
        let wrong =
            self.known.entry(hash).or_insert_with(|| packs.read(hash, u64::MAX).err().map(|e| e.found()));
        if let Some(reason) = wrong {
            found.push((Some(path.clone()), reason.clone()));
        }
    }
}
