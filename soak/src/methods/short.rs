//! Reads that come short (input 65): a workspace and a store lie on a file system that gives a part of what a read asks for. What is
//! checkpointed is all of it all the same, and a store says of itself what it says elsewhere (P6, P7).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::{Context as _, Result};
use turnback_engine::{Context, Durability, Listed, Manager};

use crate::budget::Budget;
use crate::machine;
use crate::mirror::Mirror;
use crate::outcome::Outcome;
use crate::scene::{Scene, create_request, open};
use crate::tree::{Picture, difference};

/// What a store lists, wherever it is looked at from.
fn listed(manager: &Manager) -> Result<Vec<Listed>> {
    let listing = manager.list(None)?;
    anyhow::ensure!(listing.damaged.is_empty(), "damaged: {:?}", listing.damaged);
    let anywhere = |mut one: Listed| {
        one.checkpoint.snapshot_path = PathBuf::new();
        one
    };
    Ok(listing.checkpoints.into_iter().map(anywhere).collect())
}

/// The whole method.
///
/// # Errors
/// When the harness fails.
pub fn run(_: &Path, budget: Budget) -> Result<Outcome> {
    if !machine::is_root() || !Path::new("/dev/fuse").exists() {
        return Ok(Outcome::skip("short: there is no FUSE for us"));
    }
    let home = machine::quick_directory()?;
    let [source, at, beside] = ["source", "mirror", "beside"].map(|name| home.path().join(name));
    for directory in [&source, &at, &beside] {
        fs::create_dir(directory)?;
        fs::set_permissions(directory, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    }
    let scene = Scene::new(&source)?;
    let mirror = match Mirror::new(&source, &at) {
        Ok(mirror) => mirror,
        Err(error) => return Ok(Outcome::skip(format!("short: {error:#}"))),
    };
    let mut out = Outcome::default();
    let (mut rounds, mut exported) = (0u64, 0u64);
    let ctx = Context::default();
    let other = open(&beside.join("s"), Durability::Process)?;
    while budget.more(rounds, 12) && !out.is_hopeless() {
        // A checkpoint of what is read in parts, in a store that is read at once.
        let tree = scene.edit(rounds)?;
        let request = create_request().context("a request")?;
        let made = other.create(&at.join("w"), request, &ctx)?;
        let what = format!("round {rounds}");
        out.check(made.coverage.complete, 6, || format!("{what}: not covered: {:?}", made.coverage));
        let target = beside.join("out");
        other.export(made.checkpoint_id, &target, &ctx)?;
        let differs = difference(&Picture::of(&target)?, &tree);
        out.check(differs.is_none(), 6, || format!("{what}: {}", differs.unwrap_or_default()));
        crate::tree::empty(&target)?;
        fs::remove_dir(&target)?;
        other.delete(made.checkpoint_id)?;

        // A store that is read in parts: what was erased in it, what several share, what has a pin.
        let writer = scene.open()?;
        let (gone, stays) = (scene.create(&writer)?, {
            scene.edit(rounds + 1)?;
            scene.create(&writer)?
        });
        writer.delete(gone)?;
        writer.set_pinned(stays, true)?;
        let reader = open(&at.join("s"), Durability::Process)?;
        let (is, should) = (listed(&reader)?, listed(&writer)?);
        out.check(is == should, 7, || format!("{what}: listed are {is:?}, and should be {should:?}"));
        let damaged = reader.verify(None, &ctx)?.damaged;
        out.check(damaged.is_empty(), 7, || format!("{what}: called damaged: {damaged:?}"));
        for (id, tree) in [(scene.base, scene.then.clone()), (stays, Picture::of(&scene.root())?)] {
            reader.export(id, &target, &ctx)?;
            let differs = difference(&Picture::of(&target)?, &tree);
            out.check(differs.is_none(), 6, || format!("{what}: {id}: {}", differs.unwrap_or_default()));
            crate::tree::empty(&target)?;
            fs::remove_dir(&target)?;
            exported += 1;
        }
        drop(reader);
        scene.only_base(&writer)?;
        rounds += 1;
    }
    let (all, short) = (mirror.reads.all.load(Ordering::Relaxed), mirror.reads.short.load(Ordering::Relaxed));
    anyhow::ensure!(short > 0, "no read came short");
    let figure = format!("{rounds} checkpoints, {exported} exports: {short} of {all} reads came short");
    for promise in [6, 7] {
        out.figure(promise, "a workspace and a store of which each read gives a part", figure.clone());
    }
    out.end_group();
    Ok(out)
}
