import { aBoolean, anId, anObject } from './check.js';
import { refusing } from './error.js';
import { policy } from './loader.js';

export { CHECKPOINT_TIMEOUT_MS } from './shell/options.js';

/** What {@link shouldCheckpoint} goes by. */
export interface CheckpointState {
  /** From `resolveFlag`. */
  flagEnabled: boolean;
  /** The turn that the next batch belongs to: 1 to 200 bytes of UTF-8. */
  turnId: string;
  /** The last turn that got a checkpoint, or `null`. */
  lastCheckpointTurnId: string | null;
}

/**
 * Whether a checkpoint is due before the next batch (G1, G2): when the flag is on and the last turn that got one is another.
 *
 * @throws TurnbackError with code `INVALID_ARGUMENT`
 */
export function shouldCheckpoint(state: CheckpointState): boolean {
  const { flagEnabled, turnId, lastCheckpointTurnId } = anObject('state', state);
  const enabled = aBoolean('flagEnabled', flagEnabled);
  const turn = anId('turnId', turnId);
  const last = lastCheckpointTurnId === null ? undefined : anId('lastCheckpointTurnId', lastCheckpointTurnId);
  return refusing('turnId or lastCheckpointTurnId', () => policy().shouldCheckpoint(enabled, turn, last));
}
