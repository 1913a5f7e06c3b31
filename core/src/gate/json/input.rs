use super::WrongInput;
use super::read::{Value, object};
use crate::comment::CommentPrefix;
use crate::excerpt::excerpt;
use crate::gate::driver_checkpoint::DriverCheckpointId;
use crate::gate::ids::{AttemptId, BatchId};
use crate::gate::input::{Batch, Input};
use crate::ids::{SandboxId, TurnId};
use crate::time::MillisSpan;

/// Reads an input. `js-tests/vectors/README.md` has the format.
pub(super) fn parse(text: &str) -> Result<Input, WrongInput> {
    let mut fields = Fields(object(text)?);
    let input = match fields.needed_text("type")?.as_str() {
        "batch" => Input::Batch(Batch {
            batch: fields.batch()?,
            sandbox_id: fields.sandbox_id()?,
            turn_id: fields.text("turnId")?.map(TurnId::new).transpose()?,
            flag_enabled: fields.flag("flagEnabled", true)?,
            paused: fields.flag("paused", false)?,
            has_driver: fields.flag("hasDriver", true)?,
            read_only: fields.flag("readOnly", false)?,
        }),
        "created" => Input::Created {
            attempt: fields.attempt()?,
            checkpoint_id: fields.text("checkpointId")?.map(DriverCheckpointId::try_from).transpose()?,
            partial: fields.flag("partial", false)?,
        },
        "failed" => Input::Failed { attempt: fields.attempt()? },
        "paused" => Input::Paused { attempt: fields.attempt()? },
        "cancelled" => Input::Cancelled { batch: fields.batch()? },
        "released" => Input::Released {
            sandbox_id: fields.sandbox_id()?,
            turn_id: TurnId::new(fields.needed_text("turnId")?)?,
            batch: fields.maybe_number("batch")?.map(BatchId::new),
        },
        "uncovered" => {
            Input::Uncovered { sandbox_id: fields.text("sandboxId")?.map(SandboxId::new).transpose()? }
        }
        "forgotten" => Input::Forgotten { sandbox_id: fields.sandbox_id()? },
        "deleted" => Input::Deleted {
            sandbox_id: fields.sandbox_id()?,
            checkpoint_id: fields.needed_text("checkpointId")?.try_into()?,
            turn_id: fields.text("turnId")?.map(TurnId::new).transpose()?,
        },
        "options" => Input::Options {
            timeout: fields.maybe_number("timeoutMs")?.map(MillisSpan::from_millis),
            prefix: fields.text("prefix")?.map(CommentPrefix::new).transpose()?,
        },
        "tick" => Input::Tick,
        other => return Err(WrongInput::Kind { given: excerpt(other) }),
    };
    match fields.0.first() {
        None => Ok(input),
        Some((field, _)) => Err(WrongInput::Unknown { field: excerpt(field) }),
    }
}

/// The fields that nobody has asked for yet.
struct Fields(Vec<(String, Value)>);

impl Fields {
    /// Takes a field out. One that is null counts as not given.
    fn take(&mut self, field: &str) -> Option<Value> {
        let at = self.0.iter().position(|(name, _)| name == field)?;
        let (_, value) = self.0.remove(at);
        (value != Value::Null).then_some(value)
    }

    fn text(&mut self, field: &'static str) -> Result<Option<String>, WrongInput> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(_) => Err(WrongInput::Type { field, needed: "a text" }),
        }
    }

    fn needed_text(&mut self, field: &'static str) -> Result<String, WrongInput> {
        self.text(field)?.ok_or(WrongInput::Missing { field })
    }

    fn flag(&mut self, field: &'static str, otherwise: bool) -> Result<bool, WrongInput> {
        match self.take(field) {
            None => Ok(otherwise),
            Some(Value::Flag(flag)) => Ok(flag),
            Some(_) => Err(WrongInput::Type { field, needed: "true or false" }),
        }
    }

    fn maybe_number(&mut self, field: &'static str) -> Result<Option<u64>, WrongInput> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(Some(number)),
            Some(_) => Err(WrongInput::Type { field, needed: "a whole number" }),
        }
    }

    fn number(&mut self, field: &'static str) -> Result<u64, WrongInput> {
        self.maybe_number(field)?.ok_or(WrongInput::Missing { field })
    }

    fn batch(&mut self) -> Result<BatchId, WrongInput> {
        self.number("batch").map(BatchId::new)
    }

    fn attempt(&mut self) -> Result<AttemptId, WrongInput> {
        self.number("attempt").map(AttemptId::new)
    }

    fn sandbox_id(&mut self) -> Result<SandboxId, WrongInput> {
        Ok(SandboxId::new(self.needed_text("sandboxId")?)?)
    }
}
