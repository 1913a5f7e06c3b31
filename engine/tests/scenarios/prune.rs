//! Pruning by rules (C9), in steps while others work (C10, P8, input 55, F17), and beside damage.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use turnback_core::{CheckpointId, KeepReason, MillisSpan};
use turnback_engine::store::{Layout, Patience, share_store};
use turnback_engine::{Code, Context, PruneReport, PruneRequest};

use crate::common::place::{Place, code, files_beneath, noise, open, request};
use crate::common::process::{child, task};

fn du(path: &Path) -> u64 {
    let output = Command::new("du").args(["-s", "-B1"]).arg(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap().split_whitespace().next().unwrap().parse().unwrap()
}

fn prune(place: &Place, request: PruneRequest) -> PruneReport {
    place.manager.prune(request, &Context::default()).unwrap()
}

fn last(n: usize) -> PruneRequest {
    PruneRequest { keep_last: Some(n), ..PruneRequest::default() }
}

/// Checkpoints that hold `bytes` each, of which nothing is shared.
fn filled(place: &Place, count: u64, bytes: usize) -> Vec<CheckpointId> {
    let made = (0..count).map(|round| {
        place.write("file", noise(round, bytes));
        place.create().checkpoint_id
    });
    made.collect()
}

fn why(report: &PruneReport, id: CheckpointId) -> Option<&'static str> {
    report.kept.iter().find(|k| k.0 == id.to_string()).map(|k| k.1.as_str())
}

#[test]
fn the_last_ones_and_what_is_pinned() {
    let place = Place::default();
    place.write("shared", noise(99, 100_000));
    let made = filled(&place, 6, 40_000);
    place.manager.set_pinned(made[1], true).unwrap();
    let dry = prune(&place, PruneRequest { dry_run: true, ..last(2) });
    assert_eq!(place.ids(), made, "a dry run takes nothing");
    let before = du(&place.store());
    let report = prune(&place, last(2));
    assert_eq!(report.deleted, [made[0], made[2], made[3]]);
    assert_eq!((dry.deleted, dry.kept), (report.deleted.clone(), report.kept.clone()));
    assert_eq!(place.ids(), [made[1], made[4], made[5]]);
    assert_eq!(why(&report, made[1]), Some("pinned"));
    assert_eq!(why(&report, made[5]), Some("keep_last"));
    // C9, F40: what is said to be freed is what the disk got back, and more than what the files held.
    let freed = before - du(&place.store());
    assert_eq!(report.freed_bytes, freed);
    assert!(freed >= 3 * 40_000, "{freed}");
    assert!(dry.freed_bytes >= 3 * 40_000 && dry.freed_bytes <= freed + 16_384, "{}", dry.freed_bytes);
    assert_eq!(place.read(made[1], "file"), noise(1, 40_000));
    assert_eq!(place.read(made[5], "shared"), noise(99, 100_000), "it was in the pack of the first");
    place.verify_is_clean();
    place.tmp_is_empty();

    let all = prune(&place, PruneRequest { all: true, ..last(0) });
    assert_eq!(all.deleted, [made[4], made[5]], "a pin holds whatever the rules");
    assert!(place.manager.delete(made[1]).unwrap(), "and not against a deletion by name");
    assert_eq!(files_beneath(&place.store().join("packs")), Vec::<std::path::PathBuf>::new());
}

#[test]
fn by_age() {
    let place = Place::default();
    let made = filled(&place, 3, 100);
    let within =
        |ms| PruneRequest { keep_within: Some(MillisSpan::from_millis(ms)), ..PruneRequest::default() };
    assert_eq!(prune(&place, within(86_400_000)).deleted, []);
    let later = made[2].created_at();
    // Nothing is younger than no time at all once the clock has moved on.
    while turnback_now() <= later.as_u64() + 1 {}
    let report = prune(&place, PruneRequest { keep_last: Some(1), ..within(0) });
    assert_eq!(report.deleted, made[..2]);
}

fn turnback_now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

#[test]
fn until_the_store_is_small_enough() {
    let place = Place::default();
    let made = filled(&place, 8, 200_000);
    let held = place.manager.usage().unwrap().store_bytes;
    let report = prune(&place, PruneRequest { max_bytes: Some(held), ..PruneRequest::default() });
    assert_eq!(report.deleted, []);
    assert!(report.kept.iter().all(|k| k.1 == KeepReason::Fits));
    let report = prune(&place, PruneRequest { max_bytes: Some(held - 500_000), ..PruneRequest::default() });
    assert_eq!(report.deleted, made[..3], "the oldest, and no more than has to");
    assert!(place.manager.usage().unwrap().store_bytes <= held - 500_000);
    assert_eq!(
        (report.store_bytes, report.target_reached),
        (place.manager.usage().unwrap().store_bytes, true)
    );
    place.verify_is_clean();
}

/// C9, C16: what small checkpoints take is mostly not what their files hold: the dry run tells what the run does, and not one goes in vain.
#[test]
fn small_ones_until_the_store_is_small_enough() {
    let place = Place::default();
    place.write("kept", noise(7, 30_000));
    let made: Vec<CheckpointId> = (0..40u64)
        .map(|round| {
            place.write("file", format!("round {round}"));
            // Of the first one's pack only this goes.
            place.write("other", noise(round / 10, 9000));
            place.create().checkpoint_id
        })
        .collect();
    let mut held = du(&place.store());
    assert_eq!(held, place.manager.usage().unwrap().store_bytes);
    for share in [90, 80, 80] {
        let target = held * share / 100;
        let request = PruneRequest { max_bytes: Some(target), ..PruneRequest::default() };
        let dry = prune(&place, PruneRequest { dry_run: true, ..request });
        let report = prune(&place, request);
        assert_eq!((&dry.deleted, &dry.kept), (&report.deleted, &report.kept), "{share}");
        assert_eq!((dry.store_bytes, dry.freed_bytes), (report.store_bytes, report.freed_bytes), "{share}");
        let now = du(&place.store());
        assert_eq!((report.store_bytes, report.freed_bytes), (now, held - now), "{share}");
        assert!(report.target_reached && dry.target_reached && now <= target, "{share}: {now} {target}");
        assert!(report.deleted.len() > 1, "{share}: {report:?}");
        held = now;
    }
    assert!(place.ids().len() > 1 && place.ids().len() < made.len());
    place.verify_is_clean();
}

/// C9: one deletion fewer would not have done.
#[test]
fn no_checkpoint_goes_in_vain() {
    let places = [Place::default(), Place::default()];
    for place in &places {
        for round in 0..40u64 {
            place.write("file", format!("round {round}"));
            place.create();
        }
    }
    let [one, other] = &places;
    let target = one.manager.usage().unwrap().store_bytes * 4 / 5;
    let report = prune(one, PruneRequest { max_bytes: Some(target), ..PruneRequest::default() });
    let count = report.deleted.len();
    assert!(report.target_reached && count > 2, "{report:?}");
    // The same store, one deletion before that.
    prune(other, last(40 - count + 1));
    assert_eq!(other.ids().len(), 40 - count + 1);
    assert!(du(&other.store()) > target, "{} {target}", du(&other.store()));
}

/// C9: what is told of each checkpoint is what the disk gets back when it goes.
#[test]
fn usage_tells_what_a_deletion_frees() {
    let place = Place::default();
    place.write("large", noise(1, 50_000));
    for round in 0..6u64 {
        place.write("file", format!("round {round}"));
        place.write("noise", noise(round, 20_000));
        place.create();
    }
    fs::remove_file(place.at("large")).unwrap();
    place.create();
    // The first, whose pack the others need; one in the middle; the last, which the stat cache mirrors.
    for number in [0, 3, 4] {
        let usage = place.manager.usage().unwrap();
        let (id, told) = usage.checkpoints[number];
        assert!(place.manager.delete(id).unwrap());
        let now = du(&place.store());
        assert_eq!(told, usage.store_bytes - now, "{number}");
    }
    place.verify_is_clean();
}

/// C9, C16: what pins hold may be more than was asked for: it is said.
#[test]
fn a_target_that_is_not_reached() {
    let place = Place::default();
    let made = filled(&place, 4, 100_000);
    place.manager.set_pinned(made[0], true).unwrap();
    place.manager.set_pinned(made[3], true).unwrap();
    let small =
        |dry_run| PruneRequest { max_bytes: Some(1 << 10), all: true, dry_run, ..PruneRequest::default() };
    let dry = prune(&place, small(true));
    assert_eq!((dry.deleted.as_slice(), dry.target_reached, dry.takes_all), (&made[1..3], false, true));
    let report = prune(&place, small(false));
    assert_eq!(
        (report.deleted.as_slice(), report.target_reached, report.takes_all),
        (&made[1..3], false, true)
    );
    assert_eq!(report.store_bytes, place.manager.usage().unwrap().store_bytes);
    assert!(dry.store_bytes.abs_diff(report.store_bytes) <= 32_768, "{dry:?} {report:?}");
    let report = prune(&place, PruneRequest { keep_last: Some(9), ..PruneRequest::default() });
    assert_eq!((report.target_reached, report.takes_all), (true, false));
}

/// P7: what nobody can read is not told to be pinned.
#[test]
fn damaged_marks_are_told_apart_from_pins() {
    let place = Place::default();
    let made = filled(&place, 3, 100);
    place.manager.set_pinned(made[0], true).unwrap();
    fs::write(place.store().join("checkpoints").join(made[1].to_string()).join("marks"), "nonsense").unwrap();
    let report = prune(&place, PruneRequest { all: true, ..last(0) });
    assert_eq!(report.deleted, made[2..]);
    assert_eq!((why(&report, made[0]), why(&report, made[1])), (Some("pinned"), Some("marks_damaged")));
}

#[test]
fn nothing_is_freed_beside_damage() {
    let place = Place::default();
    let made = filled(&place, 4, 10_000);
    let record = place.store().join("checkpoints").join(made[2].to_string()).join("record");
    let sound = fs::read(&record).unwrap();
    fs::write(&record, "nonsense").unwrap();
    let manager = open(&place.store()).unwrap();
    let files = place.store_files();
    for dry_run in [true, false] {
        let request = PruneRequest { dry_run, ..last(1) };
        let error = manager.prune(request, &Context::default()).unwrap_err();
        assert_eq!(error.code(), Code::Corrupt);
        // C9: a dry run says what the run itself says.
        assert!(error.advice().starts_with("delete the damaged one first"), "{dry_run}: {error}");
        assert_eq!(place.store_files(), files);
    }
    // What takes nothing says what is damaged.
    let report = manager.prune(last(100), &Context::default()).unwrap();
    assert_eq!(why(&report, made[2]), Some("damaged"));
    assert!(manager.delete(made[2]).unwrap());
    assert_eq!(manager.prune(last(1), &Context::default()).unwrap().deleted, [made[0], made[1]]);
    place.verify_is_clean();
    drop(sound);
}

#[test]
fn readers_are_waited_for_and_nothing_is_half_done() {
    let place = Place::default();
    let made = filled(&place, 3, 10_000);
    let layout = Layout::new(fs::canonicalize(place.store()).unwrap());
    let reader = share_store(&layout, Patience::Try, &Context::default()).unwrap();
    // What is needed is found out beside them (C10) …
    assert_eq!(prune(&place, PruneRequest { dry_run: true, ..last(1) }).deleted, made[..2]);
    // … but nothing that they may need goes.
    let soon = Context { deadline: Some(Instant::now() + Duration::from_millis(60)), ..Context::default() };
    assert_eq!(code(place.manager.prune(last(1), &soon)), Code::TimedOut);
    assert_eq!(place.ids(), made);
    place.tmp_is_empty();
    // Who comes is let in while somebody waits for the store.
    place.create();
    drop(reader);
    assert_eq!(prune(&place, last(1)).deleted, made);
}

#[test]
fn eight_processes_create_prune_and_delete() {
    // P8: no object goes that somebody needs, published or being written.
    let place = Place::in_memory();
    for i in 0..40u64 {
        place.write(&format!("d{}/f{i}", i % 4), noise(i, 2000));
    }
    let tasks = ["creates", "creates", "creates", "creates", "prunes", "prunes", "deletes", "deletes"];
    let children: Vec<Child> = tasks
        .iter()
        .map(|task| {
            let name = format!("prune::{task}");
            child(&name, place.dir.path()).stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    place.verify_is_clean();
    place.tmp_is_empty();
    prune(&place, last(3));
    let again = prune(&place, last(3));
    assert_eq!((again.deleted.len(), again.freed_bytes), (0, 0), "no garbage is left");
    place.verify_is_clean();
}

fn each_workspace(directory: &Path) -> std::path::PathBuf {
    directory.join(format!("w-{}", std::process::id()))
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn creates() {
    let Some(directory) = task() else { return };
    let manager = open(&directory.join("s")).unwrap();
    let own = each_workspace(&directory);
    fs::create_dir(&own).unwrap();
    for round in 0..25u64 {
        // Contents come and go and come again, also those that others had: dead objects are revived.
        fs::write(own.join("a"), noise(round % 5, 9000)).unwrap();
        fs::write(own.join("b"), noise(1000 + u64::from(std::process::id()) + round, 5000)).unwrap();
        let made = manager.create(&own, request(), &Context::default()).unwrap();
        if let Ok(bytes) = manager.read_file(made.checkpoint_id, &crate::common::place::rel("a")) {
            assert_eq!(bytes, noise(round % 5, 9000));
        }
    }
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn prunes() {
    let Some(directory) = task() else { return };
    let manager = open(&directory.join("s")).unwrap();
    for round in 0..20 {
        manager.prune(last(1 + round % 3), &Context::default()).unwrap();
    }
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn deletes() {
    let Some(directory) = task() else { return };
    let manager = open(&directory.join("s")).unwrap();
    for _ in 0..20 {
        let ids = manager.list(None).unwrap().checkpoints;
        if let Some(middle) = ids.get(ids.len() / 2) {
            manager.delete(middle.checkpoint.checkpoint_id).unwrap();
        }
    }
}

#[test]
fn a_killed_one_is_finished_by_the_next() {
    let place = Place::in_memory();
    let secret = noise(4711, 30_000);
    for round in 0..24u64 {
        place.write("shared", noise(round, 20_000));
        place.write("secret", &secret);
        place.create();
        fs::remove_file(place.at("secret")).unwrap();
        for n in 0..3 {
            place.write("other", noise(round * 10 + n, 3000));
            place.create();
        }
        let mut process =
            child("prune::keeps_the_last", place.dir.path()).stdout(Stdio::null()).spawn().unwrap();
        let started = place.dir.path().join("started");
        while !started.exists() {
            std::hint::spin_loop();
        }
        let until = Instant::now() + Duration::from_micros(round * 331 % 6000);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        process.kill().unwrap();
        process.wait().unwrap();
        fs::remove_file(&started).unwrap();
        let manager = open(&place.store()).unwrap();
        place.tmp_is_empty();
        assert_eq!(manager.verify(None, &Context::default()).unwrap().damaged, [], "round {round}");
        manager.prune(last(1), &Context::default()).unwrap();
        assert_eq!(manager.verify(None, &Context::default()).unwrap().damaged, [], "round {round}");
        let needle = &secret[10_000..10_064];
        for path in files_beneath(&place.store()).iter().filter(|p| p.is_file()) {
            let bytes = fs::read(path).unwrap();
            assert!(!bytes.windows(64).any(|w| w == needle), "round {round}: {}", path.display());
        }
    }
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn keeps_the_last() {
    let Some(directory) = task() else { return };
    let manager = open(&directory.join("s")).unwrap();
    fs::write(directory.join("started"), "").unwrap();
    manager.prune(last(1), &Context::default()).unwrap();
}

/// C9: by whatever rule, nothing but pinned checkpoints is left only where that was asked for.
#[test]
fn what_would_leave_nothing_is_refused() {
    let place = Place::default();
    let made = filled(&place, 3, 10_000);
    place.manager.set_pinned(made[0], true).unwrap();
    let within = PruneRequest { keep_within: Some(MillisSpan::from_millis(0)), ..PruneRequest::default() };
    let small = |max_bytes| PruneRequest { max_bytes: Some(max_bytes), ..PruneRequest::default() };
    while turnback_now() <= made[2].created_at().as_u64() + 1 {}
    for request in [last(0), within, small(0), small(1000), PruneRequest { keep_last: Some(9), ..small(0) }] {
        let error = place.manager.prune(request, &Context::default()).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument, "{request:?}");
        assert!(error.to_string().contains("all 2 checkpoints that can go"), "{error}");
        assert_eq!(place.ids(), made);
        let dry = prune(&place, PruneRequest { dry_run: true, ..request });
        assert_eq!(dry.deleted, made[1..], "to look is free");
    }
    assert_eq!(prune(&place, last(1)).deleted, made[1..2], "something is left");
    // It has become the only one.
    let error = place.manager.prune(within, &Context::default()).unwrap_err();
    assert!(error.to_string().contains("the only checkpoint that can go"), "{error}");
    assert_eq!(prune(&place, PruneRequest { all: true, ..within }).deleted, made[2..]);
    assert_eq!(prune(&place, within).deleted, [], "there is nothing to take");
}
