import type { Scenario, ScenarioBatch } from 'turnback-policy/simulate';
import { Random } from './random.js';
import { someCall } from './tools.js';

/** A model that calls three to five tools at once. */
export function parallel(): Scenario {
  const random = new Random(5);
  const batches: ScenarioBatch[] = [];
  let now = 1_500;
  for (let turn = 1; turn <= 8; turn++) {
    for (let round = random.between(1, 2); round > 0; round--) {
      let longest = 0;
      for (let call = random.between(3, 5); call > 0; call--) {
        const made = someCall(random, 0.35);
        const startMs = now + random.between(0, 60);
        batches.push({ sandbox: 'workspace', turn: `turn-${turn}`, startMs, ...made });
        longest = Math.max(longest, made.durationMs);
      }
      now += longest + random.between(1_500, 3_000);
    }
    now += random.between(3_000, 8_000);
  }
  return {
    version: 1,
    name: 'Parallel tool calls',
    description: 'The model calls three to five tools at once. They wait for one checkpoint together.',
    driver: { latency: { kind: 'uniform', minMs: 800, maxMs: 2_600 } },
    policies: [{ kind: 'per_turn' }, { kind: 'every_batch' }],
    batches,
  };
}
