//! Tracing a waiting process: which calls each of its threads makes, and one of them failed or killed.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::operation::{Op, Said, Settings, Waiting};

/// How often each thread made each call, by role and name.
pub type Calls = BTreeMap<(String, String), u64>;

/// One call of one thread: the role, the name, and which one it is, from 1.
pub type Point = (String, String, u64);

/// The calls one by one, the last ones first. `parts` is how many of one kind are wanted at most, spread evenly.
#[must_use]
pub fn points(calls: &Calls, parts: Option<u64>) -> Vec<Point> {
    let of = |((role, call), count): (&(String, String), &u64)| {
        let step = parts.map_or(1, |parts| count.div_ceil(parts.max(1)).max(1));
        let (role, call, count) = (role.clone(), call.clone(), *count);
        let nth = (1..=count).rev().step_by(step as usize);
        nth.map(move |nth| (role.clone(), call.clone(), nth)).collect::<Vec<_>>()
    };
    calls.iter().flat_map(of).collect()
}

/// The same in no order, but the same every time, and one of each thread and call before a second one of any: what is cut short has then
/// seen something of everything.
pub fn shuffle(points: &mut [Point]) {
    points.sort_by_cached_key(|point| {
        let mut hasher = DefaultHasher::new();
        point.hash(&mut hasher);
        hasher.finish()
    });
    let mut seen: BTreeMap<(String, String), u64> = BTreeMap::new();
    points.sort_by_cached_key(|(role, call, _)| {
        let rank = seen.entry((role.clone(), call.clone())).or_default();
        *rank += 1;
        *rank
    });
}

/// What is done to the Nth call of a name, in strace's words: `signal=SIGKILL`, `error=EIO`.
#[derive(Debug, Clone, Copy)]
pub struct Injection<'a> {
    /// The thread's role.
    pub role: &'a str,
    /// The call.
    pub call: &'a str,
    /// Which one, from 1.
    pub nth: u64,
    /// What happens.
    pub what: &'a str,
}

/// A tracer that is attached to a process or one of its threads.
struct Tracer {
    child: Child,
    /// Held open: what it says at its end is not read, and must not fail.
    _stderr: BufReader<std::process::ChildStderr>,
}

impl Tracer {
    /// Attaches, and returns only when the process cannot make a call unseen.
    fn attach(arguments: &[String], tasks: usize) -> Result<Self> {
        let mut child = Command::new("strace")
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("starting strace")?;
        let mut stderr = BufReader::new(child.stderr.take().context("no stderr")?);
        // It says one line when it has one task, and for a process with several a line that counts them.
        let mut line = String::new();
        stderr.read_line(&mut line)?;
        if !line.contains("attached") {
            child.kill()?;
            child.wait()?;
            bail!("strace said: {}", line.trim());
        }
        if tasks > 1 && !line.contains("threads") {
            bail!("strace did not attach to {tasks} threads: {}", line.trim());
        }
        Ok(Self { child, _stderr: stderr })
    }

    fn end(mut self) -> Result<()> {
        self.child.wait()?;
        Ok(())
    }
}

/// The calls of an operation that nothing disturbs.
///
/// # Errors
/// When the process or the tracer cannot be started, or the operation fails.
pub fn calls(program: &Path, op: Op, scene: &Path, settings: Settings) -> Result<Calls> {
    let mut process = Waiting::start(program, op, scene, settings)?;
    let log = tempfile::NamedTempFile::new()?;
    let words = ["-f", "-s", "0", "-e", "signal=none", "-p"].map(str::to_owned);
    let mut arguments = words.to_vec();
    arguments.extend([process.id().to_string(), "-o".to_owned(), log.path().to_string_lossy().into_owned()]);
    let tracer = Tracer::attach(&arguments, process.threads.len())?;
    let threads = process.threads.clone();
    process.go()?;
    let (said, _) = process.end()?;
    tracer.end()?;
    if !matches!(said, Said::Done(_)) {
        bail!("{}: the undisturbed operation said {said:?}", op.name());
    }
    let mut calls = Calls::new();
    for line in std::fs::read_to_string(log.path())?.lines() {
        let Some((id, rest)) = line.split_once(' ') else { continue };
        let Some((name, _)) = rest.trim_start().split_once('(') else { continue };
        let Some(thread) = threads.iter().find(|t| t.id.to_string() == id) else { continue };
        if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            *calls.entry((thread.role.clone(), name.to_owned())).or_default() += 1;
        }
    }
    // The call that waited for the word is no part of the operation.
    if let Some(reads) = calls.get_mut(&("main".to_owned(), "read".to_owned())) {
        *reads -= 1;
    }
    calls.retain(|_, count| *count > 0);
    Ok(calls)
}

/// Runs an operation with one call of one thread disturbed: what it said, and whether it was killed. The rest of its calls run as
/// always.
///
/// # Errors
/// When the process or the tracer cannot be started, or the process ended in another way.
pub fn disturbed(
    program: &Path,
    op: Op,
    scene: &Path,
    settings: Settings,
    injection: Injection<'_>,
) -> Result<(Said, bool)> {
    let mut process = Waiting::start(program, op, scene, settings)?;
    let Some(thread) = process.threads.iter().find(|t| t.role == injection.role) else {
        process.kill()?;
        process.end()?;
        bail!("there is no thread {}", injection.role);
    };
    let Injection { role, call, what, .. } = injection;
    let nth = if role == "main" && call == "read" { injection.nth + 1 } else { injection.nth };
    let words = ["-o", "/dev/null", "-e", "signal=none", "-p"].map(str::to_owned);
    let mut arguments = words.to_vec();
    arguments.push(thread.id.to_string());
    arguments.extend(["-e".to_owned(), format!("trace={call}")]);
    arguments.extend(["-e".to_owned(), format!("inject={call}:{what}:when={nth}")]);
    let tracer = Tracer::attach(&arguments, 1)?;
    process.go()?;
    let ended = process.end();
    tracer.end()?;
    ended
}
