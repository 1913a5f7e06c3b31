//! Committing and merging (S7, S8).

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;

use turnback_core::SandboxStatus;
use turnback_engine::sandbox::{CommitOptions, CommitReport, MergeMode};
use turnback_engine::{Code, Sandbox};

use crate::common::place::code;
use crate::ground::{Ground, ctx, locks, shown, write};

pub fn commit(sandbox: &Arc<dyn Sandbox>) -> CommitReport {
    sandbox.commit(&CommitOptions::default(), &ctx()).unwrap()
}

pub fn held(report: &CommitReport) -> Vec<(String, &'static str)> {
    report.held_back.iter().map(|held| (held.path.to_string(), held.reason.as_str())).collect()
}

/// What git shows of the resource besides files and commits.
fn others(ground: &Ground) -> Vec<String> {
    let list = ["for-each-ref", "--exclude=refs/heads/main", "--exclude=refs/heads/turnback/"];
    vec![
        ground.git(&list),
        ground.git(&["stash", "list", "--format=%H"]),
        ground.git(&["config", "--list", "--local"]),
    ]
}

#[test]
fn a_resource_that_stood_still_is_moved_on() {
    let ground = Ground::new();
    ground.git(&["config", "user.name", "Own Name"]);
    ground.git(&["config", "user.email", "own@example.org"]);
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    write(&path, "a.txt", "1\n2\n3\n4\nfive\n");
    write(&path, "logo.png", [0u8, 159, 255, 0]);
    write(&path, "deep/new/file", "x");
    write(&path, "large", crate::common::place::noise(7, 3 << 20));
    fs::remove_file(path.join("dir/b.txt")).unwrap();
    fs::remove_file(path.join("link")).unwrap();
    symlink("dir", path.join("link")).unwrap();
    fs::set_permissions(path.join("a.txt"), fs::Permissions::from_mode(0o4755)).unwrap();
    let options =
        CommitOptions { message: Some("The agent's work\n\nAll of it".into()), ..CommitOptions::default() };
    let report = sandbox.commit(&options, &ctx()).unwrap();
    assert!(report.committed && report.conflicts.is_empty());
    assert_eq!(held(&report), []);
    assert_eq!(sandbox.handle().status().unwrap(), SandboxStatus::Committed);
    let commit = report.commit.clone().unwrap();
    assert_eq!(ground.git(&["rev-parse", "HEAD"]), commit);
    assert_eq!(ground.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(
        ground.git(&["rev-parse", report.branch.as_deref().unwrap()]),
        commit,
        "moved on without a merge"
    );
    assert_eq!(
        ground.git(&["log", "-1", "--format=%an <%ae>%n%B"]),
        "Own Name <own@example.org>\nThe agent's work\n\nAll of it"
    );
    assert_eq!(ground.git(&["status", "--porcelain"]), "");
    assert_eq!(ground.git(&["diff", "HEAD"]), "");
    assert_eq!(ground.git_at(&path, &["status", "--porcelain"]), "", "the sandbox's own index");
    ground.git(&["fsck", "--strict"]);
    assert_eq!(ground.read("a.txt"), "1\n2\n3\n4\nfive\n");
    assert_eq!(fs::read(ground.at("logo.png")).unwrap(), [0u8, 159, 255, 0]);
    assert_eq!(fs::read(ground.at("large")).unwrap(), crate::common::place::noise(7, 3 << 20));
    assert_eq!(fs::read_link(ground.at("link")).unwrap().to_str(), Some("dir"));
    assert!(!ground.at("dir").exists(), "git has no empty directories");
    let mode = fs::metadata(ground.at("a.txt")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755, "S6: no set-id bits");
    assert!(ground.git(&["reflog", "-1", "--format=%gs"]).contains("turnback"));
    assert_eq!(locks(&ground.at(".git")), Vec::<std::path::PathBuf>::new());
    assert!(shown(&report.changes).contains(&("logo.png".to_owned(), "added")));
    // What is committed is the new baseline.
    assert_eq!(sandbox.changes(&ctx()).unwrap(), []);
    sandbox.cleanup(false, &ctx()).unwrap();
    ground.is_clean();
}

/// F13, F53: the resource moved on, and has changes of its own elsewhere.
#[test]
fn a_resource_that_moved_on_is_merged() {
    let ground = Ground::new();
    ground.write("staged", "old");
    ground.write("edited", "old");
    ground.commit_all("second");
    ground.write("stashed", "s");
    ground.git(&["add", "stashed"]);
    ground.git(&["stash", "-q"]);
    ground.git(&["tag", "v1"]);
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    write(&path, "a.txt", "1\n2\n3\n4\nfive\n");
    write(&path, "new", "n");
    ground.write("a.txt", "one\n2\n3\n4\n5\n");
    ground.git(&["commit", "-qam", "by the host"]);
    let host = ground.git(&["rev-parse", "HEAD"]);
    ground.write("staged", "staged");
    ground.git(&["add", "staged"]);
    ground.write("staged", "and edited again");
    ground.write("edited", "edited");
    ground.write("untracked", "u");
    let entries = ground.git(&["ls-files", "-s", "--debug", "staged", "edited"]);
    let before = others(&ground);
    let report = commit(&sandbox);
    assert!(report.committed, "{report:?}");
    assert_eq!(ground.read("a.txt"), "one\n2\n3\n4\nfive\n", "both");
    assert_eq!(ground.read("new"), "n");
    let parents = ground.git(&["log", "-1", "--format=%P"]);
    assert_eq!(parents.split(' ').count(), 2);
    assert!(parents.starts_with(&host));
    assert_eq!(ground.git(&["status", "--porcelain"]), " M edited\nMM staged\n?? untracked");
    assert_eq!(ground.git(&["ls-files", "-s", "--debug", "staged", "edited"]), entries, "byte for byte");
    assert_eq!(others(&ground), before);
    ground.git(&["fsck", "--strict"]);
    assert_eq!(
        (ground.read("staged").as_str(), ground.read("edited").as_str()),
        ("and edited again", "edited")
    );
}

#[test]
fn detached_and_unborn() {
    let ground = Ground::new();
    ground.git(&["checkout", "-q", "--detach"]);
    let main = ground.git(&["rev-parse", "main"]);
    let sandbox = ground.create();
    write(sandbox.handle().path(), "new", "n");
    let report = commit(&sandbox);
    assert_eq!(ground.git(&["rev-parse", "HEAD"]), report.commit.unwrap());
    assert_eq!(ground.git(&["rev-parse", "main"]), main);
    assert_eq!(ground.git(&["status", "--porcelain"]), "");
    assert!(!ground.try_git_at(&ground.work(), &["symbolic-ref", "-q", "HEAD"]).status.success());
    sandbox.cleanup(false, &ctx()).unwrap();
    ground.is_clean();

    let ground = Ground::empty();
    let sandbox = ground.create();
    write(sandbox.handle().path(), "d/new", "n");
    ground.write("untracked", "u");
    let report = commit(&sandbox);
    assert_eq!(ground.git(&["rev-parse", "main"]), report.commit.unwrap());
    assert_eq!(ground.git(&["status", "--porcelain"]), "?? untracked");
    assert_eq!(ground.read("d/new"), "n");
    sandbox.cleanup(false, &ctx()).unwrap();
    ground.is_clean();

    // Nothing at all to commit.
    let ground = Ground::empty();
    let sandbox = ground.create();
    let report = commit(&sandbox);
    assert_eq!((report.committed, report.commit), (true, None));
    assert!(!ground.try_git_at(&ground.work(), &["rev-parse", "-q", "--verify", "HEAD"]).status.success());
    sandbox.cleanup(false, &ctx()).unwrap();
    ground.is_clean();
}

/// S8: `merge: 'branch'` touches nothing but its own branch.
#[test]
fn to_the_branch_alone() {
    let ground = Ground::new();
    ground.write("a.txt", "dirty");
    fs::write(ground.at(".git/index.lock"), "").unwrap();
    let sandbox = ground.create();
    write(sandbox.handle().path(), "a.txt", "changed");
    let (repository, files) = (ground.repository(), ground.files());
    let branch = sandbox.git().unwrap().branch.clone();
    let options = CommitOptions { merge: MergeMode::Branch, ..CommitOptions::default() };
    let report = sandbox.commit(&options, &ctx()).unwrap();
    assert_eq!(ground.git(&["show", &format!("{branch}:a.txt")]), "changed");
    assert_eq!(ground.git(&["rev-parse", &branch]), report.commit.unwrap());
    let mut after = ground.repository();
    let own = |path: &std::path::Path| path.ends_with(&branch) || path.starts_with("worktrees");
    after.retain(|path, _| !own(path));
    let mut before = repository;
    before.retain(|path, _| !own(path));
    assert_eq!(after, before);
    assert_eq!(ground.files(), files);
    fs::remove_file(ground.at(".git/index.lock")).unwrap();
    // The branch is the result: it stays.
    sandbox.cleanup(false, &ctx()).unwrap();
    assert_eq!(ground.git(&["show", &format!("{branch}:a.txt")]), "changed");
}

/// S6, S8, input 106.
#[test]
fn holds_back_what_makes_the_host_run_something() {
    let ground = Ground::new();
    ground.write(".gitignore", "target/\n.env\n");
    ground.write(".vscode/settings.json", "{}");
    ground.write("target/seeded", "s");
    ground.write(".env", "SECRET");
    ground.git(&["add", "-f", "target/seeded"]);
    ground.git(&["rm", "-q", "--cached", "target/seeded"]);
    ground.commit_all("second");
    let mut options = ground.options();
    options.seed = vec![".env".into()];
    let sandbox = ground.sandboxes.create(&options, &ctx()).unwrap();
    let path = sandbox.handle().path().to_owned();
    for name in [
        ".vscode/settings.json",
        ".vscode/tasks.json",
        ".claude/settings.json",
        "sub/.envrc",
        ".husky/pre-commit",
        ".BASHRC",
        "nested/.git/config",
        "nested/.git/hooks/pre-commit",
        "GIT~1",
    ] {
        write(&path, name, "evil");
    }
    write(&path, ".env", "CHANGED");
    write(&path, "target/out/big", "built");
    write(&path, "nested/code", "of a nested repository");
    write(&path, "good", "g");
    fs::write(path.join(".git"), "gitdir: /somewhere/else\n").unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, path.join("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    let report = commit(&sandbox);
    assert!(report.committed);
    let names: Vec<_> = shown(&report.changes).into_iter().map(|(path, _)| path).collect();
    assert_eq!(names, ["good", "nested/code"].map(str::to_owned));
    let expected = [
        (".BASHRC", "trusted"),
        (".claude", "trusted"),
        (".env", "seeded"),
        (".git", "git_metadata"),
        (".husky", "trusted"),
        (".vscode", "trusted"),
        ("GIT~1", "git_metadata"),
        ("nested/.git", "git_metadata"),
        ("pipe", "special"),
        ("sub/.envrc", "trusted"),
        ("target", "ignored"),
    ];
    assert_eq!(held(&report), expected.map(|(p, r)| (p.to_owned(), r)));
    assert_eq!(ground.git(&["show", "--stat=80", "--format=", "HEAD"]).lines().count(), 3);
    assert_eq!(ground.read(".vscode/settings.json"), "{}");
    assert_eq!(ground.read(".env"), "SECRET");
    assert_eq!(ground.git(&["status", "--porcelain"]), "");
    // It is nowhere else, so it counts as unsaved (S10).
    assert_eq!(code(sandbox.cleanup(false, &ctx())), Code::UnsavedWork);
    // Allowed later, what makes the host run something goes as well.
    let options = CommitOptions { allow_trusted: true, ..CommitOptions::default() };
    let report = sandbox.commit(&options, &ctx()).unwrap();
    assert_eq!(ground.read(".vscode/settings.json"), "evil");
    assert_eq!(ground.read(".vscode/tasks.json"), "evil");
    let left: Vec<_> = held(&report).into_iter().map(|(path, _)| path).collect();
    assert_eq!(left, [".env", ".git", "GIT~1", "nested/.git", "pipe", "target"].map(str::to_owned));
    let options = CommitOptions { allow_git: true, ..CommitOptions::default() };
    assert_eq!(code(sandbox.commit(&options, &ctx())), Code::InvalidArgument);
    let saved = sandbox.cleanup(true, &ctx()).unwrap();
    assert!(saved.saved_checkpoint_id.is_some());
    ground.is_clean();
}

/// S3: a second commit carries what changed since the first.
#[test]
fn twice() {
    let ground = Ground::new();
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    write(&path, "one", "1");
    let first = commit(&sandbox).commit.unwrap();
    let same = commit(&sandbox);
    assert_eq!((same.changes.len(), same.commit), (0, Some(first)));
    ground.write("host", "h");
    ground.commit_all("by the host");
    write(&path, "two", "2");
    fs::remove_file(path.join("one")).unwrap();
    let report = commit(&sandbox);
    assert_eq!(shown(&report.changes), [("one".to_owned(), "deleted"), ("two".to_owned(), "added")]);
    assert!(!ground.at("one").exists());
    assert_eq!((ground.read("two").as_str(), ground.read("host").as_str()), ("2", "h"));
    assert_eq!(ground.git(&["status", "--porcelain"]), "");
    sandbox.cleanup(false, &ctx()).unwrap();
    ground.is_clean();
    // Only the checkpoint from before each commit that wrote something is left, and nothing pinned.
    let left = ground.manager.list(None).unwrap().checkpoints;
    assert!(left.iter().all(|c| !c.pinned && c.checkpoint.phase.as_str() == "pre_apply"), "{left:?}");
}

/// The agent uses git itself.
#[test]
fn on_top_of_what_the_agent_committed() {
    let ground = Ground::new();
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    let git = |arguments: &[&str]| ground.git_at(&path, arguments);
    write(&path, "one", "1");
    git(&["add", "-A"]);
    git(&["commit", "-qm", "by the agent"]);
    let agent = git(&["rev-parse", "HEAD"]);
    let report = commit(&sandbox);
    assert_eq!(report.commit.as_deref(), Some(agent.as_str()), "its commit is taken as it is");
    assert_eq!(ground.git(&["rev-parse", "main"]), agent);
    // It merges what the host did.
    ground.write(".vscode/x", "by the host");
    ground.commit_all("by the host");
    git(&["merge", "-q", "main"]);
    write(&path, "two", "2");
    let report = commit(&sandbox);
    assert!(report.committed);
    assert_eq!(ground.read(".vscode/x"), "by the host", "what is held back is not taken away");
    assert_eq!(ground.read("two"), "2");
    // It takes the branch elsewhere: both lines stay.
    write(&path, "three", "3");
    git(&["checkout", "-q", "--orphan", "lost"]);
    git(&["commit", "-qm", "elsewhere"]);
    let lost = git(&["rev-parse", "HEAD"]);
    let branch = sandbox.git().unwrap().branch.clone();
    ground.git(&["update-ref", &format!("refs/heads/{branch}"), &lost]);
    let report = commit(&sandbox);
    assert!(report.committed);
    assert_eq!(ground.read("three"), "3");
    ground.git(&["merge-base", "--is-ancestor", &lost, "main"]);
    // It deletes the branch.
    git(&["checkout", "-q", "--detach"]);
    ground.git(&["branch", "-D", &branch, "lost"]);
    write(&path, "four", "4");
    assert!(commit(&sandbox).committed);
    assert_eq!(ground.read("four"), "4");
    assert_eq!(ground.git(&["status", "--porcelain"]), "");
    ground.git(&["fsck", "--strict"]);
}

/// S8: what a checkout converted is clean to git, and so it is here; what is written is the blob's bytes.
#[test]
fn into_a_resource_with_converted_line_ends() {
    let ground = Ground::empty();
    ground.write("a.txt", "1\n2\n");
    ground.write("b.txt", "1\n2\n");
    ground.commit_all("first");
    ground.git(&["config", "core.autocrlf", "true"]);
    for name in ["a.txt", "b.txt"] {
        fs::remove_file(ground.at(name)).unwrap();
    }
    crate::common::place::let_clock_pass(ground.dir());
    ground.git(&["checkout", "-q", "."]);
    assert_eq!(ground.read("a.txt"), "1\r\n2\r\n");
    crate::common::place::let_clock_pass(ground.dir());
    ground.git(&["update-index", "--refresh"]);
    ground.git(&["read-tree", "HEAD"]);
    ground.git(&["update-index", "--refresh"]);
    let sandbox = ground.create();
    write(sandbox.handle().path(), "a.txt", "1\n2\n3\n");
    let report = commit(&sandbox);
    assert!(report.committed, "{report:?}");
    assert_eq!(ground.read("a.txt"), "1\n2\n3\n");
    assert_eq!(ground.read("b.txt"), "1\r\n2\r\n");
    assert_eq!(ground.git(&["status", "--porcelain"]), "");
}

/// `carryChanges`: what was there already is no change that somebody made since.
#[test]
fn from_the_uncommitted_state() {
    let ground = Ground::new();
    ground.write("a.txt", "dirty\n");
    ground.write("dir/b.txt", "also dirty\n");
    let mut options = ground.options();
    options.carry_changes = true;
    let sandbox = ground.sandboxes.create(&options, &ctx()).unwrap();
    write(sandbox.handle().path(), "a.txt", "dirty\nand more\n");
    let report = commit(&sandbox);
    assert!(report.committed, "{report:?}");
    assert_eq!(shown(&report.changes), [("a.txt".to_owned(), "modified")]);
    assert_eq!(ground.read("a.txt"), "dirty\nand more\n");
    assert_eq!(ground.git(&["show", "HEAD:a.txt"]), "dirty\nand more");
    assert_eq!(
        ground.git(&["status", "--porcelain"]),
        "M dir/b.txt".replacen('M', " M", 1),
        "stays uncommitted"
    );
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    assert_eq!(ground.read("a.txt"), "dirty\n");
}

/// F41, F52: nothing of the user's counts, and no identity is needed.
#[test]
fn with_nobody_s_configuration() {
    let ground = Ground::new();
    let sandbox = ground.create();
    write(sandbox.handle().path(), "new", "n");
    commit(&sandbox);
    assert_eq!(ground.git(&["log", "-1", "--format=%an <%ae>"]), "turnback <turnback@localhost>");
    assert_eq!(ground.git(&["log", "-1", "--format=%G?"]), "N", "not signed");
}
