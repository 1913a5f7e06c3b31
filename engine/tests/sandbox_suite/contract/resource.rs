//! A directory that stands where the resource was is somebody's, and not what the sandbox was made of (S4, C5, input 5).

use std::fs;
use std::path::Path;
use std::sync::Arc;

use turnback_engine::sandbox::CommitOptions;
use turnback_engine::{Code, Sandbox};

use super::subject::Subject;
use crate::common::picture::{Tree, same};
use crate::common::place::{code, is_root};
use crate::common::process::Mount;
use crate::place::{Place, ctx};

#[track_caller]
fn is_refused(sandbox: &Arc<dyn Sandbox>, resource: &Path) {
    let before = Tree::of(resource);
    let error = sandbox.commit(&CommitOptions::default(), &ctx()).unwrap_err();
    assert_eq!(error.code(), Code::WorkspaceReplaced, "{error}");
    assert!(!error.details().iter().any(|(name, _)| *name == "pending"), "nothing was written");
    assert!(error.to_string().contains(resource.to_str().unwrap()), "{error}");
    assert_eq!(code(sandbox.foresee(&CommitOptions::default(), &ctx())), Code::WorkspaceReplaced);
    same(&Tree::of(resource), &before);
    assert_eq!(fs::read(sandbox.handle().path().join("new")).unwrap(), b"work");
}

pub fn another_directory(place: &Place, subject: Subject) {
    // Only added to: no conflict tells that the rest is not there.
    let sandbox = subject.small(place, &[("f", "1")]);
    let (resource, away) = (place.resource(), place.dir().join("away"));
    fs::write(sandbox.enter(&ctx()).unwrap().join("new"), "work").unwrap();
    fs::rename(&resource, &away).unwrap();
    fs::create_dir(&resource).unwrap();
    is_refused(&sandbox, &resource);
    fs::write(resource.join("f"), "1").unwrap();
    is_refused(&sandbox, &resource);
    if subject.is_git() {
        // The repository alone does not make it the same one.
        fs::rename(away.join(".git"), resource.join(".git")).unwrap();
        is_refused(&sandbox, &resource);
        fs::rename(resource.join(".git"), away.join(".git")).unwrap();
    }
    fs::remove_dir_all(&resource).unwrap();
    fs::rename(&away, &resource).unwrap();
    if is_root() {
        // A mount over it as well; `None` where mounting is not permitted.
        if let Some(_mount) = Mount::new(&["-t", "tmpfs", "tmpfs"], &resource) {
            is_refused(&sandbox, &resource);
        }
    }
    // The right one again.
    assert!(sandbox.commit(&CommitOptions::default(), &ctx()).unwrap().committed);
    assert_eq!(fs::read(resource.join("new")).unwrap(), b"work");
    assert!(sandbox.undo_commit(&ctx()).unwrap().restored);
    assert!(!resource.join("new").exists());
}
