//! Where a rollback may go, what its undo takes back, and that a dry run says what the run does (C5, C7, C8, C16, F59).

use std::fs;

use turnback_core::CheckpointId;
use turnback_engine::{Code, Context, GitMode, RelPath, RollbackRequest};

use crate::common::picture::same;
use crate::common::place::{Place, code, exact, rel, request};

fn roll(
    place: &Place,
    id: CheckpointId,
    request: RollbackRequest,
) -> turnback_engine::Result<turnback_engine::RollbackReport> {
    place.manager.rollback(id, request, &Context::default())
}

#[test]
fn an_undo_takes_back_only_what_the_rollback_did() {
    let place = Place::default();
    place.write("mine/a", "1");
    place.write("theirs/b", "1");
    let id = place.create().checkpoint_id;
    place.write("mine/a", "2");
    place.write("theirs/b", "2");
    let report = roll(&place, id, RollbackRequest { paths: Some(vec![rel("mine")]), ..exact() }).unwrap();
    // Work goes on elsewhere after the rollback.
    place.write("theirs/b", "3");
    place.undo(report.undo_checkpoint_id.unwrap());
    assert_eq!(fs::read(place.at("mine/a")).unwrap(), b"2");
    assert_eq!(fs::read(place.at("theirs/b")).unwrap(), b"3", "outside the rollback's scope");
}

#[test]
fn a_dry_run_says_what_the_run_does_with_either_git_mode() {
    for git in [GitMode::Keep, GitMode::Exact] {
        let place = Place::default();
        place.write(".git/HEAD", "ref: refs/heads/main\n");
        place.write(".git/config", "1");
        place.write("a", "1");
        let id = place.create().checkpoint_id;
        place.write(".git/HEAD", "ref: refs/heads/other\n");
        fs::remove_file(place.at(".git/config")).unwrap();
        place.write("a", "2");
        place.write("b", "new");
        let request = RollbackRequest { git, ..exact() };
        let before = place.tree();
        let dry = roll(&place, id, RollbackRequest { dry_run: true, ..request.clone() }).unwrap();
        same(&place.tree(), &before);
        let run = roll(&place, id, request).unwrap();
        assert_eq!(dry.actions, run.actions, "{git:?}");
        assert_eq!((dry.kept, dry.head_moved), (run.kept, run.head_moved), "{git:?}");
        let touches_head = run.actions.iter().any(|c| c.path == rel(".git/HEAD"));
        assert_eq!(touches_head, git == GitMode::Exact);
        assert_eq!(run.written + run.deleted, run.actions.len() as u64);
    }
}

#[test]
fn into_a_directory_that_nobody_allowed() {
    let place = Place::default();
    place.write("a", "1");
    let id = place.create().checkpoint_id;
    let into = |path: &std::path::Path| {
        roll(&place, id, RollbackRequest { into: Some(path.into()), allow_replaced_root: true, ..exact() })
    };
    for broad in ["/", "/tmp"] {
        let error = into(broad.as_ref()).unwrap_err();
        assert_eq!(error.code(), Code::TooBroad, "{broad}");
        // C16: what is advised is there.
        assert!(error.advice().contains("--into") && !error.advice().contains("allow"), "{error}");
    }
    fs::create_dir(place.at("inside")).unwrap();
    for nested in [place.dir.path().to_owned(), place.at("inside")] {
        assert!(
            matches!(code(into(&nested)), Code::InvalidArgument | Code::StoreNested),
            "{}: a rollback would go through the workspace itself",
            nested.display()
        );
    }
    assert_eq!(fs::read(place.at("a")).unwrap(), b"1");
    let beside = place.dir.path().join("beside");
    assert!(into(&beside).unwrap().restored);
}

#[test]
fn the_homes_of_people_whatever_home_says() {
    // C16: the list of users tells, not only the environment.
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let Some(home) = users.lines().find_map(|l| {
        let fields: Vec<_> = l.split(':').collect();
        (fields.get(2) == Some(&"0")).then(|| fields.get(5).map(|h| (*h).to_owned())).flatten()
    }) else {
        return crate::common::process::skip("there is no list of users");
    };
    let place = Place::default();
    let result = place.manager.create(home.as_ref(), request(), &Context::default());
    assert!(matches!(code(result), Code::TooBroad | Code::PermissionDenied | Code::NotFound));
}

#[test]
fn names_go_with_the_only_checkpoint_that_had_them() {
    // C9: the stat cache mirrors a checkpoint and holds its names.
    let place = Place::default();
    place.write("a-very-secret-name", "1");
    let id = place.create().checkpoint_id;
    assert!(place.manager.delete(id).unwrap());
    for path in crate::common::place::files_beneath(&place.store()).iter().filter(|p| p.is_file()) {
        let bytes = fs::read(path).unwrap();
        let found = bytes.windows(18).any(|w| w == b"a-very-secret-name");
        assert!(!found, "{}", path.display());
    }
    assert_eq!(place.read(place.create().checkpoint_id, "a-very-secret-name"), b"1");
    assert_eq!(RelPath::parse(b"a-very-secret-name").unwrap(), rel("a-very-secret-name"));
}
