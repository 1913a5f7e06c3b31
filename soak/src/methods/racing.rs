//! Writers that race with a checkpoint (P5), deadlines that pass in its middle (P11), and what it leaves of the tree (P13).

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use turnback_engine::{Code, Context, Reason, RelPath};

use crate::budget::Budget;
use crate::machine;
use crate::outcome::Outcome;
use crate::scene::{Scene, create_request};
use crate::tree::{self, Edit, Picture};

/// The whole method.
///
/// # Errors
/// When the harness fails.
pub fn run(_: &Path, budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    for (i, directory) in [tempfile::tempdir()?, machine::quick_directory()?].into_iter().enumerate() {
        // On the disk's file system and in memory: their clocks and locks differ.
        out.add(torn(directory.path(), budget.share(4 - i as u32))?);
    }
    out.add(late(budget.share(2))?);
    out.add(untouched(budget)?);
    Ok(out)
}

const BLOCKS: usize = 16;
const BLOCK: usize = 4096;

/// A writer renews a file block by block: at each moment the first bytes have one value and the others the value before. Anything else
/// was never there.
fn torn(directory: &Path, budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    let scene = Scene::new(directory)?;
    let manager = scene.open()?;
    let path = RelPath::parse(b"raced").ok().context("a path")?;
    let file = scene.root().join("raced");
    fs::write(&file, vec![0; BLOCKS * BLOCK])?;
    let (writes, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let (mut raced, mut clean, mut marked, mut rounds) = (0u64, 0u64, 0u64, 0u64);
    std::thread::scope(|scope| -> Result<()> {
        let writer = scope.spawn(|| -> std::io::Result<()> {
            let mut value = 0u8;
            while !stop.load(Ordering::Relaxed) {
                value = value.wrapping_add(1);
                let open = fs::OpenOptions::new().write(true).open(&file)?;
                for block in 0..BLOCKS {
                    open.write_all_at(&[value; BLOCK], (block * BLOCK) as u64)?;
                    writes.fetch_add(1, Ordering::Relaxed);
                }
            }
            Ok(())
        });
        let mut judge = || -> Result<()> {
            while (budget.more(rounds, 50) || budget.lacks(raced, 10_000)) && !out.is_hopeless() {
                let from = writes.load(Ordering::Relaxed);
                let request = create_request().context("a request")?;
                let made = manager.create(&scene.root(), request, &Context::default())?;
                raced += writes.load(Ordering::Relaxed) - from;
                let changing = made
                    .coverage
                    .uncovered
                    .iter()
                    .any(|u| u.reason == Reason::Changing && u.path.as_bytes() == path.as_bytes());
                if changing {
                    marked += 1;
                } else {
                    clean += 1;
                    let bytes = manager.read_file(made.checkpoint_id, &path)?;
                    out.check(was_there(&bytes), 5, || {
                        let values: Vec<_> = bytes.chunks(BLOCK).map(|b| b[0]).collect();
                        format!("round {rounds}: torn and called clean: {values:?}")
                    });
                }
                manager.delete(made.checkpoint_id)?;
                rounds += 1;
            }
            Ok(())
        };
        let judged = judge();
        stop.store(true, Ordering::Relaxed);
        writer.join().map_err(|_| anyhow::anyhow!("the writer panicked"))??;
        judged
    })?;
    // What rests is not marked for ever, and its last bytes are what is stored: nothing is falsely unchanged.
    let request = create_request().context("a request")?;
    let quiet = manager.create(&scene.root(), request, &Context::default())?;
    out.check(quiet.coverage.changing == 0, 5, || "a file that rests is marked".to_owned());
    let same = manager.read_file(quiet.checkpoint_id, &path)? == fs::read(&file)?;
    out.check(same, 5, || "a change was not seen".to_owned());
    out.figure(
        5,
        "a file rewritten in blocks while checkpoints are taken",
        format!("{raced} racing writes in {rounds} checkpoints: {clean} clean, {marked} marked"),
    );
    out.end_group();
    Ok(out)
}

fn was_there(bytes: &[u8]) -> bool {
    let first = bytes.first().copied().unwrap_or_default();
    let boundary = bytes.iter().position(|b| *b != first).unwrap_or(bytes.len());
    // The boundary may lie inside a block: a write that is under way is seen as far as it came (docs/shortcomings.md).
    bytes.len() == BLOCKS * BLOCK && bytes[boundary..].iter().all(|b| *b == first.wrapping_sub(1))
}

/// Deadlines at every moment of a checkpoint: what timed out is never published, neither then nor later.
fn late(budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    let directory = machine::quick_directory()?;
    let scene = Scene::new(directory.path())?;
    let manager = scene.open()?;
    let mut longest = Duration::ZERO;
    for i in 0..20 {
        tree::apply_edit(&scene.root(), &Edit::Write(0, i, 900));
        let started = Instant::now();
        scene.create(&manager)?;
        longest = longest.max(started.elapsed());
    }
    let mut known = scene.ids(&manager)?;
    let (mut timed_out, mut done, mut over) = (0u64, 0u64, Vec::new());
    while budget.more(timed_out, 1000) && !out.is_hopeless() {
        let round = timed_out + done;
        tree::apply_edit(&scene.root(), &Edit::Write(0, round as u8, 900 + (round % 50) as u16));
        // From at once to a little longer than it takes.
        let part = longest.mul_f64((round % 97) as f64 / 120.0);
        let deadline = Instant::now() + part;
        let ctx = Context { deadline: Some(deadline), ..Context::default() };
        let request = create_request().context("a request")?;
        match manager.create(&scene.root(), request, &ctx) {
            Ok(made) => {
                done += 1;
                known.push(made.checkpoint_id);
            }
            Err(error) if error.code() == Code::TimedOut => {
                timed_out += 1;
                over.push(Instant::now().saturating_duration_since(deadline));
            }
            Err(error) => out.breach(11, format!("round {round}: {error}")),
        }
        if round.is_multiple_of(25) {
            let ids = scene.ids(&manager)?;
            out.check(ids == known, 11, || format!("round {round}: published though it timed out"));
            scene.only_base(&manager)?;
            known = vec![scene.base];
        }
    }
    let ids = scene.ids(&manager)?;
    out.check(ids == known, 11, || "published after the timeout".to_owned());
    over.sort_unstable();
    let worst = over.get(over.len() * 99 / 100).copied().unwrap_or_default();
    out.figure(
        11,
        "deadlines at every moment of a checkpoint",
        format!(
            "{timed_out} timeouts, {done} in time; 99 of 100 return within {:.1} ms",
            worst.as_secs_f64() * 1e3
        ),
    );
    out.end_group();
    Ok(out)
}

/// Inode and the times that betray a write, path by path.
fn stamps(root: &Path) -> Result<BTreeMap<PathBuf, (u64, i64, i64, u64)>> {
    let (mut all, mut todo) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(path) = todo.pop() {
        let stat = fs::symlink_metadata(&path)?;
        if stat.is_dir() {
            for entry in fs::read_dir(&path)? {
                todo.push(entry?.path());
            }
        }
        all.insert(path, (stat.ino(), stat.ctime(), stat.ctime_nsec(), stat.nlink()));
    }
    Ok(all)
}

/// A checkpoint changes nothing in the tree: bytes, metadata, inodes, change times, `.git` among it.
fn untouched(budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    let directory = machine::quick_directory()?;
    let scene = Scene::new(directory.path())?;
    let manager = scene.open()?;
    let (mut runs, mut state) = (0u64, 0x9e37_79b9_7f4a_7c15u64);
    while budget.more(runs, 150) && !out.is_hopeless() {
        for _ in 0..3 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            tree::apply_edit(
                &scene.root(),
                &Edit::Write((state >> 9) as usize % Edit::NAMES, state as u8, 99),
            );
        }
        fs::write(scene.root().join(".git/index"), state.to_le_bytes())?;
        let (before, stamped) = (Picture::of(&scene.root())?, stamps(&scene.root())?);
        let made = scene.create(&manager)?;
        out.check(stamps(&scene.root())? == stamped, 13, || format!("run {runs}: an inode was changed"));
        out.check(Picture::of(&scene.root())? == before, 13, || format!("run {runs}: the tree was changed"));
        if made != scene.base {
            manager.delete(made)?;
        }
        runs += 1;
    }
    out.figure(
        13,
        "bytes, metadata, inodes and change times around a checkpoint, .git too",
        format!("{runs} runs"),
    );
    out.end_group();
    Ok(out)
}
