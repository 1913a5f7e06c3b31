//! What is synced, and when: each operation's trace has each sync at its place, before what depends on it (P1, P2, P3, C8, C9).
//! `everything_is_synced_before_it_is_published` in `syncs.rs` shows the same of a checkpoint.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use turnback_core::CheckpointId;
use turnback_engine::{
    Cancel, Code, Context, Durability, Manager, OpenOptions, Progress, SandboxOptions, Sandboxes,
    StoreLocation,
};

use crate::common::everything::set_mtime;
use crate::common::place::{Place, exact, noise};
use crate::common::process::{child, run, skip, task};

const CALLS: &str =
    "trace=fsync,fdatasync,syncfs,rename,renameat,renameat2,unlink,unlinkat,fallocate,link,linkat";

/// One line for each call: `sync PATH`, `syncfs PATH`, `rename FROM TO`, `unlink PATH`, `punch PATH`, `link FROM TO`; paths are relative
/// to the test's directory, names that are chance are `*`.
fn steps(trace: &str, directory: &Path) -> Vec<String> {
    let home = format!("{}/", directory.display());
    let tidy = |path: &str| {
        let path = path.strip_prefix(&home).unwrap_or(path);
        let is_chance = |name: &&str| {
            let hex = name.len() == 32 && name.bytes().all(|b| b.is_ascii_hexdigit());
            hex || ["journal-", "stage-", "gone-", ".turnback-stage-"]
                .iter()
                .any(|start| name.starts_with(start))
        };
        let names: Vec<_> = path.split('/').map(|name| if is_chance(&name) { "*" } else { name }).collect();
        names.join("/")
    };
    let step = |line: &str| {
        let call = line.split_once(' ')?.1.trim_start();
        let (name, rest) = call.split_once('(')?;
        if !rest.contains(" = 0") {
            return None;
        }
        let of_descriptor = |text: &str| Some(text.split_once('<')?.1.split_once('>')?.0.to_owned());
        // `AT_FDCWD</x>, "a"` or `7</x>, "a"` or `"/x/a"`.
        let mut paths = Vec::new();
        let mut at = String::new();
        for part in rest.split(", ") {
            if let Some(name) = part.strip_prefix('"') {
                let name = name.split('"').next()?;
                paths.push(tidy(&if name.starts_with('/') {
                    name.to_owned()
                } else {
                    format!("{at}/{name}")
                }));
            } else if part.contains('<') {
                at = of_descriptor(part)?;
            }
        }
        Some(match name {
            "fsync" | "fdatasync" => format!("sync {}", tidy(&of_descriptor(rest)?)),
            "syncfs" => format!("syncfs {}", tidy(&of_descriptor(rest)?)),
            "fallocate" if rest.contains("PUNCH") => format!("punch {}", tidy(&of_descriptor(rest)?)),
            "rename" | "renameat" | "renameat2" => format!("rename {}", paths.join(" ")),
            "link" | "linkat" => format!("link {}", paths.join(" ")),
            "unlink" | "unlinkat" => format!("unlink {}", paths.join(" ")),
            _ => return None,
        })
    };
    whole(trace).iter().filter_map(|line| step(line)).collect()
}

/// The lines of a trace, with those put together that another thread's call interrupted.
fn whole(trace: &str) -> Vec<String> {
    let mut begun: HashMap<&str, &str> = HashMap::new();
    let mut lines = Vec::new();
    for line in trace.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        if let Some(start) = call.strip_suffix("<unfinished ...>") {
            begun.insert(thread, start);
        } else if let Some((_, end)) = call.split_once(" resumed>") {
            lines.extend(begun.remove(thread).map(|start| format!("{thread} {start}{end}")));
        } else {
            lines.push(line.to_owned());
        }
    }
    lines
}

struct Traced(Vec<String>);

impl Traced {
    /// The steps of an operation that another process performs; `None` where nothing can be traced.
    fn of(place: &Place, operation: &str) -> Option<Self> {
        if Command::new("strace").arg("-V").output().is_err() {
            skip("there is no strace");
            return None;
        }
        let directory = fs::canonicalize(place.dir.path()).unwrap();
        fs::write(directory.join("operation"), operation).unwrap();
        let trace = directory.join("trace");
        let own = child("durable::one_operation", &directory);
        let mut traced = Command::new("strace");
        traced.args(["-f", "-qq", "-y", "-s", "4096", "-e", CALLS]).arg("-o").arg(&trace);
        traced.arg(own.get_program()).args(own.get_args());
        traced.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        run(traced);
        Some(Self(steps(&fs::read_to_string(&trace).unwrap(), &directory)))
    }

    /// These steps are all there, in this order; a star stands for anything.
    #[track_caller]
    fn has(&self, wanted: &[&str]) {
        let mut from = 0;
        for want in wanted {
            let found = self.0[from..].iter().position(|step| is_like(step, want));
            let Some(at) = found else {
                panic!("after step {from} there is no `{want}` in\n{}", self.0.join("\n"));
            };
            from += at + 1;
        }
    }
}

fn is_like(step: &str, pattern: &str) -> bool {
    let mut parts = pattern.split("**");
    let Some(first) = parts.next().and_then(|first| step.strip_prefix(first)) else { return false };
    let mut rest = first;
    let mut last = "";
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        last = part;
    }
    rest.is_empty() || (pattern.contains("**") && last.is_empty())
}

fn lasting(directory: &Path) -> Manager {
    Manager::open(OpenOptions {
        store: StoreLocation::Path(directory.join("s")),
        durability: Some(Durability::Power),
        max_bytes: Some(1 << 40),
        ..OpenOptions::default()
    })
    .unwrap()
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn one_operation() {
    let Some(directory) = task() else { return };
    let operation = fs::read_to_string(directory.join("operation")).unwrap();
    let mut words = operation.split(' ');
    let (what, id) = (words.next().unwrap(), words.next().and_then(|id| id.parse::<CheckpointId>().ok()));
    let (manager, ctx) = (lasting(&directory), Context::default());
    match (what, id) {
        ("open", _) => {}
        ("label", Some(id)) => manager.set_label(id, Some("name")).map(drop).unwrap(),
        ("unlabel", Some(id)) => manager.set_label(id, None).map(drop).unwrap(),
        ("rollback", Some(id)) => assert!(manager.rollback(id, exact(), &ctx).unwrap().restored),
        ("recover", _) => drop(manager.recover(&directory.join("w"), &ctx).unwrap()),
        ("abandon", _) => drop(manager.abandon(&directory.join("w"), &ctx).unwrap()),
        ("delete", Some(id)) => assert!(manager.delete(id).unwrap()),
        ("sandbox", _) => {
            let options = SandboxOptions::new(directory.join("w"));
            drop(Sandboxes::new(&manager).create(&options, &ctx).unwrap());
        }
        _ => panic!("{operation}"),
    }
}

#[test]
fn a_new_store() {
    let place = Place::default();
    fs::remove_dir_all(place.store()).unwrap();
    let Some(steps) = Traced::of(&place, "open") else { return };
    steps.has(&["sync s/tmp/*", "rename s/tmp/* s/format", "sync s"]);
}

#[test]
fn labels_and_pins() {
    let place = Place::default();
    let id = place.create().checkpoint_id;
    let Some(steps) = Traced::of(&place, &format!("label {id}")) else { return };
    steps.has(&[
        "sync s/tmp/*",
        &format!("rename s/tmp/* s/checkpoints/{id}/marks"),
        &format!("sync s/checkpoints/{id}"),
    ]);
    let Some(steps) = Traced::of(&place, &format!("unlabel {id}")) else { return };
    steps.has(&[&format!("unlink s/checkpoints/{id}/marks"), &format!("sync s/checkpoints/{id}")]);
}

/// Where what is known of the workspace lies in the store.
fn known(place: &Place) -> String {
    format!("s/workspaces/{}", place.manager.sandbox_id_of(&place.root()).unwrap().as_str())
}

fn changed(files: usize) -> (Place, CheckpointId) {
    let place = Place::default();
    for i in 0..files {
        place.write(&format!("d/f{i}"), format!("then {i}"));
    }
    place.write("lost", "comes back");
    place.write("mode", "stays");
    let id = place.create().checkpoint_id;
    for i in 0..files {
        place.write(&format!("d/f{i}"), format!("now, {i}"));
    }
    fs::remove_file(place.at("lost")).unwrap();
    fs::set_permissions(place.at("mode"), fs::Permissions::from_mode(0o600)).unwrap();
    set_mtime(&place.at("mode"), 7, 7);
    place.write("new", "goes");
    (place, id)
}

#[test]
fn a_small_rollback() {
    let (place, id) = changed(2);
    let known = known(&place);
    let Some(steps) = Traced::of(&place, &format!("rollback {id}")) else { return };
    let journal = |what: &str| what.replace("KNOWN", &known);
    // The safety checkpoint, then what is about to be replaced or deleted, then the journal, then what was staged, then its place,
    // then the directories, and only then goes the journal.
    for before in ["sync w/d/f0", "sync w/d/f1", "sync w/new"] {
        steps.has(&["sync s/checkpoints", before, &journal("rename s/tmp/* KNOWN/journal")]);
    }
    steps.has(&[
        &journal("sync KNOWN/stages"),
        "sync s/tmp/*",
        &journal("rename s/tmp/* KNOWN/journal"),
        &journal("sync KNOWN"),
        "sync s/workspaces",
        "sync s/tmp/*/**",
        "rename s/tmp/*/** w/**",
        "unlink w/new",
        "sync w",
        &journal("unlink KNOWN/journal"),
        &journal("sync KNOWN"),
    ]);
    steps.has(&[&journal("rename s/tmp/* KNOWN/journal"), "sync w/mode", &journal("unlink KNOWN/journal")]);
    steps.has(&["rename s/tmp/*/** w/d/f0", "sync w/d", &journal("unlink KNOWN/journal")]);
    // Each file that comes is synced before it is put in its place: two that are replaced, one that was lost.
    let first = steps.0.iter().position(|step| is_like(step, "rename s/tmp/*/*/f0/** w/**")).unwrap();
    let staged = steps.0[..first].iter().filter(|step| is_like(step, "sync s/tmp/*/*/f0/**"));
    assert_eq!(staged.count(), 3, "{:#?}", steps.0);
}

#[test]
fn a_large_rollback() {
    let (place, id) = changed(60);
    let known = known(&place);
    let Some(steps) = Traced::of(&place, &format!("rollback {id}")) else { return };
    steps.has(&[
        "sync s/checkpoints",
        "syncfs w",
        &format!("rename s/tmp/* {known}/journal"),
        "syncfs s/tmp/*/*",
        "rename s/tmp/*/** w/**",
        "sync w",
        &format!("unlink {known}/journal"),
    ]);
}

#[test]
fn a_rollback_of_many_directories() {
    let place = Place::default();
    for i in 0..60 {
        place.write(&format!("d{i}/f"), "then");
    }
    let id = place.create().checkpoint_id;
    for i in 0..60 {
        place.write(&format!("d{i}/f"), "now, and longer");
    }
    let known = known(&place);
    let Some(steps) = Traced::of(&place, &format!("rollback {id}")) else { return };
    steps.has(&[
        "rename s/tmp/*/** w/d9/f",
        "syncfs w",
        &format!("unlink {known}/journal"),
        &format!("sync {known}"),
    ]);
}

#[test]
fn a_recovery() {
    let place = Place::in_memory();
    for i in 0..2500 {
        place.write(&format!("d{}/f{i}", i % 5), "then");
    }
    let id = place.create().checkpoint_id;
    for i in 0..2500 {
        place.write(&format!("d{}/f{i}", i % 5), "now, and longer");
    }
    let cancel = Cancel::default();
    let stop = cancel.clone();
    let on_progress = move |progress: Progress| {
        if progress.phase == "apply" {
            stop.cancel();
        }
    };
    let ctx = Context { cancel, on_progress: Some(Arc::new(on_progress)), ..Context::default() };
    let error = place.manager.rollback(id, exact(), &ctx).unwrap_err();
    assert_eq!(error.code(), Code::Aborted);
    assert_eq!(place.manager.pending().unwrap().len(), 1, "{error}");
    let known = known(&place);
    let Some(steps) = Traced::of(&place, "recover") else { return };
    steps.has(&[
        "syncfs s/tmp/*/*",
        "rename s/tmp/*/** w/**",
        "sync w/d4",
        "syncfs w",
        &format!("unlink {known}/journal"),
        &format!("sync {known}"),
    ]);
}

#[test]
fn a_damaged_journal_that_is_set_aside() {
    let place = Place::default();
    place.write("a", "1");
    place.create();
    let known: PathBuf = place.dir.path().join(known(&place));
    fs::create_dir_all(&known).unwrap();
    fs::set_permissions(&known, fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(known.join("journal"), "no journal").unwrap();
    let known = self::known(&place);
    let Some(steps) = Traced::of(&place, "abandon") else { return };
    steps.has(&[&format!("rename {known}/journal {known}/*"), &format!("sync {known}")]);
}

#[test]
fn a_deletion() {
    // One checkpoint whose pack nobody else needs, and one of whose objects others need some.
    let place = Place::default();
    place.write("shared", noise(1, 20_000));
    place.write("own", noise(2, 20_000));
    let first = place.create().checkpoint_id;
    fs::remove_file(place.at("own")).unwrap();
    place.create();
    place.write("alone", noise(3, 20_000));
    let alone = place.create().checkpoint_id;
    fs::remove_file(place.at("alone")).unwrap();
    place.create();
    let Some(steps) = Traced::of(&place, &format!("delete {first}")) else { return };
    let pack = format!("s/packs/{first}.pack");
    steps.has(&[
        // Its pack gets a second name, which is on the disk before the first one goes.
        &format!("link s/checkpoints/{first}/objects.pack {pack}"),
        "sync s/packs",
        &format!("rename s/checkpoints/{first} s/tmp/*"),
        "sync s/checkpoints",
        "unlink s/tmp/*/**",
        // A new index decides what lives, and is on the disk before anything is erased.
        "sync s/tmp/*",
        &format!("rename s/tmp/* s/packs/{first}.index"),
        "sync s/packs",
        &format!("punch {pack}"),
        &format!("sync {pack}"),
    ]);
    let Some(steps) = Traced::of(&place, &format!("delete {alone}")) else { return };
    steps.has(&[
        "sync s/packs",
        &format!("rename s/checkpoints/{alone} s/tmp/*"),
        "sync s/checkpoints",
        "unlink s/tmp/*/**",
    ]);
}

#[test]
fn a_sandbox() {
    // It is registered for good before it is made, and it is on the disk before it counts as there.
    let place = Place::default();
    place.write("d/a", noise(1, 5000));
    let Some(steps) = Traced::of(&place, "sandbox") else { return };
    steps.has(&[
        "rename s/tmp/* s/sandboxes/**",
        "sync s/sandboxes",
        "sync s/checkpoints",
        "syncfs s-sandboxes/**",
        "rename s/sandboxes/**/record.new s/sandboxes/**/record",
    ]);
}
