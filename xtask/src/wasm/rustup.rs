//! The toolchain in use, where it has the wasm32 target or rustup can add it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::TARGET;
use super::compiler::Compiler;
use crate::steps::{exists, output, run, say};

/// The toolchain in use, with its target added if need be.
pub(crate) fn find() -> Result<Compiler> {
    if !has_target()? {
        if !exists("rustup") {
            bail!("the Rust toolchain has no target {TARGET}, and there is no rustup to add it");
        }
        say(&format!("adding the target {TARGET} with rustup"));
        run(Command::new("rustup").args(["target", "add", TARGET]))
            .with_context(|| format!("rustup cannot add the target {TARGET}"))?;
        if !has_target()? {
            bail!("rustup added the target {TARGET}, but to another toolchain than the one in use");
        }
    }
    Ok(Compiler {
        name: "the Rust toolchain in use".to_owned(),
        folder: "wasm-build",
        arguments: Vec::new(),
        environment: Vec::new(),
    })
}

/// The folder of the toolchain in use.
pub(crate) fn sysroot() -> Result<PathBuf> {
    let path = output(rustc().args(["--print", "sysroot"]))?;
    Ok(PathBuf::from(path.trim()))
}

/// The linker for wasm that the toolchain in use brings along.
pub(crate) fn linker() -> Result<PathBuf> {
    let version = output(rustc().arg("-vV"))?;
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .context("`rustc -vV` does not name its host")?;
    let linker = sysroot()?.join("lib/rustlib").join(host).join("bin/rust-lld");
    if linker.exists() {
        return Ok(linker);
    }
    if exists("wasm-ld") {
        return Ok(PathBuf::from("wasm-ld"));
    }
    bail!("no linker for wasm: {} is missing; install Rust with rustup, or the package lld", linker.display())
}

fn has_target() -> Result<bool> {
    Ok(sysroot()?.join("lib/rustlib").join(TARGET).join("lib").is_dir())
}

fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}
