//! A shadow repository, as agents use one: a `GIT_DIR` of its own over the workspace, without any configuration of the machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// Which files the repository takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Covers {
    /// All, ignored ones forced in.
    Everything,
    /// What `.gitignore` leaves.
    NotIgnored,
}

/// A shadow repository.
#[derive(Debug, Clone)]
pub struct ShadowGit {
    git_dir: PathBuf,
    workspace: PathBuf,
    covers: Covers,
}

impl ShadowGit {
    /// Makes a repository at `git_dir`, which must be missing.
    ///
    /// # Errors
    /// When `git` is missing or fails.
    pub fn init(git_dir: &Path, workspace: &Path, covers: Covers) -> Result<Self> {
        let git = Self { git_dir: git_dir.to_path_buf(), workspace: workspace.to_path_buf(), covers };
        git.run(&["init", "--quiet"])?;
        Ok(git)
    }

    /// `git add -A && git write-tree`; returns the tree's id.
    ///
    /// # Errors
    /// When `git` fails.
    pub fn snapshot(&self) -> Result<String> {
        match self.covers {
            Covers::Everything => self.run(&["add", "--all", "--force"])?,
            Covers::NotIgnored => self.run(&["add", "--all"])?,
        };
        Ok(self.run(&["write-tree"])?.trim().to_owned())
    }

    /// `git read-tree --reset && git checkout-index -f -a`: writes what is missing or differs, deletes nothing. `--reset` keeps what
    /// the index knows of files that are the same, so that they are not written again.
    ///
    /// # Errors
    /// When `git` fails.
    pub fn restore(&self, tree: &str) -> Result<()> {
        self.run(&["read-tree", "--reset", tree])?;
        self.run(&["checkout-index", "--force", "--all"])?;
        Ok(())
    }

    /// How many paths the repository covers.
    ///
    /// # Errors
    /// When `git` fails.
    pub fn covered(&self) -> Result<usize> {
        Ok(self.run(&["ls-files", "-z"])?.matches('\0').count())
    }

    fn run(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"GIT_"))
        {
            command.env_remove(name);
        }
        let output = command
            .args(arguments)
            .current_dir(&self.workspace)
            .env("GIT_DIR", &self.git_dir)
            .env("GIT_WORK_TREE", &self.workspace)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("HOME", &self.git_dir)
            .env("LC_ALL", "C")
            .output()
            .context("starting git")?;
        if !output.status.success() {
            bail!("git {} failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
