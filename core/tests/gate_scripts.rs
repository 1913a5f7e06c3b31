//! P5: the gate's scripts (`js-tests/vectors/gate/`), replayed through the JSON that the bindings use.
#![allow(clippy::disallowed_methods, reason = "the tests read the scripts; core itself reads nothing")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use turnback_core::{CommentPrefix, Gate, GateOptions, Millis, MillisSpan};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    about: String,
    cites: Vec<String>,
    #[serde(default)]
    options: Options,
    steps: Vec<Step>,
}

#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Options {
    timeout_ms: Option<u64>,
    prefix: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    at: u64,
    #[serde(rename = "in")]
    input: Value,
    out: Option<Value>,
    refused: Option<Refused>,
}

#[derive(Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    code: String,
    message: String,
}

fn scripts() -> Vec<(PathBuf, Script)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../js-tests/vectors/gate");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(read).collect()
}

fn read(path: PathBuf) -> (PathBuf, Script) {
    let text = std::fs::read(&path).unwrap();
    let script = serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    (path, script)
}

fn gate(options: Options) -> Gate {
    let defaults = GateOptions::default();
    Gate::new(GateOptions {
        timeout: options.timeout_ms.map_or(defaults.timeout, MillisSpan::from_millis),
        prefix: options.prefix.map_or(defaults.prefix, |prefix| CommentPrefix::new(prefix).unwrap()),
        digest_key: defaults.digest_key,
    })
}

#[test]
fn p5_each_script_gives_its_outputs_byte_for_byte() {
    for (path, script) in scripts() {
        let mut gate = gate(script.options);
        for (number, step) in script.steps.into_iter().enumerate() {
            let step_of = format!("{} ({}), step {number}", path.display(), script.about);
            let answer = gate.handle_json(&step.input.to_string(), Millis::since_epoch(step.at));
            match (answer, step.out, step.refused) {
                (Ok(answer), Some(out), None) => assert_eq!(answer, out.to_string(), "{step_of}"),
                (Err(error), None, Some(refused)) => {
                    let error = Refused { code: error.code().to_owned(), message: error.to_string() };
                    assert_eq!(error, refused, "{step_of}");
                }
                (answer, ..) => panic!("{step_of}: {answer:?}"),
            }
        }
    }
}

#[test]
fn at_least_sixty_scripts_cite_every_rule_that_the_gate_keeps() {
    let scripts = scripts();
    assert!(scripts.len() >= 60, "{} scripts", scripts.len());
    let cited: BTreeSet<String> = scripts.into_iter().flat_map(|(_, script)| script.cites).collect();
    for rule in ["G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "G9", "G10", "G12", "G14", "C17"] {
        assert!(cited.contains(rule), "no script shows {rule}");
    }
}

#[test]
fn a_text_that_is_no_input_is_refused_with_what_is_wrong_and_changes_nothing() {
    let refused = [
        ("", "an object is needed at byte 0"),
        ("[]", "an object is needed at byte 0"),
        ("{}", "the field \"type\" is missing"),
        (
            r#"{"type":"nap"}"#,
            "its type is batch, created, failed, paused, cancelled, released, forgotten, deleted, options or tick",
        ),
        (r#"{"type":1}"#, "the field \"type\" is a text"),
        (r#"{"type":"tick"}{}"#, "the end is needed at byte 15"),
        (r#"{"type":"tick","type":"tick"}"#, "the field \"type\" comes twice"),
        (r#"{"type":"tick","now":1}"#, "it has no field \"now\""),
        (r#"{"type":"tick","batch":1}"#, "it has no field \"batch\""),
        (r#"{"type":"batch","sandboxId":"s"}"#, "the field \"batch\" is missing"),
        (r#"{"type":"batch","batch":1}"#, "the field \"sandboxId\" is missing"),
        (r#"{"type":"batch","batch":"1","sandboxId":"s"}"#, "the field \"batch\" is a whole number"),
        (r#"{"type":"batch","batch":-1,"sandboxId":"s"}"#, "a whole number from 0"),
        (r#"{"type":"batch","batch":1.5,"sandboxId":"s"}"#, "a whole number without"),
        (r#"{"type":"batch","batch":1,"sandboxId":"s","paused":0}"#, "the field \"paused\" is true or false"),
        (r#"{"type":"batch","batch":1,"sandboxId":"s","turnid":"t"}"#, "it has no field \"turnid\""),
        (r#"{"type":"batch","batch":1,"sandboxId":"s","turnId":""}"#, "a turn id cannot be empty"),
        (r#"{"type":"batch","batch":1,"sandboxId":"a\nb","turnId":"t"}"#, "control characters"),
        (r#"{"type":"forgotten","sandboxId":"\ud800"}"#, "half a surrogate pair"),
        (r#"{"type":"released","sandboxId":"s"}"#, "the field \"turnId\" is missing"),
        (r#"{"type":"created","attempt":1,"checkpointId":""}"#, "mend the driver"),
    ];
    let mut gate = gate(Options::default());
    for (text, what) in refused {
        let error = gate.handle_json(text, Millis::since_epoch(5)).unwrap_err();
        assert_eq!(error.code(), "INVALID_ARGUMENT", "{text}");
        assert!(error.to_string().contains(what), "{text}: {error}");
    }
    let answer = gate.handle_json(r#"{"type":"tick"}"#, Millis::EPOCH).unwrap();
    assert_eq!(answer, r#"[{"type":"idle"}]"#);
}
