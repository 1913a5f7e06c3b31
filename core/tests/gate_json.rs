//! The gate's own JSON, compared with serde's.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use proptest::prelude::*;
use serde_json::{Value, json};
use turnback_core::{Gate, GateOptions, Millis};

fn ask(input: &str) -> Result<Vec<Value>, String> {
    let answer = Gate::new(GateOptions::default()).handle_json(input, Millis::EPOCH);
    answer.map(|text| serde_json::from_str(&text).unwrap()).map_err(|error| error.to_string())
}

/// Every character as an escape.
fn escaped(text: &str) -> String {
    text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
}

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, cases: 1_000, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn texts_come_back_however_they_are_written(sandbox in "[^\\p{Cc}]{1,30}", turn in "(?s).{1,30}", batch: u64) {
        let input = json!({ "type": "batch", "batch": batch, "sandboxId": &sandbox, "turnId": &turn });
        let by_hand = format!(
            r#"{{"type":"{}","batch":{batch},"sandboxId":"{}","turnId":"{}"}}"#,
            escaped("batch"), escaped(&sandbox), escaped(&turn),
        );
        let texts = [input.to_string(), serde_json::to_string_pretty(&input).unwrap(), by_hand];
        for text in texts {
            let outputs = ask(&text).unwrap();
            prop_assert_eq!(outputs[0]["sandboxId"].as_str(), Some(sandbox.as_str()));
            prop_assert_eq!(outputs[0]["turnId"].as_str(), Some(turn.as_str()));
        }
    }

    #[test]
    fn what_it_writes_is_what_serde_would_write(turn in "(?s).{1,30}") {
        let input = json!({ "type": "batch", "batch": 1, "sandboxId": "s", "turnId": turn }).to_string();
        let text = Gate::new(GateOptions::default()).handle_json(&input, Millis::EPOCH).unwrap();
        prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap().to_string(), text);
    }

    #[test]
    fn it_takes_nothing_that_is_no_json(
        at in 0..90_usize,
        with in prop_oneof!["[ -~]", "[\\x00-\\x1f]", "[{}\\[\\]\":,\\\\u0-9eE.+-]", Just(String::new())],
        remove in 0..3_usize,
    ) {
        let mut text = String::from(r#"{"type":"batch","batch":12,"sandboxId":"a\"\u00e9\n","turnId":null,"paused":false}"#);
        let text_length = text.len();
        let from = at.min(text_length);
        text.replace_range(from..(from + remove).min(text_length), &with);
        if ask(&text).is_ok() {
            prop_assert!(serde_json::from_str::<Value>(&text).is_ok_and(|value| value.is_object()), "{}", text);
        }
    }
}

#[test]
fn numbers_are_exact_up_to_the_last() {
    for (number, fits) in
        [("18446744073709551615", true), ("18446744073709551616", false), ("01", false), ("0", true)]
    {
        let input = format!(r#"{{"type":"cancelled","batch":{number}}}"#);
        assert_eq!(ask(&input).is_ok(), fits, "{number}");
    }
}
