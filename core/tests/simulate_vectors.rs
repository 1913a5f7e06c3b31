//! P3, P5: small scenarios worked out by hand, in `js-tests/vectors/simulate/`.
#![allow(clippy::disallowed_methods, reason = "the tests read the scenarios; core itself reads nothing")]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod simulate;

use std::fs;
use std::path::Path;

use serde_json::Value;
use simulate::{Scenario, summary_json};

#[test]
fn every_scenario_comes_to_what_was_worked_out_by_hand() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../js-tests/vectors/simulate");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 20, "there are {} scenarios", files.len());
    for file in files {
        let vector: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let scenario = Scenario::of(&vector["scenario"]);
        let expected = vector["expect"].as_array().unwrap();
        assert_eq!(scenario.policies.len(), expected.len(), "{}", file.display());
        for (at, (policy, expected)) in scenario.policies.iter().zip(expected).enumerate() {
            let replay = turnback_core::simulate(&scenario.timeline, &scenario.driver, policy);
            let what = format!("{}, policy {at}", file.display());
            let rows = scenario.rows(&replay);
            let expected_rows = expected["trace"].as_array().unwrap();
            for (row, expected) in rows.iter().zip(expected_rows) {
                assert_eq!(row.to_string(), expected.to_string(), "{what}");
            }
            assert_eq!(rows.len(), expected_rows.len(), "{what}");
            let mut expected_summary = expected["summary"].clone();
            expected_summary.as_object_mut().unwrap().shift_remove("name");
            // Numbers by their value: whoever wrote the file may have left out a `.0`.
            assert_eq!(exact(summary_json(&replay, policy)), exact(expected_summary), "{what}");
        }
    }
}

/// The same with every number as the nearest `f64`, which is all that JavaScript has.
fn exact(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().unwrap().into(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, exact(value))).collect(),
        other => other,
    }
}
