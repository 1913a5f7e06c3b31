//! The guard's rules as a state machine; `turnback-core` has the whole description. JSON goes in and comes out.

use napi::bindgen_prelude::{Either, Uint8Array};
use napi_derive::napi;
use turnback_core::{CommentPrefix, DigestKey, GateOptions, Millis, MillisSpan};

use crate::error::Failure;
use crate::number::from_js;

/// A gate: when a checkpoint is due, who waits for it, and for how long.
#[napi]
pub struct Gate {
    gate: turnback_core::Gate,
}

/// An error whose `code` in JavaScript is one of ours.
type Refused = napi::Error<&'static str>;

fn refused(message: &impl ToString) -> Refused {
    napi::Error::new("INVALID_ARGUMENT", message.to_string())
}

#[napi]
impl Gate {
    /// A gate that remembers nothing. What is not given is as the core has it: 10 s, the prefix `turnback`, a key of zeros.
    ///
    /// # Errors
    /// When the time limit is no whole number of milliseconds, the prefix cannot be one, or the key has not 16 bytes.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        timeout_ms: Option<f64>,
        prefix: Option<String>,
        digest_key: Option<Uint8Array>,
    ) -> Result<Self, Refused> {
        let mut options = GateOptions::default();
        if let Some(timeout) = timeout_ms {
            let timeout = from_js("timeoutMs", timeout).map_err(|error| refused(&error))?;
            options.timeout = MillisSpan::from_millis(timeout);
        }
        if let Some(prefix) = prefix {
            options.prefix = CommentPrefix::new(prefix).map_err(|error| refused(&error))?;
        }
        if let Some(key) = digest_key {
            let bytes = <[u8; 16]>::try_from(&*key).map_err(|_| {
                let bytes = key.len();
                refused(&format!("a digest key has 16 bytes, but {bytes} were given: pass 16 random ones"))
            })?;
            options.digest_key = DigestKey::new(bytes);
        }
        Ok(Self { gate: turnback_core::Gate::new(options) })
    }

    /// What happened at `nowMs` goes in, what to do comes out, both as JSON.
    #[napi(catch_unwind)]
    pub fn handle(&mut self, input: String, now_ms: f64) -> Either<String, Failure> {
        let now = match from_js("nowMs", now_ms) {
            Ok(now) => Millis::since_epoch(now),
            Err(error) => return Either::B(error.into()),
        };
        match self.gate.handle_json(&input, now) {
            Ok(outputs) => Either::A(outputs),
            Err(error) => Either::B(Failure::of_policy(error.code(), &error)),
        }
    }

    /// The way of a batch whose turn is covered already, without JSON: `0` plus 1 if the checkpoint is late plus 2 if it is
    /// partial, then its id if the gate has it. `null`: nothing changed, and `handle` has the answer.
    #[napi(catch_unwind)]
    pub fn pass_covered(&mut self, sandbox_id: String, turn_id: String, now_ms: f64) -> Option<String> {
        let now = from_js("nowMs", now_ms).ok()?;
        self.gate.pass_covered_text(sandbox_id, turn_id, Millis::since_epoch(now))
    }
}
