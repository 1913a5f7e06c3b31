//! `cargo xtask wasm`: builds the crate `turnback-wasm` for wasm32 and writes `wasm/pkg/`.
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

/// The crate that is built.
const CRATE: &str = "turnback-wasm";

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
        .find(|package| package.name.as_str() == CRATE)
        .with_context(|| format!("there is no crate {CRATE} in this workspace"))?;
    let home = package.manifest_path.parent().context("the crate's manifest has no folder")?;
    let work = metadata.target_directory.join("xtask");

    let compiler = compiler::find(choice, work.as_std_path(), package.rust_version.as_ref())?;
    say(&format!("compiling {CRATE} for {TARGET} with {}", compiler.name));
    let target_directory = work.join(compiler.folder);
    let mut build = Command::new(cargo());
    build
        .args(["build", "--release", "--package", CRATE, "--target", TARGET])
        .args(&compiler.arguments)
        .arg("--config")
        .arg(remapped()?)
        .current_dir(&metadata.workspace_root)
        .env("CARGO_TARGET_DIR", &target_directory)
        .envs(SIZE)
        .envs(compiler.environment);
    run_step(&mut build)?;

    let module = target_directory.join(TARGET).join("release/turnback_wasm.wasm");
    bindgen::write_package(module.as_std_path(), home.join("pkg").as_std_path())
}

/// A setting of cargo after which panic messages name the registry's crates the same way on every machine: the module is published,
/// and its bytes must not depend on who built it.
fn remapped() -> Result<String> {
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
    Ok(format!("target.{TARGET}.rustflags=['--remap-path-prefix={home}=cargo']"))
}

/// The cargo that runs this program.
fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
