//! Build steps of this repository that need Rust: `cargo xtask <command>`.
//!
//! One module per command; each takes its own arguments and prints a line per step.

mod soak;
mod steps;
mod wasm;

use std::process::ExitCode;

use anyhow::{Result, bail};
use pico_args::Arguments;

const USAGE: &str = "\
usage: cargo xtask <command> [options]

commands:
  wasm    build the policy layer for JavaScript hosts into wasm/pkg/
          --compiler auto|rustup|debian   where the wasm32 target comes from (default: auto)
  soak    run the proof of the promises for long, and print its figures beside them (docs/proof.md)
          --minutes N     for each method (default: 10); a round that is under way then ends
          --methods A,B   only these, in this order
";

fn main() -> ExitCode {
    match run(Arguments::from_env()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut args: Arguments) -> Result<()> {
    if args.contains(["-h", "--help"]) {
        print!("{USAGE}");
        return Ok(());
    }
    match args.subcommand()?.as_deref() {
        Some("wasm") => wasm::run(args),
        Some("soak") => soak::run(args),
        Some(other) => bail!("there is no command {other:?}\n\n{USAGE}"),
        None => bail!("a command is missing\n\n{USAGE}"),
    }
}

/// Refuses arguments that no option took.
fn finish(args: Arguments) -> Result<()> {
    match args.finish().as_slice() {
        [] => Ok(()),
        rest => bail!("cannot make sense of {rest:?}\n\n{USAGE}"),
    }
}
