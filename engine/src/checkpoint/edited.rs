//! A picture with single paths changed: what a workspace is to become.

use std::collections::BTreeMap;

use crate::error::{Code, Error, Result};
use crate::model::{
    Content, Entry, LinkGroups, Meta, Node, Objects, Picture, RelPath, Segment, Sink, Timestamp,
    encode_segments,
};
use crate::tree::sys;

/// One path and what it is to become.
#[derive(Debug, Clone)]
pub(crate) struct Edit {
    /// The path.
    pub(crate) path: RelPath,
    /// What was seen there when it was decided on; `None` for nothing.
    pub(crate) seen: Option<Seen>,
    /// What is to be there; `None` for nothing.
    pub(crate) then: Option<Value>,
}

/// Tells what was looked at from what was changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A file or link.
    Leaf {
        mtime: Timestamp,
        /// Length in bytes.
        size: u64,
    },
    /// Something that gives way, with all that lies in it.
    Any,
}

/// What a path is to become.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// A file with these bytes.
    File { bytes: Vec<u8>, executable: bool },
    /// A link to this target.
    Link(Vec<u8>),
}

/// The picture with all edits made. A directory that is empty then and was not before goes, as git has it.
///
/// # Errors
/// `CONFLICT` where the picture is not what was seen, or something is in the way.
pub(super) fn edited(
    now: &Picture,
    edits: &[Edit],
    objects: &dyn Objects,
    sink: &dyn Sink,
) -> Result<Picture> {
    let mut all = Changes::default();
    for edit in edits {
        let mut at = &mut all;
        for name in edit.path.names() {
            at = at.children.entry(name.into()).or_default();
        }
        at.leaf = Some(edit);
    }
    let editor = Editor { objects, sink, now: sys::file_clock(), umask: umask() };
    let (entries, changed) =
        editor.directory(&RelPath::root(), objects.directory(now.manifest)?, &now.root, &all)?;
    let mut root = now.root.clone();
    if changed {
        root.mtime = editor.now;
    }
    let is_edited = |path: &RelPath| edits.iter().any(|edit| edit.path == *path);
    let links =
        now.links.groups().iter().map(|group| group.iter().filter(|p| !is_edited(p)).cloned().collect());
    Ok(Picture { root, manifest: sink.put_directory(&entries)?, links: LinkGroups::new(links) })
}

#[derive(Default)]
struct Changes<'a> {
    leaf: Option<&'a Edit>,
    children: BTreeMap<Box<[u8]>, Changes<'a>>,
}

impl Changes<'_> {
    fn adds(&self) -> bool {
        self.leaf.is_some_and(|edit| edit.then.is_some()) || self.children.values().any(Changes::adds)
    }
}

struct Editor<'a> {
    objects: &'a dyn Objects,
    sink: &'a dyn Sink,
    now: Timestamp,
    umask: u16,
}

fn in_the_way(path: &RelPath) -> Error {
    Error::new(
        Code::Conflict,
        format!("`{path}` in the resource is not what it was a moment ago, or something else lies there"),
        "look at it, and commit again",
    )
    .with_detail("paths", path.to_string())
}

impl Editor<'_> {
    /// The entries of a directory after its changes, and whether any name was made, replaced or removed.
    fn directory(
        &self,
        path: &RelPath,
        entries: Vec<Entry>,
        meta: &Meta,
        changes: &Changes<'_>,
    ) -> Result<(Vec<Entry>, bool)> {
        let mut all: BTreeMap<Box<[u8]>, Entry> = entries.into_iter().map(|e| (e.name.clone(), e)).collect();
        let mut changed = false;
        for (name, change) in &changes.children {
            let old = all.remove(name);
            let path = path.join(name);
            let (new, this) = self.entry(&path, name, old, meta, change)?;
            changed |= this;
            all.extend(new.map(|new| (name.clone(), new)));
        }
        Ok((all.into_values().collect(), changed))
    }

    /// One name: what becomes of it, and whether the name itself is another thing now.
    fn entry(
        &self,
        path: &RelPath,
        name: &[u8],
        old: Option<Entry>,
        parent: &Meta,
        change: &Changes<'_>,
    ) -> Result<(Option<Entry>, bool)> {
        let was_directory = matches!(&old, Some(Entry { node: Node::Directory { .. }, .. }));
        let rest = match old {
            Some(old) if was_directory && !change.children.is_empty() => self.inside(path, old, change)?,
            other => other,
        };
        let Some(edit) = change.leaf else {
            return match rest {
                None if change.adds() => Ok((Some(self.new_directory(path, name, parent, change)?), true)),
                None => Ok((None, was_directory)),
                Some(entry) if was_directory => Ok((Some(entry), false)),
                // A file lies where a directory would have to.
                Some(_) if change.adds() => Err(in_the_way(path)),
                Some(entry) => Ok((Some(entry), false)),
            };
        };
        if !is_as_seen(rest.as_ref(), edit.seen) {
            return Err(in_the_way(path));
        }
        match &edit.then {
            Some(value) => Ok((Some(self.leaf(name, rest.as_ref(), parent, value)?), true)),
            None if change.adds() => Ok((Some(self.new_directory(path, name, parent, change)?), true)),
            None => Ok((None, true)),
        }
    }

    fn inside(&self, path: &RelPath, old: Entry, change: &Changes<'_>) -> Result<Option<Entry>> {
        let Node::Directory { manifest } = old.node else { return Ok(Some(old)) };
        let before = self.objects.directory(manifest)?;
        let was_empty = before.is_empty();
        let (entries, changed) = self.directory(path, before, &old.meta, change)?;
        if entries.is_empty() && !was_empty {
            return Ok(None);
        }
        let mut meta = old.meta;
        if changed {
            meta.mtime = self.now;
        }
        let manifest = self.sink.put_directory(&entries)?;
        Ok(Some(Entry { name: old.name, meta, node: Node::Directory { manifest } }))
    }

    fn new_directory(
        &self,
        path: &RelPath,
        name: &[u8],
        parent: &Meta,
        change: &Changes<'_>,
    ) -> Result<Entry> {
        let meta = self.new_meta(parent, 0o777 | (parent.mode & 0o2000));
        let (entries, _) = self.directory(path, Vec::new(), &meta, change)?;
        Ok(Entry {
            name: name.into(),
            meta,
            node: Node::Directory { manifest: self.sink.put_directory(&entries)? },
        })
    }

    fn new_meta(&self, parent: &Meta, mode: u16) -> Meta {
        let inherits = parent.mode & 0o2000 != 0;
        Meta {
            mode: mode & !self.umask,
            uid: rustix::process::geteuid().as_raw(),
            gid: if inherits { parent.gid } else { rustix::process::getegid().as_raw() },
            mtime: self.now,
            xattrs: None,
        }
    }

    fn leaf(&self, name: &[u8], old: Option<&Entry>, parent: &Meta, value: &Value) -> Result<Entry> {
        let old = old.filter(|old| matches!(old.node, Node::File { .. }));
        let (meta, node) = match value {
            Value::Link(target) => {
                let meta = Meta { mode: 0o777, ..self.new_meta(parent, 0o777) };
                (meta, Node::Symlink { target: target.clone().into() })
            }
            Value::File { bytes, executable } => {
                let meta = match old {
                    // Whoever may read it may run it, as git has it; set-id bits do not come along (S6).
                    Some(old) => {
                        let mode = old.meta.mode & 0o666;
                        let mode = if *executable { mode | (mode & 0o444) >> 2 } else { mode };
                        Meta { mode, mtime: self.now, ..old.meta.clone() }
                    }
                    None => self.new_meta(parent, if *executable { 0o777 } else { 0o666 }),
                };
                let content = self.content(bytes)?;
                (meta, Node::File { size: bytes.len() as u64, content, changing: false })
            }
        };
        Ok(Entry { name: name.into(), meta, node })
    }

    fn content(&self, bytes: &[u8]) -> Result<Content> {
        if bytes.len() as u64 <= Segment::MAX_DATA {
            return Ok(Content::Blob(self.sink.put(bytes)?));
        }
        let mut segments = Vec::new();
        for piece in bytes.chunks(usize::try_from(Segment::MAX_DATA).unwrap_or(usize::MAX)) {
            segments.push(Segment::Data { length: piece.len() as u64, hash: self.sink.put(piece)? });
        }
        Ok(Content::Segments(self.sink.put(&encode_segments(&segments))?))
    }
}

fn is_as_seen(entry: Option<&Entry>, seen: Option<Seen>) -> bool {
    let seen = match seen {
        Some(Seen::Any) => return true,
        Some(Seen::Leaf { mtime, size }) => Some((mtime, size)),
        None => None,
    };
    match (entry, seen) {
        (None, None) => true,
        (Some(Entry { meta, node: Node::File { size, changing: false, .. }, .. }), Some(seen)) => {
            (meta.mtime, *size) == seen
        }
        (Some(Entry { meta, node: Node::Symlink { target }, .. }), Some(seen)) => {
            (meta.mtime, target.len() as u64) == seen
        }
        _ => false,
    }
}

/// The process's umask, which can only be read without changing it where the system shows it.
fn umask() -> u16 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|text| u16::from_str_radix(text.trim(), 8).ok()).unwrap_or(0o022)
}
