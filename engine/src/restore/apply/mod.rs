//! Carries a plan out: checks, staging, then renames, deletions and metadata beneath the root's descriptor, and a look at what
//! came of it.

mod finish;
mod place;
mod precheck;
mod remove;
mod run;
mod settled;
mod verify;

use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::io::Errno;

use super::beneath::Root;
use super::plan::Plan;
use super::stage::{Area, SYNC_SINGLY, Source, Staged, build, check_space, needs_area, sweep};
use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::{Objects, RelPath, Uncovered};
pub(crate) use precheck::precheck;
pub(in crate::restore) use run::is_as_seen;
pub(crate) use settled::sync_before;

/// Where to restore to.
#[derive(Debug, Clone, Copy)]
pub enum Target<'a> {
    /// A directory that is there, whose identity the caller has checked on this very descriptor (C5).
    Existing(&'a Root),
    /// An absolute path at which nothing is; its parent must exist.
    Missing(&'a Path),
}

/// Is told of a root that was made where there was none, before anything is written to it.
pub type RootMade<'a> = &'a (dyn Fn(BorrowedFd<'_>) -> Result<()> + Sync);

/// How to carry a plan out.
#[derive(Clone, Copy)]
pub struct ApplyOptions<'a> {
    /// The threads that stage and verify.
    pub pool: &'a rayon::ThreadPool,
    /// A private directory of the store in which to stage. It is used when a rename from it into the workspace works when tried;
    /// otherwise staging happens in a private directory inside the root.
    pub stage_in: Option<&'a Path>,
    /// What the staging directory is called: a name that cannot be guessed, that nothing in the root has, and that the caller
    /// remembers until it is gone.
    pub stage_name: &'a [u8],
    /// Names of staging directories of interrupted rollbacks, which are swept first.
    pub leftovers: &'a [Vec<u8>],
    /// What was restored survives a power cut once this returns.
    pub sync: bool,
    /// For [`Target::Missing`].
    pub root_made: Option<RootMade<'a>>,
}

/// A plan that was not carried out to its end.
#[derive(Debug)]
pub struct Stopped {
    /// Why.
    pub error: Box<Error>,
    /// Whether anything was written to the workspace: then it lies between two states, each single path whole.
    pub begun: bool,
}

impl Stopped {
    /// It ended before anything was written.
    pub(crate) fn before_the_first_write(error: Error) -> Self {
        Self { error: Box::new(error), begun: false }
    }

    /// The error's stable code.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.error.code()
    }
}

impl From<Stopped> for Error {
    fn from(stopped: Stopped) -> Self {
        *stopped.error
    }
}

/// What was done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// Paths created, replaced or given their metadata back, those that [`Plan::changes`] lists.
    pub written: u64,
    /// Paths deleted.
    pub deleted: u64,
    /// Paths left alone on purpose, the plan's among them; sorted.
    pub kept: Vec<Uncovered>,
    /// Paths that could not be brought back, the plan's among them; sorted.
    pub not_restorable: Vec<Uncovered>,
    /// The root was missing and was made.
    pub root_recreated: bool,
}

/// Carries out a plan.
///
/// Everything is staged before the first write. A path whose stored content is damaged, that somebody changed since the plan was made,
/// or that the system refuses to write is listed; all others are restored.
///
/// # Errors
/// Before the first write, with nothing changed: `DISK_FULL`, `IO` (limits on file sizes or descriptors), `NOT_FOUND` (the parent of
/// a missing root), `WORKSPACE_REPLACED` (something appeared where the root was missing), `PERMISSION_DENIED`. At any time
/// `ABORTED` and `TIMED_OUT` from `ctx`: what was restored until then stays, directories have their metadata, and the rollback can
/// be run again. [`Stopped::begun`] tells which of the two it is.
pub fn apply(
    target: Target<'_>,
    plan: &Plan,
    objects: &dyn Objects,
    options: &ApplyOptions<'_>,
    ctx: &Context,
) -> Result<Applied, Stopped> {
    match target {
        Target::Existing(root) => {
            if plan.is_empty() {
                return Ok(Applied {
                    kept: plan.kept().to_vec(),
                    not_restorable: plan.not_restorable().to_vec(),
                    ..Applied::default()
                });
            }
            apply_to(root, plan, objects, options, ctx)
        }
        Target::Missing(path) => {
            let (parent, name) = parent_of(path).map_err(Stopped::before_the_first_write)?;
            let made = make_root(&parent, &name, path).map_err(Stopped::before_the_first_write)?;
            let told = options.root_made.map_or(Ok(()), |told| told(made.fd()));
            let outcome = told
                .map_err(Stopped::before_the_first_write)
                .and_then(|()| apply_to(&made, plan, objects, options, ctx));
            match outcome {
                Ok(applied) => Ok(Applied { root_recreated: true, ..applied }),
                Err(stopped) => {
                    // Only an empty root goes: after the first write it holds what was restored.
                    match parent.top().rmdir(&name) {
                        Ok(()) => Err(Stopped { begun: false, ..stopped }),
                        Err(errno) => {
                            tracing::warn!(%errno, "a new root was left behind");
                            Err(Stopped { begun: true, ..stopped })
                        }
                    }
                }
            }
        }
    }
}

fn make_root(parent: &Root, name: &[u8], path: &Path) -> Result<Root> {
    parent.top().mkdir(name, 0o700).map_err(|errno| match errno {
        Errno::EXIST => Error::new(
            Code::WorkspaceReplaced,
            "something appeared where the workspace's root was missing",
            "run the rollback again",
        )
        .at(path),
        errno => Error::io("making the workspace's root", errno).at(path),
    })?;
    let opened = parent.top().dir(name);
    let dir = opened.map_err(|errno| Error::io("opening the new root of the workspace", errno).at(path))?;
    Ok(Root::from_dir(dir, path.to_path_buf()))
}

fn parent_of(path: &Path) -> Result<(Root, Vec<u8>)> {
    use std::os::unix::ffi::OsStrExt as _;
    let (Some(parent), Some(name), true) = (path.parent(), path.file_name(), path.is_absolute()) else {
        return Err(Error::new(
            Code::InvalidArgument,
            "the directory to restore to is not an absolute path with a parent",
            "give the directory's full path",
        )
        .at(path));
    };
    let missing = |cause: Error| {
        if cause.code() == Code::NotFound {
            let advice = "create the parent directory, then run the rollback again";
            Error::new(Code::NotFound, "the directory that held the workspace is missing", advice)
                .at(parent)
                .because(cause)
        } else {
            cause
        }
    };
    let canonical = parent.canonicalize().map_err(|cause| {
        missing(Error::io("finding the directory that held the workspace", cause).at(parent))
    })?;
    Ok((Root::open(&canonical).map_err(missing)?, name.as_bytes().to_vec()))
}

fn apply_to(
    root: &Root,
    plan: &Plan,
    objects: &dyn Objects,
    options: &ApplyOptions<'_>,
    ctx: &Context,
) -> Result<Applied, Stopped> {
    ctx.check().map_err(Stopped::before_the_first_write)?;
    let staged_items = plan.items.iter().filter(|item| item.after.is_some()).count();
    let staged_dirs =
        plan.dirs.iter().filter(|dir| matches!(dir.role, super::plan::Role::Create { .. })).count();
    let singly = options.sync && staged_items + staged_dirs <= SYNC_SINGLY;
    let source = Source::new(objects, singly);
    check_space(plan, &source, root.top()).map_err(Stopped::before_the_first_write)?;
    let before = root.top().stat().map_err(|errno| {
        Stopped::before_the_first_write(Error::io("examining the workspace", errno).at(root.path()))
    })?;
    let paths = plan.dir_paths();
    // The last moment at which nothing has happened yet.
    let staged =
        stage(root, plan, &paths, &source, options, ctx).and_then(|staged| ctx.begin().map(|()| staged));
    match staged {
        Ok(staged) => run::Run::new(root, plan, paths, &source, staged, options, ctx)
            .carry_out()
            .map_err(|error| Stopped { error: Box::new(error), begun: true }),
        Err(error) => {
            // The staging directory has gone with the failure; where it lay in the root, the root's mtime goes back too.
            let put_back = root.top().put_back(&before);
            if let Err(errno) = put_back {
                tracing::warn!(%errno, "the root's mtime could not be put back");
            }
            Err(Stopped { error: Box::new(error), begun: put_back.is_err() })
        }
    }
}

fn stage(
    root: &Root,
    plan: &Plan,
    paths: &[RelPath],
    source: &Source<'_>,
    options: &ApplyOptions<'_>,
    ctx: &Context,
) -> Result<Staged> {
    // A root that its owner may not write is made writable first; finishing, or the failure above, puts its mode back.
    match root.top().unlock_self(0o300) {
        // What is not ours to change may still be writable for us.
        Ok(_) | Err(Errno::PERM) => {}
        Err(errno) => return Err(Error::io("making the root writable", errno).at(root.path())),
    }
    sweep(root, options.leftovers).map_err(|errno| {
        Error::io("removing the staging directory of an interrupted rollback", errno).at(root.path())
    })?;
    let area = match needs_area(plan) {
        true => Some(Area::make(root, options.stage_in, options.stage_name)?),
        // A full disk must not keep anybody from deleting.
        false => None,
    };
    let staged = build(plan, paths, root, area, source, options.pool, ctx)?;
    if let (true, false, Some(area)) = (options.sync, source.sync, &staged.area) {
        // One sync of the file system: nothing is renamed into the workspace before its bytes are on disk.
        let fd = area.top().readable().map_err(sync_failed)?;
        rustix::fs::syncfs(fd).map_err(sync_failed)?;
    }
    Ok(staged)
}

fn sync_failed(errno: Errno) -> Error {
    Error::io("writing staged files to disk", errno)
}
