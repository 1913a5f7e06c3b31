//! What the system would refuse, found before the first write: immutable and append-only files and directories, mount points, files of
//! others in sticky directories, read-only file systems (inputs 74, 76). Looks by `statx` only; nothing is opened.

use std::collections::HashMap;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use rustix::fs::{Access, AtFlags, StatVfsMountFlags, Statx, StatxAttributes, StatxFlags};
use rustix::io::Errno;

use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::model::{Reason, RelPath};
use crate::restore::beneath::{Dir, Root};
use crate::restore::plan::{Plan, Role};

/// Paths that an error lists.
const LISTED: usize = 100;
/// Directories that one thread looks at at a time.
const A_CHUNK: usize = 32;

/// A path that could not be changed, and why.
type Refusal = (RelPath, &'static str);

const IMMUTABLE: &str = "immutable";
const APPEND_ONLY: &str = "append-only";
const MOUNT: &str = "a mount point";
const STICKY: &str = "somebody else's, in a sticky directory";
const NOT_WRITABLE: &str = "in a directory that we may not write";

/// Refuses a plan of which the system would refuse a part.
///
/// # Errors
/// `PERMISSION_DENIED` and, where a mount point is in the way, `CONFLICT`; both list the first hundred paths in the detail `paths`.
/// `ABORTED`, `TIMED_OUT`.
pub(crate) fn precheck(root: &Root, plan: &Plan, pool: &rayon::ThreadPool, ctx: &Context) -> Result<()> {
    if plan.is_empty() {
        return Ok(());
    }
    let mounted = rustix::fs::fstatvfs(root.fd());
    if mounted.is_ok_and(|fs| fs.f_flag.contains(StatVfsMountFlags::RDONLY)) {
        return Err(Error::new(
            Code::PermissionDenied,
            "the workspace lies on a file system that is mounted read-only",
            "mount it for writing; nothing was written",
        )
        .at(root.path()));
    }
    let mut replaced: HashMap<usize, Vec<&[u8]>> = HashMap::new();
    for dir in &plan.dirs {
        if let (Role::Create { replaces: Some(_), .. }, Some(parent)) = (&dir.role, dir.parent) {
            replaced.entry(parent).or_default().push(&dir.name);
        }
    }
    let look =
        Look { root, plan, paths: plan.dir_paths(), us: rustix::process::geteuid().as_raw(), replaced };
    let busy = look.busy();
    let numbers: Vec<usize> =
        (0..plan.dirs.len()).filter(|&n| busy.get(n).copied().unwrap_or(false)).collect();
    let chunks: Vec<&[usize]> = numbers.chunks(A_CHUNK).collect();
    let one = |chunk: &&[usize]| -> Result<Vec<Refusal>> {
        ctx.check()?;
        Ok(chunk.iter().flat_map(|&number| look.directory(number)).collect())
    };
    let found: Vec<Result<Vec<Refusal>>> = pool.install(|| chunks.par_iter().map(one).collect());
    let mut refused = look.mounts();
    for list in found {
        refused.extend(list?);
    }
    refused.sort();
    refused.dedup();
    if refused.is_empty() { Ok(()) } else { Err(refusal(&refused).at(root.path())) }
}

fn refusal(refused: &[Refusal]) -> Error {
    let name = |path: &RelPath| if path.is_root() { ".".to_owned() } else { path.to_string() };
    let lines: Vec<String> = refused.iter().map(|(path, why)| format!("{}: {why}", name(path))).collect();
    let is_mount = refused.iter().any(|(_, why)| *why == MOUNT);
    let shown = lines.iter().take(3).cloned().collect::<Vec<_>>().join("; ");
    let more = if lines.len() > 3 { format!(" and {} more", lines.len() - 3) } else { String::new() };
    let (code, advice) = match refused.first() {
        _ if is_mount => (
            Code::Conflict,
            "unmount what lies there, or restore without these paths (`paths`); nothing was written",
        ),
        Some((_, IMMUTABLE | APPEND_ONLY)) => (
            Code::PermissionDenied,
            "take the flags away (`chattr -i -a`), then try again; nothing was written",
        ),
        _ => (Code::PermissionDenied, "run as the owner of these paths; nothing was written"),
    };
    let listed = lines.iter().take(LISTED).cloned().collect::<Vec<_>>().join("\n");
    let many = if lines.len() == 1 { "one path".to_owned() } else { format!("{} paths", lines.len()) };
    Error::new(code, format!("the system would refuse to change {many}: {shown}{more}"), advice)
        .with_detail("paths", listed)
}

struct Look<'a> {
    root: &'a Root,
    plan: &'a Plan,
    paths: Vec<RelPath>,
    us: u32,
    /// Files that directories are to take the place of, by the number of the directory in which they lie.
    replaced: HashMap<usize, Vec<&'a [u8]>>,
}

impl Look<'_> {
    /// The directories in which names change, or whose metadata does, or which go.
    fn busy(&self) -> Vec<bool> {
        let mut busy = vec![false; self.plan.dirs.len()];
        let mut mark = |number: usize| {
            if let Some(busy) = busy.get_mut(number) {
                *busy = true;
            }
        };
        for (number, dir) in self.plan.dirs.iter().enumerate() {
            match (&dir.role, dir.parent) {
                (Role::Keep { before, after }, _) if before == after && !dir.unlock => {}
                (Role::Keep { .. }, _) => mark(number),
                (Role::Delete { .. }, parent) => {
                    mark(number);
                    parent.into_iter().for_each(&mut mark);
                }
                (Role::Create { .. }, parent) => parent.into_iter().for_each(&mut mark),
            }
        }
        self.plan.items.iter().for_each(|item| mark(item.dir));
        for (busy, dir) in busy.iter_mut().zip(&self.plan.dirs) {
            // What is made is ours.
            *busy &= !matches!(dir.role, Role::Create { .. });
        }
        busy
    }

    /// Looks at one directory and at what goes or changes in it. What cannot be examined is found out by the work itself.
    fn directory(&self, number: usize) -> Vec<Refusal> {
        let (Some(dir), Some(path)) = (self.plan.dirs.get(number), self.paths.get(number)) else {
            return Vec::new();
        };
        let mut refused = Vec::new();
        let held = match self.root.dir(path) {
            Ok(held) => held,
            // Mounted since the walk.
            Err(Errno::XDEV) => return vec![(path.clone(), MOUNT)],
            Err(_) => return Vec::new(),
        };
        let Ok(own) = examine(&held, b".") else { return Vec::new() };
        if let Some(why) = flags(&own) {
            refused.push((path.clone(), why));
        }
        let is_ours = self.us == 0 || own.stx_uid == self.us;
        let items = self.plan.items.get(dir.items.clone()).unwrap_or_default();
        let changes_names = items.iter().any(|item| !item.unlock) || matches!(dir.role, Role::Delete { .. });
        if !is_ours && changes_names {
            let may =
                rustix::fs::accessat(held.fd(), c".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS);
            if matches!(may, Err(Errno::ACCESS | Errno::PERM)) {
                refused.push((path.clone(), NOT_WRITABLE));
            }
        }
        let is_sticky = !is_ours && own.stx_mode & 0o1000 != 0;
        let names = items
            .iter()
            .filter(|item| item.before.is_some() && item.replaces_dir.is_none())
            .map(|item| &*item.name);
        for name in names.chain(self.replaced.get(&number).into_iter().flatten().copied()) {
            let Ok(stat) = examine(&held, name) else { continue };
            let is_mount = stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT);
            let why = flags(&stat)
                .or(is_mount.then_some(MOUNT))
                .or((is_sticky && stat.stx_uid != self.us).then_some(STICKY));
            refused.extend(why.map(|why| (path.join(name), why)));
        }
        if let (Role::Delete { .. }, Some(parent)) = (&dir.role, dir.parent)
            && self.us != 0
            && own.stx_uid != self.us
        {
            let above = self.paths.get(parent).and_then(|path| self.root.dir(path).ok());
            let sticky = above.and_then(|above| examine(&above, b".").ok());
            if sticky.is_some_and(|above| above.stx_mode & 0o1000 != 0 && above.stx_uid != self.us) {
                refused.push((path.clone(), STICKY));
            }
        }
        refused
    }

    /// Mount points where the checkpoint has something of its own (input 76). Those that it had already are only listed (input 75).
    fn mounts(&self) -> Vec<Refusal> {
        let in_the_way = |path: &RelPath| {
            let (dir, name) = self.root.parent(path).ok()?;
            let stat = examine(&dir, name).ok()?;
            stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT).then(|| (path.clone(), MOUNT))
        };
        let listed = self.plan.not_restorable().iter();
        listed
            .filter(|u| u.reason == Reason::Mount && u.detail.is_some())
            .filter_map(|u| in_the_way(&u.path))
            .collect()
    }
}

fn examine(dir: &Dir, name: &[u8]) -> Result<Statx, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    rustix::fs::statx(dir.fd(), name, flags, StatxFlags::MODE | StatxFlags::UID)
}

fn flags(stat: &Statx) -> Option<&'static str> {
    let has = |attribute: StatxAttributes| stat.stx_attributes.contains(attribute);
    if has(StatxAttributes::IMMUTABLE) {
        Some(IMMUTABLE)
    } else if has(StatxAttributes::APPEND) {
        Some(APPEND_ONLY)
    } else {
        None
    }
}
