//! One run of a plan: what it knows while it works, and the order of its steps.

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use super::{Applied, ApplyOptions};
use crate::context::{Context, Progress};
use crate::error::Result;
use crate::model::{Meta, Node, Reason, RelPath, Uncovered};
use crate::restore::beneath::{Dir, Root, mtime_of};
use crate::restore::plan::{Plan, Role, State};
use crate::restore::stage::{Slot, Source, Staged};

/// A run in progress.
pub(super) struct Run<'a> {
    pub(super) root: &'a Root,
    pub(super) plan: &'a Plan,
    /// The path of each of the plan's directories.
    pub(super) paths: Vec<RelPath>,
    pub(super) source: &'a Source<'a>,
    pub(super) staged: Staged,
    pub(super) options: &'a ApplyOptions<'a>,
    pub(super) ctx: &'a Context,
    pub(super) out: Applied,
    /// Directories whose metadata has to be set at the end, whatever happens.
    pub(super) touched: Vec<bool>,
    /// Directories that were made and are in their place.
    pub(super) placed: Vec<bool>,
    /// Directories that are gone.
    pub(super) removed: Vec<bool>,
    /// Items that were written, to be looked at in the end.
    pub(super) written: Vec<usize>,
    done: u64,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        root: &'a Root,
        plan: &'a Plan,
        paths: Vec<RelPath>,
        source: &'a Source<'a>,
        staged: Staged,
        options: &'a ApplyOptions<'a>,
        ctx: &'a Context,
    ) -> Self {
        let count = plan.dirs.len();
        let mut out = Applied { kept: plan.kept().to_vec(), ..Applied::default() };
        out.not_restorable.extend_from_slice(plan.not_restorable());
        out.not_restorable.extend_from_slice(&staged.not_restorable);
        Self {
            root,
            plan,
            paths,
            source,
            staged,
            options,
            ctx,
            out,
            touched: vec![false; count],
            placed: vec![false; count],
            removed: vec![false; count],
            written: Vec::new(),
            done: 0,
        }
    }

    /// New things first, then deletions, then what takes a deleted directory's place; metadata of directories last, also when the
    /// run is ended early.
    pub(super) fn carry_out(mut self) -> Result<Applied> {
        // The staging directory may have lain in the root, and a trial rename ended there.
        if let Some(root) = self.touched.first_mut() {
            *root = true;
        }
        let worked = self.place_all().and_then(|()| self.remove_all()).and_then(|()| self.place_successors());
        // Before the root's mtime is set: the staging directory may lie in it. What cannot be removed is tried again when the run
        // ends, and swept by the next rollback.
        if let Some(area) = &mut self.staged.area {
            let _ = area.remove();
        }
        let finished = self.finish_directories();
        worked.and(finished)?;
        self.verify()?;
        let Self { mut out, .. } = self;
        for list in [&mut out.kept, &mut out.not_restorable] {
            list.sort();
            list.dedup_by(|a, b| a.path == b.path && a.reason == b.reason);
        }
        Ok(out)
    }

    pub(super) fn slot(&self, item: usize) -> Slot {
        self.staged.slots.get(item).copied().unwrap_or(Slot::Idle)
    }

    pub(super) fn path(&self, dir: usize) -> RelPath {
        self.paths.get(dir).cloned().unwrap_or_default()
    }

    pub(super) fn keep(&mut self, path: RelPath, reason: Reason) {
        self.out.kept.push(Uncovered::new(path, reason));
    }

    pub(super) fn fail(&mut self, path: RelPath, reason: Reason, detail: Option<String>) {
        self.out.not_restorable.push(Uncovered { path, reason, detail });
    }

    /// A path that somebody changed since the plan was made is left as it is; the tree then differs from the checkpoint.
    pub(super) fn concurrent(&mut self, path: RelPath) {
        self.keep(path.clone(), Reason::ConcurrentChange);
        self.fail(path, Reason::ConcurrentChange, None);
    }

    /// Sorts an error of one path: either somebody moved things about, or the system refused.
    pub(super) fn refused(&mut self, path: RelPath, errno: Errno) {
        match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::EXIST | Errno::ISDIR | Errno::XDEV => {
                self.concurrent(path);
            }
            errno => self.fail(path, Reason::WriteFailed, Some(errno.to_string())),
        }
    }

    /// A step was done: hears of cancellation, tells of progress.
    pub(super) fn step(&mut self) -> Result<()> {
        self.done += 1;
        if self.done.is_multiple_of(1_024) {
            let total = Some((self.plan.items.len() + self.plan.dirs.len()) as u64);
            self.ctx.report(Progress { phase: "apply", done: self.done, total, bytes: 0 });
        }
        self.ctx.check()
    }

    /// Opens a directory in which something will change; one that its owner may not write is made writable until the end.
    pub(super) fn open_for_work(&mut self, number: usize) -> Result<Dir, Errno> {
        let dir = match self.paths.get(number) {
            Some(path) => self.root.dir(path)?,
            None => return Err(Errno::INVAL),
        };
        let mode = self.plan.dirs.get(number).map(|dir| match &dir.role {
            Role::Keep { before, .. } | Role::Delete { before } => before.mode,
            Role::Create { .. } => 0o700,
        });
        if mode.is_some_and(|mode| mode & 0o300 != 0o300) {
            // Where the mode is not ours to change, the work itself says what is refused.
            let _ = dir.unlock_self(0o300);
        }
        self.touch(number);
        Ok(dir)
    }

    pub(super) fn touch(&mut self, number: usize) {
        if let Some(touched) = self.touched.get_mut(number) {
            *touched = true;
        }
    }
}

/// Whether something is still what the plan saw there. Inode numbers and ctimes are not in a picture; type, length, mode, owner and
/// mtime are.
pub(in crate::restore) fn is_as_seen(before: &State, stat: &Stat) -> bool {
    let kind = FileType::from_raw_mode(stat.st_mode);
    let same_meta = |meta: &Meta, with_mode: bool| {
        mtime_of(stat) == meta.mtime
            && stat.st_uid == meta.uid
            && stat.st_gid == meta.gid
            && (!with_mode || stat.st_mode & 0o7777 == u32::from(meta.mode))
    };
    match &before.node {
        Node::File { size, .. } => {
            kind == FileType::RegularFile
                && u64::try_from(stat.st_size) == Ok(*size)
                && same_meta(&before.meta, true)
        }
        Node::Symlink { target } => {
            kind == FileType::Symlink
                && u64::try_from(stat.st_size) == Ok(target.len() as u64)
                && same_meta(&before.meta, false)
        }
        Node::Fifo => kind == FileType::Fifo && same_meta(&before.meta, true),
        Node::Directory { .. } => kind == FileType::Directory,
        Node::Uncovered { kind: was, .. } => {
            let is = match kind {
                FileType::RegularFile => crate::model::FileKind::File,
                FileType::Directory => crate::model::FileKind::Directory,
                _ => crate::model::FileKind::Unknown,
            };
            is == *was && same_meta(&before.meta, true)
        }
    }
}
