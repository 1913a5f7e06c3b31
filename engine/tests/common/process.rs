//! Tests that need a process of their own: the test binary runs itself again.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The variable that tells a child what to do; without it a child test does nothing.
pub const TASK: &str = "TURNBACK_TEST_TASK";

/// The directory that a child works in; `None` when the test was not started by its parent.
pub fn task() -> Option<PathBuf> {
    std::env::var_os(TASK).map(PathBuf::from)
}

fn arguments(command: &mut Command, test: &str, directory: &Path) {
    command.args(["--ignored", "--exact", test, "--nocapture", "--test-threads=1"]).env(TASK, directory);
}

/// The ignored test `test` in a process of its own.
pub fn child(test: &str, directory: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    arguments(&mut command, test, directory);
    command
}

/// The ignored test `test` as user 65534, with `directory` made that user's own. Only root can do this.
pub fn as_nobody(test: &str, directory: &Path) -> Command {
    let exe = directory.join("exe");
    // Copied by another process: one that a second thread of this one forks meanwhile would have it open for writing, and nobody could
    // run it for that long.
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&exe).status().unwrap();
    assert!(copied.success(), "{copied}");
    std::fs::set_permissions(&exe, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::chown(directory, Some(65534), Some(65534)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&exe);
    arguments(&mut command, test, directory);
    command.current_dir(directory).env("HOME", directory);
    command
}

/// Runs a child; its test must pass and must really have run.
#[track_caller]
pub fn run(mut command: Command) -> Output {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{command:?}: {}\n{text}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Says why a test does nothing here.
pub fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

/// A mounted file system that goes with this value.
pub struct Mount(PathBuf);

impl Mount {
    /// Mounts with `mount`'s arguments; `None` where that is not allowed.
    pub fn new(arguments: &[&str], at: &Path) -> Option<Self> {
        let output = Command::new("mount").args(arguments).arg(at).output().ok()?;
        output.status.success().then(|| Self(at.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let done = Command::new("umount").arg("-l").arg(&self.0).status();
        if !done.is_ok_and(|status| status.success()) {
            eprintln!("{} stays mounted", self.0.display());
        }
    }
}
