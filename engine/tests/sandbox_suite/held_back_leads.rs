//! What a commit holds back because something else leads there that counts (S6, input 106).

use std::fs;
use std::os::unix::fs::symlink;

use turnback_engine::sandbox::CommitOptions;

use crate::commit::{commit, held, put, text};
use crate::held_back::of;
use crate::place::{Place, ctx};

/// What a name leads to that counts is held back as the name is (M3): through links of any length, on either side, and what lies on the way.
#[test]
fn where_a_name_leads_that_counts() {
    let place = Place::here();
    place.write("cfg/claude/settings.json", "1");
    place.write("cfg/other", "1");
    symlink("hop", place.resource().join(".claude")).unwrap();
    symlink("cfg/claude", place.resource().join("hop")).unwrap();
    place.write("sub/.husky/note", "1");
    place.write("sub/run/hook", "1");
    symlink("../run/hook", place.resource().join("sub/.husky/pre-push")).unwrap();
    symlink(place.resource().join("absolute"), place.resource().join(".vscode")).unwrap();
    let sandbox = place.create();
    put(&sandbox, "cfg/claude/settings.json", "evil");
    put(&sandbox, "cfg/claude/new", "evil");
    put(&sandbox, "cfg/other", "fine");
    put(&sandbox, "sub/run/hook", "evil");
    put(&sandbox, "sub/run/fine", "fine");
    put(&sandbox, "absolute/tasks.json", "evil");
    fs::remove_file(sandbox.handle().path().join("hop")).unwrap();
    symlink("mine", sandbox.handle().path().join("hop")).unwrap();
    put(&sandbox, "mine/settings.json", "evil");
    let report = commit(&sandbox);
    assert!(report.committed, "{report:?}");
    let all = of(&[
        ("absolute", "trusted"),
        ("cfg/claude", "trusted"),
        ("hop", "trusted"),
        ("mine", "trusted"),
        ("sub/run/hook", "trusted"),
    ]);
    assert_eq!(held(&report), all);
    assert_eq!((text(&place, "cfg/other"), text(&place, "sub/run/fine")), ("fine".into(), "fine".into()));
    assert_eq!(
        (text(&place, "cfg/claude/settings.json"), text(&place, "sub/run/hook")),
        ("1".into(), "1".into())
    );
    assert_eq!(fs::read_link(place.resource().join("hop")).unwrap().to_str(), Some("cfg/claude"));
    for path in ["mine", "absolute", "cfg/claude/new"] {
        assert!(!place.resource().join(path).exists(), "{path}");
    }
    let trusted = CommitOptions { allow_trusted: true, ..CommitOptions::default() };
    let report = sandbox.commit(&trusted, &ctx()).unwrap();
    assert_eq!((report.committed, held(&report)), (true, vec![]));
    assert_eq!(text(&place, "mine/settings.json"), "evil");
}

/// A directory above such a place that becomes a link would lead the name elsewhere.
#[test]
fn what_replaces_the_way_to_such_a_place() {
    let place = Place::here();
    place.write("a/b/claude/settings.json", "1");
    symlink("a/b/claude", place.resource().join(".claude")).unwrap();
    let sandbox = place.create();
    let path = sandbox.handle().path();
    fs::rename(path.join("a/b"), path.join("a/old")).unwrap();
    symlink("mine", path.join("a/b")).unwrap();
    put(&sandbox, "a/mine/claude/settings.json", "evil");
    let report = commit(&sandbox);
    assert!(report.committed, "{report:?}");
    assert!(held(&report).contains(&("a/b".to_owned(), "trusted")), "{report:?}");
    assert_eq!(text(&place, ".claude/settings.json"), "1");
}

/// The directory that a repository takes its hooks from, and the configuration that it includes, in any repository of the tree.
#[test]
fn where_a_repository_takes_its_hooks_from() {
    let place = Place::here();
    place.write(".git/HEAD", "ref: refs/heads/main");
    place
        .write(".git/config", "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../shared.gitconfig\n");
    place.write("tools/hooks/pre-commit", "1");
    place.write("shared.gitconfig", "[core]\n\thooksPath = more\n");
    place.write("nested/.git/config", "[core]\n\thooksPath = ../elsewhere\n");
    let sandbox = place.create();
    put(&sandbox, "tools/hooks/pre-commit", "evil");
    put(&sandbox, "tools/fine", "fine");
    put(&sandbox, "more/post-checkout", "evil");
    put(&sandbox, "elsewhere/pre-push", "evil");
    put(&sandbox, "shared.gitconfig", "[core]\n\tfsmonitor = evil\n");
    let report = commit(&sandbox);
    assert!(report.committed, "{report:?}");
    let all = of(&[
        ("elsewhere", "trusted"),
        ("more", "trusted"),
        ("shared.gitconfig", "trusted"),
        ("tools/hooks", "trusted"),
    ]);
    assert_eq!(held(&report), all);
    assert_eq!(
        (text(&place, "tools/hooks/pre-commit"), text(&place, "tools/fine")),
        ("1".into(), "fine".into())
    );
}

/// Input 106: such a place may be spelled through a link above the resource, or out of it and back.
#[test]
fn what_is_led_to_from_outside() {
    let place = Place::here();
    let resource = place.resource();
    let above = resource.parent().unwrap().to_owned();
    let own = resource.file_name().unwrap().to_str().unwrap().to_owned();
    symlink(&above, above.join("alias")).unwrap();
    let alias = above.join("alias").join(&own);
    place.write(".git/HEAD", "ref: refs/heads/main");
    let config = format!(
        "[core]\n\thooksPath = {}\n[include]\n\tpath = ../../{own}/inc\n",
        alias.join("hooks").display()
    );
    place.write(".git/config", config);
    place.write("hooks/pre-commit", "1");
    place.write("ops/pre-push", "1");
    place.write("cfg/claude/settings.json", "1");
    place.write("run/tasks.json", "1");
    symlink(alias.join("cfg/claude"), resource.join(".claude")).unwrap();
    symlink(format!("../{own}/ops"), resource.join(".husky")).unwrap();
    symlink(format!("../alias/{own}/../alias/{own}/run"), resource.join(".vscode")).unwrap();
    // Another thing for each process.
    symlink("/proc/self/cwd/idea", resource.join(".idea")).unwrap();
    symlink("../elsewhere", resource.join(".codex")).unwrap();
    let sandbox = place.create();
    for path in ["hooks/pre-commit", "ops/pre-push", "cfg/claude/settings.json", "run/tasks.json", "idea/x"] {
        put(&sandbox, path, "evil");
    }
    put(&sandbox, "inc", "[core]\n\tfsmonitor = evil\n");
    put(&sandbox, "elsewhere", "fine");
    // New in the sandbox, where it leads into the resource once it is there.
    put(&sandbox, "new/tool", "evil");
    symlink(alias.join("new"), sandbox.handle().path().join(".cursor")).unwrap();
    let report = commit(&sandbox);
    assert!(report.committed, "{report:?}");
    let all = ["cfg/claude", "hooks", "idea", "inc", "new", "ops", "run"].map(|path| (path, "trusted"));
    assert_eq!(held(&report), of(&[&[(".cursor", "trusted")], all.as_slice()].concat()));
    assert_eq!(text(&place, "elsewhere"), "fine");
    for path in ["hooks/pre-commit", "ops/pre-push", "cfg/claude/settings.json", "run/tasks.json"] {
        assert_eq!(text(&place, path), "1", "{path}");
    }
    fs::remove_file(above.join("alias")).unwrap();
}

/// Input 106: a link that counts only together with a name behind it, on either side.
#[test]
fn a_link_before_a_name_that_counts() {
    let place = Place::here();
    place.write("there/x", "1");
    place.write("home/dot/fish/config.fish", "1");
    symlink("dot", place.resource().join("home/.config")).unwrap();
    let sandbox = place.create();
    put(&sandbox, "conf/fish/config.fish", "evil");
    put(&sandbox, "conf/other", "fine");
    put(&sandbox, "home/dot/fish/config.fish", "evil");
    put(&sandbox, "home/dot/other", "fine");
    put(&sandbox, "sub/.devcontainer.json", "evil");
    symlink("conf", sandbox.handle().path().join(".config")).unwrap();
    let report = commit(&sandbox);
    assert!(report.committed, "{report:?}");
    let all = [".config", "conf/fish", "home/dot/fish", "sub/.devcontainer.json"];
    assert_eq!(held(&report), of(&all.map(|path| (path, "trusted"))));
    assert_eq!((text(&place, "conf/other"), text(&place, "home/dot/other")), ("fine".into(), "fine".into()));
    assert_eq!(text(&place, "home/dot/fish/config.fish"), "1");
    assert!(fs::symlink_metadata(place.resource().join(".config")).is_err());
}
