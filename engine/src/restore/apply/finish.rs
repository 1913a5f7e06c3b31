//! The metadata of directories, the deepest first: whatever happened in them, their modes and times are the last thing that is set.

use rustix::io::Errno;

use super::run::Run;
use crate::error::{Error, Result};
use crate::model::Reason;
use crate::restore::beneath::settle_directory;
use crate::restore::plan::{Role, differs_visibly};
use crate::restore::stage::{SYNC_SINGLY, wanted_xattrs};

impl Run<'_> {
    /// Sets them all, also those that an early end has left writable. Nothing here hears of cancellation: it is short, and what is
    /// not finished would be left wrong.
    pub(super) fn finish_directories(&mut self) -> Result<()> {
        let plan = self.plan;
        let due: Vec<usize> = (0..plan.dirs.len()).rev().filter(|&number| self.is_due(number)).collect();
        let singly = self.options.sync && due.len() <= SYNC_SINGLY;
        for number in due {
            let Some(dir) = plan.dirs.get(number) else { continue };
            let path = self.path(number);
            let (want, xattrs_differ) = match &dir.role {
                Role::Keep { before, after } => {
                    (after, before.xattrs != after.xattrs || plan.fresh || dir.unlock)
                }
                Role::Create { after, .. } => (after, after.xattrs.is_some()),
                Role::Delete { before } => (before, false),
            };
            // A damaged list was listed while staging.
            let xattrs = xattrs_differ.then(|| wanted_xattrs(self.source, want.xattrs).ok()).flatten();
            let outcome = self.unlocked(number).and_then(|()| {
                let held = self.root.dir(&path)?;
                settle_directory(&held, want, xattrs.as_deref(), singly)
            });
            match outcome {
                Ok(refused) => {
                    if let Some(words) = refused.words() {
                        self.fail(path, Reason::MetadataRefused, Some(words));
                    } else if matches!(&dir.role, Role::Keep { before, after } if differs_visibly(before, after))
                    {
                        self.out.written += 1;
                    }
                }
                Err(errno) => self.refused(path, errno),
            }
        }
        if self.options.sync && !singly {
            let fd = self.root.top().readable().map_err(|errno| Error::io("opening the root", errno))?;
            rustix::fs::syncfs(fd).map_err(|errno| Error::io("writing the restored tree to disk", errno))?;
        }
        Ok(())
    }

    fn is_due(&self, number: usize) -> bool {
        let flag = |flags: &[bool]| flags.get(number).copied().unwrap_or(false);
        let Some(dir) = self.plan.dirs.get(number) else { return false };
        match &dir.role {
            Role::Keep { before, after } => flag(&self.touched) || before != after || dir.unlock,
            // Those inside a staged one have theirs already.
            Role::Create { .. } => flag(&self.touched) && flag(&self.placed),
            Role::Delete { .. } => flag(&self.touched) && !flag(&self.removed),
        }
    }

    /// A directory that cannot be entered is opened up for its owner, so that its metadata can be set.
    fn unlocked(&self, number: usize) -> Result<(), Errno> {
        let Some(dir) = self.plan.dirs.get(number).filter(|dir| dir.unlock) else { return Ok(()) };
        let parent = self.root.dir(&self.path(dir.parent.unwrap_or(0)))?;
        parent.unlock(&dir.name, 0o700).map(|_| ())
    }
}
