/** What makes the guard's checkpoints (G12), and what it may answer. */
import type { Host } from './host.js';
import { has, outcomeOf, quiet } from './settle.js';

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
  /** Makes a checkpoint of the sandbox as it is now. Resolves only when it is complete and can be restored; else it rejects. */
  // biome-ignore lint/suspicious/noConfusingVoidType: an async function without a result is a driver too
  createCheckpoint(request: DriverRequest): Promise<DriverAnswer | void>;
  /**
   * Deletes a checkpoint that came after its attempt was given up (G10). Leave it out where that is impossible. Never asked for
   * an id that a turn counts on.
   */
  deleteCheckpoint?(checkpointId: string): Promise<unknown>;
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

/** What an attempt is, for drivers that want to know more than the request says. */
export interface AttemptFacts {
  readonly turnId: string;
  /**
   * Earlier batches of the turn may have run (G6). As of the start of the attempt: if a batch is let through without a checkpoint
   * while it is under way (the flag was off, its own limit was over), the verdict is late and this is not. The verdict counts.
   */
  readonly late: boolean;
  /** When the signal will fire at the latest, in milliseconds from the start of the attempt. */
  readonly limitMs: number;
}

/** Where an attempt's signal keeps its {@link AttemptFacts}: the same in every copy of the packages. */
export const ATTEMPT: unique symbol = Symbol.for('turnback.attempt') as never;

/** Keeps an attempt's facts on its signal, which is the guard's own. */
export function noteAttempt(signal: AbortSignal, attempt: AttemptFacts): void {
  Object.defineProperty(signal, ATTEMPT, { value: attempt });
}

/** An answer with nothing left open. */
export interface CheckedAnswer {
  checkpointId?: string;
  partial: boolean;
  /** There is no checkpoint. */
  paused?: boolean;
}

/** What became of an attempt: a checkpoint, or what went wrong. */
export type Result = { checkpointId?: string; partial: boolean } | { paused: true } | { error: unknown };

const ADVICE = 'resolve with { checkpointId }, or with nothing';
const MAX_ID_BYTES = 200;
const UNFIT = /[\p{Cc}\p{Surrogate}]/u;

/**
 * Where the promise of a `createCheckpoint` may keep a function that gives the {@link DriverAnswer} which it is certain to resolve with,
 * as soon as that is certain. Not part of what drivers are: only who made the promise knows, so that it goes with the promise and not
 * with the driver, which others may wrap.
 */
export const CERTAIN: unique symbol = Symbol.for('turnback.certain') as never;

/** An attempt of a driver. */
export interface Asked {
  /** What becomes of it. Never rejects. */
  result: Promise<Result>;
  /** What will certainly become of it, if that is known already. Never throws. */
  early(): Result | undefined;
}

/** Asks the driver, whatever it does: throw at once, answer nonsense, settle twice. */
export function ask(driver: Driver, request: DriverRequest): Asked {
  try {
    const answer: unknown = driver.createCheckpoint(request);
    return { result: resultOf(answer), early: () => certain(answer) };
  } catch (error) {
    return { result: Promise.resolve({ error }), early: () => undefined };
  }
}

async function resultOf(answer: unknown): Promise<Result> {
  try {
    if (answer === undefined) {
      // Not even a promise: whoever forgot to return it would count as having made a checkpoint at once.
      return nonsense("the driver's createCheckpoint returned nothing: return a promise");
    }
    return checked(await outcomeOf(answer));
  } catch (error) {
    return { error };
  }
}

/** What a promise is certain to resolve with; nothing when it is not, or when its look breaks: the promise tells what is wrong. */
function certain(promise: unknown): Result | undefined {
  if (!has(promise, CERTAIN)) return undefined;
  try {
    const answer: unknown = promise[CERTAIN]();
    quiet(answer);
    const result = answer === undefined ? undefined : checked(answer);
    return result === undefined || 'error' in result ? undefined : result;
  } catch {
    return undefined;
  }
}

/** What a driver's `createCheckpoint` resolved with, or `INVALID_ARGUMENT`. */
export function checkedAnswer(host: Host, value: unknown): CheckedAnswer {
  const result = checked(value);
  if ('error' in result) {
    throw host.error('INVALID_ARGUMENT', (result.error as Error).message, { details: { argument: 'driver' } });
  }
  return 'paused' in result ? { partial: false, paused: true } : result;
}

function checked(value: unknown): Result {
  if (value === undefined) return { partial: false };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const kind = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`;
    return nonsense(`the driver's createCheckpoint resolved with ${kind}: ${ADVICE}`);
  }
  const { checkpointId, partial, paused } = value as Record<string, unknown>;
  if (paused !== undefined && typeof paused !== 'boolean') {
    return nonsense("the driver's createCheckpoint resolved with a paused that is neither true nor false");
  }
  if (paused === true) {
    if (checkpointId === undefined && !hasError(value)) return { paused };
    return nonsense("the driver's createCheckpoint resolved with a checkpoint, or an error, though paused");
  }
  if (checkpointId === undefined && partial === undefined && Object.keys(value).length > 0) {
    // A driver that says something else about what it made did not say what it was asked.
    return nonsense(
      `the driver's createCheckpoint resolved with an object without checkpointId: ${ADVICE} (it has ${Object.keys(value).slice(0, 5).join(', ').slice(0, 100)})`,
    );
  }
  if ((checkpointId === undefined && !isPlain(value)) || value instanceof Error || hasError(value)) {
    return nonsense(`the driver's createCheckpoint resolved with something else than an answer: ${ADVICE}`);
  }
  if (checkpointId !== undefined && !isId(checkpointId)) {
    return nonsense(
      `the driver's createCheckpoint resolved with a checkpointId that is no text of 1 to ${MAX_ID_BYTES} bytes without control characters: ${ADVICE}`,
    );
  }
  if (partial !== undefined && typeof partial !== 'boolean') {
    return nonsense("the driver's createCheckpoint resolved with a partial that is neither true nor false");
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
  if (typeof value !== 'string' || value === '' || value.length > MAX_ID_BYTES || UNFIT.test(value)) return false;
  return new TextEncoder().encode(value).length <= MAX_ID_BYTES;
}

function nonsense(message: string): Result {
  return { error: new TypeError(message) };
}
