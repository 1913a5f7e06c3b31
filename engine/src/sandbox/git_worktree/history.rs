//! Which commit comes from which.

use std::collections::{BinaryHeap, HashMap};

use git2::Oid;

use super::objects::Commit;
use super::repository::Repository;
use crate::context::Context;
use crate::error::Result;

const OURS: u8 = 1;
const THEIRS: u8 = 2;
/// What comes from a common ancestor tells nothing new.
const STALE: u8 = 4;

impl Repository {
    /// A commit as history goes: where it was cut off, there are no parents.
    pub(super) fn commit_in_history(&self, oid: Oid) -> Result<Commit> {
        let mut commit = self.objects.commit(oid)?;
        if self.shallow.contains(&oid) {
            commit.parents.clear();
        }
        Ok(commit)
    }

    /// The youngest commit that both come from; `None` when there is none.
    pub(super) fn merge_base(&self, ours: Oid, theirs: Oid, ctx: &Context) -> Result<Option<Oid>> {
        if ours == theirs {
            return Ok(Some(ours));
        }
        let mut walk = Walk { repository: self, flags: HashMap::new(), queue: BinaryHeap::new(), lively: 0 };
        walk.add(ours, OURS)?;
        walk.add(theirs, THEIRS)?;
        let mut found: Vec<(i64, Oid)> = Vec::new();
        while walk.lively > 0 {
            ctx.check()?;
            let Some((time, oid, commit)) = walk.next() else { break };
            let mut flags = walk.flags.get(&oid).copied().unwrap_or_default();
            if flags == OURS | THEIRS {
                found.push((time, oid));
                flags |= STALE;
            }
            for parent in commit.parents {
                walk.add(parent, flags)?;
            }
        }
        found.retain(|(_, oid)| walk.flags.get(oid).is_some_and(|flags| flags & STALE == 0));
        Ok(found.into_iter().max().map(|(_, oid)| oid))
    }

    /// The commits that `tip` comes from and none of the others does, itself among them. With a clock that was set back it may give too
    /// many, never too few.
    pub(super) fn only_in(&self, tip: Oid, others: &[Oid], ctx: &Context) -> Result<Vec<Oid>> {
        let mut walk = Walk { repository: self, flags: HashMap::new(), queue: BinaryHeap::new(), lively: 0 };
        walk.add(tip, OURS)?;
        for other in others {
            walk.add(*other, THEIRS | STALE)?;
        }
        let mut found = Vec::new();
        while walk.lively > 0 {
            ctx.check()?;
            let Some((_, oid, commit)) = walk.next() else { break };
            let flags = walk.flags.get(&oid).copied().unwrap_or_default();
            if flags & STALE == 0 {
                found.push(oid);
            }
            for parent in commit.parents {
                walk.add(parent, flags)?;
            }
        }
        found.retain(|oid| walk.flags.get(oid).is_some_and(|flags| flags & STALE == 0));
        Ok(found)
    }

    /// Whether `ancestor` is `of` or one that it comes from. With a clock that was set back it may say no wrongly, never yes.
    pub(super) fn comes_from(&self, of: Oid, ancestor: Oid, ctx: &Context) -> Result<bool> {
        if of == ancestor {
            return Ok(true);
        }
        let since = self.objects.commit(ancestor)?.time;
        let mut walk = Walk { repository: self, flags: HashMap::new(), queue: BinaryHeap::new(), lively: 0 };
        walk.add(of, OURS)?;
        while let Some((time, oid, commit)) = walk.next() {
            ctx.check()?;
            if oid == ancestor {
                return Ok(true);
            }
            if time < since {
                return Ok(false);
            }
            for parent in commit.parents {
                walk.add(parent, OURS)?;
            }
        }
        Ok(false)
    }
}

/// Youngest first.
struct Walk<'a> {
    repository: &'a Repository,
    flags: HashMap<Oid, u8>,
    queue: BinaryHeap<Waiting>,
    /// How many in the queue are not stale.
    lively: usize,
}

struct Waiting {
    time: i64,
    oid: Oid,
    commit: Commit,
    stale: bool,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.time, self.oid).cmp(&(other.time, other.oid))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Waiting {}

impl Walk<'_> {
    fn add(&mut self, oid: Oid, flags: u8) -> Result<()> {
        let known = self.flags.entry(oid).or_default();
        if *known | flags == *known {
            return Ok(());
        }
        *known |= flags;
        let stale = *known & STALE != 0;
        let commit = self.repository.commit_in_history(oid)?;
        self.lively += usize::from(!stale);
        self.queue.push(Waiting { time: commit.time, oid, commit, stale });
        Ok(())
    }

    fn next(&mut self) -> Option<(i64, Oid, Commit)> {
        let next = self.queue.pop()?;
        self.lively -= usize::from(!next.stale);
        Some((next.time, next.oid, next.commit))
    }
}
