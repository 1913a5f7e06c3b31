//! An isolated copy of a directory (S5). Its baseline is taken in the same pass and never moves with the resource.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use turnback_core::{Millis, SandboxStatus};

use super::carried;
use super::commit::{CommitOptions, CommitReport};
use super::copier::Copier;
use super::frozen;
use super::git_worktree::check_resource;
use super::handle::{Handle, Locked};
use super::lease::Lease;
use super::locations::{self, Chosen};
use super::names::{Mechanism, MechanismChoice, StrategyName};
use super::options::SandboxOptions;
use super::record::{CopiedRecord, Record};
use super::registry::{Place, Registry};
use super::removal::{plan_of, remove_files};
use super::strategy::Sandbox;
use crate::change::Change;
use crate::checkpoint::baseline::{BaselineRequest, wall_clock};
use crate::checkpoint::{DiffTo, Manager, RollbackRequest};
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::report::RollbackReport;
use crate::restore::{Dir, GitMode, Root};
use crate::store::{Durability, FileLock};

/// How often the directory of sandboxes is made when it goes meanwhile.
const ATTEMPTS: u32 = 16;

/// A copy that shares its blocks with the resource where the file system can.
#[derive(Debug)]
pub struct CopyOnWriteSandbox {
    handle: Handle,
}

impl CopyOnWriteSandbox {
    pub(super) fn create(
        manager: &Manager,
        options: &SandboxOptions,
        detached_until: Option<Millis>,
        ctx: &Context,
    ) -> Result<Self> {
        let resource = manager.check_resource(&options.resource)?;
        check_resource(&resource)?;
        let store = manager.store_path();
        if manager.is_ephemeral()? {
            super::ephemeral::sweep(store);
        }
        let mut chosen = locations::choose(&resource, store, options.mechanism, options.location.as_deref())?;
        if options.max_files.is_some() && chosen.mechanism == Mechanism::Btrfs {
            // Nobody counts what a snapshot has.
            if options.mechanism == MechanismChoice::Btrfs {
                let reason = "a limit of paths (`maxFiles`) cannot be kept by a snapshot".to_owned();
                return Err(locations::unsupported(options.mechanism, &[reason]));
            }
            chosen.mechanism = Mechanism::Reflink;
        }
        let registry = Registry::of(manager);
        refuse_inside_sandbox(&registry, &chosen.base)?;
        // Nobody can guess the name, and no two are the same (S9).
        let name = manager.fresh_id()?.to_string();
        let strategy = StrategyName::CopyOnWrite;
        let planned = planned(manager, options, &resource, &chosen, detached_until, strategy, &name)?;
        let record = Record { mechanism: Some(chosen.mechanism), ..planned };
        let (place, lease) = registry.register(&record, ctx)?;
        let lock = place.lock_patiently(ctx)?;
        let making = Making { manager, place: &place, options, chosen: &chosen };
        match making.run(record.clone(), ctx) {
            Ok(record) => {
                drop(lock);
                Ok(Self::open(manager, place, &record, lease))
            }
            Err(error) => {
                if let Err(left) = unmake(manager, &place, &record, lock) {
                    tracing::warn!(error = %left, id = %record.id, "an unfinished sandbox stays listed");
                }
                Err(error)
            }
        }
    }

    pub(super) fn open(manager: &Manager, place: Place, record: &Record, lease: Lease) -> Self {
        Self { handle: Handle::new(manager, place, record, lease) }
    }
}

/// A sandbox in a sandbox's own tree would be part of that one's work.
pub(super) fn refuse_inside_sandbox(registry: &Registry, base: &Path) -> Result<()> {
    for id in registry.ids()? {
        let other = registry.place(&id).read().ok().flatten();
        if let Some(other) = other.filter(|other| other.holder.is_some() && base.starts_with(&other.path)) {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("the location for sandboxes lies in the sandbox {}", other.id),
                "give a location outside of sandboxes (`location`, --location)",
            )
            .at(base));
        }
    }
    Ok(())
}

/// The record of a sandbox that is to be made in a directory called `name`.
pub(super) fn planned(
    manager: &Manager,
    options: &SandboxOptions,
    resource: &Path,
    chosen: &Chosen,
    detached_until: Option<Millis>,
    strategy: StrategyName,
    name: &str,
) -> Result<Record> {
    let holder = chosen.base.join(name);
    let path = holder.join(resource.file_name().unwrap_or_else(|| std::ffi::OsStr::new("workspace")));
    Ok(Record {
        id: manager.id_at(&path)?,
        strategy,
        mechanism: None,
        plan_id: options.plan_id.clone(),
        resource: resource.to_owned(),
        resource_root: Some(manager.identity_at(resource)?),
        path,
        holder: Some(holder),
        own_base: chosen.own,
        status: SandboxStatus::Pending,
        baseline: None,
        detached_until,
        created_at: wall_clock(),
        absolute_links: Vec::new(),
        copied: CopiedRecord::default(),
        extra: std::collections::BTreeMap::new(),
    })
}

struct Making<'a> {
    manager: &'a Manager,
    place: &'a Place,
    options: &'a SandboxOptions,
    chosen: &'a Chosen,
}

impl Making<'_> {
    /// Makes a sandbox that is registered: directory, copy and baseline in one pass, and then the record that says that it is there.
    fn run(&self, mut record: Record, ctx: &Context) -> Result<Record> {
        let mut mechanism = self.chosen.mechanism;
        if mechanism == Mechanism::Btrfs {
            match self.snapshot(record.clone(), ctx) {
                Err(error)
                    if self.options.mechanism == MechanismChoice::Auto
                        && error.code() == Code::UnsupportedFilesystem =>
                {
                    tracing::debug!(%error, "no snapshot; blocks are shared file by file");
                    remove_files(&record, ctx)?;
                    mechanism = Mechanism::Reflink;
                    record.mechanism = Some(mechanism);
                }
                other => return other,
            }
        }
        let (root, fd) = make_root(&record, &self.chosen.base)?;
        let copier = Copier::new(root, &fd, mechanism, record.resource.as_os_str().as_bytes());
        let plan_id = plan_of(record.plan_id.as_ref())?;
        let request = BaselineRequest {
            resource: &record.resource,
            sandbox: &record.path,
            root: &fd,
            mirror: &copier,
            plan_id: &plan_id,
            max_files: self.options.max_files,
        };
        let baseline = self.manager.take_baseline(&request, ctx)?;
        if self.manager.durability()? == Durability::Power {
            // After a power cut, files that are not as the baseline has them would look like the agent's work.
            rustix::fs::syncfs(&fd).map_err(|e| Error::io("syncing the sandbox", e).at(&record.path))?;
        }
        copier.let_clock_move();
        ctx.check()?;
        (record.copied, record.absolute_links) = copier.finish();
        record.baseline = Some(baseline.checkpoint_id);
        record.status = record.status.transition(SandboxStatus::Created).map_err(super::handle::illegal)?;
        self.place.write(&record)?;
        Ok(record)
    }

    /// Takes two snapshots: the one to work in, and the frozen one that its baseline is pictured from when it is first needed (W6).
    fn snapshot(&self, mut record: Record, ctx: &Context) -> Result<Record> {
        let holder = make_holder(&record, &self.chosen.base)?;
        let at = {
            // Nobody rolls the resource back in between.
            let _held = self.manager.hold_workspace(&record.resource, ctx)?;
            frozen::take(&record, &holder)?
        };
        ctx.check()?;
        frozen::note(&mut record, at);
        record.status = record.status.transition(SandboxStatus::Created).map_err(super::handle::illegal)?;
        self.place.write(&record)?;
        Ok(record)
    }
}

/// Makes the private directory and the empty root in it.
pub(super) fn make_root(record: &Record, base: &Path) -> Result<(Root, OwnedFd)> {
    let inside = make_holder(record, base)?;
    let failed = |errno| Error::io("making the sandbox's directory", errno).at(&record.path);
    let root_name = record.path.file_name().map(|n| n.as_bytes().to_vec()).unwrap_or_default();
    inside.mkdir(&root_name, 0o700).map_err(failed)?;
    let top = inside.dir(&root_name).map_err(failed)?;
    let fd = top.readable().map_err(failed)?;
    Ok((Root::from_dir(top, record.path.clone()), fd))
}

/// Makes the private directory around a sandbox.
fn make_holder(record: &Record, base: &Path) -> Result<Dir> {
    let Some(holder) = &record.holder else {
        return Err(Error::new(Code::Io, "the sandbox has no place", "please report this"));
    };
    let failed = |errno| Error::io("making the sandbox's directory", errno).at(&record.path);
    let name = |path: &Path| path.file_name().map(|n| n.as_bytes().to_vec()).unwrap_or_default();
    let holder_name = name(holder);
    let mut attempt = 0;
    let base = loop {
        attempt += 1;
        let made = locations::make_base(base, record.own_base).and_then(|()| Root::open(base));
        let made = made.and_then(|root| root.top().mkdir(&holder_name, 0o700).map(|()| root).map_err(failed));
        match made {
            Ok(root) => break root,
            // Another sandbox went just now and took the empty directory with it.
            Err(error) if error.code() == Code::NotFound && attempt < ATTEMPTS => {}
            Err(error) => return Err(error),
        }
    };
    let inside = base.top().dir(&holder_name).map_err(failed)?;
    inside.become_private().map_err(failed)?;
    Ok(inside)
}

/// Takes everything back that was made of a sandbox that failed.
fn unmake(manager: &Manager, place: &Place, record: &Record, lock: Option<FileLock>) -> Result<()> {
    // Also after the caller cancelled: this has to be done.
    let ctx = Context::default();
    remove_files(record, &ctx)?;
    manager.delete_all_of(&record.id)?;
    manager.forget_workspace(&record.id, &ctx)?;
    drop(lock);
    place.remove(&ctx)
}

impl Sandbox for CopyOnWriteSandbox {
    fn handle(&self) -> &Handle {
        &self.handle
    }

    fn compare(&self, at: &Locked<'_>, ctx: &Context) -> Result<Vec<Change>> {
        at.handle().manager().diff(at.baseline()?, DiffTo::Now, ctx)
    }

    fn has_unsaved(&self, at: &Locked<'_>, ctx: &Context) -> Result<bool> {
        at.handle().manager().differs(at.baseline()?, ctx)
    }

    fn take_up(&self, at: &mut Locked<'_>, ctx: &Context) -> Result<()> {
        carried::take_up(at, ctx)
    }

    fn know_baseline(&self, at: &mut Locked<'_>, ctx: &Context) -> Result<()> {
        frozen::know(at, ctx)
    }

    fn commit(&self, options: &CommitOptions, ctx: &Context) -> Result<CommitReport> {
        carried::commit(&self.handle, options, ctx)
    }

    fn foresee(&self, options: &CommitOptions, ctx: &Context) -> Result<CommitReport> {
        carried::foresee(&self.handle, options, ctx)
    }

    fn undo_commit(&self, ctx: &Context) -> Result<RollbackReport> {
        carried::undo(&self.handle, ctx)
    }

    fn put_back(&self, at: &Locked<'_>, ctx: &Context) -> Result<RollbackReport> {
        put_back_copy(at, ctx)
    }
}

/// Puts a directory of ours back to its baseline.
pub(super) fn put_back_copy(at: &Locked<'_>, ctx: &Context) -> Result<RollbackReport> {
    clear_place(at.handle().path())?;
    let (manager, baseline) = (at.handle().manager(), at.baseline()?);
    manager.refuse_mounted_over(baseline)?;
    // The directory is ours whoever replaced it, and so is every `.git` in it (C7).
    let request =
        RollbackRequest { git: GitMode::Exact, allow_replaced_root: true, ..RollbackRequest::default() };
    let report = manager.rollback(baseline, request, ctx)?;
    manager.adopt_root(baseline)?;
    Ok(report)
}

/// Removes a link that lies where the root was; the root is then made anew. Anything else that is no directory is somebody's work.
fn clear_place(path: &Path) -> Result<()> {
    let Some((holder, name)) = path.parent().zip(path.file_name()) else { return Ok(()) };
    let holder = Root::open(holder)?;
    let failed = |errno| Error::io("looking at the sandbox's root", errno).at(path);
    match holder.top().lstat_opt(name.as_bytes()).map_err(failed)? {
        Some(stat) if rustix::fs::FileType::from_raw_mode(stat.st_mode).is_symlink() => {
            holder.top().unlink(name.as_bytes()).map_err(failed)
        }
        _ => Ok(()),
    }
}
