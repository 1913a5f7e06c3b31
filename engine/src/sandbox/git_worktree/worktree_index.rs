//! The index of the sandbox's own worktree after a commit, so that git there shows what is left. Nothing here depends on it.

use super::changed::Changed;
use super::checkout::index_entry;
use super::local;
use super::local_changes::as_path;
use super::refusal::git;
use super::registration::Registered;
use super::repository::Repository;
use crate::error::Result;
use crate::restore::Root;

/// Brings the entries of committed paths up to date, where the worktree is still on the sandbox's branch. What fails is only logged.
pub(super) fn refresh(repository: &Repository, registered: &Registered, sandbox: &Root, changed: &Changed) {
    if let Err(error) = try_refresh(repository, registered, sandbox, changed) {
        tracing::info!(%error, "git shows committed paths as changed in the sandbox until its index is refreshed");
    }
}

fn try_refresh(
    repository: &Repository,
    registered: &Registered,
    sandbox: &Root,
    changed: &Changed,
) -> Result<()> {
    let directory = registered.directory();
    let dir = Root::open(&directory)?;
    let head = super::files::read(dir.top(), "HEAD")?.unwrap_or_default();
    let is_ours = head == format!("ref: {}\n", registered.branch).as_bytes();
    if !is_ours || repository.resolve(&registered.branch)?.is_none() || changed.items.is_empty() {
        return Ok(());
    }
    let failed = |e| git("refreshing the worktree's index", e);
    let mut index = git2::Index::open(&directory.join("index")).map_err(failed)?;
    for (path, item) in &changed.items {
        match (item, local::read(sandbox, path)?) {
            (Some(item), Some(local)) if local.oid()? == item.oid => {
                index.add(&index_entry(path, *item, &local.stat)).map_err(failed)?;
            }
            (None, _) if index.get_path(as_path(path), 0).is_some() => {
                index.remove(as_path(path), 0).map_err(failed)?;
            }
            _ => {}
        }
    }
    index.write().map_err(failed)
}
