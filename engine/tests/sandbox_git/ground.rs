//! A repository, a store, and the sandboxes between them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use tempfile::TempDir;
use turnback_engine::sandbox::StrategyName;
use turnback_engine::{Change, Context, Manager, Sandbox, SandboxOptions, Sandboxes};

use crate::common::place::{files_beneath, open};

pub struct Ground {
    dir: TempDir,
    pub manager: Manager,
    pub sandboxes: Sandboxes,
}

pub fn ctx() -> Context {
    Context::default()
}

/// Git with nobody's configuration.
pub fn git_command(home: &Path, at: &Path) -> Command {
    let mut command = Command::new("git");
    command.env_clear().current_dir(at);
    for (name, value) in [
        ("PATH", std::env::var("PATH").unwrap().as_str()),
        ("HOME", home.to_str().unwrap()),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "A"),
        ("GIT_AUTHOR_EMAIL", "a@example.org"),
        ("GIT_COMMITTER_NAME", "A"),
        ("GIT_COMMITTER_EMAIL", "a@example.org"),
    ] {
        command.env(name, value);
    }
    command
}

impl Ground {
    /// A repository with a first commit: `a.txt` of five lines, `dir/b.txt`, `run.sh`, a link.
    pub fn new() -> Self {
        let ground = Self::empty();
        ground.write("a.txt", "1\n2\n3\n4\n5\n");
        ground.write("dir/b.txt", "b\n");
        ground.write("run.sh", "#!/bin/sh\n");
        fs::set_permissions(ground.at("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("a.txt", ground.at("link")).unwrap();
        ground.commit_all("first");
        ground
    }

    /// A repository without a commit.
    pub fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        fs::create_dir(dir.path().join("home")).unwrap();
        let manager = open(&dir.path().join("store")).unwrap();
        let sandboxes = Sandboxes::new(&manager);
        let ground = Self { dir, manager, sandboxes };
        ground.git(&["init", "-q", "-b", "main"]);
        ground
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn home(&self) -> PathBuf {
        self.dir().join("home")
    }

    pub fn work(&self) -> PathBuf {
        self.dir().join("work")
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.work().join(path)
    }

    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        write(&self.work(), path, bytes);
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    pub fn try_git_at(&self, at: &Path, arguments: &[&str]) -> Output {
        git_command(&self.home(), at).args(arguments).output().unwrap()
    }

    /// Runs git, which must succeed, and gives what it prints.
    #[track_caller]
    pub fn git_at(&self, at: &Path, arguments: &[&str]) -> String {
        let output = self.try_git_at(at, arguments);
        assert!(
            output.status.success(),
            "git {arguments:?}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        self.git_at(&self.work(), arguments)
    }

    #[track_caller]
    pub fn commit_all(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--no-verify", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub fn options(&self) -> SandboxOptions {
        SandboxOptions { strategy: StrategyName::GitWorktree, ..SandboxOptions::new(self.work()) }
    }

    #[track_caller]
    pub fn create(&self) -> Arc<dyn Sandbox> {
        self.sandboxes.create(&self.options(), &ctx()).unwrap()
    }

    /// Everything in the repository, byte for byte, but for objects, which only ever come.
    pub fn repository(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        snapshot(&self.work().join(".git"), "objects")
    }

    /// All files outside of `.git`.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        snapshot(&self.work(), ".git")
    }

    /// Nothing of any sandbox is left anywhere.
    #[track_caller]
    pub fn is_clean(&self) {
        assert!(!self.dir().join("store-sandboxes").exists());
        let left = fs::read_dir(self.dir().join("store/sandboxes")).map(Iterator::count).unwrap_or(0);
        assert_eq!(left, 0, "records");
        assert!(!self.at(".git/worktrees").exists(), "a registration is left");
        assert_eq!(self.git(&["for-each-ref", "refs/heads/turnback", "refs/heads/turnback*"]), "");
        assert!(!self.at(".git/refs/heads/turnback").exists());
        assert_eq!(locks(&self.at(".git")), Vec::<PathBuf>::new());
        self.git(&["fsck", "--strict"]);
    }
}

/// All lock files.
pub fn locks(git: &Path) -> Vec<PathBuf> {
    files_beneath(git).into_iter().filter(|path| path.extension().is_some_and(|e| e == "lock")).collect()
}

pub fn write(root: &Path, path: &str, bytes: impl AsRef<[u8]>) {
    let full = root.join(path);
    fs::create_dir_all(full.parent().unwrap()).unwrap();
    fs::write(full, bytes).unwrap();
}

/// The files beneath a directory with their bytes (links: their target), save what lies in one of its own directories.
pub fn snapshot(directory: &Path, but: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let but = directory.join(but);
    let inside = |path: &PathBuf| !path.starts_with(&but);
    files_beneath(directory)
        .into_iter()
        .filter(inside)
        .map(|path| {
            let metadata = fs::symlink_metadata(&path).unwrap();
            let bytes = if metadata.is_symlink() {
                fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()
            } else if metadata.is_dir() {
                Vec::new()
            } else {
                [&fs::read(&path).unwrap()[..], metadata.permissions().mode().to_string().as_bytes()].concat()
            };
            (path.strip_prefix(directory).unwrap().to_owned(), bytes)
        })
        .collect()
}

/// The paths of changes, with their kinds.
pub fn shown(changes: &[Change]) -> Vec<(String, &'static str)> {
    changes.iter().map(|c| (c.path.to_string(), c.kind.as_str())).collect()
}

/// The paths whose content differs from the baseline; directories of which only the time changed left out.
#[track_caller]
pub fn changes(sandbox: &Arc<dyn Sandbox>) -> Vec<(String, &'static str)> {
    let mut changes = sandbox.changes(&ctx()).unwrap();
    changes.retain(|change| change.kind.as_str() != "metadata");
    shown(&changes)
}
