import type { Scenario, ScenarioBatch } from 'turnback-policy/simulate';
import { Random } from './random.js';
import { someCall } from './tools.js';

/** From when to when the backend answers nothing. */
const [STALLS, RECOVERS] = [75_000, 210_000] as const;

/** A session in which the backend of the checkpoints stops answering, and comes back. */
export function stalled(): Scenario {
  const random = new Random(8);
  const batches: ScenarioBatch[] = [];
  let now = 2_000;
  for (let turn = 1; turn <= 14; turn++) {
    for (let left = random.between(3, 5); left > 0; left--) {
      const call = someCall(random, 0.2);
      const durationMs = Math.min(call.durationMs, 6_000);
      const dead = now >= STALLS && now < RECOVERS;
      batches.push({
        sandbox: 'workspace',
        turn: `turn-${turn}`,
        startMs: now,
        ...call,
        durationMs,
        ...(dead ? { attempt: { ms: 10_000, outcome: 'stalled' } } : {}),
      });
      now += durationMs + random.between(400, 1_500);
    }
    now += random.between(4_000, 9_000);
  }
  return {
    version: 1,
    name: 'A stalled backend',
    description: 'For a while the backend answers nothing at all. The agent must neither hang nor lose its way back.',
    driver: { latency: { kind: 'uniform', minMs: 300, maxMs: 1_200 } },
    policies: [
      { kind: 'per_turn' },
      { kind: 'per_turn', timeoutMs: 2_000 },
      { kind: 'per_turn', onFailure: 'block' },
      { kind: 'every_batch' },
    ],
    batches,
  };
}
