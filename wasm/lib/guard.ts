/** The guard: at most one checkpoint a turn, before its first batch; shared, bounded, never in the way (G1–G11). */

import { failure } from './error.js';
import { resolveFlag } from './flag.js';
import { openGate } from './gate.js';
import { type Batch, type Environment, type Guard, type GuardOptions, shellOf, type Verdict } from './shell/index.js';

export type {
  Batch,
  Driver,
  DriverAnswer,
  DriverRequest,
  Environment,
  GateReason,
  Guard,
  GuardClock,
  GuardOptions,
  Logger,
  Outcome,
  Reason,
  Verdict,
} from './shell/index.js';

const shell = shellOf({ openGate, resolveFlag, error: failure });

/**
 * A guard for the sandboxes of one driver.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` for options that can never be right
 */
export function createGuard(options: GuardOptions): Guard {
  return shell.createGuard(options);
}

/**
 * {@link createGuard} and `beforeBatch` in one, for those who have their own tool-runner (G7): the guard is made at the first
 * call and belongs to the `deps` object, so pass the same object each time. Without `deps`, or without a driver in it, the batch
 * is skipped. Other properties of `deps` are ignored. Their options are read at each batch, the driver too: another one protects
 * what runs from then on. Options that cannot be right stop nobody: the verdict is `failed`, with one warning that names them.
 *
 * @throws TurnbackError `CHECKPOINT_REQUIRED`, only with `onFailure: 'block'`
 */
export function maybeCheckpointBeforeBatch(deps: GuardOptions | null | undefined, batch: Batch): Promise<Verdict> {
  return shell.maybeCheckpointBeforeBatch(deps, batch);
}

/**
 * Runs `attempt`, unless one of the same key is under way: then its result is shared (G4, G7). The key is taken in the same
 * tick, and free again when the attempt has settled.
 */
export function coalesceCheckpointAttempt<T>(key: string, attempt: () => Promise<T>): Promise<T> {
  return shell.coalesceCheckpointAttempt(key, attempt);
}

/**
 * The turn of a run's context object: its own `turnId`, if that is a text that is not empty; otherwise an id that is made once
 * and stays the same for this object, which may be frozen (G11). A copy of the object gets another id.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` when `context` is no object
 */
export function turnIdOf(context: object): string {
  return shell.turnIdOf(context);
}

/**
 * Whether the environment asks for checkpoints (G3): `SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH`, exactly `true` or `false`, wins;
 * otherwise they are on outside production. Any other value is named in a warning, once: Node's, or the console's. By default the environment is
 * `process.env`, or empty where there is none.
 */
export function isCheckpointBeforeAgentBatchEnabled(env?: Environment): boolean {
  return shell.isCheckpointBeforeAgentBatchEnabled(env);
}
