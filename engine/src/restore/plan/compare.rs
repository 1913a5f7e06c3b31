//! The rules for one name that is in one picture, or in both (C6, C7; F3, F21, F25, F43; input 73).

use super::descend::{Descent, Place, Visit, Zone, is_captured, is_directory, plain};
use super::git::is_git_name;
use super::links::Fact;
use super::scope::Scope;
use super::work::{Act, Item, Role, State};
use crate::model::{Entry, FileKind, Hash, Node, Reason, RelPath, Uncovered};

/// One name with all that the rules ask about it.
struct Name<'p, 'a> {
    place: &'p Place<'p, 'a>,
    path: RelPath,
    zone: Zone,
    scope: Scope<'a>,
    /// `git: keep` holds for it.
    protected: bool,
}

impl<'a> Descent<'a> {
    /// Decides what happens to one name.
    pub(super) fn compare(&mut self, place: &Place<'_, 'a>, now: Option<Entry>, then: Option<Entry>) {
        let Some(name) = now.as_ref().or(then.as_ref()).map(|entry| entry.name.clone()) else { return };
        let Some((scope, ended)) = place.scope.child(&name) else { return };
        ended.into_iter().for_each(|number| self.asked.meet(number));
        let zone = match place.zone {
            Zone::GitTop | Zone::Git => Zone::Git,
            Zone::Open if is_git_name(&name) => Zone::GitTop,
            Zone::Open => Zone::Open,
        };
        let protected = self.keep_git && zone != Zone::Open;
        let it = Name { place, path: place.path.join(&name), zone, scope, protected };
        match (now.map(State::of), then.map(State::of)) {
            (None, Some((name, then))) => self.missing(&it, name, then),
            (Some((name, now)), None) => self.extra(&it, name, now),
            (Some((name, now)), Some((_, then))) => self.both(&it, name, now, then),
            (None, None) => {}
        }
    }

    /// The checkpoint has it, the workspace does not.
    fn missing(&mut self, it: &Name<'_, 'a>, name: Box<[u8]>, then: State) {
        match then.node {
            Node::Uncovered { reason, .. } => self.cannot(it, reason, None),
            Node::Directory { manifest } => self.make(it, name, manifest, then, None),
            // A path beneath a file was asked for: there is no such path.
            _ if !it.scope.is_inside() => {}
            _ => {
                self.note_changing(it, &then);
                self.put(it, name, None, then);
            }
        }
    }

    /// The workspace has it, the checkpoint does not.
    fn extra(&mut self, it: &Name<'_, 'a>, name: Box<[u8]>, now: State) {
        if !it.scope.is_inside() {
            // A parent of the asked-for path: looked into, never deleted itself.
            match now.node {
                Node::Directory { manifest } => self.look(it, name, Some(manifest), None, keep(&now, &now)),
                Node::Uncovered { .. } => self.below_unknown(it),
                _ => {}
            }
        } else if it.protected {
            self.keep(it, name, now, None, Reason::GitMetadata);
        } else if !is_captured(&now.node) {
            let excluded = matches!(now.node, Node::Uncovered { reason: Reason::Excluded, .. });
            let reason = if excluded { Reason::Excluded } else { Reason::NotCaptured };
            self.keep(it, name, now, None, reason);
        } else if let Node::Directory { manifest } = now.node {
            self.look(it, name, Some(manifest), None, Role::Delete { before: now.meta });
        } else if self.grouped.contains(&it.path) {
            self.fact(it, name, Some(now), None, false);
        } else {
            self.draft.items.push(plain(it.place.dir, name, Some(now), None, Act::Delete));
        }
    }

    /// Both have it.
    fn both(&mut self, it: &Name<'_, 'a>, name: Box<[u8]>, now: State, then: State) {
        if let Node::Uncovered { reason, .. } = then.node {
            if now != then {
                self.uncovered_then(it, reason, &now);
            }
            self.below_unknown(it);
            return;
        }
        if let Node::Uncovered { reason, kind } = now.node {
            self.below_unknown(it);
            self.uncovered_now(it, name, now, then, reason, kind);
            return;
        }
        match (is_directory(&now.node), is_directory(&then.node)) {
            (true, true) => self.two_directories(it, name, now, then),
            (true, false) => self.directory_to_leaf(it, name, now, then),
            (false, true) => self.leaf_to_directory(it, name, now, then),
            (false, false) => self.two_leaves(it, name, now, then),
        }
    }

    fn two_directories(&mut self, it: &Name<'_, 'a>, name: Box<[u8]>, now: State, then: State) {
        let (Node::Directory { manifest: from }, Node::Directory { manifest: to }) = (&now.node, &then.node)
        else {
            return;
        };
        let (from, to) = (*from, *to);
        let role = if it.protected || !it.scope.is_inside() { keep(&now, &now) } else { keep(&now, &then) };
        self.look(it, name, Some(from), Some(to), role);
    }

    fn directory_to_leaf(&mut self, it: &Name<'_, 'a>, name: Box<[u8]>, now: State, then: State) {
        let Node::Directory { manifest } = now.node else { return };
        if !it.scope.is_inside() {
            self.look(it, name, Some(manifest), None, keep(&now, &now));
        } else if it.protected {
            self.keep(it, name, now, Some(then), Reason::GitMetadata);
        } else {
            self.note_changing(it, &then);
            let role = Role::Delete { before: now.meta.clone() };
            let successor = plain(it.place.dir, name.clone(), Some(now), Some(then), Act::Replace);
            self.queue_visit(it, name, Some(manifest), None, role, Some(successor));
        }
    }

    fn leaf_to_directory(&mut self, it: &Name<'_, 'a>, name: Box<[u8]>, now: State, then: State) {
        let Node::Directory { manifest } = then.node else { return };
        if it.protected {
            self.keep(it, name, now, Some(then), Reason::GitMetadata);
        } else if !it.scope.is_inside() {
            for number in it.scope.below() {
                self.asked.meet(number);
                let path = self.asked.path(number).cloned().unwrap_or_default();
                let detail = Some(format!("its parent `{}` is not a directory now", it.path));
                self.draft.not_restorable.push(Uncovered { path, reason: Reason::WriteFailed, detail });
            }
        } else if !is_captured(&now.node) {
            self.cannot(it, Reason::NotCaptured, Some("it changed while it was read"));
            self.keep_fact(it, name, now, Some(then));
        } else {
            if self.grouped.contains(&it.path) {
                // Its old name goes; what the other names of its inode need is decided with them.
                self.draft.facts.push(self.new_fact(it, name.clone(), Some(now.clone()), None, false, true));
            }
            self.make(it, name, manifest, then, Some(now));
        }
    }

    fn two_leaves(&mut self, it: &Name<'_, 'a>, name: Box<[u8]>, now: State, then: State) {
        if !it.scope.is_inside() {
            return;
        }
        let differs = !now.same(&then);
        if it.protected {
            if differs {
                let is_head = *name == *b"HEAD" && it.place.zone == Zone::GitTop;
                self.draft.head_moved |= is_head && !now.same_content(&then);
                self.keep(it, name, now, Some(then), Reason::GitMetadata);
            } else {
                self.keep_fact(it, name, now, Some(then));
            }
        } else if differs && !is_captured(&now.node) {
            self.cannot(it, Reason::NotCaptured, Some("it changed while it was read"));
            self.keep_fact(it, name, now, Some(then));
        } else {
            if differs {
                self.note_changing(it, &then);
            }
            self.put(it, name, Some(now), then);
        }
    }

    /// The checkpoint did not keep it: it is neither written nor deleted.
    fn uncovered_then(&mut self, it: &Name<'_, 'a>, reason: Reason, now: &State) {
        if reason == Reason::Excluded {
            self.list_kept(it, Reason::Excluded);
            return;
        }
        self.cannot(it, reason, None);
        if is_captured(&now.node) {
            self.list_kept(it, Reason::UncoveredThen);
        }
    }

    /// The workspace's side could not be read: nothing that would be lost for good is overwritten. A mode that shuts us out is put
    /// back, because that loses nothing.
    fn uncovered_now(
        &mut self,
        it: &Name<'_, 'a>,
        name: Box<[u8]>,
        now: State,
        then: State,
        reason: Reason,
        kind: FileKind,
    ) {
        if it.protected {
            self.keep(it, name, now, Some(then), Reason::GitMetadata);
            return;
        }
        let unlockable = reason == Reason::Unreadable && kind == then.node.kind() && it.scope.is_inside();
        match (unlockable, kind) {
            (true, FileKind::Directory) => {
                let role = keep(&now, &then);
                let dir = super::work::DirWork {
                    parent: Some(it.place.dir),
                    name,
                    role,
                    unlock: true,
                    then: false,
                    items: 0..0,
                };
                self.draft.dirs.push(dir);
                self.cannot(
                    it,
                    Reason::NotCaptured,
                    Some("it could not be read; it can now: roll back once more"),
                );
            }
            (true, FileKind::File) if now.meta.mtime == then.meta.mtime => {
                let mut item = plain(it.place.dir, name, Some(now), Some(then), Act::Metadata);
                item.unlock = true;
                self.draft.items.push(item);
            }
            _ => {
                let reason = if reason == Reason::Mount { reason } else { Reason::NotCaptured };
                self.cannot(
                    it,
                    reason,
                    Some("what is there now could not be saved, so it is not overwritten"),
                );
                self.keep_fact(it, name, now, Some(then));
            }
        }
    }

    /// A file, symlink or fifo is to be as in the checkpoint.
    fn put(&mut self, it: &Name<'_, 'a>, name: Box<[u8]>, now: Option<State>, then: State) {
        if self.grouped.contains(&it.path) {
            self.fact(it, name, now, Some(then), false);
            return;
        }
        let act = match &now {
            None => Act::Create,
            Some(now) if now.same(&then) => return,
            Some(now) if now.same_content(&then) => Act::Metadata,
            Some(_) => Act::Replace,
        };
        let fresh = now.as_ref().is_some_and(|now| gives_rights(now, &then));
        let mut item = plain(it.place.dir, name, now, Some(then), act);
        item.fresh = fresh;
        self.draft.items.push(item);
    }

    /// A directory is to be made with all that the checkpoint has in it.
    fn make(&mut self, it: &Name<'_, 'a>, name: Box<[u8]>, manifest: Hash, then: State, now: Option<State>) {
        self.look(it, name, None, Some(manifest), Role::Create { after: then.meta, replaces: now });
    }

    fn look(
        &mut self,
        it: &Name<'_, 'a>,
        name: Box<[u8]>,
        now: Option<Hash>,
        then: Option<Hash>,
        role: Role,
    ) {
        self.queue_visit(it, name, now, then, role, None);
    }

    fn queue_visit(
        &mut self,
        it: &Name<'_, 'a>,
        name: Box<[u8]>,
        now: Option<Hash>,
        then: Option<Hash>,
        role: Role,
        successor: Option<Item>,
    ) {
        self.queue.push(Visit {
            parent: Some(it.place.dir),
            name,
            path: it.path.clone(),
            now,
            then,
            role,
            zone: it.zone,
            scope: it.scope.clone(),
            successor,
        });
    }

    /// Lists a path as kept; a directory that was to go has to stay for it.
    fn keep(&mut self, it: &Name<'_, 'a>, name: Box<[u8]>, now: State, then: Option<State>, reason: Reason) {
        self.list_kept(it, reason);
        if it.place.deletes {
            self.draft.blocked.insert(it.place.dir, reason);
        }
        self.keep_fact(it, name, now, then);
    }

    fn list_kept(&mut self, it: &Name<'_, 'a>, reason: Reason) {
        self.draft.kept.push(Uncovered::new(it.path.clone(), reason));
    }

    fn cannot(&mut self, it: &Name<'_, 'a>, reason: Reason, detail: Option<&str>) {
        let detail = detail.map(str::to_owned);
        self.draft.not_restorable.push(Uncovered { path: it.path.clone(), reason, detail });
        self.below_unknown(it);
    }

    /// Asked-for paths beneath something that a picture does not know may exist.
    fn below_unknown(&mut self, it: &Name<'_, 'a>) {
        it.scope.below().into_iter().for_each(|number| self.asked.meet(number));
    }

    /// What the checkpoint has of a file that changed while it was read may not be what it was: said again (C6).
    fn note_changing(&mut self, it: &Name<'_, 'a>, then: &State) {
        if matches!(then.node, Node::File { changing: true, .. }) {
            self.cannot(it, Reason::Changing, Some("the bytes of the last attempt to read it come back"));
        }
    }

    fn keep_fact(&mut self, it: &Name<'_, 'a>, name: Box<[u8]>, now: State, then: Option<State>) {
        if self.grouped.contains(&it.path) {
            self.fact(it, name, Some(now), then, true);
        }
    }

    fn fact(
        &mut self,
        it: &Name<'_, 'a>,
        name: Box<[u8]>,
        now: Option<State>,
        then: Option<State>,
        fixed: bool,
    ) {
        let fact = self.new_fact(it, name, now, then, fixed, false);
        self.draft.facts.push(fact);
    }

    fn new_fact(
        &self,
        it: &Name<'_, 'a>,
        name: Box<[u8]>,
        before: Option<State>,
        after: Option<State>,
        fixed: bool,
        silent: bool,
    ) -> Fact {
        Fact { path: it.path.clone(), dir: it.place.dir, name, before, after, fixed, silent }
    }
}

fn keep(now: &State, then: &State) -> Role {
    Role::Keep { before: now.meta.clone(), after: then.meta.clone() }
}

/// Whether an inode would get rights that whoever made it must not have: another owner, set-id bits or attributes (capabilities among
/// them). Somebody may still hold it open or mapped for writing, so that such a file gets an inode of its own (input 18).
fn gives_rights(now: &State, then: &State) -> bool {
    let (now, then) = (&now.meta, &then.meta);
    let set_id = then.mode & 0o6000 != 0 && now.mode & 0o6000 != then.mode & 0o6000;
    (now.uid, now.gid) != (then.uid, then.gid)
        || set_id
        || (then.xattrs.is_some() && now.xattrs != then.xattrs)
}
