//! The rules for one name that is in one picture, in two or in three (C7, C15; F10, F11, F43).

use super::super::descend::Zone;
use super::super::scope::Scope;
use super::OnConflict;
use super::descend::{Descent, Step, Triple, zone_of};
use super::value::{is_uncovered, manifest, same_meta, same_tree, same_value};
use super::words::words;
use crate::error::{Code, Result};
use crate::model::{Entry, Node, Reason, RelPath, Uncovered};
use crate::report::Conflict;

/// A name with what the rules ask about it.
struct Name {
    path: RelPath,
    protected: bool,
    is_head: bool,
}

impl<'a> Descent<'a> {
    /// Decides about one name of a directory in the zone and scope given.
    pub(super) fn decide(&mut self, it: Triple, zone: Zone, scope: &Scope<'a>) -> Result<Step<'a>> {
        let name = it.name();
        let Some((scope, ended)) = scope.child(&name) else { return Ok(Step::Done(it.ours)) };
        ended.into_iter().for_each(|number| self.asked.meet(number));
        let is_head = *name == *b"HEAD" && zone == Zone::GitTop;
        let zone = zone_of(zone, &name);
        if !scope.is_inside() {
            return Ok(self.parent_of_asked(it, &name, zone, scope));
        }
        // The pictures speak of whole trees: what is equal need not be gone into.
        if it.theirs == it.base {
            return Ok(Step::Done(it.ours));
        }
        let of = Name { path: self.path(&name), protected: self.is_protected(zone), is_head };
        if it.ours == it.base {
            return Ok(Step::Done(self.take(&of, it)));
        }
        if it.ours == it.theirs {
            if is_uncovered(it.base.as_ref()) {
                self.unknown.push(of.path);
            }
            return Ok(Step::Done(it.ours));
        }
        if [&it.base, &it.ours, &it.theirs].iter().any(|entry| is_uncovered(entry.as_ref())) {
            return Ok(Step::Done(self.unknown(&of, it)));
        }
        let directories = [&it.base, &it.ours, &it.theirs].map(|entry| manifest(entry.as_ref()));
        match directories {
            [Some(base), Some(ours), None] if it.theirs.is_some() => {
                let metas = it.base.as_ref().zip(it.ours.as_ref());
                let whole = metas.is_some_and(|(base, ours)| same_meta(&base.meta, &ours.meta));
                let whole = whole && self.same_tree_or_damaged(ours, base)?;
                Ok(Step::Done(if whole { self.take(&of, it) } else { self.conflict(&of, it) }))
            }
            [Some(_), Some(_), _] | [Some(_), _, Some(_)] | [_, Some(_), Some(_)] => {
                Ok(Step::Enter(Box::new(it), zone, scope))
            }
            _ => Ok(Step::Done(self.leaf(&of, it))),
        }
    }

    /// At most one of the three is a directory.
    fn leaf(&mut self, of: &Name, it: Triple) -> Option<Entry> {
        let (base, ours, theirs) = (it.base.as_ref(), it.ours.as_ref(), it.theirs.as_ref());
        if same_value(theirs, base) {
            it.ours
        } else if same_value(ours, base) {
            self.take(of, it)
        } else if same_value(ours, theirs) {
            it.ours
        } else {
            self.conflict(of, it)
        }
    }

    /// Something that was asked for lies further down: this path itself is nobody's business.
    fn parent_of_asked(&mut self, it: Triple, name: &[u8], zone: Zone, scope: Scope<'a>) -> Step<'a> {
        let all = [&it.base, &it.ours, &it.theirs];
        let uncovered = all.iter().find_map(|entry| match entry {
            Some(Entry { node: Node::Uncovered { reason, .. }, .. }) => Some(*reason),
            _ => None,
        });
        if let Some(reason) = uncovered {
            scope.below().into_iter().for_each(|number| self.asked.meet(number));
            let path = self.path(name);
            self.unknown.push(path.clone());
            if it.theirs != it.base {
                self.cannot(path, reason, "not all sides know what is in it");
            }
            return Step::Done(it.ours);
        }
        if all.iter().any(|entry| manifest(entry.as_ref()).is_some()) {
            return Step::Enter(Box::new(it), zone, scope);
        }
        Step::Done(it.ours)
    }

    /// One of the three does not know what is there.
    fn unknown(&mut self, of: &Name, it: Triple) -> Option<Entry> {
        self.unknown.push(of.path.clone());
        let uncovered = |entry: &Option<Entry>| match entry {
            Some(Entry { node: Node::Uncovered { reason, .. }, .. }) => Some(*reason),
            _ => None,
        };
        match (uncovered(&it.base), uncovered(&it.ours), uncovered(&it.theirs)) {
            // Nobody was asked to look after it.
            (Some(Reason::Excluded), _, Some(Reason::Excluded)) => {}
            (Some(Reason::Excluded), ..) | (_, Some(Reason::Excluded), _) | (.., Some(Reason::Excluded)) => {
                self.keep(of.path.clone(), Reason::Excluded);
            }
            (.., Some(reason)) => {
                self.cannot(of.path.clone(), reason, "what was there is not known");
                if it.ours.is_some() && !is_uncovered(it.ours.as_ref()) {
                    self.keep(of.path.clone(), Reason::UncoveredThen);
                }
            }
            (_, Some(reason), None) => {
                let reason = if reason == Reason::Mount { reason } else { Reason::NotCaptured };
                if it.theirs.is_none() {
                    self.keep(of.path.clone(), reason);
                } else {
                    let detail = "what is there now could not be saved, so it is not overwritten";
                    self.cannot(of.path.clone(), reason, detail);
                }
            }
            // Nobody can tell whether what is there now came later.
            (_, None, None) => {
                if !same_value(it.ours.as_ref(), it.theirs.as_ref()) {
                    return self.conflict(of, it);
                }
            }
        }
        it.ours
    }

    fn same_tree_or_damaged(&self, ours: crate::model::Hash, base: crate::model::Hash) -> Result<bool> {
        match same_tree(ours, base, self.manifests, self.ctx) {
            // What cannot be read is not proven to be the same.
            Err(error) if error.code() == Code::Corrupt => Ok(false),
            same => same,
        }
    }

    /// `theirs` is to be there.
    fn take(&mut self, of: &Name, it: Triple) -> Option<Entry> {
        self.taken.push(of.path.clone());
        it.theirs
    }

    /// Both sides changed it.
    fn conflict(&mut self, of: &Name, it: Triple) -> Option<Entry> {
        if of.protected {
            self.keep(of.path.clone(), Reason::GitMetadata);
            self.out.head_moved |= of.is_head;
            return it.ours;
        }
        if self.record(of.path.clone(), it.ours.as_ref(), it.theirs.as_ref()) {
            return self.take(of, it);
        }
        it.ours
    }

    /// Lists a conflict; whether `theirs` wins.
    pub(super) fn record(&mut self, path: RelPath, ours: Option<&Entry>, theirs: Option<&Entry>) -> bool {
        let (ours, theirs) = (words(ours, theirs), words(theirs, ours));
        self.out.conflicts.push(Conflict { path, ours, theirs });
        self.on_conflict == OnConflict::Theirs
    }

    pub(super) fn keep(&mut self, path: RelPath, reason: Reason) {
        self.out.kept.push(Uncovered::new(path, reason));
    }

    pub(super) fn cannot(&mut self, path: RelPath, reason: Reason, detail: &str) {
        let detail = Some(detail.to_owned());
        self.out.not_restorable.push(Uncovered { path, reason, detail });
    }
}
