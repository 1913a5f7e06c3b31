//! Bad inputs that show in the system calls: no program is run whatever a repository says, and a sync that fails is a failure
//! (inputs 29, 64, 83 to 91 of docs/inputs.md; P1, P14).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use turnback_engine::{
    Code, Context, DiffTo, Durability, GitMode, Manager, OpenOptions, RollbackRequest, StoreLocation,
};

use crate::common::everything::chmod;
use crate::common::picture::same;
use crate::common::place::{Place, exact, noise, open, request};
use crate::common::process::{child, run, skip, task};

/// `strace` with these arguments around a child test.
fn traced(arguments: &[&str], log: &Path, test: &str, directory: &Path) -> Command {
    let own = child(test, directory);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-y"]).args(arguments).arg("-o").arg(log);
    command.arg(own.get_program()).args(own.get_args());
    command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

fn has_strace() -> bool {
    Command::new("strace").arg("-V").output().is_ok()
}

#[test]
fn a_hostile_repository_runs_nothing() {
    if !has_strace() {
        return skip("there is no strace");
    }
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("trace");
    run(traced(
        &["-e", "trace=execve,execveat"],
        &log,
        "inputs_calls::with_a_hostile_repository",
        directory.path(),
    ));
    let trace = fs::read_to_string(&log).unwrap();
    let started: Vec<_> = trace.lines().filter(|line| line.contains("exec")).collect();
    assert_eq!(started.len(), 1, "only the process itself: {started:#?}");
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn with_a_hostile_repository() {
    let Some(directory) = task() else { return };
    let place = Place::in_directory(tempfile::tempdir_in(&directory).unwrap());
    let evil = directory.join("evil");
    fs::write(&evil, format!("#!/bin/sh\ntouch {}\n", directory.join("ran").display())).unwrap();
    chmod(&evil, 0o755);
    let evil = evil.display();
    place.write("a.dat", "1");
    place.write(".git/HEAD", "ref: refs/heads/main\n");
    place.write(
        ".git/config",
        format!(
            "[core]\n\tfsmonitor = {evil}\n\thooksPath = .git/hooks\n\tworktree = /etc\n\tpager = {evil}\n\tsshCommand = {evil}\n\
             [filter \"f\"]\n\tclean = {evil}\n\tsmudge = {evil}\n\tprocess = {evil}\n\trequired = true\n\
             [diff]\n\texternal = {evil}\n[diff \"d\"]\n\ttextconv = {evil}\n\tcommand = {evil}\n\
             [gpg]\n\tprogram = {evil}\n[alias]\n\tstatus = !{evil}\n[include]\n\tpath = more\n[extensions]\n\tworktreeConfig = true\n\
             [remote \"origin\"]\n\turl = ext::{evil}\n\tuploadpack = {evil}\n\tpromisor = true\n"
        ),
    );
    place.write(".git/config.worktree", format!("[core]\n\tfsmonitor = {evil}\n"));
    place.write(".git/more", format!("[core]\n\tfsmonitor = {evil}\n"));
    place.write(".git/index.lock", "stale");
    place.write(".git/objects/info/alternates", "/elsewhere/.git/objects\n");
    place.write(".gitattributes", "* filter=f diff=d\n");
    for hook in ["post-checkout", "reference-transaction", "post-index-change", "pre-commit"] {
        fs::create_dir_all(place.at(".git/hooks")).unwrap();
        symlink(evil.to_string(), place.at(&format!(".git/hooks/{hook}"))).unwrap();
    }
    place.write("sub/.git", "gitdir: /elsewhere/.git\n");
    place.write("--upload-pack=x", "1");
    place.write("-rf", "1");
    let before = place.tree();
    let ctx = Context::default();
    let mut asked = request();
    asked.exclude_ignored = true;
    place.try_create(asked).unwrap();
    let id = place.create().checkpoint_id;
    for name in ["a.dat", "-rf", "--upload-pack=x"] {
        fs::remove_file(place.at(name)).unwrap();
    }
    place.write("sub/.git", "gitdir: elsewhere\n");
    place.manager.diff(id, DiffTo::Now, &ctx).unwrap();
    let keep = RollbackRequest { git: GitMode::Keep, ..RollbackRequest::default() };
    place.manager.rollback(id, keep, &ctx).unwrap();
    let report = place.rollback(id);
    same(&place.tree(), &before);
    place.undo(report.undo_checkpoint_id.unwrap());
    place.rollback(id);
    same(&place.tree(), &before);
    place.manager.export(id, &place.dir.path().join("copy"), &ctx).unwrap();
    place.verify_is_clean();
    place.manager.delete(id).unwrap();
    assert!(!directory.join("ran").exists());
}

fn lasting(store: &Path) -> Manager {
    let store = StoreLocation::Path(store.to_owned());
    let durability = Some(Durability::Power);
    let max_bytes = Some(1 << 40);
    Manager::open(OpenOptions { store, durability, max_bytes, ..OpenOptions::default() }).unwrap()
}

#[test]
fn a_sync_that_fails_is_never_called_a_success() {
    // Input 64: whichever sync it is, once, as the system does it: what it was for is not on the disk, and asking again would say yes.
    if !has_strace() {
        return skip("there is no strace");
    }
    let mut failed = (0, 0);
    for call in ["fsync", "fdatasync", "syncfs"] {
        for nth in 1..40 {
            let place = Place::in_memory();
            place.write("d/a", noise(1, 5000));
            place.write("gone", noise(2, 5000));
            let first = place.create().checkpoint_id;
            place.write("d/a", noise(3, 5000));
            place.write("d/new", noise(4, 500));
            fs::remove_file(place.at("gone")).unwrap();
            // The locks and directories that a first lasting use makes.
            let before = place.tree();
            let directory = place.dir.path();
            let mut hits = 0;
            for (number, test) in
                ["inputs_calls::one_lasting_checkpoint", "inputs_calls::one_lasting_rollback"]
                    .into_iter()
                    .enumerate()
            {
                let log = directory.join("trace");
                let inject = format!("inject={call}:error=EIO:when={nth}");
                let (trace, said) = (format!("trace={call}"), directory.join("said"));
                fs::write(directory.join("of"), first.to_string()).unwrap();
                let ids = place.ids();
                run(traced(&["-e", &trace, "-e", &inject], &log, test, directory));
                let said = fs::read_to_string(said).unwrap();
                let trace = fs::read_to_string(&log).unwrap();
                let hit = trace.lines().any(|line| line.contains("(INJECTED)"));
                hits += u32::from(hit);
                let after = open(&place.store()).unwrap();
                place.tmp_is_empty();
                place.verify_is_clean();
                // The stat cache is not needed, and a journal that stays is found to be done: their syncs may fail.
                let forgiven = trace.lines().any(|line| {
                    line.contains("(INJECTED)") && line.contains("/workspaces/") && !line.contains("journal-")
                });
                if number == 0 && hit && !forgiven {
                    assert!(said.starts_with("failed IO"), "{call} {nth}: {said}\n{trace}");
                    assert_eq!(place.ids(), ids, "{call} {nth}: not acknowledged, and listed\n{trace}");
                    failed.0 += 1;
                }
                if number == 1 && hit && !forgiven {
                    assert!(!said.starts_with("restored"), "{call} {nth}: {said}\n{trace}");
                    failed.1 += 1;
                }
                if number == 0 {
                    same(&place.tree(), &before);
                }
                drop(after);
            }
            // And the next attempt works at once.
            place.create();
            assert!(place.manager.rollback(first, exact(), &Context::default()).unwrap().restored);
            if hits == 0 {
                break;
            }
        }
    }
    assert!(failed.0 >= 5, "pack, index, record, their directory, the list: {failed:?}");
    assert!(failed.1 >= 8, "a safety checkpoint, a journal, staged files, directories: {failed:?}");
}

fn says(directory: &Path, what: String) {
    fs::write(directory.join("said"), what).unwrap();
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn one_lasting_checkpoint() {
    let Some(directory) = task() else { return };
    let made = lasting(&directory.join("s")).create(&directory.join("w"), request(), &Context::default());
    says(&directory, made.map_or_else(|e| format!("failed {}: {e}", name(e.code())), |_| "made".to_owned()));
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn one_lasting_rollback() {
    let Some(directory) = task() else { return };
    let id = fs::read_to_string(directory.join("of")).unwrap().parse().unwrap();
    let report = lasting(&directory.join("s")).rollback(id, exact(), &Context::default());
    says(
        &directory,
        match report {
            Err(error) => format!("failed {}: {error}", name(error.code())),
            Ok(report) if report.restored => "restored".to_owned(),
            Ok(report) => format!("in part: {:?}", report.not_restorable),
        },
    );
}

fn name(code: Code) -> &'static str {
    code.as_str()
}
