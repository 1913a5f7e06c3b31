import type { Scenario, ScenarioBatch } from 'turnback-policy/simulate';
import { Random } from './random.js';
import { someCall } from './tools.js';

/** Three agents that work from ten in the evening to six in the morning: 2,000 turns. */
export function night(): Scenario {
  const random = new Random(2_000);
  const batches: ScenarioBatch[] = [];
  const clocks = { api: 0, web: 0, infra: 0 };
  for (let turn = 1; turn <= 2_000; turn++) {
    // Whoever is ready first has the next turn.
    const [sandbox] = (Object.keys(clocks) as (keyof typeof clocks)[]).sort((a, b) => clocks[a] - clocks[b]);
    if (sandbox === undefined) break;
    let now = clocks[sandbox] + random.between(2_000, 14_000);
    for (let left = random.between(2, 5); left > 0; left--) {
      const call = someCall(random, 0.4);
      batches.push({ sandbox, turn: `turn-${turn}`, startMs: now, ...call });
      now += call.durationMs + random.between(500, 3_000);
    }
    clocks[sandbox] = now;
  }
  return {
    version: 1,
    name: 'A long night of 2,000 turns',
    description: 'Three agents without a pause, and a backend that fails now and then.',
    seed: 7,
    driver: {
      latency: { kind: 'quantiles', minMs: 200, p50Ms: 700, p90Ms: 1_800, p99Ms: 6_000, maxMs: 14_000 },
      failureRate: 0.01,
      stallRate: 0.002,
    },
    policies: [
      { kind: 'per_turn' },
      { kind: 'per_turn', when: 'unless_read_only' },
      { kind: 'interval', intervalMs: 300_000 },
    ],
    batches,
  };
}
