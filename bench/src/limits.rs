//! What the machine can do at best: references that do a part of the work and keep no promise.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::clock::{Cost, measure};

/// Files in memory, to be created elsewhere.
#[derive(Debug)]
pub struct Contents {
    directories: Vec<PathBuf>,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Contents {
    /// Reads files of `root` into memory.
    ///
    /// # Errors
    /// When one cannot be read or lies elsewhere.
    pub fn read(root: &Path, files: &[PathBuf]) -> Result<Self> {
        let files = files
            .iter()
            .map(|path| {
                let bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
                Ok((path.strip_prefix(root)?.to_path_buf(), bytes))
            })
            .collect::<Result<Vec<_>>>()?;
        let mut directories: Vec<PathBuf> =
            files.iter().filter_map(|(path, _)| Some(path.parent()?.to_path_buf())).collect();
        directories.sort_unstable();
        directories.dedup();
        Ok(Self { directories, files })
    }

    /// Creates them beneath a new directory on all threads, without modes, times, checks or syncs.
    ///
    /// # Errors
    /// When one cannot be created.
    pub fn create(&self, at: &Path) -> Result<()> {
        for directory in &self.directories {
            std::fs::create_dir_all(at.join(directory)).context("making a directory")?;
        }
        let write = |(path, bytes): &(PathBuf, Vec<u8>)| -> Result<()> {
            let mut file = File::create_new(at.join(path)).with_context(|| path.display().to_string())?;
            file.write_all(bytes).with_context(|| path.display().to_string())
        };
        self.files.par_iter().map(write).collect()
    }
}

/// Waits until everything that was written to a file system is on its disk, so that no measurement pays for what ran before it.
///
/// # Errors
/// The system's error.
pub fn settle_disk(directory: &Path) -> Result<()> {
    let fd = File::open(directory).context("opening the working directory")?;
    rustix::fs::syncfs(fd).context("waiting for the disk")
}

/// Copies a tree with `cp -a`.
///
/// # Errors
/// When `cp` is missing or fails.
pub fn copy_all(from: &Path, to: &Path) -> Result<()> {
    let status =
        std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().context("starting cp")?;
    anyhow::ensure!(status.success(), "cp -a failed: {status}");
    Ok(())
}

/// Removes a tree; one that is missing is fine.
///
/// # Errors
/// When it cannot be removed.
pub fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Writes a file of `length` bytes that do not compress and measures only its sync.
///
/// # Errors
/// When the file cannot be written or synced.
pub fn sync_one_file(path: &Path, length: u64) -> Result<Cost> {
    let mut file = File::create(path).with_context(|| format!("making {}", path.display()))?;
    let mut random = fastrand::Rng::with_seed(length);
    let mut piece = vec![0; 1 << 20];
    let mut left = usize::try_from(length).context("the file is too long")?;
    while left > 0 {
        random.fill(&mut piece);
        let part = &piece[..left.min(piece.len())];
        file.write_all(part).context("writing")?;
        left -= part.len();
    }
    let (cost, ()) = measure(|| file.sync_data().context("syncing"))?;
    std::fs::remove_file(path).with_context(|| format!("removing {}", path.display()))?;
    Ok(cost)
}
