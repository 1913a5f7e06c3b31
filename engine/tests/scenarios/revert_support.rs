//! What the scenarios about `revert` share.
#![allow(unreachable_pub, clippy::unwrap_used, reason = "helpers panic as tests do")]

use turnback_core::CheckpointId;
use turnback_engine::{
    Context, GitMode, OnConflict, Reason, Result, RevertRequest, RollbackReport, Uncovered,
};

use crate::common::picture::Tree;
use crate::common::place::Place;

/// `git: 'exact'`, any conflict fails.
pub fn exact() -> RevertRequest {
    RevertRequest { git: GitMode::Exact, ..RevertRequest::default() }
}

pub fn ours() -> RevertRequest {
    RevertRequest { on_conflict: OnConflict::Ours, ..exact() }
}

pub fn theirs() -> RevertRequest {
    RevertRequest { on_conflict: OnConflict::Theirs, ..exact() }
}

pub fn try_revert(
    place: &Place,
    from: CheckpointId,
    to: CheckpointId,
    request: RevertRequest,
) -> Result<RollbackReport> {
    place.manager.revert(from, to, request, &Context::default())
}

/// A revert that does all it was asked for; what its dry run says before is what it does.
#[track_caller]
pub fn revert(place: &Place, from: CheckpointId, to: CheckpointId, request: RevertRequest) -> RollbackReport {
    let before = place.tree();
    let dry = try_revert(place, from, to, RevertRequest { dry_run: true, ..request.clone() }).unwrap();
    assert_eq!(place.tree(), before, "a dry run changes nothing");
    assert!(!dry.restored);
    let report = try_revert(place, from, to, request).unwrap();
    assert!(report.restored, "{report:#?}");
    assert_eq!((&dry.actions, &dry.conflicts, &dry.kept), (&report.actions, &report.conflicts, &report.kept));
    assert_eq!(report.written + report.deleted, report.actions.len() as u64, "{report:#?}");
    assert_eq!(report.undo_checkpoint_id.is_none(), before == place.tree(), "{report:#?}");
    report
}

pub fn conflicts(report: &RollbackReport) -> Vec<String> {
    report.conflicts.iter().map(|conflict| conflict.path.to_string()).collect()
}

pub fn list(uncovered: &[Uncovered]) -> Vec<(String, Reason)> {
    uncovered.iter().map(|u| (u.path.to_string(), u.reason)).collect()
}

/// `tree`, in which some paths, with what lies beneath them, are as in `other`.
pub fn with(tree: &Tree, other: &Tree, paths: &[&str]) -> Tree {
    let mut mixed = tree.without(paths);
    let beneath = |path: &[u8], of: &str| {
        path == of.as_bytes() || (path.starts_with(of.as_bytes()) && path.get(of.len()) == Some(&b'/'))
    };
    let taken = other.0.iter().filter(|(path, _)| paths.iter().any(|of| beneath(path, of)));
    mixed.0.extend(taken.map(|(path, item)| (path.clone(), item.clone())));
    mixed
}

/// `tree`, in which some directories have the metadata that they have in `other`.
pub fn with_meta(tree: &Tree, other: &Tree, paths: &[&str]) -> Tree {
    let mut mixed = tree.clone();
    for path in paths {
        let item = other.0.get(path.as_bytes()).unwrap().clone();
        mixed.0.insert(path.as_bytes().to_vec(), item);
    }
    mixed
}
