//! What `none` does.

use std::fs;

use turnback_core::SandboxStatus;
use turnback_engine::Code;

use super::subject::Subject;
use crate::common::place::{code, exact, request};
use crate::place::{Place, ctx};

pub fn writes_go_through(place: &Place, subject: Subject) {
    let sandbox = subject.small(place, &[("f", "1")]);
    assert_eq!(sandbox.enter(&ctx()).unwrap(), place.resource());
    fs::write(sandbox.handle().path().join("f"), "2").unwrap();
    assert_eq!(fs::read(place.resource().join("f")).unwrap(), b"2");
    let checkpoints = sandbox.handle().checkpoints_id().unwrap();
    assert_eq!(checkpoints, place.manager.sandbox_id_of(&place.resource()).unwrap(), "C1");
    sandbox.cleanup(false, &ctx()).unwrap();
    assert_eq!(fs::read(place.resource().join("f")).unwrap(), b"2");
    subject.is_clean(place, 0);
}

pub fn no_baseline(place: &Place, subject: Subject) {
    let sandbox = subject.small(place, &[("f", "1")]);
    let checkpoint = place.manager.create(&place.resource(), request(), &ctx()).unwrap();
    place.write("f", "2");
    let error = sandbox.rollback(&ctx()).unwrap_err();
    assert_eq!(error.code(), Code::NotUndoable);
    assert!(error.to_string().contains("checkpoint"), "{error}");
    assert_eq!(sandbox.handle().status().unwrap(), SandboxStatus::Created, "nothing happened");
    assert_eq!(code(sandbox.changes(&ctx())), Code::NotUndoable);
    assert_eq!(code(sandbox.undo_commit(&ctx())), Code::NotUndoable);
    // Rolling back to a checkpoint works for it too.
    place.manager.rollback(checkpoint.checkpoint_id, exact(), &ctx()).unwrap();
    assert_eq!(fs::read(place.resource().join("f")).unwrap(), b"1");
}
