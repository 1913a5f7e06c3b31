//! Random sequences of edits, checkpoints, rollbacks whole and in part, reverts, undos, deletions, prunes and marks, against a model
//! that is nothing but pictures of the tree (P6, P8, C9, C15, F16, F20, F25): after each step the tree and the list are what it says.

mod merge;
mod state;
mod steps;

use std::path::Path;

use anyhow::{Result, bail};
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

use self::state::Model;
use self::steps::{Step, steps};
use crate::budget::Budget;
use crate::machine;
use crate::outcome::Outcome;

/// One sequence; how many of its steps were operations of the engine.
fn sequence(steps: &[Step], in_memory: bool) -> Result<u64> {
    let directory = if in_memory { machine::quick_directory()? } else { tempfile::tempdir()? };
    let mut model = Model::new(directory.path())?;
    let mut done = 0;
    for step in steps {
        done += u64::from(model.perform(step)?);
    }
    model.end()?;
    Ok(done)
}

/// The whole method.
///
/// # Errors
/// When the harness fails.
pub fn run(_: &Path, budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    let (mut sequences, operations) = (0u64, std::cell::Cell::new(0u64));
    while budget.more(sequences, 200) && !out.is_hopeless() {
        let config =
            Config { cases: 25, failure_persistence: None, max_shrink_iters: 300, ..Config::default() };
        let in_memory = !sequences.is_multiple_of(50);
        let outcome = TestRunner::new(config).run(&steps(), |steps| {
            let done = sequence(&steps, in_memory).map_err(|e| TestCaseError::fail(format!("{e:#}")))?;
            operations.set(operations.get() + done);
            Ok(())
        });
        match outcome {
            Ok(()) => {}
            Err(TestError::Fail(why, steps)) => out.breach(6, format!("{why}: {steps:?}")),
            Err(TestError::Abort(why)) => bail!("{why}"),
        }
        sequences += 25;
    }
    let figure = format!("{sequences} sequences, {} operations", operations.get());
    out.figure(6, "random sequences against a model of pictures", figure);
    out.end_group();
    Ok(out)
}
