//! Finding out what each checkpoint needs, and so what goes with it.

use std::collections::{BTreeMap, BTreeSet};

use turnback_core::CheckpointId;

use super::catalog::Published;
use super::freed::{Freed, Goes, Way, of_directory, of_packs};
use super::gc::Collector;
use super::reach::{Owner, Reach};
use crate::error::{Code, Error, Result};
use crate::model::Hash;

/// What each checkpoint needs, so that it is known what goes with it.
pub struct Marked<'a> {
    pub(super) reach: Reach<'a>,
    /// In which order checkpoints would go. The owner of an object is 0 when one of the others needs it, else one more than the place of
    /// the last one here that does.
    pub(super) order: Vec<CheckpointId>,
    pub(super) known: BTreeSet<CheckpointId>,
    /// The first of `order` that are there.
    pub(super) found: BTreeMap<CheckpointId, std::sync::Arc<Published>>,
    /// Checkpoints, as owners, of which something cannot be read.
    pub(super) damaged: BTreeMap<usize, String>,
    frees: Freed,
}

impl Marked<'_> {
    /// The bytes that each checkpoint of the order frees when those before it have gone: the blocks of what goes, and of what packs that
    /// stay lose.
    #[must_use]
    pub fn frees(&self) -> &[u64] {
        &self.frees.by_place
    }

    /// The bytes that nobody needs any more, whatever goes: any removal gives them back.
    #[must_use]
    pub fn garbage(&self) -> u64 {
        self.frees.garbage
    }

    /// The bytes that the disk gets back when the first `count` go.
    #[must_use]
    pub fn freed(&self, count: usize) -> u64 {
        self.frees().iter().take(count).fold(self.garbage(), |sum, bytes| sum.saturating_add(*bytes))
    }

    /// Counts in what else is kept of each checkpoint that would go, outside of its directory and the packs, in bytes.
    ///
    /// # Errors
    /// Those of `aside`.
    pub fn count_in(&mut self, aside: impl Fn(&Published) -> Result<u64>) -> Result<()> {
        for (id, bytes) in self.order.iter().zip(&mut self.frees.by_place) {
            if let Some(published) = self.found.get(id) {
                *bytes = bytes.saturating_add(aside(published)?);
            }
        }
        Ok(())
    }

    /// Why nothing can be freed when the first `count` go: one that stays is damaged, and nobody knows what it needs.
    #[must_use]
    pub fn obstacle(&self, count: usize) -> Option<&str> {
        self.damaged.iter().find(|(place, _)| **place == 0 || **place > count).map(|(_, why)| why.as_str())
    }

    /// Refuses to free what the first `count` hold when nobody knows whether one that stays needs it. Where all of them are damaged
    /// themselves they may go: nothing of them is erased as long as another one is.
    ///
    /// # Errors
    /// `CORRUPT`.
    pub fn refuse_obstacle(&self, count: usize) -> Result<()> {
        let Some(why) = self.obstacle(count) else { return Ok(()) };
        let is_sound = |(place, id): (usize, &CheckpointId)| {
            self.found.contains_key(id) && !self.damaged.contains_key(&(place + 1))
        };
        if !self.order.iter().take(count).enumerate().any(is_sound) {
            return Ok(());
        }
        Err(Error::new(
            Code::Corrupt,
            format!("another checkpoint is damaged, so that nobody knows which data it needs: {why}"),
            "delete the damaged one first; `turnback verify` names it",
        ))
    }

    pub(super) fn is_live(&self, count: usize, hash: &Hash) -> bool {
        match self.reach.owners.get(hash) {
            Some(Owner::One(place)) => *place == 0 || *place > count,
            Some(Owner::Shared) => true,
            None => false,
        }
    }
}

impl<'a> Collector<'a> {
    /// Finds out what goes with the checkpoints of `order` if they go in this order. Others go on working meanwhile.
    ///
    /// # Errors
    /// `BUSY`, `ABORTED`, `TIMED_OUT`, or the system's error. Damage is part of the result.
    pub fn mark(&self, order: &[CheckpointId]) -> Result<Marked<'a>> {
        let _shared = self.share()?;
        let (all, broken) = self.catalog.all()?;
        // After the list: what is published meanwhile brings a pack of its own.
        self.packs.refresh()?;
        let mut marked = Marked {
            reach: Reach::first(self.packs, self.ctx),
            order: order.to_vec(),
            // What is published from now on is none of these, and counts later.
            known: all.iter().map(|c| c.parsed.id).collect(),
            found: BTreeMap::new(),
            damaged: BTreeMap::new(),
            frees: Freed::default(),
        };
        let places: BTreeMap<_, _> = order.iter().enumerate().map(|(place, id)| (*id, place + 1)).collect();
        let place_of = |id: &CheckpointId| places.get(id).copied().unwrap_or(0);
        for one in broken {
            let id: Option<CheckpointId> = one.checkpoint_id.parse().ok();
            marked.known.extend(id);
            marked.damaged.entry(id.map_or(0, |id| place_of(&id))).or_insert(one.reason);
        }
        let mut by_place: Vec<_> = all.into_iter().map(|c| (place_of(&c.parsed.id), c)).collect();
        // Those that stay first, then from the last one to go to the first one.
        by_place.sort_by_key(|(place, _)| if *place == 0 { 0 } else { usize::MAX - place });
        for (place, checkpoint) in by_place {
            match marked.reach.add(&checkpoint, place) {
                Err(error) if error.code() == Code::Corrupt => {
                    let why = format!("checkpoint {}: {}", checkpoint.parsed.id, error.found());
                    marked.damaged.entry(place).or_insert(why);
                }
                other => other?,
            }
            if place > 0 {
                marked.found.insert(checkpoint.parsed.id, checkpoint);
            }
        }
        marked.frees = of_packs(self.layout, self.packs, order.len(), Way::OneAfterAnother, |hash| {
            match marked.reach.owners.get(hash) {
                None => Some(Goes::Anyway),
                Some(Owner::One(place @ 1..)) => Some(Goes::With(place - 1)),
                Some(_) => None,
            }
        })?;
        for (id, bytes) in order.iter().zip(&mut marked.frees.by_place) {
            *bytes = bytes.saturating_add(of_directory(self.layout, *id)?);
        }
        Ok(marked)
    }
}
