/** What makes the guard's checkpoints (G12), and what it may answer. */
import { invalidArgument } from '../errors.js';

/** One checkpoint that is asked for. */
export interface DriverRequest {
  /** The sandbox, by the name that the guard's caller gives it. */
  sandboxId: string;
  /** What to write on the checkpoint, so that it can be found again; at most 1 KiB, without control characters. */
  comment: string;
  /** Fires when nobody waits any longer: reject soon, stop the work, publish nothing. */
  signal: AbortSignal;
}

/** What a driver knows of a checkpoint that it made. */
export interface DriverAnswer {
  /** What to restore it by: 1 to 200 bytes without control characters. Without one the checkpoint counts, but can only be found by its comment. */
  checkpointId?: string | undefined;
  /** Some files are not in it. Not given: all are. */
  partial?: boolean | undefined;
  /** There is no checkpoint, because checkpoints are switched off for now (C17): no failure. */
  paused?: boolean | undefined;
}

/**
 * Anything that can make a checkpoint of a sandbox.
 *
 * The guard gives it a time limit, shares one attempt among parallel batches and decides what a failure means: a driver
 * only makes one checkpoint, or rejects. `docs/drivers.md` tells how to write one.
 */
export interface Driver {
  /**
   * Makes a checkpoint of the sandbox as it is now. Resolves only when the checkpoint is complete and can be restored;
   * whatever is less rejects with an error.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: an async function without a result is a driver too
  createCheckpoint(request: DriverRequest): Promise<DriverAnswer | void>;
  /** Deletes a checkpoint that came after its attempt was given up (G10). Leave it out where that is impossible. */
  deleteCheckpoint?(checkpointId: string): Promise<void>;
  /** Whether checkpoints are switched off for now (C17). Asked before each batch that is not covered, so it has to be quick. */
  isPaused?(): boolean;
  /**
   * A number that changes whenever this sandbox was restored without the guard being told by `forget` (G8). Asked at each
   * batch, so it has to be a look at a variable.
   */
  restores?(sandboxId: string): number;
  /**
   * Whether a checkpoint that `createCheckpoint` answered with is gone: somebody deleted or pruned it, other than the guard by
   * `deleteCheckpoint`. Then it protects nothing any more, and the next batch of its turn gets another (G9). A driver that no
   * longer knows says true: that costs a checkpoint, where false would promise one that is not there. Asked at each batch that
   * such a checkpoint covers, so it has to be a look at a variable.
   */
  isDeleted?(checkpointId: string): boolean;
}

/** What became of an attempt, with nothing left open. */
export interface CheckedAnswer {
  checkpointId?: string;
  partial: boolean;
  paused?: true;
}

/** The longest id that a driver may answer with, in bytes of UTF-8, as in the guard (`wasm/lib/shell/driver.ts`): a name, not a document. */
const MAX_ID_BYTES = 200;
const UNFIT = /[\p{Cc}\p{Surrogate}]/u;

const ADVICE = 'resolve with { checkpointId }, or with nothing';

/**
 * What a driver's `createCheckpoint` resolved with, checked: a driver that forgot to say what it made must not count as
 * protection (G9).
 *
 * @throws TurnbackError `INVALID_ARGUMENT` when it is neither an answer nor nothing
 */
export function checkedAnswer(value: unknown): CheckedAnswer {
  if (value === undefined) return { partial: false };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const kind = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`;
    throw invalidArgument('driver', `the driver's createCheckpoint resolved with ${kind}: ${ADVICE}`);
  }
  const { checkpointId, partial, paused } = value as Record<string, unknown>;
  if (paused !== undefined && typeof paused !== 'boolean') {
    throw invalidArgument(
      'driver',
      "the driver's createCheckpoint resolved with a paused that is neither true nor false",
    );
  }
  if (paused === true) {
    if (checkpointId === undefined && !hasError(value)) return { partial: false, paused };
    throw invalidArgument(
      'driver',
      "the driver's createCheckpoint resolved with a checkpoint, or an error, though paused",
    );
  }
  if (checkpointId === undefined && partial === undefined && Object.keys(value).length > 0) {
    const names = Object.keys(value).slice(0, 5).join(', ').slice(0, 100);
    throw invalidArgument('driver', `the driver's createCheckpoint resolved with an object of ${names}: ${ADVICE}`);
  }
  if ((checkpointId === undefined && !isPlain(value)) || hasError(value)) {
    throw invalidArgument(
      'driver',
      `the driver's createCheckpoint resolved with something else than an answer: ${ADVICE}`,
    );
  }
  if (checkpointId !== undefined) {
    if (!isId(checkpointId)) {
      throw invalidArgument(
        'driver',
        `the driver's createCheckpoint resolved with a checkpointId that is no text of 1 to ${MAX_ID_BYTES} bytes without control characters: ${ADVICE}`,
      );
    }
  }
  if (partial !== undefined && typeof partial !== 'boolean') {
    throw invalidArgument(
      'driver',
      "the driver's createCheckpoint resolved with a partial that is neither true nor false",
    );
  }
  return { ...(checkpointId === undefined ? {} : { checkpointId }), partial: partial ?? false };
}

/** Whether it is an object literal, of whichever realm: a `Response` or a stream has no own properties either. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Whether it speaks of an error, as the answers of many services do. */
function hasError(value: object): boolean {
  const { error } = value as { error?: unknown };
  return error !== undefined && error !== null;
}

function isId(value: unknown): value is string {
  if (typeof value !== 'string' || value === '' || UNFIT.test(value)) return false;
  return Buffer.byteLength(value) <= MAX_ID_BYTES;
}
