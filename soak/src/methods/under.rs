//! The operations under test: how a round of each is prepared, and what has to hold after it was cut off or failed.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::{Context as _, Result, bail};
use turnback_core::CheckpointId;

use crate::operation::{Op, Said, Settings};
use crate::outcome::Outcome;
use crate::scene::Scene;
use crate::strace::{self, Injection};
use crate::tree::{Edit, Picture, apply_edit, difference, difference_but};

/// The calls that change what is on disk or in the kernel. Between two of them nothing that lasts happens, so that the quick tier
/// kills at these only; the long one at all.
pub(crate) const CHANGING: [&str; 35] = [
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "copy_file_range",
    "sendfile",
    "ftruncate",
    "fallocate",
    "fsync",
    "fdatasync",
    "syncfs",
    "sync_file_range",
    "rename",
    "renameat",
    "renameat2",
    "mkdir",
    "mkdirat",
    "unlink",
    "unlinkat",
    "rmdir",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "mknodat",
    "chmod",
    "fchmod",
    "fchmodat",
    "fchown",
    "fchownat",
    "utimensat",
    "fsetxattr",
    "lsetxattr",
    "openat",
    "flock",
];

/// Which operation is under test; the ids are made for each round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Under {
    /// Taking a checkpoint.
    Create,
    /// Rolling back.
    Rollback,
    /// Taking back what changed between two checkpoints.
    Revert,
    /// Deleting a checkpoint.
    Delete,
    /// Deleting several by a rule.
    Prune,
    /// Finishing a rollback that was killed.
    Recover,
}

/// All operations under test.
pub const ALL: [Under; 6] =
    [Under::Create, Under::Rollback, Under::Revert, Under::Delete, Under::Prune, Under::Recover];

/// A prepared round: the operation, the tree before it and after it, and what has to be listed after it.
pub(crate) struct Prepared {
    pub(crate) op: Op,
    pub(crate) before: Picture,
    pub(crate) after: Picture,
    pub(crate) known: Vec<CheckpointId>,
}

impl Under {
    /// Whether it writes to the workspace.
    pub(crate) const fn restores(self) -> bool {
        matches!(self, Self::Rollback | Self::Revert | Self::Recover)
    }

    /// What a figure of it speaks of, beside what was asked for.
    pub(crate) const fn promises(self) -> &'static [u8] {
        match self {
            Self::Create => &[1, 9, 12, 13],
            Self::Rollback | Self::Revert | Self::Recover => &[1, 3, 9, 12],
            Self::Delete | Self::Prune => &[1, 8, 9],
        }
    }

    pub(crate) fn prepare(self, program: &Path, scene: &Scene, salt: u64) -> Result<Prepared> {
        let before = scene.edit(salt)?;
        let then = scene.then.clone();
        let mut round = Prepared { op: Op::Create, after: before.clone(), before, known: Vec::new() };
        match self {
            Self::Create => {}
            Self::Rollback => (round.op, round.after) = (Op::Rollback(scene.base), then),
            Self::Revert => {
                let to = scene.create(&scene.open()?)?;
                // An edit of somebody else since the turn: it stays.
                scene.edit_beside()?;
                round.before = Picture::of(&scene.root())?;
                round.after = then;
                let mine = round.before.0.get(&b"mine"[..]).context("an edit beside the turn")?;
                round.after.0.insert(b"mine".to_vec(), mine.clone());
                // Somebody added a name to the root since, so that its time is not the turn's any more.
                let root = round.before.0.get(&b""[..]).context("a root")?;
                round.after.0.insert(Vec::new(), root.clone());
                (round.op, round.known) = (Op::Revert(scene.base, to), vec![to]);
            }
            Self::Delete | Self::Prune => {
                let manager = scene.open()?;
                let victim = scene.create(&manager)?;
                // What it shares with a younger one has to stay.
                apply_edit(&scene.root(), &Edit::Write(0, 1, 9));
                let younger = scene.create(&manager)?;
                round.op = if self == Self::Delete { Op::Delete(victim) } else { Op::Prune };
                (round.before, round.known) = (Picture::of(&scene.root())?, vec![younger]);
                round.after = round.before.clone();
            }
            Self::Recover => {
                interrupt(program, scene, salt, &round.before)?;
                (round.op, round.after) = (Op::Recover, then);
            }
        }
        Ok(round)
    }
}

/// Kills a rollback at a call that leaves a journal; another one for each salt.
fn interrupt(program: &Path, scene: &Scene, salt: u64, before: &Picture) -> Result<()> {
    static POINTS: OnceLock<Vec<(String, u64)>> = OnceLock::new();
    // Kills before the journal is there and after all is done are no interruptions, and with one worker they are the same each time.
    static IN_VAIN: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());
    let settings = Settings { workers: 1, ..Settings::default() };
    let op = Op::Rollback(scene.base);
    let points = match POINTS.get() {
        Some(points) => points,
        None => {
            let calls = strace::calls(program, op, &scene.directory, settings)?;
            let on_main = calls.into_iter().filter(|((role, name), _)| {
                role == "main" && CHANGING.contains(&name.as_str()) && name != "write" && name != "flock"
            });
            let each = on_main.flat_map(|((_, call), count)| (1..=count).map(move |n| (call.clone(), n)));
            POINTS.get_or_init(|| each.collect())
        }
    };
    for at in 0..points.len() {
        let number = (salt as usize * 7 + at) % points.len();
        if IN_VAIN.lock().unwrap_or_else(PoisonError::into_inner).contains(&number) {
            continue;
        }
        let (call, nth) = &points[number];
        scene.rebuild()?;
        crate::tree::edit(&scene.root(), salt)?;
        let injection = Injection { role: "main", call, nth: *nth, what: "signal=SIGKILL" };
        strace::disturbed(program, op, &scene.directory, settings, injection)?;
        let manager = scene.open()?;
        if !manager.pending()?.is_empty() && Picture::of(&scene.root())? != *before {
            return Ok(());
        }
        manager.recover(&scene.root(), &turnback_engine::Context::default())?;
        IN_VAIN.lock().unwrap_or_else(PoisonError::into_inner).insert(number);
    }
    bail!("no kill leaves a journal")
}

/// What has to hold after an operation that was cut off or that failed, before anything else is done.
pub(crate) fn judge(
    scene: &Scene,
    round: &Prepared,
    said: &Said,
    what: &str,
    out: &mut Outcome,
) -> Result<()> {
    let mut known = round.known.clone();
    match said {
        Said::Done(_) | Said::Partly(..) => {
            let (id, but): (_, &[Vec<u8>]) = match said {
                Said::Partly(id, but) => (id, but),
                Said::Done(id) => (id, &[]),
                _ => (&None, &[]),
            };
            known.extend(*id);
            let now = Picture::of(&scene.root())?;
            // What a checkpoint does not cover is there all the same.
            let but_now: &[Vec<u8>] = if matches!(round.op, Op::Create) { &[] } else { but };
            let differs = difference_but(&now, &round.after, but_now);
            out.check(differs.is_none(), 12, || {
                format!("{what}: said {said:?}, and {}", differs.unwrap_or_default())
            });
            if let (Op::Create, Some(id)) = (round.op, id) {
                acknowledged_is_exact(scene, *id, &round.before, but, what, out)?;
            }
        }
        Said::Nothing | Said::Failed(_) => match round.op {
            Op::Rollback(_) | Op::Revert(..) | Op::Recover => recovers(scene, round, what, out)?,
            // Only those write to the workspace (P13).
            Op::Open | Op::Create | Op::Delete(_) | Op::Prune => {
                if let (Op::Create, Said::Failed(why)) = (round.op, said) {
                    failed_is_not_listed(scene, &known, &format!("{what}: said {why}"), out);
                }
                let differs = difference(&Picture::of(&scene.root())?, &round.before);
                out.check(differs.is_none(), 13, || format!("{what}: {}", differs.unwrap_or_default()));
            }
        },
    }
    scene.is_whole(&known, 1, what, out)
}

/// A checkpoint that was said to have failed is not there (C12). After a kill, of which nothing was said, it may be.
fn failed_is_not_listed(scene: &Scene, known: &[CheckpointId], what: &str, out: &mut Outcome) {
    let listed = scene.open().map_err(anyhow::Error::from).and_then(|manager| scene.ids(&manager));
    let only_known = |ids: &Vec<_>| ids.iter().all(|id| *id == scene.base || known.contains(id));
    out.check(listed.as_ref().is_ok_and(only_known), 12, || format!("{what}, and listed are {listed:?}"));
}

/// A checkpoint that was acknowledged has what was there: it is exported beside the workspace and compared.
fn acknowledged_is_exact(
    scene: &Scene,
    id: CheckpointId,
    should: &Picture,
    but: &[Vec<u8>],
    what: &str,
    out: &mut Outcome,
) -> Result<()> {
    let place = tempfile::tempdir_in(&scene.directory)?;
    let target = place.path().join("out");
    let exported =
        scene.open().and_then(|manager| manager.export(id, &target, &turnback_engine::Context::default()));
    if let Err(error) = exported {
        out.breach(12, format!("{what}: the acknowledged checkpoint cannot be read: {error}"));
        return Ok(());
    }
    let differs = difference_but(&Picture::of(&target)?, should, but);
    out.check(differs.is_none(), 12, || format!("{what}: created, and {}", differs.unwrap_or_default()));
    Ok(())
}

/// After a restore that did not end: the next writing call finishes it, and then the tree is as before or as after, never a mix (P3).
fn recovers(scene: &Scene, round: &Prepared, what: &str, out: &mut Outcome) -> Result<()> {
    let ctx = turnback_engine::Context::default();
    let recovered = scene.open().and_then(|manager| {
        let first = manager.recover(&scene.root(), &ctx)?;
        let again = manager.recover(&scene.root(), &ctx)?;
        Ok((first, again, manager.pending()?))
    });
    match recovered {
        Ok((_, again, pending)) => {
            out.check(again.is_none() && pending.is_empty(), 3, || {
                format!("{what}: still pending after it was finished: {again:?}, {pending:?}")
            });
        }
        Err(error) => out.breach(3, format!("{what}: finishing it: {error}")),
    }
    let now = Picture::of(&scene.root())?;
    out.check(now == round.before || now == round.after, 3, || {
        format!(
            "{what}: neither before nor after: {}; {}",
            difference(&now, &round.before).unwrap_or_default(),
            difference(&now, &round.after).unwrap_or_default()
        )
    });
    Ok(())
}
