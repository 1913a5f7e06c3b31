//! W6, measured by hand: `cargo test --release -p turnback-engine --test sandbox_suite -- --ignored --nocapture speed`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use turnback_engine::sandbox::{MechanismChoice, StrategyName};

use crate::common::place::noise;
use crate::ground::Kind;
use crate::place::{Place, ctx};

/// Files of an application with its dependencies: many small ones, some large ones.
fn fill(root: &Path) {
    for i in 0..20_000u64 {
        let dir = root.join(format!("p{}/d{}", i / 1000, i / 40 % 25));
        fs::create_dir_all(&dir).unwrap();
        let length = match i % 200 {
            0 => 400_000,
            1..=9 => 60_000,
            _ => 500 + (i * 7919 % 9_000) as usize,
        };
        // Half of it compresses, as source text does.
        let mut bytes = noise(i, length / 2);
        bytes.resize(length, b' ');
        fs::write(dir.join(format!("f{i}")), bytes).unwrap();
    }
}

fn report(what: &str, mut times: Vec<Duration>) -> Duration {
    times.sort();
    let median = times[times.len() / 2];
    println!("{what}: {median:.0?} ({:.0?} to {:.0?})", times[0], times[times.len() - 1]);
    median
}

fn measure(kind: Kind, mechanism: MechanismChoice, cp: &[&str]) {
    let Some(place) = Place::sized(kind, "6G") else { return };
    fill(&place.resource());
    let run = |program: &str, arguments: &[&str]| {
        assert!(Command::new(program).args(arguments).current_dir(place.dir()).status().unwrap().success());
    };
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    let (mut baselines, mut walls) = (Vec::new(), Vec::new());
    for round in 0..6 {
        run("sync", &[]);
        let started = Instant::now();
        run("cp", &[cp, &["work", "copy"]].concat());
        theirs.push(started.elapsed());
        run("rm", &["-rf", "copy"]);
        run("sync", &[]);
        let options = place.with(StrategyName::CopyOnWrite, mechanism);
        let started = Instant::now();
        let sandbox = place.sandboxes.create(&options, &ctx()).unwrap();
        ours.push(started.elapsed());
        let started = Instant::now();
        assert!(sandbox.changes(&ctx()).unwrap().is_empty());
        walls.push(started.elapsed());
        let started = Instant::now();
        sandbox.cleanup(false, &ctx()).unwrap();
        baselines.push(started.elapsed());
        if round == 0 {
            // The first round warms the caches.
            for times in [&mut ours, &mut theirs, &mut walls, &mut baselines] {
                times.clear();
            }
        }
    }
    println!("{kind:?} {}: 20,000 files", mechanism.as_str());
    let ours = report("  sandbox with its baseline", ours);
    let theirs = report(&format!("  cp {}", cp.join(" ")), theirs);
    report("  its changes, right after", walls);
    report("  its cleanup", baselines);
    println!("  ratio {:.2}", ours.as_secs_f64() / theirs.as_secs_f64());
}

#[test]
#[ignore = "a measurement"]
fn copy_on_ext4() {
    measure(Kind::Ext4, MechanismChoice::Copy, &["-a"]);
}

#[test]
#[ignore = "a measurement"]
fn copy_on_xfs() {
    measure(Kind::Xfs, MechanismChoice::Copy, &["-a", "--reflink=never"]);
}

#[test]
#[ignore = "a measurement"]
fn reflink_on_xfs() {
    measure(Kind::Xfs, MechanismChoice::Reflink, &["-a", "--reflink=always"]);
}

#[test]
#[ignore = "a measurement"]
fn reflink_on_btrfs() {
    measure(Kind::Btrfs, MechanismChoice::Reflink, &["-a", "--reflink=always"]);
}
