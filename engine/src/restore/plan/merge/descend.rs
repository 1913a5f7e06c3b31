//! Goes through three pictures in lockstep, only where they differ, and without recursion: trees may be deeper than a stack
//! (input 37). A directory is finished after all that is in it, because whether it is there depends on that.

use super::super::descend::Zone;
use super::super::git::{GitMode, is_git_name};
use super::super::scope::{Asked, Scope, root_scope};
use super::value::manifest;
use super::{Manifests, MergeOptions, Merged, OnConflict, Sides};
use crate::context::{Context, Progress};
use crate::error::{Code, Result};
use crate::model::{Entry, Hash, LinkGroups, Meta, Node, Picture, Reason, RelPath, Uncovered};

/// One name in three pictures.
#[derive(Debug, Clone, Default)]
pub(super) struct Triple {
    pub(super) base: Option<Entry>,
    pub(super) ours: Option<Entry>,
    pub(super) theirs: Option<Entry>,
}

impl Triple {
    pub(super) fn name(&self) -> Box<[u8]> {
        let one = self.base.as_ref().or(self.ours.as_ref()).or(self.theirs.as_ref());
        one.map(|entry| entry.name.clone()).unwrap_or_default()
    }
}

/// How long the lists were when a directory was entered: what was found in it can be taken back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marks {
    pub(super) conflicts: usize,
    kept: usize,
    not_restorable: usize,
    taken: usize,
}

/// A directory that is gone through.
pub(super) struct Frame<'a> {
    pub(super) own: Triple,
    pub(super) zone: Zone,
    pub(super) scope: Scope<'a>,
    pub(super) marks: Marks,
    pending: std::vec::IntoIter<Triple>,
    /// What the merged directory has so far.
    pub(super) entries: Vec<Entry>,
    /// It has exactly the names that `theirs` has, and all but directories are as there.
    pub(super) as_theirs: bool,
    /// It has exactly what `ours` has.
    pub(super) as_ours: bool,
}

/// The merge in progress.
pub(super) struct Descent<'a> {
    pub(super) manifests: &'a dyn Manifests,
    pub(super) ctx: &'a Context,
    pub(super) on_conflict: OnConflict,
    pub(super) keep_git: bool,
    pub(super) asked: &'a mut Asked,
    pub(super) frames: Vec<Frame<'a>>,
    pub(super) out: Merged,
    pub(super) taken: Vec<RelPath>,
    pub(super) unknown: Vec<RelPath>,
}

/// The merged tree, and what its hard-link groups depend on.
pub(super) struct Found {
    pub(super) merged: Merged,
    /// Paths that are as in `theirs`, with all that is beneath them.
    pub(super) taken: Vec<RelPath>,
    /// Paths that a side does not cover.
    pub(super) unknown: Vec<RelPath>,
}

/// What a name needs.
pub(super) enum Step<'a> {
    Done(Option<Entry>),
    Enter(Box<Triple>, Zone, Scope<'a>),
}

pub(super) fn descend(
    sides: Sides<'_>,
    manifests: &dyn Manifests,
    options: &MergeOptions,
    ctx: &Context,
) -> Result<Found> {
    let mut asked = Asked::new(options.paths.as_deref());
    let paths = asked.paths().map(<[RelPath]>::to_vec);
    let scope = root_scope(paths.as_deref());
    if scope.is_inside() {
        (0..paths.as_ref().map_or(0, Vec::len)).for_each(|number| asked.meet(number));
    }
    let root = |picture: &Picture| Some(root_entry(&picture.root, picture.manifest));
    let own = Triple { base: root(sides.base), ours: root(sides.ours), theirs: root(sides.theirs) };
    let picture = Picture {
        root: sides.ours.root.clone(),
        manifest: sides.ours.manifest,
        links: LinkGroups::default(),
    };
    let out = Merged {
        picture,
        conflicts: Vec::new(),
        kept: Vec::new(),
        not_restorable: Vec::new(),
        head_moved: false,
    };
    let mut descent = Descent {
        manifests,
        ctx,
        on_conflict: options.on_conflict,
        keep_git: options.git == GitMode::Keep,
        asked: &mut asked,
        frames: Vec::new(),
        out,
        taken: Vec::new(),
        unknown: Vec::new(),
    };
    let merged = descent.run(own, scope)?;
    let Descent { mut out, taken, unknown, .. } = descent;
    if let Some(Entry { meta, node: Node::Directory { manifest }, .. }) = merged {
        out.picture.root = meta;
        out.picture.manifest = manifest;
    }
    asked.check()?;
    Ok(Found { merged: out, taken, unknown })
}

fn root_entry(meta: &Meta, manifest: Hash) -> Entry {
    Entry { name: Box::default(), meta: meta.clone(), node: Node::Directory { manifest } }
}

impl<'a> Descent<'a> {
    fn run(&mut self, root: Triple, scope: Scope<'a>) -> Result<Option<Entry>> {
        let mut done = 0u64;
        let triples = self.read(&root)?;
        self.enter(root, Zone::Open, scope, triples);
        loop {
            let Some(frame) = self.frames.last_mut() else { return Ok(None) };
            if let Some(triple) = frame.pending.next() {
                let (zone, scope) = (frame.zone, frame.scope.clone());
                match self.decide(triple.clone(), zone, &scope)? {
                    Step::Done(merged) => self.add(&triple, merged),
                    Step::Enter(own, zone, scope) => match self.read(&own) {
                        Ok(triples) => self.enter(*own, zone, scope, triples),
                        Err(error) if error.code() == Code::Corrupt => {
                            // Nothing is written or deleted for a damaged directory.
                            scope.below().into_iter().for_each(|number| self.asked.meet(number));
                            let path = self.path(&own.name());
                            let detail = Some(error.to_string());
                            self.out.not_restorable.push(Uncovered { path, reason: Reason::Damaged, detail });
                            self.add(&own, own.ours.clone());
                        }
                        Err(error) => return Err(error),
                    },
                }
                continue;
            }
            self.ctx.check()?;
            done += 1;
            if done.is_multiple_of(1_024) {
                self.ctx.report(Progress { phase: "compare", done, total: None, bytes: 0 });
            }
            let Some(frame) = self.frames.pop() else { return Ok(None) };
            let own = frame.own.clone();
            let merged = self.finish(frame)?;
            if self.frames.is_empty() {
                return Ok(merged);
            }
            self.add(&own, merged);
        }
    }

    fn read(&self, of: &Triple) -> Result<Vec<Triple>> {
        let read = |entry: &Option<Entry>| match manifest(entry.as_ref()) {
            Some(hash) => self.manifests.directory(hash),
            None => Ok(Vec::new()),
        };
        Ok(align(read(&of.base)?, read(&of.ours)?, read(&of.theirs)?))
    }

    fn enter(&mut self, own: Triple, zone: Zone, scope: Scope<'a>, triples: Vec<Triple>) {
        let marks = Marks {
            conflicts: self.out.conflicts.len(),
            kept: self.out.kept.len(),
            not_restorable: self.out.not_restorable.len(),
            taken: self.taken.len(),
        };
        let entries = Vec::with_capacity(triples.len());
        let pending = triples.into_iter();
        self.frames.push(Frame { own, zone, scope, marks, pending, entries, as_theirs: true, as_ours: true });
    }

    /// Puts a merged name into the directory that is gone through.
    fn add(&mut self, of: &Triple, merged: Option<Entry>) {
        let Some(frame) = self.frames.last_mut() else { return };
        frame.as_theirs &= match (manifest(merged.as_ref()), manifest(of.theirs.as_ref())) {
            // What happens in it does not move the time of the directory that holds it.
            (Some(_), Some(_)) => true,
            _ => merged == of.theirs,
        };
        frame.as_ours &= merged == of.ours;
        frame.entries.extend(merged);
    }

    /// The path of a name in the directory that is gone through.
    pub(super) fn path(&self, name: &[u8]) -> RelPath {
        let names = self.frames.iter().skip(1).map(|frame| frame.own.name());
        let mut bytes = Vec::new();
        for part in names {
            bytes.extend_from_slice(&part);
            bytes.push(b'/');
        }
        bytes.extend_from_slice(name);
        RelPath::parse(&bytes).unwrap_or_default()
    }

    /// Forgets what was found in a directory.
    pub(super) fn back_to(&mut self, marks: Marks) {
        self.out.conflicts.truncate(marks.conflicts);
        self.out.kept.truncate(marks.kept);
        self.out.not_restorable.truncate(marks.not_restorable);
        self.taken.truncate(marks.taken);
    }

    pub(super) const fn is_protected(&self, zone: Zone) -> bool {
        self.keep_git && !matches!(zone, Zone::Open)
    }
}

/// The zone of a name in a directory.
pub(super) fn zone_of(parent: Zone, name: &[u8]) -> Zone {
    match parent {
        Zone::GitTop | Zone::Git => Zone::Git,
        Zone::Open if is_git_name(name) => Zone::GitTop,
        Zone::Open => Zone::Open,
    }
}

/// Brings the entries of three sorted lists together by name.
fn align(base: Vec<Entry>, ours: Vec<Entry>, theirs: Vec<Entry>) -> Vec<Triple> {
    let mut all = Vec::with_capacity(base.len().max(ours.len()).max(theirs.len()));
    let mut lists = [base, ours, theirs].map(|list| list.into_iter().peekable());
    loop {
        let first = lists.iter_mut().filter_map(|list| list.peek()).map(|entry| entry.name.clone()).min();
        let Some(name) = first else { return all };
        let [base, ours, theirs] = lists.each_mut().map(|list| list.next_if(|entry| entry.name == name));
        all.push(Triple { base, ours, theirs });
    }
}
