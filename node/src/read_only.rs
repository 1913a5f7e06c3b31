//! The proof that a command only reads (G14), synchronous and without I/O.

use napi_derive::napi;
use turnback_risk::{Verdict, is_read_only};

/// Why a command is not proven to only read, as a sentence without a full stop; `null` when it is proven.
#[napi(catch_unwind)]
pub fn why_not_read_only(command: String) -> Option<String> {
    match is_read_only(&command) {
        Verdict::ReadOnly => None,
        Verdict::Destructive { why } => Some(why.to_string()),
    }
}
