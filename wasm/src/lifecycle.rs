use turnback_core::SandboxStatus;
use wasm_bindgen::prelude::*;

use crate::error::Refused;

/// Whether a sandbox of status `from` may become `to` (S2, S3).
///
/// # Errors
/// When one of them is no status.
#[wasm_bindgen(js_name = isLegalTransition)]
pub fn is_legal_transition(from: &str, to: &str) -> Result<bool, JsValue> {
    Ok(status(from)?.may_become(status(to)?))
}

/// The statuses that a sandbox of status `from` may become (S2, S3).
///
/// # Errors
/// When `from` is no status.
#[wasm_bindgen(js_name = allowedTransitions)]
pub fn allowed_transitions(from: &str) -> Result<Vec<String>, JsValue> {
    let next = status(from)?.allowed_next();
    Ok(next.iter().copied().map(String::from).collect())
}

fn status(name: &str) -> Result<SandboxStatus, Refused> {
    Ok(name.parse()?)
}
