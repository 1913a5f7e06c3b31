//! A sandbox whose file system is not mounted is there again with it: it is never given up meanwhile (S9, S10).

use std::fs;

use turnback_engine::sandbox::{LeaseRequest, StrategyName};
use turnback_engine::{Code, SandboxOptions, Sandboxes};

use crate::common::place::{code, is_root, open};
use crate::common::process::{Mount, skip};
use crate::contract::subject::git;
use crate::place::{Place, ctx};

/// Whatever stands at the place where the file system is mounted: nothing of it, or the directory in which it lay.
#[test]
fn a_file_system_that_is_not_mounted() {
    if !is_root() {
        return skip("only root mounts");
    }
    let place = Place::here();
    for strategy in [StrategyName::CopyOnWrite, StrategyName::GitWorktree] {
        let at = place.dir().join(format!("mounted-{strategy}"));
        fs::create_dir(&at).unwrap();
        let (source, lease) = (place.dir().join("disk"), LeaseRequest::Detached(std::time::Duration::ZERO));
        fs::create_dir(&source).unwrap();
        let Some(disk) = Mount::new(&["--bind", source.to_str().unwrap()], &at) else {
            return skip("mounting is not permitted here");
        };
        if strategy == StrategyName::GitWorktree {
            git(&place.resource(), &["init", "-q", "-b", "main"]);
        }
        let options = SandboxOptions { location: Some(at.join("in")), lease, strategy, ..place.options() };
        let sandbox = place.sandboxes.create(&options, &ctx()).unwrap();
        let work = sandbox.enter(&ctx()).unwrap().join("precious");
        fs::write(&work, "work").unwrap();
        drop(disk);
        for force in [true, false] {
            let error = sandbox.cleanup(force, &ctx()).unwrap_err();
            assert_eq!(error.code(), Code::NotFound, "{error}");
            assert!(error.to_string().contains("mkdir -p"), "{error}");
        }
        let id = sandbox.handle().id().clone();
        drop(sandbox);
        let report = place.sandboxes.cleanup_abandoned(&ctx()).unwrap();
        assert_eq!((report.removed.len(), report.kept.len()), (0, 1));
        assert_ne!(place.sandboxes.list(&ctx()).unwrap()[0].unsaved, Some(false));
        // Mounted again all of it is there, and goes with its work stored.
        let disk = Mount::new(&["--bind", source.to_str().unwrap()], &at).unwrap();
        let sandbox = place.sandboxes.attach(&id, &ctx()).unwrap();
        assert_eq!(fs::read(&work).unwrap(), b"work");
        assert!(sandbox.cleanup(true, &ctx()).unwrap().saved_checkpoint_id.is_some());
        assert_eq!(place.sandboxes.list(&ctx()).unwrap(), []);
        drop((sandbox, disk));
        fs::remove_dir_all(&source).unwrap();
    }
}

/// What is gone for good is given up by whoever says so: with the directory that the advice names.
#[test]
fn one_that_is_gone_for_good() {
    let place = Place::here();
    let sandbox = place.create();
    let holder = sandbox.handle().path().parent().unwrap().to_owned();
    fs::remove_dir_all(&holder).unwrap();
    // Also one of which nothing seems to be missing: its resource was empty.
    assert_eq!(code(sandbox.cleanup(false, &ctx())), Code::NotFound);
    assert_eq!(code(sandbox.cleanup(true, &ctx())), Code::NotFound);
    let others = Sandboxes::new(&open(&place.dir().join("store")).unwrap());
    assert_eq!(others.list(&ctx()).unwrap().len(), 1);
    fs::create_dir_all(&holder).unwrap();
    assert_eq!(sandbox.cleanup(true, &ctx()).unwrap().saved_checkpoint_id, None);
    place.is_clean(0);
}
