//! C1, C2, S1: ids, phases and strategies, replayed from `ids.json`.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod common;

use common::{Text, vectors};
use turnback_core::{CheckpointId, Millis, Phase, PlanId, SandboxId, Strategy};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct File {
    #[serde(rename = "about")]
    _about: String,
    checkpoint_ids: Vec<Checkpoint>,
    refused_times: Vec<RefusedTime>,
    refused_checkpoint_ids: Vec<RefusedCheckpoint>,
    names: Names,
    phases: Vec<String>,
    refused_phases: Vec<RefusedText>,
    strategies: Vec<String>,
    refused_strategies: Vec<RefusedText>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Checkpoint {
    text: String,
    at_ms: u64,
    random_hex: String,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RefusedTime {
    at_ms: u64,
    code: String,
    message: String,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RefusedCheckpoint {
    text: Text,
    why: String,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    valid: Vec<Text>,
    refused: Vec<RefusedName>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RefusedName {
    kind: String,
    text: Text,
    message: String,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RefusedText {
    text: String,
    message: String,
}

fn bytes_of_hex(hex: &str) -> [u8; 10] {
    let bytes: Vec<u8> =
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
    bytes.try_into().unwrap()
}

#[test]
fn c1_a_checkpoint_id_is_made_of_time_and_random_bits_and_reads_back() {
    let file: File = vectors("ids.json");
    assert!(!file.checkpoint_ids.is_empty());
    for case in file.checkpoint_ids {
        let at = Millis::since_epoch(case.at_ms);
        let id = CheckpointId::from_parts(at, bytes_of_hex(&case.random_hex)).unwrap();
        assert_eq!(id.to_string(), case.text);
        assert_eq!(case.text.parse(), Ok(id));
        assert_eq!(id.created_at(), at);
        assert_eq!(CheckpointId::from_bytes(id.to_bytes()), id);
    }
}

#[test]
fn c1_a_time_of_more_than_48_bits_is_refused() {
    let file: File = vectors("ids.json");
    assert!(!file.refused_times.is_empty());
    for case in file.refused_times {
        let at = Millis::since_epoch(case.at_ms);
        let error = CheckpointId::from_parts(at, [0; 10]).unwrap_err();
        assert_eq!(error.to_string(), case.message);
        assert_eq!(error.code(), case.code);
    }
}

#[test]
fn c1_anything_but_the_canonical_text_is_refused_in_a_short_sentence() {
    let file: File = vectors("ids.json");
    assert!(!file.refused_checkpoint_ids.is_empty());
    for case in file.refused_checkpoint_ids {
        let error = case.text.get().parse::<CheckpointId>().unwrap_err();
        assert_eq!(error.code(), "INVALID_ARGUMENT", "{}", case.why);
        let message = error.to_string();
        assert!(message.len() < 400, "{}: {} bytes", case.why, message.len());
        assert!(!message.contains('\n'), "{}", case.why);
    }
}

#[test]
fn c1_ids_sort_by_time_then_by_random_bits_as_texts_and_as_bytes() {
    let id = |ms, last| {
        let random = [0, 0, 0, 0, 0, 0, 0, 0, 0, last];
        CheckpointId::from_parts(Millis::since_epoch(ms), random).unwrap()
    };
    let ids = [id(1, 0), id(1, 1), id(1, 255), id(2, 0), id(1 << 40, 7)];
    assert!(ids.is_sorted_by(|a, b| a < b));
    assert!(ids.is_sorted_by(|a, b| a.to_string() < b.to_string()));
    assert!(ids.is_sorted_by(|a, b| a.to_bytes() < b.to_bytes()));
}

#[test]
fn c1_sandbox_and_plan_ids_have_1_to_200_bytes_and_no_control_characters() {
    let file: File = vectors("ids.json");
    for text in file.names.valid {
        let text = text.get();
        assert_eq!(SandboxId::new(text.as_str()).unwrap().as_str(), text);
        assert_eq!(PlanId::new(text.as_str()).unwrap().as_str(), text);
    }
    for case in file.names.refused {
        let text = case.text.get();
        let error = match case.kind.as_str() {
            "sandbox" => SandboxId::new(text).unwrap_err(),
            "plan" => PlanId::new(text).unwrap_err(),
            other => panic!("no such kind: {other}"),
        };
        assert_eq!(error.to_string(), case.message);
        assert_eq!(error.code(), "INVALID_ARGUMENT");
    }
}

#[test]
fn c2_the_phases_are_these_and_another_is_refused_with_the_list() {
    let file: File = vectors("ids.json");
    assert_eq!(file.phases, Phase::ALL.map(Phase::as_str));
    for phase in Phase::ALL {
        assert_eq!(phase.as_str().parse(), Ok(phase));
    }
    for case in file.refused_phases {
        let error = case.text.parse::<Phase>().unwrap_err();
        assert_eq!(error.to_string(), case.message);
        assert_eq!(error.code(), "INVALID_ARGUMENT");
    }
}

#[test]
fn s1_the_strategies_are_these_and_another_is_refused_with_the_list() {
    let file: File = vectors("ids.json");
    assert_eq!(file.strategies, Strategy::ALL.map(Strategy::as_str));
    for strategy in Strategy::ALL {
        assert_eq!(strategy.as_str().parse(), Ok(strategy));
    }
    for case in file.refused_strategies {
        let error = case.text.parse::<Strategy>().unwrap_err();
        assert_eq!(error.to_string(), case.message);
        assert_eq!(error.code(), "INVALID_ARGUMENT");
    }
}
