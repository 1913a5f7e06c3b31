/**
 * Which checkpoints this process deleted, so that no guard counts on one that is gone (G9): those that were asked for here, and those that
 * the engine removed, also by itself and in other threads. A deletion by another process is not seen.
 */
import type { Addon } from './addon.js';

/** How many are remembered. */
const MOST = 10_000;

/** The last deletions, oldest first. */
const deleted = new Set<string>();
/** No checkpoint that is older than this counts as one that is there: a later one of its kind was forgotten. */
let forgottenUpTo = '';

/** The engine that removes some, once a store is open, and how many it had removed at the last look. */
let engine: Addon | undefined;
let seen = 0;

/** From now on what the engine removes is known as well. */
export function watchRemovals(addon: Addon): void {
  if (engine !== undefined) return;
  engine = addon;
  // What was removed before nobody here counts on.
  seen = addon.removals();
}

function catchUp(): void {
  if (engine === undefined || engine.removals() === seen) return;
  const { count, ids, forgottenUpTo: forgotten } = engine.removalsSince(seen);
  seen = count;
  for (const id of ids) noteDeletion(id);
  if (forgotten !== undefined && forgotten > forgottenUpTo) forgottenUpTo = forgotten;
}

/** Those that a call under way may be deleting, with the number of such calls. */
const going = new Map<string, number>();

/** These may go from now on. Afterwards the call says with {@link noteDeletion} which did, then calls what this gives. */
export function beginDeletion(checkpointIds: readonly string[]): () => void {
  for (const id of checkpointIds) going.set(id, (going.get(id) ?? 0) + 1);
  return () => {
    for (const id of checkpointIds) {
      const left = (going.get(id) ?? 1) - 1;
      if (left > 0) going.set(id, left);
      else going.delete(id);
    }
  };
}

/** A checkpoint is being deleted, was deleted, or was about to be when that failed. */
export function noteDeletion(checkpointId: string): void {
  deleted.add(checkpointId);
  if (deleted.size <= MOST) return;
  for (const oldest of deleted) {
    deleted.delete(oldest);
    if (oldest > forgottenUpTo) forgottenUpTo = oldest;
    return;
  }
}

/**
 * Whether a checkpoint was deleted, or may be going now. One that may have been among those forgotten counts as deleted, which costs its turn at most
 * one more checkpoint: ids are in the order of their making, so these are old ones.
 */
export function wasDeleted(checkpointId: string): boolean {
  catchUp();
  return checkpointId <= forgottenUpTo || deleted.has(checkpointId) || going.has(checkpointId);
}
