import type { Scenario, ScenarioBatch } from 'turnback-policy/simulate';
import { Random } from './random.js';

/** Two runs that work in one sandbox at the same time: their batches come A, B, A, B. */
export function interleaved(): Scenario {
  const random = new Random(2);
  const batches: ScenarioBatch[] = [];
  let now = 1_000;
  for (let pair = 1; pair <= 4; pair++) {
    for (let step = 0; step < 10; step++) {
      const run = step % 2 === 0 ? 'ana' : 'ben';
      batches.push({
        sandbox: 'shared',
        turn: `${run}-${pair}`,
        startMs: now,
        durationMs: random.between(1_200, 3_200),
        kind: random.chance(0.2) ? 'read_only' : 'destructive',
        tool: random.pick(['Edit', 'Write', 'Bash']),
      });
      // The two begin close together, so that one finds the other's attempt under way.
      now += step % 2 === 0 ? random.between(200, 600) : random.between(2_400, 4_200);
    }
    now += random.between(3_000, 6_000);
  }
  return {
    version: 1,
    name: 'Interleaved turns',
    description: 'Two runs, ana and ben, share a sandbox; their batches take turns.',
    driver: { latency: { kind: 'uniform', minMs: 900, maxMs: 1_800 } },
    policies: [{ kind: 'per_turn' }, { kind: 'last_turn_only' }, { kind: 'shared_across_turns' }],
    batches,
  };
}
