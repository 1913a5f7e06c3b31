//! Everything in the store is for its owner alone, whatever the umask (C9, F34).

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::fs::Mode;

use crate::common::everything::{build, damage, lose};
use crate::common::place::{Place, files_beneath, is_root, open};
use crate::common::process::{child, run, skip, task};

#[test]
fn whatever_the_umask() {
    for umask in ["000", "077", "777", "022"] {
        if umask == "777" && !is_root() {
            // A rollback's staging directory is opened before it is given its mode (a known shortcoming).
            skip("umask 777: only root can open what it makes");
            continue;
        }
        let directory = tempfile::tempdir().unwrap();
        let mut command = child("modes::under_a_umask", directory.path());
        command.env("TURNBACK_TEST_UMASK", umask);
        run(command);
    }
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn under_a_umask() {
    let Some(directory) = task() else { return };
    let mask = u32::from_str_radix(&std::env::var("TURNBACK_TEST_UMASK").unwrap(), 8).unwrap();
    let own = tempfile::tempdir_in(directory).unwrap();
    for name in ["w", "outside"] {
        fs::create_dir(own.path().join(name)).unwrap();
    }
    build(&own.path().join("w"), &own.path().join("outside"));
    rustix::process::umask(Mode::from(mask));
    // Parents that are missing are made for us alone as well: otherwise the store would be in a place that all can write.
    let store = own.path().join("s");
    open(&store.join("a/b")).unwrap();
    fs::remove_dir_all(&store).unwrap();
    let place = Place::in_directory(own);
    let first = place.create().checkpoint_id;
    rustix::process::umask(Mode::from(0o022));
    damage(&place.root());
    rustix::process::umask(Mode::from(mask));
    place.manager.set_label(first, Some("name")).unwrap();
    place.create();
    let report = place.rollback(first);
    lose(&place.root());
    place.rollback(report.undo_checkpoint_id.unwrap());
    place.manager.delete(first).unwrap();
    // Enough changes for the stat cache to be rewritten whole.
    for round in 0..3 {
        for i in 0..300 {
            let path = place.root().join(format!("many-{i}-{}", "x".repeat(180)));
            fs::write(&path, format!("{round}")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        place.create();
    }
    let mut kinds = (0, 0);
    for path in files_beneath(&place.store()).into_iter().chain([place.store()]) {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let want = if metadata.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(metadata.permissions().mode() & 0o7777, want, "{}", path.display());
        if metadata.is_dir() { kinds.0 += 1 } else { kinds.1 += 1 }
    }
    assert!(kinds.0 > 8 && kinds.1 > 15, "{kinds:?}");
}
