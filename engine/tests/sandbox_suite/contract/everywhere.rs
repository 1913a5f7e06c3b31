//! What every sandbox does, whatever its strategy.

use std::fs;

use turnback_core::SandboxStatus::{Active, CleanedUp, Committed, Created};
use turnback_engine::Code;
use turnback_engine::sandbox::{CommitOptions, Mechanism, Owner};

use super::subject::{Says, Subject};
use crate::common::picture::{Tree, same};
use crate::common::place::{code, exact, let_clock_pass, noise, request};
use crate::place::{Place, ctx};

/// Never another mechanism than the one that was asked for or is shown (F19).
pub fn says_how_it_was_made(place: &Place, subject: Subject) {
    place.write("large", noise(1, 1 << 20));
    place.write("small", "x");
    subject.settle(place);
    let_clock_pass(place.dir());
    let sandbox = subject.create(place);
    let says = match subject.says {
        Says::Has(mechanism) => Some(mechanism),
        _ => None,
    };
    let handle = sandbox.handle();
    assert_eq!((handle.strategy(), handle.mechanism()), (subject.strategy, says));
    let (shared, copied) = match says {
        Some(Mechanism::Reflink) => (1, 1),
        Some(Mechanism::Copy) => (0, 2),
        // Nobody counts what a snapshot has.
        Some(Mechanism::Btrfs) => (0, 0),
        None if subject.is_git() => (0, 2),
        None => (0, 0),
    };
    let found = handle.copied();
    assert_eq!((found.shared_files, found.copied_files, found.refused_files), (shared, copied, 0));
    let about = place.sandboxes.list(&ctx()).unwrap()[0].about.clone().unwrap();
    assert_eq!((about.strategy, about.mechanism), (subject.strategy, says));
}

pub fn lives_by_the_table(place: &Place, subject: Subject) {
    let sandbox = subject.small(place, &[("f", "1")]);
    let status = || sandbox.handle().status().unwrap();
    assert_eq!(status(), Created);
    // Looking is no use of it.
    let _ = sandbox.changes(&ctx());
    assert!(sandbox.handle().path().exists() && status() == Created);
    assert_eq!(sandbox.enter(&ctx()).unwrap(), sandbox.handle().path());
    assert_eq!(status(), Active);
    assert!(sandbox.commit(&CommitOptions::default(), &ctx()).unwrap().committed);
    assert_eq!(status(), Committed);
    sandbox.enter(&ctx()).unwrap();
    assert_eq!(status(), Active, "work goes on");
    sandbox.cleanup(false, &ctx()).unwrap();
    assert_eq!(status(), CleanedUp);
    assert_eq!(code(sandbox.enter(&ctx())), Code::IllegalTransition);
    assert_eq!(code(sandbox.commit(&CommitOptions::default(), &ctx())), Code::IllegalTransition);
    assert_eq!(code(sandbox.rollback(&ctx())), Code::IllegalTransition);
    subject.is_clean(place, 0);
}

pub fn is_listed_and_found(place: &Place, subject: Subject) {
    let sandbox = subject.small(place, &[("f", "1")]);
    let id = sandbox.handle().id().clone();
    let listed = || place.sandboxes.list(&ctx()).unwrap();
    assert_eq!(listed().len(), 1);
    assert_eq!(
        (&listed()[0].id, listed()[0].owner, listed()[0].unsaved),
        (&id, Owner::ThisProcess, Some(false))
    );
    let again = place.sandboxes.attach(&id, &ctx()).unwrap();
    assert_eq!(again.handle().path(), sandbox.handle().path());
    assert_eq!(again.handle().mechanism(), sandbox.handle().mechanism());
    again.enter(&ctx()).unwrap();
    assert_eq!(sandbox.handle().status().unwrap(), Active, "it is the same one");
    // One that is held is never removed; one that nobody holds and that has nothing unsaved is.
    assert_eq!(place.sandboxes.cleanup_abandoned(&ctx()).unwrap().removed, []);
    drop((sandbox, again));
    assert_eq!(listed()[0].owner, Owner::Orphan);
    assert_eq!(place.sandboxes.cleanup_abandoned(&ctx()).unwrap().removed, std::slice::from_ref(&id));
    assert_eq!(code(place.sandboxes.attach(&id, &ctx())), Code::NotFound);
    subject.is_clean(place, 0);
}

pub fn checkpoints_bring_it_back(place: &Place, subject: Subject) {
    let sandbox = subject.small(place, &[("f", "1"), ("d/g", "1")]);
    let path = sandbox.enter(&ctx()).unwrap();
    fs::write(path.join("f"), "2").unwrap();
    let before = Tree::of(&path);
    let taken = place.manager.create(&path, request(), &ctx()).unwrap();
    assert_eq!(taken.sandbox_id, sandbox.handle().checkpoints_id().unwrap());
    fs::write(path.join("f"), "3").unwrap();
    fs::remove_dir_all(path.join("d")).unwrap();
    assert!(place.manager.rollback(taken.checkpoint_id, exact(), &ctx()).unwrap().restored);
    same(&Tree::of(&path), &before);
}
