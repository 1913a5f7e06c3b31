// P2, issue 7: nothing that can be passed makes an export panic. Whatever is no argument is refused with INVALID_ARGUMENT; a trap would
// be POISONED, and an exception of the glue would have no code.
import * as main from 'turnback-policy';
import { checkScenario, type Scenario, simulate } from 'turnback-policy/simulate';
import { describe, expect, it } from 'vitest';
import { policy } from '../../wasm/dist/loader.js';
import { questionOf, setPolicy } from '../../wasm/dist/simulate/question.js';

const SEED = Number(process.env.FUZZ_SEED ?? 20_261);
const ROUNDS = Number(process.env.FUZZ_ROUNDS ?? 400);

/** Mulberry32: numbers from 0 to 1 that follow from a seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const ODD_NUMBERS = [0, -0, 1, -1, 0.5, 2, 3, 99, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, 1e300, -1e300, Number.NaN];
const ODD_TEXTS = [
  '',
  'a',
  '\0',
  '\ud800',
  '\u202e',
  '%',
  'x'.repeat(100_000),
  '[object Object]',
  '{"type":"tick"}',
  '🚀',
];
const ODD = [
  ...ODD_NUMBERS,
  ...ODD_TEXTS,
  Number.POSITIVE_INFINITY,
  undefined,
  null,
  true,
  [],
  {},
  [1],
  1n,
  Symbol('s'),
  () => 1,
  new Date(Number.NaN),
  new Float64Array(3),
  Object.create(null),
  new Proxy(
    {},
    {
      get: () => {
        throw new Error('no');
      },
    },
  ),
  new Proxy(
    {},
    {
      ownKeys: () => {
        throw new Error('no');
      },
    },
  ),
  {
    toString: () => {
      throw new Error('no');
    },
    valueOf: () => {
      throw new Error('no');
    },
  },
];

/** What a call comes to: `refused`, or what it gave. Anything else that it throws fails the test. */
function outcome<T>(call: () => T): T | 'refused' {
  try {
    return call();
  } catch (error) {
    if ((error as { code?: unknown })?.code === 'INVALID_ARGUMENT') return 'refused';
    throw error;
  }
}

const random = randomOf(SEED);
const below = (most: number) => Math.floor(random() * most);
const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T;

/** A small scenario with much in it. */
function scenario(): Scenario {
  const ms = () => pick([0, 1, 10, 50, 100, 1000, below(500), 2 ** 53 - 1]);
  return {
    version: 1,
    seed: below(2 ** 32),
    driver: {
      latency: pick([
        { kind: 'fixed', ms: ms() },
        { kind: 'uniform', minMs: 1, maxMs: 2 ** 53 - 1 },
        { kind: 'quantiles', p50Ms: 10, p90Ms: 100, p99Ms: 1000, maxMs: 2 ** 53 - 1 },
        { kind: 'samples', ms: [1, ms()] },
      ]),
      failureRate: pick([0, 0.3, 1]),
      stallRate: pick([0, 0.3, 1]),
    },
    policies: [
      {
        kind: pick(['per_turn', 'every_batch', 'last_turn_only', 'shared_across_turns', 'never'] as const),
        when: pick(['always', 'unless_read_only'] as const),
        timeoutMs: pick([1, 100, 10_000, 2 ** 31 - 1]),
        onFailure: pick(['proceed', 'block'] as const),
        retention: { keepLast: below(3), keepWithinMs: ms() },
      },
      { kind: 'interval', intervalMs: ms() },
    ],
    batches: Array.from({ length: below(12) }, () => ({
      sandbox: pick(['s', '\ud800', 'x'.repeat(300)]),
      turn: pick(['a', 'b', '\0', null]),
      startMs: ms(),
      durationMs: ms(),
      kind: pick(['read_only', 'destructive'] as const),
      ...(random() < 0.3 ? { attempt: { ms: ms(), outcome: pick(['succeeded', 'failed', 'stalled'] as const) } } : {}),
    })),
  };
}

/** Every object and array in a value. */
function* parts(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return;
  yield value as Record<string, unknown>;
  for (const part of Object.values(value)) yield* parts(part);
}

describe(`seed ${SEED}`, () => {
  it('scenarios at the edge of what is allowed come to something that adds up', () => {
    for (let round = 0; round < ROUNDS; round++) {
      const given = scenario();
      const { trace, summaries } = simulate(given);
      expect(summaries).toHaveLength(2);
      expect(trace.filter((event) => event.type === 'batch')).toHaveLength(2 * given.batches.length);
      for (const event of trace) {
        for (const value of Object.values(event)) {
          if (typeof value === 'number') expect(Number.isSafeInteger(value), JSON.stringify(event)).toBe(true);
        }
      }
    }
  });

  it('scenarios with anything in any place are simulated or refused', () => {
    let refused = 0;
    for (let round = 0; round < ROUNDS * 3; round++) {
      const given = scenario();
      const part = pick([...parts(given)]);
      const key = random() < 0.2 ? 'anything' : pick([...Object.keys(part), 'name']);
      part[key] = pick(ODD);
      const checked = outcome(() => checkScenario(given));
      const simulated = outcome(() => simulate(given));
      expect(simulated === 'refused').toBe(checked === 'refused');
      if (checked === 'refused') refused++;
    }
    expect(refused).toBeGreaterThan(ROUNDS);
    for (const odd of ODD) expect(outcome(() => simulate(odd as Scenario))).toBe('refused');
  });

  it("the simulation's numbers, damaged in any way, are read or refused", () => {
    let refused = 0;
    for (let round = 0; round < ROUNDS * 3; round++) {
      const given = scenario();
      const question = questionOf(given);
      setPolicy(question, given.policies?.[0] ?? { kind: 'per_turn' });
      let { numbers } = question;
      for (let damage = below(4); damage > 0; damage--) {
        numbers[below(numbers.length)] = random() < 0.5 ? pick(ODD_NUMBERS) : random() * 2 ** below(64);
      }
      if (random() < 0.3) numbers = numbers.slice(0, below(numbers.length + 1));
      if (random() < 0.1) numbers = Float64Array.from({ length: below(40) }, () => pick(ODD_NUMBERS));
      const answer = outcome(() => policy().simulate(numbers));
      if (answer === 'refused') refused++;
      else expect(answer).toBeInstanceOf(Float64Array);
    }
    expect(refused).toBeGreaterThan(ROUNDS);
  });

  it('every other export answers or refuses, whatever it is given', () => {
    const exports: [string, (...args: never[]) => unknown][] = [
      ['shouldCheckpoint', main.shouldCheckpoint],
      ['checkpointComment', main.checkpointComment],
      ['parseCheckpointComment', main.parseCheckpointComment],
      ['resolveFlag', main.resolveFlag],
      ['isLegalTransition', main.isLegalTransition],
      ['allowedTransitions', main.allowedTransitions],
      ['createGuard', main.createGuard],
      ['turnIdOf', main.turnIdOf],
    ];
    for (let round = 0; round < ROUNDS * 3; round++) {
      const [, call] = pick(exports);
      const field = pick(['turnId', 'flagEnabled', 'lastCheckpointTurnId', 'NODE_ENV', 'prefix', 'driver']);
      const state = { flagEnabled: true, turnId: pick(ODD), lastCheckpointTurnId: pick(ODD), [field]: pick(ODD) };
      const first = random() < 0.5 ? pick(ODD) : state;
      try {
        outcome(() => (call as (...args: unknown[]) => unknown)(first, pick(ODD)));
      } catch (error) {
        // What a caller's own getters throw is the caller's.
        expect((error as Error).message).toBe('no');
      }
    }
    expect(main.shouldCheckpoint({ flagEnabled: true, turnId: 't', lastCheckpointTurnId: null })).toBe(true);
  });

  it('the gate answers or refuses, whatever it is told', () => {
    const { Gate } = policy();
    const gate = new Gate();
    const events = [
      'batch',
      'created',
      'failed',
      'paused',
      'cancelled',
      'released',
      'forgotten',
      'deleted',
      'options',
      'tick',
    ];
    for (let round = 0; round < ROUNDS * 5; round++) {
      const ids = () => pick<unknown>(['s', 't', 1, 2, 3, ...ODD_TEXTS, ...ODD_NUMBERS]);
      const input = JSON.stringify({
        type: pick([...events, 'anything']),
        batch: ids(),
        sandboxId: pick<unknown>(['s', ids()]),
        turnId: pick<unknown>(['t', ids()]),
        ...(random() < 0.3 ? { attempt: ids(), checkpointId: ids(), partial: ids(), timeoutMs: ids() } : {}),
      });
      const damaged = random() < 0.2 ? input.slice(below(input.length)) : input;
      outcome(() => gate.handle(damaged, pick([round, ...ODD_NUMBERS])));
      outcome(() => gate.passCovered('s', 't', pick(ODD_NUMBERS)));
    }
    expect(policy().Gate).toBe(Gate);
  });
});
