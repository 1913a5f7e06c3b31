//! Bad inputs: what happens to a tree while somebody works on it, and who holds what of it
//! (inputs 47, 48, 49, 52, 60 of docs/inputs.md).

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use turnback_engine::{Context, Durability, Manager, OpenOptions, Reason, StoreLocation};

use crate::common::place::{Place, exact, let_timestamps_age, request};
use crate::common::process::skip;
use crate::torn::Busy;

#[test]
fn a_file_that_is_cut_off_under_the_reader() {
    // Input 47: its bytes are always the same letter, so that anything else was never there.
    const SHORT: u64 = 700_000;
    let place = Place::default();
    place.write("f", vec![b'x'; 2 << 20]);
    let file = fs::OpenOptions::new().write(true).open(place.at("f")).unwrap();
    let busy = Busy::new(move |round| {
        file.set_len(SHORT + round % 7).unwrap();
        file.write_all_at(&vec![b'x'; 1 << 20], SHORT + round % 7).unwrap();
    });
    for round in 0..40 {
        let now = place.create();
        let bytes = place.read(now.checkpoint_id, "f");
        let changing = now.coverage.uncovered.iter().any(|u| u.reason == Reason::Changing);
        // While the system shortens a file, a read may see zeros at the end of its last page: then it is not called stable.
        let only_its_own = bytes.iter().all(|b| *b == b'x');
        assert!(changing || only_its_own, "round {round}: never zeros in place of what is gone");
        assert!(changing || bytes.len() as u64 >= SHORT, "round {round}: {} bytes", bytes.len());
        assert!(!changing || !now.coverage.complete);
    }
    drop(busy);
    let quiet = place.create();
    assert_eq!(quiet.coverage.changing, 0);
    assert_eq!(place.read(quiet.checkpoint_id, "f"), fs::read(place.at("f")).unwrap());
    place.verify_is_clean();
}

#[test]
fn a_sparse_file_that_is_cut_off_under_the_reader() {
    // Input 47: where its data lies is asked for in two calls, and it can end between them. That is no failure to read it.
    let place = Place::default();
    place.write("f", "x");
    let file = fs::OpenOptions::new().write(true).open(place.at("f")).unwrap();
    let busy = Busy::new(move |_| {
        file.set_len(0).unwrap();
        file.write_all_at(b"x", 1 << 20).unwrap();
    });
    for _ in 0..40 {
        let now = place.create();
        let reasons: Vec<_> = now.coverage.uncovered.iter().map(|u| u.reason).collect();
        assert!(reasons.is_empty() || reasons == [Reason::Changing], "{reasons:?}");
    }
    drop(busy);
    place.verify_is_clean();
}

#[test]
fn a_file_that_moves_between_directories() {
    // Input 48: it may be found twice or not at all, as the documentation says of one who writes meanwhile; whatever was found is
    // whole, and is what comes back.
    let place = Place::default();
    for i in 0..200 {
        place.write(&format!("a/f{i}"), "1");
        place.write(&format!("b/f{i}"), "1");
    }
    place.write("a/moved", "moved");
    let root = place.root();
    let busy = Busy::new(move |round| {
        let (from, to) = if round % 2 == 0 { ("a/moved", "b/moved") } else { ("b/moved", "a/moved") };
        fs::rename(root.join(from), root.join(to)).unwrap();
    });
    let made: Vec<_> = (0..40).map(|_| place.create().checkpoint_id).collect();
    drop(busy);
    place.verify_is_clean();
    for id in made {
        let at = |path: &str| place.manager.read_file(id, &crate::common::place::rel(path)).ok();
        let (a, b) = (at("a/moved"), at("b/moved"));
        for found in [&a, &b].into_iter().flatten() {
            assert_eq!(found, b"moved");
        }
        let report = place.rollback(id);
        // A file that is moved while it is read has changed as far as anybody can tell, and is called that; nothing else is wrong with it.
        assert!(report.not_restorable.iter().all(|left| left.reason == Reason::Changing), "{report:?}");
        assert!(report.kept.is_empty(), "{report:?}");
        assert_eq!((place.at("a/moved").exists(), place.at("b/moved").exists()), (a.is_some(), b.is_some()));
    }
}

/// A program that maps a file, writes one byte for each line it reads, and says when it has.
const MAPPER: &str = "
import mmap, sys
with open(sys.argv[1], 'r+b') as f:
    m = mmap.mmap(f.fileno(), 0)
    for line in sys.stdin:
        m[0:1] = line[0:1].encode()
        print('written', flush=True)
";

#[test]
fn strict_mode_sees_what_a_mapping_wrote() {
    // Input 49: a write through a mapping to a page that is dirty already moves no timestamp.
    let place = Place::in_memory();
    place.write("f", vec![b'0'; 8192]);
    let program = Command::new("python3")
        .args(["-c", MAPPER])
        .arg(place.at("f"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut program) = program else { return skip("there is no python3") };
    let mut into = program.stdin.take().unwrap();
    let mut says = BufReader::new(program.stdout.take().unwrap()).lines();
    let mut write = |byte: char| {
        writeln!(into, "{byte}").unwrap();
        assert_eq!(says.next().unwrap().unwrap(), "written");
    };
    write('1');
    let_timestamps_age(&place);
    let strict = Manager::open(OpenOptions {
        store: StoreLocation::Path(place.store()),
        durability: Some(Durability::Process),
        strict: true,
        max_bytes: Some(1 << 40),
        ..OpenOptions::default()
    })
    .unwrap();
    let stamp = || {
        let stat = fs::metadata(place.at("f")).unwrap();
        (stat.mtime(), stat.mtime_nsec(), stat.ctime(), stat.ctime_nsec())
    };
    let read = |id| strict.read_file(id, &crate::common::place::rel("f")).unwrap()[0];
    let mut unmoved = 0;
    for byte in ['2', '3', '4', '5'] {
        let before = stamp();
        write(byte);
        unmoved += u32::from(stamp() == before);
        let made = strict.create(&place.root(), request(), &Context::default()).unwrap();
        assert_eq!(read(made.checkpoint_id), byte as u8);
    }
    drop(into);
    assert!(program.wait().unwrap().success());
    assert!(unmoved > 0, "timestamps moved each time: this shows nothing");
}

#[test]
fn who_holds_what_is_replaced_keeps_it() {
    // Input 52: descriptors and working directories from before lead to what was there before, or to the same directory, and never
    // into what comes back.
    let place = Place::default();
    place.write("kept/f", "then");
    place.write("lost/f", "then");
    let id = place.create().checkpoint_id;
    let then = place.tree();
    place.write("kept/f", "now, and longer");
    place.write("new/f", "new");
    fs::remove_dir_all(place.at("lost")).unwrap();
    let held = fs::OpenOptions::new().append(true).open(place.at("kept/f")).unwrap();
    let kept = fs::metadata(place.at("kept")).unwrap().ino();
    let shell = |at: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", "read line; cat f; echo more >> g"]).current_dir(place.at(at));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    };
    // A working directory that stays, and one that goes.
    let (mut stays, mut goes) = (shell("kept"), shell("new"));
    place.rollback(id);
    crate::common::picture::same(&place.tree(), &then);
    (&held).write_all(b"late").unwrap();
    crate::common::picture::same(&place.tree(), &then);
    assert_eq!(fs::metadata(place.at("kept")).unwrap().ino(), kept, "a directory that stays is the same one");
    for child in [&mut stays, &mut goes] {
        writeln!(child.stdin.take().unwrap()).unwrap();
    }
    let said = |child: std::process::Child| child.wait_with_output().unwrap().stdout;
    assert_eq!(said(stays), b"then");
    assert_eq!(said(goes), b"", "there is nothing in a directory that went");
    assert_eq!(fs::read(place.at("kept/g")).unwrap(), b"more\n");
    assert!(!place.at("new").exists());
}

#[test]
fn children_inherit_nothing() {
    // Input 60: whoever is started while the engine is at work, by any thread, holds neither its locks nor its files.
    let place = Place::default();
    for i in 0..1500 {
        place.write(&format!("d{}/f{i}", i % 20), format!("{i}"));
    }
    let ours = place.dir.path().to_string_lossy().into_owned();
    let seen = Arc::new(Mutex::new((BTreeSet::new(), BTreeSet::new(), BTreeSet::new())));
    let note = seen.clone();
    let reports = std::sync::atomic::AtomicUsize::new(0);
    let on_progress = move |progress: turnback_engine::Progress| {
        // A rollback reports each path: now and then, and the first of each phase.
        let count = reports.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if !count.is_multiple_of(2000) && note.lock().unwrap().0.contains(progress.phase) {
            return;
        }
        let output = Command::new("ls").args(["-l", "/proc/self/fd"]).output().unwrap();
        let listed = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut note = note.lock().unwrap();
        note.0.insert(progress.phase);
        note.1.extend(listed.lines().filter(|line| line.contains(&ours)).map(str::to_owned));
        let own = fs::read_dir("/proc/self/fd").unwrap().filter_map(|e| fs::read_link(e.ok()?.path()).ok());
        note.2.extend(own.map(|p| p.to_string_lossy().into_owned()).filter(|p| p.contains(&ours)));
    };
    let ctx = Context { on_progress: Some(Arc::new(on_progress)), ..Context::default() };
    let id = place.manager.create(&place.root(), request(), &ctx).unwrap().checkpoint_id;
    for i in 0..1500 {
        place.write(&format!("d{}/f{i}", i % 20), "other");
    }
    place.manager.rollback(id, exact(), &ctx).unwrap();
    place.manager.verify(None, &ctx).unwrap();
    let seen = seen.lock().unwrap();
    assert!(seen.0.len() > 2, "in several phases: {:?}", seen.0);
    assert!(seen.2.iter().any(|p| p.contains("/locks/")), "locks were held: {:?}", seen.2);
    assert!(seen.2.iter().any(|p| p.contains("/w")), "directories were open: {:?}", seen.2);
    assert_eq!(seen.1, BTreeSet::new(), "inherited");
}
