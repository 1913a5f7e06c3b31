//! Takes an interrupted restore up again: looks at every path of its plan and leaves the part of the plan that is still to be done
//! (C8). What somebody changed meanwhile is neither written nor deleted, and listed. Looks only; [`super::super::apply()`] does the rest.

use std::collections::HashMap;

use rayon::iter::{IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _};
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use super::seen::{Contents, InTheWay, Trouble, Verdict, is_still, judge, meta_of, mixes, still_has};
use crate::context::{Context, Progress};
use crate::error::Result;
use crate::model::{Meta, Reason, RelPath, Uncovered};
use crate::restore::beneath::{Dir, Root};
use crate::restore::plan::{Act, DirWork, Item, Plan, Role, State};

/// What is left to do.
#[derive(Debug)]
pub(crate) struct Resumed {
    /// The rest of the plan. Its lists have, besides the plan's own entries, the paths that somebody changed.
    pub(crate) plan: Plan,
    /// Those paths.
    pub(crate) foreign: Vec<RelPath>,
}

/// A directory of the plan as it is now.
enum Now {
    /// It is missing and everything up to it is there, or is going to be made.
    Gone,
    /// It is there.
    There,
    /// Something else is in its place, or one of its parents is not there: nothing in it is touched.
    Lost,
}

/// Items that one thread looks at at a time.
const A_CHUNK: usize = 64;

/// Compares a plan with the workspace.
///
/// # Errors
/// `ABORTED`, `TIMED_OUT`, or when the root or a file's bytes cannot be read.
pub(crate) fn resume(
    root: &Root,
    plan: Plan,
    contents: &dyn Contents,
    pool: &rayon::ThreadPool,
    ctx: &Context,
) -> Result<Resumed> {
    let paths = plan.dir_paths();
    let mut rest = Rest {
        root,
        paths: &paths,
        fresh: plan.fresh,
        now: Vec::new(),
        dirs: Vec::new(),
        foreign: Vec::new(),
    };
    let mut numbers: Vec<Option<usize>> = Vec::with_capacity(plan.dirs.len());
    for (number, dir) in plan.dirs.iter().enumerate() {
        ctx.check()?;
        let (now, left) = match rest.directory(number, dir, contents) {
            Ok(found) => found,
            Err(Trouble::Path(_)) => (Now::Lost, None),
            Err(Trouble::Whole(error)) => return Err(error),
        };
        let is_lost = matches!(now, Now::Lost) && rest.is_first_lost(dir);
        if is_lost || left.as_ref().is_some_and(|left| has_other_metadata(&dir.role, &left.role)) {
            rest.foreign.push(rest.path(number));
        }
        rest.now.push(now);
        numbers.push(left.map(|mut left| {
            left.parent = dir.parent.and_then(|parent| numbers.get(parent).copied().flatten());
            rest.dirs.push(left);
            rest.dirs.len() - 1
        }));
    }
    let chunks: Vec<&[Item]> = plan.items.chunks(A_CHUNK).collect();
    let look = |chunk: &&[Item]| -> Result<Vec<Verdict>> {
        chunk.iter().map(|item| rest.item(item, &plan, contents, ctx)).collect()
    };
    let verdicts: Vec<Result<Vec<Verdict>>> = pool.install(|| {
        let mut out = Vec::with_capacity(chunks.len());
        chunks.par_iter().map(look).collect_into_vec(&mut out);
        out
    });
    let mut verdicts: Vec<Verdict> =
        verdicts.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    ctx.report(Progress {
        phase: "recover",
        done: verdicts.len() as u64,
        total: Some(verdicts.len() as u64),
        bytes: 0,
    });
    rest.rejoin(&plan.items, &mut verdicts, contents)?;
    let (dirs, foreign) = (rest.dirs, rest.foreign);
    Ok(left_over(plan, &paths, dirs, &numbers, verdicts, foreign))
}

/// Puts the rest of the plan together.
fn left_over(
    plan: Plan,
    paths: &[RelPath],
    mut dirs: Vec<DirWork>,
    numbers: &[Option<usize>],
    verdicts: Vec<Verdict>,
    mut foreign: Vec<RelPath>,
) -> Resumed {
    let (mut kept, mut not_restorable) = (plan.kept().to_vec(), plan.not_restorable().to_vec());
    let head_moved = plan.head_moved();
    let fresh = plan.fresh;
    let mut items = Vec::new();
    let number_of = |dir: usize| numbers.get(dir).copied().flatten();
    for (item, verdict) in plan.items.into_iter().zip(verdicts) {
        match (verdict, number_of(item.dir)) {
            (Verdict::Due { before }, Some(dir)) => {
                let replaces_dir = item.replaces_dir.and_then(number_of);
                let act = match (&before, &item.after) {
                    (None, Some(_)) => Act::Create,
                    (Some(_), Some(_)) if item.act == Act::Create => Act::Replace,
                    _ => item.act,
                };
                items.push(Item { dir, before, act, replaces_dir, ..item });
            }
            (Verdict::Foreign, Some(_)) => {
                foreign.extend(paths.get(item.dir).map(|path| path.join(&item.name)));
            }
            (Verdict::Done { .. }, _) | (_, None) => {}
        }
    }
    // A directory makes place for something only as long as that is still to come.
    for dir in &mut dirs {
        dir.then = false;
    }
    for old in items.iter().filter_map(|item| item.replaces_dir) {
        if let Some(dir) = dirs.get_mut(old) {
            dir.then = true;
        }
    }
    foreign.sort();
    foreign.dedup();
    for path in &foreign {
        let detail = Some("it was changed after the interruption".to_owned());
        let listed = Uncovered { path: path.clone(), reason: Reason::ConcurrentChange, detail };
        kept.push(listed.clone());
        not_restorable.push(listed);
    }
    items.sort_by(|a, b| (a.dir, &a.name).cmp(&(b.dir, &b.name)));
    kept.sort();
    not_restorable.sort();
    Resumed { plan: Plan::of_parts(dirs, items, fresh, kept, not_restorable, head_moved), foreign }
}

/// The metadata that a directory is still to get; none when somebody gave it another owner or mode.
fn metadata(before: &Meta, after: &Meta, stat: &Stat) -> Role {
    let now = meta_of(stat, before.xattrs);
    let after = if mixes(before, after, stat) { after.clone() } else { now.clone() };
    Role::Keep { before: now, after }
}

/// A directory as we make it, before its own metadata is set.
fn as_made(stat: &Stat) -> Meta {
    let now = meta_of(stat, None);
    Meta { mode: 0o700, uid: rustix::process::geteuid().as_raw(), ..now }
}

/// Whether [`metadata`] found somebody else's.
fn has_other_metadata(planned: &Role, left: &Role) -> bool {
    match (planned, left) {
        (Role::Keep { after: want, .. } | Role::Create { after: want, .. }, Role::Keep { after, .. }) => {
            after != want
        }
        _ => false,
    }
}

struct Rest<'a> {
    root: &'a Root,
    paths: &'a [RelPath],
    /// The root was missing and has been made.
    fresh: bool,
    now: Vec<Now>,
    dirs: Vec<DirWork>,
    foreign: Vec<RelPath>,
}

impl Rest<'_> {
    fn path(&self, number: usize) -> RelPath {
        self.paths.get(number).cloned().unwrap_or_default()
    }

    /// Of a lost directory's children nothing more is said.
    fn is_first_lost(&self, dir: &DirWork) -> bool {
        dir.parent.and_then(|parent| self.now.get(parent)).is_none_or(|parent| !matches!(parent, Now::Lost))
    }

    /// What became of a directory, and the work that is left in it.
    fn directory(
        &self,
        number: usize,
        dir: &DirWork,
        contents: &dyn Contents,
    ) -> Result<(Now, Option<DirWork>), Trouble> {
        let stat = match dir.parent {
            None => Some(self.root.top().stat()?),
            Some(parent) => match self.now.get(parent) {
                Some(Now::There) => self.root.dir(&self.path(parent))?.lstat_opt(&dir.name)?,
                Some(Now::Gone) => None,
                Some(Now::Lost) | None => return Ok((Now::Lost, None)),
            },
        };
        let again = |role: Role| {
            Some(DirWork {
                parent: None,
                name: dir.name.clone(),
                role,
                unlock: dir.unlock,
                then: dir.then,
                items: 0..0,
            })
        };
        let Some(stat) = stat else {
            return Ok(match &dir.role {
                Role::Create { after, .. } => {
                    (Now::Gone, again(Role::Create { after: after.clone(), replaces: None }))
                }
                Role::Delete { .. } => (Now::Gone, None),
                Role::Keep { .. } => (Now::Lost, None),
            });
        };
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            if let (Role::Create { after, replaces: Some(state) }, Some(parent)) = (&dir.role, dir.parent) {
                let held = self.root.dir(&self.path(parent))?;
                if is_still(&held, &dir.name, state, &stat, contents)? {
                    let replaces =
                        Some(State { meta: meta_of(&stat, state.meta.xattrs), node: state.node.clone() });
                    return Ok((Now::Gone, again(Role::Create { after: after.clone(), replaces })));
                }
            }
            // The item that takes a deleted directory's place tells of it.
            let gone = matches!(dir.role, Role::Delete { .. });
            return Ok((if gone { Now::Gone } else { Now::Lost }, None));
        }
        // Entered only if it lies on the workspace's own mount.
        if !dir.unlock {
            self.root.dir(&self.path(number))?;
        }
        Ok((
            Now::There,
            match &dir.role {
                Role::Keep { after, .. } if dir.parent.is_none() && self.fresh => {
                    again(metadata(&as_made(&stat), after, &stat))
                }
                Role::Keep { before, after } => again(metadata(before, after, &stat)),
                Role::Create { after, .. } => again(metadata(&as_made(&stat), after, &stat)),
                Role::Delete { before } => again(Role::Delete { before: before.clone() }),
            },
        ))
    }

    fn item(&self, item: &Item, plan: &Plan, contents: &dyn Contents, ctx: &Context) -> Result<Verdict> {
        ctx.check()?;
        match self.now.get(item.dir) {
            Some(Now::There) => {}
            // Everything in a directory that is still to be made.
            Some(Now::Gone)
                if matches!(plan.dirs.get(item.dir).map(|d| &d.role), Some(Role::Create { .. })) =>
            {
                return Ok(Verdict::Due { before: None });
            }
            Some(Now::Gone) => return Ok(Verdict::Done { ino: 0, now: None }),
            Some(Now::Lost) | None => return Ok(Verdict::Foreign),
        }
        let way = match item.replaces_dir.map(|old| self.now.get(old)) {
            None => InTheWay::Nothing,
            Some(Some(Now::There)) => InTheWay::Directory,
            Some(_) => InTheWay::Gone,
        };
        let judged =
            self.held(item).map_err(Trouble::from).and_then(|held| judge(&held, item, way, contents));
        match judged {
            Ok(verdict) => Ok(verdict),
            Err(Trouble::Path(errno)) => {
                let path = self.path(item.dir).join(&item.name);
                tracing::warn!(%errno, %path, "a path of an interrupted restore cannot be examined; it is left alone");
                Ok(Verdict::Foreign)
            }
            Err(Trouble::Whole(error)) => Err(error),
        }
    }

    fn held(&self, item: &Item) -> Result<Dir, Errno> {
        self.root.dir(&self.path(item.dir))
    }

    /// Hard-link groups are made as a whole: as soon as one member is missing, all of them get a new inode.
    fn rejoin(&self, items: &[Item], verdicts: &mut [Verdict], contents: &dyn Contents) -> Result<()> {
        let mut groups: HashMap<usize, Vec<usize>> = HashMap::new();
        for (number, item) in items.iter().enumerate() {
            if let Some(link) = item.link {
                groups.entry(link).or_default().push(number);
            }
        }
        for members in groups.into_values() {
            let mut inodes: Vec<Option<u64>> = Vec::new();
            for &member in &members {
                match verdicts.get(member) {
                    Some(Verdict::Done { ino, .. }) => inodes.push(Some(*ino)),
                    Some(Verdict::Due { .. }) => inodes.push(None),
                    Some(Verdict::Foreign) | None => {}
                }
            }
            inodes.dedup();
            if inodes.len() <= 1 {
                continue;
            }
            for member in members {
                let (Some(item), Some(verdict)) = (items.get(member), verdicts.get_mut(member)) else {
                    continue;
                };
                let Verdict::Done { now: Some(now), .. } = verdict else { continue };
                let same = self
                    .held(item)
                    .map_err(Trouble::from)
                    .and_then(|held| still_has(&held, &item.name, now, contents));
                *verdict = match same {
                    Ok(true) => Verdict::Due { before: Some(now.clone()) },
                    Ok(false) | Err(Trouble::Path(_)) => Verdict::Foreign,
                    Err(Trouble::Whole(error)) => return Err(error),
                };
            }
        }
        Ok(())
    }
}
