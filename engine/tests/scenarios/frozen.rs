//! The store's file system freezes in the middle of a write (C12, P11, input 70): the worker that hangs keeps the workspace's lock,
//! others get `BUSY` and do not hang, and nothing is published late.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc;

use turnback_engine::store::{FileLock, LockKind, Patience};
use turnback_engine::{Cancel, Code, Context, Manager};

use crate::common::place::{code, noise, open, request};
use crate::common::process::{Mount, skip};

/// A frozen file system that thaws with this value, whatever the test comes to.
struct Frozen(PathBuf);

impl Frozen {
    fn new(at: PathBuf) -> Option<Self> {
        let status = Command::new("fsfreeze").arg("-f").arg(&at).status();
        status.is_ok_and(|s| s.success()).then_some(Self(at))
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let thawed = Command::new("fsfreeze").arg("-u").arg(&self.0).status();
        assert!(thawed.is_ok_and(|s| s.success()), "{} stays frozen", self.0.display());
    }
}

#[test]
fn the_abandoned_worker_keeps_the_lock() {
    let home = tempfile::tempdir().unwrap();
    let (image, mounted, workspace) =
        (home.path().join("image"), home.path().join("m"), home.path().join("w"));
    fs::create_dir(&mounted).unwrap();
    fs::create_dir(&workspace).unwrap();
    fs::File::create(&image).unwrap().set_len(128 << 20).unwrap();
    let made = Command::new("mkfs.ext4").args(["-qF"]).arg(&image).status();
    if !made.is_ok_and(|s| s.success()) {
        return skip("there is no mkfs.ext4");
    }
    let Some(_mount) = Mount::new(&["-o", "loop", image.to_str().unwrap()], &mounted) else {
        return skip("loop mounts are not permitted");
    };
    for i in 0..4000u64 {
        fs::write(workspace.join(format!("f{i}")), noise(i, 8000)).unwrap();
    }
    let store = mounted.join("store");
    let manager = open(&store).unwrap();
    let lock = store.join("locks").join(manager.sandbox_id_of(&workspace).unwrap().as_str());
    let cancel = Cancel::default();
    let (send, frozen) = mpsc::channel();
    let place = mounted.clone();
    let once = std::sync::Once::new();
    let on_progress = move |_| once.call_once(|| drop(send.send(Frozen::new(place.clone()))));
    let ctx =
        Context { cancel: cancel.clone(), on_progress: Some(Arc::new(on_progress)), ..Context::default() };
    let (done, ended) = mpsc::channel();
    let (theirs, at): (Manager, _) = (manager.clone(), workspace.clone());
    let worker = std::thread::spawn(move || done.send(theirs.create(&at, request(), &ctx)).is_ok());
    let Some(frozen) = frozen.recv().unwrap() else {
        cancel.cancel();
        assert!(worker.join().unwrap());
        return skip("the file system cannot be frozen");
    };
    // The caller gave up; the worker hangs in a write that nothing can end.
    cancel.cancel();
    let busy = FileLock::acquire(&lock, LockKind::Exclusive, Patience::Try, &Context::default()).unwrap_err();
    assert_eq!(busy.code(), Code::Busy);
    assert!(busy.code().retryable());
    assert!(ended.try_recv().is_err(), "the worker is still at it");
    drop(frozen);
    assert!(worker.join().unwrap());
    assert_eq!(code(ended.recv().unwrap()), Code::Aborted);
    assert!(manager.list(None).unwrap().checkpoints.is_empty(), "nothing is published late");
    FileLock::acquire(&lock, LockKind::Exclusive, Patience::Try, &Context::default()).unwrap();
    manager.create(&workspace, request(), &Context::default()).unwrap();
}
