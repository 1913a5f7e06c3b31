//! Removing checkpoints and what nobody reaches any more (C9). The bytes are really gone: their blocks are given back and what is left
//! of them reads as zeros.
//!
//! What is needed is found out while others go on working; the store is held alone only for steps that rename (C10), and each step
//! first counts what was published since. So nothing goes that a checkpoint needs, published or being written (P8, input 55).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use turnback_core::CheckpointId;

use super::budget::Budget;
use super::catalog::{Catalog, Published};
use super::layout::Layout;
use super::lock::{FileLock, LockKind, Patience, StoreAlone, own_store, share_store};
use super::mark::Marked;
use super::pack_set::PackSet;
use super::reach::STAYS;
use super::shrink::{Leftover, Shrink};
use super::{files, grave, keep, removals};
use crate::context::Context;
use crate::error::{Code, Error, Result};

/// How long a step may hold the store alone before it lets others in.
const STEP: Duration = Duration::from_millis(20);
/// How long what was published since may be followed while the store is held alone.
const CATCH_UP: Duration = Duration::from_millis(15);
/// Who holds the store alone lets others in soon.
const SHARE: Duration = Duration::from_secs(30);
/// So many checkpoints leave the catalog in one step at most.
const UNLISTED: usize = 16;
/// So many bytes of new indexes are prepared at once.
const PREPARED: u64 = 4 << 20;

/// What a removal has to ask of those who know more than the store. Both are called while the store is held alone.
pub struct Hooks<'a> {
    /// How many of the first ones may go now, whatever was known of them when they were chosen. Fails when nothing must go then.
    pub may_go: &'a dyn Fn(&[CheckpointId]) -> Result<usize>,
    /// A checkpoint was taken out of the catalog: removes what else is kept of it and tells how many bytes that freed.
    pub unlisted: &'a dyn Fn(&Published) -> Result<u64>,
}

/// What a removal did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Removed {
    /// The checkpoints that are gone, in the order in which they went.
    pub deleted: Vec<CheckpointId>,
    /// Bytes that the disk got back.
    pub freed_bytes: u64,
}

/// The one who removes: one for each store at any time.
#[derive(Debug)]
pub struct Collector<'a> {
    pub(super) layout: &'a Layout,
    pub(super) catalog: &'a Catalog,
    pub(super) packs: &'a PackSet,
    budget: &'a Budget,
    patience: Patience,
    pub(super) ctx: &'a Context,
    _alone: FileLock,
}

impl<'a> Collector<'a> {
    /// Becomes the one who removes. No lock of the store may be held.
    ///
    /// # Errors
    /// `BUSY` while another one removes, `ABORTED`, `TIMED_OUT`.
    pub fn begin(
        layout: &'a Layout,
        catalog: &'a Catalog,
        packs: &'a PackSet,
        budget: &'a Budget,
        patience: Patience,
        ctx: &'a Context,
    ) -> Result<Self> {
        let alone = FileLock::acquire(&layout.removal_lock(), LockKind::Exclusive, patience, ctx)?;
        Ok(Self { layout, catalog, packs, budget, patience, ctx, _alone: alone })
    }

    pub(super) fn share(&self) -> Result<FileLock> {
        let lock = share_store(self.layout, Patience::Wait(SHARE), self.ctx)?;
        self.packs.refresh()?;
        Ok(lock)
    }

    fn own(&self) -> Result<StoreAlone> {
        own_store(self.layout, self.patience, self.ctx)
    }

    /// Removes the first `count` checkpoints of the order, and everything that nobody needs. One that must not go any more ends it:
    /// that one and all behind it stay.
    ///
    /// A crash before a checkpoint's rename changes nothing, one after it leaves garbage that the next call removes.
    ///
    /// # Errors
    /// `CORRUPT` when one that stays is damaged and a sound one is to go: its bytes would stay, and it must not be said that they are gone.
    /// Damaged ones may go in any order; what they share with others that are damaged goes with the last of them. `BUSY`, `ABORTED`,
    /// `TIMED_OUT` (some may be gone then), or the system's error.
    pub fn remove(&self, mut marked: Marked<'_>, count: usize, hooks: &Hooks<'_>) -> Result<Removed> {
        let mut removed = Removed::default();
        let doomed: VecDeque<_> = marked.order.iter().take(count).copied().collect();
        let obstacle = marked.obstacle(count).map(str::to_owned);
        if let Some(why) = &obstacle {
            marked.refuse_obstacle(count)?;
            tracing::warn!(why, "a checkpoint is damaged; nothing is erased as long as it is there");
        }
        self.remove_second_names()?;
        let count = self.unlist_all(&mut marked, obstacle.is_some(), doomed, hooks, &mut removed)?;
        // Fewer may have gone: then another one stays of which nobody knows what it needs.
        if marked.obstacle(count).is_none() {
            self.shrink_all(&mut marked, count, &mut removed)?;
            keep::forget_removed(self.layout)?;
        }
        self.packs.refresh()?;
        Ok(removed)
    }

    /// Takes checkpoints out of the catalog without looking who needs their objects: their packs stay until the next removal, so that it
    /// costs a few renames. The store is held alone once, for a moment.
    ///
    /// # Errors
    /// `BUSY`, `DISK_FULL`, or the system's error; some may be gone then.
    pub fn unlist(&self, ids: &[CheckpointId], hooks: &Hooks<'_>) -> Result<Removed> {
        self.remove_second_names()?;
        let mut removed = Removed::default();
        let mut graves = Vec::new();
        let ids = &ids[..ids.len().min(UNLISTED)];
        let done = {
            let _alone = self.own()?;
            let ids = &ids[..(hooks.may_go)(ids)?];
            ids.iter()
                .try_for_each(|&id| {
                    keep::note_removed(self.layout, id).and_then(|()| keep::keep(self.layout, id))
                })
                .and_then(|()| self.unlist_some(ids, hooks, &mut removed, &mut graves).map(drop))
        };
        let _shared = self.share()?;
        self.bury(graves, &mut removed)?;
        done.map(|()| removed)
    }

    /// Takes the doomed, which are the first of the order, out of the catalog in steps; tells how many went.
    fn unlist_all(
        &self,
        marked: &mut Marked<'_>,
        is_blocked: bool,
        mut doomed: VecDeque<CheckpointId>,
        hooks: &Hooks<'_>,
        removed: &mut Removed,
    ) -> Result<usize> {
        let mut gone_before = 0;
        while !doomed.is_empty() {
            let mut graves = Vec::new();
            {
                let Some(_alone) = self.own_up_to_date(marked)? else { continue };
                let mut ids: Vec<_> = doomed.iter().take(UNLISTED).copied().collect();
                let may_go = (hooks.may_go)(&ids)?;
                if may_go < ids.len() {
                    ids.truncate(may_go);
                    doomed.truncate(may_go);
                }
                for (place, &id) in ids.iter().enumerate() {
                    // Those behind it in the order are listed still: what they need has to be there should this end here (P1).
                    let gone = gone_before + place + 1;
                    let directory = self.layout.checkpoint(id);
                    let packs = self.packs.all();
                    let own = packs.iter().filter(|pack| pack.path.starts_with(&directory));
                    let mut objects = own.flat_map(|pack| pack.all());
                    // It lives on under a name of its own as long as others need any of it.
                    if objects.any(|entry| is_blocked || marked.is_live(gone, &entry.hash)) {
                        keep::keep(self.layout, id)?;
                    }
                }
                let done = self.unlist_some(&ids, hooks, removed, &mut graves)?;
                doomed.drain(..done);
                gone_before += done;
            }
            let _shared = self.share()?;
            self.bury(graves, removed)?;
        }
        Ok(gone_before)
    }

    /// Takes checkpoints out of the catalog, as long as the step may last, and tells how many. What others need of them must have a name
    /// of its own already. The store must be held alone.
    fn unlist_some(
        &self,
        ids: &[CheckpointId],
        hooks: &Hooks<'_>,
        removed: &mut Removed,
        graves: &mut Vec<PathBuf>,
    ) -> Result<usize> {
        // Before the renames, so that no power cut takes the first name and not the second one.
        files::sync_directory(&self.layout.packs())?;
        let until = Instant::now() + STEP;
        for (place, &id) in ids.iter().enumerate() {
            if place > 0 && Instant::now() >= until {
                return Ok(place);
            }
            let directory = self.layout.checkpoint(id);
            if !files::exists(&directory)? {
                continue;
            }
            let published = self.catalog.get(id).ok().flatten();
            let grave = grave::name(self.layout)?;
            removals::note(id);
            std::fs::rename(&directory, &grave)
                .map_err(|e| Error::io("taking the checkpoint out of the catalog", e).at(&directory))?;
            graves.push(grave);
            self.catalog.forget(id);
            removed.deleted.push(id);
            if let Some(published) = published {
                removed.freed_bytes += (hooks.unlisted)(&published)?;
            }
        }
        Ok(ids.len())
    }

    /// A removal that was killed may have given a pack its second name and not taken the first one away.
    fn remove_second_names(&self) -> Result<()> {
        let second = keep::second_names(self.layout)?;
        if second.is_empty() {
            return Ok(());
        }
        let _alone = self.own()?;
        for path in second {
            grave::bury(&path)?;
        }
        Ok(())
    }

    /// Removes what was renamed away, once that is sure to survive a power cut.
    fn bury(&self, graves: Vec<PathBuf>, removed: &mut Removed) -> Result<()> {
        if graves.is_empty() {
            return Ok(());
        }
        files::sync_directory(&self.layout.checkpoints())?;
        for grave in graves {
            removed.freed_bytes += grave::bury(&grave)?;
        }
        Ok(())
    }

    fn shrink_all(&self, marked: &mut Marked<'_>, count: usize, removed: &mut Removed) -> Result<()> {
        let mut todo: VecDeque<PathBuf> = {
            let _shared = self.share()?;
            keep::remove_orphans(self.layout)?;
            for pack in self.packs.all() {
                if let Some(leftover) = Leftover::of_killed(&pack.path, &pack.all())? {
                    removed.freed_bytes += leftover.erase()?;
                }
            }
            self.packs.all().iter().map(|pack| pack.path.clone()).collect()
        };
        while !todo.is_empty() {
            let mut prepared = self.prepare(marked, count, &mut todo)?;
            if prepared.is_empty() {
                continue;
            }
            let mut swapped = Vec::new();
            let mut directories = BTreeSet::new();
            if let Some(_alone) = self.own_up_to_date(marked)? {
                let until = Instant::now() + STEP;
                while let Some(shrink) = prepared.pop() {
                    if shrink.revived(|hash| marked.is_live(count, hash)) {
                        prepared.push(shrink);
                        break;
                    }
                    directories.extend(shrink.path().parent().map(std::path::Path::to_owned));
                    swapped.extend(shrink.swap(self.layout)?);
                    if Instant::now() >= until {
                        break;
                    }
                }
            }
            let _shared = self.share()?;
            for directory in directories {
                files::sync_directory(&directory)?;
            }
            for leftover in swapped {
                removed.freed_bytes += leftover.erase()?;
            }
            todo.extend(prepared.iter().map(|shrink| shrink.path().to_owned()));
        }
        Ok(())
    }

    /// Prepares new indexes for some of the packs, and drops those from the list that have nothing dead.
    fn prepare(
        &self,
        marked: &mut Marked<'_>,
        count: usize,
        todo: &mut VecDeque<PathBuf>,
    ) -> Result<Vec<Shrink>> {
        let _shared = self.share()?;
        self.catch_up(marked, self.ctx)?;
        let packs: BTreeMap<_, _> =
            self.packs.all().into_iter().map(|pack| (pack.path.clone(), pack)).collect();
        let mut prepared = Vec::new();
        let mut bytes = 0;
        while bytes < PREPARED
            && let Some(path) = todo.pop_front()
        {
            self.ctx.check()?;
            let Some(pack) = packs.get(&path) else { continue };
            let all = pack.all().into_iter();
            let (needed, dead): (Vec<_>, Vec<_>) = all.partition(|entry| marked.is_live(count, &entry.hash));
            if !dead.is_empty() {
                bytes += 4096 + needed.len() as u64 * 48;
                prepared.push(Shrink::prepare(self.layout, self.budget, &path, needed, dead)?);
            }
        }
        Ok(prepared)
    }

    /// Holds the store alone when everything that was published is counted; `None` when that takes longer than a step may: then it was
    /// counted while others went on, and it has to be tried again.
    fn own_up_to_date(&self, marked: &mut Marked<'_>) -> Result<Option<StoreAlone>> {
        let alone = self.own()?;
        self.packs.refresh()?;
        let soon = Context { deadline: Some(Instant::now() + CATCH_UP), ..Context::default() };
        match self.catch_up(marked, &soon) {
            Ok(()) => Ok(Some(alone)),
            Err(error) if error.code() == Code::TimedOut => {
                drop(alone);
                let _shared = self.share()?;
                self.catch_up(marked, self.ctx)?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Counts what was published since. The store's lock must be held.
    fn catch_up(&self, marked: &mut Marked<'_>, ctx: &Context) -> Result<()> {
        let mut has_new = false;
        for id in self.catalog.ids()? {
            if marked.known.insert(id)
                && let Some(published) = self.catalog.get(id)?
            {
                marked.reach.begin(&published, STAYS);
                has_new = true;
            }
        }
        if has_new {
            // Its pack came after the last look.
            self.packs.refresh()?;
        }
        marked.reach.finish(ctx)
    }
}
