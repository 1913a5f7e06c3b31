//! Random trees, edits of both sides, carried state and index: what a commit brings, what it leaves alone, and that taking it back leaves
//! everything exactly as it was (S3, S6, S7, S8).

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use turnback_engine::sandbox::{CommitOptions, OnCommitConflict};

use crate::ground::{Ground, ctx, snapshot};
use crate::undo_exact::State;

/// One thing that is done to a tree. Paths are small numbers, so that they meet.
#[derive(Debug, Clone)]
enum Edit {
    Write {
        at: u8,
        what: u8,
    },
    Directory {
        at: u8,
    },
    Link {
        at: u8,
        to: u8,
    },
    Remove {
        at: u8,
    },
    Mode {
        at: u8,
        mode: u8,
    },
    /// Only where there is a repository.
    Stage {
        at: u8,
    },
    StageAll,
    Commit,
}

fn edit(in_git: bool) -> impl Strategy<Value = Edit> {
    let at = 0u8..24;
    let git = if in_git { 3 } else { 0 };
    prop_oneof![
        8 => (at.clone(), 0u8..4).prop_map(|(at, what)| Edit::Write { at, what }),
        2 => at.clone().prop_map(|at| Edit::Directory { at }),
        2 => (at.clone(), 0u8..3).prop_map(|(at, to)| Edit::Link { at, to }),
        4 => at.clone().prop_map(|at| Edit::Remove { at }),
        2 => (at.clone(), 0u8..3).prop_map(|(at, mode)| Edit::Mode { at, mode }),
        git => at.prop_map(|at| Edit::Stage { at }),
        git / 3 => Just(Edit::StageAll),
        git / 3 => Just(Edit::Commit),
    ]
}

/// `at` names a path of up to three levels, of few names.
fn path(at: u8) -> PathBuf {
    let names = ["a", "b", "c"];
    let name = |n: u8| names[usize::from(n) % names.len()];
    match at {
        0..6 => PathBuf::from(["a", "b", "c", "d", "e", "f"][usize::from(at)]),
        6..15 => PathBuf::from(name(at)).join(name(at / 3)),
        _ => PathBuf::from(name(at)).join(name(at / 3)).join(name(at / 9)),
    }
}

fn remove(at: &Path) {
    if fs::symlink_metadata(at).is_ok_and(|metadata| metadata.is_dir()) {
        fs::remove_dir_all(at).unwrap();
    } else if fs::symlink_metadata(at).is_ok() {
        fs::remove_file(at).unwrap();
    }
}

/// Makes room for a path in whose place, or in the place of whose parents, something else may be.
fn room(root: &Path, at: &Path) -> PathBuf {
    let mut here = root.to_owned();
    for name in at.parent().unwrap() {
        here.push(name);
        if !fs::symlink_metadata(&here).is_ok_and(|metadata| metadata.is_dir()) {
            remove(&here);
            fs::create_dir(&here).unwrap();
        }
    }
    here.join(at.file_name().unwrap())
}

fn apply(ground: &Ground, root: &Path, edit: &Edit) {
    match *edit {
        Edit::Write { at, what } => {
            let at = room(root, &path(at));
            if fs::symlink_metadata(&at).is_ok_and(|metadata| !metadata.is_file()) {
                remove(&at);
            }
            fs::write(at, ["x", "y", "z", "longer than the others"][usize::from(what)]).unwrap();
        }
        Edit::Directory { at } => {
            let at = room(root, &path(at));
            if !at.is_dir() || at.is_symlink() {
                remove(&at);
                fs::create_dir(at).unwrap();
            }
        }
        Edit::Link { at, to } => {
            let at = room(root, &path(at));
            remove(&at);
            symlink(["a", "b", "nowhere"][usize::from(to)], at).unwrap();
        }
        Edit::Remove { at } => {
            let whole = root.join(path(at));
            let leads_through_link =
                whole.parent().unwrap().canonicalize().ok() != Some(whole.parent().unwrap().to_owned());
            if !leads_through_link {
                remove(&whole);
            }
        }
        Edit::Mode { at, mode } => {
            let whole = root.join(path(at));
            if fs::symlink_metadata(&whole).is_ok_and(|metadata| metadata.is_file())
                && whole.canonicalize().ok() == Some(whole.clone())
            {
                let mode = [0o644, 0o755, 0o600][usize::from(mode)];
                fs::set_permissions(whole, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
        // Where there is nothing to stage it fails, and nothing is staged.
        Edit::Stage { at } => drop(ground.try_git_at(root, &["add", "-A", "--", path(at).to_str().unwrap()])),
        Edit::StageAll => drop(ground.git_at(root, &["add", "-A"])),
        Edit::Commit => {
            drop(ground.git_at(root, &["commit", "-q", "--no-verify", "--allow-empty", "-m", "host"]))
        }
    }
}

/// Files and links as git sees them: the owner's right to run it, and bytes.
fn leaves(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let all = snapshot(root, ".git").into_keys().filter(|path| path != Path::new(".git"));
    let one = |path: PathBuf| {
        let metadata = fs::symlink_metadata(root.join(&path)).unwrap();
        let of = if metadata.is_symlink() {
            (2, fs::read_link(root.join(&path)).unwrap().into_os_string().into_encoded_bytes())
        } else if metadata.is_file() {
            ((metadata.permissions().mode() >> 6) & 1, fs::read(root.join(&path)).unwrap())
        } else {
            return None;
        };
        Some((path, of))
    };
    all.filter_map(one).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn commits_bring_just_the_sandbox_s_changes_and_go_back(
        base in proptest::collection::vec(edit(false), 0..12),
        carried in proptest::option::of(proptest::collection::vec(edit(true), 0..5)),
        work in proptest::collection::vec(edit(false), 1..7),
        later in proptest::collection::vec(edit(true), 0..5),
        on_conflict in 0u8..3,
    ) {
        let ground = Ground::empty();
        let on_conflict =
            [OnCommitConflict::Fail, OnCommitConflict::Ours, OnCommitConflict::Theirs][usize::from(on_conflict)];
        for edit in base.iter().chain([&Edit::StageAll, &Edit::Commit]).chain(carried.iter().flatten()) {
            apply(&ground, &ground.work(), edit);
        }
        let mut options = ground.options();
        options.carry_changes = carried.is_some();
        let sandbox = ground.sandboxes.create(&options, &ctx()).unwrap();
        let root = sandbox.handle().path().to_owned();
        let given = leaves(&root);
        if carried.is_some() {
            prop_assert_eq!(&given, &leaves(&ground.work()));
        }
        for edit in &work {
            apply(&ground, &root, edit);
        }
        let made = leaves(&root);
        for edit in &later {
            apply(&ground, &ground.work(), edit);
        }
        let had = leaves(&ground.work());
        let before = State::of(&ground);
        let options = CommitOptions { on_conflict, text_merge: Some(false), ..CommitOptions::default() };
        let report = sandbox.commit(&options, &ctx()).unwrap();
        if !report.committed {
            prop_assert!(on_conflict == OnCommitConflict::Fail && !report.conflicts.is_empty(), "{report:?}");
            before.is_still(&ground);
            return Ok(());
        }
        let has = leaves(&ground.work());
        for path in given.keys().chain(made.keys()).chain(had.keys()).chain(has.keys()) {
            let [given, made, had, has] = [&given, &made, &had, &has].map(|leaves| leaves.get(path));
            let settled = report.conflicts.iter().any(|one| path.starts_with(one.path.to_string()));
            let wanted = if made == given || (settled && on_conflict == OnCommitConflict::Theirs) { had } else { made };
            // What gave way is nowhere any more.
            let gave_way = settled && on_conflict == OnCommitConflict::Ours && has.is_none() && made.is_none();
            prop_assert!(has == wanted || gave_way, "{path:?}: given {given:?}, made {made:?}, had {had:?}, has {has:?}: {report:?}");
            if report.conflicts.is_empty() && made != given {
                prop_assert!(had == given || had == made, "{path:?} was changed on both sides: {report:?}");
            }
        }
        ground.git(&["fsck", "--strict"]);
        let report = sandbox.undo_commit(&ctx()).unwrap();
        prop_assert!(report.restored, "{report:?}");
        before.is_still(&ground);
    }
}

/// More of them by hand: `PROPTEST_CASES`.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(24)
}
