import type { Scenario, ScenarioBatch } from 'turnback-policy/simulate';
import { Random } from './random.js';

const CALLS = ['Edit', 'Write', 'sed -i', 'npm run build', 'git mv'] as const;

/** Short messages, quickly answered: "no, the other one", "now rename it", "undo that". */
export function rapid(): Scenario {
  const random = new Random(30);
  const batches: ScenarioBatch[] = [];
  let now = 1_000;
  for (let turn = 1; turn <= 30; turn++) {
    for (let left = random.between(1, 3); left > 0; left--) {
      const durationMs = random.between(1_500, 4_500);
      batches.push({
        sandbox: 'workspace',
        turn: `turn-${turn}`,
        startMs: now,
        durationMs,
        kind: 'destructive',
        tool: random.pick(CALLS),
      });
      now += durationMs + random.between(150, 500);
    }
    now += random.between(900, 2_500);
  }
  return {
    version: 1,
    name: 'Rapid back-and-forth turns',
    description:
      'Thirty short messages in a few minutes. A throttle takes them for one, and a rollback takes them all.',
    driver: { latency: { kind: 'uniform', minMs: 200, maxMs: 700 } },
    policies: [
      { kind: 'per_turn' },
      { kind: 'interval', intervalMs: 30_000 },
      { kind: 'interval', intervalMs: 120_000 },
    ],
    batches,
  };
}
