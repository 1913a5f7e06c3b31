//! A generated tree that looks like an application with its `node_modules`, the same for the same [`TreeSpec`] on every machine.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

/// What to generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeSpec {
    /// How many regular files, hard links among them; symbolic links come on top.
    pub files: usize,
    /// What the names, sizes and texts are drawn from.
    pub seed: u64,
}

impl Default for TreeSpec {
    /// 20,000 files in about 2,000 directories.
    fn default() -> Self {
        Self { files: 20_000, seed: 20_251_130 }
    }
}

/// What was generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Made {
    /// Names of regular files.
    pub files: u64,
    /// Directories, without the root.
    pub directories: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// Names of regular files that are a second name of another one.
    pub hard_links: u64,
    /// Bytes of the regular files, each inode counted once.
    pub bytes: u64,
}

/// One file of the plan.
#[derive(Debug, Clone, Copy)]
struct PlannedFile {
    length: usize,
    seed: u64,
    /// Another name of the file before it.
    is_link: bool,
}

/// One directory of the plan, with its files.
#[derive(Debug, Clone)]
struct PlannedDir {
    path: String,
    files: Vec<PlannedFile>,
    symlink_to: Option<String>,
}

/// A package has about so many files.
const FILES_OF_A_PACKAGE: usize = 40;
/// One of so many files is the application's own, outside `node_modules`.
const OWN_FILES: usize = 32;
const MEDIAN_LENGTH: f64 = 2_048.0;
/// Spread of the lengths' logarithm: with it one file in about 135 is over 100 kB and the mean is 7 kB.
const SPREAD: f64 = 1.58;
const LONGEST: f64 = 1_000_000.0;
/// The mtime of everything: seconds since the epoch.
const MTIME: u64 = 1_700_000_000;

impl TreeSpec {
    /// Writes the tree into `root`, which must be missing or empty.
    ///
    /// # Errors
    /// When something cannot be written, or is there already.
    pub fn generate(&self, root: &Path) -> Result<Made> {
        let plan = self.plan();
        std::fs::create_dir_all(root).with_context(|| format!("making {}", root.display()))?;
        write_file(&root.join(".gitignore"), b"node_modules/\n").context("writing .gitignore")?;
        let mut made = Made { files: 1, bytes: "node_modules/\n".len() as u64, ..Made::default() };
        for dir in &plan {
            std::fs::create_dir_all(root.join(&dir.path)).with_context(|| format!("making {}", dir.path))?;
        }
        let parts: Vec<Result<Made>> = plan.par_iter().map(|dir| dir.write(root)).collect();
        for part in parts {
            let part = part?;
            made.files += part.files;
            made.symlinks += part.symlinks;
            made.hard_links += part.hard_links;
            made.bytes += part.bytes;
        }
        made.directories = settle_directories(root)?;
        Ok(made)
    }

    fn plan(&self) -> Vec<PlannedDir> {
        let mut random = fastrand::Rng::with_seed(self.seed);
        let mut plan = Vec::new();
        // The ignore file counts as one.
        let mut left = self.files.saturating_sub(1);
        let mut number = 0;
        let mut own = self.files / OWN_FILES;
        while left > 0 {
            let wanted = random.usize(FILES_OF_A_PACKAGE / 2..=FILES_OF_A_PACKAGE * 3 / 2).min(left);
            let base = if own > 0 {
                own = own.saturating_sub(wanted);
                format!("src/feature-{number}")
            } else if random.u8(0..8) == 0 {
                format!("node_modules/@scope-{}/package-{number}", random.u8(0..20))
            } else {
                format!("node_modules/package-{number}")
            };
            package(&mut plan, &base, wanted, &mut random);
            left -= wanted;
            number += 1;
        }
        plan
    }
}

/// Spreads the files of a package over its directories.
fn package(plan: &mut Vec<PlannedDir>, base: &str, mut left: usize, random: &mut fastrand::Rng) {
    const INNER: [&str; 8] =
        ["", "/dist", "/dist/esm", "/dist/cjs/internal", "/lib", "/src", "/src/util", "/types"];
    for (at, inner) in INNER.iter().cycle().enumerate() {
        if left == 0 {
            return;
        }
        let count = random.usize(6..=22).min(left);
        left -= count;
        let round = at / INNER.len();
        let path = if round == 0 { format!("{base}{inner}") } else { format!("{base}{inner}/more-{round}") };
        let files = (0..count).map(|i| planned_file(i, random)).collect();
        let symlink_to = (random.u8(0..20) == 0).then(|| format!("../file-{}.js", random.u8(0..9)));
        plan.push(PlannedDir { path, files, symlink_to });
    }
}

fn planned_file(at: usize, random: &mut fastrand::Rng) -> PlannedFile {
    // Box and Muller: a normally distributed number out of two even ones.
    let normal = (-2.0 * (1.0 - random.f64()).ln()).sqrt() * (std::f64::consts::TAU * random.f64()).cos();
    let length = (MEDIAN_LENGTH * (SPREAD * normal).exp()).clamp(0.0, LONGEST);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped above")]
    let length = length as usize;
    let is_link = at > 0 && random.u8(0..100) == 0;
    PlannedFile { length, seed: random.u64(..), is_link }
}

const WORDS: [&str; 24] = [
    "const",
    "function",
    "return",
    "module.exports",
    "require(",
    "=>",
    "if (",
    "else {",
    "options",
    "callback",
    "undefined",
    "\n  ",
    "\n",
    ";\n",
    "this.",
    "await ",
    "value",
    "length",
    "import ",
    "from '",
    "type ",
    " = ",
    "Promise",
    "/* ",
];

/// Text that compresses about as well as source code does: the file's own names among words of the language.
fn text(file: PlannedFile) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(file.seed);
    let mut bytes = Vec::with_capacity(file.length + 24);
    let mut names: Vec<u32> = Vec::new();
    while bytes.len() < file.length {
        match random.u8(..) {
            // A new name: no two files are alike.
            0..16 => names.push(random.u32(..)),
            // What was there before, again, as code repeats itself.
            16..48 if bytes.len() > 64 => {
                let start = random.usize(0..bytes.len() - 48);
                bytes.extend_from_within(start..start + 48);
            }
            16..96 => {
                if let Some(name) = random.choice(&names) {
                    let _ = write!(bytes, "v{name:x} ");
                }
            }
            _ => {
                let word = random.choice(WORDS).unwrap_or_default();
                bytes.extend_from_slice(word.as_bytes());
                bytes.push(b' ');
            }
        }
    }
    bytes.truncate(file.length);
    bytes
}

impl PlannedDir {
    fn write(&self, root: &Path) -> Result<Made> {
        let dir = root.join(&self.path);
        let mut made = Made::default();
        let mut before = None;
        for (number, file) in self.files.iter().enumerate() {
            let path = dir.join(format!("file-{number}.js"));
            made.files += 1;
            match before.as_ref().filter(|_| file.is_link) {
                Some(original) => {
                    std::fs::hard_link(original, &path)
                        .with_context(|| format!("linking {}", path.display()))?;
                    made.hard_links += 1;
                }
                None => {
                    let bytes = text(*file);
                    made.bytes += bytes.len() as u64;
                    write_file(&path, &bytes).with_context(|| format!("writing {}", path.display()))?;
                }
            }
            before = Some(path);
        }
        if let Some(target) = &self.symlink_to {
            let path = dir.join("link");
            symlink(target, &path).with_context(|| format!("linking {}", path.display()))?;
            set_link_mtime(&path)?;
            made.symlinks += 1;
        }
        Ok(made)
    }
}

fn write_file(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(MTIME))
}

fn set_link_mtime(path: &Path) -> Result<()> {
    let seconds = i64::try_from(MTIME).context("the time of the tree")?;
    let time = rustix::fs::Timespec { tv_sec: seconds, tv_nsec: 0 };
    let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(rustix::fs::CWD, path, &times, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
        .with_context(|| format!("setting the time of {}", path.display()))
}

/// Gives every directory its time, the deepest first; returns how many there are beneath `dir`.
fn settle_directories(dir: &Path) -> Result<u64> {
    let mut count = 0;
    for entry in std::fs::read_dir(dir).with_context(|| format!("listing {}", dir.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            count += 1 + settle_directories(&entry.path())?;
        }
    }
    File::open(dir)?.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(MTIME))?;
    Ok(count)
}
