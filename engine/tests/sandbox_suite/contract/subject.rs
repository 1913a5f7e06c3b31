//! What is tried: a strategy, a mechanism, and a file system, with a resource that the strategy takes whole.

use std::fmt;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use turnback_engine::Sandbox;
use turnback_engine::sandbox::{CommitOptions, Mechanism, MechanismChoice, StrategyName};

use crate::common::everything::{build, chmod, damage};
use crate::common::picture::{Tree, What};
use crate::common::place::noise;
use crate::ground::Kind;
use crate::place::{Place, changes, ctx};

#[derive(Clone, Copy)]
pub struct Subject {
    pub kind: Kind,
    pub strategy: StrategyName,
    pub asked: MechanismChoice,
    pub says: Says,
}

/// What a sandbox has to say of its mechanism.
#[derive(Clone, Copy, PartialEq)]
pub enum Says {
    /// It has none.
    Nothing,
    Has(Mechanism),
    /// It is refused.
    CannotBeHad,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {} {}", self.kind, self.strategy, self.asked)
    }
}

/// Git with nobody's configuration.
pub fn git(at: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.env_clear().current_dir(at).env("PATH", std::env::var_os("PATH").unwrap());
    for (name, value) in [
        ("HOME", "/nonexistent"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "A"),
        ("GIT_AUTHOR_EMAIL", "a@example.org"),
        ("GIT_COMMITTER_NAME", "A"),
        ("GIT_COMMITTER_EMAIL", "a@example.org"),
    ] {
        command.env(name, value);
    }
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

impl Subject {
    pub fn is_git(self) -> bool {
        self.strategy == StrategyName::GitWorktree
    }

    #[track_caller]
    pub fn create(self, place: &Place) -> Arc<dyn Sandbox> {
        place.sandboxes.create(&place.with(self.strategy, self.asked), &ctx()).unwrap()
    }

    /// Makes what lies in the resource something that the strategy takes: for `git_worktree`, commits it.
    pub fn settle(self, place: &Place) {
        if self.is_git() {
            if !place.resource().join(".git").exists() {
                git(&place.resource(), &["init", "-q", "-b", "main"]);
            }
            git(&place.resource(), &["add", "-A"]);
            git(&place.resource(), &["commit", "-q", "--allow-empty", "-m", "as it is"]);
        }
    }

    /// A sandbox of a resource with some files.
    #[track_caller]
    pub fn small(self, place: &Place, files: &[(&str, &str)]) -> Arc<dyn Sandbox> {
        for (path, bytes) in files {
            place.write(path, bytes);
        }
        self.settle(place);
        self.create(place)
    }

    /// A sandbox of a resource with every kind of path that the strategy takes.
    #[track_caller]
    pub fn full(self, place: &Place) -> Arc<dyn Sandbox> {
        let outside = place.dir().join("outside");
        fs::create_dir_all(&outside).unwrap();
        if self.is_git() {
            build_tracked(&place.resource());
        } else {
            build(&place.resource(), &outside);
        }
        self.settle(place);
        self.create(place)
    }

    /// Changes of every kind in a tree that [`Subject::full`] made.
    pub fn damage(self, root: &Path) {
        if self.is_git() { damage_tracked(root) } else { damage(root) }
    }

    /// What must not change in the resource: all of it, but for git's own registrations.
    pub fn untouched(self, place: &Place) -> Tree {
        if self.is_git() { place.tree().without(&[".git"]) } else { place.tree() }
    }

    /// What the strategy keeps of a tree: git has no owners, times, empty directories or links between files.
    pub fn kept(self, tree: &Tree) -> Tree {
        if !self.is_git() {
            return tree.clone();
        }
        let mut tree = tree.without(&[".git"]);
        for (path, item) in &mut tree.0 {
            let is_run = item.mode & 0o100 != 0;
            item.mode = match item.what {
                What::File { .. } if is_run => 0o100,
                _ => 0,
            };
            (item.owner, item.mtime, item.group) = ((0, 0), (0, 0), path.clone());
        }
        tree
    }

    /// The contents that a commit has to bring home; git has no directories.
    pub fn contents(self, tree: &Tree) -> Vec<(Vec<u8>, What)> {
        let all = self.kept(tree).0.into_iter().map(|(path, item)| (path, item.what));
        all.filter(|(_, what)| !self.is_git() || *what != What::Directory).collect()
    }

    /// Nothing is held back, as far as the strategy can help it.
    pub fn everything(self) -> CommitOptions {
        CommitOptions { allow_git: !self.is_git(), allow_trusted: true, ..CommitOptions::default() }
    }

    /// What differs from the baseline; of the directories of a worktree only the time does when their entries change.
    pub fn changes(self, sandbox: &Arc<dyn Sandbox>) -> Vec<(String, &'static str)> {
        let mut changes = changes(sandbox);
        changes.retain(|(path, kind)| !self.is_git() || *kind != "metadata" || path.contains('.'));
        changes
    }

    /// Nothing of any sandbox is left anywhere.
    #[track_caller]
    pub fn is_clean(self, place: &Place, checkpoints: usize) {
        place.is_clean(checkpoints);
        if self.is_git() {
            assert!(!place.resource().join(".git/worktrees").exists(), "a registration is left");
            let left = git(&place.resource(), &["for-each-ref", "--format=%(refname)", "refs/heads"]);
            assert_eq!(left, "refs/heads/main", "a branch is left");
            git(&place.resource(), &["fsck", "--strict"]);
        }
    }
}

fn put(root: &Path, path: &str, bytes: impl AsRef<[u8]>) {
    let full = root.join(path);
    fs::create_dir_all(full.parent().unwrap()).unwrap();
    fs::write(full, bytes).unwrap();
}

/// Everything that git keeps.
fn build_tracked(root: &Path) {
    put(root, "a.txt", "hello");
    put(root, "crlf.txt", "a\r\nb\r\n");
    put(root, ".gitattributes", "* text=auto ident\n*.dat filter=foo\n");
    put(root, "ident", "$Id$\n");
    put(root, "x.dat", "clean me");
    put(root, "empty", "");
    put(root, "big.bin", noise(1, (3 << 20) + 17));
    put(root, "run.sh", "#!/bin/sh\n");
    chmod(&root.join("run.sh"), 0o755);
    put(root, "deep/er/file", "1");
    put(root, "gone/one", "1");
    put(root, "gone/two", "2");
    put(root, "names/a\nb", "newline");
    put(root, "names/\u{1b}[31m", "escape");
    put(root, "names/-rf", "an option?");
    symlink("a.txt", root.join("link")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    symlink(root.parent().unwrap().join("outside"), root.join("absolute")).unwrap();
    // What git would convert is stored as it is, as by a tool that does not know of attributes.
    git(root, &["init", "-q", "-b", "main"]);
    put(root, ".git/info/attributes", "* -text -ident -filter\n");
}

fn damage_tracked(root: &Path) {
    put(root, "a.txt", "HELLO");
    put(root, "crlf.txt", "a\nb\n");
    put(root, "empty", "not any more");
    put(root, "big.bin", noise(2, 1 << 20));
    chmod(&root.join("run.sh"), 0o644);
    fs::remove_dir_all(root.join("gone")).unwrap();
    put(root, "gone", "a file where a directory was");
    fs::remove_file(root.join("deep/er/file")).unwrap();
    put(root, "deep/new", "n");
    fs::remove_file(root.join("link")).unwrap();
    put(root, "link", "a file now");
    fs::remove_file(root.join("dangling")).unwrap();
    symlink("elsewhere", root.join("dangling")).unwrap();
    put(root, "brand/new/tree/logo.bin", noise(3, 5000));
    put(root, "brand/run", "#!/bin/sh\n");
    chmod(&root.join("brand/run"), 0o755);
}
