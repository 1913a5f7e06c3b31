//! Brings what is about to be replaced or deleted to the disk: after a power cut a journal finds it as it was, and not as an older state
//! that nobody can tell from somebody's change (P2, P3).

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use rustix::io::Errno;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::model::Node;
use crate::restore::beneath::Root;
use crate::restore::plan::{Item, Plan, Role, State};
use crate::restore::stage::SYNC_SINGLY;

/// Syncs the files of a plan's state before; many of them by one sync of the file system.
///
/// # Errors
/// The system's error, `ABORTED`, `TIMED_OUT`.
pub(crate) fn sync_before(root: &Root, plan: &Plan, pool: &rayon::ThreadPool, ctx: &Context) -> Result<()> {
    let is_file = |state: &State| matches!(state.node, Node::File { .. });
    let replaced = plan
        .dirs
        .iter()
        .filter(|dir| matches!(&dir.role, Role::Create { replaces: Some(_), .. } | Role::Delete { .. }));
    let items: Vec<&Item> =
        plan.items.iter().filter(|item| item.before.as_ref().is_some_and(is_file)).collect();
    ctx.check()?;
    if items.len() > SYNC_SINGLY || replaced.count() > 0 {
        let fd =
            root.top().readable().map_err(|errno| Error::io("opening the root", errno).at(root.path()))?;
        return rustix::fs::syncfs(fd).map_err(|errno| Error::io("writing the workspace to disk", errno));
    }
    let paths = plan.dir_paths();
    let one = |item: &&Item| -> Result<()> {
        let synced = paths
            .get(item.dir)
            .ok_or(Errno::INVAL)
            .and_then(|path| root.dir(path)?.open_existing(&item.name))
            .and_then(rustix::fs::fsync);
        match synced {
            Err(errno @ (Errno::IO | Errno::NOSPC | Errno::DQUOT)) => {
                Err(Error::io("writing a file of the workspace to disk", errno).at(root.path()))
            }
            // What cannot be opened, or has gone, is the work's own business.
            _ => Ok(()),
        }
    };
    pool.install(|| items.par_iter().map(one).collect())
}
