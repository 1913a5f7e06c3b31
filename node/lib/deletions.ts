/**
 * Which checkpoints were deleted in this process, so that no guard counts on one that is gone (G9). A deletion by another
 * process is not seen here.
 */

/** How many are remembered. */
const MOST = 10_000;

/** The last deletions, oldest first. */
const deleted = new Set<string>();
/** No checkpoint that is older than this counts as one that is there: a later one of its kind was forgotten. */
let forgottenUpTo = '';

/** A checkpoint was deleted, or was about to be when that failed. */
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
 * Whether a checkpoint was deleted. One that may have been among those forgotten counts as deleted, which costs its turn at most
 * one more checkpoint: ids are in the order of their making, so these are old ones.
 */
export function wasDeleted(checkpointId: string): boolean {
  return checkpointId <= forgottenUpTo || deleted.has(checkpointId);
}
