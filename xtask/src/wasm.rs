//! `cargo xtask wasm`: builds the crates of the package `turnback-policy` for wasm32 and writes `wasm/pkg/`.
//!
//! Nothing is redone when nothing changed: cargo knows about the module, and only files that differ are written.

mod bindgen;
mod compiler;
mod debian;
mod rustup;

use std::process::Command;

use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;
use pico_args::Arguments;

use crate::steps::{run as run_step, say};

/// A module of the package.
struct Module {
    /// The crate that it is built from.
    crate_name: &'static str,
    /// The compiled file.
    file: &'static str,
    /// How its files in `wasm/pkg/` begin.
    name: &'static str,
}

/// The package's modules. Each is loaded by itself: who needs only the first one never downloads the second.
const MODULES: [Module; 2] = [
    Module { crate_name: "turnback-wasm", file: "turnback_wasm.wasm", name: "policy" },
    Module { crate_name: "turnback-read-only-wasm", file: "turnback_read_only_wasm.wasm", name: "read_only" },
];

/// The crate in whose folder the package lies.
const HOME: &str = "turnback-wasm";

/// What it is built for.
const TARGET: &str = "wasm32-unknown-unknown";

/// Release settings of this module only: it is downloaded, so its size counts more than its speed.
const SIZE: [(&str, &str); 5] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "z"),
    ("CARGO_PROFILE_RELEASE_LTO", "fat"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_PANIC", "abort"),
    ("CARGO_PROFILE_RELEASE_STRIP", "debuginfo"),
];

/// Runs the command.
///
/// # Errors
/// When no compiler for wasm32 can be had (the message names what to install), or a step fails.
pub(crate) fn run(mut args: Arguments) -> Result<()> {
    let choice = args.opt_value_from_str("--compiler")?.unwrap_or_default();
    crate::finish(args)?;

    let metadata =
        MetadataCommand::new().exec().context("cannot read the workspace with `cargo metadata`")?;
    let package = metadata
        .packages
        .iter()
        .find(|package| package.name.as_str() == HOME)
        .with_context(|| format!("there is no crate {HOME} in this workspace"))?;
    let home = package.manifest_path.parent().context("the crate's manifest has no folder")?;
    let work = metadata.target_directory.join("xtask");

    let compiler = compiler::find(choice, work.as_std_path(), package.rust_version.as_ref())?;
    let target_directory = work.join(compiler.folder);
    for module in &MODULES {
        say(&format!("compiling {} for {TARGET} with {}", module.crate_name, compiler.name));
        // One after the other: together, the features that one of them needs of a crate would be in both.
        let mut build = Command::new(cargo());
        build
            .args(["build", "--release", "--package", module.crate_name, "--target", TARGET])
            .args(&compiler.arguments)
            .arg("--config")
            .arg(flags()?)
            .current_dir(&metadata.workspace_root)
            .env("CARGO_TARGET_DIR", &target_directory)
            .envs(SIZE)
            .envs(compiler.environment.clone());
        run_step(&mut build)?;
        let built = target_directory.join(TARGET).join("release").join(module.file);
        bindgen::write_module(built.as_std_path(), home.join("pkg").as_std_path(), module.name)?;
    }
    Ok(())
}

/// How large a function may be, as LLVM counts, to be put in the place of its calls. Its own choice for modules that should be small is 5;
/// this takes a fifth off the time of a simulation for half a kilobyte (W11).
const INLINED: u32 = 40;

/// Flags of the compiler: after the first one panic messages name the registry's crates the same way on every machine: the module is published,
/// and its bytes must not depend on who built it. The second one is [`INLINED`].
fn flags() -> Result<String> {
    let home = std::env::var("CARGO_HOME").ok().map(std::path::PathBuf::from);
    let home = match home {
        Some(home) => home,
        None => {
            std::env::home_dir().context("neither CARGO_HOME nor a home directory is set")?.join(".cargo")
        }
    };
    let home = home.display().to_string();
    // A literal string of TOML has no escapes.
    anyhow::ensure!(!home.contains(['\'', '\n']), "cargo's home directory {home:?} has a quote in its name");
    Ok(format!(
        "target.{TARGET}.rustflags=['--remap-path-prefix={home}=cargo', '-Cllvm-args=-inline-threshold={INLINED}']"
    ))
}

/// The cargo that runs this program.
fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
