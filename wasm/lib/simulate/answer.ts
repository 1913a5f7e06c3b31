/** From numbers to what a scenario came to; wasm/src/simulate/answer.rs writes them. */

import type { GateReason, Outcome } from '../shell/index.js';
import { policyName } from './names.js';
import { durationOf, placeOf, type Question } from './question.js';
import type { Policy } from './scenario.js';
import type { AttemptEvent, BatchEvent, Summary, TraceEvent } from './simulation.js';

const OUTCOMES: readonly Outcome[] = ['created', 'joined', 'already_covered', 'skipped', 'failed', 'timed_out'];

const GATE_REASONS: readonly GateReason[] = [
  'new_turn',
  'earlier_batches_ran',
  'shared_attempt',
  'same_turn',
  'flag_off',
  'paused',
  'no_driver',
  'no_turn_id',
  'read_only',
  'cancelled',
  'driver_failed',
  'attempts_exhausted',
  'queued',
  'unfinished',
];
const REASONS: readonly string[] = [
  ...GATE_REASONS,
  'new_batch',
  'interval_over',
  'within_interval',
  'other_turns_attempt',
  'never',
];

const ATTEMPT_OUTCOMES = ['succeeded', 'failed', 'timed_out'] as const;
const MISTAKES: readonly Policy['kind'][] = ['interval', 'last_turn_only', 'shared_across_turns'];

/** How many numbers a batch has. */
const BATCH = 11;

/** Reads numbers, one after the other. */
class Reader {
  at = 0;

  constructor(readonly numbers: Float64Array) {}

  next(): number {
    return this.numbers[this.at++] as number;
  }

  /** A word of a list. */
  word<T>(words: readonly T[]): T {
    return words[this.next()] as T;
  }

  /** 0 stands for none. */
  attempt(): number | null {
    return this.next() || null;
  }
}

/** Adds a policy's trace, and gives its summary. */
export function readAnswer(
  numbers: Float64Array,
  question: Question,
  policy: number,
  rules: Policy,
  trace: TraceEvent[],
): Summary {
  const reader = new Reader(numbers);
  const summary = readSummary(reader, policy, rules, question.batches);
  const batches = reader.next();
  const attempts = reader.next();
  const later = new Reader(numbers);
  later.at = reader.at + batches * BATCH;
  let attempt = 0;
  const attemptsUntil = (atMs: number) => {
    for (; attempt < attempts && (numbers[later.at + 1] as number) < atMs; attempt++) {
      trace.push(readAttempt(later, question, policy, attempt + 1));
    }
  };
  for (let batch = 0; batch < batches; batch++) {
    attemptsUntil(numbers[reader.at + 1] as number);
    trace.push(readBatch(reader, question, policy));
  }
  attemptsUntil(Number.POSITIVE_INFINITY);
  return summary;
}

function readSummary(reader: Reader, policy: number, rules: Policy, batches: number): Summary {
  const { kind } = rules;
  const [checkpoints, failures, timeouts, joined, alreadyCovered, refused, unprotected, kept] = take(reader, 8);
  const [totalMs, medianMs, p99Ms, maxMs] = take(reader, 4);
  const [meanMs, lostP99Ms, lostMaxMs, lostBatches, acrossTurns, nothing] = take(reader, 6);
  const skipped: Record<string, number> = {};
  for (let reasons = reader.next(); reasons > 0; reasons--) skipped[reader.word(REASONS)] = reader.next();
  return {
    policy,
    name: policyName(rules),
    kind,
    mistake: MISTAKES.includes(kind),
    batches,
    checkpoints,
    failures,
    timeouts,
    joined,
    alreadyCovered,
    skipped,
    refused,
    unprotected,
    waiting: { totalMs, medianMs, p99Ms, maxMs },
    kept,
    lost: { meanMs, p99Ms: lostP99Ms, maxMs: lostMaxMs, batches: lostBatches, acrossTurns, nothing },
  };
}

type Eight = [number, number, number, number, number, number, number, number];

/** At most eight numbers. */
function take(reader: Reader, count: number): Eight {
  return Array.from({ length: count }, () => reader.next()) as Eight;
}

function readBatch(reader: Reader, question: Question, policy: number): BatchEvent {
  const batch = reader.next();
  const atMs = reader.next();
  const answeredMs = Math.min(atMs + reader.next(), Number.MAX_SAFE_INTEGER);
  const flags = reader.next();
  const ran = (flags & 1) !== 0;
  const reason = reader.word(REASONS);
  const outcome = reader.word(OUTCOMES);
  return {
    type: 'batch',
    policy,
    batch,
    atMs,
    startMs: ran ? answeredMs : null,
    endMs: ran ? Math.min(answeredMs + durationOf(question, batch), Number.MAX_SAFE_INTEGER) : null,
    outcome,
    reason,
    protected: (flags & 2) !== 0,
    late: (flags & 4) !== 0,
    attempt: reader.attempt(),
    returnsTo: reader.attempt(),
    lostMs: reader.next(),
    lostBatches: reader.next(),
    lostTurns: reader.next(),
  };
}

function readAttempt(reader: Reader, question: Question, policy: number, attempt: number): AttemptEvent {
  const { sandbox, turn } = placeOf(question, reader.next());
  const atMs = reader.next();
  const endMs = reader.next();
  const driverEndMs = reader.next();
  const outcome = reader.word(ATTEMPT_OUTCOMES);
  const flags = reader.next();
  return {
    type: 'attempt',
    policy,
    attempt,
    sandbox,
    turn,
    atMs,
    endMs,
    driverEndMs: driverEndMs < 0 ? null : driverEndMs,
    outcome,
    late: (flags & 1) !== 0,
    kept: (flags & 2) !== 0,
  };
}
