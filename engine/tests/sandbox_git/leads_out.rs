//! A copy in which git would work on the user's own repository is not made (S4).

use std::fs;

use turnback_engine::{Code, SandboxOptions};

use crate::ground::{Ground, ctx};

#[track_caller]
fn refused(ground: &Ground, resource: &std::path::Path, path: &str) {
    let error = ground.sandboxes.create(&SandboxOptions::new(resource), &ctx()).unwrap_err();
    assert_eq!(error.code(), Code::GitUnsupported, "{error}");
    assert!(error.to_string().contains(&format!("`{path}`")), "{error}");
    assert!(error.to_string().contains("git_worktree"), "{error}");
    assert!(!ground.dir().join("store-sandboxes").exists(), "something is left");
}

#[track_caller]
fn accepted(ground: &Ground) {
    let sandbox = ground.sandboxes.create(&SandboxOptions::new(ground.work()), &ctx()).unwrap();
    sandbox.cleanup(false, &ctx()).unwrap();
}

#[test]
fn a_linked_worktree() {
    let ground = Ground::new();
    let linked = ground.dir().join("linked");
    ground.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    refused(&ground, &linked, ".git");
    // The repository itself may have worktrees elsewhere.
    accepted(&ground);
    // With a link in place of the file.
    fs::remove_file(linked.join(".git")).unwrap();
    std::os::unix::fs::symlink(ground.at(".git"), linked.join(".git")).unwrap();
    refused(&ground, &linked, ".git");
}

#[test]
fn a_worktree_inside() {
    let ground = Ground::new();
    ground.git(&["worktree", "add", "-q", ".worktrees/feature"]);
    refused(&ground, &ground.work(), ".worktrees/feature/.git");
    ground.git(&["worktree", "remove", ".worktrees/feature"]);
    // One of another repository, which only the copy itself meets.
    ground.write("deep/er/.git", format!("gitdir: {}\n", ground.dir().join("other/.git").display()));
    refused(&ground, &ground.work(), "deep/er/.git");
    ground.write("deep/er/.git", "gitdir: ../../../other\n");
    refused(&ground, &ground.work(), "deep/er/.git");
    // As those of submodules are.
    ground.write("deep/er/.git", "gitdir: ../../.git/modules/er\n");
    ground.write(".git/modules/er/config", "[core]\n\tworktree = ../../../deep/er\n");
    accepted(&ground);
}

#[test]
fn a_work_tree_of_the_configuration() {
    let ground = Ground::new();
    ground.git(&["config", "core.worktree", ground.work().to_str().unwrap()]);
    refused(&ground, &ground.work(), ".git/config");
    ground.git(&["config", "--unset", "core.worktree"]);
    accepted(&ground);
    ground.write("nested/.git/config", "[core]\n\tworktree = /somewhere\n");
    refused(&ground, &ground.work(), "nested/.git/config");
    fs::remove_file(ground.at("nested/.git/config")).unwrap();
    std::os::unix::fs::symlink("../../../refs", ground.at("nested/.git/refs")).unwrap();
    refused(&ground, &ground.work(), "nested/.git/refs");
}
