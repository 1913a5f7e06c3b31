//! Whether a directory is still the one that a sandbox knows (C5): before anything is written to it, or taken from it as somebody's work.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use turnback_core::CheckpointId;

use super::manager::{Inner, Manager};
use super::workspace::{Workspace, identity};
use crate::error::{Code, Error, Result};
use crate::store::Identity;
use crate::tree::sys;

impl Manager {
    /// What identifies the directory at a canonical path.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(crate) fn identity_at(&self, canonical: &Path) -> Result<Identity> {
        identity(&Workspace::at(canonical.to_owned())?.open()?)
    }

    /// Refuses a resource that is another directory than the one that the sandbox at `sandbox` was made of. One that is missing is not
    /// refused here.
    ///
    /// # Errors
    /// `WORKSPACE_REPLACED`, and when it cannot be told.
    pub(crate) fn check_resource_root(&self, resource: &Path, then: Identity, sandbox: &Path) -> Result<()> {
        let inner = self.open_inner()?;
        let resource = Workspace::at(resource.to_owned())?;
        match resource.open_if_there()? {
            None => Ok(()),
            Some(root) => inner.check_resource_root(&resource, &root, then, sandbox),
        }
    }

    /// Refuses a sandbox's root in whose place another directory stands than the one that its baseline is of, or one that a rollback made
    /// in its place. One that is missing is not refused here.
    ///
    /// # Errors
    /// `WORKSPACE_REPLACED`, and when it cannot be told.
    pub(crate) fn check_sandbox_root(&self, baseline: CheckpointId) -> Result<()> {
        let inner = self.open_inner()?;
        let then = inner.catalog.require(baseline)?;
        let sandbox = Workspace::at(then.parsed.workspace.clone())?;
        match sandbox.open_if_there()? {
            None => Ok(()),
            Some(root) => inner.check_sandbox_root(&sandbox, &root, then.record.identity),
        }
    }

    /// Refuses a sandbox's root that something else is mounted over: that is somebody's, and nothing is deleted through a mount.
    ///
    /// # Errors
    /// `WORKSPACE_REPLACED`, and when it cannot be told.
    pub(crate) fn refuse_mounted_over(&self, baseline: CheckpointId) -> Result<()> {
        let inner = self.open_inner()?;
        let then = inner.catalog.require(baseline)?;
        let sandbox = Workspace::at(then.parsed.workspace.clone())?;
        let Some(root) = sandbox.open_if_there()? else { return Ok(()) };
        if sandbox.is_same_root(inner.layout(), then.record.identity, identity(&root)?) {
            return Ok(());
        }
        match is_mount(&root)? {
            true => Err(mounted_over(&sandbox.path)),
            false => Ok(()),
        }
    }

    /// Notes that what stands at a baseline's path counts as what the baseline is of.
    ///
    /// # Errors
    /// When it cannot be opened or noted.
    pub(crate) fn adopt_root(&self, baseline: CheckpointId) -> Result<()> {
        let inner = self.open_inner()?;
        let then = inner.catalog.require(baseline)?;
        let sandbox = Workspace::at(then.parsed.workspace.clone())?;
        let now = identity(&sandbox.open()?)?;
        match sandbox.is_same_root(inner.layout(), then.record.identity, now) {
            true => Ok(()),
            false => sandbox.adopt(inner.layout(), then.record.identity, now),
        }
    }
}

fn is_mount(root: &OwnedFd) -> Result<bool> {
    sys::is_mount_root(root.as_fd()).map_err(|e| Error::io("looking at the sandbox's root", e))
}

fn mounted_over(path: &Path) -> Error {
    Error::new(
        Code::WorkspaceReplaced,
        "something is mounted over the sandbox's root",
        "unmount it and try again; nothing of it is the sandbox's",
    )
    .at(path)
}

impl Inner {
    /// As [`Manager::check_resource_root`], of an open root: nobody can put another one in its place after the answer.
    pub(super) fn check_resource_root(
        &self,
        resource: &Workspace,
        root: &OwnedFd,
        then: Identity,
        sandbox: &Path,
    ) -> Result<()> {
        if resource.is_same_root(self.layout(), then, identity(root)?) {
            return Ok(());
        }
        Err(Error::new(
            Code::WorkspaceReplaced,
            "another directory stands in the place of the resource that the sandbox was made of",
            format!(
                "put that one back and try again, or copy the work by hand from the sandbox's directory ({}), which is untouched",
                sandbox.display()
            ),
        )
        .at(&resource.path))
    }
    /// As [`Manager::check_sandbox_root`], of an open root.
    pub(super) fn check_sandbox_root(
        &self,
        sandbox: &Workspace,
        root: &OwnedFd,
        then: Identity,
    ) -> Result<()> {
        if sandbox.is_same_root(self.layout(), then, identity(root)?) {
            return Ok(());
        }
        if is_mount(root)? {
            return Err(mounted_over(&sandbox.path));
        }
        Err(Error::new(
            Code::WorkspaceReplaced,
            "another directory stands in the place of the sandbox's root",
            "put the sandbox's own back; or roll the sandbox back, which stores a checkpoint of what stands there, and roll back to that \
             one to go on with it",
        )
        .at(&sandbox.path))
    }
}
