/**
 * Which checkpoints were deleted in this process, so that no guard counts on one that is gone (G9). A deletion by another
 * process, or in another thread, which has these modules for itself, is not seen here.
 */

/** How many are remembered. */
const MOST = 10_000;

/** The last deletions, oldest first. */
const deleted = new Set<string>();
/** No checkpoint that is older than this counts as one that is there: a later one of its kind was forgotten. */
let forgottenUpTo = '';

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
  return checkpointId <= forgottenUpTo || deleted.has(checkpointId) || going.has(checkpointId);
}
