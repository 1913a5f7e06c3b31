//! Making a worktree. The record that lists all of it is written first, and taken off last (S9).

use std::path::Path;

use turnback_core::{Millis, Phase, SandboxStatus};

use super::checkout::{check_out, write_index};
use super::index::PrivateIndex;
use super::registration::{Registered, branch_name};
use super::repository::Repository;
use super::settings::Settings;
use super::{GitInfo, GitWorktreeSandbox, files, seeds};
use crate::checkpoint::baseline::BASELINE_LABEL;
use crate::checkpoint::{CreateRequest, Manager};
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::restore::Root;
use crate::sandbox::copy_on_write::{make_root, planned, refuse_inside_sandbox};
use crate::sandbox::locations;
use crate::sandbox::names::{MechanismChoice, StrategyName};
use crate::sandbox::options::SandboxOptions;
use crate::sandbox::record::Record;
use crate::sandbox::registry::{Place, Registry};
use crate::sandbox::removal::{plan_of, remove_files};
use crate::store::{Durability, FileLock};

impl GitWorktreeSandbox {
    /// Makes one.
    pub(in crate::sandbox) fn create(
        manager: &Manager,
        options: &SandboxOptions,
        detached_until: Option<Millis>,
        ctx: &Context,
    ) -> Result<Self> {
        if options.mechanism != MechanismChoice::Auto {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("`{}` sandboxes have no mechanism", StrategyName::GitWorktree),
                "leave the mechanism out, or use the strategy `copy_on_write`",
            ));
        }
        let resource = manager.check_resource(&options.resource)?;
        let repository = Repository::open(&resource)?;
        let name = manager.fresh_id()?.to_string();
        let registered = Registered {
            common: repository.common.path().to_owned(),
            identity: repository.identity()?,
            branch: branch_name(&repository, &name)?,
            base: repository.tip(&repository.head()?)?,
            name,
            seeds: seeds::check(&resource, &options.seed)?,
            carried: options.carry_changes,
        };
        let store = manager.store_path();
        if manager.is_ephemeral()? {
            crate::sandbox::ephemeral::sweep(store);
        }
        let chosen = locations::choose(&resource, store, MechanismChoice::Copy, options.location.as_deref())?;
        let registry = Registry::of(manager);
        refuse_inside_sandbox(&registry, &chosen.base)?;
        let strategy = StrategyName::GitWorktree;
        let mut record =
            planned(manager, options, &resource, &chosen, detached_until, strategy, &registered.name)?;
        registered.put(&mut record.extra);
        let (place, lease) = registry.register(&record, ctx)?;
        let lock = place.lock_patiently(ctx)?;
        let making = Making { manager, place: &place, options, base: &chosen.base, repository, registered };
        match making.run(record.clone(), ctx) {
            Ok(record) => {
                drop(lock);
                Self::open(manager, place, &record, lease)
            }
            Err(error) => {
                if let Err(left) = unmake(manager, &place, &record, lock) {
                    tracing::warn!(error = %left, id = %record.id, "an unfinished sandbox stays listed");
                }
                Err(error)
            }
        }
    }
}

struct Making<'a> {
    manager: &'a Manager,
    place: &'a Place,
    options: &'a SandboxOptions,
    base: &'a Path,
    repository: Repository,
    registered: Registered,
}

impl Making<'_> {
    fn run(&self, mut record: Record, ctx: &Context) -> Result<Record> {
        let (root, fd) = make_root(&record, self.base)?;
        let sync = self.manager.durability()? == Durability::Power;
        let (repository, registered) = (&self.repository, &self.registered);
        let holder = record.holder.clone().unwrap_or_default();
        // Also tells whether this version can merge here later.
        let skipped = PrivateIndex::read(repository, &holder)?.skipped();
        Settings::read(repository, &record.resource)?.put(&mut record.extra);
        registered.make(repository, &record.path, sync)?;
        let tree = match registered.base {
            Some(base) => repository.objects.tree(Some(repository.objects.commit(base)?.tree))?,
            None => repository.objects.tree(None)?,
        };
        let done = check_out(&repository.objects, &tree, &root, &record.resource, ctx)?;
        files::create(root.top(), b".git", 0o666, &registered.link(), false)
            .map_err(|e| Error::io("writing the worktree's `.git`", e).at(&record.path))?;
        write_index(&registered.directory().join("index"), &done.written)?;
        let resource = Root::open(&record.resource)?;
        if self.options.carry_changes {
            seeds::carry(repository, &tree, &skipped, &resource, &root, ctx)?;
        }
        seeds::plant(&resource, &root, &registered.seeds, ctx)?;
        if sync {
            // After a power cut, files that are not as the baseline has them would look like the agent's work.
            rustix::fs::syncfs(&fd).map_err(|e| Error::io("syncing the sandbox", e).at(&record.path))?;
        }
        let mut request = CreateRequest::new(plan_of(record.plan_id.as_ref())?, Phase::Manual);
        request.label = Some(BASELINE_LABEL.to_owned());
        request.max_files = self.options.max_files;
        let baseline = self.manager.create_before(&record.path, request, ctx)?.checkpoint_id;
        self.manager.set_pinned(baseline, true)?;
        ctx.check()?;
        record.baseline = Some(baseline);
        record.copied.copied_files = done.written.len() as u64;
        record.copied.absolute_links = done.absolute_links.len() as u64;
        record.absolute_links = done.absolute_links.iter().take(super::info::LISTED).cloned().collect();
        record.extra.insert("git_lfs".to_owned(), GitInfo::stored(&done.lfs));
        record.extra.insert("git_submodules".to_owned(), GitInfo::stored(&done.submodules));
        record.status =
            record.status.transition(SandboxStatus::Created).map_err(crate::sandbox::handle::illegal)?;
        self.place.write(&record)?;
        Ok(record)
    }
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
