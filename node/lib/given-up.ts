/** What a call that was given up has to say of its work (C8, C12): how far it came, by itself or by its ticket. */
import type { Ticket } from './native.js';

/** What is known of the work, as it stands in the details of the error. */
export interface Known {
  /** A journal is there, by which the next call that writes to the workspace goes on. */
  readonly pending?: unknown;
  /** Something was written to the workspace. */
  readonly begun?: unknown;
  /** An interrupted restore was being ended without carrying it out when nobody waited any more: it may have ended by now. */
  readonly mayBeEnded?: unknown;
  /** It was carried out to its end. */
  readonly finished?: unknown;
  /** The checkpoint that brings back the state before. */
  readonly undoCheckpointId?: unknown;
  /** How an interrupted restore ended that was in the way. */
  readonly recovered?: unknown;
}

/** What a call does to a workspace: it begins a restore, ends one that was interrupted, or is one of a sandbox, which does more than that. */
export type Writes = 'restore' | 'resume' | 'sandbox';

/**
 * How far a call has come that hangs: the engine goes no further. Of calls that restore nothing it is only told that an interrupted
 * restore, which they finish first, waits on or has ended.
 */
export function knownBy(ticket: Ticket, writes: Writes | undefined): Known {
  const { step, undoCheckpointId, recovered } = ticket.giveUp();
  const pending = step === 'journal' || step === 'begun';
  const mayBeEnded = step === 'ending';
  const told = { ...(recovered === undefined ? {} : { recovered }), ...(mayBeEnded ? { mayBeEnded } : {}) };
  if ((writes === undefined || writes === 'sandbox') && !pending) return told;
  const finished = step === 'done' || (writes === 'resume' && recovered !== undefined);
  const begun = finished || step === 'begun' || step === 'begun_without_journal';
  return {
    ...told,
    // What was interrupted may wait where it was not looked at yet.
    ...((writes === 'resume' && !pending && !finished) || mayBeEnded ? {} : { pending }),
    begun,
    ...(finished ? { finished } : {}),
    ...(undoCheckpointId === undefined || !(begun || pending) ? {} : { undoCheckpointId }),
  };
}

/** What became of an interrupted restore that was in the way. */
function before({ recovered, mayBeEnded }: Known): string {
  if (mayBeEnded === true) return ', save that a damaged journal which was in the way may be set aside by now';
  return recovered === undefined ? '' : ', save that a restore which had been interrupted was ended first';
}

const DONE =
  'it had been carried out to its end: where its journal is still there, the disk has not answered yet, and whoever takes it up finds nothing to do';

const REST =
  'what it did so far stays, and the next call that writes to the workspace finishes it: run it again, or `turnback recover` (recover(), abandon())';

/** What became of a restore. */
export function afterRestore(known: Known): string {
  const { pending, begun, finished } = known;
  // Nobody has said yet.
  if (pending === undefined && begun === undefined) return `if it had begun to write, ${REST}`;
  if (finished === true) return DONE;
  if (begun === true && pending === true) return REST;
  if (begun === true) return 'what it did so far stays, and there was no room for a journal: run it again';
  if (pending === true)
    return 'nothing was written yet, but its journal is there until the disk answers: if the process ends before that, the next call that writes to the workspace carries it out, unless `turnback recover --abandon` (abandon()) gives it up';
  return `nothing was changed${before(known)}`;
}

/** What became of a call that was to end an interrupted restore. */
export function afterResume(known: Known): string {
  const { begun, finished, recovered, mayBeEnded } = known;
  if (mayBeEnded === true)
    return 'what was interrupted may have been given up by now: `turnback recover` (pending()) says whether it still waits';
  if (finished === true && recovered !== 'finished') return `what was interrupted had been given up (${recovered})`;
  return begun === true ? afterRestore(known) : 'nothing was changed: what was interrupted waits on';
}

/** What became of a checkpoint that was being taken. */
export function afterCheckpoint(known: Known): string {
  if (known.pending === true)
    return 'nothing of it is left behind, but the restore that had been interrupted, which it was finishing, waits on: `turnback recover` (recover(), abandon())';
  return `nothing is left behind${before(known)}`;
}
