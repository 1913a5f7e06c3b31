//! The proof that a command only reads (G14), for JavaScript hosts: what `turnback-risk` decides, and nothing else.
//!
//! A module of its own, because a shell's grammar is several times the policy layer's size, and few pages ask.

use turnback_risk::{Verdict, is_read_only};
use wasm_bindgen::prelude::*;

/// Why a command is not proven to only read, as a sentence without a full stop; `undefined` when it is proven.
#[wasm_bindgen(js_name = whyNotReadOnly)]
pub fn why_not_read_only(command: &str) -> Option<String> {
    match is_read_only(command) {
        Verdict::ReadOnly => None,
        Verdict::Destructive { why } => Some(why.to_string()),
    }
}
