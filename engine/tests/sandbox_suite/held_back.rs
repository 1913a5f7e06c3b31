//! What a commit never brings by itself (S6; inputs 18, 19, 106, 108).

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use turnback_engine::Code;
use turnback_engine::sandbox::CommitOptions;

use crate::commit::{commit, conflicts, held, put, text};
use crate::common::place::{code, is_root};
use crate::common::process::skip;
use crate::place::{Place, changes, ctx};

pub fn of(pairs: &[(&str, &'static str)]) -> Vec<(String, &'static str)> {
    pairs.iter().map(|(path, why)| ((*path).to_owned(), *why)).collect()
}

/// Input 106: nothing that makes the host run something, at any depth and in any case.
#[test]
fn what_the_host_would_run() {
    let place = Place::here();
    place.write("code", "1");
    place.write(".envrc", "1");
    place.write("sub/.husky/pre-commit", "1");
    place.write("old/.bashrc", "1");
    let sandbox = place.create();
    put(&sandbox, "code", "2");
    put(&sandbox, ".git/hooks/pre-commit", "evil");
    put(&sandbox, "deep/er/.GIT/config", "evil");
    put(&sandbox, "deep/er/file", "fine");
    put(&sandbox, ".vscode/tasks.json", "evil");
    put(&sandbox, ".claude/settings.json", "evil");
    put(&sandbox, ".envrc", "evil");
    put(&sandbox, "sub/.husky/pre-commit", "evil");
    put(&sandbox, "home/.zshenv", "evil");
    // Also what goes is held back, and what lies in its way.
    fs::remove_dir_all(sandbox.handle().path().join("old")).unwrap();
    symlink("elsewhere", sandbox.handle().path().join("old")).unwrap();
    fs::hard_link(sandbox.handle().path().join("code"), sandbox.handle().path().join(".profile")).unwrap();
    let report = commit(&sandbox);
    assert!(report.committed);
    let all = of(&[
        (".claude", "trusted"),
        (".envrc", "trusted"),
        (".git", "git_metadata"),
        (".profile", "trusted"),
        (".vscode", "trusted"),
        ("deep/er/.GIT", "git_metadata"),
        ("home/.zshenv", "trusted"),
        ("old", "trusted"),
        ("sub/.husky", "trusted"),
    ]);
    assert_eq!(held(&report), all);
    assert_eq!((text(&place, "code"), text(&place, "deep/er/file")), ("2".into(), "fine".into()));
    assert_eq!((text(&place, ".envrc"), text(&place, "sub/.husky/pre-commit")), ("1".into(), "1".into()));
    assert_eq!(text(&place, "old/.bashrc"), "1");
    for path in [".git", ".vscode", ".claude", "deep/er/.GIT", "home/.zshenv", ".profile"] {
        assert!(!place.resource().join(path).exists(), "{path}");
    }
    assert_eq!(fs::metadata(place.resource().join("code")).unwrap().nlink(), 1);

    // S10: it is unsaved work, and can be committed later.
    let refused = sandbox.cleanup(false, &ctx()).unwrap_err();
    assert_eq!(refused.code(), Code::UnsavedWork);
    assert!(refused.to_string().contains("what a commit held back"), "{refused}");
    let unsaved = place.sandboxes.list(&ctx()).unwrap()[0].unsaved;
    assert_eq!(unsaved, Some(true));
    let trusted = CommitOptions { allow_trusted: true, ..CommitOptions::default() };
    let report = sandbox.commit(&trusted, &ctx()).unwrap();
    assert!(report.committed, "{report:?}");
    assert_eq!(held(&report), of(&[(".git", "git_metadata"), ("deep/er/.GIT", "git_metadata")]));
    assert_eq!((text(&place, ".envrc"), text(&place, "home/.zshenv")), ("evil".into(), "evil".into()));
    assert!(fs::symlink_metadata(place.resource().join("old")).unwrap().is_symlink());
    let all = CommitOptions { allow_git: true, ..trusted };
    let report = sandbox.commit(&all, &ctx()).unwrap();
    assert_eq!((report.committed, held(&report)), (true, vec![]));
    assert_eq!(text(&place, ".git/hooks/pre-commit"), "evil");
    assert_eq!(changes(&sandbox), []);
    sandbox.cleanup(false, &ctx()).unwrap();
}

/// S6: `allowGit` counts only while the resource's `.git` is as it was.
#[test]
fn a_git_that_moved_is_held_back() {
    let place = Place::here();
    place.write(".git/HEAD", "ref: refs/heads/main");
    place.write("f", "1");
    let sandbox = place.create();
    put(&sandbox, ".git/HEAD", "ref: refs/heads/agent");
    put(&sandbox, "f", "2");
    let options = CommitOptions { allow_git: true, ..CommitOptions::default() };
    // F53: the host commits meanwhile.
    place.write(".git/refs/heads/main", "1234");
    let report = sandbox.commit(&options, &ctx()).unwrap();
    assert!(report.committed);
    // A reason of its own: the option does not help.
    assert_eq!(held(&report), of(&[(".git", "git_changed")]));
    assert_eq!(held(&commit(&sandbox)), of(&[(".git", "git_changed")]));
    assert_eq!((text(&place, ".git/HEAD"), text(&place, "f")), ("ref: refs/heads/main".into(), "2".into()));
    fs::remove_dir_all(place.resource().join(".git/refs")).unwrap();
    assert!(sandbox.commit(&options, &ctx()).unwrap().committed);
    assert_eq!(text(&place, ".git/HEAD"), "ref: refs/heads/agent");
}

/// Inputs 18 and 19.
#[test]
fn set_id_bits_and_capabilities_are_stripped() {
    let place = Place::here();
    place.write("old", "1");
    let mode = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(&place.resource().join("old"), 0o4755);
    let sandbox = place.create();
    put(&sandbox, "tool", "x");
    mode(&sandbox.handle().path().join("tool"), 0o6755);
    put(&sandbox, "old", "changed");
    mode(&sandbox.handle().path().join("old"), 0o4755);
    put(&sandbox, "capable", "x");
    let capable = sandbox.handle().path().join("capable");
    let capability: &[u8] = &[1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let flags = rustix::fs::XattrFlags::empty();
    let has = is_root() && rustix::fs::setxattr(&capable, "security.capability", capability, flags).is_ok();
    let _ = rustix::fs::setxattr(&capable, "user.note", b"kept", flags);
    let report = commit(&sandbox);
    assert!(report.committed, "{report:?}");
    let mut expected = of(&[("old", "set_id"), ("tool", "set_id")]);
    if has {
        expected.insert(0, ("capable".to_owned(), "set_id"));
    } else {
        skip("no capabilities here");
    }
    assert_eq!(held(&report), expected);
    for path in ["tool", "old"] {
        let mode = fs::metadata(place.resource().join(path)).unwrap().mode();
        assert_eq!(mode & 0o7777, 0o755, "{path}");
    }
    assert_eq!(text(&place, "old"), "changed");
    let mut value = [0u8; 64];
    let read =
        |name: &str, value: &mut [u8]| rustix::fs::getxattr(place.resource().join("capable"), name, value);
    assert!(read("security.capability", &mut value).is_err());
    if rustix::fs::getxattr(&capable, "user.note", &mut value[..]).is_ok() {
        assert_eq!(read("user.note", &mut value).unwrap(), 4, "the other attributes come along");
    }
    assert_eq!(place.manager.verify(None, &ctx()).unwrap().damaged, []);
    // What was stripped is still only in the sandbox.
    assert_eq!(code(sandbox.cleanup(false, &ctx())), Code::UnsavedWork);
}

/// S6: of directories too, save those that were there already, or that the system hands on to what is made in such a one.
#[test]
fn set_id_bits_of_directories_are_stripped() {
    let place = Place::here();
    let mode = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    place.write("shared/f", "1");
    place.write("plain/f", "1");
    mode(&place.resource().join("shared"), 0o2755);
    let sandbox = place.create();
    let inside = sandbox.handle().path().to_owned();
    put(&sandbox, "shared/new/f", "2");
    put(&sandbox, "made/f", "2");
    for path in ["shared", "shared/new"] {
        mode(&inside.join(path), 0o2775);
    }
    for path in ["plain", "made"] {
        mode(&inside.join(path), 0o6777);
    }
    let report = commit(&sandbox);
    assert!(report.committed, "{report:?}");
    assert_eq!(held(&report), of(&[("made", "set_id"), ("plain", "set_id")]));
    for (path, expected) in [("shared", 0o2775), ("shared/new", 0o2775), ("plain", 0o777), ("made", 0o777)] {
        let mode = fs::metadata(place.resource().join(path)).unwrap().mode();
        assert_eq!(mode & 0o7777, expected, "{path}");
    }
    assert_eq!(changes(&sandbox), of(&[("made", "metadata"), ("plain", "metadata")]));
}

/// Nothing of a socket can be brought, and nothing in the resource gives way to one.
#[test]
fn sockets_stay_where_they_are() {
    let place = Place::here();
    place.write("f", "1");
    let sandbox = place.create();
    let bind =
        |path: &str| std::os::unix::net::UnixListener::bind(sandbox.handle().path().join(path)).unwrap();
    let _new = bind("socket");
    fs::remove_file(sandbox.handle().path().join("f")).unwrap();
    let _instead = bind("f");
    put(&sandbox, "other", "x");
    let report = commit(&sandbox);
    assert!(report.committed, "{report:?}");
    assert_eq!(held(&report), of(&[("f", "special"), ("socket", "special")]));
    assert_eq!((text(&place, "f"), text(&place, "other")), ("1".into(), "x".into()));
}

/// Input 108: what was not copied is never deleted, and never a reason to overwrite anything.
#[test]
fn what_was_not_copied_stays() {
    let place = Place::here();
    place.write("d/f", "1");
    let socket = place.resource().join("d/socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let sandbox = place.create();
    assert!(!sandbox.handle().path().join("d/socket").exists());
    fs::remove_dir_all(sandbox.handle().path().join("d")).unwrap();
    let report = commit(&sandbox);
    assert!(report.committed, "{report:?}");
    assert_eq!(held(&report), of(&[("d", "not_empty")]));
    assert!(socket.exists());
    assert!(!place.resource().join("d/f").exists());
    // In its place something else comes: it cannot be saved, so it is not overwritten.
    put(&sandbox, "d/socket", "now a file");
    put(&sandbox, "other", "x");
    let report = commit(&sandbox);
    assert_eq!((report.committed, conflicts(&report)), (false, vec!["d/socket".to_owned()]));
    let ours = crate::commit::on(turnback_engine::sandbox::OnCommitConflict::Ours);
    let report = sandbox.commit(&ours, &ctx()).unwrap();
    assert!(report.committed);
    assert_eq!(held(&report), of(&[("d/socket", "not_captured")]));
    assert_eq!(text(&place, "other"), "x");
    assert!(fs::read(&socket).is_err(), "still a socket");
    assert_eq!(code(sandbox.cleanup(false, &ctx())), Code::UnsavedWork);
}

/// Every name that lefthook reads, and none that only looks like it.
#[test]
fn what_lefthook_reads() {
    let place = Place::here();
    place.write("code", "1");
    let sandbox = place.create();
    let names = [
        ".lefthook-local.json",
        ".lefthook/pre-commit/run.sh",
        ".lefthook.toml",
        "lefthook-local.yml",
        "lefthook.yaml",
        "lefthook.yml",
    ];
    for name in names {
        put(&sandbox, name, "evil");
    }
    put(&sandbox, "src/lefthook/main.go", "fine");
    put(&sandbox, "lefthook.md", "fine");
    let report = commit(&sandbox);
    let mut all: Vec<_> =
        names.map(|name| (name.trim_end_matches("/pre-commit/run.sh").to_owned(), "trusted")).into();
    all.sort();
    assert_eq!(held(&report), all);
    assert_eq!(
        (text(&place, "src/lefthook/main.go"), text(&place, "lefthook.md")),
        ("fine".into(), "fine".into())
    );
}

/// Configuration by which agents' programs, editors, build tools and sessions run something, whatever else is in the directory (input 106).
#[test]
fn what_programs_run_by_themselves() {
    let place = Place::here();
    place.write("code", "1");
    let sandbox = place.create();
    let names = [
        (".cargo/config.toml", ".cargo"),
        (".gemini/settings.json", ".gemini"),
        (".hg/hgrc", ".hg"),
        (".kiro/hooks/on-save", ".kiro"),
        (".opencode/plugin/run.js", ".opencode"),
        (".roo/mcp.json", ".roo"),
        (".ssh/rc", ".ssh"),
        (".xprofile", ".xprofile"),
        (".zed/tasks.json", ".zed"),
    ];
    for (name, _) in names {
        put(&sandbox, name, "evil");
    }
    put(&sandbox, "src/cargo/config.toml", "fine");
    assert_eq!(held(&commit(&sandbox)), names.map(|(_, at)| (at.to_owned(), "trusted")));
    assert_eq!(text(&place, "src/cargo/config.toml"), "fine");
}
