//! What is measured.

use std::collections::BTreeMap;

use turnback_bench::clock::Cost;
use turnback_bench::series::Series;

/// A line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Row {
    Walk,
    CopyAll,
    CreateHalf,
    SyncOneFile,
    First,
    FirstPower,
    Unchanged,
    UnchangedPower,
    UnchangedNotIgnored,
    Ten,
    TenPower,
    RollbackTen,
    RollbackTenPower,
    RollbackHalf,
    RollbackHalfPower,
    GitFirst,
    GitUnchanged,
    GitUnchangedNotIgnored,
    GitTen,
    GitRestoreTen,
    GitRestoreHalf,
}

impl Row {
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Walk => "plain stat walk, 2 threads",
            Self::CopyAll => "cp -a",
            Self::CreateHalf => "create the deleted files, 2 threads",
            Self::SyncOneFile => "sync one file as large as the store",
            Self::First => "first checkpoint",
            Self::FirstPower => "first checkpoint, power",
            Self::Unchanged => "checkpoint, unchanged",
            Self::UnchangedPower => "checkpoint, unchanged, power",
            Self::UnchangedNotIgnored => "checkpoint, unchanged, ignored left out",
            Self::Ten => "checkpoint, 10 changed",
            Self::TenPower => "checkpoint, 10 changed, power",
            Self::RollbackTen => "rollback of 10 changed",
            Self::RollbackTenPower => "rollback of 10 changed, power",
            Self::RollbackHalf => "rollback of half deleted",
            Self::RollbackHalfPower => "rollback of half deleted, power",
            Self::GitFirst => "git add -A -f && write-tree, first",
            Self::GitUnchanged => "git add -A -f && write-tree, unchanged",
            Self::GitUnchangedNotIgnored => "git add -A && write-tree, unchanged",
            Self::GitTen => "git add -A -f && write-tree, 10 changed",
            Self::GitRestoreTen => "git checkout-index, 10 changed",
            Self::GitRestoreHalf => "git checkout-index, half deleted",
        }
    }
}

/// All measurements.
#[derive(Debug, Default)]
pub(crate) struct Table(BTreeMap<Row, Series>);

impl Table {
    pub(crate) fn push(&mut self, row: Row, cost: Cost) {
        self.0.entry(row).or_default().push(cost);
    }

    pub(crate) fn get(&self, row: Row) -> Option<&Series> {
        self.0.get(&row)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Row, &Series)> {
        self.0.iter().map(|(row, series)| (*row, series))
    }
}
