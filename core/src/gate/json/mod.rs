//! The gate in JSON: one text in, one text out, the same in every host (P5).
//!
//! An input is a flat object of texts, whole numbers and flags, and so is an output. The few lines that read and write them
//! are our own, because serde and its JSON come to 50 kB of a module that browsers download (W11); the tests compare them
//! with serde's.

mod input;
mod read;
mod write;

use super::{Gate, GateError, Output};
use crate::comment::InvalidPrefix;
use crate::excerpt::excerpt;
use crate::ids::{IdError, SandboxId, TurnId};
use crate::time::Millis;

use super::driver_checkpoint::InvalidDriverCheckpointId;

/// Why a JSON text did not get through the gate. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateJsonError {
    /// The text is no [`Input`](super::Input).
    #[error("{given} is not an input of the gate: {cause}")]
    NotAnInput {
        /// The start of what was given, quoted and escaped.
        given: String,
        /// What is wrong with it.
        cause: WrongInput,
    },
    /// The gate refused the input.
    #[error(transparent)]
    Refused(#[from] GateError),
}

impl GateJsonError {
    /// The stable code of this error.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotAnInput { .. } => "INVALID_ARGUMENT",
            Self::Refused(refused) => refused.code(),
        }
    }
}

/// What is wrong with a text that is no input of the gate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongInput {
    /// It is not JSON, or not the flat object that an input is.
    #[error("{needed} is needed at byte {at}; pass one flat JSON object")]
    Syntax {
        /// What should have been there.
        needed: &'static str,
        /// Where, in bytes from the start.
        at: usize,
    },
    /// A field came twice.
    #[error("the field {field} comes twice; give it once")]
    Twice {
        /// The field, quoted and escaped.
        field: String,
    },
    /// A field is missing.
    #[error("the field \"{field}\" is missing; add it")]
    Missing {
        /// The field.
        field: &'static str,
    },
    /// A field that this type of input does not have.
    #[error("it has no field {field}; leave it out")]
    Unknown {
        /// The field, quoted and escaped.
        field: String,
    },
    /// A field holds another type of value than it should.
    #[error("the field \"{field}\" is {needed}; change it")]
    Type {
        /// The field.
        field: &'static str,
        /// What it is to be.
        needed: &'static str,
    },
    /// There is no such type of input.
    #[error(
        "its type is batch, created, failed, paused, cancelled, released, forgotten, deleted, options or tick, not {given}"
    )]
    Kind {
        /// The type that was given, quoted and escaped.
        given: String,
    },
    /// An id is none.
    #[error(transparent)]
    Id(#[from] IdError),
    /// A prefix is none.
    #[error(transparent)]
    Prefix(#[from] InvalidPrefix),
    /// A driver's id of a checkpoint is none.
    #[error(transparent)]
    Checkpoint(#[from] InvalidDriverCheckpointId),
}

impl Gate {
    /// [`handle`](Self::handle) and then every output: `input` is the JSON of an [`Input`](super::Input), the answer that of
    /// an array of [`Output`]s of which the last, and only the last, is [`Output::Timeout`] or [`Output::Idle`]. Its bytes
    /// are those that JavaScript's `JSON.stringify` would write.
    ///
    /// # Errors
    /// [`GateJsonError`] when `input` is not one, or is refused.
    pub fn handle_json(&mut self, input: &str, now: Millis) -> Result<String, GateJsonError> {
        let input = input::parse(input)
            .map_err(|cause| GateJsonError::NotAnInput { given: excerpt(input), cause })?;
        self.handle(&input, now)?;
        let mut text = String::from("[");
        loop {
            let output = self.poll_output();
            write::output(&mut text, &output);
            if matches!(output, Output::Timeout { .. } | Output::Idle) {
                text.push(']');
                return Ok(text);
            }
            text.push(',');
        }
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
