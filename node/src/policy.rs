//! The pure functions of `core`, synchronous.

use napi::bindgen_prelude::Either;
use napi_derive::napi;
use turnback_core::{
    CheckpointComment, CommentPrefix, IdError, SandboxStatus, TurnId, UnknownStatus, resolve_flag as resolve,
};

use crate::error::Failure;

fn refused(error: &IdError) -> Failure {
    Failure::of_policy(error.code(), error)
}

/// Whether a checkpoint is due before the next batch of a turn (G1, G2).
#[napi(catch_unwind)]
pub fn should_checkpoint(
    flag_enabled: bool,
    turn_id: String,
    last_checkpoint_turn_id: Option<String>,
) -> Either<bool, Failure> {
    let ids = TurnId::new(turn_id)
        .and_then(|turn| Ok((turn, last_checkpoint_turn_id.map(TurnId::new).transpose()?)));
    match ids {
        Ok((turn, last)) => Either::A(turnback_core::should_checkpoint(flag_enabled, &turn, last.as_ref())),
        Err(error) => Either::B(refused(&error)),
    }
}

/// The comment of a turn's checkpoint (G2).
#[napi(catch_unwind)]
pub fn checkpoint_comment(turn_id: String, prefix: Option<String>) -> Either<String, Failure> {
    let prefix = match prefix.map(CommentPrefix::new).transpose() {
        Ok(prefix) => prefix.unwrap_or_default(),
        Err(error) => return Either::B(Failure::of_policy(error.code(), &error)),
    };
    match TurnId::new(turn_id) {
        Ok(turn_id) => Either::A(CheckpointComment { prefix, turn_id }.to_string()),
        Err(error) => Either::B(refused(&error)),
    }
}

/// What a comment says.
#[napi(object, object_from_js = false)]
pub struct NativeComment {
    /// Who made the checkpoint.
    pub prefix: String,
    /// The turn that it was made for.
    pub turn_id: String,
}

/// Reads a comment; `null` when it is not one of ours (G2).
#[napi(catch_unwind)]
pub fn parse_checkpoint_comment(comment: String) -> Option<NativeComment> {
    CheckpointComment::parse(&comment).map(|parsed| NativeComment {
        prefix: parsed.prefix.as_str().to_owned(),
        turn_id: parsed.turn_id.into(),
    })
}

/// Whether the guard makes checkpoints, and why.
#[napi(object, object_from_js = false)]
pub struct NativeFlag {
    /// Whether checkpoints are on.
    pub enabled: bool,
    /// What decided.
    pub reason: String,
    /// What was odd about the setting.
    pub warning: Option<String>,
}

/// Decides from the values of the two environment variables (G3).
#[napi(catch_unwind)]
pub fn resolve_flag(flag: Option<String>, node_env: Option<String>) -> NativeFlag {
    let decision = resolve(flag.as_deref(), node_env.as_deref());
    NativeFlag {
        enabled: decision.enabled(),
        reason: decision.reason.as_str().to_owned(),
        warning: decision.warning.map(|warning| warning.to_string()),
    }
}

/// Whether a sandbox of one status may become another (S3).
#[napi(catch_unwind)]
pub fn is_legal_transition(from: String, to: String) -> Either<bool, Failure> {
    match from.parse::<SandboxStatus>().and_then(|from| Ok((from, to.parse()?))) {
        Ok((from, to)) => Either::A(from.may_become(to)),
        Err(error) => Either::B(unknown(&error)),
    }
}

/// The statuses that a sandbox of this status may become (S3).
#[napi(catch_unwind)]
pub fn allowed_transitions(from: String) -> Either<Vec<String>, Failure> {
    match from.parse::<SandboxStatus>() {
        Ok(from) => Either::A(from.allowed_next().iter().map(|next| next.as_str().to_owned()).collect()),
        Err(error) => Either::B(unknown(&error)),
    }
}

fn unknown(error: &UnknownStatus) -> Failure {
    Failure::of_policy(error.code(), error)
}
