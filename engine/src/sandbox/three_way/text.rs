//! Texts that both sides changed, where the changed lines do not meet (`textMerge`, F13).

use super::patch::Patch;
use super::read::read_file;
use crate::checkpoint::commit::Look;
use crate::error::{Code, Result};
use crate::model::{Content, Entry, Hash, Meta, Node, Picture, RelPath};
use crate::report::Conflict;
use crate::sandbox::texts;
use crate::tree::lookup;

/// Longer files are not compared line by line, in bytes.
const LONGEST: u64 = 1 << 20;

/// Both pictures such that the texts of conflicts count as changed by the sandbox alone; `None` when none can be merged.
pub(super) fn with_texts(
    look: &Look<'_>,
    base: &Picture,
    sandbox: &Picture,
    conflicts: &[Conflict],
) -> Result<Option<(Picture, Picture)>> {
    let (mut bases, mut theirs) = (Patch::default(), Patch::default());
    for Conflict { path, .. } in conflicts.iter().filter(|conflict| !conflict.path.is_root()) {
        look.ctx.check()?;
        let of = |picture: &Picture| lookup(picture, path, look.manifests);
        let (Some(then), Some(now), Some(made)) = (of(base)?, of(look.resource)?, of(sandbox)?) else {
            continue;
        };
        if let Some(merged) = merged(look, path, &then, &now, &made)? {
            bases.set.insert(path.clone(), Some(now));
            theirs.set.insert(path.clone(), Some(merged));
        }
    }
    if theirs.is_empty() {
        return Ok(None);
    }
    let base = bases.apply(base, base, look.manifests)?;
    Ok(Some((base, theirs.apply(sandbox, sandbox, look.manifests)?)))
}

fn text(entry: &Entry) -> Option<(u64, Hash)> {
    match entry.node {
        Node::File { size, content: Content::Blob(hash), changing: false } if size <= LONGEST => {
            Some((size, hash))
        }
        _ => None,
    }
}

fn merged(look: &Look<'_>, path: &RelPath, then: &Entry, now: &Entry, made: &Entry) -> Result<Option<Entry>> {
    let (Some((size, base)), Some((now_size, ours)), Some((made_size, theirs))) =
        (text(then), text(now), text(made))
    else {
        return Ok(None);
    };
    let Some(meta) = merged_meta(&then.meta, &now.meta, &made.meta) else { return Ok(None) };
    let base = match look.manifests.read(base, size.max(1)) {
        // Then there is nothing to compare with, and the conflict stays.
        Err(error) if error.code() == Code::Corrupt => return Ok(None),
        other => other?,
    };
    let ours = read_file(look.resource_root, path, now_size, ours)?;
    let theirs = read_file(look.sandbox_root, path, made_size, theirs)?;
    if [&base, &ours, &theirs].iter().any(|bytes| bytes.contains(&0)) {
        return Ok(None);
    }
    let Some(bytes) = texts::merged(&base, &ours, &theirs)? else { return Ok(None) };
    let content = Content::Blob(look.manifests.put(&bytes)?);
    let node = Node::File { size: bytes.len() as u64, content, changing: false };
    Ok(Some(Entry { name: made.name.clone(), meta, node }))
}

/// Field by field; `None` when both sides changed one.
fn merged_meta(then: &Meta, now: &Meta, made: &Meta) -> Option<Meta> {
    fn one<T: PartialEq + Copy>(then: T, now: T, made: T) -> Option<T> {
        match () {
            () if now == made || made == then => Some(now),
            () if now == then => Some(made),
            () => None,
        }
    }
    let (uid, gid) = one((then.uid, then.gid), (now.uid, now.gid), (made.uid, made.gid))?;
    Some(Meta {
        mode: one(then.mode, now.mode, made.mode)?,
        uid,
        gid,
        mtime: now.mtime.max(made.mtime),
        xattrs: one(then.xattrs, now.xattrs, made.xattrs)?,
    })
}
