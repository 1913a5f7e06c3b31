import type { Host } from './host.js';
import { has } from './settle.js';

/** A batch that is about to run. */
export interface Batch {
  /** The sandbox that it will work in: 1 to 200 bytes. */
  sandboxId: string;
  /** The turn that it belongs to: 1 to 200 bytes. Without one it is skipped (G7). */
  turnId?: string | undefined;
  /**
   * What it is about to do: one shell command, or several. With `when: 'unless_read_only'` a batch whose commands are all proven to
   * only read needs no checkpoint (G14). Without one it counts as destructive.
   */
  command?: string | readonly string[] | undefined;
  /** Whoever asked gives up when it fires; the attempt goes on for the others who wait for it. */
  signal?: AbortSignal | undefined;
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Whether a text comes through to the gate as it is: half of a surrogate pair becomes another text on the way. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && !LONE_SURROGATE.test(value);
}

/** The batch, or an error that says what is wrong with it. The lengths of the ids are the gate's to check. */
export function checkedBatch(host: Host, given: unknown): Batch {
  const refuse = (argument: string, message: string) =>
    host.error('INVALID_ARGUMENT', message, { details: { argument } });
  if (typeof given !== 'object' || given === null) throw refuse('batch', 'batch is no object: pass an object');
  const { sandboxId, turnId, signal } = read(host, given, ({ sandboxId, turnId, signal }) => ({
    sandboxId,
    turnId,
    signal,
  }));
  if (!isText(sandboxId)) throw refuse('batch.sandboxId', 'batch.sandboxId is no well-formed text');
  if (turnId !== undefined && turnId !== null && !isText(turnId)) {
    throw refuse('batch.turnId', 'batch.turnId is no well-formed text: pass the id of the turn, or leave it out');
  }
  if (signal !== undefined && signal !== null && !isSignal(signal)) {
    throw refuse('batch.signal', 'batch.signal is no AbortSignal');
  }
  return {
    sandboxId,
    ...(typeof turnId === 'string' ? { turnId } : {}),
    // Looked at above, and not twice: it may be a thing that changes its mind.
    ...(signal === undefined || signal === null ? {} : { signal: signal as AbortSignal }),
  };
}

/** The sandbox and the turn of a batch, unchecked, or an error if they cannot be read. */
export function idsOf(host: Host, given: object): { sandboxId: unknown; turnId: unknown } {
  return read(host, given, ({ sandboxId, turnId }) => ({ sandboxId, turnId }));
}

function read<Read>(host: Host, given: object, look: (batch: Record<string, unknown>) => Read): Read {
  try {
    return look(given as Record<string, unknown>);
  } catch (cause) {
    throw host.error('INVALID_ARGUMENT', 'batch cannot be read: pass a plain object', {
      details: { argument: 'batch' },
      cause,
    });
  }
}

/** Whether a signal has fired. One that cannot say has not. */
export function hasFired(signal: AbortSignal | undefined): boolean {
  try {
    return signal?.aborted === true;
  } catch {
    return false;
  }
}

function isSignal(value: unknown): value is AbortSignal {
  try {
    return (
      typeof value === 'object' &&
      value !== null &&
      typeof (value as AbortSignal).aborted === 'boolean' &&
      has(value, 'addEventListener') &&
      has(value, 'removeEventListener')
    );
  } catch {
    return false;
  }
}
