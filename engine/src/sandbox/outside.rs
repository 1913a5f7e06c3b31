//! Following a path outside of the trees of a sandbox, until it comes back into one (S6): by links above it, out and in again.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What lies around the trees.
#[derive(Debug)]
pub(super) struct Outside {
    /// Where the trees lie.
    places: Vec<PathBuf>,
    /// Which directories they are, by device and inode.
    roots: Vec<(u64, u64)>,
}

/// Where one name leads.
#[derive(Debug)]
pub(super) enum Step {
    /// To the root of a tree.
    Into,
    /// To another directory.
    On(PathBuf),
    /// To a link with this target.
    Link(Vec<u8>),
    /// To a file, or to what is not there.
    Nowhere,
    /// That cannot be told from here.
    Unknown,
}

impl Outside {
    /// What lies around trees, by their canonical paths.
    pub(super) fn of<'a>(places: impl Iterator<Item = &'a Path>) -> Self {
        let places: Vec<PathBuf> = places.map(Path::to_owned).collect();
        let root = |place: &PathBuf| std::fs::metadata(place).ok().map(|m| (m.dev(), m.ino()));
        let roots = places.iter().filter_map(root).collect();
        Self { places, roots }
    }

    /// What is left of an absolute path into a tree that begins as the tree's own.
    pub(super) fn within<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        self.places.iter().find_map(|place| path.strip_prefix(place).ok())
    }

    /// The directories above the trees.
    pub(super) fn above(&self) -> impl Iterator<Item = PathBuf> {
        self.places.iter().map(|place| place.parent().unwrap_or(place).to_owned())
    }

    /// Follows one name from a directory whose path has no links in it.
    pub(super) fn step(&self, from: &Path, name: &[u8]) -> Step {
        let path = if name == b".." {
            from.parent().unwrap_or(from).to_owned()
        } else {
            from.join(OsStr::from_bytes(name))
        };
        // What lies there is another thing for each process.
        if path.starts_with("/proc") {
            return Step::Unknown;
        }
        let found = std::fs::symlink_metadata(&path);
        match found {
            Ok(metadata) if metadata.is_symlink() => match std::fs::read_link(&path) {
                Ok(target) => Step::Link(target.into_os_string().into_vec()),
                Err(_) => Step::Unknown,
            },
            Ok(metadata) if self.roots.contains(&(metadata.dev(), metadata.ino())) => Step::Into,
            Ok(metadata) if metadata.is_dir() => Step::On(path),
            Ok(_) => Step::Nowhere,
            Err(e) => match e.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Step::Nowhere,
                _ => Step::Unknown,
            },
        }
    }
}
