import { ask } from '../bash/permission.js';
import type { CommandGuard } from '../bash/types.js';
import { isSignal } from '../check.js';

/** What a call is to be asked for: made anew for each. */
export interface Asked {
  guard: CommandGuard;
  sandboxId: string;
  turnId: string;
  /** What the call is about to run, where that is known. */
  command?: string | readonly string[] | undefined;
  signal: AbortSignal | undefined;
}

/** A function that works when it is called. */
export type Work = (...args: never[]) => unknown;

/**
 * `work` with the guard asked directly before it (G13). A function that is an async generator stays one; any other returns a
 * promise.
 *
 * `describe` says what to ask, in the same tick as the call (G4), or `undefined` when the call needs no checkpoint.
 */
export function guarded(
  work: Work,
  describe: (self: unknown, args: unknown[]) => Asked | undefined,
): (...args: unknown[]) => unknown {
  const call = (self: unknown, args: unknown[]): unknown => Reflect.apply(work, self, args);
  if (isAsyncGenerator(work)) {
    return async function* (this: unknown, ...args: unknown[]) {
      const over = await permitted(describe(this, args));
      try {
        return yield* call(this, args) as AsyncGenerator;
      } finally {
        over();
      }
    };
  }
  return async function (this: unknown, ...args: unknown[]) {
    const over = await permitted(describe(this, args));
    try {
      return await call(this, args);
    } finally {
      over();
    }
  };
}

/**
 * Resolves when the call may go on, with what is to be called when it is over. Throws what the guard refuses with, or the signal's
 * reason: then it must not.
 */
async function permitted(asked: Asked | undefined): Promise<() => void> {
  if (asked === undefined) return () => {};
  const { signal } = asked;
  // Nothing will run, so nothing needs a checkpoint.
  if (signal?.aborted) throw signal.reason;
  const permission = await ask(asked);
  if (permission === 'aborted') throw signal?.reason;
  if (signal?.aborted) {
    permission.giveBack();
    throw signal.reason;
  }
  return permission.over;
}

/** Seen before it is called: what it returns would be too late. */
export function isAsyncGenerator(work: Work): boolean {
  return Object.prototype.toString.call(work) === '[object AsyncGeneratorFunction]';
}

/** A turn of its own, for what belongs to no certain one: then no old checkpoint seems to cover it (G11). */
export function freshTurn(): string {
  return `turn-${crypto.randomUUID()}`;
}

/** The signal in a host's own options; what is none there is the host's affair, or belongs to the tool. */
export function signalIn(options: unknown, name: string): AbortSignal | undefined {
  const given =
    typeof options === 'object' && options !== null ? (options as Record<string, unknown>)[name] : undefined;
  return isSignal(given) ? given : undefined;
}
