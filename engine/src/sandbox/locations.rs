//! Where a sandbox is made, and how: decided by trying (S5). A device number does not tell whether blocks can be shared.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, RawDir};
use rustix::io::Errno;

use super::names::{Mechanism, MechanismChoice};
use super::snapshot;
use crate::checkpoint::baseline::make_private_directory;
use crate::error::{Code, Error, Result};
use crate::model::FileKind;
use crate::store::unsafe_ancestor;
use crate::tree::sys;

/// Where a sandbox is to be made.
#[derive(Debug)]
pub(super) struct Chosen {
    /// A private directory, by its canonical path.
    pub(super) base: PathBuf,
    /// It is one of ours, and goes when it is empty.
    pub(super) own: bool,
    pub(super) mechanism: Mechanism,
    /// What was tried and did not work, in words.
    pub(super) reasons: Vec<String>,
}

/// One directory in which sandboxes may lie.
struct Candidate {
    path: PathBuf,
    own: bool,
}

/// Names that are looked at for a file to try with.
const MOST_NAMES: usize = 4_096;

/// Chooses place and mechanism for a copy of `resource`, a canonical path.
///
/// # Errors
/// `UNSUPPORTED_FILESYSTEM` when the mechanism that was asked for is not to be had, with what was tried; those of making a directory.
pub(super) fn choose(
    resource: &Path,
    store: &Path,
    asked: MechanismChoice,
    location: Option<&Path>,
) -> Result<Chosen> {
    let snapshots = match asked {
        MechanismChoice::Auto | MechanismChoice::Btrfs => snapshot::can_be_taken_of(resource),
        _ => Err(String::new()),
    };
    if let (MechanismChoice::Btrfs, Err(reason)) = (asked, &snapshots) {
        return Err(unsupported(asked, std::slice::from_ref(reason)));
    }
    let shares = if snapshots.is_ok() { Mechanism::Btrfs } else { Mechanism::Reflink };
    let first = match location {
        Some(path) => Candidate { path: absolute(path)?, own: false },
        None => Candidate { path: beside_store(store), own: true },
    };
    let first = Spot::of(&first, resource, store)?;
    if asked == MechanismChoice::Copy {
        return Ok(first.chosen(Mechanism::Copy, Vec::new()));
    }
    let sample = sample(resource)?;
    let mut reasons = match shares_blocks(&sample, &first.existing) {
        Ok(()) => return Ok(first.chosen(shares, Vec::new())),
        Err(reason) => vec![format!("{}: {reason}", first.base.display())],
    };
    if location.is_none()
        && let Some(second) = on_the_resource_s_file_system(resource)
    {
        let shared = Spot::of(&second, resource, store)
            .map_err(|error| error.to_string())
            .and_then(|spot| shares_blocks(&sample, &spot.existing).map(|()| spot));
        match shared {
            Ok(spot) => return Ok(spot.chosen(shares, reasons)),
            Err(reason) => reasons.push(format!("{}: {reason}", second.path.display())),
        }
    }
    if matches!(asked, MechanismChoice::Reflink | MechanismChoice::Btrfs) {
        return Err(unsupported(asked, &reasons));
    }
    Ok(first.chosen(Mechanism::Copy, reasons))
}

pub(super) fn unsupported(asked: MechanismChoice, reasons: &[String]) -> Error {
    Error::new(
        Code::UnsupportedFilesystem,
        format!("the mechanism `{asked}` cannot be had here ({})", reasons.join("; ")),
        "use `auto` or `copy`, or give a location (`location`, --location) on the resource's file system",
    )
}

fn absolute(path: &Path) -> Result<PathBuf> {
    if path.as_os_str().is_empty() {
        return Err(Error::new(Code::InvalidArgument, "the location's path is empty", "give a directory"));
    }
    if path.components().any(|c| c == std::path::Component::ParentDir) {
        let found = "the location's path has a `..` in it";
        return Err(Error::new(Code::InvalidArgument, found, "give the path without it").at(path));
    }
    std::path::absolute(path).map_err(|e| Error::io("resolving the location", e).at(path))
}

/// The store's own neighbour: what lies in the store cannot be a workspace.
fn beside_store(store: &Path) -> PathBuf {
    let mut name = store.file_name().unwrap_or_default().to_owned();
    name.push(super::ephemeral::SUFFIX);
    store.with_file_name(name)
}

/// The topmost directory above the resource that is ours to write and lies on the same mount: as far outside of projects as can be.
/// None where that would be inside a git repository, whose tools would see it.
fn on_the_resource_s_file_system(resource: &Path) -> Option<Candidate> {
    let us = rustix::process::geteuid().as_raw();
    // By the mount: each subvolume has a device number of its own.
    let mount = sys::mount_of(resource).ok()?;
    let mut found = None;
    for ancestor in resource.ancestors().skip(1) {
        let Ok(metadata) = std::fs::metadata(ancestor) else { break };
        if sys::mount_of(ancestor).ok() != Some(mount) {
            break;
        }
        let ours = metadata.uid() == us && metadata.mode() & 0o300 == 0o300;
        if ours {
            found = Some(ancestor);
        }
    }
    let top = found?;
    if top.ancestors().any(|a| std::fs::symlink_metadata(a.join(".git")).is_ok()) {
        return None;
    }
    Some(Candidate { path: top.join(format!(".turnback-sandboxes-{us}")), own: true })
}

/// A candidate that was looked at. Nothing is made yet: what is not registered must not be left by a crash.
struct Spot {
    /// Where sandboxes would lie; canonical as far as it is there.
    base: PathBuf,
    own: bool,
    /// The nearest directory that is there: what can be done in it can be done in `base`.
    existing: PathBuf,
}

impl Spot {
    /// Checks that nobody else can change what would lie there.
    fn of(candidate: &Candidate, resource: &Path, store: &Path) -> Result<Self> {
        let path = &candidate.path;
        let is_there = |p: &&Path| std::fs::symlink_metadata(p).is_ok();
        let nearest = path.ancestors().find(is_there).unwrap_or_else(|| Path::new("/"));
        let existing =
            std::fs::canonicalize(nearest).map_err(|e| Error::io("resolving the location", e).at(nearest))?;
        if !existing.is_dir() {
            return Err(Error::new(
                Code::NotADirectory,
                "the location for sandboxes is not a directory",
                "give a directory (`location`, --location)",
            )
            .at(path));
        }
        let base = match path.strip_prefix(nearest) {
            Ok(rest) if !rest.as_os_str().is_empty() => existing.join(rest),
            _ => existing.clone(),
        };
        // Of the location itself too: who can write there could swap what we make.
        if let Some(ancestor) = unsafe_ancestor(&existing.join("x"))? {
            return Err(unsafe_location("other users can replace sandboxes in the location", &ancestor));
        }
        if base.starts_with(resource) {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("the location for sandboxes lies in the resource ({})", resource.display()),
                "give a location outside (`location`, --location)",
            )
            .at(&base));
        }
        if base.starts_with(store) {
            return Err(Error::new(
                Code::StoreNested,
                "the location for sandboxes lies in the store",
                "give a location outside (`location`, --location)",
            )
            .at(&base));
        }
        Ok(Self { base, own: candidate.own, existing })
    }

    fn chosen(self, mechanism: Mechanism, reasons: Vec<String>) -> Chosen {
        Chosen { base: self.base, own: self.own, mechanism, reasons }
    }
}

/// Makes the directory of a registered sandbox's place where it is missing; one of ours is for us alone.
///
/// # Errors
/// `PERMISSION_DENIED` when it cannot be made or is another user's.
pub(super) fn make_base(base: &Path, own: bool) -> Result<()> {
    let made = make_private_directory(base);
    if let Err(error) = made {
        if error.code() != Code::PermissionDenied {
            return Err(error);
        }
        let tried = "there is no place for sandboxes that we may write";
        return Err(Error::new(error.code(), tried, "give a location (`location`, --location)")
            .at(base)
            .because(error));
    }
    let metadata =
        std::fs::symlink_metadata(base).map_err(|e| Error::io("examining the location", e).at(base))?;
    if !metadata.is_dir() {
        return Err(unsafe_location("the location for sandboxes was replaced", base));
    }
    if own && metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(unsafe_location("the location for sandboxes belongs to another user", base));
    }
    if own && metadata.mode() & 0o077 != 0 {
        std::fs::set_permissions(base, std::fs::Permissions::from_mode(0o700))
            .map_err(|e| Error::io("setting the location's mode", e).at(base))?;
    }
    Ok(())
}

fn unsafe_location(what: &str, path: &Path) -> Error {
    Error::new(
        Code::PermissionDenied,
        what,
        "give a location that only you can write (`location`, --location)",
    )
    .at(path)
}

/// Removes a directory of ours that nothing lies in; what is not empty is in use.
pub(super) fn drop_if_empty(path: &Path, ours: bool) {
    if ours && let Err(error) = std::fs::remove_dir(path) {
        tracing::trace!(%error, "the directory of sandboxes stays");
    }
}

/// A regular file of a directory, opened for reading; if it can be had, one that is not empty. None where there is no file at all.
fn sample(resource: &Path) -> Result<Option<OwnedFd>> {
    let root = sys::open_root(resource).map_err(|e| Error::io("opening the resource", e).at(resource))?;
    let mut todo = std::collections::VecDeque::from([root]);
    let mut looked = 0;
    let mut empty = None;
    while let Some(directory) = todo.pop_front() {
        let mut buffer = Vec::with_capacity(8 << 10);
        let mut entries = RawDir::new(directory.as_fd(), buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            looked += 1;
            let Ok(entry) = entry else { break };
            let name = entry.file_name();
            if looked > MOST_NAMES || name == c"." || name == c".." {
                continue;
            }
            let Ok(stat) = sys::stat_at(directory.as_fd(), name) else { continue };
            match stat.kind() {
                FileKind::File => {
                    let Ok(file) = sys::open_file(directory.as_fd(), name) else { continue };
                    if stat.size > 0 {
                        return Ok(Some(file));
                    }
                    empty = Some(file);
                }
                FileKind::Directory if todo.len() < 64 => {
                    todo.extend(sys::open_directory(directory.as_fd(), name));
                }
                _ => {}
            }
        }
        if looked > MOST_NAMES {
            break;
        }
    }
    Ok(empty)
}

/// Tries whether a file in `base` can share the blocks of a file of the resource. The reason if not.
fn shares_blocks(sample: &Option<OwnedFd>, base: &Path) -> Result<(), String> {
    let nameless = || {
        // Without a name nothing is left behind, whatever happens.
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        rustix::fs::open(base, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|e| format!("no trial file can be made there: {}", std::io::Error::from(e)))
    };
    let target = nameless()?;
    let own;
    let source = match sample {
        Some(file) => file,
        // Nothing to share yet; what counts is what the file system there can do.
        None => {
            own = nameless()?;
            &own
        }
    };
    match rustix::fs::ioctl_ficlone(&target, source) {
        Ok(()) => Ok(()),
        Err(Errno::XDEV) => Err("it lies on another file system than the resource".to_owned()),
        Err(Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL) => {
            Err("the file system there cannot share blocks between files".to_owned())
        }
        Err(errno) => Err(format!("sharing blocks failed: {}", std::io::Error::from(errno))),
    }
}

/// What can be had for a resource, with the reason, in the order in which `auto` tries; for `doctor`. Writes nothing to the resource.
///
/// # Errors
/// When the resource cannot be read, or no place for sandboxes can be made.
pub(crate) fn mechanisms(resource: &Path, store: &Path) -> Result<Vec<(&'static str, bool, String)>> {
    let resource =
        std::fs::canonicalize(resource).map_err(|e| Error::io("resolving the resource", e).at(resource))?;
    let store = std::fs::canonicalize(store).map_err(|e| Error::io("resolving the store", e).at(store))?;
    let chosen = choose(&resource, &store, MechanismChoice::Auto, None)?;
    let at = chosen.base.display();
    let btrfs = match (chosen.mechanism, snapshot::can_be_taken_of(&resource)) {
        (Mechanism::Btrfs, _) => {
            (true, format!("the resource is a subvolume: sandboxes in {at} are snapshots of it"))
        }
        (_, Err(reason)) => (false, reason),
        (_, Ok(())) => (false, chosen.reasons.join("; ")),
    };
    let reflink = match chosen.mechanism {
        Mechanism::Btrfs | Mechanism::Reflink => {
            (true, format!("files share their blocks with sandboxes in {at}"))
        }
        Mechanism::Copy => (false, chosen.reasons.join("; ")),
    };
    let copy = format!("always to be had, in {}", beside_store(&store).display());
    Ok(vec![
        (MechanismChoice::Btrfs.as_str(), btrfs.0, btrfs.1),
        (MechanismChoice::Reflink.as_str(), reflink.0, reflink.1),
        (MechanismChoice::Copy.as_str(), true, copy),
    ])
}
