import { anId, aString } from './check.js';
import { refusing } from './error.js';
import { policy } from './loader.js';

/**
 * The comment of a checkpoint made for a turn: `<prefix>-pre-agent-<turnId>` (G2), with whatever is not visible ASCII in the
 * turn id percent-encoded.
 *
 * @param turnId 1 to 200 bytes of UTF-8
 * @param prefix 1 to 64 visible ASCII characters; `turnback` by default
 * @throws TurnbackError with code `INVALID_ARGUMENT`
 */
export function checkpointComment(turnId: string, prefix?: string): string {
  const id = anId('turnId', turnId);
  const before = prefix === undefined ? undefined : aString('prefix', prefix);
  return refusing('turnId or prefix', () => policy().checkpointComment(id, before));
}

/**
 * What a comment says; `null` when it is not exactly what {@link checkpointComment} writes.
 *
 * @throws TurnbackError with code `INVALID_ARGUMENT` when `comment` is not a string
 */
export function parseCheckpointComment(comment: string): { prefix: string; turnId: string } | null {
  return policy().parseCheckpointComment(aString('comment', comment)) ?? null;
}
