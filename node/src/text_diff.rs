//! What two texts differ in.

use napi::Env;
use napi::bindgen_prelude::{Object, Uint8Array};
use napi_derive::napi;

use crate::job::run_alone;

/// The hunks of a unified diff of two texts, three lines around each change: `@`, a blank, `+`, `-` or `\`, then the texts' own bytes.
/// `null` when one of them holds a NUL.
///
/// # Errors
/// A napi error when no promise can be made.
#[napi(catch_unwind, ts_return_type = "Promise<Uint8Array | null | Failure>")]
pub fn text_diff<'env>(env: &'env Env, before: &[u8], after: &[u8]) -> napi::Result<Object<'env>> {
    let (before, after) = (before.to_vec(), after.to_vec());
    run_alone(env, move || Ok(turnback_engine::text_diff(&before, &after, 3)?.map(Uint8Array::new)))
}
