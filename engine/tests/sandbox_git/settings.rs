//! A worktree shares its repository's configuration and hooks with the resource: what changed of them is told (S4, input 106).

use std::fmt::Write as _;
use std::fs;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use turnback_engine::sandbox::{CommitOptions, LeaseRequest};
use turnback_engine::{Code, Sandbox, Sandboxes};

use crate::common::place::code;
use crate::ground::{Ground, ctx, write};

/// The warnings that a call gives.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl Subscriber for Heard {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }
}

fn heard<T>(call: impl FnOnce() -> T) -> (T, Vec<String>) {
    let heard = Heard::default();
    let done = tracing::subscriber::with_default(heard.clone(), call);
    let mut lines = std::mem::take(&mut *heard.0.lock().unwrap());
    lines.retain(|line| line.contains("configuration or hooks"));
    (done, lines)
}

fn changed(ground: &Ground, sandbox: &Arc<dyn Sandbox>) -> Vec<String> {
    let all = sandbox.changed_settings(&ctx()).unwrap();
    all.iter()
        .map(|path| path.strip_prefix(ground.at(".git")).unwrap().to_str().unwrap().to_owned())
        .collect()
}

#[test]
fn that_changed_are_told() {
    let ground = Ground::new();
    ground.git(&["config", "core.hooksPath", ".git/mine"]);
    ground.git(&["config", "include.path", "included"]);
    write(&ground.work(), ".git/mine/pre-commit", "#!/bin/sh\n");
    write(&ground.work(), ".git/included", "");
    write(&ground.work(), ".git/modules/a/b/HEAD", "ref: refs/heads/main\n");
    write(&ground.work(), ".git/modules/a/b/config", "[core]\n");
    let sandbox = ground.create();
    let path = sandbox.handle().path().to_owned();
    // Ordinary work changes none of them.
    write(&path, "new", "n");
    ground.git_at(&path, &["-c", "core.hooksPath=/dev/null", "add", "-A"]);
    ground.git_at(&path, &["-c", "core.hooksPath=/dev/null", "commit", "-qm", "by the agent"]);
    let (report, lines) = heard(|| sandbox.commit(&CommitOptions::default(), &ctx()).unwrap());
    assert!(report.committed);
    assert_eq!((changed(&ground, &sandbox), lines), (Vec::new(), Vec::new()));
    // The agent's.
    ground.git_at(&path, &["config", "core.fsmonitor", "/evil"]);
    let common = ground.git_at(&path, &["rev-parse", "--git-common-dir"]);
    let common = std::path::Path::new(&common);
    write(common, "hooks/post-checkout", "#!/bin/sh\n");
    write(common, "mine/pre-commit", "evil");
    write(common, "included", "[core]\n\tfsmonitor = /evil\n");
    write(common, "info/attributes", "* filter=evil\n");
    write(common, "config.worktree", "[core]\n\tfsmonitor = /evil\n");
    write(common, "modules/a/b/config", "[core]\n\tfsmonitor = /evil\n");
    let all = [
        "config",
        "config.worktree",
        "hooks/post-checkout",
        "included",
        "info/attributes",
        "mine/pre-commit",
        "modules/a/b/config",
    ];
    assert_eq!(changed(&ground, &sandbox), all);
    // Each call says it once, and the next process again.
    let (_, lines) = heard(|| sandbox.changes(&ctx()).unwrap());
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(all.iter().all(|name| lines[0].contains(name)), "{lines:?}");
    assert_eq!(heard(|| sandbox.commit(&CommitOptions::default(), &ctx()).unwrap()).1.len(), 0);
    let id = sandbox.handle().id().clone();
    drop(sandbox);
    let sandbox = ground.sandboxes.attach(&id, &ctx()).unwrap();
    assert_eq!(heard(|| sandbox.commit(&CommitOptions::default(), &ctx()).unwrap()).1.len(), 1);
    // A program that is one no more, one that is gone, and what is as it was.
    fs::remove_file(ground.at(".git/mine/pre-commit")).unwrap();
    write(common, "included", "");
    write(common, "modules/a/b/config", "[core]\n");
    fs::remove_file(common.join("config.worktree")).unwrap();
    assert_eq!(
        changed(&ground, &sandbox),
        ["config", "hooks/post-checkout", "info/attributes", "mine/pre-commit"]
    );
    assert_eq!(heard(|| sandbox.rollback(&ctx()).unwrap()).1.len(), 1, "it is another one");
    // A configuration that nobody can read.
    fs::write(ground.at(".git/config"), "[[[").unwrap();
    assert!(changed(&ground, &sandbox).contains(&"config".to_owned()));
    fs::write(ground.at(".git/config"), "[core]\n").unwrap();
    assert_eq!(heard(|| sandbox.cleanup(true, &ctx()).unwrap()).1.len(), 1);
    assert_eq!(code(sandbox.changed_settings(&ctx())), Code::IllegalTransition);
}

/// In a linked worktree's sandbox its own configuration counts, that of others does not; and who cleans up what was left is told.
#[test]
fn of_a_linked_worktree_and_of_an_orphan() {
    let ground = Ground::new();
    let linked = ground.dir().join("linked");
    ground.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    let mut options = ground.options();
    options.resource = linked;
    options.lease = LeaseRequest::Detached(std::time::Duration::ZERO);
    let sandbox = ground.sandboxes.create(&options, &ctx()).unwrap();
    let other = ground.create();
    assert_eq!(changed(&ground, &sandbox), Vec::<String>::new());
    write(&ground.work(), ".git/worktrees/linked/config.worktree", "[core]\n\tfsmonitor = /evil\n");
    assert_eq!(changed(&ground, &sandbox), ["worktrees/linked/config.worktree"]);
    assert_eq!(changed(&ground, &other), Vec::<String>::new());
    drop(sandbox);
    let (report, lines) = heard(|| Sandboxes::new(&ground.manager).cleanup_abandoned(&ctx()).unwrap());
    assert_eq!((report.removed.len(), lines.len()), (1, 1), "{lines:?}");
}
