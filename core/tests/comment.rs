//! G2: the comment format and its strict parser, replayed from `comment.json`, and as a property.

mod common;

use common::{Text, vectors};
use proptest::prelude::*;
use turnback_core::{CheckpointComment, CommentPrefix, TurnId};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct File {
    #[serde(rename = "about")]
    _about: String,
    format: Vec<Format>,
    not_ours: Vec<NotOurs>,
    refused: Vec<Refused>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Format {
    turn_id: Text,
    prefix: Option<Text>,
    comment: Text,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct NotOurs {
    comment: Text,
    why: String,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Refused {
    turn_id: Text,
    prefix: Option<Text>,
    code: String,
    message: String,
}

#[test]
fn g2_each_turn_id_becomes_its_comment_and_comes_back() {
    let file: File = vectors("comment.json");
    assert!(!file.format.is_empty());
    for case in file.format {
        let comment = CheckpointComment {
            prefix: case
                .prefix
                .map_or_else(CommentPrefix::default, |text| CommentPrefix::new(text.get()).unwrap()),
            turn_id: TurnId::new(case.turn_id.get()).unwrap(),
        };
        let text = case.comment.get();
        assert_eq!(comment.to_string(), text);
        assert_eq!(CheckpointComment::parse(&text), Some(comment));
    }
}

#[test]
fn g2_a_comment_that_format_would_not_write_is_not_ours() {
    let file: File = vectors("comment.json");
    assert!(!file.not_ours.is_empty());
    for case in file.not_ours {
        let parsed = CheckpointComment::parse(&case.comment.get());
        assert_eq!(parsed, None, "{}", case.why);
    }
}

#[test]
fn g2_a_turn_id_or_prefix_out_of_bounds_is_refused() {
    let file: File = vectors("comment.json");
    assert!(!file.refused.is_empty());
    for case in file.refused {
        let turn_id = TurnId::new(case.turn_id.get());
        let prefix = case.prefix.map_or(Ok(CommentPrefix::default()), |text| CommentPrefix::new(text.get()));
        let (message, code) = match (turn_id, prefix) {
            (Err(error), Ok(_)) => (error.to_string(), error.code()),
            (Ok(_), Err(error)) => (error.to_string(), error.code()),
            (turn_id, prefix) => panic!("exactly one is bad, got {turn_id:?} and {prefix:?}"),
        };
        assert_eq!(message, case.message);
        assert_eq!(code, case.code);
    }
}

/// Turn ids, with many pieces of the separator and of escapes in them.
fn turn_ids() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("-pre-agent-".to_owned()),
        Just("pre-agent".to_owned()),
        Just("-".to_owned()),
        Just("%".to_owned()),
        Just("%2D".to_owned()),
        any::<char>().prop_map(String::from),
        "[ -~]{1,4}",
    ];
    prop::collection::vec(piece, 1..20)
        .prop_map(|pieces| pieces.concat())
        .prop_filter("at most 200 bytes", |text| text.len() <= 200)
}

fn prefixes() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("-pre-agent-".to_owned()),
        Just("-pre-agent".to_owned()),
        Just("pre-agent-".to_owned()),
        Just("-".to_owned()),
        "[!-~]{1,4}",
    ];
    prop::collection::vec(piece, 1..6)
        .prop_map(|pieces| pieces.concat())
        .prop_filter("at most 64 bytes", |text| text.len() <= 64)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn g2_parse_undoes_format_for_every_prefix_and_turn_id(turn in turn_ids(), prefix in prefixes()) {
        let comment = CheckpointComment {
            prefix: CommentPrefix::new(prefix).unwrap(),
            turn_id: TurnId::new(turn).unwrap(),
        };
        let text = comment.to_string();
        prop_assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{text}");
        prop_assert!(text.len() <= CheckpointComment::MAX_BYTES);
        prop_assert_eq!(CheckpointComment::parse(&text), Some(comment));
    }

    #[test]
    fn g2_whatever_parses_is_written_the_same_again(
        prefix in prefixes(),
        rest in "(pre-agent|-|%2D|%25|%|[0-9A-Fa-f]{2}|[ -~]|\\PC){0,12}",
    ) {
        let text = format!("{prefix}-pre-agent-{rest}");
        if let Some(comment) = CheckpointComment::parse(&text) {
            prop_assert_eq!(comment.to_string(), text);
        }
    }
}
