import type { Summary } from 'turnback-policy/simulate';
import type { Lead } from '../scenarios/index.js';
import { duration, number, plural } from './format.js';

/** A policy as the headline speaks of it. */
export interface Told {
  readonly summary: Summary;
  readonly name: string;
}

const skippedOf = (summary: Summary) => Object.values(summary.skipped).reduce((sum, count) => sum + count, 0);

/** A name in the middle of a sentence. */
const inside = (name: string) => (/^[A-Z][a-z]/.test(name) ? name.charAt(0).toLowerCase() + name.slice(1) : name);
const atHead = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
/** "a 30 s throttle", "once per turn". */
const called = ({ summary, name }: Told) =>
  summary.kind === 'interval' && /^\d/.test(name) ? `${/^8|^1[18]\b/.test(name) ? 'an' : 'a'} ${name}` : inside(name);

/** What a rollback costs under a policy, at worst. */
const worst = ({ summary }: Told) =>
  summary.lost.nothing > 0 && summary.checkpoints === 0 ? 'everything' : duration(summary.lost.maxMs);

/**
 * What a reader should see in the picture, in figures, in a sentence or two. It is made from the summaries and stays true when policies or
 * driver are edited.
 */
export function headline(all: readonly Told[], lead: Lead | undefined): string {
  const base = all.find(({ summary }) => summary.kind === 'per_turn') ?? all[0];
  if (base === undefined) return '';
  if (base.summary.batches === 0) return 'There are no batches in this scenario.';
  const others = all.filter((one) => one !== base);
  const order: Lead[] = ['lost', 'unprotected', 'waiting', 'checkpoints'];
  const tried = lead === undefined ? order : [lead, ...order.filter((one) => one !== lead)];
  for (const one of tried) {
    const said = SENTENCES[one](base, others);
    if (said !== undefined) return said;
  }
  return `${atHead(called(base))}: ${plural(base.summary.checkpoints, 'checkpoint')} for ${plural(base.summary.batches, 'batch', 'batches')}; a rollback throws away ${worst(base)} of earlier work at most.`;
}

/** The one of which `figure` is largest. */
function most(all: readonly Told[], figure: (one: Told) => number): Told | undefined {
  return all.reduce<Told | undefined>(
    (best, one) => (best === undefined || figure(one) > figure(best) ? one : best),
    undefined,
  );
}

const SENTENCES: Readonly<Record<Lead, (base: Told, others: readonly Told[]) => string | undefined>> = {
  lost(base, others) {
    const worse = others.filter(
      ({ summary: { lost } }) =>
        lost.acrossTurns > base.summary.lost.acrossTurns && lost.maxMs > base.summary.lost.maxMs,
    );
    // The mildest of them is the fairest to speak of.
    const other = worse.sort((a, b) => a.summary.lost.maxMs - b.summary.lost.maxMs)[0];
    if (other !== undefined) {
      const own = base.summary.lost.acrossTurns === 0 ? ', never another turn’s' : '';
      return `${atHead(called(other))} would lose up to ${worst(other)} of earlier work here, other turns’ included; ${called(base)} loses ${worst(base)} at most${own}.`;
    }
    const greedy = most(others, ({ summary }) => summary.checkpoints);
    if (greedy?.summary.mistake && greedy.summary.checkpoints > base.summary.checkpoints * 1.2) {
      const shared = others.find(({ summary }) => summary.kind === 'shared_across_turns');
      const without = shared === undefined ? 0 : base.summary.checkpoints - shared.summary.checkpoints;
      const rest =
        without > 0 ? ` Attempts shared across turns leave ${plural(without, 'turn')} without one of their own.` : '';
      const waits = ({ summary }: Told) => `waits ${duration(summary.waiting.totalMs)}`;
      return `${atHead(called(base))} makes ${plural(base.summary.checkpoints, 'checkpoint')} here and ${waits(base)}; one that ${inside(greedy.name)} makes ${number(greedy.summary.checkpoints)} and ${waits(greedy)}.${rest}`;
    }
    return undefined;
  },
  checkpoints(base, others) {
    const other = most(others, ({ summary }) => summary.checkpoints);
    if (other === undefined || other.summary.checkpoints <= base.summary.checkpoints) return undefined;
    return `${atHead(called(base))} makes ${plural(base.summary.checkpoints, 'checkpoint')} and waits ${duration(base.summary.waiting.totalMs)} in all, where ${called(other)} makes ${number(other.summary.checkpoints)} and waits ${duration(other.summary.waiting.totalMs)}. A rollback costs ${worst(base)} of earlier work at most.`;
  },
  waiting(base, others) {
    const blocking = others.find(({ summary }) => summary.refused > 0);
    const slow = most(others, ({ summary }) => summary.waiting.totalMs);
    if (base.summary.timeouts + base.summary.failures > 0) {
      const unanswered = base.summary.timeouts + base.summary.failures;
      const rest =
        blocking === undefined
          ? ''
          : ` Blocking instead would refuse ${plural(blocking.summary.refused, 'batch', 'batches')}.`;
      return `${plural(unanswered, 'attempt')} came to nothing, yet nobody waited longer than ${duration(base.summary.waiting.maxMs)} for one; ${plural(base.summary.unprotected, 'batch', 'batches')} ran unprotected until the backend was back.${rest}`;
    }
    if (slow === undefined || slow.summary.waiting.totalMs <= base.summary.waiting.totalMs * 1.2) return undefined;
    const shared = base.summary.joined + base.summary.alreadyCovered;
    return `${plural(base.summary.batches, 'batch', 'batches')} share ${plural(base.summary.checkpoints, 'checkpoint')}: ${number(shared)} of them need none of their own. The waits come to ${duration(base.summary.waiting.totalMs)}; with ${called(slow)}, to ${duration(slow.summary.waiting.totalMs)}.`;
  },
  unprotected(base, others) {
    const other = most(others, ({ summary }) => summary.unprotected);
    if (other === undefined || other.summary.unprotected <= base.summary.unprotected) return undefined;
    return `${atHead(called(other))} leaves ${plural(other.summary.unprotected, 'destructive batch', 'destructive batches')} unprotected here; ${called(base)} leaves ${number(base.summary.unprotected)}.`;
  },
};

/** How many batches were skipped, and why, for the table. */
export const skips = (summary: Summary): { total: number; reasons: [string, number][] } => ({
  total: skippedOf(summary),
  reasons: Object.entries(summary.skipped).sort(([, a], [, b]) => b - a),
});
