import type { Outcome } from '../shell/index.js';
import type { PolicyKind } from './scenario.js';

/** What became of a scenario: what happened when, and what that comes to, under each policy. */
export interface Simulation {
  /** In the order of the policies, then of {@link TraceEvent} `atMs`. */
  trace: TraceEvent[];
  /** One for each policy, in their order. */
  summaries: Summary[];
}

export type TraceEvent = BatchEvent | AttemptEvent;

/** A batch asked, waited, and ran or was refused. */
export interface BatchEvent {
  type: 'batch';
  /** Which policy, as a place in {@link Scenario.policies}. */
  policy: number;
  /** Which batch, as a place in {@link Scenario.batches}. */
  batch: number;
  /** When it asked: its `startMs`, pushed back by what earlier batches of its sandbox waited. */
  atMs: number;
  /** From when on it ran; `null`: it was refused (`onFailure: 'block'`). */
  startMs: number | null;
  endMs: number | null;
  /** What became of its checkpoint. */
  outcome: Outcome;
  /**
   * Why. The words of the guard's verdicts, and those of the other policies: `new_batch` (every batch gets one), `interval_over` and
   * `within_interval` (interval), `other_turns_attempt` (shared across turns), `never`.
   */
  reason: string | null;
  /** Whether the policy believes that this batch can be taken back. A mistake may believe so in vain: see {@link lostTurns}. */
  protected: boolean;
  /** Earlier batches of the turn ran before the checkpoint was complete. */
  late: boolean;
  /** The attempt that it waited for or counts on, as {@link AttemptEvent.attempt}; `null`: none. */
  attempt: number | null;
  /** Rolled back here, its sandbox goes back to the checkpoint of this attempt; `null`: there is none to go back to. */
  returnsTo: number | null;
  /** How much work (running time of destructive batches) that would throw away besides the batch itself. */
  lostMs: number;
  /** Of how many earlier batches. */
  lostBatches: number;
  /** Of how many other turns. A batch whose turn is not known counts as a turn of its own. */
  lostTurns: number;
}

/** The driver was asked for a checkpoint. */
export interface AttemptEvent {
  type: 'attempt';
  /** Which policy, as a place in {@link Scenario.policies}. */
  policy: number;
  /** Its number: 1 for the policy's first. */
  attempt: number;
  sandbox: string;
  /** The turn that it is for; `null` where a policy made it for a batch whose turn is not known. */
  turn: string | null;
  /** When the driver was called. What it pictures is what the sandbox was then. */
  atMs: number;
  /** When the policy stopped waiting: the driver's answer, or the limit. */
  endMs: number;
  /** When the driver itself answered; `null`: never. */
  driverEndMs: number | null;
  outcome: 'succeeded' | 'failed' | 'timed_out';
  /** Earlier batches of the turn had run. */
  late: boolean;
  /** Whether its checkpoint is still there at the end. */
  kept: boolean;
}

/** What one policy comes to. */
export interface Summary {
  /** Which policy, as a place in {@link Scenario.policies}. */
  policy: number;
  name: string;
  kind: PolicyKind;
  /** Whether it is one of the mistakes. */
  mistake: boolean;
  /** All of the scenario's. */
  batches: number;
  /** Attempts that succeeded. */
  checkpoints: number;
  /** Attempts that the driver failed. */
  failures: number;
  /** Attempts that were given up because of the time. */
  timeouts: number;
  /** Batches that shared an attempt of another. */
  joined: number;
  /** Batches that counted on an earlier checkpoint. */
  alreadyCovered: number;
  /** Batches that were skipped, by reason. */
  skipped: Record<string, number>;
  /** Batches that did not run. */
  refused: number;
  /** Destructive batches that ran though the policy knew of no checkpoint for them. */
  unprotected: number;
  /** How long batches waited before they ran or were refused: over all batches, by nearest rank. */
  waiting: { totalMs: number; medianMs: number; p99Ms: number; maxMs: number };
  /** Checkpoints that are there at the end. */
  kept: number;
  /** What it would cost to roll a destructive batch back: over all that ran and have a checkpoint to go back to. */
  lost: {
    meanMs: number;
    p99Ms: number;
    maxMs: number;
    /** The most earlier batches that one rollback takes with it. */
    batches: number;
    /** Destructive batches whose rollback takes another turn's work with it. */
    acrossTurns: number;
    /** Destructive batches that ran with nothing to go back to. */
    nothing: number;
  };
}
