//! What reaches the user's branch as history (S6, S8, S12): nothing of what was seeded, held back, ignored or rolled back, neither in the
//! last commit nor in any that comes with it. And a commit of nothing moves nothing.

use std::fs;
use std::path::Path;

use turnback_core::SandboxStatus;
use turnback_engine::RollbackRequest;
use turnback_engine::sandbox::{CommitOptions, MergeMode, OnCommitConflict};

use crate::commit::{commit, held};
use crate::ground::{Ground, changes, ctx, shown, write};

/// Commits everything as an agent does, what is ignored as well.
fn agent_commits(ground: &Ground, path: &Path, message: &str) -> String {
    ground.git_at(path, &["add", "-A", "-f"]);
    ground.git_at(path, &["commit", "-qm", message]);
    ground.git_at(path, &["rev-parse", "HEAD"])
}

/// Every object that a branch leads to, with the text of its blobs.
fn reached(ground: &Ground, branch: &str) -> String {
    let all = ground.git(&["rev-list", "--objects", "--no-object-names", branch]);
    all.lines()
        .filter(|oid| ground.git(&["cat-file", "-t", oid]) == "blob")
        .map(|oid| ground.git(&["cat-file", "-p", oid]) + "\n")
        .collect::<String>()
        + &ground.git(&["log", "-p", "-m", "--name-only", branch])
}

/// S8: seeds are never committed back.
#[test]
fn has_nothing_that_was_seeded() {
    let ground = Ground::new();
    ground.write(".gitignore", "secret\n");
    let base = ground.commit_all("second");
    ground.write("secret", "TOKEN=hunter2\n");
    let mut options = ground.options();
    options.seed = vec!["secret".into()];
    let sandbox = ground.sandboxes.create(&options, &ctx()).unwrap();
    let path = sandbox.handle().path().to_owned();
    let branch = sandbox.git().unwrap().branch.clone();
    let leak = agent_commits(&ground, &path, "leak");
    assert!(reached(&ground, &branch).contains("hunter2"), "the agent has it");
    write(&path, "w", "w");
    let report = commit(&sandbox);
    assert_eq!(shown(&report.changes), [("w".to_owned(), "added")]);
    assert!(!reached(&ground, "main").contains("hunter2"));
    assert!(!reached(&ground, "main").contains("leak"));
    assert!(!reached(&ground, &branch).contains("hunter2"), "the sandbox's own branch is as clean");
    assert_eq!(ground.git(&["rev-parse", "main^"]), base);
    assert_eq!(ground.git(&["status", "--porcelain"]), "");
    // Nothing of the agent's is lost, and it is kept once, also when it is done again.
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    assert_eq!(ground.git(&["rev-parse", &branch]), leak);
    commit(&sandbox);
    assert!(!reached(&ground, "main").contains("hunter2"));
    // With the branch alone as well.
    write(&path, "v", "v");
    agent_commits(&ground, &path, "leak again");
    let options = CommitOptions { merge: MergeMode::Branch, ..CommitOptions::default() };
    let report = sandbox.commit(&options, &ctx()).unwrap();
    assert_eq!(shown(&report.changes), [("v".to_owned(), "added")]);
    assert!(!reached(&ground, &branch).contains("hunter2"));
    let remains = sandbox.cleanup(true, &ctx()).unwrap().remains;
    let saved: Vec<_> = remains.refs.iter().filter(|name| name.starts_with("refs/turnback/saved/")).collect();
    let mut subjects: Vec<_> =
        saved.iter().map(|name| ground.git(&["log", "-1", "--format=%s", name])).collect();
    // A commit of ours that was taken back may be among them: the branch's log leads to it.
    subjects.retain(|subject| subject.starts_with("leak"));
    subjects.sort();
    assert_eq!(subjects, ["leak", "leak again"]);
    ground.git(&["fsck", "--strict"]);
}

/// S6: what makes the host run something, and what is ignored; also where the agent took it out again.
#[test]
fn has_nothing_that_is_held_back() {
    for (name, text, reason) in [
        (".envrc", "EVIL", "trusted"),
        (".vscode/tasks.json", "EVIL", "trusted"),
        ("out/cache", "EVIL", "ignored"),
    ] {
        for takes_out in [false, true] {
            let ground = Ground::new();
            ground.write(".gitignore", "out/\n");
            let base = ground.commit_all("second");
            let sandbox = ground.create();
            let path = sandbox.handle().path().to_owned();
            write(&path, name, text);
            write(&path, "z", "z");
            agent_commits(&ground, &path, "by the agent");
            if takes_out {
                fs::remove_file(path.join(name)).unwrap();
                write(&path, "y", "y");
                agent_commits(&ground, &path, "taken out again");
            }
            let report = commit(&sandbox);
            assert!(report.committed, "{name}: {report:?}");
            assert_eq!(ground.read("z"), "z");
            let all = reached(&ground, "main");
            assert!(!all.contains("EVIL") && !all.contains(name), "{name} {takes_out}: {all}");
            assert_eq!(ground.git(&["rev-parse", "main^"]), base, "one commit");
            if !takes_out {
                assert_eq!(held(&report)[0].1, reason, "{name}");
                // Allowed, it comes as the agent has it.
                let options = CommitOptions { allow_trusted: true, ..CommitOptions::default() };
                let report = sandbox.commit(&options, &ctx()).unwrap();
                assert_eq!(reached(&ground, "main").contains("EVIL"), reason == "trusted", "{report:?}");
            }
            ground.git(&["fsck", "--strict"]);
        }
    }
}

/// What the agent committed comes along as it is where none of it is held back.
#[test]
fn has_the_agent_s_own_commits() {
    let ground = Ground::new();
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    write(&path, "one", "1");
    let first = agent_commits(&ground, &path, "first step");
    write(&path, "one", "2");
    let second = agent_commits(&ground, &path, "second step");
    write(&path, "one", "3");
    let report = commit(&sandbox);
    assert_eq!(ground.git(&["rev-parse", "main^"]), second);
    assert_eq!(ground.git(&["rev-parse", "main^^"]), first);
    assert_eq!(ground.git(&["rev-parse", "main"]), report.commit.unwrap());
    assert!(sandbox.cleanup(false, &ctx()).unwrap().remains.is_empty());
    ground.is_clean();
}

/// S12: HEAD, branch and index go back as well, and nothing of it is lost.
#[test]
fn has_nothing_that_was_rolled_back() {
    let ground = Ground::new();
    let main = ground.git(&["rev-parse", "main"]);
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    let branch = sandbox.git().unwrap().branch.clone();
    let git = |arguments: &[&str]| ground.git_at(&path, arguments);
    let registration = ground.at(".git/worktrees").join(branch.rsplit('/').next().unwrap());
    let listing = || {
        let mut names: Vec<_> =
            fs::read_dir(&registration).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.retain(|name| name != "logs");
        names.sort();
        names
    };
    let before = (listing(), git(&["ls-files", "-s"]));
    let bad = |text: &str| {
        write(&path, "bad", text);
        write(&path, "a.txt", text);
        agent_commits(&ground, &path, text)
    };
    let put_back = |what: &str| {
        let report = sandbox.rollback(&ctx()).unwrap();
        assert!(report.restored, "{what}: {report:?}");
        assert_eq!(sandbox.handle().status().unwrap(), SandboxStatus::RolledBack);
        assert_eq!(git(&["symbolic-ref", "HEAD"]), format!("refs/heads/{branch}"), "{what}");
        assert_eq!(git(&["rev-parse", "HEAD"]), main, "{what}");
        assert_eq!(git(&["status", "--porcelain"]), "", "{what}");
        assert_eq!((listing(), git(&["ls-files", "-s"])), before, "{what}");
        assert_eq!(changes(&sandbox), [], "{what}");
        report
    };
    let tip = bad("BAD on the branch");
    let report = put_back("a commit");
    assert_eq!(ground.git(&["for-each-ref", "--format=%(objectname)", "refs/turnback/saved"]), tip);
    // Taking the rollback back brings the files; HEAD stays, and the commit has its ref.
    let undo = report.undo_checkpoint_id.unwrap();
    ground.manager.rollback(undo, RollbackRequest::default(), &ctx()).unwrap();
    assert_eq!(fs::read_to_string(path.join("bad")).unwrap(), "BAD on the branch");
    assert_eq!(git(&["rev-parse", "HEAD"]), main);
    put_back("the files again");
    // The agent left the branch, staged something and is in the middle of a merge.
    git(&["checkout", "-q", "-b", "elsewhere"]);
    bad("BAD elsewhere");
    git(&["checkout", "-q", "--detach", &main]);
    bad("BAD detached");
    assert!(!ground.try_git_at(&path, &["merge", "elsewhere"]).status.success());
    write(&path, "staged", "BAD staged");
    git(&["add", "staged"]);
    fs::remove_file(path.join("staged")).unwrap();
    fs::write(registration.join("index.lock"), "").unwrap();
    put_back("a merge under way");
    ground.git(&["branch", "-q", "-D", "elsewhere"]);
    // It gave the branch away, and took the registration's files.
    bad("BAD under another name");
    ground.git(&["branch", "-q", "other", "main"]);
    git(&["symbolic-ref", &format!("refs/heads/{branch}"), "refs/heads/other"]);
    fs::remove_file(registration.join("gitdir")).unwrap();
    fs::write(registration.join("config.worktree"), "[core]\n\tfsmonitor = /evil\n").unwrap();
    put_back("a branch that stands for another");
    assert_eq!(ground.git(&["rev-parse", "other"]), main);
    ground.git(&["branch", "-q", "-D", "other"]);
    fs::remove_dir_all(&registration).unwrap();
    put_back("no registration");
    // Nothing changed since: nothing moves.
    let (repository, files) = (ground.repository(), ground.files());
    let report = commit(&sandbox);
    assert_eq!((report.changes.len(), report.commit.as_deref()), (0, Some(main.as_str())));
    assert_eq!((ground.repository(), ground.files()), (repository, files));
    write(&path, "good", "g");
    assert!(commit(&sandbox).committed);
    assert_eq!(ground.git(&["rev-parse", "main^"]), main);
    assert!(!reached(&ground, "main").contains("BAD"));
    // And all of it is there.
    let remains = sandbox.cleanup(false, &ctx()).unwrap().remains;
    let kept: String = remains.refs.iter().map(|name| reached(&ground, name)).collect();
    for text in ["BAD on the branch", "BAD elsewhere", "BAD detached", "BAD staged"] {
        assert!(kept.contains(text), "{text}");
    }
    ground.git(&["fsck", "--strict"]);
}

/// The sandbox before its repository has a commit, and one that committed already.
#[test]
fn goes_back_to_the_base() {
    let ground = Ground::empty();
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    write(&path, "bad", "BAD");
    agent_commits(&ground, &path, "bad");
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
    let head = ["rev-parse", "-q", "--verify", "HEAD"];
    assert!(!ground.try_git_at(&path, &head).status.success(), "unborn again");
    assert_eq!(ground.git_at(&path, &["status", "--porcelain"]), "");
    write(&path, "good", "g");
    let first = commit(&sandbox).commit.unwrap();
    assert_eq!(ground.git(&["rev-list", "--count", "main"]), "1");
    write(&path, "good", "BAD");
    agent_commits(&ground, &path, "bad");
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
    assert_eq!(ground.git_at(&path, &["rev-parse", "HEAD"]), first);
    assert_eq!(ground.git_at(&path, &["status", "--porcelain"]), "");
    assert_eq!(fs::read_to_string(path.join("good")).unwrap(), "g");
    // The repository is gone: the files go back all the same.
    write(&path, "good", "BAD");
    fs::rename(ground.at(".git"), ground.dir().join("aside")).unwrap();
    assert!(sandbox.rollback(&ctx()).unwrap().restored);
    assert_eq!(fs::read_to_string(path.join("good")).unwrap(), "g");
}

/// A checkpoint of the sandbox's files brings back no HEAD: what is not in them any more does not come along either.
#[test]
fn has_nothing_that_a_checkpoint_took_back() {
    let ground = Ground::new();
    let main = ground.git(&["rev-parse", "main"]);
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    write(&path, "bad", "BAD");
    agent_commits(&ground, &path, "bad");
    let baseline = sandbox.handle().baseline().unwrap().unwrap();
    assert!(ground.manager.rollback(baseline, RollbackRequest::default(), &ctx()).unwrap().restored);
    commit(&sandbox);
    assert_eq!(ground.git(&["rev-parse", "main"]), main);
    write(&path, "good", "g");
    assert!(commit(&sandbox).committed);
    assert!(!reached(&ground, "main").contains("BAD"));
    assert_eq!(ground.git(&["rev-parse", "main^"]), main);
}

/// A commit without a changed path does not move HEAD.
#[test]
fn does_not_grow_for_nothing() {
    let ground = Ground::new();
    let main = ground.git(&["rev-parse", "main"]);
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    write(&path, "there", "and gone");
    agent_commits(&ground, &path, "there");
    fs::remove_file(path.join("there")).unwrap();
    agent_commits(&ground, &path, "and gone");
    let report = commit(&sandbox);
    assert_eq!((report.committed, report.changes.len()), (true, 0));
    assert_eq!(ground.git(&["rev-parse", "main"]), main);
    // With work its commits come along: they are clean.
    write(&path, "good", "g");
    commit(&sandbox);
    assert_eq!(ground.git(&["log", "--format=%s", "--reverse", &format!("{main}..main")]).lines().count(), 3);
    // The resource won everything.
    write(&path, "a.txt", "sandbox");
    ground.write("a.txt", "host");
    let main = ground.commit_all("by the host");
    let theirs = CommitOptions { on_conflict: OnCommitConflict::Theirs, ..CommitOptions::default() };
    let report = sandbox.commit(&theirs, &ctx()).unwrap();
    assert_eq!((report.committed, report.changes.len(), report.conflicts.len()), (true, 0, 1));
    assert_eq!(ground.git(&["rev-parse", "main"]), main);
    assert_eq!(ground.read("a.txt"), "host");
    let branch = sandbox.git().unwrap().branch.clone();
    assert_eq!(ground.git(&["show", &format!("{branch}:a.txt")]), "sandbox", "it is on the sandbox's branch");
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    assert_eq!(changes(&sandbox), [("a.txt".to_owned(), "modified")]);
    // What went to the branch alone is brought by a later commit, and named.
    let ground = Ground::new();
    let sandbox = ground.create();
    write(sandbox.handle().path(), "new", "n");
    let options = CommitOptions { merge: MergeMode::Branch, ..CommitOptions::default() };
    sandbox.commit(&options, &ctx()).unwrap();
    let report = commit(&sandbox);
    assert_eq!(shown(&report.changes), [("new".to_owned(), "added")]);
    assert_eq!(ground.read("new"), "n");
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    assert!(!ground.at("new").exists());
}
