//! What cannot be read is listed, never guessed, never deleted (C6, C7, F56, input 73). Run as another user where the tests are root.

use std::fs;
use std::io::ErrorKind;

use turnback_engine::{Code, Reason};

use crate::common::everything::chmod;
use crate::common::picture::same;
use crate::common::place::{Place, code, is_root, request};
use crate::common::process::{as_nobody, child, run, task};

#[test]
fn as_a_plain_user() {
    let directory = tempfile::tempdir().unwrap();
    if is_root() {
        chmod(directory.path(), 0o755);
        run(as_nobody("unreadable::by_a_plain_user", directory.path()));
    } else {
        run(child("unreadable::by_a_plain_user", directory.path()));
    }
}

fn refused(result: std::io::Result<impl Sized>) {
    assert_eq!(result.err().map(|e| e.kind()), Some(ErrorKind::PermissionDenied), "EACCES first");
}

#[test]
#[ignore = "run by its parent as another user"]
fn by_a_plain_user() {
    let Some(directory) = task() else { return };
    let place = || Place::in_directory(tempfile::tempdir_in(&directory).unwrap());
    listed_and_kept(&place());
    lost_later(&place());
    ignore_files(&place());
    roots(&place());
}

fn listed_and_kept(place: &Place) {
    place.write("plain", "1");
    place.write("secret", "cannot be read");
    place.write("closed/inside", "nor this");
    place.write("list-only/file", "x");
    chmod(&place.at("secret"), 0);
    chmod(&place.at("closed"), 0);
    chmod(&place.at("list-only"), 0o400);
    refused(fs::read(place.at("secret")));
    refused(fs::read_dir(place.at("closed")));
    let checkpoint = place.create();
    assert!(!checkpoint.coverage.complete);
    let listed = |reason| -> Vec<String> {
        let all = checkpoint.coverage.uncovered.iter().filter(|u| u.reason == reason);
        all.map(|u| u.path.to_string()).collect()
    };
    assert_eq!(listed(Reason::Unreadable), ["closed", "list-only/file", "secret"]);

    place.write("plain", "2");
    place.write("new", "new");
    let report = place.rollback(checkpoint.checkpoint_id);
    let kept: Vec<_> = report.kept.iter().map(|u| u.path.to_string()).collect();
    assert_eq!(kept, ["closed", "list-only/file", "secret"], "C6: coverage is repeated at rollback");
    assert_eq!(fs::read(place.at("plain")).unwrap(), b"1");
    assert!(!place.at("new").exists());
    chmod(&place.at("secret"), 0o600);
    chmod(&place.at("closed"), 0o700);
    chmod(&place.at("list-only"), 0o700);
    assert_eq!(fs::read(place.at("secret")).unwrap(), b"cannot be read");
    assert_eq!(fs::read(place.at("closed/inside")).unwrap(), b"nor this");
    assert_eq!(fs::read(place.at("list-only/file")).unwrap(), b"x");

    // Readable again: the next checkpoint has them, although the cache remembers them as uncovered.
    let whole = place.create();
    assert!(whole.coverage.complete, "{:?}", whole.coverage);
    assert_eq!(place.read(whole.checkpoint_id, "closed/inside"), b"nor this");
}

fn lost_later(place: &Place) {
    // New since the checkpoint and unreadable now: nobody has captured it, so it stays.
    place.write("plain", "1");
    place.write("was/readable", "then");
    let checkpoint = place.create();
    place.write("new/secret", "only copy");
    place.write("new/other", "captured");
    place.write("hidden/only", "copy");
    chmod(&place.at("new/secret"), 0);
    chmod(&place.at("hidden"), 0);
    refused(fs::read(place.at("new/secret")));
    let report = place.rollback(checkpoint.checkpoint_id);
    let kept: Vec<_> = report.kept.iter().map(|u| u.path.to_string()).collect();
    assert!(kept.contains(&"new/secret".to_owned()) && kept.contains(&"hidden".to_owned()), "{kept:?}");
    assert!(!place.at("new/other").exists());
    chmod(&place.at("new/secret"), 0o600);
    chmod(&place.at("hidden"), 0o700);
    assert_eq!(fs::read(place.at("new/secret")).unwrap(), b"only copy");
    assert_eq!(fs::read(place.at("hidden/only")).unwrap(), b"copy");
}

fn ignore_files(place: &Place) {
    place.write("d/.gitignore", "*.o\n");
    place.write("d/a.o", "1");
    chmod(&place.at("d/.gitignore"), 0);
    refused(fs::read(place.at("d/.gitignore")));
    let mut asked = request();
    asked.exclude_ignored = true;
    let files = place.store_files();
    let error = place.try_create(asked.clone()).unwrap_err();
    assert_eq!(error.code(), Code::PermissionDenied);
    assert!(error.to_string().contains("ignore file of `d`"), "{error}");
    assert_eq!(place.ids(), []);
    place.tmp_is_empty();
    assert!(place.store_files().len() <= files.len() + 2, "only lock files may be new");
    chmod(&place.at("d/.gitignore"), 0o600);
    place.try_create(asked).unwrap();
}

fn roots(place: &Place) {
    place.write("a", "1");
    let before = place.tree();
    chmod(&place.root(), 0);
    refused(fs::read_dir(place.root()));
    assert_eq!(code(place.try_create(request())), Code::PermissionDenied);
    chmod(&place.root(), 0o755);
    same(&place.tree(), &before);
    assert_eq!(place.ids(), []);
}
