//! Repositories that this strategy does not work with: a typed error that names what does (S8), and nothing left behind.

use std::fs;
use std::os::unix::fs::symlink;

use turnback_engine::Code;

use crate::ground::{Ground, ctx};

type Make = fn(&Ground);

/// What is made of an ordinary repository, and the code of the refusal.
const TABLE: [(&str, Make, Code); 18] = [
    ("no repository", |g| fs::remove_dir_all(g.at(".git")).unwrap(), Code::GitUnsupported),
    ("SHA-256", |g| reinit(g, &["--object-format=sha256"]), Code::GitUnsupported),
    ("reftable", |g| reinit(g, &["--ref-format=reftable"]), Code::GitUnsupported),
    ("split index", |g| drop(g.git(&["update-index", "--split-index"])), Code::GitUnsupported),
    ("sparse index", sparse_index, Code::GitUnsupported),
    ("partial clone", partial_clone, Code::GitUnsupported),
    (
        "90: promisor remote",
        |g| set(g, &[("remote.x.url", "/nowhere"), ("remote.x.promisor", "true")]),
        Code::GitUnsupported,
    ),
    ("unknown extension", |g| set(g, &[("extensions.shiny", "1")]), Code::GitUnsupported),
    ("newer format", |g| set(g, &[("core.repositoryformatversion", "7")]), Code::GitUnsupported),
    ("malformed configuration", |g| fs::write(g.at(".git/config"), "[core\n").unwrap(), Code::GitUnsupported),
    ("88: alternates", alternates, Code::GitUnsupported),
    ("88: objects are a link", |g| linked(g, "objects"), Code::GitUnsupported),
    ("87: `.git` is a link", |g| linked_git(g), Code::GitUnsupported),
    ("86: `.git` names another repository", repointed, Code::GitUnsupported),
    ("86: `.git` names another repository's worktree", repointed_to_a_worktree, Code::GitUnsupported),
    ("86: `.git` names no directory", |g| gitfile(g, "gitdir: /nowhere\n"), Code::GitUnsupported),
    (
        "HEAD is a link",
        |g| {
            fs::remove_file(g.at(".git/HEAD")).unwrap();
            symlink("refs/heads/main", g.at(".git/HEAD")).unwrap()
        },
        Code::GitUnsupported,
    ),
    ("a damaged tree", damaged, Code::Corrupt),
];

fn set(ground: &Ground, values: &[(&str, &str)]) {
    let mut text = fs::read_to_string(ground.at(".git/config")).unwrap();
    for (name, value) in values {
        let (section, name) = name.rsplit_once('.').unwrap();
        let header =
            section.split_once('.').map_or(format!("[{section}]"), |(a, b)| format!("[{a} \"{b}\"]"));
        text += &format!("{header}\n\t{name} = {value}\n");
    }
    fs::write(ground.at(".git/config"), text).unwrap();
}

fn reinit(ground: &Ground, how: &[&str]) {
    fs::remove_dir_all(ground.at(".git")).unwrap();
    ground.git(&[&["init", "-q", "-b", "main"], how].concat());
    ground.commit_all("again");
}

fn sparse_index(ground: &Ground) {
    ground.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "nothing"]);
}

fn partial_clone(ground: &Ground) {
    let from = ground.dir().join("from");
    ground.git(&["config", "uploadpack.allowFilter", "true"]);
    fs::rename(ground.work(), &from).unwrap();
    let url = format!("file://{}", from.display());
    ground.git_at(ground.dir(), &["clone", "-q", "--filter=blob:none", &url, "work"]);
}

fn alternates(ground: &Ground) {
    let from = ground.dir().join("from");
    fs::rename(ground.work(), &from).unwrap();
    ground.git_at(ground.dir(), &["clone", "-q", "--shared", from.to_str().unwrap(), "work"]);
}

fn linked(ground: &Ground, name: &str) {
    let to = ground.dir().join("elsewhere");
    fs::rename(ground.at(".git").join(name), &to).unwrap();
    symlink(&to, ground.at(".git").join(name)).unwrap();
}

fn linked_git(ground: &Ground) {
    let to = ground.dir().join("elsewhere");
    fs::rename(ground.at(".git"), &to).unwrap();
    symlink(&to, ground.at(".git")).unwrap();
}

fn gitfile(ground: &Ground, text: &str) {
    fs::remove_dir_all(ground.at(".git")).unwrap();
    fs::write(ground.at(".git"), text).unwrap();
}

fn repointed(ground: &Ground) {
    let victim = ground.dir().join("victim");
    ground.git_at(ground.dir(), &["init", "-q", victim.to_str().unwrap()]);
    gitfile(ground, &format!("gitdir: {}/.git\n", victim.display()));
}

/// One that names a directory back, only not this one.
fn repointed_to_a_worktree(ground: &Ground) {
    let victim = ground.dir().join("victim");
    ground.git_at(ground.dir(), &["init", "-q", victim.to_str().unwrap()]);
    ground.git_at(&victim, &["commit", "-q", "--allow-empty", "-m", "x"]);
    ground.git_at(&victim, &["worktree", "add", "-q", "../elsewhere"]);
    gitfile(ground, &format!("gitdir: {}/.git/worktrees/elsewhere\n", victim.display()));
}

fn damaged(ground: &Ground) {
    let tree = ground.git(&["rev-parse", "HEAD^{tree}"]);
    fs::remove_file(ground.at(&format!(".git/objects/{}/{}", &tree[..2], &tree[2..]))).unwrap();
}

#[test]
fn are_refused_and_left_alone() {
    for (name, make, expected) in TABLE {
        let ground = Ground::new();
        make(&ground);
        let before = ground.at(".git").is_dir().then(|| ground.repository());
        let error = ground.sandboxes.create(&ground.options(), &ctx()).map(|_| ()).expect_err(name);
        assert_eq!(error.code(), expected, "{name}: {error}");
        assert!(error.to_string().contains("copy_on_write"), "{name}: {error}");
        eprintln!("{name}: {error}");
        assert_eq!(ground.at(".git").is_dir().then(|| ground.repository()), before, "{name}");
        assert!(!ground.dir().join("store-sandboxes").exists(), "{name}");
        assert_eq!(ground.sandboxes.list(&ctx()).unwrap(), [], "{name}");
    }
}
