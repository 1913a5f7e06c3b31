//! Deletes what the checkpoint proves was not there and the safety checkpoint holds, the deepest first (C7).

use rustix::io::Errno;

use super::run::{Run, is_as_seen};
use crate::error::Result;
use crate::model::Reason;
use crate::restore::plan::{Act, Role};
use crate::restore::stage::Slot;

impl Run<'_> {
    /// All deletions.
    pub(super) fn remove_all(&mut self) -> Result<()> {
        let plan = self.plan;
        let spared = self.spared();
        // Directories in which something that was to go is still there.
        let mut held_back = vec![false; plan.dirs.len()];
        for (number, dir) in plan.dirs.iter().enumerate().rev() {
            let goes = matches!(dir.role, Role::Delete { .. });
            if spared.get(number).copied().unwrap_or(false) {
                continue;
            }
            let range = dir.items.clone();
            let has_deletions =
                plan.items.get(range.clone()).is_some_and(|items| items.iter().any(|i| i.act == Act::Delete));
            if !goes && !has_deletions {
                continue;
            }
            self.step()?;
            let mut left = held_back.get(number).copied().unwrap_or(false);
            if has_deletions {
                left |= self.remove_items(number)?;
            }
            if !goes {
                continue;
            }
            let gone = !left && self.remove_directory(number);
            if left {
                let path = self.path(number);
                self.keep(path, Reason::NotEmpty);
                self.touch(number);
            }
            if let (false, Some(held_back)) = (gone, dir.parent.and_then(|parent| held_back.get_mut(parent)))
            {
                *held_back = true;
            }
        }
        Ok(())
    }

    /// Directories that were to make place for something which cannot be restored: they stay with all they hold.
    fn spared(&self) -> Vec<bool> {
        let mut spared = vec![false; self.plan.dirs.len()];
        for (index, item) in self.plan.items.iter().enumerate() {
            if let (Some(old), Slot::Failed) = (item.replaces_dir, self.slot(index))
                && let Some(spared) = spared.get_mut(old)
            {
                *spared = true;
            }
        }
        for (number, dir) in self.plan.dirs.iter().enumerate() {
            let by_parent = dir.parent.is_some_and(|parent| spared.get(parent).copied().unwrap_or(false));
            if let (true, Some(spared)) = (by_parent, spared.get_mut(number)) {
                *spared = true;
            }
        }
        spared
    }

    /// Deletes the files of one directory; returns whether any is left.
    fn remove_items(&mut self, number: usize) -> Result<bool> {
        let plan = self.plan;
        let range = plan.dirs.get(number).map_or(0..0, |dir| dir.items.clone());
        let held = self.open_for_work(number);
        let mut left = false;
        for index in range {
            let Some(item) = plan.items.get(index).filter(|item| item.act == Act::Delete) else { continue };
            self.step()?;
            let outcome = held.as_ref().map_err(|errno| *errno).and_then(|held| {
                let seen = item
                    .before
                    .as_ref()
                    .is_some_and(|before| held.lstat(&item.name).is_ok_and(|stat| is_as_seen(before, &stat)));
                if seen { held.unlink(&item.name) } else { Err(Errno::EXIST) }
            });
            match outcome {
                Ok(()) => self.out.deleted += 1,
                // Somebody was quicker.
                Err(Errno::EXIST) if self.is_gone(number, &item.name) => self.out.deleted += 1,
                Err(errno) => {
                    left = true;
                    let path = self.path(number).join(&item.name);
                    self.refused(path, errno);
                }
            }
        }
        Ok(left)
    }

    fn is_gone(&self, number: usize, name: &[u8]) -> bool {
        let dir = self.root.dir(&self.path(number));
        dir.is_ok_and(|dir| matches!(dir.lstat_opt(name), Ok(None)))
    }

    /// Deletes a directory that is empty now; returns whether it is gone.
    fn remove_directory(&mut self, number: usize) -> bool {
        let plan = self.plan;
        let Some((dir, parent)) = plan.dirs.get(number).and_then(|dir| Some((dir, dir.parent?))) else {
            return false;
        };
        let path = self.path(number);
        self.root.forget(&path);
        match self.open_for_work(parent).and_then(|held| held.rmdir(&dir.name)) {
            Ok(()) => {
                if let Some(removed) = self.removed.get_mut(number) {
                    *removed = true;
                }
                // Of a directory that makes place for a file, the file's line tells.
                self.out.deleted += u64::from(!dir.then);
                true
            }
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                self.touch(number);
                self.concurrent(path);
                false
            }
            Err(errno) => {
                self.touch(number);
                self.refused(path, errno);
                false
            }
        }
    }
}
