//! What the caller asks for.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use turnback_bench::tree::TreeSpec;

/// How to call the runner.
pub(crate) const HELP: &str = "\
Measures Turnback beside its peers on one tree, in interleaved rounds.

Usage: side-by-side [DIR] [--work DIR] [--rounds N] [--files N]

  DIR          the tree: it is copied first and never changed (default: a generated tree)
  --work DIR   where the copy, the stores and the peers' copies go; needs about eight times the tree's
               space (default: the directory for temporary files). Use a journaled file system
  --rounds N   how many rounds, at least 3 (default 5); what takes over 10 s runs in the first three
  --files N    how many files to generate (default 20000)
";

/// The caller's choices.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) tree: Option<PathBuf>,
    pub(crate) work: PathBuf,
    pub(crate) rounds: usize,
    pub(crate) spec: TreeSpec,
}

impl Options {
    /// Parses the arguments; `None` when help was asked for.
    pub(crate) fn parse() -> Result<Option<Self>> {
        let mut arguments = pico_args::Arguments::from_env();
        if arguments.contains(["-h", "--help"]) {
            return Ok(None);
        }
        let path = |text: &std::ffi::OsStr| Ok::<_, std::convert::Infallible>(PathBuf::from(text));
        let work = arguments.opt_value_from_os_str("--work", path)?.unwrap_or_else(std::env::temp_dir);
        let rounds = arguments.opt_value_from_str("--rounds")?.unwrap_or(5);
        ensure!(rounds >= 3, "--rounds must be 3 at least");
        let mut spec = TreeSpec::default();
        if let Some(files) = arguments.opt_value_from_str("--files")? {
            spec.files = files;
        }
        let mut rest: Vec<OsString> = arguments.finish();
        let tree = rest.pop().map(PathBuf::from);
        let is_option = |tree: &PathBuf| tree.as_os_str().as_encoded_bytes().starts_with(b"-");
        let understood = rest.is_empty() && !tree.as_ref().is_some_and(is_option);
        ensure!(understood, "these arguments are not understood: {rest:?} {tree:?}\n\n{HELP}");
        Ok(Some(Self { tree, work, rounds, spec }))
    }
}
