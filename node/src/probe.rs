//! What this build is, and what this machine can do.

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use turnback_engine::probe::Finding;

use crate::job::run_alone;
use crate::path::path_buf;

/// The version that this addon was built as.
#[napi(catch_unwind)]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// One thing that was looked at.
#[napi(object, object_from_js = false)]
pub struct NativeFinding {
    /// What was looked at.
    pub name: String,
    /// Whether it is as it should be.
    pub ok: bool,
    /// What was found, one sentence.
    pub detail: String,
}

/// Looks at a directory and a store and says what works there.
///
/// # Errors
/// A napi error when no promise can be made.
#[napi(catch_unwind, ts_return_type = "Promise<Array<NativeFinding> | Failure>")]
pub fn probe<'env>(env: &'env Env, directory: &[u8], store: &[u8]) -> napi::Result<Object<'env>> {
    let (directory, store) = (path_buf(directory), path_buf(store));
    run_alone(env, move || Ok(findings(turnback_engine::probe::probe(&directory, &store)?)))
}

/// How `copy_on_write` sandboxes of a directory can be made, the best way first; the first one that works is used.
///
/// # Errors
/// A napi error when no promise can be made.
#[napi(catch_unwind, ts_return_type = "Promise<Array<NativeFinding> | Failure>")]
pub fn sandbox_mechanisms<'env>(
    env: &'env Env,
    directory: &[u8],
    store: &[u8],
) -> napi::Result<Object<'env>> {
    let (directory, store) = (path_buf(directory), path_buf(store));
    run_alone(env, move || Ok(findings(turnback_engine::probe::sandbox_mechanisms(&directory, &store)?)))
}

fn findings(found: Vec<Finding>) -> Vec<NativeFinding> {
    let native = |Finding { name, ok, detail }| NativeFinding { name: name.to_owned(), ok, detail };
    found.into_iter().map(native).collect()
}
