/** What a hook does before one call of a tool: the guard's rules (G1, G4–G6), for processes that live for one call. */

import { localDriver } from '../../drivers/local.js';
import { createGuard, type Verdict } from '../../guard/index.js';
import type { Logger } from '../../log.js';
import type { CheckpointManager } from '../../manager.js';
import { resolveFlag } from '../../policy.js';
import { type Opened, openInTime } from '../opening.js';
import { alone } from './lock.js';
import { type Known, Notes } from './notes.js';

/** One call that may change something. */
export interface Call {
  /** Absolute and canonical. */
  directory: string;
  turnId: string;
  /** The store that the command line names. */
  storeName: string;
  store: () => Promise<CheckpointManager>;
  logger: Logger;
  /** Fires when somebody interrupts. */
  interrupted: AbortSignal;
  /** Fires then, and when the time is over. */
  signal: AbortSignal;
  /** What is left of the time, in milliseconds, as of now. */
  leftMs: () => number;
  /** Whether whoever started this process is still there: if not, the call may be running. */
  isAwaited: () => boolean;
}

/** What became of the call's checkpoint, in the guard's words. */
export interface Answer {
  outcome: Verdict['outcome'];
  protected: boolean;
  reason: string;
  late?: boolean;
  partial?: boolean;
  checkpointId?: string;
}

/** How many attempts a turn has (G6). */
const MOST_ATTEMPTS = 3;

/**
 * Makes the turn's checkpoint if it has none. Calls of one turn wait for one another, so that parallel ones share one; `opened` hears of
 * the store, which the caller closes.
 */
export async function beforeCall(call: Call, opened: (store: Opened) => void): Promise<Answer> {
  const notes = new Notes(call.logger, call.storeName, call.directory, call.turnId);
  // Not by the guard, which is many files to load: most calls are covered and need none of it.
  const flag = resolveFlag(process.env);
  if (flag.warning !== undefined) call.logger.warn({ variable: 'SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH' }, flag.warning);
  if (!flag.enabled) {
    const known = notes.read();
    if (!known.ran) notes.write({ ...known, ran: true });
    return skipped('flag_off');
  }
  const answer = await alone(notes.name, call, async (isAlone) => {
    const noted = notes.read();
    // Another call may have begun since.
    const known = isAlone ? noted : { ...noted, ran: true };
    const standing = Notes.standing(known);
    if (standing !== undefined) return covered(standing);
    if (known.attempts >= MOST_ATTEMPTS) return failed('attempts_exhausted');
    return await attempt(call, notes, known, opened);
  });
  return answer === 'late' ? { outcome: 'timed_out', protected: false, reason: 'queued' } : answer;
}

async function attempt(call: Call, notes: Notes, known: Known, opened: (store: Opened) => void): Promise<Answer> {
  // Before it is begun: whatever ends this process, the call may run without it.
  const noted = notes.write({ ran: true, attempts: known.attempts + 1 });
  const store = await openInTime(call.store, call.directory, call.interrupted, call.leftMs());
  opened(store);
  if ('reason' in store) return failed(store.reason);
  const verdict = await checkpoint(call, store, known.ran || !noted);
  const { outcome, reason, late, partial, checkpointId } = verdict;
  if (verdict.protected && checkpointId !== undefined) {
    if (!call.isAwaited()) {
      await store.manager.deleteCheckpoint(checkpointId);
      return failed('nobody waits for the answer any more');
    }
    const path = (await store.manager.getCheckpoint(checkpointId))?.snapshotPath;
    if (path === undefined) return failed('the checkpoint was deleted at once');
    notes.write({ ran: true, attempts: 0, checkpoint: { id: checkpointId, path, late } });
    return { outcome, protected: true, reason, late, partial, checkpointId };
  }
  // That is no failure.
  if (reason === 'paused') notes.write({ ran: true, attempts: known.attempts });
  return { outcome, protected: false, reason };
}

/** A guard for this one call. If others of the turn ran unprotected, it is told of one, so that the checkpoint is called late (G6). */
async function checkpoint(
  { directory, turnId, logger, interrupted, leftMs }: Call,
  { manager, sandboxId }: Extract<Opened, { manager: unknown }>,
  ran: boolean,
): Promise<Verdict> {
  let enabled = !ran;
  const guard = createGuard({
    driver: localDriver(manager, directory),
    timeoutMs: Math.max(1, Math.round(leftMs())),
    enabled: () => enabled,
    logger,
  });
  if (ran) await guard.beforeBatch({ sandboxId, turnId });
  enabled = true;
  return await guard.beforeBatch({ sandboxId, turnId, signal: interrupted });
}

const skipped = (reason: string): Answer => ({ outcome: 'skipped', protected: false, reason });
const failed = (reason: string): Answer => ({ outcome: 'failed', protected: false, reason });

function covered({ id, late }: NonNullable<Known['checkpoint']>): Answer {
  return { outcome: 'already_covered', protected: true, reason: 'same_turn', late, checkpointId: id };
}
