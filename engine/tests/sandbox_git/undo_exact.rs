//! Taking a commit back leaves files, metadata and index exactly as they were before it, also what was in no commit (S3, S7, S8, S11).

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::sync::Arc;

use turnback_core::PlanId;
use turnback_engine::sandbox::{CommitOptions, OnCommitConflict};
use turnback_engine::{Code, Sandbox, SandboxManager, SandboxOptions};

use crate::commit::commit;
use crate::common::picture::{Tree, same};
use crate::common::process::{Mount, skip};
use crate::ground::{Ground, ctx, write};

/// What the user has: all files with their metadata, what the index says, what git says of both, where HEAD is.
pub struct State {
    pub files: Tree,
    index: String,
    status: String,
    head: String,
}

impl State {
    pub fn of(ground: &Ground) -> Self {
        let head = ground.try_git_at(&ground.work(), &["rev-parse", "-q", "--verify", "HEAD"]);
        Self {
            files: Tree::of(&ground.work()).without(&[".git"]),
            index: ground.git(&["ls-files", "-s", "-t", "-v"]),
            status: ground.git(&["status", "--porcelain", "--no-renames", "--untracked-files=all"]),
            head: String::from_utf8(head.stdout).unwrap(),
        }
    }

    #[track_caller]
    pub fn is_still(&self, ground: &Ground) {
        let now = Self::of(ground);
        same(&now.files, &self.files);
        assert_eq!(now.index, self.index);
        assert_eq!((now.status, now.head), (self.status.clone(), self.head.clone()));
    }
}

#[track_caller]
pub fn commit_ours(sandbox: &Arc<dyn Sandbox>) {
    let options = CommitOptions { on_conflict: OnCommitConflict::Ours, ..CommitOptions::default() };
    let report = sandbox.commit(&options, &ctx()).unwrap();
    assert!(report.committed, "{report:?}");
}

/// Both made the same edits: the commit writes no file, so that taking it back writes none either.
#[test]
fn edits_that_both_made_stay_the_users() {
    let ground = Ground::new();
    ground.write("k", "k");
    ground.write("e", "e");
    ground.write("f", "f");
    ground.commit_all("second");
    let sandbox = ground.create();
    for root in [sandbox.handle().path().to_owned(), ground.work()] {
        for name in ["new", "new2", "k", "e"] {
            write(&root, name, "same");
        }
        fs::remove_file(root.join("f")).unwrap();
        fs::remove_file(root.join("dir/b.txt")).unwrap();
        fs::remove_dir(root.join("dir")).unwrap();
    }
    ground.git(&["add", "new2", "e"]);
    ground.git(&["rm", "-q", "--cached", "f"]);
    fs::set_permissions(ground.at("new"), fs::Permissions::from_mode(0o600)).unwrap();
    let before = State::of(&ground);
    let report = commit(&sandbox);
    assert!(report.committed, "{report:?}");
    assert_eq!(ground.git(&["status", "--porcelain"]), "");
    let report = sandbox.undo_commit(&ctx()).unwrap();
    assert!(report.restored, "{report:?}");
    assert_eq!((report.written, report.deleted, report.actions.len()), (0, 0, 0));
    before.is_still(&ground);
    // And again, with one path that only the sandbox changed.
    write(sandbox.handle().path(), "a.txt", "the sandbox's");
    commit(&sandbox);
    assert_eq!(ground.read("a.txt"), "the sandbox's");
    let report = sandbox.undo_commit(&ctx()).unwrap();
    assert_eq!(report.written, 1, "{report:?}");
    before.is_still(&ground);
}

/// What gave way to the sandbox comes back with its metadata: untracked, staged, edited, unmerged, and what was only staged.
#[test]
fn what_gave_way_comes_back() {
    let ground = Ground::new();
    ground.write("s", "s");
    ground.write("u", "u");
    ground.write("v", "v");
    ground.write("deep/er/one", "1");
    ground.commit_all("second");
    ground.git(&["checkout", "-q", "-b", "side"]);
    ground.write("v", "side");
    ground.commit_all("side");
    ground.git(&["checkout", "-q", "main"]);
    ground.write("v", "main");
    ground.commit_all("third");
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    for name in ["untracked", "added", "link2", "s", "u", "v", "gone", "run.sh", "intent"] {
        write(&path, name, format!("the sandbox's {name}"));
    }
    fs::remove_file(path.join("a.txt")).unwrap();
    fs::remove_dir_all(path.join("deep")).unwrap();
    let unmerged = ground.try_git_at(&ground.work(), &["cherry-pick", "--no-commit", "side"]);
    assert!(!unmerged.status.success());
    ground.write("untracked", "MINE");
    ground.write("added", "MY STAGED");
    symlink("nowhere", ground.at("link2")).unwrap();
    ground.write("s", "staged");
    ground.write("u", "staged");
    ground.write("intent", "later");
    ground.git(&["add", "added", "s", "u"]);
    ground.git(&["add", "-N", "intent"]);
    ground.write("u", "edited after that");
    ground.write("run.sh", "edited");
    ground.write("a.txt", "edited");
    fs::set_permissions(ground.at("untracked"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::set_permissions(ground.at("deep/er"), fs::Permissions::from_mode(0o700)).unwrap();
    assert!(ground.git(&["status", "--porcelain"]).contains("UU v"));
    let before = State::of(&ground);
    commit_ours(&sandbox);
    assert_eq!(ground.read("untracked"), "the sandbox's untracked");
    assert_eq!(ground.git(&["status", "--porcelain"]), "");
    let report = sandbox.undo_commit(&ctx()).unwrap();
    assert!(report.restored, "{report:?}");
    before.is_still(&ground);
    ground.git(&["fsck", "--strict"]);
}

/// Flags of the index, and what lies beneath a directory that another thing takes the place of.
#[test]
fn flags_and_metadata_come_back() {
    let ground = Ground::new();
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    write(&path, "a.txt", "changed");
    write(&path, "dir/b.txt", "changed");
    ground.git(&["update-index", "--assume-unchanged", "a.txt"]);
    fs::set_permissions(ground.at("dir"), fs::Permissions::from_mode(0o750)).unwrap();
    fs::set_permissions(ground.at("dir/b.txt"), fs::Permissions::from_mode(0o600)).unwrap();
    let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::open(ground.at("dir/b.txt")).unwrap().set_modified(time).unwrap();
    let before = State::of(&ground);
    assert!(commit(&sandbox).committed);
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    before.is_still(&ground);
}

/// A plan whose later resource cannot be written: the first one is as it was (S11).
#[test]
fn a_plan_that_fails_leaves_the_users_files() {
    let ground = Ground::new();
    let plans = SandboxManager::new(&ground.manager);
    let plan: PlanId = "p".parse().unwrap();
    let first = plans.get_or_create(&plan, &ground.options(), &ctx()).unwrap();
    let other = ground.dir().join("other");
    fs::create_dir(&other).unwrap();
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs"], &other) else {
        return skip("tmpfs cannot be mounted here (a read-only file system)");
    };
    fs::write(other.join("f"), "1").unwrap();
    let second = plans.get_or_create(&plan, &SandboxOptions::new(&other), &ctx()).unwrap();
    write(first.handle().path(), "u", "same");
    write(first.handle().path(), "a.txt", "changed");
    write(second.handle().path(), "f", "2");
    ground.write("u", "same");
    let before = State::of(&ground);
    let remounted = Command::new("mount").args(["-o", "remount,ro"]).arg(&other).status().unwrap();
    assert!(remounted.success());
    let error = plans.commit_all(&plan, &CommitOptions::default(), &ctx()).unwrap_err();
    assert_eq!(error.code(), Code::PermissionDenied, "{error}");
    before.is_still(&ground);
}
