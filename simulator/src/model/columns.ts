import type { Summary } from 'turnback-policy/simulate';

/**
 * The batches of a scenario as columns: a field each, by a batch's place in the scenario. Objects would have to be copied one by one on
 * their way from the worker; columns are handed over.
 */
export interface Batches {
  readonly count: number;
  /** The moment that the page calls 0:00: 0, unless the scenario's times are those of a calendar. */
  readonly origin: number;
  readonly sandboxes: readonly string[];
  readonly turns: readonly string[];
  readonly tools: readonly string[];
  /** A place in {@link sandboxes}. */
  readonly sandbox: Int32Array;
  /** A place in {@link turns}; -1: nobody knows. */
  readonly turn: Int32Array;
  /** A place in {@link tools}; -1: not said. */
  readonly tool: Int32Array;
  /** Milliseconds. */
  readonly start: Float64Array;
  /** Milliseconds. */
  readonly duration: Float64Array;
  /** 1: may change something; 0: is proven to change nothing. */
  readonly destructive: Uint8Array;
  /** Whether some batch says what a real driver did. */
  readonly recorded: boolean;
}

/** What can become of a batch's checkpoint, in the order of its numbers in {@link Run.outcome}. */
export const OUTCOMES = ['created', 'joined', 'already_covered', 'skipped', 'failed', 'timed_out'] as const;

/** What can become of an attempt, in the order of its numbers in {@link Attempts.outcome}. */
export const ATTEMPT_OUTCOMES = ['succeeded', 'failed', 'timed_out'] as const;

/** The attempts under one policy, in the order in which they began. */
export interface Attempts {
  readonly count: number;
  /** The number that people see. */
  readonly number: Int32Array;
  readonly sandbox: Int32Array;
  /** A place in {@link Batches.turns}; -1: nobody knows. */
  readonly turn: Int32Array;
  readonly at: Float64Array;
  readonly end: Float64Array;
  /** When the driver answered; NaN: never. */
  readonly driverEnd: Float64Array;
  readonly outcome: Uint8Array;
  readonly late: Uint8Array;
  readonly kept: Uint8Array;
}

/** What became of the batches of one sandbox under one policy, made ready to be drawn. */
export interface Lane {
  readonly sandbox: number;
  /** Batches by the time from which they are drawn. */
  readonly order: Int32Array;
  /** By place in {@link order}: the latest end so far, so that a look-up by time can use bisection. */
  readonly reach: Float64Array;
  /** By place in {@link order}: the row, so that batches that run together do not cover one another. */
  readonly row: Uint8Array;
  readonly rows: number;
  /** Places in {@link Attempts}, by time. */
  readonly attempts: Int32Array;
  /** By place in {@link attempts}: the latest end so far. */
  readonly attemptReach: Float64Array;
  readonly spans: Spans;
  readonly risk: Risk;
}

/** From when to when each turn was at work in a lane. */
export interface Spans {
  readonly turn: Int32Array;
  readonly from: Float64Array;
  readonly to: Float64Array;
  readonly row: Uint8Array;
  readonly rows: number;
}

/**
 * What a rollback would throw away, from moment to moment: straight lines between these points. It grows while batches work and falls
 * when a checkpoint is done.
 */
export interface Risk {
  readonly at: Float64Array;
  readonly lost: Float64Array;
  /** Until then there is no checkpoint to go back to; Infinity: never one. */
  readonly nothingUntil: number;
}

/** What became of all batches under one policy. Columns are by a batch's place in the scenario. */
export interface Run {
  readonly summary: Summary;
  readonly at: Float64Array;
  /** NaN: refused. */
  readonly start: Float64Array;
  /** NaN: refused. */
  readonly end: Float64Array;
  readonly outcome: Uint8Array;
  /** A place in {@link reasons}; 255: none given. */
  readonly reason: Uint8Array;
  readonly reasons: readonly string[];
  readonly protected: Uint8Array;
  readonly late: Uint8Array;
  /** A place in {@link attempts}; -1: none. */
  readonly attempt: Int32Array;
  /** A place in {@link attempts}; -1: there is nothing to go back to. */
  readonly returnsTo: Int32Array;
  readonly lostMs: Float64Array;
  readonly lostBatches: Int32Array;
  readonly lostTurns: Int32Array;
  readonly attempts: Attempts;
  readonly lanes: readonly Lane[];
  /** When everything is over. */
  readonly until: number;
}

/** The buffers of columns, wherever they stand in `value`: they are handed over instead of copied. */
export function buffersOf(value: unknown): ArrayBuffer[] {
  if (ArrayBuffer.isView(value)) return value.buffer instanceof ArrayBuffer ? [value.buffer] : [];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value) && typeof value[0] !== 'object') return [];
  return Object.values(value).flatMap(buffersOf);
}
