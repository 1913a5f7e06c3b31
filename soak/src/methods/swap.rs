//! An attacker in the sandbox who exchanges a file, its directory or the root for links to the outside, as fast as it goes, while
//! checkpoints are taken, restored and deleted (P4, inputs 3 to 5, 8): nothing outside is written, deleted or chmodded, and nothing
//! of it gets into a checkpoint of the workspace.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::{Context as _, Result};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use turnback_core::CheckpointId;
use turnback_engine::{Context, Manager, RelPath, RollbackRequest};

use crate::budget::Budget;
use crate::machine;
use crate::outcome::Outcome;
use crate::scene::{Scene, create_request, exact};
use crate::tree::Picture;

/// What is exchanged: the path in the scene, and what it is exchanged for.
#[derive(Debug, Clone, Copy)]
enum Target {
    Leaf,
    Parent,
    Root,
    /// The root, for another directory instead of a link.
    RootForDirectory,
}

const TARGETS: [Target; 4] = [Target::Leaf, Target::Parent, Target::Root, Target::RootForDirectory];
const SECRET: &[u8] = b"canary: nobody touches or reads me";

/// The operation that is raced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Raced {
    Create,
    Rollback,
    Delete,
}

/// The whole method.
///
/// # Errors
/// When the harness fails.
pub fn run(_: &Path, budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    let mut left = (TARGETS.len() * 3) as u32;
    for raced in [Raced::Create, Raced::Rollback, Raced::Delete] {
        for target in TARGETS {
            out.add(race(raced, target, budget.share(left))?);
            left -= 1;
        }
    }
    Ok(out)
}

/// What would betray that something outside was touched.
fn stamps(of: &Path) -> Result<BTreeMap<PathBuf, (i64, i64, u64, u32)>> {
    let (mut all, mut todo) = (BTreeMap::new(), vec![of.to_owned()]);
    while let Some(path) = todo.pop() {
        let stat = fs::symlink_metadata(&path)?;
        if stat.is_dir() {
            for entry in fs::read_dir(&path)? {
                todo.push(entry?.path());
            }
        }
        all.insert(path, (stat.ctime(), stat.ctime_nsec(), stat.ino(), stat.mode()));
    }
    Ok(all)
}

fn race(raced: Raced, target: Target, budget: Budget) -> Result<Outcome> {
    let directory = machine::quick_directory()?;
    let scene = Scene::new(directory.path())?;
    let (outside, attic) = (directory.path().join("outside"), directory.path().join("attic"));
    fs::create_dir(&attic)?;
    // The same names lie outside, so that a path that is led astray finds something to harm.
    fs::create_dir_all(outside.join("src"))?;
    for name in ["a.txt", "lib.rs", "src/lib.rs", "src/gone.rs", "src/deep", "new", "big", "same"] {
        fs::write(outside.join(name), SECRET)?;
    }
    fs::create_dir(outside.join("void"))?;
    let (inside, other) = match target {
        Target::Leaf => (scene.root().join("src/lib.rs"), attic.join("leaf")),
        Target::Parent => (scene.root().join("src"), attic.join("parent")),
        Target::Root | Target::RootForDirectory => (scene.root(), attic.join("root")),
    };
    let decoy = attic.join("root");
    match target {
        Target::Leaf => symlink(outside.join("lib.rs"), &other)?,
        Target::Parent => symlink(outside.join("src"), &other)?,
        Target::Root => symlink(&outside, &other)?,
        Target::RootForDirectory => {
            fs::create_dir_all(decoy.join("src"))?;
            for name in ["a.txt", "src/lib.rs", "src/gone.rs", "new"] {
                fs::write(decoy.join(name), SECRET)?;
            }
        }
    }
    let (canaries, decoys) = (Picture::of(&outside)?, Picture::of(&decoy)?);
    let stamped = stamps(&outside)?;
    let is_root = matches!(target, Target::Root | Target::RootForDirectory);
    let manager = scene.open()?;
    let mut out = Outcome::default();
    let (swaps, stop, pause) = (AtomicU64::new(0), AtomicBool::new(false), AtomicBool::new(true));
    let paused = AtomicBool::new(false);
    let (mut during, mut runs, mut errors) = (0u64, 0u64, 0u64);
    std::thread::scope(|scope| -> Result<()> {
        let attacker = scope.spawn(|| {
            while !stop.load(Ordering::Acquire) {
                if pause.load(Ordering::Acquire) {
                    paused.store(true, Ordering::Release);
                    std::hint::spin_loop();
                    continue;
                }
                paused.store(false, Ordering::Release);
                // It fails while the victim has one of the two names away; that is part of the race.
                if renameat_with(CWD, &inside, CWD, &other, RenameFlags::EXCHANGE).is_ok() {
                    swaps.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let mut rounds = || -> Result<()> {
            let least = if raced == Raced::Rollback { 10_000 } else { 2000 };
            while (budget.more(runs, 4) || budget.lacks(during, least))
                && runs < 100_000
                && !out.is_hopeless()
            {
                // Nothing moves while a round is prepared.
                pause.store(true, Ordering::Release);
                while !paused.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                prepare(&scene, &attic, target, runs)?;
                let victim = match raced {
                    Raced::Delete => Some(scene.create(&manager)?),
                    _ => None,
                };
                let from = swaps.load(Ordering::Relaxed);
                paused.store(false, Ordering::Release);
                pause.store(false, Ordering::Release);
                // The attacker is at work before the operation begins.
                while swaps.load(Ordering::Relaxed) == from {
                    std::thread::yield_now();
                }
                let from = swaps.load(Ordering::Relaxed);
                let failed = operate(&scene, &manager, raced, victim, is_root, &mut out)?;
                during += swaps.load(Ordering::Relaxed) - from;
                errors += u64::from(failed);
                runs += 1;
            }
            Ok(())
        };
        let done = rounds();
        stop.store(true, Ordering::Release);
        attacker.join().map_err(|_| anyhow::anyhow!("the attacker panicked"))?;
        done
    })?;
    let what = format!("{raced:?} against {target:?} exchanged");
    out.check(Picture::of(&outside)? == canaries, 4, || format!("{what}: a canary was changed"));
    out.check(stamps(&outside)? == stamped, 4, || format!("{what}: a canary was touched"));
    prepare(&scene, &attic, target, 0)?;
    if matches!(target, Target::RootForDirectory) {
        out.check(Picture::of(&decoy)? == decoys, 4, || format!("{what}: the other directory was changed"));
    }
    scene.is_whole(&[], 1, &what, &mut out)?;
    let figure = format!("{during} swaps during {runs} runs, {errors} of them refused or in part");
    for promise in [1, 3, 4, 8, 9] {
        if promise == 4 || out.has_new(promise) {
            out.figure(promise, what.clone(), figure.clone());
        }
    }
    out.end_group();
    Ok(out)
}

/// Puts everything where it belongs, with an agent's edits in the workspace. The attacker is at rest.
fn prepare(scene: &Scene, attic: &Path, target: Target, salt: u64) -> Result<()> {
    let exchange = |a: &Path, b: &Path| renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE);
    let is_link = |path: &Path| fs::symlink_metadata(path).is_ok_and(|stat| stat.is_symlink());
    match target {
        Target::Leaf | Target::Parent => {
            let (inside, other, to) = match target {
                Target::Leaf => (scene.root().join("src/lib.rs"), attic.join("leaf"), "lib.rs"),
                _ => (scene.root().join("src"), attic.join("parent"), "src"),
            };
            // A rollback may have replaced the link: then what was in the workspace is in the attic, and both are made anew.
            scene.rebuild()?;
            if !is_link(&other) {
                match fs::symlink_metadata(&other) {
                    Ok(stat) if stat.is_dir() => fs::remove_dir_all(&other)?,
                    Ok(_) => fs::remove_file(&other)?,
                    Err(_) => {}
                }
                let outside = attic.parent().context("a parent")?.join("outside");
                symlink(outside.join(to), &other)?;
            }
            let _ = inside;
        }
        Target::Root => {
            if is_link(&scene.root()) {
                exchange(&scene.root(), &attic.join("root"))?;
            }
        }
        Target::RootForDirectory => {
            // The true root has a `.git`; the other one never gets one.
            if !scene.root().join(".git").exists() {
                exchange(&scene.root(), &attic.join("root"))?;
            }
        }
    }
    scene.edit(salt)?;
    if matches!(target, Target::Root | Target::RootForDirectory) {
        fs::write(scene.root().join("stamp"), salt.to_le_bytes())?;
    }
    Ok(())
}

/// Performs the operation; tells whether it was refused or done in part. Both are right here.
fn operate(
    scene: &Scene,
    manager: &Manager,
    raced: Raced,
    victim: Option<CheckpointId>,
    is_root: bool,
    out: &mut Outcome,
) -> Result<bool> {
    let ctx = Context::default();
    match raced {
        Raced::Create => {
            let request = create_request().context("a request")?;
            let Ok(made) = manager.create(&scene.root(), request, &ctx) else { return Ok(true) };
            // Where the root itself is led elsewhere the caller asked for that directory.
            for name in ["src/lib.rs", "src/gone.rs", "src/deep"] {
                let path = RelPath::parse(name.as_bytes()).ok().context("a path")?;
                let read = manager.read_file(made.checkpoint_id, &path);
                out.check(is_root || !read.is_ok_and(|bytes| bytes == SECRET), 4, || {
                    format!("the bytes of a file outside are in a checkpoint as {name}")
                });
            }
            manager.delete(made.checkpoint_id)?;
            Ok(!made.coverage.complete)
        }
        Raced::Rollback => {
            let request = RollbackRequest { safety: false, ..exact() };
            Ok(!manager.rollback(scene.base, request, &ctx).is_ok_and(|report| report.restored))
        }
        Raced::Delete => Ok(!manager.delete(victim.context("a victim")?)?),
    }
}
