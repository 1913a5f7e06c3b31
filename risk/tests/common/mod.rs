//! Reads `js-tests/vectors/read-only.json`; the README beside it has the format.
#![allow(clippy::disallowed_methods, reason = "the tests read the table; the crate itself reads nothing")]
#![allow(clippy::expect_used, reason = "a panic is how a test fails")]
#![allow(dead_code, reason = "each test file uses a part of this")]

use std::path::Path;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Vectors {
    #[serde(rename = "about")]
    _about: String,
    #[serde(rename = "readOnly")]
    pub(crate) read_only: Vec<String>,
    pub(crate) destructive: Vec<Destructive>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Destructive {
    pub(crate) command: String,
    #[serde(rename = "why")]
    _why: String,
    /// Only destructive by itself: with something before or after it, it would be another command.
    #[serde(default)]
    pub(crate) alone: bool,
}

pub(crate) fn vectors() -> Vectors {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../js-tests/vectors/read-only.json");
    let bytes = std::fs::read(path).expect("the vectors are there");
    serde_json::from_slice(&bytes).expect("the vectors are as the README says")
}
