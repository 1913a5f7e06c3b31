import type { ScenarioBatch } from 'turnback-policy/simulate';
import type { Random } from './random.js';

/** A tool as agents have them: what it is called, how long it runs, whether it may change something. */
interface Tool {
  readonly tool: string;
  readonly ms: readonly [number, number];
  readonly kind: ScenarioBatch['kind'];
}

const READERS: readonly [Tool, ...Tool[]] = [
  { tool: 'Read', ms: [200, 900], kind: 'read_only' },
  { tool: 'Grep', ms: [400, 1_800], kind: 'read_only' },
  { tool: 'ls', ms: [100, 400], kind: 'read_only' },
];

const WRITERS: readonly [Tool, ...Tool[]] = [
  { tool: 'Edit', ms: [400, 1_500], kind: 'destructive' },
  { tool: 'Write', ms: [400, 1_800], kind: 'destructive' },
  { tool: 'npm test', ms: [6_000, 18_000], kind: 'destructive' },
  { tool: 'sed -i', ms: [300, 900], kind: 'destructive' },
  { tool: 'npm install', ms: [8_000, 22_000], kind: 'destructive' },
];

/** A call of some tool; `reading`: how often it only reads. */
export function someCall(random: Random, reading: number): Pick<ScenarioBatch, 'tool' | 'durationMs' | 'kind'> {
  const { tool, ms, kind } = random.chance(reading) ? random.pick(READERS) : random.pick(WRITERS);
  return { tool, kind, durationMs: random.between(ms[0], ms[1]) };
}
