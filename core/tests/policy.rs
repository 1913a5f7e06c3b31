//! G1, G2: whether a checkpoint is due, replayed from `should-checkpoint.json`.

mod common;

use common::{Text, vectors};
use turnback_core::{CHECKPOINT_TIMEOUT, IdError, TurnId, should_checkpoint};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "about")]
    _about: String,
    #[serde(rename = "timeoutMs")]
    timeout_ms: u64,
    cases: Vec<Case>,
    refused: Vec<Refused>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    state: State,
    expect: bool,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    state: State,
    code: String,
    message: String,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct State {
    flag_enabled: bool,
    turn_id: Text,
    last_checkpoint_turn_id: Option<Text>,
}

/// What a binding does: parse at the edge, then ask.
fn ask(state: &State) -> Result<bool, IdError> {
    let turn = TurnId::new(state.turn_id.get())?;
    let last = state.last_checkpoint_turn_id.as_ref();
    let last = last.map(|text| TurnId::new(text.get())).transpose()?;
    Ok(should_checkpoint(state.flag_enabled, &turn, last.as_ref()))
}

#[test]
fn g1_g2_a_checkpoint_is_due_once_for_each_turn_and_only_with_the_flag() {
    let file: File = vectors("should-checkpoint.json");
    assert!(!file.cases.is_empty());
    for case in file.cases {
        assert_eq!(ask(&case.state), Ok(case.expect), "{:?}", case.state);
    }
}

#[test]
fn g2_a_turn_id_that_is_not_1_to_200_bytes_is_refused() {
    let file: File = vectors("should-checkpoint.json");
    assert!(!file.refused.is_empty());
    for case in file.refused {
        let error = ask(&case.state).unwrap_err();
        assert_eq!(error.to_string(), case.message);
        assert_eq!(error.code(), case.code);
    }
}

#[test]
fn g7_the_time_limit_is_the_one_that_every_build_has() {
    let file: File = vectors("should-checkpoint.json");
    assert_eq!(CHECKPOINT_TIMEOUT.as_u64(), file.timeout_ms);
}
