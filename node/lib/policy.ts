/**
 * The pure functions of `core`: the same answers everywhere (G2, P5). They come from the addon; where it cannot be loaded, from
 * the package `turnback-policy`, which is the same Rust as WebAssembly (X5).
 */
import { createRequire } from 'node:module';
import { type Addon, addonIfAny } from './addon.js';
import { flag, text } from './check.js';
import { invalidArgument, isTurnbackError } from './errors.js';
import { unwrap } from './failure.js';
import type { Failure } from './native.js';

/** How long a checkpoint before a batch may take before the batch runs without it (G5, G7). */
export const CHECKPOINT_TIMEOUT_MS = 10_000;

/** Where a sandbox stands in its life (S2). */
export type SandboxStatus = 'PENDING' | 'CREATED' | 'ACTIVE' | 'COMMITTED' | 'ROLLED_BACK' | 'ERRORED' | 'CLEANED_UP';

/** The part of the environment that decides; `process.env` fits. */
export interface FlagEnvironment {
  SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH?: string | undefined;
  NODE_ENV?: string | undefined;
}

/** Whether the guard makes checkpoints, why, and what was odd about the setting. */
export interface FlagDecision {
  enabled: boolean;
  reason: 'explicit_true' | 'explicit_false' | 'not_production' | 'production';
  /** The flag holds a value that means nothing; to be logged once. */
  warning?: string;
}

/** What {@link shouldCheckpoint} goes by. */
export interface CheckpointState {
  /** From {@link resolveFlag}. */
  flagEnabled: boolean;
  /** The turn that the next batch belongs to: 1 to 200 bytes of UTF-8. */
  turnId: string;
  /** The last turn that got a checkpoint, or `null`. */
  lastCheckpointTurnId: string | null;
}

/** What is used of the package `turnback-policy`. Written down here, so that this package builds without that one. */
interface PolicyPackage {
  shouldCheckpoint(state: CheckpointState): boolean;
  checkpointComment(turnId: string, prefix?: string): string;
  parseCheckpointComment(comment: string): { prefix: string; turnId: string } | null;
  resolveFlag(env: FlagEnvironment): FlagDecision;
  isLegalTransition(from: SandboxStatus, to: SandboxStatus): boolean;
  allowedTransitions(from: SandboxStatus): SandboxStatus[];
}

let wasm: PolicyPackage | undefined;

function answer<T>(native: (addon: Addon) => T | Failure, portable: (policy: PolicyPackage) => T): T {
  const addon = addonIfAny();
  if (addon !== undefined) return unwrap(native(addon));
  wasm ??= createRequire(import.meta.url)('turnback-policy') as PolicyPackage;
  try {
    return portable(wasm);
  } catch (error) {
    if (isTurnbackError(error) && error.code === 'INVALID_ARGUMENT') throw invalidArgument('argument', error.message);
    throw error;
  }
}

function anObject<T extends object>(name: string, value: T): T {
  if (typeof value === 'object' && value !== null) return value;
  throw invalidArgument(name, `${name} is no object: pass an object`);
}

/**
 * Whether a checkpoint is due before the next batch (G1, G2): when the flag is on and the last turn that got one is another.
 *
 * @throws TurnbackError `INVALID_ARGUMENT`
 */
export function shouldCheckpoint(state: CheckpointState): boolean {
  const given = anObject('state', state);
  const flagEnabled = flag('flagEnabled', given.flagEnabled);
  const turnId = text('turnId', given.turnId);
  const last = given.lastCheckpointTurnId === null ? null : text('lastCheckpointTurnId', given.lastCheckpointTurnId);
  return answer(
    (native) => native.shouldCheckpoint(flagEnabled, turnId, last),
    (portable) => portable.shouldCheckpoint({ flagEnabled, turnId, lastCheckpointTurnId: last }),
  );
}

/**
 * The comment of a checkpoint made for a turn: `<prefix>-pre-agent-<turnId>` (G2), with whatever is not visible ASCII in the
 * turn id percent-encoded.
 *
 * @param turnId 1 to 200 bytes of UTF-8
 * @param prefix 1 to 64 visible ASCII characters; `turnback` by default
 * @throws TurnbackError `INVALID_ARGUMENT`
 */
export function checkpointComment(turnId: string, prefix?: string): string {
  const id = text('turnId', turnId);
  const before = prefix === undefined ? undefined : text('prefix', prefix);
  return answer(
    (native) => native.checkpointComment(id, before),
    (portable) => portable.checkpointComment(id, before),
  );
}

/** What a comment says; `null` when it is not exactly what {@link checkpointComment} writes. */
export function parseCheckpointComment(comment: string): { prefix: string; turnId: string } | null {
  if (typeof comment !== 'string') throw invalidArgument('comment', 'comment is no string: pass a string');
  return answer(
    (native) => native.parseCheckpointComment(comment),
    (portable) => portable.parseCheckpointComment(comment),
  );
}

/** Whether the guard makes checkpoints (G3): the flag, exactly `true` or `false`, wins; otherwise they are on outside production. */
export function resolveFlag(env: FlagEnvironment): FlagDecision {
  const values = anObject('env', env);
  const value = (name: keyof FlagEnvironment) => {
    const given = values[name];
    if (given === undefined || typeof given === 'string') return given;
    throw invalidArgument(`env.${name}`, `env.${name} is no string: pass a string`);
  };
  const [own, node] = [value('SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH'), value('NODE_ENV')];
  return answer<FlagDecision>(
    (native) => native.resolveFlag(own, node) as FlagDecision,
    (portable) => portable.resolveFlag({ SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH: own, NODE_ENV: node }),
  );
}

/**
 * Whether a sandbox of status `from` may become `to` (S2, S3).
 *
 * @throws TurnbackError `INVALID_ARGUMENT` when one of them is no status
 */
export function isLegalTransition(from: SandboxStatus, to: SandboxStatus): boolean {
  const [before, after] = [text('from', from), text('to', to)] as [SandboxStatus, SandboxStatus];
  return answer(
    (native) => native.isLegalTransition(before, after),
    (portable) => portable.isLegalTransition(before, after),
  );
}

/**
 * The statuses that a sandbox of status `from` may become (S2, S3); none after `CLEANED_UP`.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` when it is no status
 */
export function allowedTransitions(from: SandboxStatus): SandboxStatus[] {
  const before = text('from', from) as SandboxStatus;
  return answer(
    (native) => native.allowedTransitions(before) as SandboxStatus[] | Failure,
    (portable) => portable.allowedTransitions(before),
  );
}
