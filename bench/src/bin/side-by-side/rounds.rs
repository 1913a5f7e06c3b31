//! The rounds: every row once in each, in the same order.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use turnback_bench::churn::Churn;
use turnback_bench::clock::measure;
use turnback_bench::fingerprint::Fingerprint;
use turnback_bench::git::{Covers, ShadowGit};
use turnback_bench::limits::{Contents, copy_all, remove, settle_disk, sync_one_file};
use turnback_bench::stat_walk::{Seen, StatWalk};
use turnback_bench::subject::Subject;
use turnback_core::CheckpointId;
use turnback_engine::Durability;

use crate::row::{Row, Table};

/// What takes longer than this runs three times only.
const LONG: Duration = Duration::from_secs(10);
const ROUNDS_OF_THE_LONG: usize = 3;

/// A store with the checkpoint that it turns back to.
struct Store {
    subject: Subject,
    base: CheckpointId,
}

/// A repository with the tree that it restores.
struct Repository {
    git: ShadowGit,
    base: String,
}

/// Everything that the rounds need.
pub(crate) struct Rounds {
    work: PathBuf,
    tree: PathBuf,
    walk: StatWalk,
    churn: Churn,
    contents: Contents,
    before: Fingerprint,
    process: Store,
    power: Store,
    not_ignored: Subject,
    git: Repository,
    git_not_ignored: Repository,
    edits: u64,
    pub(crate) table: Table,
    /// What the walk saw.
    pub(crate) seen: Seen,
    /// Allocated bytes of a store that holds one checkpoint.
    pub(crate) store_bytes: u64,
}

/// What each side covers, in paths.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Covered {
    pub(crate) turnback: u64,
    pub(crate) turnback_not_ignored: u64,
    pub(crate) git: usize,
    pub(crate) git_not_ignored: usize,
    pub(crate) deleted: usize,
}

impl Rounds {
    /// Takes the checkpoints and trees that the rounds turn back to.
    pub(crate) fn prepare(work: PathBuf, tree: PathBuf) -> Result<Self> {
        let store = |name: &str, durability| -> Result<Store> {
            let subject = Subject::open(&work.join(name), &tree, durability)?;
            let base = subject.checkpoint()?.checkpoint_id;
            Ok(Store { subject, base })
        };
        let repository = |name: &str, covers| -> Result<Repository> {
            let git = ShadowGit::init(&work.join(name), &tree, covers)?;
            let base = git.snapshot()?;
            Ok(Repository { git, base })
        };
        let walk = StatWalk::new()?;
        let churn = Churn::plan(&tree)?;
        Ok(Self {
            seen: walk.run(&tree)?,
            contents: Contents::read(&tree, churn.deleted_files())?,
            before: Fingerprint::of(&tree)?,
            process: store("store-process", Durability::Process)?,
            power: store("store-power", Durability::Power)?,
            not_ignored: Subject::open(&work.join("store-not-ignored"), &tree, Durability::Process)?
                .without_ignored(),
            git: repository("git-all", Covers::Everything)?,
            git_not_ignored: repository("git-not-ignored", Covers::NotIgnored)?,
            work,
            tree,
            walk,
            churn,
            edits: 0,
            table: Table::default(),
            store_bytes: 0,
        })
    }

    /// What each side covers.
    pub(crate) fn covered(&self) -> Result<Covered> {
        Ok(Covered {
            turnback: self.process.subject.checkpoint()?.coverage.files,
            turnback_not_ignored: self.not_ignored.checkpoint()?.coverage.files,
            git: self.git.git.covered()?,
            git_not_ignored: self.git_not_ignored.git.covered()?,
            deleted: self.churn.deleted_paths(),
        })
    }

    /// One round.
    pub(crate) fn run(&mut self) -> Result<()> {
        self.settle()?;
        self.unchanged()?;
        self.ten_changed()?;
        self.rollbacks()?;
        self.firsts()
    }

    /// Lets every side see the tree as it is, so that what the last round did is not measured.
    fn settle(&self) -> Result<()> {
        for subject in [&self.process.subject, &self.power.subject, &self.not_ignored] {
            subject.checkpoint()?;
        }
        self.git.git.snapshot()?;
        self.git_not_ignored.git.snapshot().map(drop)
    }

    fn time<T>(&mut self, row: Row, work: impl FnOnce(&Self) -> Result<T>) -> Result<Option<T>> {
        let known = self.table.get(row);
        let is_long = known.is_some_and(|s| s.len() >= ROUNDS_OF_THE_LONG && s.median() > Some(LONG));
        if is_long {
            return Ok(None);
        }
        settle_disk(&self.work)?;
        let (cost, value) = measure(|| work(self))?;
        self.table.push(row, cost);
        Ok(Some(value))
    }

    fn time_walk(&mut self) -> Result<()> {
        self.time(Row::Walk, |r| r.walk.run(&r.tree)).map(drop)
    }

    fn unchanged(&mut self) -> Result<()> {
        self.time_walk()?;
        self.time(Row::Unchanged, |r| r.process.subject.checkpoint())?;
        self.time(Row::UnchangedPower, |r| r.power.subject.checkpoint())?;
        self.time(Row::UnchangedNotIgnored, |r| r.not_ignored.checkpoint())?;
        self.time(Row::GitUnchanged, |r| r.git.git.snapshot())?;
        self.time(Row::GitUnchangedNotIgnored, |r| r.git_not_ignored.git.snapshot())?;
        Ok(())
    }

    fn edit(&mut self) -> Result<()> {
        self.edits += 1;
        self.churn.edit(self.edits)
    }

    fn ten_changed(&mut self) -> Result<()> {
        self.edit()?;
        self.time(Row::Ten, |r| r.process.subject.checkpoint())?;
        self.edit()?;
        self.time(Row::TenPower, |r| r.power.subject.checkpoint())?;
        self.edit()?;
        self.time(Row::GitTen, |r| r.git.git.snapshot())?;
        self.time_walk()
    }

    fn rollbacks(&mut self) -> Result<()> {
        for (row, power) in [(Row::RollbackTen, false), (Row::RollbackTenPower, true)] {
            self.settle()?;
            self.edit()?;
            self.time_rollback(row, power)?;
        }
        self.settle()?;
        self.edit()?;
        self.time(Row::GitRestoreTen, |r| r.git.git.restore(&r.git.base))?;
        self.normalise()?;
        for (row, power) in [(Row::RollbackHalf, false), (Row::RollbackHalfPower, true)] {
            self.settle()?;
            self.churn.delete_half()?;
            self.time_rollback(row, power)?;
        }
        self.settle()?;
        self.churn.delete_half()?;
        self.time(Row::GitRestoreHalf, |r| r.git.git.restore(&r.git.base))?;
        self.normalise()?;
        let created = self.work.join("created");
        self.time(Row::CreateHalf, |r| r.contents.create(&created))?;
        remove(&created)
    }

    /// A figure counts only when the tree came back exactly.
    fn time_rollback(&mut self, row: Row, power: bool) -> Result<()> {
        let done = self.time(row, |r| {
            let store = if power { &r.power } else { &r.process };
            store.subject.rollback(store.base)
        })?;
        if done.is_none() {
            return self.normalise();
        }
        ensure!(Fingerprint::of(&self.tree)? == self.before, "{}: the tree did not come back", row.label());
        Ok(())
    }

    /// Makes the tree exact again after a peer that restores contents only.
    fn normalise(&self) -> Result<()> {
        self.process.subject.rollback(self.process.base)?;
        ensure!(Fingerprint::of(&self.tree)? == self.before, "the tree did not come back");
        Ok(())
    }

    fn firsts(&mut self) -> Result<()> {
        for (row, durability) in [(Row::First, Durability::Process), (Row::FirstPower, Durability::Power)] {
            let store = self.work.join("store-first");
            let subject = Subject::open(&store, &self.tree, durability)?;
            self.time(row, |_| subject.checkpoint())?;
            self.store_bytes = subject.store_bytes()?.max(self.store_bytes);
            drop(subject);
            remove(&store)?;
        }
        settle_disk(&self.work)?;
        let cost = sync_one_file(&self.work.join("one-file"), self.store_bytes)?;
        self.table.push(Row::SyncOneFile, cost);
        let copy = self.work.join("copy");
        self.time(Row::CopyAll, |r| copy_all(&r.tree, &copy))?;
        remove(&copy)?;
        let git_dir = self.work.join("git-first");
        let git = ShadowGit::init(&git_dir, &self.tree, Covers::Everything)?;
        self.time(Row::GitFirst, |_| git.snapshot())?;
        remove(&git_dir)
    }
}
