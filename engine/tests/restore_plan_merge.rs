//! The three-way merge against a model that decides path by path and shares no code with it (C7, C15).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers fail as tests do: by a panic

mod restore_support;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use restore_support::Memory;
use turnback_engine::model::{
    Content, Entry, FileKind, Hash, LinkGroups, Meta, Node, Objects, Picture, Reason, Sink, Timestamp,
};
use turnback_engine::restore::{GitMode, MergeOptions, Merged, OnConflict, PlanOptions, Sides, merge, plan};
use turnback_engine::{Context, Result};

impl Sink for Memory {
    fn put(&self, bytes: &[u8]) -> Result<Hash> {
        Ok(Memory::put(self, bytes))
    }

    fn put_directory(&self, entries: &[Entry]) -> Result<Hash> {
        Ok(Memory::put_directory(self, entries.to_vec()))
    }
}

/// A path as the model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Thing {
    /// A file, a link, a pipe or a socket that nobody keeps: kind, content, mode, time.
    Leaf(u8, u8, u8, u8),
    /// Mode, time, names.
    Dir(u8, u8, Kids),
}

type Kids = BTreeMap<u8, Thing>;

const SOCKET: u8 = 3;

fn thing(depth: u32) -> BoxedStrategy<Thing> {
    let leaf = (prop_oneof![8 => 0..1u8, 1 => 1..3u8, 1 => Just(SOCKET)], 0..3u8, 0..2u8, 0..3u8)
        .prop_map(|(kind, content, mode, time)| Thing::Leaf(kind, content, mode, time));
    if depth == 0 {
        return leaf.boxed();
    }
    let dir = (0..2u8, 0..3u8, kids(depth - 1)).prop_map(|(mode, time, kids)| Thing::Dir(mode, time, kids));
    prop_oneof![3 => leaf, 2 => dir].boxed()
}

fn kids(depth: u32) -> BoxedStrategy<Kids> {
    proptest::collection::btree_map(b'a'..b'e', thing(depth), 0..4).boxed()
}

/// A change of a tree: at which path, and what is there then.
type Edit = (Vec<u8>, Option<Thing>);

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let path = proptest::collection::vec(b'a'..b'e', 1..4);
    proptest::collection::vec((path, proptest::option::weighted(0.7, thing(1))), 0..4)
}

fn edited(mut tree: Kids, edits: &[Edit]) -> Kids {
    for (path, what) in edits {
        edit(&mut tree, path, what);
    }
    tree
}

fn edit(kids: &mut Kids, path: &[u8], what: &Option<Thing>) {
    let Some((name, rest)) = path.split_first() else { return };
    match (rest.is_empty(), kids.get_mut(name), what) {
        (true, _, Some(what)) => {
            kids.insert(*name, what.clone());
        }
        (true, _, None) => {
            kids.remove(name);
        }
        (false, Some(Thing::Dir(_, time, inner)), _) => {
            *time = (*time + 1) % 3;
            edit(inner, rest, what);
        }
        _ => {}
    }
}

/// Before the turn, after it, and now: mostly one made of the other, sometimes of the first again.
fn three() -> impl Strategy<Value = (Kids, Kids, Kids)> {
    (kids(2), edits(), edits(), any::<bool>()).prop_map(|(theirs, turn, since, again)| {
        let base = edited(theirs.clone(), &turn);
        let ours = edited(if again && since.len() > 2 { theirs.clone() } else { base.clone() }, &since);
        (base, ours, theirs)
    })
}

fn meta(mode: u8, time: u8) -> Meta {
    let mtime = Timestamp { sec: i64::from(time), nsec: 0 };
    Meta { mode: 0o600 + u16::from(mode), uid: 1, gid: 1, mtime, xattrs: None }
}

fn stored(memory: &Memory, kids: &Kids) -> Hash {
    let entries = kids.iter().map(|(name, thing)| {
        let (meta, node) = match thing {
            Thing::Leaf(kind, content, mode, time) => {
                let node = match kind {
                    0 => {
                        let bytes = vec![*content; usize::from(*content)];
                        let content = Content::Blob(Memory::put(memory, &bytes));
                        Node::File { size: bytes.len() as u64, content, changing: false }
                    }
                    1 => Node::Symlink { target: Box::from([b'a' + content]) },
                    2 => Node::Fifo,
                    _ => Node::Uncovered { reason: Reason::Socket, kind: FileKind::Socket },
                };
                (meta(*mode, *time), node)
            }
            Thing::Dir(mode, time, kids) => {
                (meta(*mode, *time), Node::Directory { manifest: stored(memory, kids) })
            }
        };
        Entry { name: Box::from([*name]), meta, node }
    });
    Memory::put_directory(memory, entries.collect())
}

fn picture(memory: &Memory, kids: &Kids) -> Picture {
    Picture { root: meta(0, 0), manifest: stored(memory, kids), links: LinkGroups::default() }
}

fn merged(memory: &Memory, sides: [&Kids; 3], on_conflict: OnConflict) -> (Merged, Picture) {
    let [base, ours, theirs] = sides.map(|kids| picture(memory, kids));
    let sides = Sides { base: &base, ours: &ours, theirs: &theirs };
    let options = MergeOptions { on_conflict, git: GitMode::Exact, paths: None };
    (merge(sides, memory, &options, &Context::default()).unwrap(), ours)
}

/// What the model says: the merged tree, and the paths of conflicts.
#[derive(Default)]
struct Model {
    theirs_wins: bool,
    conflicts: BTreeSet<Vec<u8>>,
}

fn is_dir(thing: Option<&Thing>) -> bool {
    matches!(thing, Some(Thing::Dir(..)))
}

fn is_socket(thing: Option<&Thing>) -> bool {
    matches!(thing, Some(Thing::Leaf(SOCKET, ..)))
}

fn kids_of(thing: Option<&Thing>) -> Kids {
    match thing {
        Some(Thing::Dir(_, _, kids)) => kids.clone(),
        _ => Kids::new(),
    }
}

/// The same but for times; what nobody keeps is only ever equal to itself.
fn equal(a: Option<&Thing>, b: Option<&Thing>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(Thing::Leaf(SOCKET, ..)), _) | (_, Some(Thing::Leaf(SOCKET, ..))) => a == b,
        (Some(Thing::Leaf(k, c, m, _)), Some(Thing::Leaf(l, d, n, _))) => {
            // Pipes have no content.
            k == l && m == n && (c == d || *k == 2)
        }
        (Some(Thing::Dir(m, _, x)), Some(Thing::Dir(n, _, y))) => {
            m == n && x.len() == y.len() && x.iter().all(|(name, kid)| equal(Some(kid), y.get(name)))
        }
        _ => false,
    }
}

impl Model {
    fn conflict<'a>(
        &mut self,
        path: &[u8],
        ours: Option<&'a Thing>,
        theirs: Option<&'a Thing>,
    ) -> Option<&'a Thing> {
        self.conflicts.insert(path.to_vec());
        if self.theirs_wins { theirs } else { ours }
    }

    fn path(
        &mut self,
        path: &[u8],
        b: Option<&Thing>,
        n: Option<&Thing>,
        t: Option<&Thing>,
    ) -> Option<Thing> {
        if [b, n, t].into_iter().any(is_socket) {
            // Unknown on one side: only what is proven in every respect moves.
            return if t != b && n == b {
                t.cloned()
            } else if t == b || is_socket(n) || is_socket(t) || equal(n, t) {
                n.cloned()
            } else {
                self.conflict(path, n, t).cloned()
            };
        }
        match (is_dir(b), is_dir(n), is_dir(t)) {
            (_, true, true) | (true, _, true) => self.directory(path, b, n, t),
            (true, true, false) if t.is_none() => self.directory(path, b, n, t),
            (true, true, false) => {
                if equal(n, b) {
                    t.cloned()
                } else {
                    self.conflict(path, n, t).cloned()
                }
            }
            _ if equal(t, b) && n == b => t.cloned(),
            _ if equal(t, b) => n.cloned(),
            _ if equal(n, b) => t.cloned(),
            _ if equal(n, t) => n.cloned(),
            _ => self.conflict(path, n, t).cloned(),
        }
    }

    fn directory(
        &mut self,
        path: &[u8],
        b: Option<&Thing>,
        n: Option<&Thing>,
        t: Option<&Thing>,
    ) -> Option<Thing> {
        let known = self.conflicts.clone();
        let [bk, nk, tk] = [b, n, t].map(kids_of);
        let names: BTreeSet<u8> = bk.keys().chain(nk.keys()).chain(tk.keys()).copied().collect();
        let mut kids = Kids::new();
        for name in names {
            let inner = [path, &[name]].concat();
            let kid = self.path(&inner, bk.get(&name), nk.get(&name), tk.get(&name));
            kids.extend(kid.map(|kid| (name, kid)));
        }
        let as_there = kids.len() == tk.len()
            && kids.iter().all(|(name, kid)| {
                let there = tk.get(name);
                Some(kid) == there || (is_dir(Some(kid)) && is_dir(there))
            });
        match (b, n, t) {
            (_, Some(Thing::Dir(nm, nt, _)), Some(Thing::Dir(tm, tt, _))) => {
                let (bm, bt) = match b {
                    Some(Thing::Dir(bm, bt, _)) => (Some(bm), Some(bt)),
                    _ => (None, None),
                };
                let mode = if nm == tm || bm == Some(tm) {
                    nm
                } else if bm == Some(nm) {
                    tm
                } else {
                    self.conflicts.insert(path.to_vec());
                    if self.theirs_wins { tm } else { nm }
                };
                let time = if bt == Some(nt) && as_there { tt } else { nt };
                Some(Thing::Dir(*mode, *time, kids))
            }
            (Some(Thing::Dir(bm, ..)), Some(Thing::Dir(nm, nt, _)), None) => {
                if kids.is_empty() && (bm == nm || self.conflict(path, n, None).is_none()) {
                    return None;
                }
                Some(Thing::Dir(*nm, *nt, kids))
            }
            (Some(Thing::Dir(bm, ..)), None, Some(Thing::Dir(tm, tt, _))) => {
                if kids.is_empty() && (bm == tm || self.conflict(path, None, t).is_none()) {
                    return None;
                }
                Some(Thing::Dir(*tm, *tt, kids))
            }
            (Some(Thing::Dir(bm, ..)), Some(_), Some(Thing::Dir(tm, ..))) => {
                let wanted = !kids.is_empty() || self.conflicts != known || bm != tm;
                self.conflicts = known;
                if wanted { self.conflict(path, n, t).cloned() } else { n.cloned() }
            }
            _ => panic!("no directory: {b:?} {n:?} {t:?}"),
        }
    }
}

/// Every path with what is there, directories without what is in them.
fn flat(kids: &Kids) -> BTreeMap<Vec<u8>, Thing> {
    let mut all = BTreeMap::new();
    let mut todo: Vec<(Vec<u8>, &Kids)> = vec![(Vec::new(), kids)];
    while let Some((path, kids)) = todo.pop() {
        for (name, thing) in kids {
            let path = [&*path, &[*name]].concat();
            match thing {
                Thing::Dir(mode, time, inner) => {
                    todo.push((path.clone(), inner));
                    all.insert(path, Thing::Dir(*mode, *time, Kids::new()));
                }
                leaf => {
                    all.insert(path, leaf.clone());
                }
            }
        }
    }
    all
}

/// The tree of a picture, as the model has trees.
fn read(memory: &Memory, manifest: Hash) -> Kids {
    let entries = memory.directory(manifest).unwrap();
    let things = entries.into_iter().map(|entry| {
        let (mode, time) = ((entry.meta.mode - 0o600) as u8, entry.meta.mtime.sec as u8);
        let thing = match entry.node {
            Node::Directory { manifest } => Thing::Dir(mode, time, read(memory, manifest)),
            Node::File { size, .. } => Thing::Leaf(0, size as u8, mode, time),
            Node::Symlink { target } => Thing::Leaf(1, target[0] - b'a', mode, time),
            Node::Fifo => Thing::Leaf(2, 0, mode, time),
            Node::Uncovered { .. } => Thing::Leaf(SOCKET, 0, mode, time),
        };
        (entry.name[0], thing)
    });
    things.collect()
}

/// The content of pipes and sockets is none.
fn normal(kids: &Kids) -> Kids {
    let things = kids.iter().map(|(name, thing)| {
        let thing = match thing {
            Thing::Leaf(kind @ (2 | SOCKET), _, mode, time) => Thing::Leaf(*kind, 0, *mode, *time),
            Thing::Dir(mode, time, kids) => Thing::Dir(*mode, *time, normal(kids)),
            other => other.clone(),
        };
        (*name, thing)
    });
    things.collect()
}

fn paths(merged: &Merged) -> BTreeSet<Vec<u8>> {
    let conflicts = merged.conflicts.iter();
    conflicts.map(|c| c.path.as_bytes().iter().copied().filter(|b| *b != b'/').collect()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_merge_is_what_the_model_says((base, ours, theirs) in three(), wins: bool) {
        let [base, ours, theirs] = [base, ours, theirs].map(|kids| normal(&kids));
        let memory = Memory::default();
        let on_conflict = if wins { OnConflict::Theirs } else { OnConflict::Ours };
        let (have, _) = merged(&memory, [&base, &ours, &theirs], on_conflict);
        let mut model = Model { theirs_wins: wins, ..Model::default() };
        let root = |kids: &Kids| Thing::Dir(0, 0, kids.clone());
        let want = model.path(b"", Some(&root(&base)), Some(&root(&ours)), Some(&root(&theirs))).unwrap();
        prop_assert_eq!(&read(&memory, have.picture.manifest), &kids_of(Some(&want)));
        prop_assert_eq!(paths(&have), model.conflicts);
    }

    /// Without a model: what holds for every path whatever the rest.
    #[test]
    fn later_edits_always_survive((base, ours, theirs) in three()) {
        let [base, ours, theirs] = [base, ours, theirs].map(|kids| normal(&kids));
        let memory = Memory::default();
        let (have, now) = merged(&memory, [&base, &ours, &theirs], OnConflict::Ours);
        let (b, n, t) = (flat(&base), flat(&ours), flat(&theirs));
        let m = flat(&read(&memory, have.picture.manifest));
        for (path, is) in n.iter().filter(|(_, is)| !is_dir(Some(is))) {
            // A change since that is no way back, and what nobody can tell.
            let changed_since = !equal(Some(is), b.get(path));
            let is_new = !equal(Some(is), t.get(path)) || equal(t.get(path), b.get(path));
            let unknown = is_socket(Some(is)) && b.get(path) != Some(is);
            if (changed_since && is_new) || unknown {
                prop_assert_eq!(m.get(path), Some(is), "{:?}", path);
            }
        }
        // What the turn did not change is as it is now, gone or not, unless something beneath a lost directory came back.
        for path in b.keys().chain(n.keys()).filter(|path| b.get(*path) == t.get(*path)) {
            if !is_dir(b.get(path)) && !is_dir(n.get(path)) {
                prop_assert_eq!(m.get(path), n.get(path), "{:?}", path);
            }
        }
        // And the plan touches nothing else, and nothing that a side does not know.
        let options = PlanOptions { git: GitMode::Exact, paths: None };
        let plan = plan(Some(&now), &have.picture, &memory, &options, &Context::default()).unwrap();
        for change in plan.changes() {
            let path: Vec<u8> = change.path.as_bytes().iter().copied().filter(|b| *b != b'/').collect();
            prop_assert!(b.get(&path) != t.get(&path) || is_dir(b.get(&path)), "{:?}: the turn did not change it", path);
            prop_assert!(!is_socket(n.get(&path)) && !is_socket(t.get(&path)), "{:?}", path);
        }
    }

    #[test]
    fn with_nothing_changed_since_it_is_a_rollback((base, _, theirs) in three(), on in 0..3usize) {
        let on_conflict = [OnConflict::Fail, OnConflict::Ours, OnConflict::Theirs][on];
        let memory = Memory::default();
        let (have, now) = merged(&memory, [&base, &base, &theirs], on_conflict);
        prop_assert_eq!(&have.picture, &picture(&memory, &theirs));
        prop_assert!(have.conflicts.is_empty() && have.kept.is_empty() && have.not_restorable.is_empty());
        // And taken back already, it is nothing at all.
        let (have, _) = merged(&memory, [&base, &theirs, &theirs], on_conflict);
        prop_assert_eq!(&have.picture, &picture(&memory, &theirs));
        prop_assert!(have.conflicts.is_empty());
        let (have, _) = merged(&memory, [&base, &base, &base], on_conflict);
        prop_assert_eq!(&have.picture, &now);
    }
}
