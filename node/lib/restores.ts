/**
 * Which workspaces were restored in this process, so that no guard counts on a checkpoint from before (G8). A restore by
 * another process, or in another thread, which has these modules for itself, is not seen here: `guard.forget()` tells of it.
 *
 * A restore of the whole workspace takes with it what earlier batches did, so that its turns begin anew: {@link restoresOf}
 * changes. After any other one, and after one during which a batch asked, only the checkpoints from before count no more
 * ({@link isVoid}): what ran without protection has still run, and the next checkpoint of its turn is late (G6).
 */

/** How many workspaces are told apart. Beyond that all count as restored, which costs each guard at most one checkpoint. */
const MOST = 10_000;

/** The number of each one's last restore; `all` is that of those that are not in it. */
const counts = new Map<string, number>();
let all = 0;
let latest = 0;

/** For each one the newest checkpoint that is void; `allVoid` is that of those that are not in it. */
const voids = new Map<string, string>();
let allVoid = '';

/** What became of a restore. */
export type Outcome =
  /** Nothing was written. */
  | { wrote: false }
  /** Something was or may have been; `undoCheckpointId` is the checkpoint that was taken right before, if it is known. */
  | { wrote: true; whole: boolean; undoCheckpointId: string | undefined };

interface Running {
  workspaceId: string | undefined;
  /** A batch asked meanwhile: it may run on what is half restored. */
  asked: boolean;
}

const running = new Set<Running>();

/** A restore that is under way. */
export interface Restore {
  /** Of which workspace it is. Until this is told, and with `undefined`, it can be any. */
  of(workspaceId: string | undefined): void;
  over(outcome: Outcome): void;
}

/** A restore begins: batches that ask from now on are not forgotten with it. */
export function beginRestore(): Restore {
  const own: Running = { workspaceId: undefined, asked: false };
  running.add(own);
  return {
    of(workspaceId) {
      own.workspaceId = workspaceId;
    },
    over(outcome) {
      running.delete(own);
      if (!outcome.wrote) return;
      if (outcome.whole && !own.asked) noteWhole(own.workspaceId);
      else noteVoid(own.workspaceId, outcome.undoCheckpointId ?? newestUntilNow());
    },
  };
}

function noteWhole(workspaceId: string | undefined): void {
  // Above every number that was given out, so that each one that is asked for changes.
  latest += 1;
  if (workspaceId === undefined || (counts.size >= MOST && !counts.has(workspaceId))) {
    counts.clear();
    all = latest;
  } else {
    counts.set(workspaceId, latest);
  }
}

function noteVoid(workspaceId: string | undefined, newest: string): void {
  if (workspaceId === undefined || (voids.size >= MOST && !voids.has(workspaceId))) {
    for (const one of [newest, ...voids.values()]) if (one > allVoid) allVoid = one;
    voids.clear();
  } else if (newest > voidUpTo(workspaceId)) {
    voids.set(workspaceId, newest);
  }
}

function voidUpTo(workspaceId: string): string {
  const own = voids.get(workspaceId) ?? '';
  return own > allVoid ? own : allVoid;
}

/** A number that changes with each restore of a whole workspace. Asked for a batch. */
export function restoresOf(workspaceId: string): number {
  for (const one of running) {
    if (one.workspaceId === undefined || one.workspaceId === workspaceId) one.asked = true;
  }
  return counts.get(workspaceId) ?? all;
}

/** Whether a checkpoint of a workspace is from before a restore that left its turns as they were. */
export function isVoid(workspaceId: string, checkpointId: string): boolean {
  return checkpointId <= voidUpTo(workspaceId);
}

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Above every checkpoint id that was made until now: they begin with the time, in milliseconds and ten digits. */
function newestUntilNow(): string {
  let [id, rest] = ['', Date.now()];
  for (; id.length < 10; rest = Math.floor(rest / 32)) id = `${DIGITS[rest % 32]}${id}`;
  return id.padEnd(26, 'Z');
}
