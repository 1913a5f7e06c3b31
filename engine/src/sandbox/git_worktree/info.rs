//! What there is to know of a worktree besides what every sandbox has.

use super::registration::Registered;
use crate::model::RelPath;
use crate::sandbox::record::Record;

/// How many paths of a kind are listed.
pub(super) const LISTED: usize = 100;

/// What there is to know of a worktree besides what every sandbox has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitInfo {
    /// The sandbox's branch, without `refs/heads/`.
    pub branch: String,
    /// How many files are pointers to content that LFS keeps elsewhere; they stay pointers.
    pub lfs_pointers: u64,
    /// The first 100 of them.
    pub lfs_paths: Vec<RelPath>,
    /// How many submodules there are; their directories stay empty unless they are seeded.
    pub submodules: u64,
    /// The first 100 of them.
    pub submodule_paths: Vec<RelPath>,
}

impl GitInfo {
    pub(super) fn of(record: &Record, registered: &Registered) -> Self {
        let list = |name: &str| -> (u64, Vec<RelPath>) {
            let text = record.extra.get(name).map_or("", String::as_str);
            let mut words = text.split(' ');
            let count = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
            let paths = words.filter_map(|word| RelPath::parse(&super::registration::unhex(word)?).ok());
            (count, paths.filter(|path| !path.is_root()).collect())
        };
        let (lfs_pointers, lfs_paths) = list("git_lfs");
        let (submodules, submodule_paths) = list("git_submodules");
        let branch = registered.branch.strip_prefix("refs/heads/").unwrap_or(&registered.branch);
        Self { branch: branch.to_owned(), lfs_pointers, lfs_paths, submodules, submodule_paths }
    }

    /// A list as it stands in a record: how many, then the first ones.
    pub(super) fn stored(paths: &[RelPath]) -> String {
        let shown = paths.iter().take(LISTED).map(|path| super::registration::hex(path.as_bytes()));
        std::iter::once(paths.len().to_string()).chain(shown).collect::<Vec<_>>().join(" ")
    }
}
