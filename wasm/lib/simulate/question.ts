/** A scenario as numbers; wasm/src/simulate/question.rs reads them. */

import { CHECKPOINT_TIMEOUT_MS } from '../shell/options.js';
import type { DriverModel, Latency, Policy, Scenario, ScenarioBatch } from './scenario.js';

const KINDS: readonly Policy['kind'][] = [
  'per_turn',
  'every_batch',
  'interval',
  'last_turn_only',
  'shared_across_turns',
  'never',
];
const ENDS = ['succeeded', 'failed', 'stalled'] as const;

/** C16. */
const KEEP_LAST = 50;
const KEEP_WITHIN_MS = 7 * 24 * 60 * 60 * 1000;

/** How many numbers a policy has, and a batch. */
const POLICY = 7;
const BATCH = 7;

/** What one sandbox, turn or batch is to the other side is a number; here is what they were. */
export interface Question {
  /** A policy has to be put in before they are asked. */
  readonly numbers: Float64Array;
  readonly policyAt: number;
  readonly batches: number;
  readonly sandboxes: readonly string[];
  readonly turns: readonly string[];
}

/** Each text's number: how many there were before it. */
class Numbered {
  readonly texts: string[] = [];
  readonly #numbers = new Map<string, number>();

  of(text: string): number {
    let number = this.#numbers.get(text);
    if (number === undefined) {
      number = this.texts.push(text) - 1;
      this.#numbers.set(text, number);
    }
    return number;
  }
}

function latencyOf(latency: Latency): [kind: number, ...spans: number[]] {
  switch (latency.kind) {
    case 'fixed':
      return [0, latency.ms];
    case 'uniform':
      return [1, latency.minMs, latency.maxMs];
    case 'quantiles':
      return [2, latency.minMs ?? 0, latency.p50Ms, latency.p90Ms, latency.p99Ms, latency.maxMs];
    case 'samples':
      return [3, ...latency.ms];
  }
}

function driverOf({ seed = 0, driver = {} }: Scenario): number[] {
  const { latency = { kind: 'fixed', ms: 50 }, failureRate = 0, stallRate = 0, recorded = true }: DriverModel = driver;
  const [kind, ...spans] = latencyOf(latency);
  return [seed, failureRate, stallRate, Number(recorded), kind, spans.length, ...spans];
}

/** Everything but the policy. */
export function questionOf(scenario: Scenario): Question {
  const driver = driverOf(scenario);
  const { batches } = scenario;
  const policyAt = driver.length;
  const numbers = new Float64Array(policyAt + POLICY + batches.length * BATCH);
  numbers.set(driver);
  const sandboxes = new Numbered();
  const turns = new Numbered();
  let at = policyAt + POLICY;
  for (const { sandbox, turn, startMs, durationMs, kind, attempt } of batches as readonly ScenarioBatch[]) {
    numbers[at++] = sandboxes.of(sandbox);
    numbers[at++] = turn === null ? -1 : turns.of(turn);
    numbers[at++] = startMs;
    numbers[at++] = durationMs;
    numbers[at++] = Number(kind === 'read_only');
    numbers[at++] = attempt === undefined ? 0 : ENDS.indexOf(attempt.outcome) + 1;
    numbers[at++] = attempt?.ms ?? 0;
  }
  return { numbers, policyAt, batches: batches.length, sandboxes: sandboxes.texts, turns: turns.texts };
}

/** Puts a policy in. */
export function setPolicy({ numbers, policyAt }: Question, policy: Policy): void {
  const { kind, when, timeoutMs = CHECKPOINT_TIMEOUT_MS, onFailure, intervalMs = 0, retention = {} } = policy;
  numbers.set(
    [
      KINDS.indexOf(kind),
      intervalMs,
      Number(when === 'unless_read_only'),
      timeoutMs,
      Number(onFailure === 'block'),
      retention.keepLast ?? KEEP_LAST,
      retention.keepWithinMs ?? KEEP_WITHIN_MS,
    ],
    policyAt,
  );
}

/** The sandbox and turn of a batch. */
export function placeOf({ numbers, policyAt, sandboxes, turns }: Question, batch: number) {
  const at = policyAt + POLICY + batch * BATCH;
  const turn = numbers[at + 1] as number;
  return { sandbox: sandboxes[numbers[at] as number] as string, turn: turn < 0 ? null : (turns[turn] as string) };
}

/** How long a batch runs. */
export function durationOf({ numbers, policyAt }: Question, batch: number): number {
  return numbers[policyAt + POLICY + batch * BATCH + 3] as number;
}
