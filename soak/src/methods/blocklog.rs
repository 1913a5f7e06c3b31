//! Images of a disk that lost power (P2, P3): each write and flush that reaches the disk is logged; then prefixes of the log are
//! replayed, with a random part of the writes after the last flush left out, and each image is mounted and judged.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use turnback_core::CheckpointId;
use turnback_engine::Durability;

use crate::budget::Budget;
use crate::disk::{Event, LoggedDisk};
use crate::machine::{self, Mount};
use crate::operation::{Op, Said, Settings, Waiting};
use crate::outcome::Outcome;
use crate::scene::Scene;
use crate::tree::{Picture, difference};

const LENGTH: usize = 48 << 20;
const ROUNDS: u64 = 4;

/// What is promised from one position in the log up to another.
#[derive(Debug)]
enum Fact {
    /// The checkpoint is there.
    Listed(CheckpointId),
    /// The workspace is as the base checkpoint has it.
    RolledBack,
    /// It is that or as it was before, once what was begun is finished.
    Between(Picture),
}

/// A log with what it promises.
struct Recorded {
    scene: Scene,
    base: Vec<u8>,
    log: Vec<Event>,
    facts: Vec<(std::ops::Range<usize>, Fact)>,
}

/// The whole method.
///
/// # Errors
/// When the harness fails.
pub fn run(program: &Path, budget: Budget) -> Result<Outcome> {
    if !machine::is_root() || !Path::new("/dev/fuse").exists() || !machine::has("losetup") {
        return Ok(Outcome::skip("blocklog: there is no FUSE or no loop device for us"));
    }
    let home = tempfile::tempdir()?;
    for name in ["fuse", "m"] {
        fs::create_dir(home.path().join(name))?;
    }
    let disk = match LoggedDisk::new(&home.path().join("fuse"), LENGTH) {
        Ok(disk) => disk,
        Err(error) => return Ok(Outcome::skip(format!("blocklog: {error:#}"))),
    };
    let recorded = record(program, disk, &home.path().join("m"))?;
    let mut out = Outcome::default();
    let mut random = 0x2545_f491_4f6c_dd1du64;
    let (mut images, mut dropped) = (0u64, 0u64);
    let space = machine::quick_directory()?;
    while budget.more(images, 40) && !out.is_hopeless() {
        // Every other one right behind an acknowledgement, where a sync that is missing shows.
        let k = match (images % 2, recorded.facts.get((images / 2) as usize % recorded.facts.len())) {
            (1, Some((range, _))) => range.start,
            _ => next(&mut random) as usize % (recorded.log.len() + 1),
        };
        let (image, left_out) = recorded.image(k, &mut random);
        dropped += left_out;
        judge(&recorded, &image, k, left_out, &home.path().join("m"), space.path(), &mut out)?;
        images += 1;
    }
    let flushes = recorded.log.iter().filter(|e| matches!(e, Event::Flush)).count();
    let what =
        "images of an ext4 disk without power, from a log of create, rollback, revert, delete and prune";
    let figure = format!(
        "{images} images of {} writes and {flushes} flushes, {dropped} writes lost",
        recorded.log.len() - flushes
    );
    for promise in [1, 2, 3, 8, 9] {
        if matches!(promise, 2 | 3) || out.has_new(promise) {
            out.figure(promise, what, figure.clone());
        }
    }
    out.end_group();
    Ok(out)
}

fn next(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random >> 11
}

/// Runs operations on the disk, with the position of the log at which each was acknowledged.
fn record(program: &Path, disk: LoggedDisk, at: &Path) -> Result<Recorded> {
    machine::run(Command::new("mkfs.ext4").args(["-qF", "-E", "nodiscard"]).arg(&disk.device))?;
    let device = disk.device.to_str().context("a device that is not UTF-8")?;
    let mount = Mount::new(&["-o", "noatime", device], at)?;
    fs::set_permissions(at, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    let scene = Scene::with(at, Durability::Power)?;
    let sync = || rustix::fs::syncfs(fs::File::open(at)?).context("syncing");
    sync()?;
    let base = disk.begin();
    let mut facts: Vec<(std::ops::Range<usize>, Fact)> = Vec::new();
    let perform = |op| -> Result<CheckpointId> {
        let settings = Settings { power: true, ..Settings::default() };
        let mut process = Waiting::start(program, op, at, settings)?;
        process.go()?;
        match process.end()?.0 {
            Said::Done(id) => Ok(id.unwrap_or(scene.base)),
            said => bail!("{}: {said:?}", op.name()),
        }
    };
    // What undid the last revert: the next prune takes it.
    let mut last: Option<(usize, CheckpointId)> = None;
    for round in 0..ROUNDS {
        let before = scene.edit(round)?;
        sync()?;
        let made = perform(Op::Create)?;
        let created = disk.position();
        let undo = perform(Op::Rollback(scene.base))?;
        let rolled_back = disk.position();
        let deleting = disk.position();
        perform(Op::Delete(made))?;
        facts.push((created..rolled_back, Fact::Between(before)));
        facts.push((created..deleting, Fact::Listed(made)));
        facts.push((rolled_back..disk.position(), Fact::RolledBack));

        let before = scene.edit(ROUNDS + round)?;
        sync()?;
        let made = perform(Op::Create)?;
        let created = disk.position();
        let undo_revert = perform(Op::Revert(scene.base, made))?;
        let reverted = disk.position();
        facts.push((created..reverted, Fact::Between(before)));
        let pruning = disk.position();
        perform(Op::Prune)?;
        facts.push((created..pruning, Fact::Listed(made)));
        facts.push((rolled_back..pruning, Fact::Listed(undo)));
        facts.push((reverted..disk.position(), Fact::RolledBack));
        if let Some((from, id)) = last.replace((reverted, undo_revert)) {
            facts.push((from..pruning, Fact::Listed(id)));
        }
    }
    facts.extend(last.map(|(from, id)| (from..usize::MAX, Fact::Listed(id))));
    mount.unmount()?;
    Ok(Recorded { scene, base, log: disk.end()?, facts })
}

impl Recorded {
    /// The disk after the first `k` events, without a random part of the writes since the last flush.
    fn image(&self, k: usize, random: &mut u64) -> (Vec<u8>, u64) {
        let flushed = self.log[..k].iter().rposition(|e| matches!(e, Event::Flush)).map_or(0, |at| at + 1);
        let mut image = self.base.clone();
        let mut left_out = 0;
        // From all of them to none of them.
        let share = next(random) % 5;
        for (i, event) in self.log[..k].iter().enumerate() {
            if let Event::Write(offset, bytes) = event {
                if i >= flushed && next(random) % 4 < share {
                    left_out += 1;
                    continue;
                }
                image[*offset..*offset + bytes.len()].copy_from_slice(bytes);
            }
        }
        (image, left_out)
    }
}

fn judge(
    recorded: &Recorded,
    image: &[u8],
    k: usize,
    left_out: u64,
    at: &Path,
    space: &Path,
    out: &mut Outcome,
) -> Result<()> {
    let file = space.join("image");
    fs::File::create(&file)?.write_all_at(image, 0)?;
    let what = format!("image after {k} events without {left_out} of the last writes");
    let mount = Mount::new(&["-o", "loop,noatime", file.to_str().context("a path that is not UTF-8")?], at)?;
    let mut known = Vec::new();
    for (range, fact) in &recorded.facts {
        if !range.contains(&k) {
            continue;
        }
        match fact {
            Fact::Listed(id) => known.push(*id),
            Fact::Between(before) => {
                let ctx = turnback_engine::Context::default();
                let root = recorded.scene.root();
                if let Err(error) = recorded.scene.open().and_then(|manager| manager.recover(&root, &ctx)) {
                    out.breach(3, format!("{what}: finishing what was begun: {error}"));
                }
                let now = Picture::of(&root)?;
                out.check(now == *before || now == recorded.scene.then, 3, || {
                    let differs = difference(&now, before).unwrap_or_default();
                    let other = difference(&now, &recorded.scene.then).unwrap_or_default();
                    format!("{what}: neither before nor after: {differs}; {other}")
                });
            }
            Fact::RolledBack => {
                let differs = difference(&Picture::of(&recorded.scene.root())?, &recorded.scene.then);
                out.check(differs.is_none(), 3, || {
                    format!("{what}: the rollback was done, and {}", differs.unwrap_or_default())
                });
            }
        }
    }
    recorded.scene.is_whole(&known, 2, &what, out)?;
    mount.unmount()
}
