/**
 * What {@link simulate} replays: a timeline of batches, a driver that behaves as it is told, and the policies to compare (P3). As
 * JSON this is version 1 of the scenario format; fields that it does not have are refused by name.
 *
 * Every time is a whole number of milliseconds from 0 to 2^53 - 1.
 */
export interface Scenario {
  version: 1;
  /** What people call it. */
  name?: string;
  /** What it shows. */
  description?: string;
  /** The driver's luck: 0 to 2^32 - 1; 0 by default. The same seed gives the same luck on every machine. */
  seed?: number;
  /** How the driver behaves. By default it takes 50 ms and never fails. */
  driver?: DriverModel;
  /** What to compare: 1 to 100 of them. By default the one that the product has, `per_turn`. */
  policies?: Policy[];
  /** At most 1,000,000, in any order. */
  batches: ScenarioBatch[];
}

/** One tool call that was about to run. */
export interface ScenarioBatch {
  /** The sandbox that it works in: a text that is not empty. */
  sandbox: string;
  /** The turn that it belongs to: a text that is not empty, or `null` where nobody knows it. */
  turn: string | null;
  /** When the agent would begin it if nothing ever waited. */
  startMs: number;
  /** How long it runs. */
  durationMs: number;
  /** Whether it is proven to change nothing. */
  kind: 'read_only' | 'destructive';
  /** The tool or command: shown, and nothing else. */
  tool?: string;
  /** What the real driver did when this batch led an attempt; see {@link DriverModel.recorded}. */
  attempt?: RecordedAttempt;
}

/** One attempt of a real driver. */
export interface RecordedAttempt {
  /** From the call to the answer; for `stalled` to the moment when nobody waited any more. */
  ms: number;
  /** `stalled`: it never answered. */
  outcome: 'succeeded' | 'failed' | 'stalled';
}

/** How the driver behaves. */
export interface DriverModel {
  /** How long an attempt takes, also one that fails. By default 50 ms. */
  latency?: Latency;
  /** How many of all attempts fail: 0 to 1, 0 by default. */
  failureRate?: number;
  /** How many of all attempts are never answered: 0 to 1, 0 by default; of those that do not fail if both together are over 1. */
  stallRate?: number;
  /**
   * Whether an attempt that is led by a batch with an {@link ScenarioBatch.attempt} goes as that was recorded: `true` by default. All
   * others go by this model.
   */
  recorded?: boolean;
}

/** How long attempts take. */
export type Latency =
  /** All the same. */
  | { kind: 'fixed'; ms: number }
  /** Every whole number of milliseconds from one bound to the other with equal chances. */
  | { kind: 'uniform'; minMs: number; maxMs: number }
  /** Half of them at most `p50Ms`, and so on; straight lines between. `minMs` is 0 by default. */
  | { kind: 'quantiles'; p50Ms: number; p90Ms: number; p99Ms: number; maxMs: number; minMs?: number }
  /** One of these, each with equal chances: 1 to 100,000 of them. */
  | { kind: 'samples'; ms: number[] };

/**
 * When to checkpoint:
 *
 * - `per_turn`: once a turn, as this product does it: the guard's own rules, not a model of them;
 * - `every_batch`: before each batch;
 * - `never`;
 *
 * and three mistakes that others made, as models to compare with:
 *
 * - `interval`: not again within `intervalMs` of the last checkpoint, whatever turn it was made for;
 * - `last_turn_only`: only the last turn is remembered, so that turns that interleave are pictured again and again;
 * - `shared_across_turns`: a batch of another turn joins the attempt under way and counts as covered by it.
 */
export type PolicyKind = 'per_turn' | 'every_batch' | 'interval' | 'last_turn_only' | 'shared_across_turns' | 'never';

/** One policy to replay the scenario under. */
export interface Policy {
  /** What people call it. By default made from the rest. */
  name?: string;
  kind: PolicyKind;
  /** Whether batches that are proven to change nothing need a checkpoint too: `always` by default (G14). */
  when?: 'always' | 'unless_read_only';
  /** How long a batch waits at most, queueing included: 10,000 ms by default (G5). */
  timeoutMs?: number;
  /** What happens to a batch whose checkpoint failed or ran out of time: it runs (`proceed`, the default), or it does not (`block`). */
  onFailure?: 'proceed' | 'block';
  /** For `interval`, and only there: how long after the last checkpoint no other is made. */
  intervalMs?: number;
  /** Which checkpoints are still there at the end. */
  retention?: Retention;
}

/** Which checkpoints stay. One that is not among the last of its sandbox goes, and so does one that is too old; the newest stays (C16). */
export interface Retention {
  /** How many of each sandbox: 50 by default. */
  keepLast?: number;
  /** How old they may become: 7 days by default. */
  keepWithinMs?: number;
}
