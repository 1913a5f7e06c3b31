//! Running other programs, with a line that says what is done.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Says what happens next. On standard error: standard output is for results.
pub(crate) fn say(line: &str) {
    eprintln!("xtask: {line}");
}

/// Runs a program whose own output the reader should see.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("cannot start {shown}"))?;
    if !status.success() {
        bail!("{shown} failed ({status})");
    }
    Ok(())
}

/// Runs a program and returns its standard output. Its standard error is part of the error if it fails.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = shown(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {shown}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{shown} failed ({}): {}", output.status, said.trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{shown} printed something that is not UTF-8"))
}

/// Whether a program of this name can be started.
pub(crate) fn exists(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}

fn shown(command: &Command) -> String {
    let program = command.get_program();
    let words = std::iter::once(program).chain(command.get_args());
    let line: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    format!("`{}`", line.join(" "))
}
