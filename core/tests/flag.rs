//! G3: the flag resolver, replayed from `flag.json`.

mod common;

use std::collections::BTreeMap;

use common::{Text, vectors};
use turnback_core::{ENVIRONMENT_VARIABLE, FLAG_VARIABLE, resolve_flag};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "about")]
    _about: String,
    cases: Vec<Case>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    env: BTreeMap<String, Text>,
    expect: Expect,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    enabled: bool,
    reason: String,
    warning: Option<String>,
}

#[test]
fn g3_each_environment_gives_its_answer_reason_and_warning() {
    let file: File = vectors("flag.json");
    assert!(!file.cases.is_empty());
    for Case { env, expect } in file.cases {
        let value = |name: &str| env.get(name).map(Text::get);
        let decision = resolve_flag(value(FLAG_VARIABLE).as_deref(), value(ENVIRONMENT_VARIABLE).as_deref());
        assert_eq!(decision.enabled(), expect.enabled, "{env:?}");
        assert_eq!(decision.reason.as_str(), expect.reason, "{env:?}");
        let warning = decision.warning.map(|warning| warning.to_string());
        assert_eq!(warning, expect.warning, "{env:?}");
    }
}
