//! Baseline × sandbox × resource: the commit against a model that decides path by path and shares no code with it (S6).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use proptest::prelude::*;
use turnback_engine::sandbox::{CommitOptions, OnCommitConflict};

use crate::commit::{conflicts, held};
use crate::ground::Kind;
use crate::place::{Place, changes, ctx};

/// No path lies beneath another one, and the directories are always there.
const PATHS: [&str; 9] =
    ["a", "b", "d/x", "d/y", "d/e/z", ".git/config", ".git/HEAD", ".vscode/tasks.json", "d/.envrc"];

/// What the name says about a path, and what stands for it in a report.
fn protected(path: &str) -> Option<(&'static str, &'static str)> {
    match path {
        ".git/config" | ".git/HEAD" => Some((".git", "git_metadata")),
        ".vscode/tasks.json" => Some((".vscode", "trusted")),
        "d/.envrc" => Some(("d/.envrc", "trusted")),
        _ => None,
    }
}

/// 0: nothing; 1 to 3: files; 4: a link.
type State = u8;
type Side = BTreeMap<&'static str, State>;

fn side() -> impl Strategy<Value = Side> {
    proptest::collection::vec(0u8..5, PATHS.len()).prop_map(|states| PATHS.into_iter().zip(states).collect())
}

/// Most paths are as in the baseline.
fn three() -> impl Strategy<Value = [Side; 3]> {
    let keeps = || proptest::collection::vec(proptest::bool::weighted(0.6), PATHS.len());
    (side(), side(), side(), keeps(), keeps()).prop_map(|(base, one, two, keep_one, keep_two)| {
        let mixed = |other: Side, keeps: Vec<bool>| -> Side {
            PATHS.iter().zip(keeps).map(|(p, keep)| (*p, if keep { base[p] } else { other[p] })).collect()
        };
        let (one, two) = (mixed(one, keep_one), mixed(two, keep_two));
        [base, one, two]
    })
}

fn put(root: &Path, side: &Side, was: Option<&Side>) {
    for directory in ["d/e", ".git", ".vscode"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    for (path, state) in side {
        if was.is_some_and(|was| was[path] == *state) {
            continue;
        }
        let full = root.join(path);
        let _ = fs::remove_file(&full);
        match state {
            0 => {}
            4 => symlink("target", full).unwrap(),
            _ => fs::write(full, [*state]).unwrap(),
        }
    }
}

fn read(root: &Path) -> Side {
    let state = |path: &str| {
        let full = root.join(path);
        match fs::symlink_metadata(&full) {
            Err(_) => 0,
            Ok(found) if found.is_symlink() => 4,
            Ok(_) => fs::read(full).unwrap()[0],
        }
    };
    PATHS.into_iter().map(|path| (path, state(path))).collect()
}

struct Model {
    after: Side,
    conflicts: BTreeSet<String>,
    held: BTreeSet<(String, &'static str)>,
    /// Paths whose change only the sandbox has.
    unsaved: BTreeSet<String>,
}

fn model(sides: &[Side; 3], options: &CommitOptions) -> Model {
    let [base, sandbox, resource] = sides;
    let mut model = Model {
        after: resource.clone(),
        conflicts: BTreeSet::new(),
        held: BTreeSet::new(),
        unsaved: BTreeSet::new(),
    };
    let git_is_as_it_was = PATHS.iter().filter(|p| p.starts_with(".git")).all(|p| base[p] == resource[p]);
    for path in PATHS {
        let (b, s, r) = (base[path], sandbox[path], resource[path]);
        if s == b {
            continue;
        }
        let is_held = match protected(path) {
            Some((_, "git_metadata")) => !(options.allow_git && git_is_as_it_was),
            Some(_) => !options.allow_trusted,
            None => false,
        };
        if is_held {
            let (top, why) = match protected(path).unwrap() {
                (top, "git_metadata") if !git_is_as_it_was => (top, "git_changed"),
                known => known,
            };
            model.held.insert((top.to_owned(), why));
            model.unsaved.insert(path.to_owned());
        } else if r == b || r == s {
            model.after.insert(path, s);
        } else {
            model.conflicts.insert(path.to_owned());
            if options.on_conflict == OnCommitConflict::Ours {
                model.after.insert(path, s);
            } else {
                model.unsaved.insert(path.to_owned());
            }
        }
    }
    if options.on_conflict == OnCommitConflict::Fail && !model.conflicts.is_empty() {
        model.after = resource.clone();
        model.unsaved = PATHS.iter().filter(|p| sandbox[*p] != base[*p]).map(|p| (*p).to_owned()).collect();
    }
    model
}

fn options() -> impl Strategy<Value = CommitOptions> {
    let conflict = prop_oneof![
        Just(OnCommitConflict::Fail),
        Just(OnCommitConflict::Ours),
        Just(OnCommitConflict::Theirs)
    ];
    (conflict, any::<bool>(), any::<bool>()).prop_map(|(on_conflict, allow_git, allow_trusted)| {
        CommitOptions { on_conflict, allow_git, allow_trusted, ..CommitOptions::default() }
    })
}

fn one(sides: &[Side; 3], options: &CommitOptions) {
    let place = Place::on(Kind::Here).unwrap();
    let resource = place.resource();
    put(&resource, &sides[0], None);
    let sandbox = place.create();
    put(sandbox.handle().path(), &sides[1], Some(&sides[0]));
    put(&resource, &sides[2], Some(&sides[0]));
    let model = model(sides, options);
    let report = sandbox.commit(options, &ctx()).unwrap();
    let stops = options.on_conflict == OnCommitConflict::Fail && !model.conflicts.is_empty();
    assert_eq!(report.committed, !stops);
    assert_eq!(read(&resource), model.after);
    assert_eq!(read(sandbox.handle().path()), sides[1], "the sandbox stays as it is");
    assert_eq!(conflicts(&report).into_iter().collect::<BTreeSet<_>>(), model.conflicts);
    assert_eq!(held(&report).into_iter().collect::<BTreeSet<_>>(), model.held);
    let written: BTreeSet<_> = report.changes.iter().map(|change| change.path.to_string()).collect();
    let expected: BTreeSet<_> =
        PATHS.iter().filter(|p| model.after[*p] != sides[2][*p]).map(|p| (*p).to_owned()).collect();
    assert_eq!(written, expected);
    // S10: what was not brought is still unsaved, and nothing else.
    let left: BTreeSet<_> = changes(&sandbox).into_iter().map(|(path, _)| path).collect();
    assert_eq!(left, model.unsaved);
    if report.pre_apply_checkpoint_id.is_some() {
        assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
        assert_eq!(read(&resource), sides[2]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_model(sides in three(), options in options()) {
        one(&sides, &options);
    }
}
