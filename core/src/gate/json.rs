//! The gate in JSON: one text in, one text out, the same in every host (P5).

use super::{Gate, GateError, Input, Output};
use crate::excerpt::excerpt;
use crate::ids::{SandboxId, TurnId};
use crate::time::Millis;

/// Why a JSON text did not get through the gate. Nothing changed.
#[derive(Debug, thiserror::Error)]
pub enum GateJsonError {
    /// The text is no [`Input`].
    #[error(
        "{given} is not an input of the gate ({cause}): pass an object whose type is batch, created, failed, cancelled, released, forgotten or tick, with its fields"
    )]
    NotAnInput {
        /// The start of what was given, quoted and escaped.
        given: String,
        /// What is wrong with it.
        cause: serde_json::Error,
    },
    /// The gate refused the input.
    #[error(transparent)]
    Refused(#[from] GateError),
    /// The answer could not be written.
    #[error("the gate's answer cannot be written as JSON: report this message")]
    NotWritten(#[source] serde_json::Error),
}

impl GateJsonError {
    /// The stable code of this error.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotAnInput { .. } => "INVALID_ARGUMENT",
            Self::Refused(refused) => refused.code(),
            Self::NotWritten(_) => "POISONED",
        }
    }
}

impl Gate {
    /// [`handle`](Self::handle) and then every output: `input` is the JSON of an [`Input`], the answer that of an array of
    /// [`Output`]s of which the last, and only the last, is [`Output::Timeout`] or [`Output::Idle`].
    ///
    /// # Errors
    /// [`GateJsonError`] when `input` is not one, or is refused.
    pub fn handle_json(&mut self, input: &str, now: Millis) -> Result<String, GateJsonError> {
        let input: Input = serde_json::from_str(input)
            .map_err(|cause| GateJsonError::NotAnInput { given: excerpt(input), cause })?;
        self.handle(&input, now)?;
        let mut text = String::from("[");
        loop {
            let output = self.poll_output();
            text.push_str(&serde_json::to_string(&output).map_err(GateJsonError::NotWritten)?);
            if matches!(output, Output::Timeout { .. } | Output::Idle) {
                break;
            }
            text.push(',');
        }
        text.push(']');
        Ok(text)
    }

    /// [`pass_covered`](Self::pass_covered) in text: `0` plus 1 if the checkpoint is late plus 2 if it is partial, then
    /// its id, if the gate has it. `None` also for ids that are none.
    pub fn pass_covered_text(&mut self, sandbox_id: String, turn_id: String, now: Millis) -> Option<String> {
        let (sandbox_id, turn_id) = (SandboxId::new(sandbox_id).ok()?, TurnId::new(turn_id).ok()?);
        let cover = self.pass_covered(&sandbox_id, &turn_id, now)?;
        let mut text = String::from(match (cover.late, cover.partial) {
            (false, false) => "0",
            (true, false) => "1",
            (false, true) => "2",
            (true, true) => "3",
        });
        if let Some(id) = cover.checkpoint_id {
            text.push_str(&id.to_string());
        }
        Some(text)
    }
}
