//! Puts what was staged into its place: always a new inode that is renamed, never a write into what is there.

use std::os::fd::AsFd as _;

use rustix::io::Errno;

use super::run::{Run, is_as_seen};
use crate::error::Result;
use crate::model::Reason;
use crate::restore::beneath::{Dir, Overwrite, settle_existing};
use crate::restore::plan::{Item, Role};
use crate::restore::stage::{Slot, wanted_xattrs};

impl Run<'_> {
    /// Everything that is made, replaced or given its metadata back, save what waits for a directory to go.
    pub(super) fn place_all(&mut self) -> Result<()> {
        let plan = self.plan;
        for (number, dir) in plan.dirs.iter().enumerate() {
            match &dir.role {
                Role::Keep { .. } => self.place_items(number)?,
                Role::Create { .. } => {
                    self.step()?;
                    let nested = dir
                        .parent
                        .is_some_and(|parent| self.staged.trees.get(parent).is_some_and(Option::is_some));
                    let placed = match (nested, dir.parent) {
                        (true, Some(parent)) => self.placed.get(parent).copied().unwrap_or(false),
                        _ => self.place_tree(number),
                    };
                    if placed {
                        self.placed_directory(number);
                    }
                }
                Role::Delete { .. } => {}
            }
        }
        Ok(())
    }

    fn place_items(&mut self, number: usize) -> Result<()> {
        let plan = self.plan;
        let Some(dir) = plan.dirs.get(number) else { return Ok(()) };
        let range = dir.items.clone();
        let due = |item: &Item| item.after.is_some() && item.replaces_dir.is_none();
        if !plan.items.get(range.clone()).is_some_and(|items| items.iter().any(due)) {
            return Ok(());
        }
        let held = match self.open_for_work(number) {
            Ok(held) => held,
            Err(errno) => {
                for index in range {
                    if let Some(item) = plan.items.get(index).filter(|item| due(item)) {
                        let path = self.path(number).join(&item.name);
                        self.refused(path, errno);
                    }
                }
                return Ok(());
            }
        };
        for index in range {
            let Some(item) = plan.items.get(index).filter(|item| due(item)) else { continue };
            self.step()?;
            let outcome = match self.slot(index) {
                Slot::InPlace => self.set_metadata(&held, item),
                Slot::Ready => self.place_leaf(&held, index, item),
                Slot::Idle | Slot::InTree | Slot::Failed => continue,
            };
            self.record(index, number, outcome);
        }
        Ok(())
    }

    fn record(&mut self, index: usize, number: usize, outcome: Result<(), Errno>) {
        match outcome {
            Ok(()) => {
                self.out.written += 1;
                self.written.push(index);
            }
            Err(errno) => {
                if let Some(item) = self.plan.items.get(index) {
                    let path = self.path(number).join(&item.name);
                    self.refused(path, errno);
                }
            }
        }
    }

    /// Renames one staged file, symlink or fifo into its place. `EXIST` stands for somebody else's change.
    fn place_leaf(&mut self, held: &Dir, index: usize, item: &Item) -> Result<(), Errno> {
        let overwrite = match (&item.before, item.replaces_dir) {
            (Some(before), None) => {
                if !is_as_seen(before, &held.lstat(&item.name)?) {
                    return Err(Errno::EXIST);
                }
                Overwrite::Yes
            }
            _ => Overwrite::No,
        };
        let (shelf, name) = self.staged.leaf(index)?;
        shelf.rename(&name, held, &item.name, overwrite)
    }

    /// Changes the metadata of a file that has no other name.
    fn set_metadata(&mut self, held: &Dir, item: &Item) -> Result<(), Errno> {
        let (Some(before), Some(after)) = (&item.before, &item.after) else { return Err(Errno::INVAL) };
        if !is_as_seen(before, &held.lstat(&item.name)?) {
            return Err(Errno::EXIST);
        }
        let opened = match held.open_existing(&item.name) {
            Err(Errno::ACCESS) => {
                held.unlock(&item.name, 0o600)?;
                held.open_existing(&item.name)?
            }
            other => other?,
        };
        let stat = rustix::fs::fstat(&opened)?;
        if stat.st_nlink != 1 && !item.unlock {
            return Err(Errno::EXIST);
        }
        let xattrs = wanted_xattrs(self.source, after.meta.xattrs).map_err(|_| Errno::IO)?;
        let refused = settle_existing(opened.as_fd(), &after.meta, &xattrs)?;
        if self.source.sync {
            rustix::fs::fsync(&opened)?;
        }
        let path = self.path(item.dir).join(&item.name);
        if let Some(words) = refused.words() {
            self.fail(path.clone(), Reason::MetadataRefused, Some(words));
        }
        // What could not be read was not compared: a length that differs shows that bytes differ too.
        if after.bytes().is_some_and(|bytes| u64::try_from(stat.st_size) != Ok(bytes)) {
            let detail = "it could not be read; it can now: roll back once more";
            self.fail(path, Reason::NotCaptured, Some(detail.to_owned()));
        }
        Ok(())
    }

    /// Renames a directory that was staged as a whole into its place. Returns whether it is there.
    fn place_tree(&mut self, number: usize) -> bool {
        let plan = self.plan;
        let path = self.path(number);
        let Some((dir, parent)) = plan.dirs.get(number).and_then(|dir| Some((dir, dir.parent?))) else {
            return false;
        };
        let Some(staged) = self.staged.trees.get(number).cloned().flatten() else { return false };
        let outcome = self.open_for_work(parent).and_then(|held| {
            let Some((shelf, name)) = staged.split() else { return Err(Errno::INVAL) };
            let area = self.staged.area.as_ref().ok_or(Errno::INVAL)?;
            area.forget(&staged);
            let shelf = area.dir(&shelf)?;
            let Role::Create { replaces: Some(before), .. } = &dir.role else {
                return shelf.rename(name, &held, &dir.name, Overwrite::No);
            };
            if !is_as_seen(before, &held.lstat(&dir.name)?) {
                return Err(Errno::EXIST);
            }
            // A directory cannot be renamed over a file: they change places, so that there is no moment without either.
            match shelf.exchange(name, &held, &dir.name) {
                Err(Errno::INVAL | Errno::NOSYS) => {}
                other => return other,
            }
            // The file steps aside, and back when the directory does not get in.
            let aside = [name, b"-old"].concat();
            held.rename(&dir.name, &shelf, &aside, Overwrite::No)?;
            shelf.rename(name, &held, &dir.name, Overwrite::No).inspect_err(|_| {
                if let Err(errno) = shelf.rename(&aside, &held, &dir.name, Overwrite::No) {
                    tracing::warn!(%errno, "a file that a directory was to replace could not be put back");
                }
            })
        });
        match outcome {
            Ok(()) => {
                self.root.forget(&path);
                self.touch(number);
                true
            }
            Err(errno) => {
                self.refused(path, errno);
                false
            }
        }
    }

    /// A directory that was made is in its place with what was staged in it.
    fn placed_directory(&mut self, number: usize) {
        if let Some(placed) = self.placed.get_mut(number) {
            *placed = true;
        }
        self.out.written += 1;
        let items = self.plan.dirs.get(number).map_or(0..0, |dir| dir.items.clone());
        for index in items {
            if self.slot(index) == Slot::InTree {
                self.out.written += 1;
                self.written.push(index);
            }
        }
    }

    /// What takes the place of directories that have gone.
    pub(super) fn place_successors(&mut self) -> Result<()> {
        let plan = self.plan;
        for (index, item) in plan.items.iter().enumerate() {
            let Some(old) = item.replaces_dir else { continue };
            self.step()?;
            if self.slot(index) != Slot::Ready {
                continue;
            }
            if !self.removed.get(old).copied().unwrap_or(false) {
                let path = self.path(item.dir).join(&item.name);
                let detail = "the directory in its place could not be removed";
                self.fail(path, Reason::WriteFailed, Some(detail.to_owned()));
                continue;
            }
            let outcome = self.open_for_work(item.dir).and_then(|held| self.place_leaf(&held, index, item));
            self.record(index, item.dir, outcome);
        }
        Ok(())
    }
}
