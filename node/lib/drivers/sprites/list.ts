/** Finding the id of a checkpoint that was just made: Sprites tells it in the list only. */
import { isTurnbackError, TurnbackError } from '../../errors.js';
import type { Attempt } from './attempt.js';
import { excerpt, rejected } from './rejected.js';

/** An entry of the list, as far as it is used here. */
export interface SpriteCheckpoint {
  id: string;
  comment?: string | undefined;
  createTime?: Date | undefined;
  /** Empty when the checkpoint is sound, else what is wrong with it. */
  health?: string | undefined;
}

/** What gives the list as it is now. */
export interface SpriteList {
  listCheckpoints(): Promise<SpriteCheckpoint[]>;
}

/** The entry that stands for the running state. It is no checkpoint: nothing can go back to it. */
const RUNNING = 'Current';

/** Made when it is first needed: it takes longer than an import of all this package (W9). */
let byNumber: Intl.Collator | undefined;

/** When it was made, in milliseconds since the epoch; 0 if that cannot be read. */
function made(entry: SpriteCheckpoint): number {
  return new Date(entry.createTime ?? 0).getTime() || 0;
}

/** Newest last. Times may have a resolution of a second: among equal ones the number in the id decides, v9 before v10. */
function byAge(a: SpriteCheckpoint, b: SpriteCheckpoint): number {
  byNumber ??= new Intl.Collator('en', { numeric: true });
  return made(a) - made(b) || byNumber.compare(a.id, b.id);
}

/**
 * All checkpoints of a Sprite, the newest last.
 *
 * @throws TurnbackError what the list fails with, or `ABORTED`
 */
export async function listed(sprite: SpriteList, attempt: Attempt): Promise<SpriteCheckpoint[]> {
  const what = "reading the list of the Sprite's checkpoints";
  let entries: unknown;
  try {
    entries = await attempt.before<unknown>((async () => sprite.listCheckpoints())());
  } catch (error) {
    throw rejected(what, error, attempt.details);
  }
  if (!Array.isArray(entries)) throw rejected(what, new Error('it is no list'), attempt.details);
  return entries
    .filter((entry: Partial<SpriteCheckpoint> | null): entry is SpriteCheckpoint => typeof entry?.id === 'string')
    .filter(({ id }) => id !== '' && id !== RUNNING)
    .sort(byAge);
}

/**
 * What stands in the list before an attempt. One that fails for a moment is read again after each of the delays (in milliseconds): the
 * batch would otherwise run unprotected for it.
 *
 * @throws TurnbackError as {@link listed}
 */
export async function standing(
  sprite: SpriteList,
  attempt: Attempt,
  delaysMs: readonly number[],
): Promise<SpriteCheckpoint[]> {
  for (const delayMs of delaysMs) {
    try {
      return await listed(sprite, attempt);
    } catch (error) {
      if (!isTurnbackError(error) || !error.retryable) throw error;
    }
    await attempt.pause(delayMs);
  }
  return await listed(sprite, attempt);
}

/**
 * The id of the newest sound checkpoint that has exactly the attempt's comment, is none of those listed `before` it, and not older
 * than the newest of them: such a one was made before, and only its entry is late. The list may lag behind, or fail for a
 * moment: it is read again after each of the delays (in milliseconds).
 *
 * @throws TurnbackError `IO` when it does not appear; what the list fails with when trying again cannot help; `ABORTED`
 */
export async function findId(
  sprite: SpriteList,
  attempt: Attempt,
  before: readonly SpriteCheckpoint[],
  delaysMs: readonly number[],
): Promise<string> {
  const known = new Set(before.map(({ id }) => id));
  const since = Math.max(0, ...before.map(made));
  const isNew = (entry: SpriteCheckpoint) =>
    entry.comment === attempt.comment && !known.has(entry.id) && (made(entry) === 0 || made(entry) >= since);
  let why = '';
  let cause: TurnbackError | undefined;
  for (const delayMs of [undefined, ...delaysMs]) {
    if (delayMs !== undefined) await attempt.pause(delayMs);
    try {
      const newest = (await listed(sprite, attempt)).filter(isNew).at(-1);
      if (newest !== undefined && !newest.health) return newest.id;
      cause = undefined;
      why =
        newest === undefined
          ? 'it is not in the list'
          : `the list marks ${excerpt(newest.id)} as ${JSON.stringify(excerpt(String(newest.health)))}`;
    } catch (error) {
      if (!isTurnbackError(error) || !error.retryable) throw error;
      cause = error;
      why = error.message;
    }
  }
  const looks = delaysMs.length + 1;
  const advice = "look for the comment in the Sprite's list";
  throw new TurnbackError(
    'IO',
    `the Sprite reported a complete checkpoint, but its id was not found in ${looks} looks: ${why}; ${advice}`,
    { retryable: true, details: { ...attempt.details, looks, advice }, ...(cause === undefined ? {} : { cause }) },
  );
}
