//! Which sandboxes there are, who keeps them, and what becomes of those that nobody does (S9).

use std::path::PathBuf;

use turnback_core::{Millis, PlanId, SandboxId, SandboxStatus};

use super::beside::beside;
use super::frozen;
use super::git_worktree::take_up_abandoned;
use super::lease::{Claim, Owner, claim, owner, runs};
use super::missing::refuse_missing;
use super::names::{Mechanism, StrategyName};
use super::record::Record;
use super::registry::{Place, Registry};
use super::remains::Remains;
use super::removal::{forget, remove_files};
use super::sandboxes::Sandboxes;
use super::strategy::named_beside;
use crate::context::Context;
use crate::error::{Code, Result};
use crate::store::Patience;

/// A sandbox as it stands in the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxInfo {
    /// Its id.
    pub id: SandboxId,
    /// What its record says; `None` when the record is damaged.
    pub about: Option<SandboxAbout>,
    /// Who keeps it.
    pub owner: Owner,
    /// Whether it holds anything that is nowhere else; `None` when that is not known: another call works on it, or it cannot be read.
    pub unsaved: Option<bool>,
    /// Why something about it is not known.
    pub problem: Option<String>,
}

/// What a sandbox's record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxAbout {
    /// The resource's canonical path.
    pub resource: PathBuf,
    /// Where to work.
    pub path: PathBuf,
    /// How it isolates.
    pub strategy: StrategyName,
    /// How it was made.
    pub mechanism: Option<Mechanism>,
    /// Its status.
    pub status: SandboxStatus,
    /// The plan that it belongs to.
    pub plan_id: Option<PlanId>,
    /// Until when it is kept, whoever lives; `None` where only a process keeps it.
    pub detached_until: Option<Millis>,
}

/// What became of the abandoned sandboxes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AbandonedReport {
    /// Those that are gone.
    pub removed: Vec<SandboxId>,
    /// Those that stay although nobody keeps them.
    pub kept: Vec<Kept>,
    /// What stays of those that are gone.
    pub remains: Remains,
}

/// An abandoned sandbox that stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its id.
    pub id: SandboxId,
    /// Why.
    pub reason: String,
}

impl Sandboxes {
    /// All sandboxes of the store, by id. Those that nobody works on are compared with their baseline.
    ///
    /// # Errors
    /// When the registry cannot be read, `ABORTED`, `TIMED_OUT`. What concerns one sandbox is in its entry.
    pub fn list(&self, ctx: &Context) -> Result<Vec<SandboxInfo>> {
        let registry = Registry::of(&self.manager);
        let mut all = Vec::new();
        for id in registry.ids()? {
            ctx.check()?;
            all.extend(self.info(id.clone(), &registry.place(&id), ctx)?);
        }
        Ok(all)
    }

    /// `None` when it went meanwhile.
    fn info(&self, id: SandboxId, place: &Place, ctx: &Context) -> Result<Option<SandboxInfo>> {
        let record = match place.read() {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(None),
            Err(error) => {
                let owner = owner(place.directory(), None)?;
                let problem = Some(error.to_string());
                return Ok(Some(SandboxInfo { id, about: None, owner, unsaved: None, problem }));
            }
        };
        let owner = match owner(place.directory(), record.detached_until) {
            Err(error) if error.code() == Code::NotFound => return Ok(None),
            other => other?,
        };
        let (unsaved, problem) = match self.unsaved_unless_busy(place, ctx) {
            Ok(unsaved) => (unsaved, None),
            Err(error) if matches!(error.code(), Code::Aborted | Code::TimedOut) => return Err(error),
            Err(error) if error.code() == Code::Busy => (None, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let about = Some(SandboxAbout {
            resource: record.resource,
            path: record.path,
            strategy: record.strategy,
            mechanism: record.mechanism,
            status: record.status,
            plan_id: record.plan_id,
            detached_until: record.detached_until,
        });
        Ok(Some(SandboxInfo { id, about, owner, unsaved, problem }))
    }

    fn unsaved_unless_busy(&self, place: &Place, ctx: &Context) -> Result<Option<bool>> {
        let Some(_lock) = place.lock(Patience::Try, ctx)? else { return Ok(Some(false)) };
        match place.read()? {
            Some(record) => {
                let record = frozen::pictured(&self.manager, place, &record, ctx)?.unwrap_or(record);
                self.unsaved(&record, ctx)
            }
            None => Ok(Some(false)),
        }
    }

    /// Whether a sandbox that nobody works on holds unsaved work; `None` when its strategy cannot tell.
    fn unsaved(&self, record: &Record, ctx: &Context) -> Result<Option<bool>> {
        use SandboxStatus::{CleanedUp, Pending};
        refuse_missing(record)?;
        match (record.status, record.strategy, record.baseline) {
            // Nobody ever worked there, or all was saved.
            (Pending | CleanedUp, ..) | (_, StrategyName::None, _) => Ok(Some(false)),
            _ if !beside(record)?.is_empty() => Ok(Some(true)),
            (.., Some(baseline)) => self.manager.differs(baseline, ctx).map(Some),
            (.., None) => Ok(None),
        }
    }

    /// Removes the sandboxes that nobody keeps and that hold nothing unsaved. One that is held or detached is never touched.
    ///
    /// # Errors
    /// When the registry cannot be read, `ABORTED`, `TIMED_OUT`. What concerns one sandbox is in the report.
    pub fn cleanup_abandoned(&self, ctx: &Context) -> Result<AbandonedReport> {
        self.take_up_together_first(ctx);
        let registry = Registry::of(&self.manager);
        let mut report = AbandonedReport::default();
        for id in registry.ids()? {
            ctx.check()?;
            match self.clean_if_abandoned(&id, &registry.place(&id), ctx) {
                Ok(Outcome::InUse) => {}
                Ok(Outcome::Removed(left)) => {
                    report.removed.push(id);
                    report.remains.extend(left);
                }
                Ok(Outcome::Kept(reason)) => report.kept.push(Kept { id, reason }),
                Err(error) if matches!(error.code(), Code::Aborted | Code::TimedOut) => return Err(error),
                Err(error) => report.kept.push(Kept { id, reason: error.to_string() }),
            }
        }
        Ok(report)
    }

    fn clean_if_abandoned(&self, id: &SandboxId, place: &Place, ctx: &Context) -> Result<Outcome> {
        let Some(record) = place.read()? else { return Ok(Outcome::InUse) };
        // Held to the end: nobody comes to hold it while it goes.
        let _claim = match claim(place.directory(), record.detached_until) {
            Ok(Claim::Held(claim)) => claim,
            Ok(Claim::Refused(_)) => return Ok(Outcome::InUse),
            Err(error) if error.code() == Code::NotFound => return Ok(Outcome::InUse),
            Err(error) => return Err(error),
        };
        let Some(lock) = place.lock(Patience::Try, ctx)? else { return Ok(Outcome::InUse) };
        let Some(mut record) = place.read()? else { return Ok(Outcome::InUse) };
        if runs(record.detached_until) {
            // Somebody prolonged its lease in the moment before it was claimed.
            return Ok(Outcome::InUse);
        }
        let taken_up = match record.strategy {
            StrategyName::GitWorktree => take_up_abandoned(&self.manager, place, &record, ctx),
            _ => super::carried::taken_up(&self.manager, place, &record, ctx),
        };
        match taken_up {
            Ok(newer) => record = newer.unwrap_or(record),
            Err(error) if matches!(error.code(), Code::Aborted | Code::TimedOut) => return Err(error),
            Err(error) => {
                return Ok(Outcome::Kept(format!(
                    "its commit was cut short and cannot be finished: {error}"
                )));
            }
        }
        let unsaved = frozen::pictured(&self.manager, place, &record, ctx).and_then(|newer| {
            record = newer.unwrap_or_else(|| record.clone());
            self.unsaved(&record, ctx)
        });
        match unsaved {
            Ok(Some(false)) => {}
            Ok(Some(true)) => {
                let beside = named_beside(&beside(&record)?);
                return Ok(Outcome::Kept(format!("it holds unsaved work{beside}")));
            }
            Ok(None) => {
                return Ok(Outcome::Kept("it cannot be told whether it holds unsaved work".to_owned()));
            }
            Err(error) if matches!(error.code(), Code::Aborted | Code::TimedOut) => return Err(error),
            Err(error) => {
                let reason = format!("it cannot be told whether it holds unsaved work: {error}");
                return Ok(Outcome::Kept(reason));
            }
        }
        let never_used = record.status == SandboxStatus::Pending;
        if never_used {
            record.status =
                record.status.transition(SandboxStatus::Errored).map_err(super::handle::illegal)?;
        }
        if record.status != SandboxStatus::CleanedUp {
            record.status =
                record.status.transition(SandboxStatus::CleanedUp).map_err(super::handle::illegal)?;
            if !never_used {
                place.write(&record)?;
            }
        }
        let left = remove_files(&record, ctx)?;
        if never_used && record.holder.is_some() {
            // A baseline may be published that the record does not name yet.
            self.manager.delete_all_of(id)?;
        }
        forget(&self.manager, &record, ctx)?;
        drop(lock);
        place.remove(ctx)?;
        Ok(Outcome::Removed(left))
    }
}

enum Outcome {
    /// Somebody keeps it, or it is gone already.
    InUse,
    Removed(Remains),
    Kept(String),
}
