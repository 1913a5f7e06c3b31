//! Many processes on one store, creating, rolling back and deleting at once (P8, P9): nothing that a checkpoint needs goes missing,
//! nobody waits for ever, and every process finds its own checkpoints as it made them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use turnback_core::CheckpointId;
use turnback_engine::Context;

use crate::budget::Budget;
use crate::machine;
use crate::outcome::Outcome;
use crate::scene::{Scene, exact};

/// Processes at once; the last two share a workspace.
const PROCESSES: usize = 8;

/// The whole method.
///
/// # Errors
/// When the harness fails.
pub fn run(program: &Path, budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    let (mut rounds, mut created, mut deleted, mut rolled, mut busy) = (0u64, 0u64, 0u64, 0u64, 0u64);
    while budget.more(rounds, 4) && !out.is_hopeless() {
        let directory = machine::quick_directory()?;
        let scene = Scene::new(directory.path())?;
        let mut children = Vec::new();
        for i in 0..PROCESSES {
            let shared = i >= PROCESSES - 2;
            let workspace = directory.path().join(if shared { "shared".into() } else { format!("w{i}") });
            if !workspace.exists() {
                fs::create_dir(&workspace)?;
                crate::tree::build(&workspace)?;
            }
            let mut command = Command::new(program);
            command.arg("churn").arg(scene.store()).arg(&workspace).arg(directory.path().join("scratch"));
            command.args(["--seed", &(rounds * 100 + i as u64).to_string(), "--rounds", "20"]);
            if shared {
                command.arg("--shared");
            }
            let child = command.env("RAYON_NUM_THREADS", "2").stdin(Stdio::null());
            children.push((workspace, shared, child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?));
        }
        let mut kept: BTreeMap<CheckpointId, (std::path::PathBuf, Option<String>)> = BTreeMap::new();
        for (workspace, shared, child) in children {
            let output = child.wait_with_output()?;
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            out.check(output.status.success(), 9, || {
                format!("a process ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr))
            });
            for line in said.lines() {
                let mut words = line.split(' ');
                match (words.next(), words.next(), words.next()) {
                    (Some("kept"), Some(id), stamp) => {
                        let stamp = stamp.filter(|_| !shared).map(str::to_owned);
                        kept.insert(id.parse().context("an id")?, (workspace.clone(), stamp));
                    }
                    (Some("created"), Some(n), _) => created += n.parse::<u64>()?,
                    (Some("deleted"), Some(n), _) => deleted += n.parse::<u64>()?,
                    (Some("rolled"), Some(n), _) => rolled += n.parse::<u64>()?,
                    (Some("busy"), Some(n), _) => busy += n.parse::<u64>()?,
                    (Some("wrong"), ..) => out.breach(8, format!("round {rounds}: {line}")),
                    _ => {}
                }
            }
        }
        let manager = scene.open()?;
        let report = manager.verify(None, &Context::default())?;
        out.check(report.damaged.is_empty(), 8, || format!("round {rounds}: {:?}", report.damaged));
        let listed = scene.ids(&manager)?;
        for (id, (workspace, stamp)) in &kept {
            if !out.check(listed.contains(id), 8, || format!("round {rounds}: {id} is gone")) {
                continue;
            }
            if let Some(stamp) = stamp {
                manager.rollback(*id, exact(), &Context::default())?;
                let now = fs::read_to_string(workspace.join("stamp"))?;
                out.check(now == *stamp, 8, || format!("round {rounds}: {id} has {now} for {stamp}"));
            }
        }
        // Once everything is deleted nothing is left (P8).
        for id in scene.ids(&manager)? {
            manager.delete(id)?;
        }
        let left: Vec<_> = fs::read_dir(scene.store().join("packs"))?.collect();
        out.check(left.is_empty(), 8, || format!("round {rounds}: packs that nobody needs: {left:?}"));
        rounds += 1;
    }
    let figure = format!(
        "{rounds} rounds: {created} created, {rolled} rolled back, {deleted} deleted, {busy} times BUSY; {} missing",
        out.breaches.len()
    );
    for promise in [8, 9] {
        out.figure(
            promise,
            format!("{PROCESSES} processes on one store, two of them in one workspace"),
            figure.clone(),
        );
    }
    out.end_group();
    Ok(out)
}
