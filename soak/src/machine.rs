//! What this machine lets us do: root, strace, mounts. What it does not is skipped with the reason.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// Whether we are root.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether a program can be started.
#[must_use]
pub fn has(program: &str) -> bool {
    Command::new(program)
        .arg("-V")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}

/// Why calls cannot be traced here; `None` when they can.
#[must_use]
pub fn no_strace() -> Option<String> {
    if !has("strace") {
        return Some("there is no strace".to_owned());
    }
    let tried = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e", "inject=fsync:error=EIO", "true"])
        .stderr(Stdio::null())
        .status();
    match tried {
        Ok(status) if status.success() => None,
        _ => Some("processes cannot be traced here".to_owned()),
    }
}

/// Runs a program that has to succeed.
///
/// # Errors
/// With what it printed, when it fails.
pub fn run(command: &mut Command) -> Result<String> {
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A directory for scenes: in memory where the system has a place for that, because rounds are many.
///
/// # Errors
/// When no directory can be made.
pub fn quick_directory() -> Result<tempfile::TempDir> {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).context("making a directory")
}

/// A mounted file system that goes with this value.
#[derive(Debug)]
pub struct Mount {
    at: PathBuf,
}

impl Mount {
    /// Mounts with `mount`'s arguments.
    ///
    /// # Errors
    /// When mounting fails or is not permitted.
    pub fn new(arguments: &[&str], at: &Path) -> Result<Self> {
        run(Command::new("mount").args(arguments).arg(at))?;
        Ok(Self { at: at.to_owned() })
    }

    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.at
    }

    /// Changes its options.
    ///
    /// # Errors
    /// When the file system refuses them, for example a size below what is in use.
    pub fn remount(&self, options: &str) -> Result<()> {
        run(Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(&self.at)).map(drop)
    }

    /// Unmounts, and fails when something still holds it.
    ///
    /// # Errors
    /// When it is busy.
    pub fn unmount(self) -> Result<()> {
        // What was killed a moment ago may still be letting go of its files.
        let mut last = None;
        for _ in 0..200 {
            match run(Command::new("umount").arg(&self.at)) {
                Ok(_) => {
                    std::mem::forget(self);
                    return Ok(());
                }
                Err(error) => last = Some(error),
            }
            std::thread::yield_now();
        }
        bail!("{} stays mounted: {last:?}", self.at.display())
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if let Err(error) = run(Command::new("umount").arg("-l").arg(&self.at)) {
            eprintln!("{error:#}");
        }
    }
}
