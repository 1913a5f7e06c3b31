// P3, P5: the scenarios of vectors/simulate, through the wasm build. core/tests/simulate_vectors.rs replays the same ones.
import { readdirSync, readFileSync } from 'node:fs';
import * as policy from 'turnback-policy';
import { type Scenario, type Summary, simulate, type TraceEvent } from 'turnback-policy/simulate';
import { describe, expect, it } from 'vitest';

interface Vector {
  about: string;
  cites: string[];
  scenario: Scenario;
  expect: { trace: unknown[][]; summary: Omit<Summary, 'policy' | 'batches'> }[];
}

const folder = new URL('../vectors/simulate/', import.meta.url);
const files = readdirSync(folder);
const read = (file: string): Vector => JSON.parse(readFileSync(new URL(file, folder), 'utf8'));

const BATCH = [
  'type',
  'batch',
  'atMs',
  'startMs',
  'endMs',
  'outcome',
  'reason',
  'protected',
  'late',
  'attempt',
  'returnsTo',
  'lostMs',
  'lostBatches',
  'lostTurns',
];
const ATTEMPT = ['type', 'attempt', 'sandbox', 'turn', 'atMs', 'endMs', 'driverEndMs', 'outcome', 'late', 'kept'];

/** What a row of a vector stands for. */
function eventOf(row: unknown[], policy: number): TraceEvent {
  const names = row[0] === 'batch' ? BATCH : ATTEMPT;
  expect(row).toHaveLength(names.length);
  return { policy, ...Object.fromEntries(names.map((name, at) => [name, row[at]])) } as unknown as TraceEvent;
}

it('P3: there are scenarios', () => {
  expect(files.length).toBeGreaterThanOrEqual(20);
});

describe('P3, P5: what a scenario comes to, worked out by hand', () => {
  it.each(files)('%s', (file) => {
    const vector = read(file);
    const { trace, summaries } = simulate(vector.scenario);
    expect(trace).toStrictEqual(vector.expect.flatMap(({ trace }, policy) => trace.map((row) => eventOf(row, policy))));
    const batches = vector.scenario.batches.length;
    expect(summaries).toStrictEqual(vector.expect.map(({ summary }, policy) => ({ policy, batches, ...summary })));
  });
});

it('it is a function of the main entry too', () => {
  expect(policy.simulate).toBe(simulate);
});
