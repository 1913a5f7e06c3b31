//! The questions that need the whole comparison: which directories can really go, which link groups are made anew.

use std::collections::{HashMap, HashSet};

use super::Plan;
use super::descend::Draft;
use super::links::regroup;
use super::work::{Act, DirWork, Item, Role, dir_path};
use crate::model::{Reason, RelPath, Uncovered};

/// Makes the plan.
pub(super) fn settle(mut draft: Draft, fresh: bool) -> Plan {
    let untouched = settle_deletions(&mut draft);
    draft.items.retain(|item| !untouched.contains(&item.dir));
    settle_links(&mut draft, &untouched);

    let Draft { mut dirs, mut items, mut kept, mut not_restorable, head_moved, .. } = draft;
    items.sort_by(|a, b| (a.dir, &a.name).cmp(&(b.dir, &b.name)));
    share_out(&mut dirs, &items);
    for list in [&mut kept, &mut not_restorable] {
        list.sort();
        list.dedup_by(|a, b| a.path == b.path && a.reason == b.reason);
    }
    Plan { dirs, items, fresh, kept, not_restorable, head_moved }
}

/// Tells each directory which of the sorted items are its own.
pub(super) fn share_out(dirs: &mut [DirWork], items: &[Item]) {
    let mut start = 0;
    for (number, dir) in dirs.iter_mut().enumerate() {
        let count = items.get(start..).map_or(0, |rest| rest.partition_point(|item| item.dir <= number));
        dir.items = start..start + count;
        start += count;
    }
}

/// Directories that hold something which stays, stay. One that would have to make place for a file keeps all it has, and the file
/// is not restorable. Returns the directories in which nothing happens.
fn settle_deletions(draft: &mut Draft) -> HashSet<usize> {
    for number in (0..draft.dirs.len()).rev() {
        let Some(dir) = draft.dirs.get(number) else { continue };
        let Some(&reason) = draft.blocked.get(&number) else { continue };
        if let (true, false, Some(parent)) = (matches!(dir.role, Role::Delete { .. }), dir.then, dir.parent) {
            let parent_goes = draft.dirs.get(parent).is_some_and(|p| matches!(p.role, Role::Delete { .. }));
            if parent_goes {
                draft.blocked.entry(parent).or_insert(reason);
            }
        }
    }
    let mut untouched = HashSet::new();
    for number in 0..draft.dirs.len() {
        let Some(dir) = draft.dirs.get(number) else { continue };
        let inherited = dir.parent.is_some_and(|parent| untouched.contains(&parent));
        let blocked = draft.blocked.get(&number).copied();
        if !matches!(dir.role, Role::Delete { .. }) || (blocked.is_none() && !inherited) {
            continue;
        }
        let path = dir_path(&draft.dirs, number);
        let Some(dir) = draft.dirs.get_mut(number) else { continue };
        let Role::Delete { before } = &dir.role else { continue };
        if let (Some(reason), true) = (blocked, dir.then) {
            let detail = Some("the directory in its place now holds something that is kept".to_owned());
            draft.not_restorable.push(Uncovered { path, reason, detail });
            draft.successors.remove(&number);
            untouched.insert(number);
        } else if inherited {
            untouched.insert(number);
        } else {
            draft.kept.push(Uncovered::new(path, Reason::NotEmpty));
        }
        dir.then = false;
        dir.role = Role::Keep { before: before.clone(), after: before.clone() };
    }
    let mut successors: Vec<_> = draft.successors.drain().collect();
    successors.sort_by_key(|(number, _)| *number);
    for (number, mut item) in successors {
        item.replaces_dir = Some(number);
        draft.items.push(item);
    }
    untouched
}

/// Adds the items that hard-link groups need.
fn settle_links(draft: &mut Draft, untouched: &HashSet<usize>) {
    let mut facts = std::mem::take(&mut draft.facts);
    for fact in &mut facts {
        fact.fixed |= untouched.contains(&fact.dir);
    }
    // Grouped paths that simply go.
    for fact in facts.iter().filter(|fact| !fact.fixed && !fact.silent && fact.after.is_none()) {
        draft.items.push(Item {
            dir: fact.dir,
            name: fact.name.clone(),
            before: fact.before.clone(),
            after: None,
            act: Act::Delete,
            link: None,
            fresh: false,
            replaces_dir: None,
            unlock: false,
        });
    }
    let paths = draft.paths.clone();
    let in_scope = move |path: &RelPath| {
        paths.as_ref().is_none_or(|paths| paths.iter().any(|asked| path.starts_with(asked)))
    };
    // A successor that takes a directory's place is in a group as any other file.
    let grouped: HashSet<&RelPath> = draft.then_links.groups().iter().flatten().collect();
    let mut rest = std::mem::take(&mut draft.items);
    let mut successors: HashMap<(usize, Box<[u8]>), usize> = HashMap::new();
    for (number, item) in rest.iter().enumerate() {
        if item.replaces_dir.is_some() {
            let path = dir_path(&draft.dirs, item.dir).join(&item.name);
            if grouped.contains(&path) {
                successors.insert((item.dir, item.name.clone()), number);
                facts.push(super::links::Fact {
                    path,
                    dir: item.dir,
                    name: item.name.clone(),
                    before: item.before.clone(),
                    after: item.after.clone(),
                    fixed: false,
                    silent: false,
                });
            }
        }
    }
    let regrouped = regroup(facts, &draft.now_links, &draft.then_links, &in_scope);
    for mut item in regrouped.items {
        let place = successors.get(&(item.dir, item.name.clone()));
        match place.and_then(|&place| rest.get_mut(place)) {
            Some(successor) => {
                item.replaces_dir = successor.replaces_dir;
                *successor = item;
            }
            None => rest.push(item),
        }
    }
    draft.items = rest;
    draft.kept.extend(regrouped.kept);
}
