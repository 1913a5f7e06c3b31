//! "Undo this turn, keep mine" (C15; F10, F11, F43), and its undo (C8, F16).

use std::fs;

use turnback_core::Phase;
use turnback_engine::{Code, Context, RevertRequest};

use super::revert_support::{conflicts, exact, list, ours, revert, try_revert, with, with_meta};
use crate::common::everything::set_mtime;
use crate::common::picture::same;
use crate::common::place::{Place, code, rel};

#[test]
fn a_turn_goes_and_later_work_stays() {
    let place = Place::default();
    for path in ["edited", "deleted", "mine", "d/inner", "d/mine", "same"] {
        place.write(path, format!("{path} before"));
    }
    let (before, from) = (place.tree(), place.create().checkpoint_id);
    place.write("edited", "by the turn");
    place.write("d/inner", "by the turn");
    place.write("added/by", "the turn");
    fs::remove_file(place.at("deleted")).unwrap();
    let to = place.create().checkpoint_id;
    place.write("mine", "my edit");
    place.write("d/mine", "my edit");
    place.write("new", "my file");
    let mine = place.tree();
    let report = revert(&place, from, to, exact());
    assert_eq!((conflicts(&report), list(&report.kept)), (vec![], vec![]));
    let want = with(&before, &mine, &["mine", "d/mine", "new"]);
    same(&place.tree(), &with_meta(&want, &mine, &[""]));
    assert_eq!(report.checkpoint_id, from);
    // F16: the undo brings back exactly the state before.
    place.undo(report.undo_checkpoint_id.unwrap());
    same(&place.tree(), &mine);
    place.verify_is_clean();
}

#[test]
fn nothing_changed_since_is_an_exact_rollback() {
    let place = Place::default();
    crate::common::everything::build(&place.root(), place.dir.path());
    let (before, from) = (place.tree(), place.create().checkpoint_id);
    crate::common::everything::damage(&place.root());
    let (after, to) = (place.tree(), place.create().checkpoint_id);
    let report = revert(&place, from, to, exact());
    same(&place.tree(), &before);
    place.undo(report.undo_checkpoint_id.unwrap());
    same(&place.tree(), &after);
}

#[test]
fn what_is_reverted_already_stays_as_it_is() {
    let place = Place::default();
    place.write("a", "1");
    place.write("gone", "1");
    let from = place.create().checkpoint_id;
    place.write("a", "2");
    place.write("new", "2");
    fs::remove_file(place.at("gone")).unwrap();
    let to = place.create().checkpoint_id;
    // By hand, at another time.
    place.write("a", "1");
    place.write("gone", "1");
    fs::remove_file(place.at("new")).unwrap();
    let (now, known) = (place.tree(), place.ids().len());
    let report = revert(&place, from, to, exact());
    same(&place.tree(), &now);
    assert_eq!((report.actions, report.conflicts, place.ids().len()), (vec![], vec![], known));
}

#[test]
fn two_sessions_in_one_directory() {
    // F11: the turns of two sessions, one after the other, then the first one is taken back.
    let place = Place::default();
    for path in ["one/a", "two/b", "shared/c"] {
        place.write(path, "0");
    }
    let first = place.create().checkpoint_id;
    place.write("one/a", "session 1");
    place.write("shared/of-1", "session 1");
    let second = place.create().checkpoint_id;
    place.write("two/b", "session 2");
    place.write("shared/of-2", "session 2");
    fs::remove_file(place.at("shared/c")).unwrap();
    let third = place.create().checkpoint_id;
    place.write("two/later", "session 2 goes on");
    let now = place.tree();
    let report = revert(&place, first, second, exact());
    assert_eq!(conflicts(&report), Vec::<String>::new());
    assert_eq!(fs::read(place.at("one/a")).unwrap(), b"0");
    assert!(!place.at("shared/of-1").exists());
    same(&place.tree().without(&["one", "shared/of-1"]), &now.without(&["one", "shared/of-1"]));
    // The second session takes back its own turn: nothing of the first one comes again.
    revert(&place, second, third, exact());
    assert_eq!(fs::read(place.at("two/b")).unwrap(), b"0");
    assert_eq!(fs::read(place.at("shared/c")).unwrap(), b"0");
    assert_eq!(fs::read(place.at("one/a")).unwrap(), b"0");
    assert!(!place.at("shared/of-1").exists() && !place.at("shared/of-2").exists());
    assert_eq!(fs::read(place.at("two/later")).unwrap(), b"session 2 goes on");
}

#[test]
fn sessions_at_the_same_time_are_told_apart_by_paths() {
    // F11: what both did lies between the same two checkpoints.
    let place = Place::default();
    place.write("one/a", "0");
    place.write("two/b", "0");
    place.write("two/c", "0");
    let from = place.create().checkpoint_id;
    place.write("one/a", "session 1");
    place.write("one/new/x", "session 1");
    place.write("two/b", "session 2");
    let to = place.create().checkpoint_id;
    let request = RevertRequest { paths: Some(vec![rel("one/a"), rel("one/new")]), ..exact() };
    let now = place.tree();
    let report = revert(&place, from, to, request);
    assert_eq!(fs::read(place.at("one/a")).unwrap(), b"0");
    assert!(!place.at("one/new").exists());
    same(&place.tree().without(&["one"]), &now.without(&["one"]));
    // Work goes on elsewhere; the undo is about the same paths.
    place.write("two/c", "session 2 goes on");
    place.undo(report.undo_checkpoint_id.unwrap());
    assert_eq!(fs::read(place.at("one/new/x")).unwrap(), b"session 1");
    assert_eq!(fs::read(place.at("two/c")).unwrap(), b"session 2 goes on");
    let missing = RevertRequest { paths: Some(vec![rel("one/nothing")]), ..exact() };
    assert_eq!(code(try_revert(&place, from, to, missing)), Code::NotFound);
}

#[test]
fn a_file_that_a_turn_only_asked_for_is_not_its_own() {
    // F43: the agent read a file that was not there; the user made it.
    let place = Place::default();
    place.write("a", "1");
    let from = place.create().checkpoint_id;
    place.write("a", "2");
    let to = place.create().checkpoint_id;
    place.write("f", "the user's");
    revert(&place, from, to, exact());
    assert_eq!(fs::read(place.at("f")).unwrap(), b"the user's");
    assert_eq!(fs::read(place.at("a")).unwrap(), b"1");
}

#[test]
fn a_touch_and_the_same_bytes_again_are_no_edits() {
    let place = Place::default();
    for path in ["touched", "rewritten", "untouched-by-the-turn"] {
        place.write(path, "1");
        set_mtime(&place.at(path), 1_000, 1);
    }
    let (before, from) = (place.tree(), place.create().checkpoint_id);
    place.write("touched", "2");
    place.write("rewritten", "2");
    let to = place.create().checkpoint_id;
    set_mtime(&place.at("touched"), 2_000, 2);
    fs::write(place.at("rewriting"), "2").unwrap();
    fs::rename(place.at("rewriting"), place.at("rewritten")).unwrap();
    set_mtime(&place.at("untouched-by-the-turn"), 3_000, 3);
    let now = place.tree();
    let report = revert(&place, from, to, exact());
    assert_eq!(conflicts(&report), Vec::<String>::new());
    same(&place.tree(), &with(&with_meta(&before, &now, &[""]), &now, &["untouched-by-the-turn"]));
}

#[test]
fn a_turn_that_only_touched_is_taken_back_unless_somebody_touched_since() {
    let place = Place::default();
    for (path, sec) in [("a", 1_000), ("b", 1_000)] {
        place.write(path, "1");
        set_mtime(&place.at(path), sec, 0);
    }
    let (before, from) = (place.tree(), place.create().checkpoint_id);
    set_mtime(&place.at("a"), 2_000, 0);
    set_mtime(&place.at("b"), 2_000, 0);
    let to = place.create().checkpoint_id;
    set_mtime(&place.at("b"), 3_000, 0);
    let now = place.tree();
    revert(&place, from, to, exact());
    same(&place.tree(), &with(&before, &now, &["b"]));
}

#[test]
fn the_other_way_round_is_a_redo() {
    let place = Place::default();
    for path in ["edited", "deleted", "mine", "d/x", "gone/x"] {
        place.write(path, "before");
    }
    fs::create_dir(place.at("empty")).unwrap();
    let from = place.create().checkpoint_id;
    place.write("edited", "by the turn");
    place.write("added/by", "the turn");
    fs::remove_file(place.at("deleted")).unwrap();
    fs::remove_dir_all(place.at("gone")).unwrap();
    fs::remove_dir(place.at("empty")).unwrap();
    fs::create_dir(place.at("made")).unwrap();
    let to = place.create().checkpoint_id;
    place.write("mine", "later");
    place.write("d/later", "later");
    place.write("added/later", "later");
    let now = place.tree();
    let report = revert(&place, from, to, exact());
    let without = place.tree();
    assert!(!without.has("added/by") && without.has("added/later") && without.has("gone/x"));
    revert(&place, to, from, exact());
    same(&place.tree(), &now);
    // And once more there and back.
    revert(&place, from, to, exact());
    same(&place.tree(), &without);
    place.undo(report.undo_checkpoint_id.unwrap());
    same(&place.tree(), &now);
}

#[test]
fn turns_are_taken_back_in_any_order_and_undone() {
    let place = Place::default();
    for path in ["a", "b", "c"] {
        place.write(path, "0");
    }
    let start = place.tree();
    let ids: Vec<_> = ["a", "b", "c"]
        .iter()
        .map(|path| {
            let id = place.create().checkpoint_id;
            place.write(path, "turn");
            place.write(&format!("{path}-new"), "turn");
            id
        })
        .collect();
    let last = place.create().checkpoint_id;
    let all = place.tree();
    let second = revert(&place, ids[1], ids[2], exact());
    let without_second = place.tree();
    assert!(!without_second.has("b-new") && without_second.has("a-new") && without_second.has("c-new"));
    revert(&place, ids[0], ids[1], exact());
    revert(&place, ids[2], last, exact());
    let paths = ["a", "b", "c"];
    same(&place.tree(), &with_meta(&with(&start, &start, &paths), &place.tree(), &[""]));
    assert_eq!(place.tree().0.len(), start.0.len());
    // All the way back, by the undo of the first revert.
    place.undo(second.undo_checkpoint_id.unwrap());
    same(&place.tree(), &all);
    // A rollback in between is just another edit.
    place.rollback(ids[1]);
    let report = revert(&place, ids[2], last, exact());
    assert_eq!((report.actions, report.conflicts), (vec![], vec![]), "the rollback took it back already");
}

#[test]
fn the_same_checkpoint_twice_is_nothing_to_do() {
    let place = Place::default();
    place.write("a", "1");
    let id = place.create().checkpoint_id;
    place.write("a", "2");
    let report = revert(&place, id, id, exact());
    assert_eq!((report.actions, report.conflicts, report.undo_checkpoint_id), (vec![], vec![], None));
}

#[test]
fn without_safety_there_is_no_undo() {
    let place = Place::default();
    place.write("a", "1");
    let from = place.create().checkpoint_id;
    place.write("a", "2");
    let to = place.create().checkpoint_id;
    let report = try_revert(&place, from, to, RevertRequest { safety: false, ..exact() }).unwrap();
    assert_eq!((report.restored, report.undo_checkpoint_id, place.ids().len()), (true, None, 2));
    assert_eq!(fs::read(place.at("a")).unwrap(), b"1");
}

#[test]
fn what_the_safety_checkpoint_is() {
    let place = Place::default();
    place.write("a", "1");
    let from = place.create().checkpoint_id;
    place.write("a", "2");
    let to = place.create().checkpoint_id;
    let report = revert(&place, from, to, ours());
    let undo = place.manager.get(report.undo_checkpoint_id.unwrap()).unwrap().unwrap();
    assert_eq!(undo.phase, Phase::PreRollback);
    assert_eq!(place.read(undo.checkpoint_id, "a"), b"2");
}

#[test]
fn errors_before_anything_is_touched() {
    let place = Place::default();
    place.write("a", "1");
    let from = place.create().checkpoint_id;
    place.write("a", "2");
    let to = place.create().checkpoint_id;
    let other = place.dir.path().join("other");
    fs::create_dir(&other).unwrap();
    let foreign = place
        .manager
        .create(&other, crate::common::place::request(), &Context::default())
        .unwrap()
        .checkpoint_id;
    for (from, to) in [(from, foreign), (foreign, to)] {
        assert_eq!(code(try_revert(&place, from, to, exact())), Code::WorkspaceMismatch);
    }
    let unknown = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
    for (from, to) in [(from, unknown), (unknown, to)] {
        assert_eq!(code(try_revert(&place, from, to, exact())), Code::NotFound);
    }
    let ctx = Context::default();
    ctx.cancel.cancel();
    assert_eq!(code(place.manager.revert(from, to, exact(), &ctx)), Code::Aborted);
    let late = Context { deadline: Some(std::time::Instant::now()), ..Context::default() };
    assert_eq!(code(place.manager.revert(from, to, exact(), &late)), Code::TimedOut);
    assert_eq!(fs::read(place.at("a")).unwrap(), b"2");
    assert_eq!(place.ids().len(), 3);
    place.tmp_is_empty();

    fs::rename(place.root(), place.dir.path().join("moved")).unwrap();
    assert_eq!(code(try_revert(&place, from, to, exact())), Code::NotFound);
    // C5: another directory in its place.
    fs::create_dir(place.root()).unwrap();
    place.write("a", "2");
    assert_eq!(code(try_revert(&place, from, to, exact())), Code::WorkspaceReplaced);
    assert_eq!(fs::read(place.at("a")).unwrap(), b"2");
    let allowed = RevertRequest { allow_replaced_root: true, ..exact() };
    assert!(try_revert(&place, from, to, allowed).unwrap().restored);
    assert_eq!(fs::read(place.at("a")).unwrap(), b"1");
}
