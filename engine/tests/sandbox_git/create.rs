//! Making, changing, rolling back and cleaning up.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use turnback_engine::sandbox::Owner;
use turnback_engine::{Code, SandboxOptions};

use crate::common::place::code;
use crate::ground::{Ground, changes, ctx, snapshot, write};

#[test]
fn is_a_worktree_on_a_branch_of_its_own() {
    let ground = Ground::new();
    let before = ground.repository();
    let files = ground.files();
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    assert!(!path.starts_with(ground.work()), "S7: outside the repository");
    let branch = sandbox.git().unwrap().branch.clone();
    // Stock git takes it for a worktree of its own, clean, on that branch.
    assert_eq!(ground.git_at(&path, &["status", "--porcelain=v2", "--ignored"]), "");
    assert_eq!(ground.git_at(&path, &["rev-parse", "--abbrev-ref", "HEAD"]), branch);
    assert!(ground.git(&["worktree", "list"]).contains(path.to_str().unwrap()));
    assert_eq!(ground.git(&["rev-parse", &branch]), ground.git(&["rev-parse", "HEAD"]));
    ground.git(&["fsck", "--strict"]);
    assert_eq!(ground.git(&["status", "--porcelain"]), "");
    assert_eq!(snapshot(&path, ".git"), files);
    assert_eq!(changes(&sandbox), []);

    write(&path, "a.txt", "changed");
    write(&path, "new/file", "x");
    fs::remove_file(path.join("dir/b.txt")).unwrap();
    let mut found = changes(&sandbox);
    found.retain(|(path, _)| !matches!(path.as_str(), "new" | "dir"));
    let expected = [("a.txt", "modified"), ("dir/b.txt", "deleted"), ("new/file", "added")]
        .map(|(p, k)| (p.to_owned(), k));
    assert_eq!(found, expected);
    assert_eq!(ground.files(), files, "S4");
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
    assert_eq!(changes(&sandbox), []);
    assert_eq!(ground.git_at(&path, &["status", "--porcelain"]), "");

    sandbox.cleanup(false, &ctx()).unwrap();
    ground.is_clean();
    assert_eq!(ground.repository(), before, "nothing of it stays in the repository");
}

/// S8, F33: blobs are written byte for byte.
#[test]
fn no_byte_is_converted() {
    let ground = Ground::empty();
    for (name, value) in [("core.autocrlf", "true"), ("core.eol", "crlf"), ("filter.lfs.smudge", "false")] {
        ground.git(&["config", name, value]);
    }
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12345\n";
    ground.write("lf.txt", "a\nb\n");
    ground.write("crlf.bin", "a\r\nb\r\n");
    ground.write("id.c", "$Id$\n");
    ground.write("big.psd", pointer);
    for name in ["报告.txt", " lead", "a\nb", "a\tb", ":(top)x", "*.py", "-rf"] {
        ground.write(name, name);
    }
    let bytes = std::ffi::OsStr::from_bytes(b"\xff\xfe");
    fs::write(ground.work().join(bytes), "bytes").unwrap();
    // Attributes come later, so that git stores what is written here.
    ground.git(&["-c", "core.autocrlf=false", "add", "-A"]);
    ground.write(
        ".gitattributes",
        "*.txt text eol=crlf\n*.c ident\n*.psd filter=lfs\nenc text working-tree-encoding=UTF-16\n",
    );
    ground.write("enc", "x");
    ground.git(&["-c", "core.autocrlf=false", "-c", "filter.lfs.clean=cat", "add", ".gitattributes"]);
    ground.git(&["commit", "-q", "-m", "first"]);
    let sandbox = ground.create();
    let path = sandbox.handle().path();
    let read = |name: &str| fs::read(path.join(name)).unwrap();
    assert_eq!(read("lf.txt"), b"a\nb\n");
    assert_eq!(read("crlf.bin"), b"a\r\nb\r\n");
    assert_eq!(read("id.c"), b"$Id$\n");
    assert_eq!(read("big.psd"), pointer.as_bytes());
    for name in ["报告.txt", " lead", "a\nb", "a\tb", ":(top)x", "*.py", "-rf"] {
        assert_eq!(read(name), name.as_bytes(), "F36");
    }
    assert_eq!(fs::read(path.join(bytes)).unwrap(), b"bytes");
    let info = sandbox.git().unwrap();
    let lfs: Vec<_> = info.lfs_paths.iter().map(ToString::to_string).collect();
    assert_eq!((info.lfs_pointers, lfs), (1, vec!["big.psd".to_owned()]), "reported");
}

/// S8: whatever HEAD is.
#[test]
fn detached_unborn_packed_and_linked() {
    // Detached.
    let ground = Ground::new();
    ground.git(&["checkout", "-q", "--detach"]);
    ground.git(&["pack-refs", "--all"]);
    ground.git(&["gc", "-q"]);
    let sandbox = ground.create();
    assert_eq!(fs::read_to_string(sandbox.handle().path().join("dir/b.txt")).unwrap(), "b\n");
    // Packed by the user meanwhile: it is taken out of `packed-refs` again.
    ground.git(&["pack-refs", "--all"]);
    sandbox.cleanup(false, &ctx()).unwrap();
    ground.is_clean();
    assert!(ground.git(&["for-each-ref"]).contains("refs/heads/main"));

    // Unborn.
    let unborn = Ground::empty();
    let sandbox = unborn.create();
    let path = sandbox.handle().path();
    assert_eq!(unborn.git_at(path, &["status", "--porcelain"]), "");
    write(path, "f", "x");
    assert_eq!(changes(&sandbox), [("f".to_owned(), "added")]);
    sandbox.cleanup(true, &ctx()).unwrap();
    unborn.is_clean();

    // A resource that is a worktree itself.
    let linked = ground.dir().join("linked");
    ground.git(&["branch", "other"]);
    ground.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "other"]);
    let options = SandboxOptions { resource: linked.clone(), ..ground.options() };
    let sandbox = ground.sandboxes.create(&options, &ctx()).unwrap();
    assert_eq!(ground.git_at(sandbox.handle().path(), &["status", "--porcelain"]), "");
    sandbox.cleanup(false, &ctx()).unwrap();
    ground.git(&["worktree", "remove", linked.to_str().unwrap()]);
    ground.is_clean();

    // A user's branch of our name is in nobody's way.
    ground.git(&["branch", "turnback"]);
    let sandbox = ground.create();
    assert!(sandbox.git().unwrap().branch.starts_with("turnback-"));
    sandbox.cleanup(false, &ctx()).unwrap();
    assert_eq!(
        ground.git(&["for-each-ref", "--format=%(refname)", "refs/heads/turnback*"]),
        "refs/heads/turnback"
    );
}

/// S8: a dirty resource is not looked at, and stays as it is.
#[test]
fn begins_with_the_commit_of_a_dirty_resource() {
    let ground = Ground::new();
    ground.write("a.txt", "dirty");
    ground.write("staged", "s");
    ground.git(&["add", "staged"]);
    ground.write("untracked", "u");
    let (before, files) = (ground.repository(), ground.files());
    let sandbox = ground.create();
    let path = sandbox.handle().path();
    assert_eq!(fs::read_to_string(path.join("a.txt")).unwrap(), "1\n2\n3\n4\n5\n");
    assert!(!path.join("staged").exists() && !path.join("untracked").exists());
    sandbox.cleanup(false, &ctx()).unwrap();
    assert_eq!((ground.repository(), ground.files()), (before, files));
}

#[test]
fn carries_changes_and_seeds() {
    let ground = Ground::new();
    ground.write(".gitignore", "ignored/\n*.log\n!keep.log\n");
    ground.write("gone", "x");
    ground.write("becomes/file", "x");
    ground.commit_all("second");
    ground.write("a.txt", "dirty");
    fs::remove_file(ground.at("gone")).unwrap();
    fs::remove_dir_all(ground.at("becomes")).unwrap();
    ground.write("becomes", "a file");
    ground.write("untracked/u", "u");
    ground.write("keep.log", "kept");
    ground.write("drop.log", "left out");
    ground.write("ignored/deep/dep.js", "dep");
    ground.write("ignored/other", "other");
    ground.write(".env", "SECRET=1");
    ground.git(&["add", "untracked"]);
    let mut options = ground.options();
    options.carry_changes = true;
    options.seed = vec!["ignored/deep".into(), "./.env".into()];
    let sandbox = ground.sandboxes.create(&options, &ctx()).unwrap();
    let path = sandbox.handle().path();
    let read = |name: &str| fs::read_to_string(path.join(name)).ok();
    assert_eq!(read("a.txt").as_deref(), Some("dirty"));
    assert_eq!(read("gone"), None);
    assert_eq!(read("becomes").as_deref(), Some("a file"));
    assert_eq!(read("untracked/u").as_deref(), Some("u"));
    assert_eq!(read("keep.log").as_deref(), Some("kept"));
    assert_eq!(read("drop.log"), None, "ignored");
    assert_eq!(read("ignored/deep/dep.js").as_deref(), Some("dep"), "seeded");
    assert_eq!(read("ignored/other"), None);
    assert_eq!(read(".env").as_deref(), Some("SECRET=1"));
    assert_eq!(changes(&sandbox), [], "it is the baseline");
    sandbox.cleanup(false, &ctx()).unwrap();
    ground.is_clean();
    for (seed, expected) in [
        ("../x", Code::InvalidArgument),
        ("/etc", Code::InvalidArgument),
        (".git/config", Code::InvalidArgument),
        ("", Code::InvalidArgument),
        ("missing", Code::NotFound),
    ] {
        let mut options = ground.options();
        options.seed = vec![Path::new(seed).to_owned()];
        assert_eq!(code(ground.sandboxes.create(&options, &ctx())), expected, "{seed}");
    }
    // Others have no such thing.
    let mut options = SandboxOptions::new(ground.work());
    options.carry_changes = true;
    assert_eq!(code(ground.sandboxes.create(&options, &ctx())), Code::InvalidArgument);
    ground.is_clean();
}

/// F2, input 96: neither files nor commits are lost.
#[test]
fn cleanup_loses_nothing() {
    let ground = Ground::new();
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    write(&path, "new", "work");
    let refused = sandbox.cleanup(false, &ctx()).unwrap_err();
    assert_eq!(refused.code(), Code::UnsavedWork);
    // The agent's own commit on the branch: it stays, and so does the branch that leads to it.
    ground.git_at(&path, &["add", "-A"]);
    ground.git_at(&path, &["commit", "-q", "-m", "by the agent"]);
    let commit = ground.git_at(&path, &["rev-parse", "HEAD"]);
    let branch = sandbox.git().unwrap().branch.clone();
    let saved = sandbox.cleanup(true, &ctx()).unwrap().saved_checkpoint_id.unwrap();
    assert!(!path.exists());
    assert!(!ground.at(".git/worktrees").exists());
    assert_eq!(ground.git(&["rev-parse", &branch]), commit);
    let back = ground.dir().join("back");
    ground.manager.export(saved, &back, &ctx()).unwrap();
    assert_eq!(fs::read_to_string(back.join("new")).unwrap(), "work");
    // Merged by the user, another sandbox's branch goes.
    ground.git(&["merge", "-q", &branch]);
    let sandbox = ground.create();
    sandbox.cleanup(false, &ctx()).unwrap();
    let left = ground.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/turnback"]);
    assert_eq!(left, branch, "only the one that was kept");
}

/// Input 96: whatever became of worktree, registration and branch meanwhile.
#[test]
fn cleanup_of_what_is_gone_already() {
    let ground = Ground::new();
    let first = ground.create();
    fs::remove_dir_all(first.handle().path()).unwrap();
    ground.git(&["worktree", "prune", "--expire=now"]);
    first.cleanup(true, &ctx()).unwrap();
    ground.is_clean();
    let second = ground.create();
    ground.git(&["worktree", "remove", "--force", second.handle().path().to_str().unwrap()]);
    ground.git(&["branch", "-D", &second.git().unwrap().branch]);
    second.cleanup(true, &ctx()).unwrap();
    ground.is_clean();
    let third = ground.create();
    ground.git(&["worktree", "lock", third.handle().path().to_str().unwrap()]);
    third.cleanup(false, &ctx()).unwrap();
    ground.is_clean();
    // The whole repository is gone, and another one lies there: nothing in it is touched.
    let fourth = ground.create();
    fs::rename(ground.at(".git"), ground.dir().join("old.git")).unwrap();
    ground.git(&["init", "-q", "-b", "main"]);
    let before = ground.repository();
    fourth.cleanup(false, &ctx()).unwrap();
    assert_eq!(ground.repository(), before);
}

/// S9.
#[test]
fn names_never_collide_and_orphans_go() {
    let ground = Ground::new();
    let all: Vec<_> = (0..3).map(|_| ground.create()).collect();
    let branches: std::collections::BTreeSet<_> =
        all.iter().map(|s| s.git().unwrap().branch.clone()).collect();
    assert_eq!(branches.len(), 3);
    write(all[1].handle().path(), "work", "x");
    let kept = all[1].handle().id().clone();
    drop(all);
    let listed = ground.sandboxes.list(&ctx()).unwrap();
    assert!(listed.iter().all(|info| info.owner == Owner::Orphan), "{listed:?}");
    let report = ground.sandboxes.cleanup_abandoned(&ctx()).unwrap();
    assert_eq!(report.removed.len(), 2);
    assert_eq!(report.kept.iter().map(|k| &k.id).collect::<Vec<_>>(), [&kept]);
    let again = ground.sandboxes.attach(&kept, &ctx()).unwrap();
    assert_eq!(again.writable_paths(), [again.handle().path().to_owned(), ground.at(".git")], "F61");
    again.cleanup(true, &ctx()).unwrap();
    ground.is_clean();
}
