//! Debian's compiler, unpacked under `target/`, for machines whose rustup cannot download.
//!
//! Debian's `rustc-web` has no wasm32 standard library, but its source comes with it (`rust-web-src`), so cargo builds the
//! one that is needed (`-Z build-std`). The packages cannot be installed beside rustup, hence they are only unpacked.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use cargo_metadata::semver::Version;

use super::compiler::Compiler;
use super::rustup;
use crate::steps::{exists, output, run, say};

/// The package that names the version; all others follow it.
const COMPILER: &str = "rustc-web";

/// The standard library's source, of the same version.
const SOURCE: &str = "rust-web-src";

/// The wrapper's name in an unpacked compiler's folder.
const WRAPPER: &str = "rustc";

/// What the folder of an unfinished fetch is called, before the id of the process that fills it.
const PARTIAL: &str = "partial-";

/// Debian's compiler of at least version `needed`: the one unpacked earlier, or freshly fetched.
pub(crate) fn find(work: &Path, needed: Option<&Version>) -> Result<Compiler> {
    let store = work.join("debian-rust");
    let (version, home) = match unpacked(&store, needed)? {
        Some(found) => found,
        None => fetch(&store, needed)?,
    };
    Ok(Compiler {
        name: format!("Debian's {COMPILER} {version} (and its own standard library)"),
        folder: "wasm-build-debian",
        arguments: ["-Z", "build-std=std,panic_abort"].map(Into::into).into(),
        environment: vec![
            ("RUSTC", home.join(WRAPPER).into()),
            // `-Z` is for nightly compilers; this lets the release of the same source take it.
            ("RUSTC_BOOTSTRAP", "1".into()),
            ("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", rustup::linker()?.into()),
        ],
    })
}

/// The newest compiler in `store` that is new enough. A folder gets its final name only once it is complete.
fn unpacked(store: &Path, needed: Option<&Version>) -> Result<Option<(String, PathBuf)>> {
    if !store.exists() {
        return Ok(None);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(store).with_context(|| format!("cannot read {}", store.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Ok(version) = upstream(&name)
            && is_enough(&version, needed)
            && entry.path().join(WRAPPER).exists()
        {
            found.push((version, name, entry.path()));
        }
    }
    Ok(found.into_iter().max().map(|(_, name, path)| (name, path)))
}

fn fetch(store: &Path, needed: Option<&Version>) -> Result<(String, PathBuf)> {
    for program in ["apt-get", "apt-cache", "dpkg", "dpkg-query"] {
        if !exists(program) {
            bail!("there is no {program} on this machine, so Debian's packages cannot be fetched");
        }
    }
    let version = offered(needed)?;
    let packages = packages(&version)?;
    let home = store.join(&version);
    remove_abandoned(store)?;
    let partial = store.join(format!("{PARTIAL}{}", std::process::id()));
    let debs = partial.join("debs");
    fs::create_dir_all(&debs).with_context(|| format!("cannot create {}", debs.display()))?;

    say(&format!("fetching {} from Debian (about 140 MB)", packages.join(", ")));
    run(apt("apt-get").args(["download", "--quiet"]).args(&packages).current_dir(&debs))
        .with_context(|| format!("apt-get cannot download {}", packages.join(", ")))?;
    let root = partial.join("root");
    for entry in fs::read_dir(&debs)? {
        let deb = entry?.path();
        let name = deb.file_name().map(|name| name.to_string_lossy().into_owned());
        say(&format!("unpacking {}", name.unwrap_or_default()));
        run(Command::new("dpkg").arg("-x").arg(&deb).arg(&root))?;
    }
    fs::remove_dir_all(&debs)?;
    keep_library_only(&root.join("usr/src"))?;

    let wrapper = partial.join(WRAPPER);
    fs::write(&wrapper, WRAPPER_SCRIPT)?;
    run(Command::new("chmod").arg("755").arg(&wrapper))?;
    output(Command::new(&wrapper).arg("-vV")).context("Debian's compiler does not start on this machine")?;
    if home.exists() {
        // Left by a run that was too old or damaged: what is complete and good was taken before we came here.
        fs::remove_dir_all(&home)?;
    }
    fs::rename(&partial, &home).with_context(|| format!("cannot move the compiler to {}", home.display()))?;
    Ok((version, home))
}

/// Removes the compiler's own source, over 300 MB that only a build of the compiler needs.
fn keep_library_only(sources: &Path) -> Result<()> {
    for release in fs::read_dir(sources)? {
        for entry in fs::read_dir(release?.path())? {
            let entry = entry?;
            if entry.file_name() == "library" {
                continue;
            }
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
    }
    Ok(())
}

/// Removes what fetches left behind that were killed.
fn remove_abandoned(store: &Path) -> Result<()> {
    if !store.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(store)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(process) = name.strip_prefix(PARTIAL)
            && !Path::new("/proc").join(process).exists()
        {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Runs the unpacked compiler with its own libraries, wherever the folder lies.
const WRAPPER_SCRIPT: &str = r#"#!/bin/sh
home=$(dirname -- "$(readlink -f -- "$0")")
libraries=$(echo "$home"/root/usr/lib/*-linux-gnu* | tr ' ' ':')
LD_LIBRARY_PATH="$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$home/root/usr/bin/rustc" --sysroot "$home/root/usr" "$@"
"#;

/// The version that apt offers. Package lists that lack it, or are too old for it, are renewed once.
fn offered(needed: Option<&Version>) -> Result<String> {
    let good = |candidate: &Option<String>| {
        let version = candidate.as_deref().map(upstream);
        version.is_some_and(|version| version.is_ok_and(|version| is_enough(&version, needed)))
    };
    let mut candidate = candidate(COMPILER)?;
    if !good(&candidate) || self::candidate(SOURCE)? != candidate {
        say("renewing apt's package lists");
        run(apt("apt-get").args(["update", "--quiet"])).context(
            "apt's lists offer no suitable compiler and cannot be renewed: run `apt-get update` as root",
        )?;
        candidate = self::candidate(COMPILER)?;
    }
    let wanted = needed.map_or_else(String::new, |version| format!(" {version} or newer"));
    match candidate {
        Some(version) if good(&Some(version.clone())) => {
            if self::candidate(SOURCE)?.as_deref() != Some(version.as_str()) {
                bail!("apt offers {COMPILER} {version}, but not {SOURCE} of the same version");
            }
            Ok(version)
        }
        Some(version) => bail!("apt offers {COMPILER} {version}, but Rust{wanted} is needed"),
        None => bail!("apt does not know the package {COMPILER} (Rust{wanted}); it is part of Debian"),
    }
}

/// The version of a package that apt would install.
fn candidate(package: &str) -> Result<Option<String>> {
    let policy = output(apt("apt-cache").args(["policy", package]))?;
    let version = policy
        .lines()
        .find_map(|line| line.trim().strip_prefix("Candidate: "))
        .filter(|version| *version != "(none)");
    Ok(version.map(str::to_owned))
}

/// The compiler, its source, and the libraries they need that this machine does not have.
fn packages(version: &str) -> Result<Vec<String>> {
    let tree = output(
        apt("apt-cache")
            .args(["depends", "--recurse", "--no-recommends", "--no-suggests", "--no-enhances"])
            .args(["--no-conflicts", "--no-breaks", "--no-replaces", "libstd-rust-web-dev"]),
    )?;
    // Lines that start a package are not indented; virtual packages stand in angle brackets.
    let mut needed: BTreeSet<&str> =
        tree.lines().filter(|line| !line.starts_with([' ', '|', '<']) && !line.is_empty()).collect();
    let installed = output(Command::new("dpkg-query").args(["-W", "-f=${Package} ${Status}\\n"]))?;
    for line in installed.lines() {
        if let Some(package) = line.strip_suffix(" install ok installed") {
            needed.remove(package);
        }
    }
    needed.extend([COMPILER, SOURCE, "libstd-rust-web-dev"]);
    Ok(needed
        .into_iter()
        .map(|package| {
            let same = package.contains("rust-web") || package == COMPILER;
            if same { format!("{package}={version}") } else { package.to_owned() }
        })
        .collect())
}

/// `1.96.0` of Debian's `1.96.0+dfsg1-1~deb12u2`.
fn upstream(version: &str) -> Result<Version> {
    let end = version.find(['+', '-', '~']).unwrap_or(version.len());
    let number = version.get(..end).unwrap_or(version);
    Version::parse(number).with_context(|| format!("{version:?} is no version of Rust"))
}

fn is_enough(version: &Version, needed: Option<&Version>) -> bool {
    needed.is_none_or(|needed| version >= needed)
}

/// apt's programs, in a language that can be read back.
fn apt(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("LC_ALL", "C");
    command
}
