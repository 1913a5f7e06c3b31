/**
 * Reading the answer to `createCheckpoint` of `@fly/sprites`: lines of JSON, `{ type, data?, error? }`.
 *
 * The SDK's stream reports neither a body that breaks off, is empty or is an HTML page, nor a line that it cannot parse: all
 * of that looks like an end. So nothing counts but the message `complete`, which Sprites sends last.
 */
import { TurnbackError } from '../../errors.js';
import type { Attempt } from './attempt.js';
import { excerpt, rejected } from './rejected.js';

/** The part of the SDK's `CheckpointStream` that is used here. */
export interface SpriteStream {
  /** The next message, or null at the end. */
  next(): Promise<unknown>;
  /** Ends the stream and its connection. */
  close(): void;
}

/** Whether a value can be read as a stream. */
export function isStream(value: unknown): value is SpriteStream {
  if (typeof value !== 'object' || value === null) return false;
  const { next, close } = value as Record<string, unknown>;
  return typeof next === 'function' && typeof close === 'function';
}

/** What has been read so far. */
interface Seen {
  messages: number;
  last?: string;
  complete: boolean;
}

function failure(message: string, seen: Seen, attempt: Attempt): TurnbackError {
  const { messages, last } = seen;
  const advice = 'try again, and look at the Sprite if it happens again';
  return new TurnbackError('IO', `the Sprite made no checkpoint: ${message}; ${advice}`, {
    retryable: true,
    details: { ...attempt.details, messages, ...(last === undefined ? {} : { last }), advice },
  });
}

/** Notes a message. An error ends the reading at once: whatever follows, there is no checkpoint to rely on. */
function note(message: unknown, seen: Seen, attempt: Attempt): void {
  seen.messages += 1;
  const fields = (typeof message === 'object' && message !== null ? message : {}) as Record<string, unknown>;
  const { type, data, error } = fields;
  if (typeof type !== 'string') throw failure(`message ${seen.messages} of its answer has no type`, seen, attempt);
  const text = excerpt(typeof error === 'string' ? error : typeof data === 'string' ? data : '');
  seen.last = text === '' ? excerpt(type) : `${excerpt(type)}: ${text}`;
  if (type === 'error') throw failure(`it answered with the error ${JSON.stringify(text)}`, seen, attempt);
  if (type === 'complete') seen.complete = true;
}

/**
 * Reads a stream to its end and closes it, whatever happens. Returns only if Sprites said that the checkpoint is complete.
 *
 * @throws TurnbackError `IO` with what was seen, or `ABORTED`
 */
export async function drain(stream: SpriteStream, attempt: Attempt): Promise<void> {
  const seen: Seen = { messages: 0, complete: false };
  try {
    for (;;) {
      // In a function of its own, so that a stream that throws at once is one that rejects.
      const message = await attempt.before((async () => stream.next())());
      if (message === null || message === undefined) break;
      note(message, seen, attempt);
    }
  } catch (error) {
    throw rejected('reading the answer of the Sprite', error, { ...attempt.details, messages: seen.messages });
  } finally {
    close(stream, attempt);
  }
  if (seen.complete) return;
  const { messages } = seen;
  throw failure(
    messages === 0
      ? 'its answer held no message, so it was empty or not what Sprites sends, such as an HTML page'
      : `its answer ended after ${messages} ${messages === 1 ? 'message' : 'messages'} without "complete"`,
    seen,
    attempt,
  );
}

/** Closes a stream. That this fails says nothing about the checkpoint, so it is only logged. */
export function close(stream: SpriteStream, attempt: Attempt): void {
  const failed = (error: unknown) =>
    attempt.log.warn({ ...attempt.details, err: error }, 'the stream of a Sprite could not be closed');
  try {
    // The SDK's gives nothing back; another version's, or a wrapper's, may be a promise.
    Promise.resolve(stream.close() as unknown).catch(failed);
  } catch (error) {
    failed(error);
  }
}
