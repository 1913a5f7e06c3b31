/**
 * Which workspaces were restored in this process, so that no guard counts on a checkpoint from before (G8). A restore by
 * another process is not seen here: `guard.forget()` tells of it.
 */

/** How many workspaces are told apart. Beyond that all count as restored, which costs each guard at most one checkpoint. */
const MOST = 10_000;

/** The number of each one's last restore; `all` is that of those that are not in it. */
const counts = new Map<string, number>();
let all = 0;
let latest = 0;

/** A workspace was restored, or was about to be when that failed. `undefined`: nobody knows which. */
export function noteRestore(workspaceId: string | undefined): void {
  // Above every number that was given out, so that each one that is asked for changes.
  latest += 1;
  if (workspaceId === undefined || (counts.size >= MOST && !counts.has(workspaceId))) {
    counts.clear();
    all = latest;
  } else {
    counts.set(workspaceId, latest);
  }
}

/** A number that changes with each restore of a workspace. */
export function restoresOf(workspaceId: string): number {
  return counts.get(workspaceId) ?? all;
}
