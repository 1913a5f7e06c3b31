//! One operation in a process of its own: `soak-op` performs it through the engine's public surface and says on one line what became
//! of it, so that a kill, a failing call or a power cut hits the operation and not the one who judges it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use turnback_core::CheckpointId;

/// What the process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Opens the store, which sweeps what dead processes left.
    Open,
    /// Takes a checkpoint.
    Create,
    /// Rolls the workspace back to a checkpoint.
    Rollback(CheckpointId),
    /// Deletes a checkpoint.
    Delete(CheckpointId),
    /// Takes back what changed from one checkpoint to another.
    Revert(CheckpointId, CheckpointId),
    /// Deletes all but the last one and pinned ones.
    Prune,
    /// Finishes what an interrupted restore left.
    Recover,
}

impl Op {
    /// The operation's name, as `soak-op` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Create => "create",
            Self::Rollback(_) => "rollback",
            Self::Delete(_) => "delete",
            Self::Revert(..) => "revert",
            Self::Prune => "prune",
            Self::Recover => "recover",
        }
    }

    /// The command that performs it.
    #[must_use]
    pub fn arguments(self, scene: &Path, settings: Settings) -> Vec<String> {
        let path = |name: &str| scene.join(name).to_string_lossy().into_owned();
        let mut all = vec![self.name().to_owned(), path("s"), path("w"), path("scratch")];
        if let Self::Rollback(id) | Self::Delete(id) = self {
            all.push(id.to_string());
        }
        if let Self::Revert(from, to) = self {
            all.extend([from.to_string(), to.to_string()]);
        }
        if settings.power {
            all.push("--power".to_owned());
        }
        if settings.wait {
            all.push("--wait".to_owned());
        }
        if !settings.safety {
            all.push("--no-safety".to_owned());
        }
        if let Some(limit) = settings.file_limit {
            all.extend(["--file-limit".to_owned(), limit.to_string()]);
        }
        all
    }
}

/// How the process works.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// What it writes survives a power cut.
    pub power: bool,
    /// It starts its threads, says their ids, and waits for a line before the operation.
    pub wait: bool,
    /// A rollback takes its safety checkpoint.
    pub safety: bool,
    /// How many threads the engine's pool has.
    pub workers: u32,
    /// The longest file that it may write, in bytes (RLIMIT_FSIZE).
    pub file_limit: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { power: false, wait: false, safety: true, workers: 2, file_limit: None }
    }
}

/// What the process said before it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// The operation succeeded. The id is the new checkpoint's, or the safety checkpoint's of a rollback.
    Done(Option<CheckpointId>),
    /// It was done but for these paths, which it named: a checkpoint does not cover them, or a rollback left them alone.
    Partly(Option<CheckpointId>, Vec<Vec<u8>>),
    /// The operation failed with a code and a message.
    Failed(String),
    /// Nothing: it was killed.
    Nothing,
}

impl Said {
    /// Reads what was printed.
    #[must_use]
    pub fn of(output: &str) -> Self {
        for line in output.lines() {
            if let Some(rest) = line.strip_prefix("done") {
                return Self::Done(rest.trim().parse().ok());
            } else if let Some(rest) = line.strip_prefix("partly ") {
                let mut words = rest.split(' ');
                let id = words.next().and_then(|id| id.parse().ok());
                return Self::Partly(id, words.filter_map(from_hex).collect());
            } else if let Some(rest) = line.strip_prefix("failed ") {
                return Self::Failed(rest.to_owned());
            }
        }
        Self::Nothing
    }
}

/// A path as `soak-op` prints it.
#[must_use]
pub fn to_hex(path: &[u8]) -> String {
    path.iter().map(|b| format!("{b:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let byte = |i| u8::from_str_radix(text.get(i..i + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(byte).collect()
}

/// A thread of a waiting process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// `main` or `turnback-0` and so on.
    pub role: String,
    /// The system's number of it.
    pub id: u32,
}

/// A process that has its threads and waits for the word.
#[derive(Debug)]
pub struct Waiting {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    /// Its threads.
    pub threads: Vec<Thread>,
}

impl Waiting {
    /// Starts a process up to where it waits.
    ///
    /// # Errors
    /// When it cannot be started or says something else.
    pub fn start(program: &Path, op: Op, scene: &Path, settings: Settings) -> Result<Self> {
        let mut child = Command::new(program)
            .args(op.arguments(scene, Settings { wait: true, ..settings }))
            .env("RAYON_NUM_THREADS", settings.workers.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let stdin = child.stdin.take().context("no stdin")?;
        let mut stdout = BufReader::new(child.stdout.take().context("no stdout")?);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        let Some(rest) = line.trim().strip_prefix("ready ") else {
            child.kill()?;
            child.wait()?;
            bail!("the process said `{}` instead of being ready", line.trim());
        };
        let thread = |word: &str| {
            let (role, id) = word.split_once('=')?;
            Some(Thread { role: role.to_owned(), id: id.parse().ok()? })
        };
        let threads = rest.split(' ').filter_map(thread).collect();
        Ok(Self { child, stdin, stdout, threads })
    }

    /// The process's id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Gives the word and returns at once.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn go(&mut self) -> Result<()> {
        self.stdin.write_all(b"go\n").context("giving the word")
    }

    /// Kills it.
    ///
    /// # Errors
    /// When it cannot be killed.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill().context("killing the process")
    }

    /// Waits for its end: what it said, and whether it was killed.
    ///
    /// # Errors
    /// When it ended in any other way than by itself or by SIGKILL.
    pub fn end(mut self) -> Result<(Said, bool)> {
        use std::os::unix::process::ExitStatusExt;
        let mut output = String::new();
        std::io::Read::read_to_string(&mut self.stdout, &mut output)?;
        let status = self.child.wait()?;
        match (status.code(), status.signal()) {
            (Some(0 | 3 | 4), _) => Ok((Said::of(&output), false)),
            (_, Some(9)) => Ok((Said::of(&output), true)),
            _ => bail!("the process ended with {status}; it said `{output}`"),
        }
    }
}

/// Where `soak-op` lies beside a program of the same build.
///
/// # Errors
/// When it is not there.
pub fn beside_us() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let found = own.ancestors().skip(1).take(2).map(|d| d.join("soak-op")).find(|p| p.exists());
    found.context("soak-op is not built: cargo build -p turnback-soak --bins")
}
