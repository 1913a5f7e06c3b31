//! Names that a file system holds for one: case pairs, and two ways of writing one character (inputs 30, 31). Found by trying in the
//! staging area, before the first write.

use std::collections::HashMap;

use rustix::io::Errno;

use super::area::Area;
use crate::error::{Code, Error, Result};
use crate::model::RelPath;
use crate::restore::beneath::Dir;
use crate::restore::plan::{Act, Plan, Role};

/// The error for two names that become one.
pub(super) fn one_name(path: &RelPath) -> Error {
    Error::new(
        Code::UnsupportedFilesystem,
        format!("the checkpoint has `{path}` beside a name that this file system takes for the same one"),
        "restore to a file system that keeps names apart (`into`, --into), or without this path (`paths`); nothing was written",
    )
}

/// Tries names that are to come into directories that are there; what is staged inside a new directory is tried by staging it.
///
/// # Errors
/// `UNSUPPORTED_FILESYSTEM` when two of them are one name.
pub(super) fn check_names(plan: &Plan, paths: &[RelPath], area: &Area) -> Result<()> {
    let suspects = suspects(plan);
    if suspects.is_empty() {
        return Ok(());
    }
    let top = area.top();
    let failed = |errno: Errno| Error::io("trying names in the staging directory", errno);
    for (number, (dir, names)) in suspects.into_iter().enumerate() {
        let trial = format!("n{number}").into_bytes();
        top.mkdir(&trial, 0o700).map_err(failed)?;
        let place = top.dir(&trial).map_err(failed)?;
        let clash = names.iter().find_map(|name| match place.create(name, 0o600) {
            Ok(_) => None,
            Err(errno) => Some((name, errno)),
        });
        clear(&place, &names);
        top.rmdir(&trial).map_err(failed)?;
        match clash {
            Some((name, Errno::EXIST)) => {
                return Err(one_name(&paths.get(dir).cloned().unwrap_or_default().join(name)));
            }
            // The name itself cannot be had here: that is its own path's failure, and listed.
            Some((_, Errno::INVAL | Errno::NAMETOOLONG | Errno::ILSEQ)) | None => {}
            Some((_, errno)) => return Err(failed(errno)),
        }
    }
    Ok(())
}

fn clear(place: &Dir, names: &[&[u8]]) {
    for name in names {
        // What is left goes with the staging directory.
        let _ = place.unlink(name);
    }
}

/// The new names of each directory among which two might be one: equal but for the case of letters, or beyond ASCII.
fn suspects(plan: &Plan) -> Vec<(usize, Vec<&[u8]>)> {
    let mut new: HashMap<usize, Vec<&[u8]>> = HashMap::new();
    for item in plan.items.iter().filter(|item| item.act == Act::Create) {
        new.entry(item.dir).or_default().push(&item.name);
    }
    for dir in &plan.dirs {
        if let (Role::Create { replaces: None, .. }, Some(parent)) = (&dir.role, dir.parent) {
            new.entry(parent).or_default().push(&dir.name);
        }
    }
    let is_there =
        |dir: usize| !matches!(plan.dirs.get(dir).map(|d| &d.role), Some(Role::Create { .. }) | None);
    let mut all: Vec<(usize, Vec<&[u8]>)> = Vec::new();
    for (dir, names) in new {
        if names.len() < 2 || !is_there(dir) {
            continue;
        }
        let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
        for name in &names {
            *counts.entry(name.to_ascii_lowercase()).or_default() += 1;
        }
        let beyond = names.iter().any(|name| !name.is_ascii());
        let suspicious =
            |name: &&[u8]| beyond || counts.get(&name.to_ascii_lowercase()).is_some_and(|n| *n > 1);
        let names: Vec<&[u8]> = names.into_iter().filter(suspicious).collect();
        if !names.is_empty() {
            all.push((dir, names));
        }
    }
    all.sort();
    all
}
