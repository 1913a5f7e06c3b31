/** Calls of the addon: cancelling, deadlines and progress. */
import { onAbort } from './abort.js';
import { addon } from './addon.js';
import { isTurnbackError, TurnbackError } from './errors.js';
import { unwrap } from './failure.js';
import { type Known, knownBy, type Writes } from './given-up.js';
import type { Logger } from './log.js';
import type { Control, Failure, ProgressEvent, Ticket } from './native.js';
import type { Progress } from './types.js';

/** What a long call is given. */
export interface Limits {
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: Progress) => void) | undefined;
  deadlineMs?: number | undefined;
}

/** What a long call does, for its messages, and who hears of what it cannot throw. */
export interface Call<T> {
  /** For example `the checkpoint`. */
  what: string;
  /** What a caller who gave up has to know, by what is known of the work. */
  afterwards: string | ((known: Known) => string);
  log: Logger;
  start: (ticket: Ticket, control: Control) => Promise<T | Failure>;
  /** Hears of the work itself, which can outlast the call: closing waits for it. */
  track: (work: Promise<void>) => void;
  /** Takes back a success that came after the caller was told that there is none (C12: it never publishes late). */
  takeBack?: (value: T) => Promise<void>;
  /** What the engine is certain to answer, if it is certain already: then there is nothing to give up. */
  early?: (ticket: Ticket) => T | null;
  /** Is given what takes the answer early, for as long as the call is under way; `undefined` when there is none. */
  onRunning?: (take: () => T | undefined) => void;
  /**
   * It writes to a workspace: who gave it up waits a moment for the engine's own answer, and is told how far it came and how to undo it
   * in any case (C8). Other calls reject at once.
   */
  writes?: Writes;
}

/**
 * The engine ends an overdue call itself. If it hangs in a system call, the caller is told after this long: within the
 * 50 ms that C12 allows, and late enough for the engine's own answer to come first.
 */
const GRACE_MS = 25;

/** How long the last step of a call may take that is given up during it: with {@link GRACE_MS} within the 50 ms of C12. */
const COMMIT_MS = 20;

/**
 * How long what writes and was given up may take to end by itself and to say how far it came, in milliseconds. Of a sandbox nobody else
 * can say that; what can be asked is told within the 50 ms of C12.
 */
const LINGER_MS: Record<Writes, number> = { restore: COMMIT_MS, resume: COMMIT_MS, sandbox: 10_000 };

/**
 * Runs a long call. When the signal fires it rejects at once, whatever the worker hangs in; the worker ends at its next
 * system call.
 */
export async function long<T>(call: Call<T>, limits: Limits): Promise<T> {
  const { signal, deadlineMs } = limits;
  const aborted: GivenUp = (known) =>
    new TurnbackError('ABORTED', `${call.what} was cancelled; ${afterwards(call, known)}`, {
      details: { ...known },
      cause: signal?.reason,
    });
  if (signal?.aborted) {
    throw new TurnbackError('ABORTED', `${call.what} was cancelled; nothing was begun`, {
      cause: signal.reason,
    });
  }
  const ticket = new (addon().Ticket)();
  let over = false;
  let taken: { value: T } | undefined;
  const control: Control = {};
  if (deadlineMs !== undefined) control.deadlineMs = deadlineMs;
  if (limits.onProgress !== undefined) control.onProgress = listener(limits.onProgress, call.log, () => over);

  return await new Promise<T>((resolve, reject) => {
    let givenUp: GivenUp | undefined;
    let lingering: NodeJS.Timeout | undefined;
    const tell = (error: GivenUp) => {
      end();
      reject(error(knownBy(ticket, call.writes)));
    };
    const take = (): T | undefined => {
      if (taken !== undefined) return taken.value;
      if (over) return undefined;
      const value = call.early?.(ticket) ?? undefined;
      if (value === undefined) return undefined;
      taken = { value };
      end();
      resolve(value);
      return value;
    };
    call.onRunning?.(take);
    const giveUp = (error: GivenUp, mayStillSucceed: boolean) => {
      if (over || givenUp !== undefined) return;
      if (!ticket.cancel()) {
        if (mayStillSucceed && take() !== undefined) return;
        // Too late: the engine is at the one step that cannot be cancelled. To who only set a limit its success is worth a moment's
        // waiting; what comes later still, because that step hangs, and what nobody wants any more the engine takes back itself. Of a
        // call that lingers it may be the step of a checkpoint on its way: what follows that ends as well, and says how far it came.
        if (!mayStillSucceed && (ticket.abandon() || call.takeBack !== undefined)) return tell(error);
        givenUp = error;
        lingering = setTimeout(
          () => {
            // It may have become a success meanwhile, which only has something left to note.
            if (ticket.abandon() || take() === undefined) tell(error);
          },
          call.writes === undefined ? COMMIT_MS : LINGER_MS[call.writes],
        );
        return;
      }
      if (call.writes === undefined) return tell(error);
      givenUp = error;
      lingering = setTimeout(() => tell(error), LINGER_MS[call.writes]);
    };
    const timer =
      deadlineMs === undefined
        ? undefined
        : setTimeout(() => giveUp(overdue(call, deadlineMs), true), deadlineMs + GRACE_MS).unref();
    const end = () => {
      over = true;
      leave?.();
      clearTimeout(timer);
      clearTimeout(lingering);
    };
    const leave = signal && onAbort(signal, () => giveUp(aborted, false));
    const run = async () => {
      try {
        const value = unwrap(await call.start(ticket, control));
        if (taken !== undefined) return;
        if (over) return await late(call, value);
        end();
        resolve(value);
      } catch (error) {
        if (over) return;
        end();
        reject(givenUp === undefined ? error : withDetails(call, givenUp, error, ticket));
      }
    };
    call.track(run());
  });
}

/** What a caller who gave up is told, once the engine has answered or is no longer waited for. */
type GivenUp = (known: Known) => TurnbackError;

function afterwards<T>(call: Call<T>, known: Known): string {
  return typeof call.afterwards === 'string' ? call.afterwards : call.afterwards(known);
}

/** What the caller is told, with what the engine's own answer adds to it. */
function withDetails<T>(call: Call<T>, givenUp: GivenUp, engines: unknown, ticket: Ticket): TurnbackError {
  if (!isTurnbackError(engines)) return givenUp(knownBy(ticket, call.writes));
  const { details } = engines;
  if (call.writes === undefined || call.writes === 'resume') return givenUp(details);
  return givenUp({ ...details, pending: details.pending === true, begun: details.begun === true });
}

function overdue<T>(call: Call<T>, deadlineMs: number): GivenUp {
  return (known) =>
    new TurnbackError(
      'TIMED_OUT',
      `${call.what} took longer than ${deadlineMs} ms; give it more time, or leave out large directories; ${afterwards(call, known)}`,
      { retryable: true, details: { ...known, deadlineMs } },
    );
}

async function late<T>(call: Call<T>, value: T): Promise<void> {
  try {
    await call.takeBack?.(value);
  } catch (error) {
    call.log.warn({ err: error }, `${call.what} succeeded after it was given up, and could not be taken back`);
  }
}

/** A listener that cannot throw into the addon, where it would become an uncaught exception. */
function listener(onProgress: (progress: Progress) => void, log: Logger, over: () => boolean) {
  const failed = (error: unknown) => log.warn({ err: error }, 'a progress listener failed');
  return (event: ProgressEvent) => {
    if (over()) return;
    try {
      const result: unknown = onProgress(Object.freeze({ ...event }));
      if (result instanceof Promise) result.catch(failed);
    } catch (error) {
      failed(error);
    }
  };
}
