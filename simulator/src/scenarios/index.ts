import type { Scenario } from 'turnback-policy/simulate';
import { interleaved } from './interleaved.js';
import { night } from './night.js';
import { ordinary } from './ordinary.js';
import { parallel } from './parallel.js';
import { rapid } from './rapid.js';
import { stalled } from './stalled.js';

/** What the page should speak of first when it tells what a scenario shows. */
export type Lead = 'lost' | 'checkpoints' | 'waiting' | 'unprotected';

/** A scenario that comes with the page. */
export interface Builtin {
  readonly id: string;
  readonly name: string;
  readonly lead: Lead;
  make(): Scenario;
}

/** All of them, in the order in which they are offered. */
export const BUILTINS: readonly Builtin[] = [
  { id: 'rapid', name: 'Rapid turns', lead: 'lost', make: rapid },
  { id: 'ordinary', name: 'Ordinary session', lead: 'checkpoints', make: ordinary },
  { id: 'parallel', name: 'Parallel calls', lead: 'waiting', make: parallel },
  { id: 'interleaved', name: 'Interleaved turns', lead: 'lost', make: interleaved },
  { id: 'stalled', name: 'Stalled backend', lead: 'waiting', make: stalled },
  { id: 'night', name: '2,000 turns', lead: 'lost', make: night },
];
