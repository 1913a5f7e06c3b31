use crate::ids::TurnId;
use crate::time::MillisSpan;

/// How long a checkpoint before a batch may take before the batch runs without it (G5, G7), unless the host says otherwise.
pub const CHECKPOINT_TIMEOUT: MillisSpan = MillisSpan::from_millis(10_000);

/// Whether a checkpoint is due before the next batch of `turn_id` (G1, G2): when the flag is on and the last turn that
/// got one is another. Nothing else counts, no time and nothing that happened in earlier turns.
pub fn should_checkpoint(
    flag_enabled: bool,
    turn_id: &TurnId,
    last_checkpoint_turn_id: Option<&TurnId>,
) -> bool {
    flag_enabled && last_checkpoint_turn_id != Some(turn_id)
}
