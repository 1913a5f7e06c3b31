/** Checkpoints of Fly's Sprites (G12), made through the package `@fly/sprites`, which is not imported here. */
import { listOf, logger, options as optionsOf, record, signal, text, whole } from '../check.js';
import { invalidArgument } from '../errors.js';
import { type Logger, safely } from '../log.js';
import type { Driver, DriverAnswer, DriverRequest } from './driver.js';
import { Attempt } from './sprites/attempt.js';
import { findId, type SpriteList, standing } from './sprites/list.js';
import { rejected } from './sprites/rejected.js';
import { close, drain, isStream, type SpriteStream } from './sprites/stream.js';

/** The part of the SDK's `Sprite` that is used; from version 0.1.0 on its objects fit. */
export interface SpriteLike extends SpriteList {
  createCheckpoint(comment?: string): Promise<SpriteStream>;
}

/** Options of {@link spritesDriver}. */
export interface SpritesDriverOptions {
  /**
   * The list of checkpoints can lag behind, or fail for a moment: how long to wait before each further look, in milliseconds.
   * Default: 100, 200, 400, 800, 1600.
   */
  listDelaysMs?: number[];
  /** Hears of streams that opened after the attempt was given up, and of those that could not be closed. Default: nobody. */
  logger?: Logger;
}

const DEFAULT_DELAYS_MS = [100, 200, 400, 800, 1600];
const MAX_DELAY_MS = 60_000;
const OPTIONS = { listDelaysMs: listOf(whole(0, MAX_DELAY_MS), 100), logger };

/** The first version whose `createCheckpoint` answers with a stream. */
const NEEDED = '@fly/sprites 0.1.0 or later is needed';

/**
 * A driver that checkpoints a Sprite of Fly.
 *
 * It succeeds only when Sprites says that the checkpoint is complete and lists it under the comment. It cannot delete
 * checkpoints, because the SDK cannot: one that Sprites finishes after the attempt was given up stays in its list.
 *
 * ```ts
 * const client = new SpritesClient(token);
 * const one = spritesDriver(client.sprite('my-sprite'));                // one Sprite, whatever the sandbox's id
 * const each = spritesDriver((sandboxId) => client.sprite(sandboxId));  // a Sprite for each sandbox
 * ```
 *
 * @throws TurnbackError `INVALID_ARGUMENT` when it is no Sprite, or an option is unknown. A checkpoint rejects with
 * `ABORTED` (the signal fired), `INVALID_ARGUMENT` (an SDK before 0.1.0), `PERMISSION_DENIED`, `NOT_FOUND`, or `IO`
 */
export function spritesDriver(
  sprite: SpriteLike | ((sandboxId: string) => SpriteLike | Promise<SpriteLike>),
  options?: SpritesDriverOptions,
): Driver {
  const choose = typeof sprite === 'function' ? sprite : always(asSprite(sprite));
  const { listDelaysMs = DEFAULT_DELAYS_MS, logger } = optionsOf('options', OPTIONS, options);
  const log = safely(logger);

  return {
    async createCheckpoint(given: DriverRequest): Promise<DriverAnswer> {
      const request = asRequest(given);
      const attempt = new Attempt(request, log);
      attempt.throwIfAborted();
      const chosen = await theSprite(choose, request.sandboxId, attempt);

      // An earlier attempt under this comment, also one of another process, may have succeeded unnoticed. While the list lags behind,
      // its checkpoint must not be taken for the one that is made now.
      const before = await standing(chosen, attempt, listDelaysMs);

      attempt.stage = 'while it was made: Sprites may still finish it';
      await drain(await open(chosen, attempt), attempt);

      attempt.stage = 'while its id was looked up: it is complete, and can be found by its comment';
      return { checkpointId: await findId(chosen, attempt, before, listDelaysMs) };
    },
  };
}

function always<T>(value: T): () => T {
  return () => value;
}

function asSprite(value: unknown): SpriteLike {
  const methods = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  for (const method of ['createCheckpoint', 'listCheckpoints']) {
    if (typeof methods[method] !== 'function') {
      throw invalidArgument(
        'sprite',
        `sprite has no method ${method}: pass what client.sprite(name) gives, or a function that gives it; ${NEEDED}`,
      );
    }
  }
  return value as SpriteLike;
}

function asRequest(given: unknown): DriverRequest {
  const request = record('request', given);
  const comment = text('comment', request.comment);
  // Sprites would make it, but nothing could find it again.
  if (comment === '') throw invalidArgument('comment', 'comment is empty: pass the text to find the checkpoint by');
  return { sandboxId: text('sandboxId', request.sandboxId), comment, signal: signal('signal', request.signal) };
}

async function theSprite(choose: (sandboxId: string) => unknown, sandboxId: string, attempt: Attempt) {
  try {
    return asSprite(await attempt.before((async () => choose(sandboxId))()));
  } catch (error) {
    throw rejected('choosing the Sprite', error, attempt.details);
  }
}

/** Asks for a checkpoint. What opens after the signal fired is closed unread. */
async function open(sprite: SpriteLike, attempt: Attempt): Promise<SpriteStream> {
  const late = (answer: unknown) => {
    discard(answer, attempt);
    attempt.log.info(attempt.details, 'a Sprite answered after its checkpoint was given up: the stream was closed');
  };
  let answer: unknown;
  try {
    answer = await attempt.before<unknown>((async () => sprite.createCheckpoint(attempt.comment))(), late);
    if (isStream(answer)) return answer;
  } catch (error) {
    throw rejected('asking the Sprite for a checkpoint', error, attempt.details);
  }
  discard(answer, attempt);
  throw invalidArgument(
    'sprite',
    `createCheckpoint of the Sprite answered with ${kind(answer)} where a stream of messages is expected: ${NEEDED}`,
  );
}

function kind(value: unknown): string {
  if (typeof value !== 'object') return `a value of type ${typeof value}`;
  if (value === null) return 'null';
  return value.constructor?.name === 'Response' ? 'a raw Response' : 'an object';
}

/** Ends the connection behind an answer that is not read. */
function discard(answer: unknown, attempt: Attempt): void {
  if (isStream(answer)) {
    close(answer, attempt);
  } else if (answer instanceof Response && answer.body !== null) {
    answer.body.cancel().catch((error: unknown) => {
      attempt.log.warn({ ...attempt.details, err: error }, 'the answer of a Sprite could not be closed');
    });
  }
}
