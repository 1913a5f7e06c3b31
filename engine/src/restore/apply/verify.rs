//! Looks at everything that was written: what the file system clamped or refused is listed, not assumed (input 45).

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::run::Run;
use crate::context::Progress;
use crate::error::Result;
use crate::model::{Node, Reason, RelPath, Uncovered};
use crate::restore::beneath::{Dir, Refused};
use crate::restore::plan::{Item, State};

/// Paths that one thread looks at at a time.
const A_CHUNK: usize = 256;

impl Run<'_> {
    /// Compares type, length, mode, owner and mtime of every written path with what was wanted.
    pub(super) fn verify(&mut self) -> Result<()> {
        self.written.sort_unstable();
        let chunks: Vec<&[usize]> = self.written.chunks(A_CHUNK).collect();
        let (root, plan, paths, ctx) = (self.root, self.plan, &self.paths, self.ctx);
        let look = |chunk: &&[usize]| -> Result<Vec<Uncovered>> {
            ctx.check()?;
            let mut held: Option<(usize, Dir)> = None;
            let mut found = Vec::new();
            for &index in *chunk {
                let Some(item) = plan.items.get(index) else { continue };
                let (Some(after), Some(path)) = (&item.after, paths.get(item.dir)) else { continue };
                if held.as_ref().is_none_or(|(dir, _)| *dir != item.dir) {
                    held = root.dir(path).ok().map(|dir| (item.dir, dir));
                }
                found.extend(compare(held.as_ref().map(|(_, dir)| dir), path, item, after));
            }
            Ok(found)
        };
        let found: Vec<Result<Vec<Uncovered>>> =
            self.options.pool.install(|| chunks.par_iter().map(look).collect());
        // What was listed already is listed once: the lists are sorted and cleared of repetitions in the end.
        for list in found {
            self.out.not_restorable.extend(list?);
        }
        let done = self.written.len() as u64;
        self.ctx.report(Progress { phase: "verify", done, total: Some(done), bytes: 0 });
        Ok(())
    }
}

fn compare(dir: Option<&Dir>, parent: &RelPath, item: &Item, after: &State) -> Option<Uncovered> {
    let path = || parent.join(&item.name);
    let listed = |reason, detail| Some(Uncovered { path: path(), reason, detail });
    let Some(stat) = dir.and_then(|dir| dir.lstat(&item.name).ok()) else {
        return listed(
            Reason::ConcurrentChange,
            Some("it was restored and is not there any more".to_owned()),
        );
    };
    let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
    let (right, is_link) = match &after.node {
        Node::File { size, .. } => {
            (kind == rustix::fs::FileType::RegularFile && u64::try_from(stat.st_size) == Ok(*size), false)
        }
        Node::Symlink { .. } => (kind == rustix::fs::FileType::Symlink, true),
        Node::Fifo => (kind == rustix::fs::FileType::Fifo, false),
        Node::Directory { .. } | Node::Uncovered { .. } => (true, false),
    };
    if !right {
        // Files that could not be read are listed with that reason.
        return if item.unlock {
            None
        } else {
            listed(Reason::ConcurrentChange, Some("it was changed after it was restored".to_owned()))
        };
    }
    let words = Refused::compare(&stat, &after.meta, is_link).words()?;
    listed(Reason::MetadataRefused, Some(words))
}
