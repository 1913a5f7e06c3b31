import type { Scenario, ScenarioBatch } from 'turnback-policy/simulate';
import { Random } from './random.js';
import { someCall } from './tools.js';

/** Half an hour's work: the agent looks around, edits, tests; the user reads and answers. */
export function ordinary(): Scenario {
  const random = new Random(11);
  const batches: ScenarioBatch[] = [];
  let now = 2_000;
  for (let turn = 1; turn <= 12; turn++) {
    for (let left = random.between(3, 7), first = left; left > 0; left--) {
      const call = someCall(random, left === first ? 0.9 : 0.4);
      batches.push({ sandbox: 'workspace', turn: `turn-${turn}`, startMs: now, ...call });
      now += call.durationMs + random.between(600, 3_000);
    }
    now += random.between(8_000, 30_000);
  }
  return {
    version: 1,
    name: 'An ordinary session',
    description: 'One agent, one workspace, twelve messages. Each turn looks around first, then edits and tests.',
    driver: { latency: { kind: 'quantiles', minMs: 150, p50Ms: 400, p90Ms: 900, p99Ms: 2_500, maxMs: 4_000 } },
    policies: [{ kind: 'per_turn' }, { kind: 'per_turn', when: 'unless_read_only' }, { kind: 'every_batch' }],
    batches,
  };
}
