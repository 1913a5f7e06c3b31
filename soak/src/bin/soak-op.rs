//! `soak-op OP STORE WORKSPACE SCRATCH [ID [ID]] [--power] [--wait] [--no-safety] [--file-limit N]`: one operation, one line about what became of it.
//! Exit code 0 when it was done, 3 when it failed with an error of the engine, 4 when the line could not be written.

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use pico_args::Arguments;
use rustix::process::{Resource, Rlimit, setrlimit};
use turnback_core::CheckpointId;
use turnback_engine::{
    Context, Durability, GitMode, Manager, PruneRequest, RecoveryOutcome, RevertRequest, RollbackRequest,
    Uncovered,
};
use turnback_soak::{Churn, create_request, exact, open, operation};

struct Task {
    op: String,
    store: PathBuf,
    workspace: PathBuf,
    scratch: PathBuf,
    power: bool,
    wait: bool,
    safety: bool,
    file_limit: Option<u64>,
    churn: Churn,
    id: Option<CheckpointId>,
    second: Option<CheckpointId>,
}

fn main() -> ExitCode {
    match task().and_then(|task| perform(&task)) {
        Ok((line, code)) => {
            // One write: a line is there whole or not at all.
            let written = std::io::stdout().lock().write_all(format!("{line}\n").as_bytes());
            if written.is_ok() { ExitCode::from(code) } else { ExitCode::from(4) }
        }
        Err(error) => {
            eprintln!("soak-op: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn task() -> Result<Task> {
    let mut args = Arguments::from_env();
    let (power, wait) = (args.contains("--power"), args.contains("--wait"));
    let safety = !args.contains("--no-safety");
    let file_limit = args.opt_value_from_str("--file-limit")?;
    let churn = Churn {
        seed: args.opt_value_from_str("--seed")?.unwrap_or(0),
        rounds: args.opt_value_from_str("--rounds")?.unwrap_or(0),
        shared: args.contains("--shared"),
    };
    let op = args.free_from_str()?;
    let (store, workspace, scratch) = (args.free_from_str()?, args.free_from_str()?, args.free_from_str()?);
    Ok(Task {
        op,
        store,
        workspace,
        scratch,
        power,
        wait,
        safety,
        file_limit,
        churn,
        id: args.opt_free_from_str()?,
        second: args.opt_free_from_str()?,
    })
}

/// The line to print and the exit code.
fn perform(task: &Task) -> Result<(String, u8)> {
    let durability = if task.power { Durability::Power } else { Durability::Process };
    let manager = match open(&task.store, durability) {
        Ok(manager) => manager,
        Err(error) => return Ok(failed(&error)),
    };
    if task.wait {
        warm_up(&manager, task)?;
    }
    if let Some(limit) = task.file_limit {
        let limit = Rlimit { current: Some(limit), maximum: None };
        setrlimit(Resource::Fsize, limit).context("limiting the size of files")?;
    }
    let ctx = Context::default();
    let id = || task.id.context("an id is missing");
    let done = match task.op.as_str() {
        "churn" => return Ok((task.churn.run(&manager, &task.workspace)?.join("\n"), 0)),
        "open" => Ok("done".to_owned()),
        "create" => {
            let request = create_request().context("a request")?;
            manager.create(&task.workspace, request, &ctx).and_then(|made| {
                let id = made.checkpoint_id;
                let missing = if made.coverage.complete { Vec::new() } else { manager.coverage(id)? };
                Ok(done(id.to_string(), missing.iter()))
            })
        }
        "rollback" => {
            let request = RollbackRequest { safety: task.safety, ..exact() };
            manager.rollback(id()?, request, &ctx).map(|report| {
                let undo = report.undo_checkpoint_id.map_or_else(|| "-".to_owned(), |id| id.to_string());
                done(undo, report.kept.iter().chain(&report.not_restorable))
            })
        }
        "revert" => {
            let request = RevertRequest { git: GitMode::Exact, ..RevertRequest::default() };
            let to = task.second.context("a second id is missing")?;
            manager.revert(id()?, to, request, &ctx).map(|report| {
                if !report.conflicts.is_empty() {
                    // Nothing was written.
                    return format!("failed CONFLICTS {:?}", report.conflicts);
                }
                let undo = report.undo_checkpoint_id.map_or_else(|| "-".to_owned(), |id| id.to_string());
                done(undo, report.kept.iter().chain(&report.not_restorable))
            })
        }
        "prune" => {
            let request = PruneRequest { keep_last: Some(1), all: true, ..PruneRequest::default() };
            manager.prune(request, &ctx).map(|_| "done".to_owned())
        }
        "recover" => manager.recover(&task.workspace, &ctx).map(|report| match report {
            Some(report) if report.outcome == RecoveryOutcome::Finished => {
                done("-".to_owned(), report.kept.iter().chain(&report.not_restorable))
            }
            other => format!("failed NOT_FINISHED {other:?}"),
        }),
        "delete" => manager.delete(id()?).map(|_| "done".to_owned()),
        other => bail!("there is no operation {other}"),
    };
    Ok(match done {
        Ok(line) => (line, 0),
        Err(error) => failed(&error),
    })
}

/// The line of an operation that was done, but for some paths that it named.
fn done<'a>(id: String, but: impl Iterator<Item = &'a Uncovered>) -> String {
    let paths: Vec<_> = but.map(|u| operation::to_hex(u.path.as_bytes())).collect();
    match paths.is_empty() {
        true => format!("done {id}"),
        false => format!("partly {id} {}", paths.join(" ")),
    }
}

fn failed(error: &turnback_engine::Error) -> (String, u8) {
    (format!("failed {} {error}", error.code().as_str()), 3)
}

/// Starts the manager's threads with a walk that publishes nothing, says their ids, and waits for a line.
fn warm_up(manager: &Manager, task: &Task) -> Result<()> {
    let mut request = create_request().context("a request")?;
    request.max_files = Some(0);
    if manager.create(&task.scratch, request, &Context::default()).is_ok() {
        bail!("a checkpoint over its limit was taken");
    }
    let main = std::process::id().to_string();
    let own = std::fs::read_to_string("/proc/self/comm")?;
    // A thread names itself a moment after it was started.
    let line = loop {
        let mut line = format!("ready main={main}");
        let mut nameless = 0;
        for entry in std::fs::read_dir("/proc/self/task")? {
            let id = entry?.file_name().to_string_lossy().into_owned();
            let name = std::fs::read_to_string(format!("/proc/self/task/{id}/comm"))?;
            if id != main {
                nameless += usize::from(name == own);
                line.push_str(&format!(" {}={id}", name.trim()));
            }
        }
        if nameless == 0 {
            break line;
        }
        std::thread::yield_now();
    };
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()?;
    let mut word = String::new();
    std::io::stdin().lock().read_line(&mut word)?;
    Ok(())
}
