/** The guard: at most one checkpoint a turn, before its first batch; shared, bounded, never in the way (G1–G11). */
import { createRequire } from 'node:module';
import type {
  Batch,
  CheckedAnswer,
  Environment,
  Guard,
  Shell,
  GuardOptions as ShellOptions,
  Verdict,
} from 'turnback-policy/shell';
import { invalidArgument } from '../errors.js';
import { isReadOnly } from '../read-only.js';
import type { Recording } from '../recording/index.js';
import { ATTACH, type Attached } from '../recording/marks.js';
import { HOST } from './host.js';
import { tracedBatch, tracedGuard } from './traced.js';

export type {
  Batch,
  Environment,
  Guard,
  GuardClock,
  Outcome,
  Reason,
  Verdict,
} from 'turnback-policy/shell';

/** What a guard can be told. */
export interface GuardOptions extends ShellOptions {
  /** Where its batches are recorded, what `openRecording` of `turnback/recording` gave. Without one nothing is. */
  recording?: Recording | undefined;
}

let loaded: Shell | undefined;

/** The shell is in the other package, and loaded when it is first used: an import that is never used costs nothing (W9). */
function shell(): Shell {
  loaded ??= (
    createRequire(import.meta.url)('turnback-policy/shell') as typeof import('turnback-policy/shell')
  ).shellOf(HOST);
  return loaded;
}

/**
 * A guard for the sandboxes of one driver.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` for options that can never be right
 */
export function createGuard(options: GuardOptions): Guard {
  const make = (given: ShellOptions) => tracedGuard(shell().createGuard(given));
  const split = splitOptions(options);
  if (split === undefined) return make(options);
  const { recording, others } = split;
  if (recording === undefined) return make(others);
  const attach: ((attached: Attached) => Guard) | undefined = recording?.[ATTACH];
  if (typeof attach !== 'function') {
    throw invalidArgument('options.recording', 'options.recording is no recording: pass what openRecording() gave');
  }
  return attach({ options: others, make, isReadOnly });
}

/** The recording and the others, where one is spoken of. What cannot be read is the guard's to refuse. */
function splitOptions(options: GuardOptions): { recording: Recording | undefined; others: ShellOptions } | undefined {
  try {
    if (typeof options !== 'object' || options === null || !('recording' in options)) return undefined;
    const { recording, ...others } = options;
    return { recording, others };
  } catch {
    return undefined;
  }
}

/**
 * {@link createGuard} and `beforeBatch` in one, for those who have their own tool-runner (G7): the guard is made at the first
 * call and belongs to the `deps` object, so pass the same object each time. Without `deps`, or without a driver in it, the batch
 * is skipped. Other properties of `deps` are ignored. Their options are read at each batch, the driver too: another one protects
 * what runs from then on. Options that cannot be right stop nobody: the verdict is `failed`, with one warning that names them.
 * Nothing of it is recorded: for that make a guard.
 *
 * @throws TurnbackError `CHECKPOINT_REQUIRED`, only with `onFailure: 'block'`
 */
export function maybeCheckpointBeforeBatch(deps: ShellOptions | null | undefined, batch: Batch): Promise<Verdict> {
  return tracedBatch(batch, () => shell().maybeCheckpointBeforeBatch(deps, batch));
}

/**
 * Runs `attempt`, unless one of the same key is under way: then its result is shared (G4, G7). The key is taken in the same
 * tick, and free again when the attempt has settled.
 */
export function coalesceCheckpointAttempt<T>(key: string, attempt: () => Promise<T>): Promise<T> {
  return shell().coalesceCheckpointAttempt(key, attempt);
}

/**
 * The turn of a run's context object: its own `turnId`, if that is a text that is not empty; otherwise an id that is made once
 * and stays the same for this object, which may be frozen (G11). A copy of the object gets another id.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` when `context` is no object
 */
export function turnIdOf(context: object): string {
  return shell().turnIdOf(context);
}

/**
 * Whether the environment asks for checkpoints (G3): `SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH`, exactly `true` or `false`, wins;
 * otherwise they are on outside production. Any other value is named in a process warning, once.
 */
export function isCheckpointBeforeAgentBatchEnabled(env?: Environment): boolean {
  return shell().isCheckpointBeforeAgentBatchEnabled(env);
}

/**
 * What a driver's `createCheckpoint` resolved with, checked as the guard does: a driver that forgot to say what it made must not
 * count as protection (G9).
 *
 * @throws TurnbackError `INVALID_ARGUMENT` when it is neither an answer nor nothing
 */
export function checkedAnswer(value: unknown): CheckedAnswer {
  return shell().checkedAnswer(value);
}
