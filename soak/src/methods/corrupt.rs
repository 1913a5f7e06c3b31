//! Every byte of every file of a small store damaged, and a thousand data bytes of a larger one (P7, inputs 98, 99): found by
//! `verify`, contained to the checkpoints concerned, and never restored as if it were whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use turnback_core::CheckpointId;
use turnback_engine::{Code, Context, Durability, Manager, RecoveryOutcome, RollbackRequest};

use crate::budget::Budget;
use crate::machine;
use crate::outcome::Outcome;
use crate::parsers;
use crate::scene::{Scene, create_request, exact, open};
use crate::tree::{Picture, difference, difference_but, noise};

/// A store with two checkpoints that share nothing, one that shares with the first, and a kept pack of a deleted one.
struct Small {
    directory: tempfile::TempDir,
    trees: BTreeMap<CheckpointId, Picture>,
    /// The checkpoint that nothing damaged may be named for but its own files.
    alone: CheckpointId,
}

impl Small {
    fn new(length: usize) -> Result<Self> {
        let directory = machine::quick_directory()?;
        let root = directory.path().join("w");
        fs::create_dir(&root)?;
        let manager = open(&directory.path().join("s"), Durability::Process)?;
        let mut trees = BTreeMap::new();
        let take = |trees: &mut BTreeMap<_, _>| -> Result<CheckpointId> {
            let request = create_request().context("a request")?;
            let id = manager.create(&root, request, &Context::default())?.checkpoint_id;
            manager.set_label(id, Some("named"))?;
            trees.insert(id, Picture::of(&root)?);
            Ok(id)
        };
        fs::create_dir(root.join("d"))?;
        fs::write(root.join("d/a"), noise(1, length))?;
        fs::write(root.join("d/b"), vec![b'x'; 400])?;
        fs::hard_link(root.join("d/a"), root.join("d/c"))?;
        take(&mut trees)?;
        // Goes again; the next one needs a part of its pack.
        fs::write(root.join("d/kept"), noise(2, 700))?;
        fs::write(root.join("d/lost"), noise(3, 700))?;
        let gone = take(&mut trees)?;
        fs::remove_file(root.join("d/lost"))?;
        take(&mut trees)?;
        fs::remove_dir_all(root.join("d"))?;
        fs::write(root.join("other"), noise(4, 300))?;
        let alone = take(&mut trees)?;
        manager.delete(gone)?;
        trees.remove(&gone);
        Ok(Self { directory, trees, alone })
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("w")
    }

    fn store(&self) -> PathBuf {
        self.directory.path().join("s")
    }

    fn open(&self) -> turnback_engine::Result<Manager> {
        open(&self.store(), Durability::Process)
    }

    /// Puts the store back as it was: a judged one has remembered suspects, and a new stat cache.
    fn again(&self, template: &Path) -> Result<()> {
        fs::remove_dir_all(self.store())?;
        copy(template, &self.store())
    }

    /// Every file of the store that has bytes, relative to it.
    fn files(&self) -> Result<Vec<PathBuf>> {
        let (mut all, mut todo) = (Vec::new(), vec![self.store()]);
        while let Some(next) = todo.pop() {
            for entry in fs::read_dir(next)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    todo.push(entry.path());
                } else if entry.metadata()?.len() > 0 {
                    all.push(entry.path());
                }
            }
        }
        all.sort();
        Ok(all)
    }

    /// The erased frames of a kept pack: what the pack has and its index does not. Nobody reads them.
    fn erased(&self, pack: &Path) -> Result<Vec<std::ops::Range<usize>>> {
        let in_packs = pack.starts_with(self.store().join("packs"));
        if !in_packs || pack.extension().is_none_or(|e| e != "pack") {
            return Ok(Vec::new());
        }
        let (bytes, index) = (fs::read(pack)?, fs::read(pack.with_extension("index"))?);
        let word = |of: &[u8], at: usize| of[at..].first_chunk::<4>().map_or(0, |b| u32::from_le_bytes(*b));
        let entries = 24 + (8 << word(&index, 8));
        let (mut at, mut found) = (8, Vec::new());
        while at + 44 <= bytes.len() {
            let stored = word(&bytes, at) as usize;
            let hash = &bytes[at + 8..at + 40];
            if !index[entries..].chunks(48).any(|entry| entry.starts_with(hash)) {
                found.push(at..at + 44 + stored);
            }
            at += 44 + stored;
        }
        anyhow::ensure!(!found.is_empty(), "a kept pack in which nothing was erased");
        Ok(found)
    }

    /// A damaged byte, judged. `whose` is what the file belongs to: a checkpoint, a kept pack, or nothing that `verify` reads.
    fn judge(&self, file: &Path, what: &str, restore: bool, out: &mut Outcome) -> Result<()> {
        let manager = match self.open() {
            Ok(manager) => manager,
            Err(error) => {
                let is_format = file.ends_with("format");
                out.check(is_format && error.code() == Code::StoreFormat, 7, || {
                    format!("{what}: the store does not open: {error}")
                });
                return Ok(());
            }
        };
        if file.ends_with("format") {
            // A higher number opens for reading only; anything else is refused.
            let request = create_request().context("a request")?;
            let made = manager.create(&self.root(), request, &Context::default());
            let code = made.err().map(|e| e.code());
            out.check(code == Some(Code::StoreFormat), 7, || {
                format!("{what}: written to all the same: {code:?}")
            });
            return Ok(());
        }
        let named: BTreeSet<String> = match manager.verify(None, &Context::default()) {
            Ok(report) => report.damaged.into_iter().map(|d| d.checkpoint_id).collect(),
            Err(error) => {
                out.breach(7, format!("{what}: verify fails: {error}"));
                return Ok(());
            }
        };
        let relative = file.strip_prefix(self.store())?;
        let mut parts = relative.components().map(|c| c.as_os_str().to_string_lossy().into_owned());
        let (folder, owner) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let owner = owner.split('.').next().unwrap_or_default().to_owned();
        let alone = self.alone.to_string();
        match folder.as_str() {
            "checkpoints" | "packs" => {
                out.check(named.contains(&owner), 7, || format!("{what}: not named, only {named:?}"));
                out.check(owner == alone || !named.contains(&alone), 7, || {
                    format!("{what}: names a checkpoint that has nothing of it")
                });
            }
            // The stat cache, the lineage, names of stages: nothing of a checkpoint is in them.
            _ => {
                out.check(named.is_empty(), 7, || format!("{what}: names {named:?}"));
            }
        }
        if restore {
            self.restores(&manager, &named, what, out)?;
        }
        Ok(())
    }

    /// What is not named restores exactly; what is named restores exactly or not at all.
    fn restores(
        &self,
        manager: &Manager,
        named: &BTreeSet<String>,
        what: &str,
        out: &mut Outcome,
    ) -> Result<()> {
        for (id, tree) in &self.trees {
            crate::tree::empty(&self.root())?;
            fs::write(self.root().join("scratch"), what)?;
            let before = Picture::of(&self.root())?;
            let request = RollbackRequest { safety: false, ..exact() };
            let result = manager.rollback(*id, request, &Context::default());
            let now = Picture::of(&self.root())?;
            match result {
                Ok(report) if report.restored => {
                    let differs = difference(&now, tree);
                    out.check(differs.is_none(), 7, || {
                        format!("{what}: {id} was restored, and {}", differs.unwrap_or_default())
                    });
                }
                Ok(report) => {
                    // What is damaged is left out and listed; everything else is as it was.
                    let but: Vec<_> =
                        report.not_restorable.iter().map(|u| u.path.as_bytes().to_vec()).collect();
                    let differs = difference_but(&now, tree, &but);
                    let is_said = named.contains(&id.to_string());
                    out.check(is_said && differs.is_none(), 7, || {
                        format!("{what}: {id} in part, named: {is_said}; {}", differs.unwrap_or_default())
                    });
                }
                Err(error) => {
                    out.check(named.contains(&id.to_string()), 7, || {
                        format!("{what}: {id} is not named and cannot be restored: {error}")
                    });
                    out.check(error.code() == Code::Corrupt, 7, || format!("{what}: {id}: {error}"));
                    out.check(now == before, 3, || format!("{what}: {id}: refused, and the tree changed"));
                }
            }
        }
        Ok(())
    }
}

/// Copies a directory of plain files, for us alone as a store has to be.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::DirBuilder::new().mode(0o700).create(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

/// The whole method.
///
/// # Errors
/// When the harness fails.
pub fn run(_: &Path, budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    let small = Small::new(300)?;
    let clean = small.open()?.verify(None, &Context::default())?;
    anyhow::ensure!(clean.damaged.is_empty(), "damaged before anything was damaged: {clean:?}");
    let template = small.directory.path().join("template");
    copy(&small.store(), &template)?;
    let masks: &[u8] = if budget.is_long() { &[0x10, 0x01, 0x80, 0xff] } else { &[0x10] };
    let (files, part) = (small.files()?, budget.share(2));
    let (mut flips, mut wanted) = (0u64, 0u64);
    // One mask after the other: every byte is damaged once before one is damaged again.
    for mask in masks {
        for file in &files {
            let bytes = fs::read(file)?;
            let erased = small.erased(file)?;
            for at in (0..bytes.len()).filter(|at| !erased.iter().any(|range| range.contains(at))) {
                wanted += 1;
                if part.is_over() || out.is_hopeless() {
                    continue;
                }
                let mut flipped = bytes.clone();
                flipped[at] ^= mask;
                fs::write(file, &flipped)?;
                let name = file.strip_prefix(small.store())?.display().to_string();
                flips += 1;
                small.judge(file, &format!("{name}, byte {at} ^ {mask:#x}"), flips % 41 == 0, &mut out)?;
                small.again(&template)?;
            }
        }
    }
    out.figure(
        7,
        format!("every byte of all {} files of a small store damaged in {} ways", files.len(), masks.len()),
        format!("{flips} of {wanted} flips"),
    );
    out.end_group();
    out.add(journal()?);
    out.add(data(budget)?);
    Ok(out)
}

/// Every byte of the journal of an interrupted rollback: damage is told, touches nothing, and does not lock the workspace for ever.
fn journal() -> Result<Outcome> {
    let mut out = Outcome::default();
    let directory = machine::quick_directory()?;
    let scene = Scene::new(directory.path())?;
    scene.edit(1)?;
    let (path, bytes) = parsers::journal_of(&scene)?;
    scene.only_base(&scene.open()?)?;
    let ctx = Context::default();
    let mut before = scene.edit(1)?;
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        fs::write(&path, &flipped)?;
        let what = format!("journal byte {at}");
        let manager = scene.open()?;
        let pending = manager.pending()?;
        // The plan is not read for a list; its damage shows when the journal is taken up.
        out.check(pending.len() == 1, 7, || format!("{what}: {pending:?} is pending"));
        match manager.recover(&scene.root(), &ctx) {
            Ok(Some(report)) => {
                let found = matches!(report.outcome, RecoveryOutcome::Damaged { .. });
                out.check(found, 7, || format!("{what}: {:?}", report.outcome));
            }
            // A journal of a newer version stays where it is.
            other => {
                let code = other.as_ref().err().map(turnback_engine::Error::code);
                out.check(code == Some(Code::StoreFormat), 7, || format!("{what}: {other:?}"));
                fs::remove_file(&path)?;
            }
        }
        let now = Picture::of(&scene.root())?;
        out.check(now == before, 3, || {
            format!("{what}: the tree changed: {}", difference(&now, &before).unwrap_or_default())
        });
        if now != before {
            before = scene.edit(1)?;
        }
        for entry in fs::read_dir(path.parent().context("a parent")?)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with("journal") {
                fs::remove_file(entry.path())?;
            }
        }
    }
    let figure = format!("{} flips", bytes.len());
    for promise in [3, 7] {
        out.figure(promise, "every byte of the journal of an interrupted rollback damaged", figure.clone());
    }
    out.end_group();
    Ok(out)
}

/// Random bytes of a pack of a few MiB.
fn data(budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    let large = Small::new(200_000)?;
    let first = large.trees.keys().next().context("a checkpoint")?;
    let pack = large.store().join("checkpoints").join(first.to_string()).join("objects.pack");
    let file = fs::OpenOptions::new().read(true).write(true).open(&pack)?;
    let length = file.metadata()?.len();
    let (mut flips, mut state) = (0u64, 88_172_645_463_325_252u64);
    while budget.more(flips, 1000) && !out.is_hopeless() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let at = (state >> 8) % length;
        let mut byte = [0];
        file.read_exact_at(&mut byte, at)?;
        file.write_all_at(&[byte[0] ^ (1 << (state % 8))], at)?;
        large.judge(&pack, &format!("data byte {at}"), flips.is_multiple_of(50), &mut out)?;
        file.write_all_at(&byte, at)?;
        let suspects = large.store().join("suspects");
        if suspects.exists() {
            fs::remove_file(suspects)?;
        }
        flips += 1;
    }
    out.figure(7, "random bytes of a pack with data damaged", format!("{flips} flips"));
    out.end_group();
    Ok(out)
}
