//! Hostile repositories (P14, inputs 83–97): each is first shown to fire under the git of the machine, then nothing in it is run by any
//! call of ours, whether it was there before the sandbox or came while it was used.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use turnback_engine::sandbox::{CommitOptions, MergeMode};
use turnback_engine::{Code, Result};

use crate::common::place::is_root;
use crate::common::process::skip;
use crate::ground::{Ground, ctx, write};

/// A trap in a repository.
struct Trap {
    name: &'static str,
    /// Sets it, given the script that leaves a trace.
    set: fn(&Ground, &str),
    /// Stock git that falls into it; where it may fail, only the trace counts.
    fire: &'static [&'static [&'static str]],
}

fn config(ground: &Ground, values: &[(&str, &str)]) {
    for (name, value) in values {
        ground.git(&["config", name, value]);
    }
}

fn hooks(ground: &Ground, directory: &Path, script: &str) {
    for hook in [
        "pre-commit",
        "post-commit",
        "post-checkout",
        "pre-merge-commit",
        "post-merge",
        "reference-transaction",
        "post-index-change",
        "prepare-commit-msg",
        "commit-msg",
        "post-rewrite",
        "pre-auto-gc",
        "fsmonitor-watchman",
    ] {
        let path = ground.work().join(directory).join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(script, &path).unwrap();
    }
}

/// Attributes that name the drivers for every file.
fn attributes(ground: &Ground) {
    fs::create_dir_all(ground.at(".git/info")).unwrap();
    fs::write(ground.at(".git/info/attributes"), "* filter=x diff=x merge=x\n").unwrap();
}

fn include(ground: &Ground, text: &str) {
    fs::write(ground.at(".git/included"), text).unwrap();
    config(ground, &[("include.path", "included")]);
}

const TOUCH: &[&str] = &["update-index", "--really-refresh"];
const TRAPS: [Trap; 16] = [
    Trap { name: "83 core.fsmonitor", set: |g, s| config(g, &[("core.fsmonitor", s)]), fire: &[&["status"]] },
    Trap {
        name: "84 hooks",
        set: |g, s| hooks(g, Path::new(".git/hooks"), s),
        fire: &[&["commit", "--allow-empty", "-m", "x"]],
    },
    Trap {
        name: "84 core.hooksPath",
        set: |g, s| {
            hooks(g, Path::new(".git/elsewhere"), s);
            config(g, &[("core.hooksPath", ".git/elsewhere")]);
        },
        fire: &[
            &["worktree", "add", "-q", "../fired"],
            &["worktree", "remove", "--force", "../fired"],
            &["branch", "-D", "fired"],
        ],
    },
    Trap {
        name: "85 filter.*.smudge",
        set: |g, s| {
            attributes(g);
            config(g, &[("filter.x.smudge", s)]);
        },
        fire: &[
            &["worktree", "add", "-q", "../fired"],
            &["worktree", "remove", "--force", "../fired"],
            &["branch", "-D", "fired"],
        ],
    },
    Trap {
        name: "85 filter.*.clean",
        set: |g, s| {
            attributes(g);
            config(g, &[("filter.x.clean", s)]);
        },
        fire: &[&["hash-object", "a.txt"]],
    },
    Trap {
        name: "85 filter.*.process",
        set: |g, s| {
            attributes(g);
            config(g, &[("filter.x.process", s), ("filter.x.required", "true")]);
        },
        fire: &[&["hash-object", "a.txt"]],
    },
    Trap {
        name: "85 include.path",
        set: |g, s| include(g, &format!("[core]\n\tfsmonitor = {s}\n")),
        fire: &[&["status"]],
    },
    Trap {
        name: "85 config.worktree",
        set: |g, s| {
            config(g, &[("extensions.worktreeConfig", "true")]);
            fs::write(g.at(".git/config.worktree"), format!("[core]\n\tfsmonitor = {s}\n")).unwrap();
        },
        fire: &[&["status"]],
    },
    Trap {
        name: "91 gpg.program",
        set: |g, s| config(g, &[("gpg.program", s), ("commit.gpgsign", "true"), ("user.signingkey", "x")]),
        fire: &[&["commit", "--allow-empty", "-m", "x"]],
    },
    Trap {
        name: "91 diff.external",
        set: |g, s| config(g, &[("diff.external", s)]),
        fire: &[&["diff", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "HEAD"]],
    },
    Trap {
        name: "91 diff.*.textconv",
        set: |g, s| {
            attributes(g);
            config(g, &[("diff.x.textconv", s)]);
        },
        fire: &[&["diff", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "HEAD"]],
    },
    Trap {
        name: "91 merge.*.driver",
        set: |g, s| {
            attributes(g);
            config(g, &[("merge.x.driver", s)]);
        },
        fire: &[],
    },
    Trap {
        name: "91 core.editor",
        set: |g, s| config(g, &[("core.editor", s)]),
        fire: &[&["commit", "--allow-empty"]],
    },
    Trap {
        name: "91 core.sshCommand",
        set: |g, s| config(g, &[("core.sshCommand", s), ("remote.origin.url", "ssh://nowhere/x")]),
        fire: &[&["fetch", "origin"]],
    },
    Trap { name: "91 alias", set: |g, s| config(g, &[("alias.x", &format!("!{s}"))]), fire: &[&["x"]] },
    Trap {
        name: "91 trailer command",
        set: |g, s| {
            config(g, &[("trailer.x.key", "X"), ("trailer.x.command", s), ("trailer.x.ifmissing", "add")])
        },
        fire: &[&["interpret-trailers", "--trailer", "x=1", "a.txt"]],
    },
];

struct Canary {
    script: String,
    trace: PathBuf,
}

impl Canary {
    fn new(ground: &Ground) -> Self {
        let (script, trace) = (ground.dir().join("script"), ground.dir().join("trace"));
        fs::write(&script, format!("#!/bin/sh\necho \"$0 $*\" >> {}\nexit 1\n", trace.display())).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        Self { script: script.to_str().unwrap().to_owned(), trace }
    }

    fn fired(&self) -> usize {
        fs::read_to_string(&self.trace).map(|text| text.lines().count()).unwrap_or(0)
    }

    fn reset(&self) {
        fs::remove_file(&self.trace).ok();
    }
}

/// A change on both sides of one file, so that every merge driver would be asked.
fn diverge(ground: &Ground, path: &Path) {
    write(path, "a.txt", "1\n2\n3\n4\nfive\n");
    write(path, "new", "n");
    ground.write("a.txt", "one\n2\n3\n4\n5\n");
    let tree =
        ground.git(&["-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null", "rev-parse", "HEAD^{tree}"]);
    assert!(!tree.is_empty());
}

/// Every call there is.
fn all_calls(ground: &Ground, set: &dyn Fn(), first: bool) -> Result<()> {
    if first {
        set();
    }
    let mut options = ground.options();
    options.carry_changes = true;
    options.seed = vec!["run.sh".into()];
    let sandbox = ground.sandboxes.create(&options, &ctx())?;
    if !first {
        set();
    }
    let path = sandbox.enter(&ctx())?;
    diverge(ground, &path);
    ground.write("a.txt", "1\n2\n3\n4\n5\n");
    sandbox.changes(&ctx())?;
    ground.sandboxes.list(&ctx())?;
    let branch = CommitOptions { merge: MergeMode::Branch, ..CommitOptions::default() };
    sandbox.commit(&branch, &ctx())?;
    write(&path, "more", "m");
    assert!(sandbox.commit(&CommitOptions::default(), &ctx())?.committed);
    assert!(sandbox.undo_commit(&ctx())?.restored);
    assert!(sandbox.rollback(&ctx())?.restored);
    write(&path, "more", "again");
    assert!(sandbox.commit(&CommitOptions::default(), &ctx())?.committed);
    write(&path, "unsaved", "u");
    sandbox.cleanup(true, &ctx())?;
    drop(sandbox);
    drop(ground.sandboxes.create(&ground.options(), &ctx())?);
    ground.sandboxes.cleanup_abandoned(&ctx())?;
    Ok(())
}

#[test]
fn nothing_of_a_hostile_repository_is_run() {
    eprintln!("| input | stock git | ours: there before | ours: came later |\n|---|---|---|---|");
    for trap in TRAPS {
        let mut counts = Vec::new();
        {
            let ground = Ground::new();
            let canary = Canary::new(&ground);
            ground.git(&["branch", "side"]);
            ground.write("a.txt", "one\n2\n3\n4\n5\n");
            ground.commit_all("main");
            ground.git(&["checkout", "-q", "side"]);
            ground.write("a.txt", "1\n2\n3\n4\nfive\n");
            ground.commit_all("side");
            (trap.set)(&ground, &canary.script);
            ground.try_git_at(&ground.work(), TOUCH);
            for arguments in trap.fire {
                ground.try_git_at(&ground.work(), arguments);
            }
            if trap.fire.is_empty() {
                ground.try_git_at(&ground.work(), &["merge", "-m", "x", "main"]);
            }
            assert!(canary.fired() > 0, "{}: it does not fire under stock git", trap.name);
            counts.push(canary.fired());
        }
        for first in [true, false] {
            let ground = Ground::new();
            let canary = Canary::new(&ground);
            let outcome = all_calls(
                &ground,
                &|| {
                    (trap.set)(&ground, &canary.script);
                    canary.reset();
                },
                first,
            );
            assert!(outcome.is_ok(), "{}: {outcome:?}", trap.name);
            assert_eq!(canary.fired(), 0, "{}: {:?}", trap.name, fs::read_to_string(&canary.trace));
            counts.push(canary.fired());
        }
        eprintln!("| {} | ran {} | ran {} | ran {} |", trap.name, counts[0], counts[1], counts[2]);
    }
}

/// A git directory that runs something as soon as git looks at it.
fn evil(ground: &Ground, canary: &Canary) -> PathBuf {
    let evil = ground.dir().join("evil");
    ground.git_at(ground.dir(), &["init", "-q", evil.to_str().unwrap()]);
    ground.git_at(&evil, &["config", "core.fsmonitor", &canary.script]);
    evil.join(".git")
}

/// Inputs 86 and 87: the agent's `.git` is not followed, and put back.
#[test]
fn the_worktree_s_own_git_file_is_not_followed() {
    for is_file in [true, false] {
        let ground = Ground::new();
        let canary = Canary::new(&ground);
        let sandbox = ground.create();
        let path = sandbox.enter(&ctx()).unwrap();
        let link = fs::read(path.join(".git")).unwrap();
        let evil = evil(&ground, &canary);
        fs::remove_file(path.join(".git")).unwrap();
        if is_file {
            fs::write(path.join(".git"), format!("gitdir: {}\n", evil.display())).unwrap();
        } else {
            fs::rename(&evil, path.join(".git")).unwrap();
        }
        ground.try_git_at(&path, &["status"]);
        let fired = canary.fired();
        assert!(fired > 0, "it does not fire under stock git");
        canary.reset();
        write(&path, "new", "n");
        let report = sandbox.commit(&CommitOptions::default(), &ctx()).unwrap();
        assert!(report.held_back.iter().any(|held| held.path.to_string() == ".git"));
        assert_eq!(ground.read("new"), "n");
        sandbox.undo_commit(&ctx()).unwrap();
        assert!(sandbox.rollback(&ctx()).unwrap().restored);
        assert_eq!(fs::read(path.join(".git")).unwrap(), link);
        sandbox.cleanup(true, &ctx()).unwrap();
        ground.is_clean();
        assert_eq!(canary.fired(), 0);
        let name = if is_file { "86 `.git` file repointed" } else { "87 `.git` directory swapped in" };
        eprintln!("| {name} | ran {fired} | ran 0, held back, put back by a rollback |");
    }
}

/// What leads elsewhere: stock git follows it, here it is refused or does not count.
#[test]
fn nothing_leads_elsewhere() {
    // 88: the objects of another repository become readable, before and during a sandbox's life.
    let ground = Ground::new();
    let other = ground.dir().join("other");
    ground.git_at(ground.dir(), &["init", "-q", other.to_str().unwrap()]);
    write(&other, "secret", "s3cret");
    let secret = ground.git_at(&other, &["hash-object", "-w", "secret"]);
    let sandbox = ground.create();
    write(sandbox.handle().path(), "new", "n");
    fs::write(ground.at(".git/objects/info/alternates"), format!("{}/.git/objects\n", other.display()))
        .unwrap();
    assert_eq!(ground.git(&["cat-file", "-p", &secret]), "s3cret", "stock git shows it");
    let error = sandbox.commit(&CommitOptions::default(), &ctx()).unwrap_err();
    assert_eq!(error.code(), Code::GitUnsupported, "{error}");
    let error = ground.sandboxes.create(&ground.options(), &ctx()).map(|_| ()).unwrap_err();
    assert_eq!(error.code(), Code::GitUnsupported, "{error}");
    eprintln!("| 88 alternates | shows the blob | refused: {} |", error.code().as_str());

    // 89: the files would be those of another directory.
    let ground = Ground::new();
    let elsewhere = ground.dir().join("etc");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("a.txt"), "host").unwrap();
    ground.git(&["config", "core.worktree", elsewhere.to_str().unwrap()]);
    assert!(ground.git(&["ls-files", "-m"]).contains("a.txt"), "stock git looks there");
    let sandbox = ground.create();
    write(sandbox.handle().path(), "a.txt", "sandbox");
    assert!(sandbox.commit(&CommitOptions::default(), &ctx()).unwrap().committed);
    assert_eq!(fs::read_to_string(elsewhere.join("a.txt")).unwrap(), "host");
    assert_eq!(ground.read("a.txt"), "sandbox");
    eprintln!("| 89 core.worktree | looks at the other directory | files stay in the resource |");

    // 90: a missing object is fetched by whatever command is configured.
    let ground = Ground::new();
    let canary = Canary::new(&ground);
    let blob = ground.git(&["rev-parse", "HEAD:a.txt"]);
    fs::remove_file(ground.at(&format!(".git/objects/{}/{}", &blob[..2], &blob[2..]))).unwrap();
    config(
        &ground,
        &[
            ("core.repositoryformatversion", "1"),
            ("extensions.partialClone", "x"),
            ("remote.x.url", "/nowhere"),
            ("remote.x.promisor", "true"),
            ("remote.x.uploadpack", &canary.script),
        ],
    );
    ground.try_git_at(&ground.work(), &["cat-file", "-p", &blob]);
    let fired = canary.fired();
    assert!(fired > 0, "it does not fire under stock git");
    canary.reset();
    let error = ground.sandboxes.create(&ground.options(), &ctx()).map(|_| ()).unwrap_err();
    assert_eq!((error.code(), canary.fired()), (Code::GitUnsupported, 0));
    eprintln!("| 90 promisor remote | ran {fired} | refused: {}, ran 0 |", error.code().as_str());

    // Refs and lock places that are links lead nowhere either.
    let ground = Ground::new();
    let target = ground.dir().join("target");
    fs::create_dir(&target).unwrap();
    let sandbox = ground.create();
    write(sandbox.handle().path(), "new", "n");
    fs::rename(ground.at(".git/refs/heads"), ground.dir().join("heads")).unwrap();
    std::os::unix::fs::symlink(&target, ground.at(".git/refs/heads")).unwrap();
    assert!(sandbox.commit(&CommitOptions::default(), &ctx()).is_err());
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
    assert!(!ground.at("new").exists());
    eprintln!("| refs that are links | are followed | refused |");
}

/// Input 97.
#[test]
fn a_repository_of_another_user_is_refused() {
    if !is_root() {
        return skip("only root can give a repository away");
    }
    let ground = Ground::new();
    let status = std::process::Command::new("chown").args(["-R", "65534"]).arg(ground.work()).status();
    assert!(status.unwrap().success());
    let stock = ground.try_git_at(&ground.work(), &["status"]);
    assert!(String::from_utf8_lossy(&stock.stderr).contains("dubious ownership"));
    let error = ground.sandboxes.create(&ground.options(), &ctx()).map(|_| ()).unwrap_err();
    assert_eq!(error.code(), Code::PermissionDenied, "{error}");
    // Only the git directory, which stock git would take where it is named outright.
    let ground = Ground::new();
    std::os::unix::fs::chown(ground.at(".git"), Some(65534), None).unwrap();
    let error = ground.sandboxes.create(&ground.options(), &ctx()).map(|_| ()).unwrap_err();
    assert_eq!(error.code(), Code::PermissionDenied, "{error}");
    eprintln!("| 97 another user's repository | refused | refused: {} |", error.code().as_str());
}

/// A log is appended to where there is one: through a link that would be any file of the host's.
#[test]
fn a_log_that_is_a_link_is_not_followed() {
    let ground = Ground::new();
    let victim = ground.dir().join("victim");
    for name in ["HEAD", "refs/heads/main"] {
        fs::write(&victim, "untouched").unwrap();
        let log = ground.at(&format!(".git/logs/{name}"));
        fs::remove_file(&log).unwrap();
        std::os::unix::fs::symlink(&victim, &log).unwrap();
    }
    ground.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    let stock = fs::read_to_string(&victim).unwrap();
    let is_followed = stock.len() > "untouched".len();
    fs::write(&victim, "untouched").unwrap();
    let sandbox = ground.create();
    write(sandbox.handle().path(), "new", "n");
    assert!(sandbox.commit(&CommitOptions::default(), &ctx()).unwrap().committed);
    assert_eq!(ground.read("new"), "n");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
    let stock = if is_followed { "appends to the file" } else { "does not follow it" };
    eprintln!("| a log of refs that is a link | {stock} | not followed, the commit is made |");
}

/// Files that would hold a reader up: named pipes where git has files.
#[test]
fn nothing_waits_for_a_named_pipe() {
    for name in [
        ".git/config",
        ".git/HEAD",
        ".git/packed-refs",
        ".git/index",
        ".git/shallow",
        ".git/info/exclude",
        ".git/objects/info/alternates",
    ] {
        let ground = Ground::new();
        fs::remove_file(ground.at(name)).ok();
        crate::common::everything::fifo(&ground.at(name));
        let error = ground.sandboxes.create(&ground.options(), &ctx()).map(|_| ());
        let is_read = name != ".git/info/exclude";
        assert_eq!(error.is_err(), is_read, "{name}: {error:?}");
    }
}
