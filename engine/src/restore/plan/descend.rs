//! The comparison of two pictures, directory by directory, only where they differ. Without recursion: trees may be deeper than a
//! stack (input 37).

use std::collections::{HashMap, HashSet};

use super::PlanOptions;
use super::git::GitMode;
use super::links::Fact;
use super::scope::{Asked, Scope, root_scope};
use super::work::{Act, DirWork, Item, Role, State};
use crate::context::{Context, Progress};
use crate::error::{Code, Result};
use crate::model::{
    Entry, FileKind, Hash, LinkGroups, Meta, Node, Objects, Picture, Reason, RelPath, Uncovered,
};

/// What the comparison found, before the questions that need all of it are settled.
pub(super) struct Draft {
    pub(super) dirs: Vec<DirWork>,
    pub(super) items: Vec<Item>,
    pub(super) facts: Vec<Fact>,
    /// Directories that keep something which may not be deleted.
    pub(super) blocked: HashMap<usize, Reason>,
    /// What takes the place of a deleted directory, by its number.
    pub(super) successors: HashMap<usize, Item>,
    pub(super) now_links: LinkGroups,
    pub(super) then_links: LinkGroups,
    pub(super) paths: Option<Vec<RelPath>>,
    pub(super) kept: Vec<Uncovered>,
    pub(super) not_restorable: Vec<Uncovered>,
    pub(super) head_moved: bool,
}

/// Where a directory lies as to `git: keep`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zone {
    Open,
    /// A `.git` itself.
    GitTop,
    /// Beneath one.
    Git,
}

/// A directory to look at.
pub(super) struct Visit<'a> {
    pub(super) parent: Option<usize>,
    pub(super) name: Box<[u8]>,
    pub(super) path: RelPath,
    pub(super) now: Option<Hash>,
    pub(super) then: Option<Hash>,
    pub(super) role: Role,
    pub(super) zone: Zone,
    pub(super) scope: Scope<'a>,
    pub(super) successor: Option<Item>,
}

/// The comparison in progress.
pub(super) struct Descent<'a> {
    pub(super) draft: Draft,
    pub(super) asked: &'a mut Asked,
    pub(super) keep_git: bool,
    /// Paths in any group, now or then.
    pub(super) grouped: HashSet<RelPath>,
    /// Directories with members of groups that differ, and their ancestors: looked at even where nothing else differs.
    regrouped: HashSet<RelPath>,
    pub(super) queue: Vec<Visit<'a>>,
}

pub(super) fn descend(
    now: Option<&Picture>,
    then: &Picture,
    objects: &dyn Objects,
    options: &PlanOptions,
    ctx: &Context,
) -> Result<Draft> {
    let mut asked = Asked::new(options.paths.as_deref());
    let paths = asked.paths().map(<[RelPath]>::to_vec);
    let scope = root_scope(paths.as_deref());
    let now_links = now.map(|picture| picture.links.clone()).unwrap_or_default();
    let grouped = now_links.groups().iter().chain(then.links.groups()).flatten().cloned().collect();
    let regrouped = regrouped(&now_links, &then.links);
    if scope.is_inside() && paths.is_some() {
        (0..paths.as_ref().map_or(0, Vec::len)).for_each(|number| asked.meet(number));
    }
    let after = if scope.is_inside() || now.is_none() { then.root.clone() } else { root_of(now, then) };
    let root = Visit {
        parent: None,
        name: Box::default(),
        path: RelPath::root(),
        now: now.map(|picture| picture.manifest),
        then: Some(then.manifest),
        role: Role::Keep { before: root_of(now, then), after },
        zone: Zone::Open,
        scope,
        successor: None,
    };
    let mut descent = Descent {
        draft: Draft {
            dirs: Vec::new(),
            items: Vec::new(),
            facts: Vec::new(),
            blocked: HashMap::new(),
            successors: HashMap::new(),
            now_links,
            then_links: then.links.clone(),
            paths: paths.clone(),
            kept: Vec::new(),
            not_restorable: Vec::new(),
            head_moved: false,
        },
        asked: &mut asked,
        keep_git: options.git == GitMode::Keep,
        grouped,
        regrouped,
        queue: vec![root],
    };
    let mut done = 0u64;
    while let Some(visit) = descent.queue.pop() {
        ctx.check()?;
        descent.visit(visit, objects)?;
        done += 1;
        if done.is_multiple_of(1_024) {
            ctx.report(Progress { phase: "plan", done, total: None, bytes: 0 });
        }
    }
    let draft = descent.draft;
    asked.check()?;
    Ok(draft)
}

fn root_of(now: Option<&Picture>, then: &Picture) -> Meta {
    // A root that is missing is made with the checkpoint's metadata whatever is said here.
    now.map_or_else(|| then.root.clone(), |picture| picture.root.clone())
}

/// The directories, with their ancestors, that hold members of groups which differ.
fn regrouped(now: &LinkGroups, then: &LinkGroups) -> HashSet<RelPath> {
    let before: HashSet<&Vec<RelPath>> = now.groups().iter().collect();
    let after: HashSet<&Vec<RelPath>> = then.groups().iter().collect();
    let mut all = HashSet::new();
    for path in before.symmetric_difference(&after).copied().flatten() {
        let mut at = path.clone();
        while let Some((parent, _)) = at.split() {
            if !all.insert(parent.clone()) {
                break;
            }
            at = parent;
        }
    }
    all
}

impl<'a> Descent<'a> {
    fn visit(&mut self, visit: Visit<'a>, objects: &dyn Objects) -> Result<()> {
        let Visit { parent, name, path, now, then, role, zone, scope, successor } = visit;
        let same = now.is_some() && now == then;
        let look = !same || !scope.is_inside() || self.regrouped.contains(&path);
        if !look && matches!(&role, Role::Keep { before, after } if before == after) {
            return Ok(());
        }
        let entries = if look {
            let now = match now {
                Some(hash) => objects.directory(hash),
                None => Ok(Vec::new()),
            };
            let then = match then {
                Some(hash) => objects.directory(hash),
                None => Ok(Vec::new()),
            };
            match (now, then) {
                (Ok(now), Ok(then)) => (now, then),
                (Err(error), _) | (_, Err(error)) if parent.is_none() || error.code() != Code::Corrupt => {
                    return Err(error);
                }
                // Nothing is written or deleted for a damaged directory.
                (Err(error), _) | (_, Err(error)) => {
                    scope.below().into_iter().for_each(|number| self.asked.meet(number));
                    let detail = Some(error.to_string());
                    self.draft.not_restorable.push(Uncovered { path, reason: Reason::Damaged, detail });
                    if let (Role::Delete { .. }, Some(parent)) = (&role, parent) {
                        self.draft.blocked.insert(parent, Reason::Damaged);
                    }
                    return Ok(());
                }
            }
        } else {
            (Vec::new(), Vec::new())
        };
        let number = self.draft.dirs.len();
        let deletes = matches!(role, Role::Delete { .. });
        self.draft.dirs.push(DirWork {
            parent,
            name,
            role,
            unlock: false,
            then: successor.is_some(),
            items: 0..0,
        });
        if let Some(successor) = successor {
            self.draft.successors.insert(number, successor);
        }
        let place = Place { dir: number, path: &path, zone, scope: &scope, deletes };
        let (now, then) = entries;
        let first = self.queue.len();
        for (now, then) in merge(now, then) {
            self.compare(&place, now, then);
        }
        // The queue is a stack: the first name is to be looked at first.
        if let Some(pushed) = self.queue.get_mut(first..) {
            pushed.reverse();
        }
        Ok(())
    }
}

/// The directory whose names are compared.
pub(super) struct Place<'p, 'a> {
    pub(super) dir: usize,
    pub(super) path: &'p RelPath,
    pub(super) zone: Zone,
    pub(super) scope: &'p Scope<'a>,
    /// The directory itself is to go.
    pub(super) deletes: bool,
}

/// Pairs entries of two sorted lists by name.
fn merge(now: Vec<Entry>, then: Vec<Entry>) -> Vec<(Option<Entry>, Option<Entry>)> {
    let mut pairs = Vec::with_capacity(now.len().max(then.len()));
    let mut now = now.into_iter().peekable();
    let mut then = then.into_iter().peekable();
    loop {
        let order = match (now.peek(), then.peek()) {
            (None, None) => return pairs,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(n), Some(t)) => n.name.cmp(&t.name),
        };
        let n = if order.is_le() { now.next() } else { None };
        let t = if order.is_ge() { then.next() } else { None };
        pairs.push((n, t));
    }
}

/// Whether the picture that is about to become the safety checkpoint holds this path's content.
pub(super) const fn is_captured(node: &Node) -> bool {
    !matches!(node, Node::Uncovered { .. } | Node::File { changing: true, .. })
}

/// An item with nothing special about it.
pub(super) fn plain(
    dir: usize,
    name: Box<[u8]>,
    before: Option<State>,
    after: Option<State>,
    act: Act,
) -> Item {
    Item { dir, name, before, after, act, link: None, fresh: false, replaces_dir: None, unlock: false }
}

/// Whether a path is a directory whose entries are known.
pub(super) const fn is_directory(node: &Node) -> bool {
    matches!(node.kind(), FileKind::Directory) && !matches!(node, Node::Uncovered { .. })
}
