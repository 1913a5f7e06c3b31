//! Many processes on one store, creating, rolling back, reverting, deleting, pruning and pinning at once, and one that is killed again
//! and again (P8, P9): nothing that a checkpoint needs goes missing, nothing pinned goes, nobody waits for ever, and every process finds
//! its own checkpoints as it made them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};
use turnback_core::CheckpointId;
use turnback_engine::Context;

use super::kill::spin;
use crate::budget::Budget;
use crate::churn::label;
use crate::machine;
use crate::outcome::Outcome;
use crate::scene::{Scene, exact};

/// Processes at once, beside the one that is killed; the last two share a workspace.
const PROCESSES: usize = 8;
/// How often one is killed while the others work.
const KILLS: u64 = 3;

/// What was counted over all rounds.
#[derive(Debug, Default)]
struct Counts {
    rounds: u64,
    killed: u64,
    did: BTreeMap<String, u64>,
}

/// A checkpoint that its process pinned and did not let go of.
#[derive(Debug, Clone)]
struct Pinned {
    workspace: PathBuf,
    /// What its tree has, where one process worked alone.
    stamp: String,
    shared: bool,
}

/// The whole method.
///
/// # Errors
/// When the harness fails.
pub fn run(program: &Path, budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    let mut counts = Counts::default();
    while budget.more(counts.rounds, 4) && !out.is_hopeless() {
        round(program, &mut counts, &mut out)?;
        counts.rounds += 1;
    }
    let did: Vec<_> = counts.did.iter().map(|(what, count)| format!("{count} {what}")).collect();
    let figure = format!(
        "{} rounds: {}; {} kills; {} breaches",
        counts.rounds,
        did.join(", "),
        counts.killed,
        out.breaches.len()
    );
    for promise in [8, 9] {
        let what = format!(
            "{PROCESSES} processes on one store, two of them in one workspace, and one that is killed"
        );
        out.figure(promise, what, figure.clone());
    }
    out.end_group();
    Ok(out)
}

/// Starts a process in a workspace with a tree.
fn start(
    program: &Path,
    scene: &Scene,
    workspace: &Path,
    seed: u64,
    rounds: u64,
    shared: bool,
) -> Result<Child> {
    if !workspace.exists() {
        fs::create_dir(workspace)?;
        crate::tree::build(workspace)?;
    }
    let mut command = Command::new(program);
    command.arg("churn").arg(scene.store()).arg(workspace).arg(scene.directory.join("scratch"));
    command.args(["--seed", &seed.to_string(), "--rounds", &rounds.to_string()]);
    if shared {
        command.arg("--shared");
    }
    command.env("RAYON_NUM_THREADS", "2").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().context("starting a process")
}

fn round(program: &Path, counts: &mut Counts, out: &mut Outcome) -> Result<()> {
    let directory = machine::quick_directory()?;
    let scene = Scene::new(directory.path())?;
    let at = counts.rounds;
    let mut children = Vec::new();
    for i in 0..PROCESSES {
        let shared = i >= PROCESSES - 2;
        let workspace = directory.path().join(if shared { "shared".into() } else { format!("w{i}") });
        let child = start(program, &scene, &workspace, at * 100 + i as u64, 25, shared)?;
        children.push((workspace, shared, child));
    }
    let mut pinned = BTreeMap::new();
    let victim = directory.path().join("victim");
    for i in 0..KILLS {
        let seed = at * 100 + 50 + i;
        let mut child = start(program, &scene, &victim, seed, 10_000, false)?;
        spin(20_000 + seed.wrapping_mul(7919) % 300_000);
        child.kill().context("killing a process")?;
        counts.killed += 1;
        let output = child.wait_with_output()?;
        heard(&output.stdout, &victim, false, at, &mut pinned, counts, out)?;
    }
    for (workspace, shared, child) in children {
        let output = child.wait_with_output()?;
        out.check(output.status.success(), 9, || {
            format!("a process ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr))
        });
        heard(&output.stdout, &workspace, shared, at, &mut pinned, counts, out)?;
    }
    judge(&scene, &victim, &pinned, at, out)
}

/// Takes in what a process said.
fn heard(
    output: &[u8],
    workspace: &Path,
    shared: bool,
    at: u64,
    pinned: &mut BTreeMap<CheckpointId, Pinned>,
    counts: &mut Counts,
    out: &mut Outcome,
) -> Result<()> {
    for line in String::from_utf8_lossy(output).lines() {
        let mut words = line.split(' ');
        match (words.next(), words.next(), words.next()) {
            (Some("pinned"), Some(id), Some(stamp)) => {
                let (workspace, stamp) = (workspace.to_owned(), stamp.to_owned());
                pinned.insert(id.parse().context("an id")?, Pinned { workspace, stamp, shared });
            }
            (Some("letting"), Some(id), None) => {
                pinned.remove(&id.parse().context("an id")?);
            }
            (Some("wrong"), ..) => out.breach(8, format!("round {at}: {line}")),
            (Some(what), Some(count), None) => {
                *counts.did.entry(what.to_owned()).or_default() += count.parse::<u64>()?;
            }
            _ => anyhow::bail!("a process said `{line}`"),
        }
    }
    Ok(())
}

/// When all have ended: what was pinned is there, as it was made, and the killed one's workspace works at once.
fn judge(
    scene: &Scene,
    victim: &Path,
    pinned: &BTreeMap<CheckpointId, Pinned>,
    at: u64,
    out: &mut Outcome,
) -> Result<()> {
    let (manager, ctx) = (scene.open()?, Context::default());
    let next = manager.recover(victim, &ctx).and_then(|_| {
        let request =
            crate::scene::create_request().ok_or_else(|| turnback_engine::Error::corrupt("a request"))?;
        manager.create(victim, request, &ctx)
    });
    out.check(next.is_ok(), 9, || format!("round {at}: the killed one's next checkpoint: {next:?}"));
    let report = manager.verify(None, &ctx)?;
    out.check(report.damaged.is_empty(), 8, || format!("round {at}: {:?}", report.damaged));
    let listing = manager.list(None)?;
    for (id, Pinned { workspace, stamp, shared }) in pinned {
        let listed = listing.checkpoints.iter().find(|c| c.checkpoint.checkpoint_id == *id);
        let Some(listed) = listed else {
            out.breach(8, format!("round {at}: {id} was pinned and is gone"));
            continue;
        };
        let is_marked = listed.pinned && listed.label.as_deref() == Some(&*label(stamp));
        out.check(is_marked, 8, || format!("round {at}: {id} has lost its marks: {listed:?}"));
        if !shared {
            manager.rollback(*id, exact(), &ctx)?;
            let now = fs::read_to_string(workspace.join("stamp"))?;
            out.check(now == *stamp, 8, || format!("round {at}: {id} has {now} for {stamp}"));
        }
    }
    // Once everything is deleted nothing is left (P8).
    for id in scene.ids(&manager)? {
        manager.delete(id)?;
    }
    let left: Vec<_> = fs::read_dir(scene.store().join("packs"))?.collect();
    out.check(left.is_empty(), 8, || format!("round {at}: packs that nobody needs: {left:?}"));
    Ok(())
}
