//! What each process of a crowd does: edits, checkpoints, rollbacks, reverts, deletions, prunes and pins in a workspace. It says what it
//! counts on as soon as it may count on it, so that a kill takes nothing back that was said.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use turnback_core::CheckpointId;
use turnback_engine::{
    Code, Context, Error, GitMode, Manager, OnConflict, PruneRequest, RevertRequest, RollbackReport,
};

use crate::scene::{create_request, exact};
use crate::tree::noise;

/// A prune leaves so many of each workspace at least.
const LAST: usize = 4;

/// How one process churns.
#[derive(Debug, Clone, Copy)]
pub struct Churn {
    /// Where its choices start.
    pub seed: u64,
    /// How many operations it does.
    pub rounds: u64,
    /// Another process works in the same workspace.
    pub shared: bool,
}

/// What one process did.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    created: u64,
    rolled: u64,
    reverted: u64,
    deleted: u64,
    pruned: u64,
    pinned: u64,
    busy: u64,
}

/// A checkpoint of this process.
#[derive(Debug, Clone)]
struct Own {
    id: CheckpointId,
    stamp: String,
    pinned: bool,
}

/// The work in progress.
struct Worker<'a> {
    churn: Churn,
    manager: &'a Manager,
    workspace: &'a Path,
    own: Vec<Own>,
    counts: Counts,
}

/// The label that goes with a pin.
pub(crate) fn label(stamp: &str) -> String {
    format!("pinned at {stamp}")
}

/// Says a line at once.
fn say(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes())?;
    Ok(out.flush()?)
}

impl Churn {
    /// Does the work. Says `pinned ID STAMP` behind each pin, `letting ID` before it takes one back or deletes, `wrong …` for each
    /// breach, and returns what it did: `created N` and so on.
    ///
    /// # Errors
    /// On any error of the engine but `BUSY`, and `NOT_FOUND` for what a prune may take.
    pub fn run(self, manager: &Manager, workspace: &Path) -> Result<Vec<String>> {
        let mut worker =
            Worker { churn: self, manager, workspace, own: Vec::new(), counts: Counts::default() };
        let mut state = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        for round in 0..self.rounds {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            worker.round(round, (state >> 20) as usize).with_context(|| format!("round {round}"))?;
        }
        let Counts { created, rolled, reverted, deleted, pruned, pinned, busy } = worker.counts;
        let counts = [
            ("created", created),
            ("rolled", rolled),
            ("reverted", reverted),
            ("deleted", deleted),
            ("pruned", pruned),
            ("pins", pinned),
            ("busy", busy),
        ];
        Ok(counts.iter().map(|(name, count)| format!("{name} {count}")).collect())
    }
}

impl Worker<'_> {
    fn round(&mut self, round: u64, choice: usize) -> Result<()> {
        // Content that several processes share, and content of its own: what one deletes, another may need.
        let stamp = format!("{}-{round}", self.churn.seed);
        if !self.churn.shared {
            fs::write(self.workspace.join("stamp"), &stamp)?;
        }
        fs::write(self.workspace.join(format!("common{}", choice % 3)), noise(choice as u64 % 5, 4000))?;
        let count = self.own.len().max(1);
        let (one, other) =
            (self.own.get(choice / 16 % count).cloned(), self.own.get(choice / 512 % count).cloned());
        match (choice % 12, one, other) {
            (3 | 4, Some(own), _) => self.roll_back(&own).map(drop),
            (5 | 6, Some(from), Some(to)) => self.revert(&from, &to),
            (7, Some(own), _) => self.delete(&own),
            (8, ..) => self.prune(),
            (9 | 10, Some(own), _) => self.pin(&own),
            (11, Some(own), _) if own.pinned => self.unpin(&own),
            _ => self.create(stamp),
        }
    }

    /// What came of a call that needs some of our checkpoints: nothing when others were busy, or took what is not pinned.
    fn settled<T>(&mut self, result: Result<T, Error>, needs: &[&Own], what: &str) -> Result<Option<T>> {
        match result {
            Ok(done) => Ok(Some(done)),
            Err(error) if error.code() == Code::Busy => {
                self.counts.busy += 1;
                Ok(None)
            }
            Err(error) if error.code() == Code::NotFound && needs.iter().any(|own| !own.pinned) => {
                let listed = self.manager.list(None)?;
                let is_there =
                    |own: &Own| listed.checkpoints.iter().any(|c| c.checkpoint.checkpoint_id == own.id);
                if needs.iter().all(|own| is_there(own)) {
                    return Err(error).with_context(|| format!("{what}: everything is there"));
                }
                for own in needs.iter().filter(|own| own.pinned && !is_there(own)) {
                    say(&format!("wrong {what}: {} is pinned and gone", own.id))?;
                }
                self.own.retain(is_there);
                Ok(None)
            }
            Err(error) => Err(error).with_context(|| what.to_owned()),
        }
    }

    /// Whether the workspace has what it has to have; nobody knows where another process works too.
    fn has(&self, stamp: &str, what: &str) -> Result<()> {
        if self.churn.shared {
            return Ok(());
        }
        let now = fs::read_to_string(self.workspace.join("stamp")).unwrap_or_default();
        if now != stamp {
            say(&format!("wrong {what}: the tree has `{now}` for `{stamp}`"))?;
        }
        Ok(())
    }

    fn create(&mut self, stamp: String) -> Result<()> {
        let request = create_request().context("a request")?;
        let made = self.manager.create(self.workspace, request, &Context::default());
        if let Some(made) = self.settled(made, &[], "creating")? {
            self.counts.created += 1;
            self.own.push(Own { id: made.checkpoint_id, stamp, pinned: false });
        }
        Ok(())
    }

    /// Tells whether it was done.
    fn roll_back(&mut self, to: &Own) -> Result<bool> {
        let result = self.manager.rollback(to.id, exact(), &Context::default());
        let done = self.settled(result, &[to], "rolling back")?.is_some();
        if done {
            self.counts.rolled += 1;
            self.has(&to.stamp, "rolled back")?;
        }
        Ok(done)
    }

    /// Makes the tree what a turn left, takes the turn back, and then takes that back.
    fn revert(&mut self, from: &Own, to: &Own) -> Result<()> {
        if !self.roll_back(to)? {
            return Ok(());
        }
        let request =
            RevertRequest { git: GitMode::Exact, on_conflict: OnConflict::Ours, ..RevertRequest::default() };
        let result = self.manager.revert(from.id, to.id, request, &Context::default());
        let Some(RollbackReport { undo_checkpoint_id, .. }) =
            self.settled(result, &[from, to], "reverting")?
        else {
            return Ok(());
        };
        self.counts.reverted += 1;
        self.has(&from.stamp, "reverted")?;
        // Nobody else makes checkpoints of this workspace, so that no prune takes the newest one.
        if let Some(undo) = undo_checkpoint_id.filter(|_| !self.churn.shared) {
            let undone = self.manager.undo(undo, &Context::default());
            if self.settled(undone, &[], "undoing")?.is_some() {
                self.has(&to.stamp, "undone")?;
            }
        }
        Ok(())
    }

    fn delete(&mut self, own: &Own) -> Result<()> {
        say(&format!("letting {}", own.id))?;
        let result = self.manager.delete(own.id);
        if let Some(was_there) = self.settled(result, &[own], "deleting")? {
            if own.pinned && !was_there {
                say(&format!("wrong deleting: {} is pinned and gone", own.id))?;
            }
            self.counts.deleted += u64::from(was_there);
            self.own.retain(|other| other.id != own.id);
        } else {
            // It may be gone or not: nothing is said of it any more.
            self.own.retain(|other| other.id != own.id);
        }
        Ok(())
    }

    fn prune(&mut self) -> Result<()> {
        let request = PruneRequest { keep_last: Some(LAST), all: true, ..PruneRequest::default() };
        let result = self.manager.prune(request, &Context::default());
        if let Some(report) = self.settled(result, &[], "pruning")? {
            self.counts.pruned += report.deleted.len() as u64;
            for own in self.own.iter().filter(|own| own.pinned && report.deleted.contains(&own.id)) {
                say(&format!("wrong pruning: took {}, which is pinned", own.id))?;
            }
        }
        Ok(())
    }

    fn pin(&mut self, own: &Own) -> Result<()> {
        let labelled = self.manager.set_label(own.id, Some(&label(&own.stamp)));
        if self.settled(labelled, &[own], "labelling")?.is_none() {
            return Ok(());
        }
        let result = self.manager.set_pinned(own.id, true);
        if self.settled(result, &[own], "pinning")?.is_some() {
            say(&format!("pinned {} {}", own.id, own.stamp))?;
            self.counts.pinned += 1;
            self.mark(own.id, true);
        }
        Ok(())
    }

    fn unpin(&mut self, own: &Own) -> Result<()> {
        say(&format!("letting {}", own.id))?;
        let result = self.manager.set_pinned(own.id, false);
        self.mark(own.id, false);
        self.settled(result, &[own], "unpinning").map(drop)
    }

    fn mark(&mut self, id: CheckpointId, pinned: bool) {
        self.own.iter_mut().filter(|own| own.id == id).for_each(|own| own.pinned = pinned);
    }
}
