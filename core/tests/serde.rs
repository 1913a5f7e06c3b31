//! C1: ids and enums write themselves as their strings and read only what they would accept as strings.
#![cfg(feature = "serde")]

use turnback_core::{CheckpointId, Millis, Phase, PlanId, SandboxStatus, Strategy, TurnId};

#[test]
fn c1_ids_and_enums_are_strings_in_json_and_times_are_numbers() {
    let id: CheckpointId = "01ARYZ6S41TSV4RRFFQ69G5FAV".parse().unwrap();
    let plan = PlanId::new("p").unwrap();
    let turn = TurnId::new("t").unwrap();
    let all = (
        id,
        plan,
        turn,
        Phase::PreBatch,
        Strategy::GitWorktree,
        SandboxStatus::RolledBack,
        Millis::since_epoch(7),
    );
    let json = serde_json::to_string(&all).unwrap();
    assert_eq!(json, r#"["01ARYZ6S41TSV4RRFFQ69G5FAV","p","t","pre_batch","git_worktree","ROLLED_BACK",7]"#);
    assert_eq!(
        serde_json::from_str::<(CheckpointId, PlanId, TurnId, Phase, Strategy, SandboxStatus, Millis)>(&json)
            .unwrap(),
        all
    );
}

#[test]
fn c1_a_bad_string_in_json_is_refused_with_the_same_sentence() {
    let refused = |error: serde_json::Error| error.to_string();
    let id = serde_json::from_str::<CheckpointId>(r#""01aryz6s41tsv4rrffq69g5fav""#);
    assert!(refused(id.unwrap_err()).starts_with(r#""01aryz6s41tsv4rrffq69g5fav" is not a checkpoint id"#));
    let phase = serde_json::from_str::<Phase>(r#""later""#);
    assert!(refused(phase.unwrap_err()).starts_with(r#""later" is not a phase"#));
    let plan = serde_json::from_str::<PlanId>(r#""""#);
    assert!(refused(plan.unwrap_err()).starts_with("a plan id cannot be empty"));
}
