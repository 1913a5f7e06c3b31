//! What an agent does to a tree between two checkpoints.

use std::fs::FileType;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

/// How many files a change touches.
pub const CHANGED: usize = 10;

/// What can be done to one tree.
#[derive(Debug, Clone)]
pub struct Churn {
    root: PathBuf,
    edited: Vec<PathBuf>,
    deleted: Vec<PathBuf>,
    deleted_files: Vec<PathBuf>,
    paths: usize,
}

struct Node {
    path: PathBuf,
    kind: FileType,
    /// Paths at and beneath it.
    weight: usize,
    children: Vec<Self>,
}

impl Churn {
    /// Looks at a tree and chooses: ten files spread over it to edit, and every second part of it to delete.
    ///
    /// # Errors
    /// When the tree cannot be read, or has fewer than ten files.
    pub fn plan(root: &Path) -> Result<Self> {
        let tree = node(root)?;
        let mut files = Vec::new();
        gather(&tree, &mut files);
        ensure!(files.len() >= CHANGED, "the tree has fewer than {CHANGED} files");
        let step = files.len() / CHANGED;
        let edited = (0..CHANGED).map(|i| files[i * step + step / 2].clone()).collect();
        let (mut deleted, mut seen, mut gone) = (Vec::new(), 0, 0);
        halve(&tree, tree.weight / 20 + 1, &mut |part: &Node| {
            seen += part.weight;
            if gone + part.weight <= seen.div_ceil(2) {
                gone += part.weight;
                deleted.push(part);
            }
        });
        let mut deleted_files = Vec::new();
        for part in &deleted {
            gather(part, &mut deleted_files);
        }
        Ok(Self {
            root: root.to_path_buf(),
            edited,
            deleted: deleted.into_iter().map(|part| part.path.clone()).collect(),
            deleted_files,
            paths: gone,
        })
    }

    /// Rewrites the ten files in place, with other bytes for every `round`.
    ///
    /// # Errors
    /// When one cannot be written.
    pub fn edit(&self, round: u64) -> Result<()> {
        for (number, path) in self.edited.iter().enumerate() {
            let text = format!("// edited in round {round}, file {number}\n").repeat(40);
            std::fs::write(path, text).with_context(|| format!("editing {}", path.display()))?;
        }
        Ok(())
    }

    /// Deletes half of the tree, as `rm -rf` of every second part would.
    ///
    /// # Errors
    /// When something cannot be deleted.
    pub fn delete_half(&self) -> Result<()> {
        for path in &self.deleted {
            let is_dir = std::fs::symlink_metadata(path).with_context(|| at(path))?.is_dir();
            let removed = if is_dir { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
            removed.with_context(|| at(path))?;
        }
        Ok(())
    }

    /// The files that [`Churn::delete_half`] deletes.
    #[must_use]
    pub fn deleted_files(&self) -> &[PathBuf] {
        &self.deleted_files
    }

    /// How many paths [`Churn::delete_half`] deletes.
    #[must_use]
    pub const fn deleted_paths(&self) -> usize {
        self.paths
    }

    /// The tree.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }
}

fn at(path: &Path) -> String {
    format!("deleting {}", path.display())
}

fn node(path: &Path) -> Result<Node> {
    let about = || format!("reading {}", path.display());
    let kind = std::fs::symlink_metadata(path).with_context(about)?.file_type();
    let mut children = Vec::new();
    if kind.is_dir() {
        for entry in std::fs::read_dir(path).with_context(about)? {
            children.push(node(&entry.with_context(about)?.path())?);
        }
        children.sort_unstable_by(|a: &Node, b: &Node| a.path.cmp(&b.path));
    }
    let weight = 1 + children.iter().map(|c| c.weight).sum::<usize>();
    Ok(Node { path: path.to_path_buf(), kind, weight, children })
}

fn gather(node: &Node, files: &mut Vec<PathBuf>) {
    if node.kind.is_file() {
        files.push(node.path.clone());
    }
    for child in &node.children {
        gather(child, files);
    }
}

/// Calls for the parts of a tree: what weighs no more than `limit`, or has nothing in it.
fn halve<'t>(node: &'t Node, limit: usize, part: &mut impl FnMut(&'t Node)) {
    for child in &node.children {
        if child.weight > limit && !child.children.is_empty() {
            halve(child, limit, part);
        } else {
            part(child);
        }
    }
}
