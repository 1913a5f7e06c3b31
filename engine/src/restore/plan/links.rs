//! Hard-link groups: which members get a new inode, so that afterwards the tree has exactly the checkpoint's groups (C6).

use std::collections::{HashMap, HashSet};

use super::work::{Act, Item, State};
use crate::model::{LinkGroups, Reason, RelPath, Uncovered};

/// A file, symlink or fifo that is in a group now or was in one then.
#[derive(Debug)]
pub(super) struct Fact {
    pub(super) path: RelPath,
    pub(super) dir: usize,
    pub(super) name: Box<[u8]>,
    pub(super) before: Option<State>,
    pub(super) after: Option<State>,
    /// Nothing may happen to it: a kept path.
    pub(super) fixed: bool,
    /// Something else takes its place: nothing more is to be done when it goes.
    pub(super) silent: bool,
}

impl Fact {
    fn unchanged(&self) -> bool {
        matches!((&self.before, &self.after), (Some(before), Some(after)) if before.same(after))
    }
}

/// The outcome: items to do, and what is left alone.
#[derive(Debug, Default)]
pub(super) struct Regrouped {
    pub(super) items: Vec<Item>,
    pub(super) kept: Vec<Uncovered>,
}

/// Decides for all facts. `in_scope` tells whether a path may be written.
pub(super) fn regroup(
    facts: Vec<Fact>,
    now: &LinkGroups,
    then: &LinkGroups,
    in_scope: &dyn Fn(&RelPath) -> bool,
) -> Regrouped {
    let by_path: HashMap<&RelPath, &Fact> = facts.iter().map(|fact| (&fact.path, fact)).collect();
    let now_of = now.by_path();
    let then_of = then.by_path();
    let retained = retained(&facts, &by_path, now, then, &now_of, &then_of);

    // The members of each class that is not retained, by the class's first path.
    let mut classes: HashMap<&RelPath, Vec<usize>> = HashMap::new();
    let mut order: Vec<&RelPath> = Vec::new();
    for (number, fact) in facts.iter().enumerate() {
        if fact.after.is_none() {
            continue;
        }
        let key = key_of(&fact.path, then, &then_of);
        if !retained.contains(key) {
            let members = classes.entry(key).or_default();
            if members.is_empty() {
                order.push(key);
            }
            members.push(number);
        }
    }

    let mut out = Regrouped::default();
    let mut links = 0;
    // What to do with each fact: `Some(link)` when it is written.
    let mut decided: HashMap<usize, Option<usize>> = HashMap::new();
    for key in order {
        let members = classes.remove(key).unwrap_or_default();
        let class = class_of(key, then, &then_of);
        let free: Vec<usize> =
            members.iter().copied().filter(|&m| facts.get(m).is_some_and(|f| !f.fixed)).collect();
        let link = (free.len() > 1).then(|| {
            links += 1;
            links - 1
        });
        let parted = class.iter().any(|path| !in_scope(path));
        for &member in &members {
            let Some(fact) = facts.get(member) else { continue };
            if fact.fixed {
                // A kept path whose content differs is listed already.
                if fact.unchanged() && class.len() > 1 {
                    out.kept.push(kept(fact, Reason::GitMetadata, "its hard-link group differs"));
                }
                continue;
            }
            if parted {
                out.kept.push(kept(
                    fact,
                    Reason::LinkOutside,
                    "other names of the file are not among the paths",
                ));
            }
            decided.insert(member, link);
        }
    }
    for (number, fact) in facts.into_iter().enumerate() {
        if let Some(link) = decided.get(&number) {
            out.items.push(item(fact, *link));
        }
    }
    out
}

fn kept(fact: &Fact, reason: Reason, detail: &str) -> Uncovered {
    Uncovered { path: fact.path.clone(), reason, detail: Some(detail.to_owned()) }
}

fn item(fact: Fact, link: Option<usize>) -> Item {
    let act = match (&fact.before, &fact.after) {
        (None, _) => Act::Create,
        (Some(before), Some(after)) if before.same(after) => Act::Relink,
        (Some(before), Some(after)) if before.same_content(after) => Act::Metadata,
        _ => Act::Replace,
    };
    Item {
        dir: fact.dir,
        name: fact.name,
        before: fact.before,
        after: fact.after,
        act,
        link,
        fresh: true,
        replaces_dir: None,
        unlock: false,
    }
}

/// The paths that share an inode with `path` in the checkpoint, itself included, sorted.
fn class_of<'a>(
    path: &'a RelPath,
    then: &'a LinkGroups,
    then_of: &HashMap<&'a RelPath, usize>,
) -> Vec<&'a RelPath> {
    match then_of.get(path).and_then(|&group| then.groups().get(group)) {
        Some(group) => group.iter().collect(),
        None => vec![path],
    }
}

/// The first path of that class, which stands for it.
fn key_of<'a>(path: &'a RelPath, then: &'a LinkGroups, then_of: &HashMap<&'a RelPath, usize>) -> &'a RelPath {
    then_of.get(path).and_then(|&group| then.groups().get(group)?.first()).unwrap_or(path)
}

/// The classes (by their first path) whose inode stays: all members are unchanged names of one inode, and of all classes that share
/// that inode now it is the one that keeps it.
fn retained<'a>(
    facts: &'a [Fact],
    by_path: &HashMap<&'a RelPath, &'a Fact>,
    now: &'a LinkGroups,
    then: &'a LinkGroups,
    now_of: &HashMap<&'a RelPath, usize>,
    then_of: &HashMap<&'a RelPath, usize>,
) -> HashSet<&'a RelPath> {
    let mut stays = HashSet::new();
    let concerned: HashSet<usize> = facts.iter().filter_map(|f| now_of.get(&f.path).copied()).collect();
    for group in concerned.into_iter().filter_map(|number| now.groups().get(number)) {
        let members: HashSet<&RelPath> = group.iter().collect();
        let fixed: Vec<&RelPath> =
            group.iter().filter(|path| by_path.get(*path).is_some_and(|fact| fact.fixed)).collect();
        let mut best: Option<Vec<&RelPath>> = None;
        let mut seen = HashSet::new();
        for path in group {
            // A member without a fact lies where nothing differs.
            let gone = by_path.get(path).is_some_and(|fact| fact.after.is_none());
            if gone || !seen.insert(key_of(path, then, then_of)) {
                continue;
            }
            let class = class_of(path, then, then_of);
            let whole =
                class.iter().all(|p| members.contains(p) && by_path.get(p).is_none_or(|f| f.unchanged()));
            let holds_fixed = fixed.iter().all(|p| class.contains(p));
            let better = best.as_ref().is_none_or(|b| (b.len(), class.first()) < (class.len(), b.first()));
            if whole && holds_fixed && better {
                best = Some(class);
            }
        }
        stays.extend(best.and_then(|class| class.first().copied()));
    }
    stays
}
