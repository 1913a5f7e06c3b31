import type { Host } from './host.js';

/** A batch that is about to run. */
export interface Batch {
  /** The sandbox that it will work in: 1 to 200 bytes. */
  sandboxId: string;
  /** The turn that it belongs to: 1 to 200 bytes. Without one it is skipped (G7). */
  turnId?: string | undefined;
  /** What it is about to do. Not used yet. */
  command?: string | undefined;
  /** Whoever asked gives up when it fires; the attempt goes on for the others who wait for it. */
  signal?: AbortSignal | undefined;
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Whether a text comes through to the gate as it is: half of a surrogate pair becomes another text on the way. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && !LONE_SURROGATE.test(value);
}

/** Whether both ids are well-formed texts, remembered for the last pair: a turn's batches come one after the other (W8). */
export class TextPair {
  #first: unknown;
  #second: unknown;

  both(first: unknown, second: unknown): boolean {
    if (first === this.#first && second === this.#second && second !== undefined) return true;
    if (!isText(first) || !isText(second)) return false;
    [this.#first, this.#second] = [first, second];
    return true;
  }
}

/** The batch, or an error that says what is wrong with it. The lengths of the ids are the gate's to check. */
export function checkedBatch(host: Host, given: unknown): Batch {
  const refuse = (argument: string, message: string) =>
    host.error('INVALID_ARGUMENT', message, { details: { argument } });
  if (typeof given !== 'object' || given === null) throw refuse('batch', 'batch is no object: pass an object');
  const { sandboxId, turnId, signal } = given as Record<string, unknown>;
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
    ...(isSignal(signal) ? { signal } : {}),
  };
}

function isSignal(value: unknown): value is AbortSignal {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as AbortSignal).aborted === 'boolean' &&
    typeof (value as AbortSignal).addEventListener === 'function' &&
    typeof (value as AbortSignal).removeEventListener === 'function'
  );
}
