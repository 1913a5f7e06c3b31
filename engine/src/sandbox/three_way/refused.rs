//! Metadata that the sandbox's file system did not take when it was made: what the sandbox did not change of it is as the resource has
//! it, so that neither side seems to have changed it.

use super::patch::Patch;
use crate::checkpoint::commit::Look;
use crate::error::Result;
use crate::model::{Entry, Meta, Picture};
use crate::tree::lookup;

/// The baseline and the sandbox, with the resource's metadata where it was refused.
pub(super) fn with_refused(look: &Look<'_>, sandbox: &Picture) -> Result<(Picture, Picture)> {
    let (mut base, mut theirs) = (Patch::default(), Patch::default());
    for path in &look.refused {
        let meta = |picture: &Picture| -> Result<Option<(Meta, Option<Entry>)>> {
            if path.is_root() {
                return Ok(Some((picture.root.clone(), None)));
            }
            Ok(lookup(picture, path, look.manifests)?.map(|entry| (entry.meta.clone(), Some(entry))))
        };
        let (Some((then, was)), Some((now, is))) = (meta(look.base)?, meta(look.resource)?) else {
            continue;
        };
        let kind = |entry: &Option<Entry>| entry.as_ref().map(|entry| entry.node.kind());
        if kind(&was) != kind(&is) {
            continue;
        }
        if let Some((made, _)) = meta(sandbox)? {
            theirs.meta.insert(path.clone(), unless_changed(&then, &made, &now));
        }
        base.meta.insert(path.clone(), Meta { mtime: then.mtime, ..now });
    }
    let apply = |patch: Patch, picture: &Picture, path: &Picture| match patch.is_empty() {
        true => Ok(picture.clone()),
        false => patch.apply(picture, path, look.manifests),
    };
    Ok((apply(base, look.base, look.base)?, apply(theirs, sandbox, look.base)?))
}

/// What the sandbox has, with the resource's value for all that it did not change.
fn unless_changed(then: &Meta, made: &Meta, now: &Meta) -> Meta {
    let (uid, gid) =
        if (then.uid, then.gid) == (made.uid, made.gid) { (now.uid, now.gid) } else { (made.uid, made.gid) };
    Meta {
        mode: if then.mode == made.mode { now.mode } else { made.mode },
        uid,
        gid,
        mtime: made.mtime,
        xattrs: if then.xattrs == made.xattrs { now.xattrs } else { made.xattrs },
    }
}
