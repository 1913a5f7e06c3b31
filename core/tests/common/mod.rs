//! Reads the vectors that Rust, the addon and the wasm build share (P5); `js-tests/vectors/README.md` has the format.
#![allow(dead_code, reason = "each test file uses a part of this")]
#![allow(clippy::disallowed_methods, reason = "the tests read the tables; core itself reads nothing")]
#![allow(clippy::panic, reason = "a panic is how a test fails")]

use std::path::Path;

use serde::de::DeserializeOwned;

/// The vector file `name`, as the type that its README row describes.
pub(crate) fn vectors<T: DeserializeOwned>(name: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../js-tests/vectors").join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A text: written out, or repeated.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(untagged)]
pub(crate) enum Text {
    Plain(String),
    Repeated(Repeated),
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Repeated {
    #[serde(default)]
    before: String,
    repeat: String,
    times: usize,
    #[serde(default)]
    after: String,
}

impl Text {
    pub(crate) fn get(&self) -> String {
        match self {
            Self::Plain(text) => text.clone(),
            Self::Repeated(r) => {
                format!("{}{}{}", r.before, r.repeat.repeat(r.times), r.after)
            }
        }
    }
}
