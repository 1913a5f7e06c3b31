use turnback_core::{CheckpointComment, CommentPrefix, TurnId};
use wasm_bindgen::prelude::*;

use crate::error::Refused;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = "
export interface CommentParts { prefix: string; turnId: string }
export interface FlagDecision { enabled: boolean; reason: string; warning?: string }
";

#[wasm_bindgen]
extern "C" {
    /// A plain JavaScript object that says what a comment holds.
    #[wasm_bindgen(js_name = Object, typescript_type = "CommentParts")]
    pub type CommentParts;

    #[wasm_bindgen(constructor, js_class = "Object")]
    fn new() -> CommentParts;

    #[wasm_bindgen(method, setter)]
    fn set_prefix(this: &CommentParts, prefix: &str);

    #[wasm_bindgen(method, setter, js_name = turnId)]
    fn set_turn_id(this: &CommentParts, turn_id: &str);

    /// A plain JavaScript object that says what the flag means.
    #[wasm_bindgen(js_name = Object, typescript_type = "FlagDecision")]
    pub type FlagDecision;

    #[wasm_bindgen(constructor, js_class = "Object")]
    fn new() -> FlagDecision;

    #[wasm_bindgen(method, setter)]
    fn set_enabled(this: &FlagDecision, enabled: bool);

    #[wasm_bindgen(method, setter)]
    fn set_reason(this: &FlagDecision, reason: &str);

    #[wasm_bindgen(method, setter)]
    fn set_warning(this: &FlagDecision, warning: &str);
}

/// Whether a checkpoint is due before the next batch of the turn (G1, G2).
///
/// # Errors
/// When a turn id does not have 1 to 200 bytes.
#[wasm_bindgen(js_name = shouldCheckpoint)]
pub fn should_checkpoint(
    flag_enabled: bool,
    turn_id: &str,
    last_checkpoint_turn_id: Option<String>,
) -> Result<bool, JsValue> {
    let turn = self::turn_id(turn_id)?;
    let last = last_checkpoint_turn_id.as_deref().map(self::turn_id).transpose()?;
    Ok(turnback_core::should_checkpoint(flag_enabled, &turn, last.as_ref()))
}

/// The comment of a checkpoint made for a turn (G2).
///
/// # Errors
/// When the turn id or the prefix is out of bounds.
#[wasm_bindgen(js_name = checkpointComment)]
pub fn checkpoint_comment(turn_id: &str, prefix: Option<String>) -> Result<String, JsValue> {
    let turn_id = self::turn_id(turn_id)?;
    let prefix =
        prefix.map_or_else(|| Ok(CommentPrefix::default()), CommentPrefix::new).map_err(Refused::from)?;
    Ok(CheckpointComment { prefix, turn_id }.to_string())
}

/// What a comment says, if it is one of ours (G2).
#[wasm_bindgen(js_name = parseCheckpointComment)]
pub fn parse_checkpoint_comment(comment: &str) -> Option<CommentParts> {
    let comment = CheckpointComment::parse(comment)?;
    let parts = CommentParts::new();
    parts.set_prefix(comment.prefix.as_str());
    parts.set_turn_id(comment.turn_id.as_str());
    Some(parts)
}

/// Whether the guard makes checkpoints, from the values of the two environment variables (G3).
#[wasm_bindgen(js_name = resolveFlag)]
pub fn resolve_flag(flag: Option<String>, node_env: Option<String>) -> FlagDecision {
    let decision = turnback_core::resolve_flag(flag.as_deref(), node_env.as_deref());
    let object = FlagDecision::new();
    object.set_enabled(decision.enabled());
    object.set_reason(decision.reason.as_str());
    if let Some(warning) = decision.warning {
        object.set_warning(&warning.to_string());
    }
    object
}

fn turn_id(text: &str) -> Result<TurnId, Refused> {
    Ok(TurnId::new(text)?)
}
