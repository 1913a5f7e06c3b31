//! `cargo xtask soak`: builds the crate `turnback-soak` optimised, and runs its methods.
//!
//! It is a program of its own because it needs the engine, which the other build steps do not.

use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};
use pico_args::Arguments;

use crate::steps::{run as build, say};

/// How long each method runs when nothing is asked for.
const MINUTES: f64 = 10.0;

/// Builds and runs; fails on any breach of a promise.
pub(crate) fn run(mut args: Arguments) -> Result<()> {
    let minutes: f64 = args.opt_value_from_str("--minutes")?.unwrap_or(MINUTES);
    let methods: Option<String> = args.opt_value_from_str("--methods")?;
    crate::finish(args)?;
    if !(minutes.is_finite() && minutes >= 0.0) {
        bail!("--minutes has to be a number that is not negative");
    }
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec()?;
    say("building the soak");
    build(Command::new("cargo").args(["build", "--release", "--quiet", "-p", "turnback-soak", "--bins"]))?;
    let mut soak = Command::new(metadata.target_directory.join("release").join("soak"));
    soak.args(["--minutes", &minutes.to_string()]);
    if let Some(methods) = &methods {
        soak.args(["--methods", methods]);
    }
    say(&format!("{minutes} minutes for each method; figures come at the end"));
    let status: ExitStatus = soak.stdin(Stdio::null()).status().context("starting the soak")?;
    match status.code() {
        Some(0) => Ok(()),
        Some(1) => bail!("a promise was broken, or a method could not go on: see above"),
        _ => bail!("the soak ended with {status}"),
    }
}
