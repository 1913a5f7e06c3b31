/** The gate (`core/src/gate`) as the shell sees it: native in Node, wasm elsewhere, one JSON for both. */

/** What happened outside the gate. */
export type Input =
  | {
      type: 'batch';
      batch: number;
      sandboxId: string;
      turnId?: string;
      flagEnabled: boolean;
      paused: boolean;
      hasDriver: boolean;
      readOnly?: boolean;
    }
  | { type: 'created'; attempt: number; checkpointId?: string; partial: boolean }
  | { type: 'failed'; attempt: number }
  | { type: 'paused'; attempt: number }
  | { type: 'cancelled'; batch: number }
  | { type: 'released'; sandboxId: string; turnId: string; batch?: number }
  | { type: 'uncovered'; sandboxId?: string }
  | { type: 'forgotten'; sandboxId: string }
  | { type: 'deleted'; sandboxId: string; checkpointId: string; turnId: string }
  | { type: 'options'; timeoutMs: number; prefix: string }
  | { type: 'tick' };

/** An attempt that the gate wants made. */
export interface Start {
  type: 'start';
  attempt: number;
  sandboxId: string;
  turnId: string;
  comment: string;
  late: boolean;
  /** By the time that the gate is told, in milliseconds. */
  deadline: number;
}

/** The gate's answer to one batch. */
export interface GateVerdict {
  type: 'verdict';
  batch: number;
  outcome: Outcome;
  protected: boolean;
  late: boolean;
  partial: boolean;
  reason: GateReason;
  checkpointId?: string;
  durationMs: number;
}

/** When the gate wants to be told the time. */
export interface Timeout {
  type: 'timeout';
  at: number;
  reason: 'batch_limit' | 'attempt_limit' | 'sweep';
}

/** What the gate wants done, in this order. */
export type Output =
  | Start
  | GateVerdict
  | { type: 'abort'; attempt: number }
  | { type: 'delete_late'; attempt: number; checkpointId: string }
  | Timeout
  | { type: 'idle' };

/** What became of a batch's checkpoint (G9). */
export type Outcome = 'created' | 'joined' | 'already_covered' | 'skipped' | 'failed' | 'timed_out';

/** Why, as the gate says it. */
export type GateReason =
  | 'new_turn'
  | 'earlier_batches_ran'
  | 'shared_attempt'
  | 'same_turn'
  | 'flag_off'
  | 'paused'
  | 'no_driver'
  | 'no_turn_id'
  | 'read_only'
  | 'cancelled'
  | 'driver_failed'
  | 'attempts_exhausted'
  | 'queued'
  | 'unfinished';

/** A gate, whichever build it comes from. Its methods throw when the input is refused; nothing changed then. */
export interface Gate {
  /** The JSON of an {@link Input} goes in, the JSON of an array of {@link Output}s comes out. */
  handle(input: string, nowMs: number): string;
  /**
   * The way of a batch whose turn is covered already, without JSON (W8). The answer's first character is `0` plus 1 if the
   * checkpoint is late plus 2 if it is partial; its id follows, if the gate remembers it. `undefined`: not covered, or
   * something is due first, or an id is none; nothing changed then.
   */
  passCovered(sandboxId: string, turnId: string, nowMs: number): string | undefined | null;
}

/** What a gate is opened with. */
export interface GateSettings {
  timeoutMs: number;
  prefix: string | undefined;
  /** 16 random bytes, so that nobody can make up ids that the gate takes for one another; none where there is no source. */
  digestKey: Uint8Array | undefined;
}
