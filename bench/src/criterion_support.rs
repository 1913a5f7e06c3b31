//! What the two criterion benches have in common.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use tempfile::TempDir;
use turnback_core::CheckpointId;
use turnback_engine::Durability;

use crate::churn::Churn;
use crate::stat_walk::StatWalk;
use crate::subject::Subject;
use crate::tree::TreeSpec;

/// A generated tree with a store beside it.
#[derive(Debug)]
pub struct Bench {
    /// The tree.
    pub tree: PathBuf,
    /// The store.
    pub subject: Subject,
    /// What can be done to the tree.
    pub churn: Churn,
    /// The reference.
    pub walk: StatWalk,
    /// The checkpoint of the tree as it was generated.
    pub base: CheckpointId,
    _work: TempDir,
}

/// The environment variable that says where the trees go; without it, the system's temporary directory.
pub const WORK_VARIABLE: &str = "TURNBACK_BENCH_WORK";

impl Bench {
    /// Generates the tree and takes its first checkpoint, without syncs: criterion shows the work, the side-by-side runner the syncs.
    ///
    /// # Errors
    /// When the tree cannot be written or the engine fails.
    pub fn new() -> Result<Self> {
        let place = std::env::var_os(WORK_VARIABLE).map_or_else(std::env::temp_dir, PathBuf::from);
        let work = tempfile::Builder::new()
            .prefix("turnback-bench-")
            .tempdir_in(&place)
            .with_context(|| format!("making a directory in {}", place.display()))?;
        let tree = work.path().join("tree");
        TreeSpec::default().generate(&tree)?;
        let subject = Subject::open(&work.path().join("store"), &tree, Durability::Process)?;
        let base = subject.checkpoint()?.checkpoint_id;
        let bench =
            Self { churn: Churn::plan(&tree)?, walk: StatWalk::new()?, tree, subject, base, _work: work };
        bench.settle()?;
        Ok(bench)
    }

    /// Takes a checkpoint so that the next one finds the cache as it is after any turn.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn settle(&self) -> Result<()> {
        self.subject.checkpoint().map(drop)
    }
}

/// Ends a bench that failed inside criterion's closures, which cannot return an error.
pub fn or_give_up<T>(result: Result<T>) -> T {
    result.unwrap_or_else(|error| {
        eprintln!("the bench failed: {error:?}");
        // Unwinds, so that temporary directories go.
        std::panic::resume_unwind(Box::new("the bench failed"))
    })
}
