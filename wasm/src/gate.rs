use turnback_core::{CommentPrefix, DigestKey, GateOptions, Millis, MillisSpan};
use wasm_bindgen::prelude::*;

use crate::error::Refused;

/// The largest integer that a JavaScript number holds exactly.
pub(crate) const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

/// The guard's rules as a state machine; `turnback-core` has the whole description. JSON goes in and comes out.
#[wasm_bindgen]
pub struct Gate(turnback_core::Gate);

#[wasm_bindgen]
impl Gate {
    /// A gate that remembers nothing. What is not given is as the core has it: 10 s, the prefix `turnback`, a key of zeros.
    ///
    /// # Errors
    /// When the time limit is no whole number of milliseconds, the prefix cannot be one, or the key has not 16 bytes.
    #[wasm_bindgen(constructor)]
    pub fn new(
        timeout_ms: Option<f64>,
        prefix: Option<String>,
        digest_key: Option<Box<[u8]>>,
    ) -> Result<Gate, JsValue> {
        let mut options = GateOptions::default();
        if let Some(timeout) = timeout_ms {
            options.timeout = MillisSpan::from_millis(whole("timeoutMs", timeout)?);
        }
        if let Some(prefix) = prefix {
            options.prefix = CommentPrefix::new(prefix).map_err(Refused::from)?;
        }
        if let Some(key) = digest_key {
            let bytes = <[u8; 16]>::try_from(&*key).map_err(|_| key_length(key.len()))?;
            options.digest_key = DigestKey::new(bytes);
        }
        Ok(Self(turnback_core::Gate::new(options)))
    }

    /// What happened at `nowMs` goes in, what to do comes out, both as JSON.
    ///
    /// # Errors
    /// When the text is no input, the gate refuses it, or the time is no whole number of milliseconds.
    pub fn handle(&mut self, input: &str, now_ms: f64) -> Result<String, JsValue> {
        let now = Millis::since_epoch(whole("nowMs", now_ms)?);
        Ok(self.0.handle_json(input, now).map_err(Refused::from)?)
    }

    /// The way of a batch whose turn is covered already, without JSON: `0` plus 1 if the checkpoint is late plus 2 if it is
    /// partial, then its id if the gate has it. `undefined`: nothing changed, and `handle` has the answer.
    #[wasm_bindgen(js_name = passCovered)]
    pub fn pass_covered(&mut self, sandbox_id: String, turn_id: String, now_ms: f64) -> Option<String> {
        let now = whole("nowMs", now_ms).ok()?;
        self.0.pass_covered_text(sandbox_id, turn_id, Millis::since_epoch(now))
    }
}

/// A number of milliseconds: the core has no fractions.
fn whole(name: &'static str, value: f64) -> Result<u64, Refused> {
    if value.trunc() != value || !(0.0..=MAX_SAFE).contains(&value) {
        let what = format!("{name} is not a whole number of milliseconds from 0 to 2^53 - 1: round it down");
        return Err(Refused::argument(what));
    }
    // Checked above: exact, not negative, below 2^53.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let whole = value as u64;
    Ok(whole)
}

fn key_length(bytes: usize) -> Refused {
    Refused::argument(format!("a digest key has 16 bytes, but {bytes} were given: pass 16 random ones"))
}
