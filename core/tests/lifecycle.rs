//! S2, S3: the table of legal transitions, replayed from `lifecycle.json`.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod common;

use std::collections::BTreeMap;

use common::{Text, vectors};
use turnback_core::{IllegalTransition, SandboxStatus, TRANSITIONS};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct File {
    #[serde(rename = "about")]
    _about: String,
    transitions: BTreeMap<String, Vec<String>>,
    illegal: Vec<Illegal>,
    refused_statuses: Vec<Refused>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Illegal {
    from: String,
    to: String,
    code: String,
    message: String,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    status: Text,
    code: String,
    message: String,
}

fn status(name: &str) -> SandboxStatus {
    name.parse().unwrap()
}

#[test]
fn s2_s3_every_pair_of_statuses_is_legal_exactly_when_the_table_lists_it() {
    let file: File = vectors("lifecycle.json");
    assert_eq!(file.transitions.len(), SandboxStatus::ALL.len());
    for from in SandboxStatus::ALL {
        let listed: Vec<_> = file.transitions[from.as_str()].iter().map(|name| status(name)).collect();
        assert_eq!(from.allowed_next(), listed, "after {from}");
        for to in SandboxStatus::ALL {
            let expected = if listed.contains(&to) { Ok(to) } else { Err(IllegalTransition { from, to }) };
            assert_eq!(from.transition(to), expected, "{from} to {to}");
            assert_eq!(from.may_become(to), listed.contains(&to), "{from} to {to}");
        }
    }
}

#[test]
fn s3_the_table_has_one_row_for_each_status() {
    assert_eq!(TRANSITIONS.map(|(from, _)| from), SandboxStatus::ALL);
}

#[test]
fn s3_an_illegal_transition_names_both_statuses_and_what_is_allowed() {
    let file: File = vectors("lifecycle.json");
    for case in file.illegal {
        let error = status(&case.from).transition(status(&case.to)).unwrap_err();
        assert_eq!(error.to_string(), case.message);
        assert_eq!(error.code(), case.code);
        assert_eq!(error.from.as_str(), case.from);
        assert_eq!(error.to.as_str(), case.to);
        assert_eq!(error.allowed(), error.from.allowed_next());
    }
}

#[test]
fn s3_an_unknown_status_is_refused_with_the_list_of_valid_ones() {
    let file: File = vectors("lifecycle.json");
    for case in file.refused_statuses {
        let error = case.status.get().parse::<SandboxStatus>().unwrap_err();
        assert_eq!(error.to_string(), case.message);
        assert_eq!(error.code(), case.code);
    }
}
