//! No isolation: writes go straight to the resource (S1, S12).

use turnback_core::{Millis, SandboxStatus};

use super::commit::{CommitOptions, CommitReport};
use super::handle::{Handle, Locked, no_baseline};
use super::lease::Lease;
use super::names::{MechanismChoice, StrategyName};
use super::options::SandboxOptions;
use super::record::{CopiedRecord, Record};
use super::registry::{Place, Registry};
use super::strategy::Sandbox;
use crate::change::Change;
use crate::checkpoint::Manager;
use crate::checkpoint::baseline::wall_clock;
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::report::RollbackReport;

/// A directory in place. It has no baseline: only a checkpoint can bring an earlier state back.
#[derive(Debug)]
pub struct NoSandbox {
    handle: Handle,
}

impl NoSandbox {
    pub(super) fn create(
        manager: &Manager,
        options: &SandboxOptions,
        detached_until: Option<Millis>,
        ctx: &Context,
    ) -> Result<Self> {
        let refused = |option: &str| {
            Error::new(
                Code::InvalidArgument,
                format!("`{option}` says nothing to a sandbox of strategy `none`"),
                format!("leave it out, or use the strategy `{}`", StrategyName::CopyOnWrite),
            )
        };
        if options.mechanism != MechanismChoice::Auto {
            return Err(refused("mechanism"));
        }
        if options.location.is_some() {
            return Err(refused("location"));
        }
        let resource = manager.check_resource(&options.resource)?;
        // Several may work in one directory: the id is this sandbox's own.
        let id = format!("none-{}", manager.fresh_id()?)
            .parse()
            .map_err(|e| Error::new(Code::Io, "the sandbox has no id", "please report this").because(e))?;
        let record = Record {
            id,
            strategy: StrategyName::None,
            mechanism: None,
            plan_id: options.plan_id.clone(),
            resource: resource.clone(),
            resource_root: None,
            path: resource,
            holder: None,
            own_base: false,
            // There is nothing to make.
            status: SandboxStatus::Created,
            baseline: None,
            detached_until,
            created_at: wall_clock(),
            absolute_links: Vec::new(),
            copied: CopiedRecord::default(),
            extra: std::collections::BTreeMap::new(),
        };
        let (place, lease) = Registry::of(manager).register(&record, ctx)?;
        Ok(Self::open(manager, place, &record, lease))
    }

    pub(super) fn open(manager: &Manager, place: Place, record: &Record, lease: Lease) -> Self {
        Self { handle: Handle::new(manager, place, record, lease) }
    }
}

impl Sandbox for NoSandbox {
    fn handle(&self) -> &Handle {
        &self.handle
    }

    fn compare(&self, _at: &Locked<'_>, _ctx: &Context) -> Result<Vec<Change>> {
        Err(no_baseline(StrategyName::None))
    }

    /// Everything is in the resource, where it stays.
    fn has_unsaved(&self, _at: &Locked<'_>, _ctx: &Context) -> Result<bool> {
        Ok(false)
    }

    /// Everything is in the resource already.
    fn commit(&self, _options: &CommitOptions, ctx: &Context) -> Result<CommitReport> {
        let mut at = self.handle.locked(ctx)?;
        at.record()?;
        at.use_()?;
        at.become_(SandboxStatus::Committed)?;
        Ok(CommitReport { committed: true, ..CommitReport::default() })
    }

    fn foresee(&self, _options: &CommitOptions, _ctx: &Context) -> Result<CommitReport> {
        Ok(CommitReport::default())
    }

    fn undo_commit(&self, _ctx: &Context) -> Result<RollbackReport> {
        Err(no_baseline(StrategyName::None))
    }

    fn put_back(&self, _at: &Locked<'_>, _ctx: &Context) -> Result<RollbackReport> {
        Err(no_baseline(StrategyName::None))
    }
}
