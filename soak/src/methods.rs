//! The methods, one way of doing harm each.

pub mod blocklog;
pub mod corrupt;
pub mod crowd;
pub mod errors;
pub mod growth;
pub mod kill;
pub mod model;
pub mod mutate;
pub mod power;
pub mod racing;
pub mod short;
pub mod small;
pub mod swap;
pub mod under;

use std::path::Path;

use anyhow::Result;

use crate::budget::Budget;
use crate::outcome::Outcome;

/// A method by its name.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// The name that `--methods` takes.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Runs it; the path is that of `soak-op`.
    pub run: fn(&Path, Budget) -> Result<Outcome>,
}

/// All methods, in the order in which they run.
pub const ALL: &[Method] = &[
    Method { name: "kill", about: "kill at every system call and at random times", run: kill::run },
    Method { name: "errors", about: "EIO, ENOSPC, EINTR, EMFILE at every system call", run: errors::run },
    Method { name: "power", about: "power cuts on ext4 and XFS", run: power::run },
    Method { name: "blocklog", about: "images of a disk that lost power", run: blocklog::run },
    Method { name: "small", about: "small disks, few inodes, short files", run: small::run },
    Method { name: "short", about: "reads that come short", run: short::run },
    Method { name: "crowd", about: "many processes on one store", run: crowd::run },
    Method { name: "growth", about: "200 turns at fixed churn, every tenth killed", run: growth::run },
    Method { name: "corrupt", about: "every byte of the store damaged", run: corrupt::run },
    Method { name: "racing", about: "racing writers, deadlines, untouched trees", run: racing::run },
    Method { name: "swap", about: "an attacker who exchanges paths", run: swap::run },
    Method { name: "model", about: "random sequences against a model", run: model::run },
    Method { name: "mutate", about: "mutated bytes for every parser", run: mutate::run },
];
