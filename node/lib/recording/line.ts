/**
 * One line of a recording: a batch as `turnback-policy/simulate` takes it. Written down here, so that this package builds without that
 * one; a test holds the two together.
 */
export interface RecordedBatch {
  /** The sandbox that it worked in. */
  sandbox: string;
  /** The turn that it belonged to, or `null` where nobody knew it. */
  turn: string | null;
  /** When it would have asked if nothing had ever waited, in milliseconds since the recording began. */
  startMs: number;
  /** How long it ran, in milliseconds. */
  durationMs: number;
  /** Whether it was proven to change nothing. */
  kind: 'read_only' | 'destructive';
  /** What the driver did when this batch led an attempt, or shared one. */
  attempt?: RecordedAttempt;
}

/** What a driver did. */
export interface RecordedAttempt {
  /** From the call to the answer, in milliseconds; for `stalled` to the moment when nobody waited any more. */
  ms: number;
  /** `stalled`: it never answered. */
  outcome: 'succeeded' | 'failed' | 'stalled';
}
