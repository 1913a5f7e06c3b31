//! The simulation's numbers: one array in, one array out (W11: no text and no objects, whose glue would be downloaded).

mod answer;
mod question;

use wasm_bindgen::prelude::*;

use crate::error::Refused;

/// Replays a timeline under one policy (P3). What the numbers mean stands in `question.rs` and `answer.rs`, and in the package's
/// `lib/simulate/numbers.ts`, which is the other side.
///
/// # Errors
/// When the numbers are none that the other side writes.
#[wasm_bindgen]
pub fn simulate(numbers: &[f64]) -> Result<Vec<f64>, JsValue> {
    let Some(question) = question::read(numbers) else {
        return Err(Refused::argument("the numbers of a simulation are malformed".to_owned()).into());
    };
    let replay = turnback_core::simulate(&question.timeline, &question.driver, &question.policy);
    Ok(answer::written(&replay))
}
