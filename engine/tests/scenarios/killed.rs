//! A process that is killed in the middle of its work loses nothing that was acknowledged and leaves nothing (P1, P8, F1, F7, F21).

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use turnback_core::CheckpointId;
use turnback_engine::Context;

use crate::common::picture::same;
use crate::common::place::{Place, exact, noise, open, request};
use crate::common::process::{child, task};

/// Starts a child and returns it with the lines that it prints.
fn start(test: &str, place: &Place) -> (Child, impl Iterator<Item = String>) {
    let mut child =
        child(test, place.dir.path()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    (child, lines)
}

/// Lets `micros` go by without giving the processor away for longer than that.
fn spin(micros: u64) {
    let until = Instant::now() + Duration::from_micros(micros);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

fn acknowledged(line: &str) -> Option<CheckpointId> {
    line.split("made ").nth(1)?.trim().parse().ok()
}

#[test]
fn in_the_middle_of_a_create() {
    let place = Place::in_memory();
    for i in 0..120u64 {
        place.write(&format!("d{}/f{i}", i % 6), noise(i, 3000));
    }
    let first = place.create().checkpoint_id;
    let before = place.tree();
    let mut known = vec![first];
    for round in 0..30u64 {
        let (mut process, mut lines) = start("killed::creates_without_end", &place);
        // The first answer shows that it is at work; the kill comes at another point each time.
        let answer = lines.find_map(|line| acknowledged(&line)).unwrap();
        known.push(answer);
        spin(round * 397 % 9000);
        process.kill().unwrap();
        known.extend(lines.filter_map(|line| acknowledged(&line)));
        process.wait().unwrap();

        let manager = open(&place.store()).unwrap();
        place.tmp_is_empty();
        let ids = place.ids();
        assert!(known.iter().all(|id| ids.contains(id)), "an acknowledged checkpoint is gone");
        let report = manager.verify(None, &Context::default()).unwrap();
        assert_eq!(report.damaged, [], "round {round}");
        // No lock is left behind: the next one works at once.
        let next = manager
            .create(
                &place.root(),
                request(),
                &Context { deadline: Some(Instant::now() + Duration::from_secs(60)), ..Context::default() },
            )
            .unwrap();
        for id in place.ids() {
            if id != first && id != next.checkpoint_id {
                manager.delete(id).unwrap();
            }
        }
        known = vec![first];
    }
    fs::remove_dir_all(place.root()).unwrap();
    fs::create_dir(place.root()).unwrap();
    let request = turnback_engine::RollbackRequest { allow_replaced_root: true, ..exact() };
    place.manager.rollback(first, request, &Context::default()).unwrap();
    same(&place.tree(), &before);
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn creates_without_end() {
    let Some(directory) = task() else { return };
    let manager = open(&directory.join("s")).unwrap();
    let file = directory.join("noise");
    fs::write(&file, "").unwrap();
    for round in 0u64.. {
        // The rules differ, so that everything is read and stored anew, and the workspace itself stays as it is.
        let mut asked = request();
        asked.exclude = vec![format!("none-{round}")];
        let made = manager.create(&directory.join("w"), asked, &Context::default()).unwrap();
        println!("made {}", made.checkpoint_id);
    }
}

#[test]
fn in_the_middle_of_a_delete() {
    let place = Place::in_memory();
    for i in 0..60u64 {
        place.write(&format!("d{}/f{i}", i % 6), noise(i, 2000));
    }
    let first = place.create().checkpoint_id;
    for round in 0..20u64 {
        let (mut process, mut lines) = start("killed::deletes_without_end", &place);
        let started = lines.any(|line| line.contains("at work"));
        assert!(started);
        spin(round * 811 % 12_000);
        process.kill().unwrap();
        process.wait().unwrap();
        drop(lines);
        let manager = open(&place.store()).unwrap();
        place.tmp_is_empty();
        let report = manager.verify(None, &Context::default()).unwrap();
        assert_eq!(report.damaged, [], "round {round}: listed, and not readable");
        assert!(place.ids().contains(&first));
        // One more deletion removes all garbage: only what the listed ones need is there.
        for id in place.ids() {
            if id != first {
                manager.delete(id).unwrap();
            }
        }
        assert_eq!(manager.verify(None, &Context::default()).unwrap().damaged, []);
    }
    place.manager.delete(first).unwrap();
    let left = crate::common::place::files_beneath(&place.store().join("packs"));
    assert_eq!(left, Vec::<std::path::PathBuf>::new(), "P8: nothing needs these packs");
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn deletes_without_end() {
    let Some(directory) = task() else { return };
    let manager = open(&directory.join("s")).unwrap();
    let workspace = directory.join("w");
    for round in 0u64.. {
        fs::write(workspace.join("d0/f0"), noise(round + 1000, 2000)).unwrap();
        let one = manager.create(&workspace, request(), &Context::default()).unwrap().checkpoint_id;
        fs::write(workspace.join("d1/f1"), noise(round + 5000, 2000)).unwrap();
        let two = manager.create(&workspace, request(), &Context::default()).unwrap().checkpoint_id;
        println!("at work");
        manager.delete(one).unwrap();
        manager.delete(two).unwrap();
    }
}
