//! Builds everything that will be renamed into the workspace: single files, and whole directories that are missing now.

use std::collections::HashMap;

use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};
use rustix::io::Errno;

use super::area::Area;
use super::fold::{check_names, one_name};
use super::leaf::{Failure, Source, wanted_xattrs};
use crate::context::{Context, Progress};
use crate::error::{Code, Error, Result};
use crate::model::{Node, Reason, RelPath, Uncovered};
use crate::restore::beneath::{Dir, Overwrite, Refused, Root, settle_directory};
use crate::restore::plan::{Act, Item, Plan, Role};

/// What became of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// Nothing to stage: a deletion.
    Idle,
    /// Its metadata is changed where it is.
    InPlace,
    /// Staged by itself, at [`Staged::leaf`].
    Ready,
    /// Staged inside a directory that is staged as a whole.
    InTree,
    /// It cannot be restored, and is listed.
    Failed,
}

/// Everything staged.
pub(crate) struct Staged {
    /// Where it lies; `None` when nothing had to be staged.
    pub(crate) area: Option<Area>,
    /// Parallel to the plan's items.
    pub(crate) slots: Vec<Slot>,
    /// Where each directory that is made lies, parallel to the plan's directories.
    pub(crate) trees: Vec<Option<RelPath>>,
    pub(crate) not_restorable: Vec<Uncovered>,
}

impl Staged {
    /// Where a staged item lies.
    pub(crate) fn leaf(&self, item: usize) -> Result<(Dir, Vec<u8>), Errno> {
        let area = self.area.as_ref().ok_or(Errno::INVAL)?;
        Ok((area.dir(&shelf('f', item))?, item.to_string().into_bytes()))
    }
}

/// Things in one directory of the staging area: wide directories are slow to change for two threads at once.
const A_SHELF: usize = 1_024;
/// Items that one thread takes at a time.
const A_CHUNK: usize = 128;
/// Up to so many files are synced one by one; beyond, the file system is synced once.
pub(crate) const SYNC_SINGLY: usize = 32;

fn shelf(kind: char, number: usize) -> RelPath {
    RelPath::root().join(format!("{kind}{}", number / A_SHELF).as_bytes())
}

struct Builder<'a> {
    plan: &'a Plan,
    paths: &'a [RelPath],
    workspace: &'a Root,
    source: &'a Source<'a>,
    ctx: &'a Context,
    area: Option<Area>,
    trees: Vec<Option<RelPath>>,
}

type Outcome = (usize, Slot, Option<Uncovered>);

/// Whether a plan has anything to stage.
pub(crate) fn needs_area(plan: &Plan) -> bool {
    plan.items.iter().any(|item| item.after.is_some())
        || plan.dirs.iter().any(|dir| matches!(dir.role, Role::Create { .. }))
}

/// Stages what a plan needs; without an area, a plan that needs none. `paths` are the plan's directories' paths.
pub(crate) fn build(
    plan: &Plan,
    paths: &[RelPath],
    workspace: &Root,
    area: Option<Area>,
    source: &Source<'_>,
    pool: &rayon::ThreadPool,
    ctx: &Context,
) -> Result<Staged> {
    let mut builder =
        Builder { plan, paths, workspace, source, ctx, area, trees: vec![None; plan.dirs.len()] };
    builder.make_directories()?;
    if let Some(area) = &builder.area {
        check_names(plan, paths, area)?;
    }
    let builder = builder;
    let total = plan.items.len() as u64;
    let mut slots = vec![Slot::Idle; plan.items.len()];
    let mut not_restorable = Vec::new();
    let mut done = 0u64;
    // In rounds, so that progress is told in between.
    for round in builder.chunks().chunks(64) {
        let outcomes: Vec<Result<Vec<Outcome>>> =
            pool.install(|| round.par_iter().map(|chunk| builder.make_chunk(chunk)).collect());
        for outcome in outcomes {
            let outcome = outcome?;
            done += outcome.len() as u64;
            record(outcome, &mut slots, &mut not_restorable);
        }
        ctx.report(Progress { phase: "stage", done, total: Some(total), bytes: 0 });
    }
    record(builder.make_links(pool)?, &mut slots, &mut not_restorable);
    builder.settle_directories(&mut not_restorable)?;
    let Builder { area, trees, .. } = builder;
    Ok(Staged { area, slots, trees, not_restorable })
}

fn record(outcomes: Vec<Outcome>, slots: &mut [Slot], not_restorable: &mut Vec<Uncovered>) {
    for (number, slot, listed) in outcomes {
        if let Some(place) = slots.get_mut(number) {
            *place = slot;
        }
        not_restorable.extend(listed);
    }
}

fn fatal(errno: Errno) -> Error {
    Error::io("staging; the workspace was not touched", errno)
}

impl Builder<'_> {
    fn shelf(&self, path: &RelPath) -> Result<Dir, Errno> {
        self.area.as_ref().ok_or(Errno::INVAL)?.dir(path)
    }

    fn is_made(&self, dir: usize) -> bool {
        self.trees.get(dir).is_some_and(Option::is_some)
    }

    fn make_directories(&mut self) -> Result<()> {
        if self.area.is_none() {
            return Ok(());
        }
        let mut shelves: Vec<RelPath> = vec![RelPath::root().join(b"l")];
        for (number, dir) in self.plan.dirs.iter().enumerate() {
            if !matches!(dir.role, Role::Create { .. }) {
                continue;
            }
            let inside = dir.parent.and_then(|parent| self.trees.get(parent)?.as_ref());
            let path = match inside {
                Some(parent) => parent.join(&dir.name),
                None => {
                    shelves.push(shelf('t', number));
                    shelf('t', number).join(number.to_string().as_bytes())
                }
            };
            if let Some(place) = self.trees.get_mut(number) {
                *place = Some(path);
            }
        }
        shelves.extend((0..self.plan.items.len().div_ceil(A_SHELF)).map(|n| shelf('f', n * A_SHELF)));
        shelves.dedup();
        for path in shelves.iter().chain(self.trees.iter().flatten()) {
            self.ctx.check()?;
            let Some((parent, name)) = path.split() else { continue };
            match self.shelf(&parent).and_then(|dir| dir.mkdir(name, 0o700)) {
                Err(Errno::EXIST) => {
                    let number = self.trees.iter().position(|tree| tree.as_ref() == Some(path));
                    let path = number.and_then(|number| self.paths.get(number));
                    return Err(one_name(path.unwrap_or(&RelPath::root())));
                }
                made => made.map_err(fatal)?,
            }
        }
        Ok(())
    }

    /// Ranges of items that lie in one directory of the staging area.
    fn chunks(&self) -> Vec<Vec<usize>> {
        let mut chunks: Vec<(Option<usize>, Vec<usize>)> = Vec::new();
        for (number, item) in self.plan.items.iter().enumerate() {
            if item.after.is_none() || item.link.is_some() {
                continue;
            }
            let place = self.is_made(item.dir).then_some(item.dir);
            match chunks.last_mut() {
                Some((last, chunk)) if *last == place && chunk.len() < A_CHUNK => chunk.push(number),
                _ => chunks.push((place, vec![number])),
            }
        }
        chunks.into_iter().map(|(_, chunk)| chunk).collect()
    }

    /// Where an item is to be staged.
    fn place(&self, number: usize, item: &Item) -> Result<(Dir, Vec<u8>, Slot), Errno> {
        match self.trees.get(item.dir).and_then(Option::as_ref) {
            Some(tree) => Ok((self.shelf(tree)?, item.name.to_vec(), Slot::InTree)),
            None => Ok((self.shelf(&shelf('f', number))?, number.to_string().into_bytes(), Slot::Ready)),
        }
    }

    fn listed(&self, item: &Item, reason: Reason, detail: Option<String>) -> Option<Uncovered> {
        let path = self.paths.get(item.dir)?.join(&item.name);
        Some(Uncovered { path, reason, detail })
    }

    fn make_chunk(&self, chunk: &[usize]) -> Result<Vec<Outcome>> {
        let mut outcomes = Vec::with_capacity(chunk.len());
        let mut held: Option<(RelPath, Dir)> = None;
        for &number in chunk {
            self.ctx.check()?;
            let Some(item) = self.plan.items.get(number) else { continue };
            let Some(after) = &item.after else { continue };
            if item.act == Act::Metadata && !item.fresh && self.stays_in_place(item) {
                outcomes.push(match wanted_xattrs(self.source, after.meta.xattrs) {
                    Ok(_) => (number, Slot::InPlace, None),
                    Err(error) if error.code() == Code::Corrupt => {
                        (number, Slot::Failed, self.listed(item, Reason::Damaged, Some(error.to_string())))
                    }
                    Err(error) => return Err(error),
                });
                continue;
            }
            // Chunks mostly stay in one directory: it is looked up once.
            let (where_, name, slot) = match self.trees.get(item.dir).and_then(Option::as_ref) {
                Some(tree) => (tree.clone(), item.name.to_vec(), Slot::InTree),
                None => (shelf('f', number), number.to_string().into_bytes(), Slot::Ready),
            };
            if held.as_ref().is_none_or(|(path, _)| *path != where_) {
                let dir = self.shelf(&where_).map_err(fatal)?;
                held = Some((where_, dir));
            }
            let Some((_, dir)) = &held else { continue };
            let made = self.source.make(dir, &name, after);
            if made.is_err() {
                // What was begun must not come into the workspace with its directory.
                match dir.unlink(&name) {
                    Ok(()) | Err(Errno::NOENT | Errno::NAMETOOLONG | Errno::INVAL) => {}
                    Err(errno) => return Err(fatal(errno)),
                }
            }
            outcomes.push(self.outcome(number, item, slot, made)?);
        }
        Ok(outcomes)
    }

    fn outcome(
        &self,
        number: usize,
        item: &Item,
        slot: Slot,
        made: Result<Refused, Failure>,
    ) -> Result<Outcome> {
        Ok(match made {
            Ok(refused) => {
                let words = refused.words();
                let listed = words.and_then(|words| self.listed(item, Reason::MetadataRefused, Some(words)));
                (number, slot, listed)
            }
            Err(Failure::Damaged(error)) => {
                (number, Slot::Failed, self.listed(item, Reason::Damaged, Some(error.to_string())))
            }
            // A name in a directory of ours that is taken: the file system took another one for it.
            Err(Failure::Refused(Errno::EXIST)) if slot == Slot::InTree => {
                let path = self.paths.get(item.dir).cloned().unwrap_or_default();
                return Err(one_name(&path.join(&item.name)));
            }
            Err(Failure::Refused(errno)) => {
                (number, Slot::Failed, self.listed(item, Reason::WriteFailed, Some(errno.to_string())))
            }
            Err(Failure::Fatal(error)) => return Err(error),
        })
    }

    /// Whether metadata may be changed on the inode that is there: only when it has no other name, which might lie outside
    /// (input 10). Links and pipes are cheap to make anew.
    fn stays_in_place(&self, item: &Item) -> bool {
        if item.unlock {
            return true;
        }
        let is_file = item.after.as_ref().is_some_and(|after| matches!(after.node, Node::File { .. }));
        let stat = self
            .paths
            .get(item.dir)
            .map(|path| self.workspace.dir(path).and_then(|dir| dir.lstat(&item.name)));
        is_file && matches!(stat, Some(Ok(stat)) if stat.st_nlink == 1)
    }

    /// Makes one inode for each new hard-link group and gives it a name for every member.
    fn make_links(&self, pool: &rayon::ThreadPool) -> Result<Vec<Outcome>> {
        let mut groups: HashMap<usize, Vec<usize>> = HashMap::new();
        for (number, item) in self.plan.items.iter().enumerate() {
            if let Some(link) = item.link {
                groups.entry(link).or_default().push(number);
            }
        }
        if groups.is_empty() {
            return Ok(Vec::new());
        }
        let shelf = self.shelf(&RelPath::root().join(b"l")).map_err(fatal)?;
        let groups: Vec<(usize, Vec<usize>)> = groups.into_iter().collect();
        let outcomes: Vec<Result<Vec<Outcome>>> = pool.install(|| {
            groups.into_par_iter().map(|(link, members)| self.make_group(&shelf, link, &members)).collect()
        });
        let mut all = Vec::new();
        for outcome in outcomes {
            all.extend(outcome?);
        }
        Ok(all)
    }

    fn make_group(&self, shelf: &Dir, link: usize, members: &[usize]) -> Result<Vec<Outcome>> {
        let mut outcomes = Vec::with_capacity(members.len());
        let mut leader: Option<Vec<u8>> = None;
        let mut copies = 0;
        for &number in members {
            self.ctx.check()?;
            let Some(item) = self.plan.items.get(number) else { continue };
            let Some(after) = &item.after else { continue };
            let mut refused = None;
            if leader.is_none() {
                let name = format!("{link}-{copies}").into_bytes();
                match self.source.make(shelf, &name, after) {
                    Ok(words) => refused = words.words(),
                    failed => {
                        outcomes.push(self.outcome(number, item, Slot::Failed, failed)?);
                        continue;
                    }
                }
                copies += 1;
                leader = Some(name);
            }
            let Some(name) = &leader else { continue };
            let (dir, own_name, slot) = self.place(number, item).map_err(fatal)?;
            match shelf.link(name, &dir, &own_name) {
                Ok(()) => {
                    let listed =
                        refused.and_then(|words| self.listed(item, Reason::MetadataRefused, Some(words)));
                    outcomes.push((number, slot, listed));
                }
                // An inode cannot have more names, or the file system has no hard links: a copy serves the others (input 13).
                Err(Errno::MLINK | Errno::PERM | Errno::OPNOTSUPP | Errno::XDEV) => {
                    let copy = format!("{link}-{copies}").into_bytes();
                    copies += 1;
                    if let Err(failed) = self.source.make(shelf, &copy, after) {
                        outcomes.push(self.outcome(number, item, Slot::Failed, Err(failed))?);
                        continue;
                    }
                    leader = match shelf.link(&copy, &dir, &own_name) {
                        Ok(()) => Some(copy),
                        Err(_) => {
                            shelf.rename(&copy, &dir, &own_name, Overwrite::No).map_err(fatal)?;
                            None
                        }
                    };
                    let detail = Some("the file system allows no further hard link: it is a copy".to_owned());
                    outcomes.push((number, slot, self.listed(item, Reason::MetadataRefused, detail)));
                }
                Err(errno) => return Err(fatal(errno)),
            }
        }
        Ok(outcomes)
    }

    /// Gives the directories inside staged ones their metadata, the deepest first; the top ones get theirs in their place, because a
    /// read-only directory cannot be moved. Also fetches what existing directories will need.
    fn settle_directories(&self, not_restorable: &mut Vec<Uncovered>) -> Result<()> {
        for (number, dir) in self.plan.dirs.iter().enumerate().rev() {
            self.ctx.check()?;
            let hash = match &dir.role {
                Role::Create { after, .. } => after.xattrs,
                Role::Keep { before, after } if before.xattrs != after.xattrs || self.plan.fresh => {
                    after.xattrs
                }
                Role::Keep { .. } | Role::Delete { .. } => continue,
            };
            let path = || self.paths.get(number).cloned().unwrap_or_default();
            let xattrs = match wanted_xattrs(self.source, hash) {
                Ok(xattrs) => Some(xattrs),
                Err(error) if error.code() == Code::Corrupt => {
                    let detail = Some(error.to_string());
                    not_restorable.push(Uncovered { path: path(), reason: Reason::Damaged, detail });
                    None
                }
                Err(error) => return Err(error),
            };
            let nested = dir.parent.is_some_and(|parent| self.is_made(parent));
            if let (Role::Create { after, .. }, true, Some(Some(place))) =
                (&dir.role, nested, self.trees.get(number))
            {
                let wanted = xattrs.as_deref().filter(|_| after.xattrs.is_some());
                let refused = self
                    .shelf(place)
                    .and_then(|dir| settle_directory(&dir, after, wanted, self.source.sync))
                    .map_err(fatal)?;
                if let Some(words) = refused.words() {
                    let reason = Reason::MetadataRefused;
                    not_restorable.push(Uncovered { path: path(), reason, detail: Some(words) });
                }
            }
        }
        Ok(())
    }
}
