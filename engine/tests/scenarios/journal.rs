//! A restore that is ended in the middle and taken up again: finished by the next writing call, touching nothing that somebody changed
//! meanwhile (C8, P3).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Instant;

use turnback_core::CheckpointId;
use turnback_engine::{
    Cancel, Code, Context, Error, Progress, PruneRequest, Reason, RecoveryOutcome, RestoreKind,
    RollbackRequest,
};

use crate::common::picture::{Tree, same};
use crate::common::place::{Place, code, exact, files_beneath, noise, open, rel, request};
use crate::common::process::{Mount, skip};

/// Steps after which the interrupted rollback stops: progress is told every 1,024.
const STEPS: usize = 1024;

/// A workspace of which a rollback changes far more than [`STEPS`] paths.
struct Begun {
    place: Place,
    first: CheckpointId,
    /// The tree of the checkpoint.
    then: Tree,
    /// The tree before the rollback.
    before: Tree,
}

fn begin() -> Begun {
    let place = Place::in_memory();
    for i in 0..2500 {
        place.write(&format!("d{}/f{i:04}", i % 5), format!("then {i}"));
    }
    place.write("gone/deep/file", "comes back");
    place.write("type", "a file then");
    let first = place.create().checkpoint_id;
    let then = place.tree();
    for i in 0..2500 {
        place.write(&format!("d{}/f{i:04}", i % 5), format!("now, {i}"));
    }
    fs::remove_dir_all(place.at("gone")).unwrap();
    fs::remove_file(place.at("type")).unwrap();
    place.write("type/inside", "a directory now");
    place.write("new/file", "goes");
    let before = place.tree();
    Begun { place, first, then, before }
}

/// Stops when the step has been reached for the first time.
fn stopping(phase: &'static str) -> Context {
    let cancel = Cancel::default();
    let stop = cancel.clone();
    let on_progress = move |progress: Progress| {
        if progress.phase == phase {
            stop.cancel();
        }
    };
    Context { cancel, on_progress: Some(Arc::new(on_progress)), ..Context::default() }
}

fn detail<'e>(error: &'e Error, name: &str) -> Option<&'e str> {
    error.details().iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_str())
}

impl Begun {
    /// Rolls back and is stopped in the middle; returns the checkpoint that undoes it.
    fn interrupt(&self) -> CheckpointId {
        let error = self.place.manager.rollback(self.first, exact(), &stopping("apply")).unwrap_err();
        assert_eq!(error.code(), Code::Aborted);
        assert_eq!(detail(&error, "pending"), Some("true"), "{error}");
        let tree = self.place.tree();
        assert!(
            tree != self.then && tree != self.before,
            "it was to stop in the middle, after {STEPS} steps"
        );
        detail(&error, "undoCheckpointId").unwrap().parse().unwrap()
    }

    fn is_finished(&self) {
        same(&self.place.tree(), &self.then);
        assert_eq!(self.place.manager.pending().unwrap(), []);
        self.place.tmp_is_empty();
    }
}

#[test]
fn the_next_checkpoint_finishes_it() {
    let begun = begin();
    let undo = begun.interrupt();
    let pending = begun.place.manager.pending().unwrap();
    let what = pending[0].begun.clone().unwrap();
    assert_eq!(
        (what.kind, what.targets, what.undo_checkpoint_id),
        (RestoreKind::Rollback, vec![begun.first], Some(undo))
    );
    assert_eq!(pending[0].workspace.as_deref(), Some(&*fs::canonicalize(begun.place.root()).unwrap()));
    // What only looks does not act.
    let tree = begun.place.tree();
    begun.place.ids();
    let dry = RollbackRequest { dry_run: true, ..exact() };
    begun.place.manager.rollback(begun.first, dry, &Context::default()).unwrap();
    same(&begun.place.tree(), &tree);
    let made = begun.place.create().checkpoint_id;
    begun.is_finished();
    assert_eq!(begun.place.read(made, "type"), b"a file then");
    // The undo checkpoint still brings back what was before, exactly.
    begun.place.undo(undo);
    same(&begun.place.tree(), &begun.before);
}

#[test]
fn the_same_rollback_again_goes_on_and_has_the_right_undo() {
    let begun = begin();
    let undo = begun.interrupt();
    let checkpoints = begun.place.ids().len();
    // Another manager, as after the death of the first one.
    let manager = open(&begun.place.store()).unwrap();
    let report = manager.rollback(begun.first, exact(), &Context::default()).unwrap();
    begun.is_finished();
    assert!(report.restored && report.journaled);
    assert_eq!(report.undo_checkpoint_id, Some(undo));
    assert!(report.written > 0 && !report.actions.is_empty());
    assert_eq!(report.recovered.unwrap().outcome, RecoveryOutcome::Finished);
    assert_eq!(begun.place.ids().len(), checkpoints, "no second checkpoint for one rollback");
    begun.place.undo(undo);
    same(&begun.place.tree(), &begun.before);
}

#[test]
fn what_somebody_changed_meanwhile_is_left_and_listed() {
    let begun = begin();
    begun.interrupt();
    let place = &begun.place;
    let now = place.tree();
    // Of each kind one path that was done already and one that was not.
    let is_done = |path: &str| now.0.get(path.as_bytes()) == begun.then.0.get(path.as_bytes());
    let all: Vec<String> = (0..2500).map(|i| format!("d{}/f{i:04}", i % 5)).collect();
    let done: Vec<&String> = all.iter().filter(|path| is_done(path)).collect();
    let due: Vec<&String> = all.iter().filter(|path| !is_done(path)).collect();
    assert!(done.len() > 10 && due.len() > 10, "{} {}", done.len(), due.len());
    let mut want = begun.then.clone();
    let mut foreign = Vec::new();
    for path in [done[0], due[0]] {
        place.write(path, "the user's");
        foreign.push(path.clone());
    }
    fs::remove_file(place.at(due[1])).unwrap();
    foreign.push(due[1].clone());
    want.0.remove(due[1].as_bytes());
    // Same length, same mtime: only the bytes tell.
    let stat = fs::metadata(place.at(due[2])).unwrap();
    let bytes = vec![b'u'; stat.len() as usize];
    fs::write(place.at(due[2]), bytes).unwrap();
    let times = fs::FileTimes::new().set_modified(stat.modified().unwrap());
    fs::File::options().write(true).open(place.at(due[2])).unwrap().set_times(times).unwrap();
    foreign.push(due[2].clone());
    place.write("d0/of-the-user", "new");
    place.write("mine/file", "new too");
    let edited = place.tree();
    for path in foreign.iter().filter(|path| *path != due[1]).map(String::as_str).chain([
        "d0/of-the-user",
        "mine",
        "mine/file",
    ]) {
        want.0.insert(path.into(), edited.0[path.as_bytes()].clone());
    }

    let report = place.manager.recover(&place.root(), &Context::default()).unwrap().unwrap();
    assert_eq!(report.outcome, RecoveryOutcome::Finished);
    // The directories' mtimes are the checkpoint's.
    same(&place.tree(), &want);
    foreign.sort();
    let listed = |list: &[turnback_engine::Uncovered]| -> Vec<String> {
        let foreign = list.iter().filter(|u| u.reason == Reason::ConcurrentChange);
        foreign.map(|u| u.path.to_string()).collect()
    };
    // A path that was done and then changed is nobody's business any more, but it is not what was asked for either.
    assert_eq!(listed(&report.not_restorable), foreign);
    assert_eq!(listed(&report.kept), foreign);
    assert_eq!(place.manager.recover(&place.root(), &Context::default()).unwrap(), None);
}

#[test]
fn a_directory_whose_mode_somebody_changed_keeps_it() {
    let begun = begin();
    begun.interrupt();
    fs::set_permissions(begun.place.at("d4"), fs::Permissions::from_mode(0o750)).unwrap();
    let report = begun.place.manager.recover(&begun.place.root(), &Context::default()).unwrap().unwrap();
    let mode = fs::metadata(begun.place.at("d4")).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode, 0o750);
    assert!(report.not_restorable.iter().any(|u| u.path == rel("d4")), "{:?}", report.not_restorable);
    assert_eq!(fs::read(begun.place.at("d4/f0004")).unwrap(), b"then 4");
}

#[test]
fn a_recovery_that_is_ended_itself_is_taken_up_again() {
    let begun = begin();
    begun.interrupt();
    for phase in ["recover", "stage"] {
        let error = begun.place.manager.recover(&begun.place.root(), &stopping(phase)).unwrap_err();
        assert_eq!((error.code(), detail(&error, "pending")), (Code::Aborted, Some("true")));
        assert_eq!(begun.place.manager.pending().unwrap().len(), 1);
    }
    let late = Context { deadline: Some(Instant::now()), ..Context::default() };
    assert_eq!(code(begun.place.manager.create(&begun.place.root(), request(), &late)), Code::TimedOut);
    begun.place.create();
    begun.is_finished();
}

#[test]
fn its_checkpoints_cannot_be_deleted_before_it_is_finished() {
    let begun = begin();
    let undo = begun.interrupt();
    begun.place.write("free", "1");
    let elsewhere = begun.place.dir.path().join("other");
    fs::create_dir(&elsewhere).unwrap();
    let manager = &begun.place.manager;
    let free = manager.create(&elsewhere, request(), &Context::default()).unwrap().checkpoint_id;
    for id in [begun.first, undo] {
        assert_eq!(code(manager.delete(id)), Code::Busy);
        assert_eq!(code(manager.delete_all(&[free, id])), Code::Busy);
        assert!(begun.place.ids().contains(&free), "none or all");
    }
    fs::remove_file(begun.place.at("free")).unwrap();
    begun.place.create();
    begun.is_finished();
    assert!(begun.place.manager.delete(undo).unwrap());
}

#[test]
fn a_deadline_before_the_first_write_leaves_no_journal() {
    let begun = begin();
    for phase in ["scan", "stage"] {
        let error = begun.place.manager.rollback(begun.first, exact(), &stopping(phase)).unwrap_err();
        assert_eq!((error.code(), detail(&error, "pending")), (Code::Aborted, Some("false")), "{phase}");
        same(&begun.place.tree(), &begun.before);
        assert_eq!(begun.place.manager.pending().unwrap(), [], "{phase}");
    }
}

#[test]
fn without_safety_it_is_finished_all_the_same() {
    let begun = begin();
    let place = &begun.place;
    // A file in parts, of which nothing was saved.
    place.write("d0/f0000", noise(3, 3 << 20));
    let unsafe_ = RollbackRequest { safety: false, ..exact() };
    let error = place.manager.rollback(begun.first, unsafe_, &stopping("apply")).unwrap_err();
    assert_eq!((detail(&error, "pending"), detail(&error, "undoCheckpointId")), (Some("true"), None));
    let report = place.manager.recover(&place.root(), &Context::default()).unwrap().unwrap();
    assert_eq!(report.not_restorable, []);
    begun.is_finished();
}

#[test]
fn an_interrupted_undo_goes_on_as_an_undo() {
    let begun = begin();
    let report = begun.place.rollback(begun.first);
    let undo = report.undo_checkpoint_id.unwrap();
    assert!(begun.place.manager.undo(undo, &stopping("apply")).is_err());
    assert_eq!(begun.place.manager.pending().unwrap()[0].begun.as_ref().unwrap().kind, RestoreKind::Undo);
    let report = begun.place.undo(undo);
    assert!(report.restored && report.undo_checkpoint_id.is_some());
    same(&begun.place.tree(), &begun.before);
}

#[test]
fn a_missing_root_that_was_half_made_is_completed() {
    let begun = begin();
    fs::remove_dir_all(begun.place.root()).unwrap();
    // Everything is staged as one tree, so that the kill has to come by hand: `interrupted.rs` does that. Here: it is made whole.
    assert!(begun.place.manager.rollback(begun.first, exact(), &stopping("stage")).is_err());
    assert!(!begun.place.root().exists(), "before the first write");
    assert_eq!(begun.place.manager.pending().unwrap(), []);
    let report = begun.place.rollback(begun.first);
    assert!(report.root_recreated);
    begun.is_finished();
}

#[test]
fn a_root_that_is_gone_or_another_one_is_not_touched() {
    for replaced in [false, true] {
        let begun = begin();
        begun.interrupt();
        let root = begun.place.root();
        fs::rename(&root, begun.place.dir.path().join("old")).unwrap();
        let mut want = RecoveryOutcome::RootMissing;
        if replaced {
            fs::create_dir(&root).unwrap();
            fs::write(root.join("precious"), "somebody else's").unwrap();
            want = RecoveryOutcome::RootReplaced;
        }
        let before = begun.place.tree();
        let report = begun.place.manager.recover(&root, &Context::default()).unwrap().unwrap();
        assert_eq!((report.outcome, report.written, report.deleted), (want, 0, 0));
        same(&begun.place.tree(), &before);
        assert_eq!(begun.place.manager.pending().unwrap(), []);
    }
}

#[test]
fn giving_it_up_leaves_the_tree_and_says_what_is_missing() {
    let begun = begin();
    let undo = begun.interrupt();
    let tree = begun.place.tree();
    let report = begun.place.manager.abandon(&begun.place.root(), &Context::default()).unwrap().unwrap();
    assert_eq!(report.outcome, RecoveryOutcome::Abandoned);
    let differs = tree.0.iter().filter(|(path, item)| begun.then.0.get(*path) != Some(item)).count();
    assert!(!report.actions.is_empty() && report.actions.len() <= differs + begun.then.0.len());
    assert!(report.actions.iter().any(|c| c.path == rel("new/file")));
    same(&begun.place.tree(), &tree);
    begun.place.create();
    same(&begun.place.tree(), &tree);
    begun.place.rollback(undo);
    same(&begun.place.tree(), &begun.before);
}

fn journal(place: &Place) -> std::path::PathBuf {
    let all = files_beneath(&place.store().join("workspaces"));
    all.into_iter().find(|path| path.ends_with("journal")).unwrap()
}

#[test]
fn a_damaged_journal_is_told_and_set_aside() {
    let begun = begin();
    begun.interrupt();
    let path = journal(&begun.place);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let tree = begun.place.tree();
    let manager = open(&begun.place.store()).unwrap();
    let report = manager.recover(&begun.place.root(), &Context::default()).unwrap().unwrap();
    let RecoveryOutcome::Damaged { journal, reason } = report.outcome else { panic!("{:?}", report.outcome) };
    assert_eq!(fs::read(journal).unwrap(), bytes, "kept for whoever wants to look");
    same(&begun.place.tree(), &tree);
    let undo = begun.place.ids().into_iter().max().unwrap();
    for id in [undo, begun.first] {
        assert!(reason.contains(&format!("turnback rollback {id}")), "{reason}");
    }
    // The workspace can be used again, and the checkpoints are free.
    begun.place.rollback(begun.first);
    begun.is_finished();
}

/// C8, C16: nobody knows any more what a damaged journal needs, but the two states that the tree lies between stay.
#[test]
fn what_a_damaged_journal_needed_stays() {
    let begun = begin();
    begun.interrupt();
    let path = journal(&begun.place);
    fs::write(&path, "no journal").unwrap();
    let manager = open(&begun.place.store()).unwrap();
    let undo = begun.place.ids().into_iter().max().unwrap();
    assert_ne!(undo, begun.first);
    for id in [undo, begun.first] {
        assert_eq!(code(manager.delete(id)), Code::Busy);
        let waiting = manager.pending().unwrap().pop().unwrap();
        // The journal does not say of what directory it is; its checkpoints do.
        assert_eq!(waiting.workspace, Some(fs::canonicalize(begun.place.root()).unwrap()));
        let damaged = waiting.damaged.unwrap();
        assert!(damaged.contains(&id.to_string()), "{damaged}");
    }
    let request = PruneRequest { max_bytes: Some(0), ..PruneRequest::default() };
    let report = manager.prune(request, &Context::default()).unwrap();
    assert_eq!(report.deleted, []);
    // Set aside, it holds nothing any more; until then both ways lead out.
    begun.place.rollback(undo);
    same(&begun.place.tree(), &begun.before);
    begun.place.rollback(begun.first);
    begun.is_finished();
    assert!(manager.delete(undo).unwrap());
}

#[test]
fn every_flipped_or_missing_byte_of_a_journal_is_noticed() {
    let place = Place::default();
    place.write("a/b", "1");
    place.write("c", "1");
    let first = place.create().checkpoint_id;
    place.write("a/b", "22");
    fs::remove_file(place.at("c")).unwrap();
    place.write("c/d", "a directory");
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (copy, store) = (Arc::clone(&seen), place.store());
    let on_progress = move |progress: Progress| {
        if progress.phase == "stage" {
            let all = files_beneath(&store.join("workspaces"));
            let path = all.into_iter().find(|path| path.ends_with("journal")).unwrap();
            *copy.lock().unwrap() = fs::read(path).unwrap();
        }
    };
    let ctx = Context { on_progress: Some(Arc::new(on_progress)), ..Context::default() };
    place.manager.rollback(first, exact(), &ctx).unwrap();
    let bytes = seen.lock().unwrap().clone();
    let decode = turnback_engine::restore::journal::decode;
    let (head, plan) = decode(&bytes).unwrap();
    assert_eq!(head.targets, [first]);
    assert_eq!(plan.changes().len(), 3);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            assert!(decode(&flipped).is_err(), "byte {at}, bit {bit}");
        }
        assert!(decode(&bytes[..at]).is_err(), "cut at {at}");
    }
    assert!(decode(&[&bytes[..], b"x"].concat()).is_err());
}

#[test]
fn a_full_store_keeps_nobody_from_deleting_without_safety() {
    let disk = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs"], disk.path()) else {
        return skip("mounting is not permitted here");
    };
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(disk.path().join("store")).unwrap();
    fs::set_permissions(disk.path().join("store"), fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink(disk.path().join("store"), dir.path().join("s")).unwrap();
    let place = Place::in_directory(dir);
    place.write("a", "1");
    let first = place.create().checkpoint_id;
    let then = place.tree();
    place.write("new/one", "1");
    place.write("two", "2");
    let before = place.tree();
    let mut filler = fs::File::create(disk.path().join("filler")).unwrap();
    while std::io::Write::write_all(&mut filler, &[1; 4096]).is_ok() {}
    // C16: with it, nothing is written; without it, the report says that there was no journal.
    let refused = code(place.manager.rollback(first, exact(), &Context::default()));
    assert!(matches!(refused, Code::DiskFull | Code::StoreFull), "{refused:?}");
    same(&place.tree(), &before);
    let unsafe_ = RollbackRequest { safety: false, ..exact() };
    let report = place.manager.rollback(first, unsafe_, &Context::default()).unwrap();
    assert!(report.restored && !report.journaled);
    same(&place.tree(), &then);
}
