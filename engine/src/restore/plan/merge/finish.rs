//! A directory after all that is in it: whether it is there, and with which metadata.

use super::descend::{Descent, Frame};
use super::value::{manifest, same_meta};
use crate::error::Result;
use crate::model::{Entry, Meta, Node, Reason};

impl<'a> Descent<'a> {
    /// The merged directory; `None` when there is none. Its own frame is off the stack.
    pub(super) fn finish(&mut self, frame: Frame<'a>) -> Result<Option<Entry>> {
        let [base, ours, theirs] =
            [&frame.own.base, &frame.own.ours, &frame.own.theirs].map(|entry| manifest(entry.as_ref()));
        match (base, ours, theirs) {
            (_, Some(_), Some(_)) => self.stays(frame),
            (_, Some(_), None) => self.made_since(frame),
            (_, None, _) if frame.own.ours.is_some() => Ok(self.behind_something_else(frame)),
            (Some(_), None, Some(_)) => self.deleted_since(frame),
            // Something beneath it was asked for.
            _ if frame.entries.is_empty() => Ok(None),
            _ => match frame.own.theirs.clone() {
                Some(theirs) => self.directory(frame, theirs.meta).map(Some),
                None => Ok(None),
            },
        }
    }

    /// It is a directory now, and is to be one.
    fn stays(&mut self, frame: Frame<'a>) -> Result<Option<Entry>> {
        let meta = match (&frame.own.ours, &frame.own.theirs) {
            (Some(ours), Some(theirs)) => {
                let base = frame.own.base.as_ref().filter(|base| manifest(Some(base)).is_some());
                self.merge_meta(&frame, base, ours, theirs)
            }
            _ => return Ok(None),
        };
        self.directory(frame, meta).map(Some)
    }

    fn merge_meta(&mut self, frame: &Frame<'a>, base: Option<&Entry>, ours: &Entry, theirs: &Entry) -> Meta {
        let mut meta = ours.meta.clone();
        if !frame.scope.is_inside() || self.is_protected(frame.zone) {
            return meta;
        }
        let (o, t) = (&ours.meta, &theirs.meta);
        let b = base.map(|base| &base.meta);
        let mode = three_way(b.map(|b| b.mode), o.mode, t.mode);
        let owner = three_way(b.map(|b| (b.uid, b.gid)), (o.uid, o.gid), (t.uid, t.gid));
        let xattrs = three_way(b.map(|b| b.xattrs), o.xattrs, t.xattrs);
        let conflict = mode.is_none() || owner.is_none() || xattrs.is_none();
        let theirs_wins = conflict && {
            let path = self.path_of(frame);
            self.record(path, Some(ours), Some(theirs))
        };
        let keep = !theirs_wins;
        meta.mode = mode.unwrap_or(if keep { o.mode } else { t.mode });
        (meta.uid, meta.gid) = owner.unwrap_or(if keep { (o.uid, o.gid) } else { (t.uid, t.gid) });
        meta.xattrs = xattrs.unwrap_or(if keep { o.xattrs } else { t.xattrs });
        // The time of a directory follows from what happens in it.
        if frame.as_theirs && b.is_some_and(|b| b.mtime == o.mtime) {
            meta.mtime = t.mtime;
        }
        meta
    }

    /// It is a directory now and is not to be there, as far as `base` proves it.
    fn made_since(&mut self, frame: Frame<'a>) -> Result<Option<Entry>> {
        let Some(ours) = frame.own.ours.clone() else { return Ok(None) };
        if !frame.scope.is_inside() {
            return self.directory(frame, ours.meta).map(Some);
        }
        if !frame.entries.is_empty() {
            if !self.is_protected(frame.zone) {
                let path = self.path_of(&frame);
                self.keep(path, Reason::NotEmpty);
            }
            return self.directory(frame, ours.meta).map(Some);
        }
        let unchanged = frame.own.base.as_ref().is_some_and(|base| same_meta(&base.meta, &ours.meta));
        let path = self.path_of(&frame);
        if unchanged || self.is_protected(frame.zone) || self.record(path.clone(), Some(&ours), None) {
            self.taken.push(path);
            return Ok(None);
        }
        self.directory(frame, ours.meta).map(Some)
    }

    /// It was a directory on both sides and is gone: what has to come back in it brings it back.
    fn deleted_since(&mut self, frame: Frame<'a>) -> Result<Option<Entry>> {
        let (Some(base), Some(theirs)) = (frame.own.base.clone(), frame.own.theirs.clone()) else {
            return Ok(None);
        };
        if frame.entries.is_empty() && frame.scope.is_inside() {
            let path = self.path_of(&frame);
            let unchanged = same_meta(&base.meta, &theirs.meta);
            if unchanged || self.is_protected(frame.zone) || !self.record(path, None, Some(&theirs)) {
                return Ok(None);
            }
        } else if frame.entries.is_empty() {
            return Ok(None);
        }
        self.directory(frame, theirs.meta).map(Some)
    }

    /// Something else is in its place now. It stays, whatever would have to be written behind it.
    fn behind_something_else(&mut self, frame: Frame<'a>) -> Option<Entry> {
        let (ours, theirs) = (frame.own.ours.clone(), frame.own.theirs.clone());
        let metas = frame.own.base.as_ref().zip(theirs.as_ref());
        let own_change = frame.scope.is_inside()
            && metas.is_some_and(|(base, theirs)| !same_meta(&base.meta, &theirs.meta));
        let wanted = !frame.entries.is_empty() || self.out.conflicts.len() > frame.marks.conflicts;
        let path = self.path_of(&frame);
        self.back_to(frame.marks);
        if !wanted && !own_change {
            return ours;
        }
        if self.is_protected(frame.zone) {
            self.keep(path, Reason::GitMetadata);
        } else if !frame.scope.is_inside() {
            for number in frame.scope.below() {
                self.asked.meet(number);
                let asked = self.asked.path(number).cloned().unwrap_or_default();
                self.cannot(
                    asked,
                    Reason::WriteFailed,
                    &format!("its parent `{path}` is not a directory now"),
                );
            }
        } else if self.record(path.clone(), ours.as_ref(), theirs.as_ref()) {
            self.taken.push(path);
            return theirs;
        }
        ours
    }

    fn directory(&self, frame: Frame<'a>, meta: Meta) -> Result<Entry> {
        let now = manifest(frame.own.ours.as_ref()).filter(|_| frame.as_ours);
        let manifest = match now {
            Some(manifest) => manifest,
            None => self.manifests.put_directory(&frame.entries)?,
        };
        Ok(Entry { name: frame.own.name(), meta, node: Node::Directory { manifest } })
    }

    fn path_of(&self, frame: &Frame<'a>) -> crate::model::RelPath {
        if self.frames.is_empty() {
            return crate::model::RelPath::root();
        }
        self.path(&frame.own.name())
    }
}

/// One field; `None` for a conflict.
fn three_way<T: PartialEq + Copy>(base: Option<T>, ours: T, theirs: T) -> Option<T> {
    if base == Some(theirs) || ours == theirs {
        Some(ours)
    } else if base == Some(ours) {
        Some(theirs)
    } else {
        None
    }
}
