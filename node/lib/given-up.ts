/** What a call that was given up has to say of its work (C8, C12): how far it came, by itself or by its ticket. */
import type { Ticket } from './native.js';

/** What is known of the work, as it stands in the details of the error. */
export interface Known {
  /** A journal is there, by which the next call that writes to the workspace goes on. */
  readonly pending?: unknown;
  /** Something was written to the workspace. */
  readonly begun?: unknown;
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
  const told = recovered === undefined ? {} : { recovered };
  if ((writes === undefined || writes === 'sandbox') && !pending) return told;
  const finished = step === 'done' || (writes === 'resume' && recovered !== undefined);
  return {
    ...told,
    // What was interrupted may wait where it was not looked at yet.
    ...(writes === 'resume' && !pending && !finished ? {} : { pending }),
    begun: finished || (step !== 'nothing' && step !== 'journal'),
    ...(finished ? { finished } : {}),
    ...(undoCheckpointId === undefined ? {} : { undoCheckpointId }),
  };
}

const ENDED_FIRST = 'save that a restore which had been interrupted was ended first';

const REST =
  'what it did so far stays, and the next call that writes to the workspace finishes it: run it again, or `turnback recover` (recover(), abandon())';

/** What became of a restore. */
export function afterRestore({ pending, begun, finished, recovered }: Known): string {
  // Nobody has said yet.
  if (pending === undefined && begun === undefined) return `if it had begun to write, ${REST}`;
  if (finished === true) return 'it had been carried out to its end';
  if (begun === true && pending === true) return REST;
  if (begun === true) return 'what it did so far stays, and there was no room for a journal: run it again';
  if (pending === true)
    return 'nothing was written yet, but its journal is there until the disk answers: if the process ends before that, the next call that writes to the workspace carries it out, unless `turnback recover --abandon` (abandon()) gives it up';
  return recovered === undefined ? 'nothing was changed' : `nothing was changed, ${ENDED_FIRST}`;
}

/** What became of a call that was to end an interrupted restore. */
export function afterResume(known: Known): string {
  const untouched = known.pending !== true && known.begun !== true;
  return untouched ? 'nothing was changed: what was interrupted waits on' : afterRestore(known);
}

/** What became of a checkpoint that was being taken. */
export function afterCheckpoint({ pending, recovered }: Known): string {
  if (pending === true)
    return 'nothing of it is left behind, but the restore that had been interrupted, which it was finishing, waits on: `turnback recover` (recover(), abandon())';
  return recovered === undefined ? 'nothing is left behind' : `nothing is left behind, ${ENDED_FIRST}`;
}
