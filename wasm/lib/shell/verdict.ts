import type { GateReason, GateVerdict, Outcome } from './gate.js';

/**
 * Why a verdict is what it is. Those of the gate, and two of the shell's own: `invalid_batch`, what was asked for cannot be
 * a batch, and `guard_failed`, the guard itself broke.
 */
export type Reason = GateReason | 'invalid_batch' | 'guard_failed';

/** What the guard says about a batch (G9). Frozen. */
export interface Verdict {
  /** What became of the batch's checkpoint. */
  readonly outcome: Outcome;
  /** Whether a checkpoint of this turn is complete that was made before any of its batches ran, or is marked {@link late}. */
  readonly protected: boolean;
  /** Earlier batches of the turn may have run before the checkpoint (G6). */
  readonly late: boolean;
  /** Some files are not in the checkpoint. */
  readonly partial: boolean;
  readonly reason: Reason;
  /** What the driver calls the checkpoint, if it said so and the guard still remembers it. */
  readonly checkpointId?: string;
  /** From the call to this answer, in milliseconds. */
  readonly durationMs: number;
}

/** The gate's answer, as callers see it. */
export function verdictOf(answer: GateVerdict): Verdict {
  const { outcome, protected: covered, late, partial, reason, checkpointId, durationMs } = answer;
  const id = checkpointId === undefined ? {} : { checkpointId };
  return Object.freeze({ outcome, protected: covered, late, partial, reason, ...id, durationMs });
}

/** The verdict of a batch that got no checkpoint. */
export function unprotected(outcome: 'skipped' | 'failed', reason: Reason): Verdict {
  return Object.freeze({ outcome, protected: false, late: false, partial: false, reason, durationMs: 0 });
}

/** Whether this is a batch that should have had a checkpoint: nobody decided that it needs none. */
export function needsCheckpoint({ outcome, reason, protected: covered }: Verdict): boolean {
  return !covered && (outcome === 'failed' || outcome === 'timed_out' || reason === 'cancelled');
}

const ZERO = '0'.charCodeAt(0);

/** The verdict that an answer of `Gate.passCovered` stands for. */
export function coveredVerdict(answer: string): Verdict {
  const flags = answer.charCodeAt(0) - ZERO;
  const id = answer.length === 1 ? {} : { checkpointId: answer.slice(1) };
  return Object.freeze({
    outcome: 'already_covered',
    protected: true,
    late: (flags & 1) !== 0,
    partial: (flags & 2) !== 0,
    reason: 'same_turn',
    ...id,
    durationMs: 0,
  });
}
