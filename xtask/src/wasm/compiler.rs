//! Which compiler builds for wasm32.

use std::ffi::OsString;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail};
use cargo_metadata::semver::Version;

use super::{debian, rustup};
use crate::steps::say;

/// Where the compiler may come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The toolchain in use where it has the target or can get it, otherwise Debian's.
    #[default]
    Auto,
    /// Only the toolchain in use.
    Rustup,
    /// Only Debian's packages.
    Debian,
}

impl FromStr for Choice {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "auto" => Ok(Self::Auto),
            "rustup" => Ok(Self::Rustup),
            "debian" => Ok(Self::Debian),
            other => bail!("{other:?} is no compiler: use auto, rustup or debian"),
        }
    }
}

/// How to call cargo so that it builds for wasm32.
pub(crate) struct Compiler {
    /// What it is, for the reader.
    pub(crate) name: String,
    /// Each compiler has a build folder of its own, so that changing it does not throw the other's work away.
    pub(crate) folder: &'static str,
    /// Further arguments of `cargo build`.
    pub(crate) arguments: Vec<OsString>,
    /// Further environment of `cargo build`.
    pub(crate) environment: Vec<(&'static str, OsString)>,
}

/// Finds, or fetches, a compiler of at least version `needed`. `work` is the folder for what is fetched.
pub(crate) fn find(choice: Choice, work: &Path, needed: Option<&Version>) -> Result<Compiler> {
    match choice {
        Choice::Rustup => rustup::find(),
        Choice::Debian => debian::find(work, needed),
        Choice::Auto => {
            let first = match rustup::find() {
                Ok(compiler) => return Ok(compiler),
                Err(error) => error,
            };
            say(&format!("{first:#}"));
            say("trying Debian's compiler instead");
            debian::find(work, needed).with_context(|| {
                anyhow!(
                    "there is no compiler for {}: install the target with `rustup target add {0}`, or make Debian's \
                     packages rustc-web and rust-web-src available to apt-get",
                    super::TARGET
                )
            })
        }
    }
}
